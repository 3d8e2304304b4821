/* SPDX-License-Identifier: Apache-2.0 */
/* unary and binary, called directly. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "half.h"
#include "typed.h"

#define UNARY_OPS   (CB_UNARY_NEG + 1u)
#define BINARY_OPS  (CB_BINARY_MIN + 1u)
#define ULPS        4
#define MANY        65536u     /* all 16-bit numbers */
#define BYTES_LARGE (5u << 20) /* written past the caches */

static long double unary_want(uint32_t op, long double x)
{
    switch (op) {
    case CB_UNARY_RELU: return x > 0 || isnan(x) ? x : 0;
    case CB_UNARY_SIGMOID: return x < 0 ? expl(x) / (1 + expl(x)) : 1 / (1 + expl(-x));
    case CB_UNARY_TANH: return tanhl(x);
    case CB_UNARY_EXP: return expl(x);
    case CB_UNARY_LOG: return logl(x);
    case CB_UNARY_SQRT: return sqrtl(x);
    case CB_UNARY_ABS: return fabsl(x);
    default: return -x;
    }
}

static bool is_exact(uint32_t op)
{
    return op == CB_UNARY_RELU || op == CB_UNARY_ABS || op == CB_UNARY_NEG;
}

static long double most(long double x, long double y)
{
    if (isnan(x) || isnan(y))
        return NAN;
    return x > y || (x == y && !signbit(x)) ? x : y;
}

/* One operation of the arithmetic, by the compiler's own. */
static double binary_want(uint32_t dtype, uint32_t op, double x, double y)
{
    const float fx = (float)x, fy = (float)y;
    const bool f64 = dtype == CB_F64;
    switch (op) {
    case CB_BINARY_ADD: return f64 ? x + y : fx + fy;
    case CB_BINARY_SUB: return f64 ? x - y : fx - fy;
    case CB_BINARY_MUL: return f64 ? x * y : fx * fy;
    case CB_BINARY_DIV: return f64 ? x / y : fx / fy;
    case CB_BINARY_MAX: return (double)most(x, y);
    default: return (double)-most(-x, -y);
    }
}

/* Any bits, some numbers near 1, and the special ones. */
static void *inputs(const struct typed *type, uint64_t n, uint64_t seed)
{
    static const double special[] = {
        0.0, -0.0, INFINITY, -INFINITY, NAN, 1, -1, 88.7, -88.8, 104
    };
    void *x = kit_memory(typed_bytes(type, n), 0, type->size);
    typed_fill_bits(type, x, n, &seed);
    typed_fill(type, x, n / 3, 3, &seed);
    typed_fill(type, (char *)x + typed_bytes(type, n / 3), n / 3, type->size == 8 ? 750 : 110,
               &seed);
    for (uint64_t i = 0; i < sizeof(special) / sizeof(special[0]) && i < n; i++)
        typed_put(type, x, i * 37 % n, special[i]);
    return x;
}

static void run(const struct cpu_kernels *kernels, unsigned threads, const struct cpu_map *map)
{
    struct cpu_work work = kit_work(threads, 0);
    (map->b ? kernels->binary : kernels->unary)(map, &work);
    kit_work_end(&work);
}

static void judge_unary(const struct typed *type, uint32_t op, double x, double got)
{
    const long double want = unary_want(op, x);
    const long double bound = is_exact(op) ? 0 : ULPS * typed_ulp(type, want);
    if (!typed_near(type, got, want, bound) ||
        (!isnan(want) && is_exact(op) && !signbit(got) != !signbit(want)))
        fail_msg("dtype %u op %u of %a is %a, not %La", type->dtype, op, x, got, want);
}

static void unary_is_within_4_ulp_over_the_whole_range(void **state)
{
    const struct cpu_kernels kernels = kit_kernels(state);
    for (unsigned t = 0; t < TYPES; t++)
        for (uint32_t op = 0; op < UNARY_OPS; op++) {
            const struct typed *type = &typed_all[t];
            void *x = inputs(type, MANY, op + 1),
                 *y = kit_memory(typed_bytes(type, MANY), 0, type->size);
            for (uint32_t i = 0; type->size == 2 && i < MANY; i++)
                ((uint16_t *)x)[i] = (uint16_t)i;
            run(&kernels, 1, &(struct cpu_map){ type->dtype, op, MANY, x, NULL, y });
            for (uint64_t i = 0; i < MANY; i++)
                judge_unary(type, op, typed_get(type, x, i), typed_get(type, y, i));
            kit_release();
        }
}

static void binary_is_correctly_rounded(void **state)
{
    const struct cpu_kernels kernels = kit_kernels(state);
    for (unsigned t = 0; t < TYPES; t++)
        for (uint32_t op = 0; op < BINARY_OPS; op++) {
            const struct typed *type = &typed_all[t];
            const uint64_t n = 20011;
            void *a = inputs(type, n, op + 1), *b = inputs(type, n, op + 77);
            void *y = kit_memory(typed_bytes(type, n), 0, type->size);
            char want[8];
            run(&kernels, 1, &(struct cpu_map){ type->dtype, op, n, a, b, y });
            for (uint64_t i = 0; i < n; i++) {
                const double p = typed_get(type, a, i), q = typed_get(type, b, i);
                const double exact = binary_want(type->dtype, op, p, q);
                typed_put(type, want, 0, exact);
                if (isnan(exact) ? !isnan(typed_get(type, y, i))
                                 : memcmp(want, (char *)y + i * type->size, type->size) != 0)
                    fail_msg("dtype %u op %u of %a, %a is %a, not %a", type->dtype, op, p, q,
                             typed_get(type, y, i), exact);
            }
            kit_release();
        }
}

static void maximum_and_minimum_see_zeros_and_nan_in_both_places(void **state)
{
    const struct cpu_kernels kernels = kit_kernels(state);
    static const double value[] = { 0.0, -0.0, NAN, 1, -INFINITY, INFINITY };
    enum {
        VALUES = 6,
        N = VALUES * VALUES
    };
    for (unsigned t = 0; t < TYPES; t++)
        for (uint32_t op = CB_BINARY_MAX; op <= CB_BINARY_MIN; op++) {
            const struct typed *type = &typed_all[t];
            double a[N], b[N], y[N];
            for (int i = 0; i < N; i++) {
                typed_put(type, a, (uint64_t)i, value[i / VALUES]);
                typed_put(type, b, (uint64_t)i, value[i % VALUES]);
            }
            run(&kernels, 1, &(struct cpu_map){ type->dtype, op, N, a, b, y });
            for (uint64_t i = 0; i < N; i++) {
                const double got = typed_get(type, y, i);
                const double want = binary_want(CB_F64, op, value[i / VALUES], value[i % VALUES]);
                assert_true(isnan(want) ? isnan(got)
                                        : got == want && !signbit(got) == !signbit(want));
            }
        }
}

/* Every op, in one count. */
static struct cpu_map map_of(const struct typed *type, uint32_t op, uint64_t n, const char *a,
                             const char *b, char *y)
{
    const bool two = op >= UNARY_OPS;
    return (struct cpu_map){ type->dtype, two ? op - UNARY_OPS : op, n, a, two ? b : NULL, y };
}

static void a_result_depends_on_its_own_element_alone(void **state)
{
    const struct cpu_kernels kernels = kit_kernels(state);
    for (unsigned t = 0; t < TYPES; t++)
        for (uint32_t op = 0; op < UNARY_OPS + BINARY_OPS; op++) {
            const struct typed *type = &typed_all[t];
            const uint64_t all = 300, size = type->size;
            const char *a = inputs(type, all, 5), *b = inputs(type, all, 6);
            char *y = kit_memory(all * size, 0, type->size);
            const struct cpu_map map = map_of(type, op, all, a, b, y);
            run(&kernels, 1, &map);
            for (uint64_t n = 0; n < 150; n++) {
                const uint64_t first = all - n; /* the inputs end where the page does */
                char *part = kit_memory(n * size, n % 3 * size, type->size);
                const struct cpu_map tail =
                    map_of(type, op, n, a + first * size, b + first * size, part);
                run(&kernels, 1, &tail);
                assert_memory_equal(part, y + first * size, n * size);
            }
            kit_release();
        }
}

static void the_output_may_be_an_input(void **state)
{
    const struct cpu_kernels kernels = kit_kernels(state);
    for (unsigned t = 0; t < TYPES; t++)
        for (uint32_t op = 0; op < UNARY_OPS + BINARY_OPS; op++)
            for (int which = 0; which < 2; which++) {
                const struct typed *type = &typed_all[t];
                const uint64_t n = 1003, bytes = typed_bytes(type, n);
                char *a = inputs(type, n, 5), *b = inputs(type, n, 6);
                char *y = kit_memory(bytes, 0, type->size);
                const struct cpu_map apart = map_of(type, op, n, a, b, y);
                char *over = which && apart.b ? b : a;
                const struct cpu_map in_place = map_of(type, op, n, a, b, over);
                run(&kernels, 1, &apart);
                run(&kernels, 1, &in_place);
                assert_memory_equal(over, y, bytes);
                kit_release();
            }
}

/* Large outputs go past the caches, from an address that is aligned to nothing but an element. */
static void threads_and_large_outputs_change_no_bit(void **state)
{
    const struct cpu_kernels kernels = kit_kernels(state);
    static const uint32_t ops[] = { CB_UNARY_RELU, CB_UNARY_EXP, UNARY_OPS + CB_BINARY_ADD };
    for (unsigned t = 0; t < TYPES; t++)
        for (unsigned o = 0; o < 3; o++) {
            const struct typed *type = &typed_all[t];
            const uint64_t n = BYTES_LARGE / type->size + 5, size = type->size, piece = 4099;
            char *a = inputs(type, n, 5), *b = inputs(type, n, 6);
            char *one = kit_memory(n * size, 3 * size, type->size);
            char *three = kit_memory(n * size, size, type->size);
            char *pieces = kit_memory(n * size, 0, type->size);
            const struct cpu_map first = map_of(type, ops[o], n, a, b, one);
            const struct cpu_map second = map_of(type, ops[o], n, a, b, three);
            run(&kernels, 1, &first);
            run(&kernels, 3, &second);
            for (uint64_t i = 0; i < n; i += piece) {
                const struct cpu_map small = map_of(type, ops[o], n - i < piece ? n - i : piece,
                                                    a + i * size, b + i * size, pieces + i * size);
                run(&kernels, 1, &small);
            }
            assert_memory_equal(one, pieces, n * size);
            assert_memory_equal(three, pieces, n * size);
            kit_release();
        }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(unary_is_within_4_ulp_over_the_whole_range),
        cmocka_unit_test(binary_is_correctly_rounded),
        cmocka_unit_test(maximum_and_minimum_see_zeros_and_nan_in_both_places),
        cmocka_unit_test(a_result_depends_on_its_own_element_alone),
        cmocka_unit_test(the_output_may_be_an_input),
        cmocka_unit_test(threads_and_large_outputs_change_no_bit),
    };
    return kit_run("map", tests, sizeof(tests) / sizeof(tests[0]));
}
