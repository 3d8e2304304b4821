/* SPDX-License-Identifier: Apache-2.0 */
/* softmax, called directly. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "typed.h"

struct shape {
    uint64_t outer, len, inner;
};

/* Lines of a vector's parts, of some vectors, of more than the buffer holds; columns of every kind
 * of tile; and some of which the output goes past the caches. */
static const struct shape shapes[] = {
    { 1, 1, 1 },      { 5, 3, 1 },      { 3, 15, 1 },    { 3, 16, 1 },      { 7, 17, 1 },
    { 5, 63, 1 },     { 6, 64, 1 },     { 3, 65, 1 },    { 2, 129, 1 },     { 3, 1000, 1 },
    { 2, 4097, 1 },   { 2, 9000, 1 },   { 1, 70001, 1 }, { 2, 5, 2 },       { 3, 7, 15 },
    { 2, 9, 64 },     { 1, 100, 67 },   { 2, 129, 128 }, { 1, 3000, 33 },   { 1, 9001, 5 },
    { 2, 3, 1000 },   { 0, 4, 4 },      { 4, 4, 0 },     { 1060, 1999, 1 }, { 20000, 64, 1 },
    { 11, 128, 992 }, { 11, 128, 997 },
};
#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

static uint64_t count(const struct shape *s)
{
    return s->outer * s->len * s->inner;
}

static void run(const struct cpu_kernels *kernels, const struct typed *type, const struct shape *s,
                unsigned threads, const void *x, void *y)
{
    struct cpu_work work = kit_work(threads, 0);
    const struct cpu_axis axis = { type->dtype, 0, s->outer, s->len, s->inner, x, y };
    kernels->softmax(&axis, &work);
    kit_work_end(&work);
}

/* The bound of the contract for one line, whose element a lies at x[at + a*stride]. */
static void judge_line(const struct typed *type, const void *x, const void *y, uint64_t n,
                       uint64_t at, uint64_t stride)
{
    long double max = -INFINITY, sum = 0, spread = 0;
    for (uint64_t a = 0; a < n; a++)
        max = fmaxl(max, typed_get(type, x, at + a * stride));
    for (uint64_t a = 0; a < n; a++) {
        const long double d = typed_get(type, x, at + a * stride) - max;
        sum += expl(d);
        spread += isinf(d) ? 0 : expl(d) * (fabsl(d) + 2);
    }
    const long double least = ldexpl(1, type->least);
    for (uint64_t a = 0; a < n; a++) {
        const long double d = typed_get(type, x, at + a * stride) - max, p = expl(d) / sum;
        const long double e = isinf(d) ? 0 : p * (fabsl(d) + 2 + spread / sum + (long double)n + 6);
        const double got = typed_get(type, y, at + a * stride);
        if (!typed_near(type, got, p, e * type->u + type->tiny + (long double)(n + 4) * least))
            fail_msg("dtype %u, element %llu of %llu, %llu apart, is %a, not %La", type->dtype,
                     (unsigned long long)a, (unsigned long long)n, (unsigned long long)stride, got,
                     p);
    }
}

static void judge(const struct typed *type, const struct shape *s, const void *x, const void *y)
{
    for (uint64_t o = 0; o < s->outer; o++)
        for (uint64_t i = 0; i < s->inner; i++)
            judge_line(type, x, y, s->len, o * s->len * s->inner + i, s->inner);
}

static void softmax_is_within_its_bound_for_any_threads_and_address(void **state)
{
    const struct cpu_kernels kernels = kit_kernels(state);
    for (unsigned t = 0; t < TYPES; t++)
        for (unsigned i = 0; i < SHAPES; i++) {
            const struct typed *type = &typed_all[t];
            const uint64_t n = count(&shapes[i]), bytes = typed_bytes(type, n);
            uint64_t seed = i + 1;
            char *x = kit_memory(bytes, 0, type->size);
            char *one = kit_memory(bytes, 0, type->size);
            char *three = kit_memory(bytes, (64 - bytes % 64) % 64, type->size); /* aligned */
            typed_fill(type, x, n, i % 2 ? 3 : 60, &seed);
            run(&kernels, type, &shapes[i], 1, x, one);
            run(&kernels, type, &shapes[i], 3, x, three);
            assert_memory_equal(one, three, bytes);
            if (n < 1000000)
                judge(type, &shapes[i], x, one);
            run(&kernels, type, &shapes[i], 3, x, x);
            assert_memory_equal(x, one, bytes);
            kit_release();
        }
}

/* Line after line: a NaN, +infinity, all -infinity, one -infinity, far apart numbers. */
static void a_line_with_nan_or_infinity_is_nan_and_no_other_is(void **state)
{
    const struct cpu_kernels kernels = kit_kernels(state);
    static const uint64_t lens[] = { 5, 33, 70, 300, 9000 };
    enum {
        LINES = 6
    };
    for (unsigned t = 0; t < TYPES; t++)
        for (unsigned l = 0; l < 5; l++)
            for (int strided = 0; strided < 2; strided++)
                for (uint64_t at = 0; at < lens[l]; at += 1 + lens[l] / 7) {
                    const struct typed *type = &typed_all[t];
                    const struct shape s = { strided ? 1 : LINES, lens[l], strided ? LINES : 1 };
                    const uint64_t step = s.inner, line = strided ? 1 : s.len;
                    uint64_t seed = at + 1;
                    char *x = kit_memory(typed_bytes(type, count(&s)), 0, type->size);
                    char *y = kit_memory(typed_bytes(type, count(&s)), 0, type->size);
                    typed_fill(type, x, count(&s), 5, &seed);
                    typed_put(type, x, at * step, NAN);
                    typed_put(type, x, 2 * line + at * step, INFINITY);
                    for (uint64_t a = 0; a < s.len; a++)
                        typed_put(type, x, 3 * line + a * step, -INFINITY);
                    typed_put(type, x, 4 * line + at * step, -INFINITY);
                    typed_put(type, x, 5 * line + at * step, (double)type->max);
                    run(&kernels, type, &s, 1, x, y);
                    for (uint64_t a = 0; a < s.len; a++) {
                        assert_true(isnan(typed_get(type, y, a * step)));
                        assert_true(isnan(typed_get(type, y, 2 * line + a * step)));
                        assert_true(isnan(typed_get(type, y, 3 * line + a * step)));
                    }
                    judge_line(type, x, y, s.len, line, step);
                    judge_line(type, x, y, s.len, 4 * line, step);
                    judge_line(type, x, y, s.len, 5 * line, step);
                    kit_release();
                }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(softmax_is_within_its_bound_for_any_threads_and_address),
        cmocka_unit_test(a_line_with_nan_or_infinity_is_nan_and_no_other_is),
    };
    return kit_run("softmax", tests, sizeof(tests) / sizeof(tests[0]));
}
