/* SPDX-License-Identifier: Apache-2.0 */
/* reduce, called directly. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "typed.h"

#define OPS            (CB_REDUCE_MEAN + 1u)
#define TWENTY_MILLION 20000000u

struct shape {
    uint64_t outer, len, inner;
};

/* Lines, short and in chunks; few columns, whose rows are folded, and these in chunks too; strips
 * and tiles of many columns; no terms; no results. */
static const struct shape shapes[] = {
    { 1, 1, 1 },     { 7, 3, 1 },      { 5, 17, 1 },     { 4, 64, 1 },     { 3, 255, 1 },
    { 2, 4096, 1 },  { 2, 5001, 1 },   { 3, 200003, 1 }, { 1, 70000, 1 },  { 3, 1, 2 },
    { 5, 7, 3 },     { 2, 1001, 5 },   { 2, 65537, 3 },  { 1, 40000, 7 },  { 3, 33, 64 },
    { 1, 3001, 63 }, { 2, 9, 65 },     { 3, 13, 100 },   { 1, 5001, 130 }, { 2, 18, 513 },
    { 1, 64, 4097 }, { 300, 40, 100 }, { 3, 0, 1 },      { 3, 0, 5 },      { 2, 0, 100 },
    { 0, 5, 5 },     { 5, 5, 0 },
};
#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

static void run(const struct cpu_kernels *kernels, const struct typed *type, uint32_t op,
                const struct shape *s, unsigned threads, const void *x, void *y)
{
    struct cpu_work work = kit_work(threads, 0);
    const struct cpu_axis axis = { type->dtype, op, s->outer, s->len, s->inner, x, y };
    kernels->reduce(&axis, &work);
    kit_work_end(&work);
}

/* The contract's bound of a sum, in u * sum|x|. */
static long double terms(uint64_t n)
{
    return n <= 4096 ? (long double)n + 2 : log2l((long double)n) + 8;
}

static long double more(long double x, long double y)
{
    if (isnan(x) || isnan(y))
        return NAN;
    return x > y || (x == y && !signbit(x)) ? x : y;
}

/* What a sum loses when x is added: millions of terms would show even in a long double. */
static long double added(long double *sum, long double x)
{
    const long double before = *sum, after = before + x;
    *sum = after;
    return fabsl(before) >= fabsl(x) ? (before - after) + x : (x - after) + before;
}

static void judge_line(const struct typed *type, uint32_t op, const void *x, uint64_t at,
                       const struct shape *s, double got)
{
    long double sum = 0, lost = 0, size = 0, max = -INFINITY, min = INFINITY;
    for (uint64_t a = 0; a < s->len; a++) {
        const long double v = typed_get(type, x, at + a * s->inner);
        lost += added(&sum, v);
        size += fabsl(v);
        max = more(max, v);
        min = -more(-min, -v);
    }
    const long double n = op == CB_REDUCE_MEAN ? (long double)s->len : 1;
    const long double bound =
        terms(s->len) * type->u * size / n + (long double)(s->len + 4) * ldexpl(1, type->least);
    const bool most = op == CB_REDUCE_MAX || op == CB_REDUCE_MIN;
    const long double want = op == CB_REDUCE_MAX   ? max
                             : op == CB_REDUCE_MIN ? min
                                                   : (isfinite(sum) ? sum + lost : sum) / n;
    const bool right = most ? got == (double)want || (isnan(got) && isnan(want))
                            : typed_near(type, got, want, bound);
    if (!right || (most && !isnan(want) && !signbit(got) != !signbit(want)))
        fail_msg("dtype %u op %u of %llu terms %llu apart is %a, not %La", type->dtype, op,
                 (unsigned long long)s->len, (unsigned long long)s->inner, got, want);
}

static void judge(const struct typed *type, uint32_t op, const struct shape *s, const void *x,
                  const void *y)
{
    for (uint64_t o = 0; o < s->outer; o++)
        for (uint64_t i = 0; i < s->inner; i++)
            judge_line(type, op, x, o * s->len * s->inner + i, s,
                       typed_get(type, y, o * s->inner + i));
}

static void reduce_is_within_its_bound_for_any_threads_and_address(void **state)
{
    const struct cpu_kernels kernels = kit_kernels(state);
    for (unsigned t = 0; t < TYPES; t++)
        for (unsigned i = 0; i < SHAPES; i++)
            for (uint32_t op = 0; op < OPS; op++) {
                const struct typed *type = &typed_all[t];
                const struct shape *s = &shapes[i];
                const uint64_t n = s->outer * s->len * s->inner;
                const uint64_t bytes = typed_bytes(type, s->outer * s->inner);
                uint64_t seed = i + 1;
                char *x = kit_memory(typed_bytes(type, n), 0, type->size);
                char *moved = kit_memory(typed_bytes(type, n), 5 * type->size, type->size);
                char *one = kit_memory(bytes, 0, type->size);
                char *three = kit_memory(bytes, 3 * type->size, type->size);
                typed_fill(type, x, n, 2, &seed);
                memcpy(moved, x, typed_bytes(type, n));
                run(&kernels, type, op, s, 1, x, one);
                run(&kernels, type, op, s, 3, moved, three);
                assert_memory_equal(one, three, bytes);
                judge(type, op, s, x, one);
                kit_release();
            }
}

static void cancelling_numbers_of_any_size_are_summed_within_the_bound(void **state)
{
    const struct cpu_kernels kernels = kit_kernels(state);
    static const struct shape some[] = {
        { 3, 1000, 1 }, { 1, 90000, 1 }, { 2, 500, 9 }, { 1, 777, 100 }
    };
    for (unsigned t = 0; t < TYPES; t++)
        for (unsigned i = 0; i < 4; i++) {
            const struct typed *type = &typed_all[t];
            const uint64_t n = some[i].outer * some[i].len * some[i].inner;
            uint64_t seed = i + 1;
            char *x = kit_memory(typed_bytes(type, n), 0, type->size);
            char *y = kit_memory(typed_bytes(type, some[i].outer * some[i].inner), 0, type->size);
            for (uint64_t j = 0; j < n; j++) {
                const int exponent =
                    (int)(kit_random(&seed) % 40) - (type->dtype == CB_F16 ? 26 : 30);
                const double sign = kit_random(&seed) & 64 ? -1 : 1;
                typed_put(type, x, j, ldexp(sign * (1 + (double)(j % 1021) / 1021), exponent));
            }
            for (uint32_t op = 0; op < OPS; op++) {
                run(&kernels, type, op, &some[i], 2, x, y);
                judge(type, op, &some[i], x, y);
            }
            kit_release();
        }
}

static void nan_infinity_and_zeros_are_seen_at_every_position(void **state)
{
    const struct cpu_kernels kernels = kit_kernels(state);
    static const double odd[] = { NAN, INFINITY, -INFINITY, 0.0, -0.0 };
    static const struct shape some[] = { { 1, 150, 1 }, { 1, 75, 2 }, { 1, 9, 70 } };
    for (unsigned t = 0; t < TYPES; t++)
        for (unsigned i = 0; i < 3; i++)
            for (unsigned v = 0; v < 5; v++) {
                const struct typed *type = &typed_all[t];
                const uint64_t n = some[i].len * some[i].inner;
                char *x = kit_memory(typed_bytes(type, n), 0, type->size);
                char *y = kit_memory(typed_bytes(type, some[i].inner), 0, type->size);
                for (uint64_t at = 0; at < n; at++) {
                    for (uint64_t j = 0; j < n; j++)
                        typed_put(type, x, j, odd[v] == 0 ? -odd[v] : 1);
                    typed_put(type, x, at, odd[v]);
                    for (uint32_t op = 0; op < OPS; op++) {
                        run(&kernels, type, op, &some[i], 1, x, y);
                        judge(type, op, &some[i], x, y);
                    }
                }
                kit_release();
            }
}

static void the_mean_of_20_million_ones_is_1(void **state)
{
    const struct cpu_kernels kernels = kit_kernels(state);
    static const struct shape some[] = { { 1, TWENTY_MILLION, 1 }, { 1, TWENTY_MILLION / 2, 2 } };
    for (unsigned t = 1; t < TYPES; t++)
        for (unsigned i = 0; i < 2; i += KIT_STEP) {
            const struct typed *type = &typed_all[t];
            char *x = kit_memory(typed_bytes(type, TWENTY_MILLION), 0, type->size);
            char *y = kit_memory(typed_bytes(type, some[i].inner), 0, type->size);
            for (uint64_t j = 0; j < TWENTY_MILLION; j++)
                typed_put(type, x, j, 1);
            run(&kernels, type, CB_REDUCE_MEAN, &some[i], 2, x, y);
            assert_true(typed_get(type, y, some[i].inner - 1) == 1);
            run(&kernels, type, CB_REDUCE_SUM, &some[i], 2, x, y);
            judge_line(type, CB_REDUCE_SUM, x, 0, &some[i], typed_get(type, y, 0));
            kit_release();
        }
}

static void long_sums_of_f64_do_not_drift(void **state)
{
    const struct cpu_kernels kernels = kit_kernels(state);
    static const struct shape some[] = { { 1, 3000001, 1 }, { 1, 300001, 5 }, { 1, 100001, 70 } };
    for (unsigned i = 0; i < 3; i++) {
        const uint64_t n = some[i].len * some[i].inner;
        double *x = kit_memory(n * sizeof(*x), 0, 8);
        double *y = kit_memory(some[i].inner * sizeof(*y), 0, 8);
        for (uint64_t j = 0; j < n; j++)
            x[j] = 0.1;
        run(&kernels, &typed_all[0], CB_REDUCE_SUM, &some[i], 2, x, y);
        judge(&typed_all[0], CB_REDUCE_SUM, &some[i], x, y);
        kit_release();
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(reduce_is_within_its_bound_for_any_threads_and_address),
        cmocka_unit_test(cancelling_numbers_of_any_size_are_summed_within_the_bound),
        cmocka_unit_test(nan_infinity_and_zeros_are_seen_at_every_position),
        cmocka_unit_test(long_sums_of_f64_do_not_drift),
        cmocka_unit_test(the_mean_of_20_million_ones_is_1),
    };
    return kit_run("reduce", tests, sizeof(tests) / sizeof(tests[0]));
}
