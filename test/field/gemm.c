/* SPDX-License-Identifier: Apache-2.0 */
/* Field reports on matrix products: N01 N03 N05 N06 N12 N15. */
#include "judge.h"

#include <math.h>
#include <string.h>

enum {
    TRANSPOSES = 3
}; /* none, transposed, conjugate transposed */

/* Calls visit for every type and pair of transposes. */
static void each_kind(cb_backend be, void (*visit)(cb_backend be, struct gemm_case kind))
{
    for (unsigned t = 0; t < 4; t++)
        for (uint32_t ta = 0; ta < TRANSPOSES; ta++)
            for (uint32_t tb = 0; tb < TRANSPOSES; tb++)
                visit(be, (struct gemm_case){
                              .dtype = kit_dtypes[t], .trans_a = ta, .trans_b = tb, .alpha = 1 });
}

static void n01_gemm_with_beta_zero_overwrites_nan_in_c(void **state)
{
    const double a[] = { 1, 0, 0, 1 }, b[] = { 1, 2, 3, 4 };
    double c[] = { NAN, NAN, NAN, NAN };
    const cb_backend be = TEST_BE(state);
    cb_error err = test_error();
    const cb_gemm_args args = { CB_ARGS(cb_gemm_args),
                                .m = 2,
                                .n = 2,
                                .k = 2,
                                .alpha = 1,
                                .a = test_upload(be, a, sizeof(a)),
                                .lda = 2,
                                .b = test_upload(be, b, sizeof(b)),
                                .ldb = 2,
                                .beta = 0,
                                .c = test_upload(be, c, sizeof(c)),
                                .ldc = 2 };
    TEST_OK(cb_gemm(be, &args, &err), &err);
    test_download(be, c, args.c, sizeof(c));
    assert_memory_equal(c, b, sizeof(b));
}

static void beta_zero(cb_backend be, struct gemm_case g)
{
    g.m = 5, g.n = 7;
    for (g.k = 0; g.k < 4; g.k++)
        for (g.pad = 0; g.pad < 3; g.pad += 2)
            check_gemm(be, &g);
}

static void n01_gemm_with_beta_zero_does_not_read_c_for_any_type_or_transpose(void **state)
{
    each_kind(TEST_BE(state), beta_zero);
}

/* A and B are NaN all over: a product that was read would show. */
static void alpha_zero(cb_backend be, struct gemm_case g)
{
    g.m = 5, g.n = 3, g.k = 4, g.alpha = 0;
    for (g.beta = 0; g.beta < 3; g.beta += 2)
        check_gemm(be, &g);
}

static void n01_gemm_with_alpha_zero_scales_c_alone(void **state)
{
    each_kind(TEST_BE(state), alpha_zero);
}

static void n03_gemm_with_k_zero_scales_c_by_beta(void **state)
{
    const cb_backend be = TEST_BE(state);
    cb_error err = test_error();
    for (unsigned t = 0; t < 4; t++) {
        const uint32_t wide = kit_dtypes[t] == CB_F64 ? CB_F64 : CB_F32;
        unsigned char c[2][4 * 8];
        for (int round = 0; round < 2; round++) {
            kit_fill(wide, c[0], 4, round ? NAN : 1);
            kit_fill(wide, c[1], 4, round ? 0 : 3);
            const uint64_t bytes = 4 * kit_size(wide);
            const cb_gemm_args args = { CB_ARGS(cb_gemm_args),
                                        .dtype = kit_dtypes[t],
                                        .m = 2,
                                        .n = 2,
                                        .alpha = 1,
                                        .lda = 2,
                                        .beta = round ? 0 : 3,
                                        .c = test_upload(be, c[0], bytes),
                                        .ldc = 2 };
            TEST_OK(cb_gemm(be, &args, &err), &err);
            test_download(be, c[0], args.c, bytes);
            assert_memory_equal(c[0], c[1], bytes);
        }
    }
}

static void n03_batched_gemm_with_k_zero_scales_every_c(void **state)
{
    const cb_backend be = TEST_BE(state);
    cb_error err = test_error();
    float c[12], want[12];
    kit_fill(CB_F32, c, 12, 1);
    kit_fill(CB_F32, want, 12, 3);
    const cb_batched_gemm_args args = { CB_ARGS(cb_batched_gemm_args),
                                        .dtype = CB_F32,
                                        .m = 2,
                                        .n = 2,
                                        .alpha = 1,
                                        .lda = 2,
                                        .beta = 3,
                                        .c = test_upload(be, c, sizeof(c)),
                                        .ldc = 2,
                                        .stride_c = 4,
                                        .batch = 3 };
    TEST_OK(cb_batched_gemm(be, &args, &err), &err);
    test_download(be, c, args.c, sizeof(c));
    assert_memory_equal(c, want, sizeof(want));
}

/* Each row: the matrices' extents, and the least leading dimensions that they allow. */
static void n05_a_leading_dimension_is_at_least_the_rows_in_memory(void **state)
{
    static const struct {
        uint32_t ta, tb;
        uint64_t m, n, k, lda, ldb, ldc;
    } rows[] = {
        { CB_TRANS, CB_NO_TRANS, 2, 3, 5, 5, 5, 2 },
        { CB_NO_TRANS, CB_NO_TRANS, 2, 3, 5, 2, 5, 2 },
        { CB_NO_TRANS, CB_TRANS, 2, 3, 5, 2, 3, 2 },
        { CB_CONJ_TRANS, CB_CONJ_TRANS, 2, 3, 5, 5, 3, 2 },
        { CB_NO_TRANS, CB_NO_TRANS, 0, 3, 5, 0, 5, 0 },
        { CB_TRANS, CB_TRANS, 4, 0, 0, 0, 0, 4 },
        { CB_NO_TRANS, CB_NO_TRANS, 4, 6, 0, 4, 0, 4 },
    };
    const cb_backend be = TEST_BE(state);
    const uint64_t memory = test_alloc(be, 3 * 1024);
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        for (int bad = 0; bad < 4; bad++) { /* 0: none; then lda, ldb, ldc */
            cb_error err = test_error();
            static const char *const names[] = { "", "lda", "ldb", "ldc" };
            const uint64_t least[] = { 1, rows[i].lda, rows[i].ldb, rows[i].ldc };
            if (!least[bad])
                continue;
            const cb_gemm_args args = {
                CB_ARGS(cb_gemm_args),
                .trans_a = rows[i].ta,
                .trans_b = rows[i].tb,
                .m = rows[i].m,
                .n = rows[i].n,
                .k = rows[i].k,
                .alpha = 1,
                .a = memory,
                .lda = rows[i].lda - (bad == 1),
                .b = memory + 1024,
                .ldb = rows[i].ldb - (bad == 2),
                .c = memory + 2048,
                .ldc = rows[i].ldc - (bad == 3),
            };
            TEST_STATUS(cb_gemm(be, &args, &err), bad ? CB_INVALID_ARGUMENT : CB_OK, &err);
            if (bad)
                assert_non_null(strstr(err.msg, names[bad]));
        }
}

static const uint64_t tails[] = { 1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12,
                                  13, 14, 15, 16, 17, 31, 32, 33, 63, 64, 65 };
enum {
    TAILS = sizeof(tails) / sizeof(tails[0])
};

/* The whole cube of sizes. Each takes the next of 144 kinds (type, transposes, beta, padding); 23
 * is prime to 144, so that each size of each side meets every kind. */
static void n06_gemm_is_right_at_every_tile_tail(void **state)
{
    unsigned kind = 0;
    for (int i = 0; i < TAILS * TAILS * TAILS; i++, kind++) {
        const struct gemm_case g = {
            .dtype = kit_dtypes[kind % 4],
            .trans_a = kind / 4 % TRANSPOSES,
            .trans_b = kind / 12 % TRANSPOSES,
            .m = tails[i / TAILS % TAILS],
            .n = tails[i % TAILS],
            .k = tails[i / TAILS / TAILS],
            .alpha = 1,
            .beta = kind / 36 % 2,
            .pad = kind / 72 % 2,
        };
        check_gemm(TEST_BE(state), &g);
    }
}

/* Every kind sees every size along each side. */
static void tails_of(cb_backend be, struct gemm_case g)
{
    for (int i = 0; i < TAILS; i++)
        for (g.beta = 0; g.beta < 2; g.beta++) {
            g.m = tails[i], g.n = 6, g.k = 3;
            check_gemm(be, &g);
            g.m = 2, g.n = tails[i], g.k = 1;
            check_gemm(be, &g);
            g.m = 9, g.n = 1, g.k = tails[i];
            check_gemm(be, &g);
        }
}

static void n06_gemm_is_right_for_odd_sizes_of_every_type_and_transpose(void **state)
{
    each_kind(TEST_BE(state), tails_of);
}

struct batch {
    uint32_t dtype;
    uint64_t stride_a, stride_b, stride_c, ldc;
    cb_status want;
};

/* m = n = k = 2, batch 3; matrix b of A is the identity times b + 1, or of stride 0 times 1; of B
 * all elements are b + 1, or 1. */
static void check_batch(cb_backend be, const struct batch *x)
{
    const uint32_t wide = x->dtype == CB_F64 ? CB_F64 : CB_F32;
    unsigned char a[32 * 8], b[32 * 8], c[32 * 8], untouched[32 * 8];
    kit_fill(x->dtype, a, 32, NAN);
    kit_fill(x->dtype, b, 32, NAN);
    for (uint64_t i = 3; i-- > 0;)
        for (uint64_t e = 0; e < 4; e++) {
            kit_put(x->dtype, a, i * x->stride_a + e, (e % 3 == 0) * (i + 1.0));
            kit_put(x->dtype, b, i * x->stride_b + e, i + 1.0);
        }
    memset(c, 0xaa, sizeof(c));
    memset(untouched, 0xaa, sizeof(c));
    cb_error err = test_error();
    const cb_batched_gemm_args args = {
        CB_ARGS(cb_batched_gemm_args),
        .dtype = x->dtype,
        .m = 2,
        .n = 2,
        .k = 2,
        .alpha = 1,
        .a = test_upload(be, a, sizeof(a)),
        .lda = 2,
        .b = test_upload(be, b, sizeof(b)),
        .ldb = 2,
        .c = test_upload(be, c, sizeof(c)),
        .ldc = x->ldc,
        .stride_a = x->stride_a,
        .stride_b = x->stride_b,
        .stride_c = x->stride_c,
        .batch = 3,
    };
    TEST_STATUS(cb_batched_gemm(be, &args, &err), x->want, &err);
    test_download(be, c, args.c, sizeof(c));
    if (x->want != CB_OK) {
        assert_memory_equal(c, untouched, sizeof(c));
        return;
    }
    for (uint64_t i = 0; i < 3; i++)
        for (uint64_t e = 0; e < 4; e++) {
            const uint64_t at = i * x->stride_c + e % 2 + e / 2 * x->ldc;
            const double want = (x->stride_a ? i + 1.0 : 1) * (x->stride_b ? i + 1.0 : 1);
            if (kit_get(wide, c, at) != want)
                fail_msg("batch %u element %u: %g, not %g", (unsigned)i, (unsigned)e,
                         kit_get(wide, c, at), want);
            kit_put(wide, untouched, at, want);
        }
    assert_memory_equal(c, untouched, sizeof(c));
}

static void n12_batched_gemm_takes_strides_in_elements_and_shares_at_stride_zero(void **state)
{
    for (unsigned t = 0; t < 4; t++) {
        const struct batch rows[] = {
            { kit_dtypes[t], 4, 4, 4, 2, CB_OK }, { kit_dtypes[t], 0, 5, 6, 3, CB_OK },
            { kit_dtypes[t], 7, 0, 5, 2, CB_OK }, { kit_dtypes[t], 0, 0, 4, 2, CB_OK },
            { kit_dtypes[t], 4, 4, 2, 6, CB_OK }, /* the C lie side by side in one wide matrix */
            { kit_dtypes[t], 4, 4, 3, 9, CB_OK },
        };
        for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
            check_batch(TEST_BE(state), &rows[i]);
    }
}

static void n12_batched_gemm_refuses_outputs_that_share_an_element(void **state)
{
    static const uint64_t rows[][2] = { { 0, 2 }, { 1, 2 }, { 3, 2 }, { 2, 5 }, { 1, 6 } };
    for (unsigned t = 0; t < 4; t++)
        for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
            check_batch(TEST_BE(state), &(struct batch){ kit_dtypes[t], 4, 4, rows[i][0],
                                                         rows[i][1], CB_INVALID_ARGUMENT });
}

static void n15_sixteen_bit_sums_do_not_stop_at_2048(void **state)
{
    enum {
        K = 4096
    };
    static uint16_t ones[K];
    static float ones32[K];
    const cb_backend be = TEST_BE(state);
    cb_error err = test_error();
    kit_fill(CB_F32, ones32, K, 1);
    for (unsigned t = 2; t < 4; t++) {
        const uint32_t dtype = kit_dtypes[t];
        float c = NAN;
        kit_fill(dtype, ones, K, 1);
        cb_gemm_args args = { CB_ARGS(cb_gemm_args),
                              .dtype = dtype,
                              .m = 1,
                              .n = 1,
                              .k = K,
                              .alpha = 1,
                              .a = test_upload(be, ones, sizeof(ones)),
                              .lda = 1,
                              .ldb = K,
                              .c = test_upload(be, &c, sizeof(c)),
                              .ldc = 1 };
        args.b = args.a;
        TEST_OK(cb_gemm(be, &args, &err), &err);
        test_download(be, &c, args.c, sizeof(c));
        assert_true(c == K);

        cb_gemm_mixed_precision_args mixed = {
            CB_ARGS(cb_gemm_mixed_precision_args),
            .m = 1,
            .n = 1,
            .k = K,
            .alpha = 1,
            .precision = dtype == CB_F16 ? CB_MIXED_F16 : CB_MIXED_BF16,
            .a = test_upload(be, ones32, sizeof(ones32)),
            .lda = 1,
            .ldb = K,
            .c = args.c,
            .ldc = 1,
        };
        mixed.b = mixed.a;
        TEST_OK(cb_memset(be, args.c, 0xff, sizeof(c), NULL, &err), &err);
        TEST_OK(cb_gemm_mixed_precision(be, &mixed, &err), &err);
        test_download(be, &c, args.c, sizeof(c));
        assert_true(c == K);
    }
}

static void n15_reduce_of_sixteen_bit_ones_does_not_stop_at_2048(void **state)
{
    enum {
        N = 4096
    };
    static uint16_t ones[N];
    const uint64_t shape[] = { N };
    const cb_backend be = TEST_BE(state);
    cb_error err = test_error();
    for (unsigned t = 2; t < 4; t++) {
        uint16_t sum = 0xffff;
        kit_fill(kit_dtypes[t], ones, N, 1);
        const cb_reduce_args args = { CB_ARGS(cb_reduce_args),
                                      .dtype = kit_dtypes[t],
                                      .op = CB_REDUCE_SUM,
                                      .shape = shape,
                                      .rank = 1,
                                      .input = test_upload(be, ones, sizeof(ones)),
                                      .output = test_upload(be, &sum, sizeof(sum)) };
        TEST_OK(cb_reduce(be, &args, &err), &err);
        test_download(be, &sum, args.output, sizeof(sum));
        assert_true(kit_get(kit_dtypes[t], &sum, 0) == N);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(n01_gemm_with_beta_zero_overwrites_nan_in_c),
        cmocka_unit_test(n01_gemm_with_beta_zero_does_not_read_c_for_any_type_or_transpose),
        cmocka_unit_test(n01_gemm_with_alpha_zero_scales_c_alone),
        cmocka_unit_test(n03_gemm_with_k_zero_scales_c_by_beta),
        cmocka_unit_test(n03_batched_gemm_with_k_zero_scales_every_c),
        cmocka_unit_test(n05_a_leading_dimension_is_at_least_the_rows_in_memory),
        cmocka_unit_test(n06_gemm_is_right_at_every_tile_tail),
        cmocka_unit_test(n06_gemm_is_right_for_odd_sizes_of_every_type_and_transpose),
        cmocka_unit_test(n12_batched_gemm_takes_strides_in_elements_and_shares_at_stride_zero),
        cmocka_unit_test(n12_batched_gemm_refuses_outputs_that_share_an_element),
        cmocka_unit_test(n15_sixteen_bit_sums_do_not_stop_at_2048),
        cmocka_unit_test(n15_reduce_of_sixteen_bit_ones_does_not_stop_at_2048),
    };
    return cmocka_run_group_tests(tests, test_setup_backend, test_teardown_backend);
}
