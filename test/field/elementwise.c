/* SPDX-License-Identifier: Apache-2.0 */
/* Field reports on elementwise ops and reductions: N09 N17 N19 N20. */
#include "judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    CANARIES = 16,
    N_MAX = 65
};

/* Runs unary (b NULL) or binary on n elements that begin `offset` elements into their buffers. The
 * output's buffer is filled with FILL_BYTE, has CANARIES elements more, and is judged to have kept
 * all but the n; those are put into out. */
static void run_map(cb_backend be, uint32_t dtype, uint32_t op, uint64_t n, uint64_t offset,
                    const void *a, const void *b, void *out)
{
    const uint64_t size = kit_size(dtype), total = (offset + n + CANARIES) * size;
    unsigned char raw[(N_MAX + 4 + CANARIES) * 8], fill[sizeof(raw)];
    cb_error err = test_error();
    uint64_t in[2] = { 0, 0 }, base;
    memset(fill, FILL_BYTE, sizeof(fill));
    base = test_upload(be, fill, total);
    for (int i = 0; i < 2 && (i ? b : a); i++) {
        memcpy(raw, fill, total);
        memcpy(raw + offset * size, i ? b : a, n * size);
        in[i] = test_upload(be, raw, total);
    }
    const uint64_t skip = offset * size;
    if (b)
        TEST_OK(cb_binary(be,
                          &(cb_binary_args){ CB_ARGS(cb_binary_args), .dtype = dtype, .op = op,
                                             .n = n, .a = in[0] + skip, .b = in[1] + skip,
                                             .output = base + skip },
                          &err),
                &err);
    else
        TEST_OK(cb_unary(be,
                         &(cb_unary_args){ CB_ARGS(cb_unary_args), .dtype = dtype, .op = op, .n = n,
                                           .input = in[0] + skip, .output = base + skip },
                         &err),
                &err);
    test_download(be, raw, base, total);
    memcpy(out, raw + skip, n * size);
    memcpy(raw + skip, fill, n * size);
    assert_memory_equal(raw, fill, total);
    TEST_OK(cb_free(be, base, &err), &err);
    TEST_OK(cb_free(be, in[0], &err), &err);
    if (b)
        TEST_OK(cb_free(be, in[1], &err), &err);
}

static long double unary_value(uint32_t op, long double x)
{
    switch (op) {
    case CB_UNARY_RELU: return x > 0 ? x : 0;
    case CB_UNARY_SIGMOID: return x < 0 ? expl(x) / (1 + expl(x)) : 1 / (1 + expl(-x));
    case CB_UNARY_TANH: return tanhl(x);
    case CB_UNARY_EXP: return expl(x);
    case CB_UNARY_LOG: return logl(x);
    case CB_UNARY_SQRT: return sqrtl(x);
    case CB_UNARY_ABS: return fabsl(x);
    default: return -x;
    }
}

static void check_unary(cb_backend be, uint32_t dtype, uint32_t op, uint64_t n, uint64_t offset)
{
    const int exact = op == CB_UNARY_RELU || op == CB_UNARY_ABS || op == CB_UNARY_NEG;
    const int positive = op == CB_UNARY_LOG || op == CB_UNARY_SQRT;
    unsigned char in[N_MAX * 8], out[N_MAX * 8];
    kit_random(dtype, in, n, 9, n);
    for (uint64_t i = 0; positive && i < n; i++)
        kit_put(dtype, in, i, fabs(kit_get(dtype, in, i)));
    run_map(be, dtype, op, n, offset, in, NULL, out);
    for (uint64_t i = 0; i < n; i++) {
        const long double want = unary_value(op, kit_get(dtype, in, i));
        const double bound = exact ? 0 : 4 * kit_ulp(dtype, (double)want);
        if (!(fabsl(kit_get(dtype, out, i) - want) <= bound))
            fail_msg("unary %u %s n %u offset %u: f(%g) is %.17g, not %.17Lg", op,
                     cb_dtype_name(dtype), (unsigned)n, (unsigned)offset, kit_get(dtype, in, i),
                     kit_get(dtype, out, i), want);
    }
}

/* Double is wide enough for f32 and less to be rounded twice without harm. */
static double binary_value(uint32_t op, double a, double b)
{
    switch (op) {
    case CB_BINARY_ADD: return a + b;
    case CB_BINARY_SUB: return a - b;
    case CB_BINARY_MUL: return a * b;
    case CB_BINARY_DIV: return a / b;
    case CB_BINARY_MAX: return a > b ? a : b;
    default: return a < b ? a : b;
    }
}

static void check_binary(cb_backend be, uint32_t dtype, uint32_t op, uint64_t n, uint64_t offset)
{
    unsigned char a[N_MAX * 8], b[N_MAX * 8], out[N_MAX * 8], want[N_MAX * 8];
    kit_random(dtype, a, n, 9, n);
    kit_random(dtype, b, n, 9, n + 100);
    run_map(be, dtype, op, n, offset, a, b, out);
    for (uint64_t i = 0; i < n; i++)
        kit_put(dtype, want, i, binary_value(op, kit_get(dtype, a, i), kit_get(dtype, b, i)));
    assert_memory_equal(out, want, n * kit_size(dtype));
}

/* check for every type, code up to last, length and offset */
static void every_tail(cb_backend be, uint32_t last,
                       void (*check)(cb_backend, uint32_t, uint32_t, uint64_t, uint64_t))
{
    for (unsigned t = 0; t < 4; t++)
        for (uint32_t op = 0; op <= last; op++)
            for (uint64_t n = 1; n <= N_MAX; n++)
                for (uint64_t offset = 0; offset < 4; offset++)
                    check(be, kit_dtypes[t], op, n, offset);
}

static void n09_unary_is_right_at_every_length_and_offset(void **state)
{
    every_tail(TEST_BE(state), CB_UNARY_NEG, check_unary);
}

static void n09_binary_is_right_at_every_length_and_offset(void **state)
{
    every_tail(TEST_BE(state), CB_BINARY_MIN, check_binary);
}

/* Fails unless all n elements are NaN, or all are want, sign of zero included. */
static void all_are(uint32_t dtype, const void *data, uint64_t n, double want)
{
    for (uint64_t i = 0; i < n; i++) {
        const double x = kit_get(dtype, data, i);
        if (isnan(want) ? !isnan(x) : x != want || signbit(x) != signbit(want))
            fail_msg("%s, element %u of %u: %g, not %g", cb_dtype_name(dtype), (unsigned)i,
                     (unsigned)n, x, want);
    }
}

static void n17_binary_max_and_min_give_nan_for_a_nan_on_either_side(void **state)
{
    static const double pairs[][2] = {
        { 3, NAN }, { NAN, 3 }, { NAN, NAN }, { -INFINITY, NAN }, { NAN, INFINITY }
    };
    unsigned char a[19 * 8], b[19 * 8], out[19 * 8];
    for (unsigned t = 0; t < 4; t++)
        for (uint32_t op = CB_BINARY_MAX; op <= CB_BINARY_MIN; op++)
            for (unsigned p = 0; p < sizeof(pairs) / sizeof(pairs[0]); p++) {
                kit_fill(kit_dtypes[t], a, 19, pairs[p][0]);
                kit_fill(kit_dtypes[t], b, 19, pairs[p][1]);
                run_map(TEST_BE(state), kit_dtypes[t], op, 19, p % 4, a, b, out);
                all_are(kit_dtypes[t], out, 19, NAN);
            }
}

static void n17_binary_max_and_min_order_the_zeroes(void **state)
{
    unsigned char a[19 * 8], b[19 * 8], out[19 * 8];
    for (unsigned t = 0; t < 4; t++)
        for (uint32_t op = CB_BINARY_MAX; op <= CB_BINARY_MIN; op++)
            for (int swap = 0; swap < 2; swap++) {
                kit_fill(kit_dtypes[t], a, 19, swap ? 0. : -0.);
                kit_fill(kit_dtypes[t], b, 19, swap ? -0. : 0.);
                run_map(TEST_BE(state), kit_dtypes[t], op, 19, 0, a, b, out);
                all_are(kit_dtypes[t], out, 19, op == CB_BINARY_MAX ? 0. : -0.);
            }
}

/* Reduces n elements, first of a row, then of the middle column of three. */
static void reduce_both_ways(cb_backend be, uint32_t dtype, uint32_t op, uint64_t n, const void *in,
                             double want)
{
    unsigned char columns[3 * 40 * 8], out[3 * 8];
    cb_error err = test_error();
    kit_fill(dtype, columns, 3 * n, 1);
    for (uint64_t i = 0; i < n; i++)
        kit_put(dtype, columns, 3 * i + 1, kit_get(dtype, in, i));
    for (int strided = 0; strided < 2; strided++) {
        const uint64_t shape[] = { n, 3 };
        memset(out, 0xaa, sizeof(out));
        cb_reduce_args args = { CB_ARGS(cb_reduce_args), .dtype = dtype, .op = op, .shape = shape,
                                .rank = strided ? 2 : 1 };
        args.input =
            test_upload(be, strided ? columns : in, (strided ? 3 : 1) * n * kit_size(dtype));
        args.output = test_upload(be, out, sizeof(out));
        TEST_OK(cb_reduce(be, &args, &err), &err);
        test_download(be, out, args.output, sizeof(out));
        all_are(dtype, out + (strided ? kit_size(dtype) : 0), 1, want);
        if (strided)
            all_are(dtype, out, 1, 1);
        TEST_OK(cb_free(be, args.input, &err), &err);
        TEST_OK(cb_free(be, args.output, &err), &err);
    }
}

static void n17_reduce_max_and_min_give_nan_wherever_one_is(void **state)
{
    unsigned char in[40 * 8];
    for (unsigned t = 0; t < 4; t++)
        for (uint32_t op = CB_REDUCE_MAX; op <= CB_REDUCE_MIN; op++)
            for (uint64_t n = 1; n <= 40; n++)
                for (uint64_t at = 0; at < n; at++) {
                    kit_random(kit_dtypes[t], in, n, 3, n);
                    kit_put(kit_dtypes[t], in, at, NAN);
                    reduce_both_ways(TEST_BE(state), kit_dtypes[t], op, n, in, NAN);
                }
}

static void n17_reduce_max_and_min_order_the_zeroes_wherever_they_are(void **state)
{
    unsigned char in[40 * 8];
    for (unsigned t = 0; t < 4; t++)
        for (uint32_t op = CB_REDUCE_MAX; op <= CB_REDUCE_MIN; op++)
            for (uint64_t n = 2; n <= 40; n++)
                for (uint64_t at = 0; at < n; at++) {
                    const double want = op == CB_REDUCE_MAX ? 0. : -0.;
                    kit_fill(kit_dtypes[t], in, n, -want);
                    kit_put(kit_dtypes[t], in, at, want);
                    reduce_both_ways(TEST_BE(state), kit_dtypes[t], op, n, in, want);
                }
}

struct point {
    uint32_t op;
    double x, want, tolerance;
};

/* f(x) in a vector of one and of nineteen, of every type. */
static void check_points(cb_backend be, const struct point *points, uint64_t n)
{
    unsigned char in[19 * 8], out[19 * 8];
    for (uint64_t p = 0; p < n; p++)
        for (unsigned t = 0; t < 4; t++)
            for (uint64_t length = 1; length <= 19; length += 18) {
                const struct point *at = &points[p];
                const uint32_t dtype = kit_dtypes[t];
                kit_fill(dtype, in, length, at->x);
                run_map(be, dtype, at->op, length, 0, in, NULL, out);
                for (uint64_t i = 0; i < length; i++) {
                    const double y = kit_get(dtype, out, i);
                    if (at->tolerance > 0 && y >= at->want && y <= at->want + at->tolerance)
                        kit_put(dtype, out, i, at->want);
                }
                all_are(dtype, out, length, at->want);
            }
}
#define CHECK_POINTS(be, points) check_points(be, points, sizeof(points) / sizeof((points)[0]))

static void n17_relu_of_nan_is_nan(void **state)
{
    static const struct point points[] = { { CB_UNARY_RELU, NAN, NAN, 0 },
                                           { CB_UNARY_RELU, -NAN, NAN, 0 } };
    CHECK_POINTS(TEST_BE(state), points);
}

static void n19_relu_abs_neg_and_sqrt_give_zero_the_right_sign(void **state)
{
    static const struct point points[] = {
        { CB_UNARY_RELU, -3, 0., 0 }, { CB_UNARY_RELU, -0., 0., 0 },
        { CB_UNARY_RELU, 0., 0., 0 }, { CB_UNARY_ABS, -0., 0., 0 },
        { CB_UNARY_ABS, 0., 0., 0 },  { CB_UNARY_NEG, 0., -0., 0 },
        { CB_UNARY_NEG, -0., 0., 0 }, { CB_UNARY_SQRT, -0., -0., 0 },
        { CB_UNARY_SQRT, 0., 0., 0 }, { CB_UNARY_TANH, -0., -0., 0 },
        { CB_UNARY_TANH, 0., 0., 0 },
    };
    CHECK_POINTS(TEST_BE(state), points);
}

static void n20_sigmoid_and_tanh_saturate_without_nan(void **state)
{
    static const struct point points[] = {
        { CB_UNARY_SIGMOID, -90, 0, 1e-38 },
        { CB_UNARY_SIGMOID, -104, 0, 1e-38 },
        { CB_UNARY_SIGMOID, -1e4, 0, 1e-38 },
        { CB_UNARY_SIGMOID, -INFINITY, 0, 1e-38 },
        { CB_UNARY_SIGMOID, 90, 1, 0 },
        { CB_UNARY_SIGMOID, 1e4, 1, 0 },
        { CB_UNARY_SIGMOID, INFINITY, 1, 0 },
        { CB_UNARY_TANH, 20, 1, 0 },
        { CB_UNARY_TANH, -20, -1, 0 },
        { CB_UNARY_TANH, 400, 1, 0 },
        { CB_UNARY_TANH, -400, -1, 0 },
        { CB_UNARY_TANH, INFINITY, 1, 0 },
        { CB_UNARY_TANH, -INFINITY, -1, 0 },
        { CB_UNARY_EXP, -INFINITY, 0, 0 },
        { CB_UNARY_EXP, INFINITY, INFINITY, 0 },
        { CB_UNARY_LOG, 0, -INFINITY, 0 },
        { CB_UNARY_LOG, -1, NAN, 0 },
        { CB_UNARY_SQRT, -1, NAN, 0 },
        { CB_UNARY_SIGMOID, NAN, NAN, 0 },
        { CB_UNARY_TANH, NAN, NAN, 0 },
    };
    CHECK_POINTS(TEST_BE(state), points);
}

static void n20_sigmoid_is_four_ulp_right_down_to_the_subnormals(void **state)
{
    float x[8] = { -87, -88.7f, -88.8f, -90, -95, -100, -103, -103.9f }, y[8];
    run_map(TEST_BE(state), CB_F32, CB_UNARY_SIGMOID, 8, 0, x, NULL, y);
    for (int i = 0; i < 8; i++) {
        const long double want = unary_value(CB_UNARY_SIGMOID, x[i]);
        assert_true(y[i] > 0);
        assert_true(fabsl(y[i] - want) <= 4 * kit_ulp(CB_F32, (double)want));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(n09_unary_is_right_at_every_length_and_offset),
        cmocka_unit_test(n09_binary_is_right_at_every_length_and_offset),
        cmocka_unit_test(n17_binary_max_and_min_give_nan_for_a_nan_on_either_side),
        cmocka_unit_test(n17_binary_max_and_min_order_the_zeroes),
        cmocka_unit_test(n17_reduce_max_and_min_give_nan_wherever_one_is),
        cmocka_unit_test(n17_reduce_max_and_min_order_the_zeroes_wherever_they_are),
        cmocka_unit_test(n17_relu_of_nan_is_nan),
        cmocka_unit_test(n19_relu_abs_neg_and_sqrt_give_zero_the_right_sign),
        cmocka_unit_test(n20_sigmoid_and_tanh_saturate_without_nan),
        cmocka_unit_test(n20_sigmoid_is_four_ulp_right_down_to_the_subnormals),
    };
    return cmocka_run_group_tests(tests, test_setup_backend, test_teardown_backend);
}
