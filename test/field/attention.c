/* SPDX-License-Identifier: Apache-2.0 */
/* Field reports on softmax and attention: N22 N24. */
#include "judge.h"

#include <math.h>
#include <string.h>

/* Softmax of a [rows, cols] matrix of a type, along its rows or, transposed in memory, its columns;
 * data and out hold row after row either way. */
static void run_softmax(cb_backend be, uint32_t dtype, uint64_t rows, uint64_t cols, int columns,
                        const void *data, void *out)
{
    unsigned char raw[64 * 8];
    const uint64_t n = rows * cols;
    cb_error err = test_error();
    cb_softmax_args args = { CB_ARGS(cb_softmax_args), .dtype = dtype, .rank = 2,
                             .shape =
                                 columns ? (uint64_t[]){ cols, rows } : (uint64_t[]){ rows, cols },
                             .axis = columns ? 0 : 1 };
    for (uint64_t i = 0; i < n; i++)
        kit_put(dtype, raw, columns ? i % cols * rows + i / cols : i, kit_get(dtype, data, i));
    args.input = test_upload(be, raw, n * kit_size(dtype));
    memset(raw, 0xaa, sizeof(raw));
    args.output = test_upload(be, raw, n * kit_size(dtype));
    TEST_OK(cb_softmax(be, &args, &err), &err);
    test_download(be, raw, args.output, n * kit_size(dtype));
    for (uint64_t i = 0; i < n; i++)
        kit_put(dtype, out, i, kit_get(dtype, raw, columns ? i % cols * rows + i / cols : i));
    TEST_OK(cb_free(be, args.input, &err), &err);
    TEST_OK(cb_free(be, args.output, &err), &err);
}

/* Of three rows the middle one is poisoned; the others must be what they are without that. */
static void check_poisoned_row(cb_backend be, uint32_t dtype, int columns, double fill, double one)
{
    enum {
        COLS = 5
    };
    unsigned char data[3 * COLS * 8], out[3 * COLS * 8], clean[3 * COLS * 8];
    const uint64_t row = COLS * kit_size(dtype);
    for (uint64_t at = 0; at < COLS; at++) {
        kit_random(dtype, data, 3 * COLS, 4, 5);
        run_softmax(be, dtype, 3, COLS, columns, data, clean);
        if (!isnan(fill))
            kit_fill(dtype, data + row, COLS, fill);
        kit_put(dtype, data, COLS + at, one);
        run_softmax(be, dtype, 3, COLS, columns, data, out);
        for (uint64_t i = 0; i < COLS; i++)
            assert_true(isnan(kit_get(dtype, out, COLS + i)));
        for (uint64_t r = 0; r < 3; r += 2)
            assert_memory_equal(out + r * row, clean + r * row, row);
    }
}

static void n22_softmax_of_a_row_of_minus_infinity_is_nan_and_other_rows_exact(void **state)
{
    for (unsigned t = 0; t < 4; t++)
        for (int columns = 0; columns < 2; columns++)
            check_poisoned_row(TEST_BE(state), kit_dtypes[t], columns, -INFINITY, -INFINITY);
}

static void n22_softmax_of_a_row_with_nan_or_infinity_is_nan_and_other_rows_exact(void **state)
{
    for (unsigned t = 0; t < 4; t++)
        for (int columns = 0; columns < 2; columns++) {
            check_poisoned_row(TEST_BE(state), kit_dtypes[t], columns, NAN, NAN);
            check_poisoned_row(TEST_BE(state), kit_dtypes[t], columns, NAN, INFINITY);
        }
}

static void n22_softmax_of_equal_values_is_uniform(void **state)
{
    static const double values[] = { 0, -0., -1e4, 1e4, 6e4 };
    unsigned char data[8 * 8], out[8 * 8];
    for (unsigned t = 0; t < 4; t++)
        for (unsigned v = 0; v < sizeof(values) / sizeof(values[0]); v++) {
            kit_fill(kit_dtypes[t], data, 8, values[v]);
            run_softmax(TEST_BE(state), kit_dtypes[t], 1, 8, 0, data, out);
            for (uint64_t i = 0; i < 8; i++)
                assert_true(kit_get(kit_dtypes[t], out, i) == 0.125);
        }
}

enum {
    SIDE = 64
};

/* One head of attention; O is filled with 0xAA before the call. */
static void run_attention(cb_backend be, uint32_t flags, uint64_t seq_q, uint64_t seq_kv,
                          uint64_t dim, double scale, const float *q, const float *k,
                          const float *v, float *o)
{
    cb_error err = test_error();
    const uint64_t kv = seq_kv * dim * sizeof(float), bytes = seq_q * dim * sizeof(float);
    cb_attention_args args = {
        CB_ARGS(cb_attention_args), .flags = flags,  .batch = 1,    .heads = 1, .seq_q = seq_q,
        .seq_kv = seq_kv,           .head_dim = dim, .scale = scale
    };
    args.q = test_upload(be, q, bytes);
    args.k = test_upload(be, k, kv);
    args.v = test_upload(be, v, kv);
    args.o = test_alloc(be, bytes);
    TEST_OK(cb_memset(be, args.o, 0xaa, bytes, NULL, &err), &err);
    TEST_OK(cb_attention(be, &args, &err), &err);
    test_download(be, o, args.o, bytes);
    const uint64_t all[] = { args.q, args.k, args.v, args.o };
    for (int i = 0; i < 4; i++)
        TEST_OK(cb_free(be, all[i], &err), &err);
}

static void n22_attention_of_a_query_without_keys_is_zero(void **state)
{
    float q[SIDE], k[SIDE], v[SIDE], o[SIDE];
    const uint64_t dim = 3;
    kit_random(CB_F32, q, SIDE, 1, 1);
    for (uint64_t seq_q = 1; seq_q <= 6; seq_q++)
        for (uint64_t seq_kv = 0; seq_kv < seq_q; seq_kv++) {
            kit_random(CB_F32, k, SIDE, 1, 2);
            kit_random(CB_F32, v, SIDE, 1, 3);
            run_attention(TEST_BE(state), CB_ATTENTION_CAUSAL, seq_q, seq_kv, dim, 1, q, k, v, o);
            const uint64_t blind = seq_q - seq_kv;
            for (uint64_t i = 0; i < seq_q * dim; i++) {
                if (i < blind * dim)
                    assert_true(o[i] == 0 && !signbit(o[i]));
                else if (i < (blind + 1) * dim) /* sees the first key alone */
                    assert_true(o[i] == v[i - blind * dim]);
            }
        }
}

static void n22_attention_without_any_key_is_zero(void **state)
{
    const float q[4] = { 1, 2, 3, 4 }, none[1] = { NAN }, zero[4] = { 0 };
    for (uint32_t flags = 0; flags <= CB_ATTENTION_CAUSAL; flags++) {
        float o[4];
        run_attention(TEST_BE(state), flags, 2, 0, 2, 1, q, none, none, o);
        assert_memory_equal(o, zero, sizeof(zero));
    }
}

static void n22_attention_never_reads_the_key_or_value_of_a_masked_key(void **state)
{
    const float q[2] = { 1, 1 }, k[3] = { 0, 0, NAN }, v[3] = { 2, 4, NAN };
    float o[2];
    run_attention(TEST_BE(state), CB_ATTENTION_CAUSAL, 2, 3, 1, 1, q, k, v, o);
    assert_true(o[0] == 3);
    assert_true(isnan(o[1]));
}

static void n22_attention_with_a_score_that_softmax_makes_nan_is_nan(void **state)
{
    static const float keys[][3] = { { 0, NAN, 0 },
                                     { NAN, 0, 0 },
                                     { 0, INFINITY, 0 },
                                     { -INFINITY, -INFINITY, -INFINITY },
                                     { NAN, NAN, NAN } };
    const float q[1] = { 1 }, v[3] = { 2, 4, 8 }, one_left[3] = { -INFINITY, 3, -INFINITY };
    float o[1];
    for (uint32_t flags = 0; flags <= CB_ATTENTION_CAUSAL; flags++) {
        for (unsigned i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
            run_attention(TEST_BE(state), flags, 1, 3, 1, 1, q, keys[i], v, o);
            assert_true(isnan(o[0]));
        }
        run_attention(TEST_BE(state), flags, 1, 3, 1, 1, q, one_left, v, o);
        assert_true(o[0] == 4);
    }
}

static void n24_causal_attention_aligns_to_the_lower_right(void **state)
{
    const float q[1] = { 0 }, k[4] = { 5, -5, 7, 0 }, v[4] = { 1, 2, 3, 4 };
    float o[1];
    run_attention(TEST_BE(state), CB_ATTENTION_CAUSAL, 1, 4, 1, 1, q, k, v, o);
    assert_true(o[0] == 2.5f);
}

/* With q = 0 every visible key has the same weight: a query averages a prefix of V. */
static void n24_causal_query_i_sees_i_plus_1_plus_the_difference_of_the_lengths(void **state)
{
    float q[SIDE], k[SIDE], v[SIDE], o[SIDE];
    memset(q, 0, sizeof(q));
    kit_random(CB_F32, k, SIDE, 1, 2);
    kit_random(CB_F32, v, SIDE, 1, 3);
    for (uint64_t seq_q = 1; seq_q <= 9; seq_q++)
        for (uint64_t seq_kv = seq_q; seq_kv <= 40; seq_kv += 3) {
            run_attention(TEST_BE(state), CB_ATTENTION_CAUSAL, seq_q, seq_kv, 1, 1, q, k, v, o);
            double sum = 0, size = 0;
            for (uint64_t j = 0; j < seq_kv; j++) {
                sum += v[j];
                size += fabs(v[j]);
                const uint64_t n = j + 1;
                if (n <= seq_kv - seq_q)
                    continue;
                const double u = 0x1p-24, e = 2 * u;
                const double bound = size / n * (2 * e + (n + 6) * u + (n + 1) * u);
                assert_true(fabs(o[n - 1 - (seq_kv - seq_q)] - sum / n) <= bound);
            }
        }
}

static void n24_the_scale_of_attention_multiplies(void **state)
{
    const float q[1] = { 1 }, k[2] = { 0, 1 }, v[2] = { 0, 1 };
    static const double scales[] = { 0, 0.25, 1, 4, -2 };
    for (unsigned i = 0; i < sizeof(scales) / sizeof(scales[0]); i++) {
        float o[1];
        run_attention(TEST_BE(state), 0, 1, 2, 1, scales[i], q, k, v, o);
        const double s = scales[i], p = 1 / (1 + exp(-s)), u = 0x1p-24;
        const double e0 = (fabs(s > 0 ? s : 0) + 2) * u;
        const double e1 = (fabs(s > 0 ? 0 : s) + 2) * u + 3 * u * fabs(s);
        const double bound = p * (e1 + (1 - p) * e0 + p * e1 + 8 * u) + 3 * u * p;
        assert_true(fabs(o[0] - p) <= bound);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(n22_softmax_of_a_row_of_minus_infinity_is_nan_and_other_rows_exact),
        cmocka_unit_test(n22_softmax_of_a_row_with_nan_or_infinity_is_nan_and_other_rows_exact),
        cmocka_unit_test(n22_softmax_of_equal_values_is_uniform),
        cmocka_unit_test(n22_attention_of_a_query_without_keys_is_zero),
        cmocka_unit_test(n22_attention_without_any_key_is_zero),
        cmocka_unit_test(n22_attention_never_reads_the_key_or_value_of_a_masked_key),
        cmocka_unit_test(n22_attention_with_a_score_that_softmax_makes_nan_is_nan),
        cmocka_unit_test(n24_causal_attention_aligns_to_the_lower_right),
        cmocka_unit_test(n24_causal_query_i_sees_i_plus_1_plus_the_difference_of_the_lengths),
        cmocka_unit_test(n24_the_scale_of_attention_multiplies),
    };
    return cmocka_run_group_tests(tests, test_setup_backend, test_teardown_backend);
}
