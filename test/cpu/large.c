/* SPDX-License-Identifier: Apache-2.0 */
/* Operands of more than 2^31 elements, and elements that lie beyond. Most of these buffers is never
 * touched, so that the system gives no memory for it; where all of it is, the test asks first. */
#include "backend.h"

#include <stdio.h>
#include <stdlib.h>

#define BEYOND ((UINT64_C(1) << 31) + 9) /* elements */
#define GIB    (UINT64_C(1) << 30)

/* bytes of device memory that nothing has touched. Skips where the backend has less, or where the
 * system has less than `touched` to spare. */
static uint64_t reserve(cb_backend be, const char *test, uint64_t bytes, uint64_t touched)
{
    cb_error err = test_error();
    cb_memory_info memory;
    char line[128];
    unsigned long long available = 0;
    cb_memory_info_init(&memory);
    TEST_OK(be.api->memory_info(be.self, &memory, &err), &err);
    if (memory.free < bytes)
        test_skip(test, "the backend has too little memory");
    FILE *info = fopen("/proc/meminfo", "r");
    while (info && fgets(line, sizeof(line), info))
        if (sscanf(line, "MemAvailable: %llu kB", &available) == 1)
            break;
    if (info)
        fclose(info);
    if (available * 1024 < touched)
        test_skip(test, "the system has too little memory to spare");
    uint64_t ptr = 0;
    const cb_status status = cb_alloc(be, bytes, &ptr, &err);
    if (status == CB_OUT_OF_MEMORY)
        test_skip(test, "the system gives no such address space");
    TEST_OK(status, &err);
    return ptr;
}

static void put(cb_backend be, uint64_t base, uint64_t index, float value)
{
    cb_error err = test_error();
    TEST_OK(cb_upload(be, base + index * sizeof(float), &value, sizeof(value), &err), &err);
}

static float get(cb_backend be, uint64_t base, uint64_t index)
{
    float value;
    test_download(be, &value, base + index * sizeof(float), sizeof(value));
    return value;
}

/* Element (i, p) of a 2 x 2 matrix, stored as it is or transposed, columns BEYOND apart. */
static uint64_t place(int transposed, uint64_t i, uint64_t p)
{
    return transposed ? p + i * BEYOND : i + p * BEYOND;
}

static void gemm_reaches_columns_that_are_2_31_elements_apart(void **state)
{
    static const float a[2][2] = { { 1, 2 }, { 3, 4 } }, b[2][2] = { { 5, 6 }, { 7, 8 } },
                       c[2][2] = { { 19, 22 }, { 43, 50 } };
    const cb_backend be = TEST_BE(state);
    const char *name = "gemm_reaches_columns_that_are_2_31_elements_apart";
    const uint64_t c_of = reserve(be, name, (BEYOND + 2) * sizeof(float), 0);
    const uint64_t a_of = reserve(be, name, (BEYOND + 4) * sizeof(float), 0);
    const uint64_t b_of = a_of + 2 * sizeof(float); /* between the columns of A */
    for (uint32_t flags = 0; flags < 4; flags++) {
        const int trans_a = flags & 1, trans_b = flags >> 1;
        cb_error err = test_error();
        cb_gemm_args args = {
            CB_ARGS(cb_gemm_args), .dtype = CB_F32, .m = 2,        .n = 2,    .k = 2,    .alpha = 1,
            .lda = BEYOND,         .ldb = BEYOND,   .ldc = BEYOND, .a = a_of, .b = b_of, .c = c_of
        };
        args.trans_a = trans_a ? CB_TRANS : CB_NO_TRANS;
        args.trans_b = trans_b ? CB_TRANS : CB_NO_TRANS;
        for (uint64_t i = 0; i < 4; i++) {
            put(be, args.a, place(trans_a, i / 2, i % 2), a[i / 2][i % 2]);
            put(be, args.b, place(trans_b, i / 2, i % 2), b[i / 2][i % 2]);
            put(be, args.c, place(0, i / 2, i % 2), -1);
        }
        TEST_OK(cb_gemm(be, &args, &err), &err);
        for (uint64_t i = 0; i < 4; i++)
            assert_true(get(be, args.c, place(0, i / 2, i % 2)) == c[i / 2][i % 2]);
    }
    test_release(be, a_of);
    test_release(be, c_of);
}

static void a_convolution_reaches_pixels_beyond_2_31(void **state)
{
    enum {
        SIDE = 1 << 15,
        STRIDE = SIDE - 1
    };
    const cb_backend be = TEST_BE(state);
    cb_error err = test_error();
    float out[3 * 4];
    cb_conv2d_args args = { CB_ARGS(cb_conv2d_args),
                            .dtype = CB_F32,
                            .input_shape = { 1, 3, SIDE, SIDE },
                            .filter_shape = { 3, 1, 1, 1 },
                            .output_shape = { 1, 3, 2, 2 },
                            .stride = { STRIDE, STRIDE },
                            .groups = 3 };
    const uint64_t plane = (uint64_t)SIDE * SIDE;
    args.input =
        reserve(be, "a_convolution_reaches_pixels_beyond_2_31", 3 * plane * sizeof(float), 0);
    args.filter = test_upload(be, (float[]){ 2, 3, 5 }, 3 * sizeof(float));
    args.output = test_alloc(be, sizeof(out));
    for (uint64_t i = 0; i < 12; i++) /* the corners of each plane */
        put(be, args.input, i / 4 * plane + i / 2 % 2 * STRIDE * SIDE + i % 2 * STRIDE,
            (float)(i + 1));
    TEST_OK(cb_conv2d_forward(be, &args, &err), &err);
    test_download(be, out, args.output, sizeof(out));
    for (int i = 0; i < 12; i++)
        assert_true(out[i] == (float)(i + 1) * (float)(i < 4 ? 2 : i < 8 ? 3 : 5));
    test_release(be, args.input);
    test_release(be, args.filter);
    test_release(be, args.output);
}

static void gather_and_scatter_reach_rows_beyond_2_31(void **state)
{
    static const uint64_t indices[] = { BEYOND - 1, 0, BEYOND - 2 };
    static const float rows[] = { 7, 8, 9 };
    const cb_backend be = TEST_BE(state);
    cb_error err = test_error();
    const uint64_t table =
        reserve(be, "gather_and_scatter_reach_rows_beyond_2_31", BEYOND * sizeof(float), 0);
    const uint64_t some = test_upload(be, rows, sizeof(rows));
    cb_rows_args args = { CB_ARGS(cb_rows_args), .rows = BEYOND, .cols = 1,      .indices = indices,
                          .n_indices = 3,        .input = some,  .output = table };
    TEST_OK(cb_scatter(be, &args, &err), &err);
    for (int i = 0; i < 3; i++) {
        assert_true(get(be, table, indices[i]) == rows[i]);
        put(be, some, (uint64_t)i, -1);
    }
    args.input = table;
    args.output = some;
    TEST_OK(cb_gather(be, &args, &err), &err);
    for (uint64_t i = 0; i < 3; i++)
        assert_true(get(be, some, i) == rows[i]);
    test_release(be, table);
    test_release(be, some);
}

#if defined(__SANITIZE_THREAD__)
#define IS_TSAN 1
#elif defined(__has_feature)
#define IS_TSAN __has_feature(thread_sanitizer)
#else
#define IS_TSAN 0
#endif

/* f16: 2^31 of them are 4 GiB. */
static void unary_and_reduce_take_more_than_2_31_elements(void **state)
{
    static const uint16_t minus_one = 0xbc00;
    const cb_backend be = TEST_BE(state);
    cb_error err = test_error();
    const uint64_t shape = BEYOND;
    if (IS_TSAN)
        test_skip("unary_and_reduce_take_more_than_2_31_elements",
                  "ThreadSanitizer wants four times the memory");
    const uint64_t x = reserve(be, "unary_and_reduce_take_more_than_2_31_elements",
                               BEYOND * sizeof(uint16_t), 6 * GIB);
    const uint64_t sum = test_alloc(be, sizeof(uint16_t));
    uint16_t got;
    TEST_OK(cb_memset(be, x, 0, BEYOND * sizeof(uint16_t), NULL, &err), &err);
    const uint64_t at[] = { 0, BEYOND / 2, BEYOND - 10, BEYOND - 1 };
    for (int i = 0; i < 4; i++)
        TEST_OK(cb_upload(be, x + at[i] * sizeof(uint16_t), &minus_one, sizeof(minus_one), &err),
                &err);
    const cb_unary_args unary = { CB_ARGS(cb_unary_args),
                                  .dtype = CB_F16,
                                  .op = CB_UNARY_ABS,
                                  .n = BEYOND,
                                  .input = x,
                                  .output = x };
    TEST_OK(cb_unary(be, &unary, &err), &err);
    const cb_reduce_args reduce = { CB_ARGS(cb_reduce_args),
                                    .dtype = CB_F16,
                                    .op = CB_REDUCE_SUM,
                                    .shape = &shape,
                                    .rank = 1,
                                    .input = x,
                                    .output = sum };
    TEST_OK(cb_reduce(be, &reduce, &err), &err);
    test_download(be, &got, sum, sizeof(got));
    assert_int_equal(got, 0x4400); /* 4 */
    test_release(be, x);
    test_release(be, sum);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(gemm_reaches_columns_that_are_2_31_elements_apart,
                                        test_setup_backend, test_teardown_backend),
        cmocka_unit_test_setup_teardown(a_convolution_reaches_pixels_beyond_2_31,
                                        test_setup_backend, test_teardown_backend),
        cmocka_unit_test_setup_teardown(gather_and_scatter_reach_rows_beyond_2_31,
                                        test_setup_backend, test_teardown_backend),
        cmocka_unit_test_setup_teardown(unary_and_reduce_take_more_than_2_31_elements,
                                        test_setup_backend, test_teardown_backend),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
