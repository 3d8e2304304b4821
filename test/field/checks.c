/* SPDX-License-Identifier: Apache-2.0 */
/* Field reports on arguments that must be refused: N11 N31 P12 P13. */
#include "judge.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- N11 ---- */

static const uint64_t huge[] = { UINT64_C(1) << 32, UINT64_C(1) << 33, UINT64_C(1) << 62,
                                 UINT64_C(1) << 63, UINT64_MAX };
enum {
    HUGE_COUNT = sizeof(huge) / sizeof(huge[0])
};

/* Every size of every op. An index count and a table's rows may lie beyond what is touched, so only
 * those that overflow are wrong in themselves: first says from which of `huge` on. */
static const struct size_field {
    uint32_t op;
    uint64_t field;
    unsigned first;
} size_fields[] = {
#define GEMM(op, type)                                                                             \
    { op, offsetof(type, m), 0 }, { op, offsetof(type, n), 0 }, { op, offsetof(type, k), 0 },      \
        { op, offsetof(type, lda), 0 }, { op, offsetof(type, ldb), 0 },                            \
    {                                                                                              \
        op, offsetof(type, ldc), 0                                                                 \
    }
    GEMM(CB_OP_GEMM, cb_gemm_args),
    GEMM(CB_OP_GEMM_MIXED_PRECISION, cb_gemm_mixed_precision_args),
    GEMM(CB_OP_BATCHED_GEMM, cb_batched_gemm_args),
#undef GEMM
    { CB_OP_BATCHED_GEMM, offsetof(cb_batched_gemm_args, stride_a), 0 },
    { CB_OP_BATCHED_GEMM, offsetof(cb_batched_gemm_args, stride_b), 0 },
    { CB_OP_BATCHED_GEMM, offsetof(cb_batched_gemm_args, stride_c), 0 },
    { CB_OP_BATCHED_GEMM, offsetof(cb_batched_gemm_args, batch), 0 },
#define CONV(op)                                                                                   \
    { op, offsetof(cb_conv2d_args, input_shape[0]), 0 },                                           \
        { op, offsetof(cb_conv2d_args, input_shape[1]), 0 },                                       \
        { op, offsetof(cb_conv2d_args, input_shape[2]), 0 },                                       \
        { op, offsetof(cb_conv2d_args, input_shape[3]), 0 },                                       \
        { op, offsetof(cb_conv2d_args, filter_shape[0]), 0 },                                      \
        { op, offsetof(cb_conv2d_args, filter_shape[1]), 0 },                                      \
        { op, offsetof(cb_conv2d_args, filter_shape[2]), 0 },                                      \
        { op, offsetof(cb_conv2d_args, filter_shape[3]), 0 },                                      \
        { op, offsetof(cb_conv2d_args, output_shape[2]), 0 },                                      \
        { op, offsetof(cb_conv2d_args, padding[0]), 0 },                                           \
        { op, offsetof(cb_conv2d_args, padding[3]), 0 },                                           \
        { op, offsetof(cb_conv2d_args, dilation[0]), 0 },                                          \
        { op, offsetof(cb_conv2d_args, dilation[1]), 0 },                                          \
    {                                                                                              \
        op, offsetof(cb_conv2d_args, groups), 0                                                    \
    }
    CONV(CB_OP_CONV2D_FORWARD),
    CONV(CB_OP_CONV2D_BACKWARD_DATA),
    CONV(CB_OP_CONV2D_BACKWARD_FILTER),
#undef CONV
    { CB_OP_ATTENTION, offsetof(cb_attention_args, batch), 0 },
    { CB_OP_ATTENTION, offsetof(cb_attention_args, heads), 0 },
    { CB_OP_ATTENTION, offsetof(cb_attention_args, kv_heads), 0 },
    { CB_OP_ATTENTION, offsetof(cb_attention_args, seq_q), 0 },
    { CB_OP_ATTENTION, offsetof(cb_attention_args, seq_kv), 0 },
    { CB_OP_ATTENTION, offsetof(cb_attention_args, head_dim), 0 },
    { CB_OP_UNARY, offsetof(cb_unary_args, n), 0 },
    { CB_OP_BINARY, offsetof(cb_binary_args, n), 0 },
    { CB_OP_GATHER, offsetof(cb_rows_args, cols), 0 },
    { CB_OP_GATHER, offsetof(cb_rows_args, rows), 2 },
    { CB_OP_GATHER, offsetof(cb_rows_args, n_indices), 2 },
    { CB_OP_SCATTER, offsetof(cb_rows_args, cols), 0 },
    { CB_OP_SCATTER, offsetof(cb_rows_args, rows), 2 },
    { CB_OP_SCATTER, offsetof(cb_rows_args, n_indices), 2 },
};

static void patch(struct kit_call *call, uint64_t field, const void *value, uint64_t width)
{
    memcpy((char *)&call->args + field, value, width);
}

static void n11_a_huge_extent_is_refused_at_once_by_every_op(void **state)
{
    const cb_backend be = TEST_BE(state);
    cb_error err = test_error();
    struct kit_call call, bad;
    struct kit_data data;
    unsigned char out[KIT_BYTES_MAX];
    for (unsigned i = 0; i < sizeof(size_fields) / sizeof(size_fields[0]); i++) {
        kit_call_f32(size_fields[i].op, &call);
        kit_data_random(&call, &data, 1, i);
        TEST_OK(kit_place(be, &call, &data, &err), &err);
        for (unsigned h = size_fields[i].first; h < HUGE_COUNT; h++) {
            bad = call;
            patch(&bad, size_fields[i].field, &huge[h], sizeof(huge[h]));
            if (kit_run(be, &bad, &err) != CB_INVALID_ARGUMENT)
                fail_msg("%s: the field at byte %u, set to %#lx, was taken", call.name,
                         (unsigned)size_fields[i].field, (unsigned long)huge[h]);
        }
        test_download(be, out, *kit_pointer(&call, call.out), kit_bytes(&call, call.out));
        assert_memory_equal(out, data.bytes[call.out], kit_bytes(&call, call.out));
        kit_unplace(be, &call);
    }
}

static void n11_a_shape_whose_product_wraps_is_refused(void **state)
{
    static const uint64_t two32 = UINT64_C(1) << 32, two33 = UINT64_C(1) << 33;
    const uint64_t shapes[][3] = { { two33, two33, 1 },
                                   { two32, two32, 0 },
                                   { two32, two32, 2 },
                                   { UINT64_C(1) << 63, 2, 1 },
                                   { UINT64_MAX, 1, 1 } };
    const cb_backend be = TEST_BE(state);
    const uint64_t memory = test_alloc(be, 64);
    for (unsigned i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
        for (uint32_t axis = 0; axis < 3; axis++) {
            cb_error err = test_error();
            const cb_softmax_args softmax = {
                CB_ARGS(cb_softmax_args), .shape = shapes[i], .rank = 3, .axis = axis,
                .input = memory,          .output = memory
            };
            const cb_reduce_args reduce = {
                CB_ARGS(cb_reduce_args), .shape = shapes[i], .rank = 3, .axis = axis,
                .input = memory,         .output = memory
            };
            TEST_STATUS(cb_softmax(be, &softmax, &err), CB_INVALID_ARGUMENT, &err);
            TEST_STATUS(cb_reduce(be, &reduce, &err), CB_INVALID_ARGUMENT, &err);
        }
}

static void n11_a_huge_allocation_is_out_of_memory_and_a_small_one_still_works(void **state)
{
    static const uint64_t sizes[] = { UINT64_MAX, UINT64_MAX - 63, UINT64_C(1) << 63,
                                      UINT64_C(1) << 62, UINT64_C(1) << 48 };
    const cb_backend be = TEST_BE(state);
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        cb_error err = test_error();
        uint64_t ptr = 1;
        TEST_STATUS(cb_alloc(be, sizes[i], &ptr, &err), CB_OUT_OF_MEMORY, &err);
        assert_int_equal(ptr, 1);
        TEST_OK(cb_free(be, test_alloc(be, 64), &err), &err);
    }
}

/* ---- N31 ---- */

/* Tries gather and scatter of rows of 3 elements with a bad list of indices. */
static void check_indices(cb_backend be, uint32_t element, const uint64_t *indices, uint64_t n)
{
    unsigned char in[4 * 3 * 16], out[sizeof(in)], got[sizeof(in)];
    memset(in, 0x11, sizeof(in));
    memset(out, 0xaa, sizeof(out));
    for (int scatter = 0; scatter < 2; scatter++) {
        cb_error err = test_error();
        const cb_rows_args args = { CB_ARGS(cb_rows_args),
                                    .element_size = element,
                                    .rows = 3,
                                    .cols = 3,
                                    .indices = indices,
                                    .n_indices = n,
                                    .input = test_upload(be, in, sizeof(in)),
                                    .output = test_upload(be, out, sizeof(out)) };
        TEST_STATUS(scatter ? cb_scatter(be, &args, &err) : cb_gather(be, &args, &err),
                    CB_INVALID_ARGUMENT, &err);
        assert_string_equal(err.where, scatter ? "scatter" : "gather");
        test_download(be, got, args.output, sizeof(got));
        assert_memory_equal(got, out, sizeof(out));
        TEST_OK(cb_free(be, args.input, &err), &err);
        TEST_OK(cb_free(be, args.output, &err), &err);
    }
}

static void n31_an_index_beyond_the_rows_is_refused_and_nothing_is_written(void **state)
{
    static const uint64_t bad[] = { 3, UINT64_MAX, UINT64_C(1) << 63, UINT64_C(1) << 32,
                                    /* times 3 elements of 16 bytes these wrap to 0 or a row */
                                    UINT64_C(1) << 60, UINT64_C(0x5555555555555556) };
    for (uint32_t element = 1; element <= 16; element *= 2)
        for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
            for (int at = 0; at < 3; at++) {
                uint64_t indices[3] = { 0, 1, 2 };
                indices[at] = bad[i];
                check_indices(TEST_BE(state), element, indices, 3);
            }
}

static void n31_no_index_is_valid_for_a_table_without_rows(void **state)
{
    const cb_backend be = TEST_BE(state);
    const uint64_t zero = 0, memory = test_alloc(be, 64);
    for (int scatter = 0; scatter < 2; scatter++) {
        cb_error err = test_error();
        const cb_rows_args args = { CB_ARGS(cb_rows_args), .rows = 0,      .cols = 1,
                                    .indices = &zero,      .n_indices = 1, .input = memory,
                                    .output = memory };
        TEST_STATUS(scatter ? cb_scatter(be, &args, &err) : cb_gather(be, &args, &err),
                    CB_INVALID_ARGUMENT, &err);
    }
}

/* ---- P12 ---- */

/* What is changed in a valid call, and a word that the message must have. */
static const struct bad_field {
    uint32_t op;
    uint64_t field;
    uint64_t width;
    uint64_t value;
    const char *word;
} bad_fields[] = {
#define BAD(op, type, field, value, word)                                                          \
    {                                                                                              \
        CB_OP_##op, offsetof(type, field), sizeof(((type *)NULL)->field), value, word              \
    }
#define BAD_GEMM(op, type)                                                                         \
    BAD(op, type, lda, 4, "lda"), BAD(op, type, ldb, 2, "ldb"), BAD(op, type, ldc, 4, "ldc"),      \
        BAD(op, type, trans_a, 3, "trans_a"), BAD(op, type, trans_b, 99, "trans_b"),               \
        BAD(op, type, m, 7, "lda"), BAD(op, type, a, 0, "a"), BAD(op, type, b, 1, "b"),            \
        BAD(op, type, c, UINT64_MAX, "c")
    BAD_GEMM(GEMM, cb_gemm_args),
    BAD_GEMM(GEMM_MIXED_PRECISION, cb_gemm_mixed_precision_args),
    BAD_GEMM(BATCHED_GEMM, cb_batched_gemm_args),
    BAD(BATCHED_GEMM, cb_batched_gemm_args, stride_c, 0, "stride_c"),
    BAD(BATCHED_GEMM, cb_batched_gemm_args, batch, 4, "a"),
    BAD(CONV2D_FORWARD, cb_conv2d_args, stride[0], 0, "stride"),
    BAD(CONV2D_FORWARD, cb_conv2d_args, output, 0, "output"),
    BAD(CONV2D_BACKWARD_DATA, cb_conv2d_args, groups, 3, "groups"),
    BAD(CONV2D_BACKWARD_DATA, cb_conv2d_args, filter, 12, "filter"),
    BAD(CONV2D_BACKWARD_FILTER, cb_conv2d_args, output_shape[3], 4, "output_shape"),
    BAD(CONV2D_BACKWARD_FILTER, cb_conv2d_args, input, 0, "input"),
    BAD(ATTENTION, cb_attention_args, kv_heads, 3, "kv_heads"),
    BAD(ATTENTION, cb_attention_args, kv_heads, 8, "kv_heads"),
    BAD(ATTENTION, cb_attention_args, q, 0, "q"),
    BAD(ATTENTION, cb_attention_args, seq_kv, 6, "k"),
    BAD(ATTENTION, cb_attention_args, v, 4, "v"),
    BAD(ATTENTION, cb_attention_args, o, 0, "o"),
    BAD(SOFTMAX, cb_softmax_args, rank, 0, "rank"),
    BAD(SOFTMAX, cb_softmax_args, rank, 65, "rank"),
    BAD(SOFTMAX, cb_softmax_args, axis, 3, "axis"),
    BAD(SOFTMAX, cb_softmax_args, shape, 0, "shape"),
    BAD(SOFTMAX, cb_softmax_args, input, 0, "input"),
    BAD(REDUCE, cb_reduce_args, rank, 0, "rank"),
    BAD(REDUCE, cb_reduce_args, rank, 65, "rank"),
    BAD(REDUCE, cb_reduce_args, axis, UINT32_MAX, "axis"),
    BAD(REDUCE, cb_reduce_args, shape, 0, "shape"),
    BAD(REDUCE, cb_reduce_args, output, 0, "output"),
    BAD(UNARY, cb_unary_args, n, 38, "input"),
    BAD(UNARY, cb_unary_args, input, 0, "input"),
    BAD(UNARY, cb_unary_args, output, 0, "output"),
    BAD(BINARY, cb_binary_args, n, 38, "a"),
    BAD(BINARY, cb_binary_args, b, 0, "b"),
    BAD(BINARY, cb_binary_args, output, 0, "output"),
    BAD(GATHER, cb_rows_args, indices, 0, "indices"),
    BAD(GATHER, cb_rows_args, rows, 6, "ind"),
    BAD(GATHER, cb_rows_args, input, 0, "input"),
    BAD(SCATTER, cb_rows_args, indices, 0, "indices"),
    BAD(SCATTER, cb_rows_args, rows, 6, "ind"),
    BAD(SCATTER, cb_rows_args, output, 0, "output"),
#undef BAD_GEMM
#undef BAD
};

/* What went wrong while the test's own output was captured. */
struct verdict {
    char text[1024];
};

static void judge_error(struct verdict *verdict, const char *what, cb_status status,
                        const char *where, const char *word, const cb_error *err)
{
    const int right = status == CB_INVALID_ARGUMENT && err->code == status &&
                      !strcmp(err->where, where) && strstr(err->msg, where) &&
                      strstr(err->msg, word) && memchr(err->msg, 0, sizeof(err->msg));
    if (!right && !verdict->text[0])
        snprintf(verdict->text, sizeof(verdict->text), "%s: %s at \"%s\": %s; no \"%s\"", what,
                 cb_status_name(status), err->where, err->msg, word);
}

static void try_bad_fields(cb_backend be, struct verdict *verdict)
{
    struct kit_call call, bad;
    struct kit_data data;
    unsigned char out[KIT_BYTES_MAX];
    for (unsigned i = 0; i < sizeof(bad_fields) / sizeof(bad_fields[0]); i++) {
        const struct bad_field *b = &bad_fields[i];
        cb_error err = test_error();
        kit_call_f32(b->op, &call);
        kit_data_random(&call, &data, 1, i);
        if (kit_place(be, &call, &data, &err) != CB_OK) {
            snprintf(verdict->text, sizeof(verdict->text), "%s", err.msg);
            return;
        }
        bad = call;
        /* The narrow fields are the low half of value wherever it is stored. */
        const uint32_t narrow = (uint32_t)b->value;
        if (b->width == sizeof(narrow))
            patch(&bad, b->field, &narrow, sizeof(narrow));
        else
            patch(&bad, b->field, &b->value, sizeof(b->value));
        const cb_status status = kit_run(be, &bad, &err);
        judge_error(verdict, call.name, status, cb_op_name(b->op), b->word, &err);
        cb_download(be, out, *kit_pointer(&call, call.out), kit_bytes(&call, call.out), NULL);
        if (memcmp(out, data.bytes[call.out], kit_bytes(&call, call.out)) && !verdict->text[0])
            snprintf(verdict->text, sizeof(verdict->text), "%s: \"%s\" was bad, but C was written",
                     call.name, b->word);
        kit_unplace(be, &call);
    }
}

static void try_bad_structs(cb_backend be, struct verdict *verdict)
{
    for (uint32_t op = 0; op < CB_OP_COUNT; op++) {
        static const uint64_t sizes[] = { 0, 8, 48, CB_ARGS_SIZE_MAX + 1, UINT64_MAX };
        struct kit_call call;
        for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            cb_error err = test_error();
            kit_call_f32(op, &call);
            call.args.size = sizes[i];
            judge_error(verdict, call.name, kit_run(be, &call, &err), cb_op_name(op), "size", &err);
        }
    }
}

static void try_bad_memory(cb_backend be, struct verdict *verdict)
{
    char host[8] = { 0 };
    uint64_t ptr = 0, other = 0;
    cb_error err = test_error();
    if (cb_alloc(be, 64, &ptr, &err) != CB_OK || cb_alloc(be, 64, &other, &err) != CB_OK) {
        snprintf(verdict->text, sizeof(verdict->text), "%s", err.msg);
        return;
    }
#define TRY(call, where, word) judge_error(verdict, #call, call, where, word, &err)
    TRY(cb_alloc(be, 0, &other, &err), "alloc", "bytes");
    TRY(cb_free(be, 0, &err), "free", "0");
    TRY(cb_free(be, ptr + 8, &err), "free", "");
    TRY(cb_free(be, (uint64_t)(uintptr_t)host, &err), "free", "");
    TRY(cb_memset(be, ptr, 256, 64, NULL, &err), "memset", "value");
    TRY(cb_memset(be, ptr, 0, 65, NULL, &err), "memset", "dst");
    TRY(cb_upload(be, ptr + 60, host, 8, &err), "copy_htod", "dst");
    TRY(cb_upload(be, ptr, NULL, 8, &err), "copy_htod", "src");
    TRY(cb_download(be, host, ptr + 57, 8, &err), "copy_dtoh", "src");
    TRY(cb_download(be, NULL, ptr, 8, &err), "copy_dtoh", "dst");
    const cb_copy_dtod_args long_src = { CB_ARGS(cb_copy_dtod_args), .dst = other, .src = ptr + 1,
                                         .bytes = 64 };
    const cb_copy_dtod_args no_dst = { CB_ARGS(cb_copy_dtod_args), .src = ptr, .bytes = 1 };
    TRY(cb_copy_dtod(be, &long_src, &err), "copy_dtod", "src");
    TRY(cb_copy_dtod(be, &no_dst, &err), "copy_dtod", "dst");
#undef TRY
    cb_free(be, other, NULL);
    cb_free(be, ptr, NULL);
}

static void p12_a_bad_argument_is_named_in_the_message_and_nothing_is_printed(void **state)
{
    struct verdict verdict = { "" };
    FILE *captured = tmpfile();
    assert_non_null(captured);
    fflush(NULL);
    const int saved[2] = { dup(STDOUT_FILENO), dup(STDERR_FILENO) };
    dup2(fileno(captured), STDOUT_FILENO);
    dup2(fileno(captured), STDERR_FILENO);

    try_bad_fields(TEST_BE(state), &verdict);
    try_bad_structs(TEST_BE(state), &verdict);
    try_bad_memory(TEST_BE(state), &verdict);

    fflush(NULL);
    dup2(saved[0], STDOUT_FILENO);
    dup2(saved[1], STDERR_FILENO);
    close(saved[0]);
    close(saved[1]);
    const off_t printed = lseek(fileno(captured), 0, SEEK_END);
    fclose(captured);
    if (verdict.text[0])
        fail_msg("%s", verdict.text);
    assert_int_equal(printed, 0);
}

static void p12_a_bad_argument_without_an_error_struct_is_refused_all_the_same(void **state)
{
    for (uint32_t op = 0; op < CB_OP_COUNT; op++) {
        struct kit_call call;
        kit_call_f32(op, &call);
        assert_int_equal(kit_run(TEST_BE(state), &call, NULL), CB_INVALID_ARGUMENT);
    }
}

/* ---- P13 ---- */

/* Makes a buffer in which operand i, with its data, lies one element from the start. */
static uint64_t upload_shifted(cb_backend be, const struct kit_call *call, unsigned i,
                               const struct kit_data *data)
{
    unsigned char raw[KIT_BYTES_MAX + 8];
    const uint64_t size = kit_size(call->operands[i].dtype);
    memset(raw, FILL_BYTE, sizeof(raw));
    memcpy(raw + size, data->bytes[i], kit_bytes(call, i));
    return test_upload(be, raw, kit_bytes(call, i) + size) + size;
}

static void p13_an_operand_may_begin_at_any_element(void **state)
{
    const cb_backend be = TEST_BE(state);
    struct kit_call call;
    struct kit_data data;
    unsigned char want[KIT_BYTES_MAX], got[KIT_BYTES_MAX];
    cb_error err = test_error();
    for (unsigned i = 0; kit_call(i, &call); i++) {
        const uint64_t bytes = kit_bytes(&call, call.out);
        kit_data_random(&call, &data, 1, i);
        TEST_OK(kit_run_apart(be, &call, &data, want, &err), &err);
        for (unsigned o = 0; o < call.n_operands; o++)
            *kit_pointer(&call, o) = upload_shifted(be, &call, o, &data);
        TEST_OK(kit_run(be, &call, &err), &err);
        test_download(be, got, *kit_pointer(&call, call.out), bytes);
        if (memcmp(got, want, bytes))
            fail_msg("%s: other bits at other addresses", call.name);
        for (unsigned o = 0; o < call.n_operands; o++) {
            *kit_pointer(&call, o) -= kit_size(call.operands[o].dtype);
            TEST_OK(cb_free(be, *kit_pointer(&call, o), &err), &err);
        }
    }
}

static void p13_an_operand_off_its_elements_is_refused(void **state)
{
    const cb_backend be = TEST_BE(state);
    struct kit_call call;
    struct kit_data data;
    unsigned char out[KIT_BYTES_MAX];
    for (unsigned i = 0; kit_call(i, &call); i++) {
        cb_error err = test_error();
        kit_data_random(&call, &data, 1, i);
        for (unsigned o = 0; o < call.n_operands; o++)
            *kit_pointer(&call, o) = upload_shifted(be, &call, o, &data);
        for (unsigned o = 0; o < call.n_operands; o++)
            for (uint64_t off = 1; off < kit_size(call.operands[o].dtype); off++) {
                *kit_pointer(&call, o) -= off;
                TEST_STATUS(kit_run(be, &call, &err), CB_INVALID_ARGUMENT, &err);
                *kit_pointer(&call, o) += off;
            }
        test_download(be, out, *kit_pointer(&call, call.out), kit_bytes(&call, call.out));
        assert_memory_equal(out, data.bytes[call.out], kit_bytes(&call, call.out));
        for (unsigned o = 0; o < call.n_operands; o++) {
            *kit_pointer(&call, o) -= kit_size(call.operands[o].dtype);
            TEST_OK(cb_free(be, *kit_pointer(&call, o), &err), &err);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(n11_a_huge_extent_is_refused_at_once_by_every_op),
        cmocka_unit_test(n11_a_shape_whose_product_wraps_is_refused),
        cmocka_unit_test(n11_a_huge_allocation_is_out_of_memory_and_a_small_one_still_works),
        cmocka_unit_test(n31_an_index_beyond_the_rows_is_refused_and_nothing_is_written),
        cmocka_unit_test(n31_no_index_is_valid_for_a_table_without_rows),
        cmocka_unit_test(p12_a_bad_argument_is_named_in_the_message_and_nothing_is_printed),
        cmocka_unit_test(p12_a_bad_argument_without_an_error_struct_is_refused_all_the_same),
        cmocka_unit_test(p13_an_operand_may_begin_at_any_element),
        cmocka_unit_test(p13_an_operand_off_its_elements_is_refused),
    };
    return cmocka_run_group_tests(tests, test_setup_backend, test_teardown_backend);
}
