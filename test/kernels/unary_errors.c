/* SPDX-License-Identifier: Apache-2.0 */
/* The largest errors of exp, log, tanh and sigmoid over all 2^32 floats, a table for
 * docs/unary_errors.md: unary_errors [RUNG [STEP]], where STEP takes every STEPth float only. Some
 * minutes. The judge is libm in double, whose own error is a billionth of a float's ulp. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compute_backend.h"
#include "dispatch/kernels.h"
#include "team.h"

#define BLOCK 4096u

struct worst {
    double ulp;
    float at;
};

struct survey {
    const struct cpu_kernels *kernels;
    uint32_t op;
    uint64_t step;
    pthread_mutex_t lock;
    struct worst worst;
    uint64_t wrong; /* NaN, infinities or zeros where they should not be, or are not */
};

static double want_of(uint32_t op, double x)
{
    switch (op) {
    case CB_UNARY_EXP: return exp(x);
    case CB_UNARY_LOG: return log(x);
    case CB_UNARY_TANH: return tanh(x);
    default: return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x));
    }
}

/* In ulps of a float near want; negative when got is no number of its kind. */
static double error_of(float got, double want)
{
    int exponent = 0;
    if (isnan(want) || isinf((float)want) || isinf(got))
        return (isnan(want) && isnan(got)) || got == (float)want ? 0 : -1;
    if (isnan(got) || !signbit(got) != !signbit((float)want))
        return -1;
    frexp(want, &exponent);
    exponent = want == 0 || exponent < -125 ? -149 : exponent - 24;
    return fabs(got - want) / ldexp(1, exponent);
}

static void survey_block(void *ctx, uint64_t task, unsigned thread)
{
    (void)thread;
    struct survey *s = ctx;
    static _Thread_local float x[BLOCK], y[BLOCK];
    struct worst worst = { 0, 0 };
    uint64_t wrong = 0;
    for (uint32_t i = 0; i < BLOCK; i++) {
        const uint32_t bits = (uint32_t)((task * BLOCK + i) * s->step);
        memcpy(&x[i], &bits, sizeof(bits));
    }
    const struct cpu_map map = { CB_F32, s->op, BLOCK, x, NULL, y };
    struct cpu_work alone = { cpu_team_create(1), NULL };
    if (!alone.team)
        abort();
    s->kernels->unary(&map, &alone);
    cpu_team_destroy(alone.team);
    for (uint32_t i = 0; i < BLOCK; i++) {
        const double e = error_of(y[i], want_of(s->op, x[i]));
        wrong += e < 0;
        if (e > worst.ulp)
            worst = (struct worst){ e, x[i] };
    }
    pthread_mutex_lock(&s->lock);
    s->wrong += wrong;
    if (worst.ulp > s->worst.ulp || (worst.ulp == s->worst.ulp && worst.at < s->worst.at))
        s->worst = worst;
    pthread_mutex_unlock(&s->lock);
}

int main(int argc, char **argv)
{
    static const char *const names[] = { [CB_UNARY_EXP] = "exp",
                                         [CB_UNARY_LOG] = "log",
                                         [CB_UNARY_TANH] = "tanh",
                                         [CB_UNARY_SIGMOID] = "sigmoid" };
    static const uint32_t ops[] = { CB_UNARY_EXP, CB_UNARY_LOG, CB_UNARY_TANH, CB_UNARY_SIGMOID };
    struct cpu_kernels kernels = { 0 };
    const uint64_t step = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
    struct cpu_team *team = cpu_team_create(2);
    int status = 1;
    if (!team || !step || !cpu_kernels_select(&kernels, argc > 1 ? argv[1] : "auto")) {
        fprintf(stderr, "usage: %s [RUNG [STEP]]; RUNG: %s\n", argv[0], CPU_KERNELS_NAMES);
        goto out;
    }
    status = 0;
    for (unsigned i = 0; i < 4; i++) {
        struct survey s = {
            .kernels = &kernels, .op = ops[i], .step = step, .lock = PTHREAD_MUTEX_INITIALIZER
        };
        cpu_team_run(team, 2, survey_block, &s, ((1ull << 32) / step + BLOCK - 1) / BLOCK);
        printf("| %s | %s | %.4f | %a | %llu |\n", kernels.name, names[ops[i]], s.worst.ulp,
               (double)s.worst.at, (unsigned long long)s.wrong);
        fflush(stdout);
        status |= s.wrong != 0;
    }
out:
    cpu_team_destroy(team);
    return status;
}
