/* SPDX-License-Identifier: Apache-2.0 */
/* Field reports on convolutions: N26 N29. */
#include "judge.h"

#include <math.h>
#include <string.h>

static void n26_backward_data_writes_rows_that_no_filter_reached(void **state)
{
    float dy[4], w[9], dx[36];
    const cb_backend be = TEST_BE(state);
    cb_error err = test_error();
    kit_fill(CB_F32, dy, 4, 1);
    kit_fill(CB_F32, w, 9, 1);
    kit_fill(CB_F32, dx, 36, NAN);
    const cb_conv2d_args args = { CB_ARGS(cb_conv2d_args),
                                  .input_shape = { 1, 1, 6, 6 },
                                  .filter_shape = { 1, 1, 3, 3 },
                                  .output_shape = { 1, 1, 2, 2 },
                                  .stride = { 2, 2 },
                                  .input = test_upload(be, dx, sizeof(dx)),
                                  .filter = test_upload(be, w, sizeof(w)),
                                  .output = test_upload(be, dy, sizeof(dy)) };
    TEST_OK(cb_conv2d_backward_data(be, &args, &err), &err);
    test_download(be, dx, args.input, sizeof(dx));
    assert_true(dx[2 * 6 + 2] == 4);
    assert_true(dx[0] == 1);
    for (int i = 0; i < 6; i++)
        assert_true(dx[5 * 6 + i] == 0 && dx[i * 6 + 5] == 0);
}

/* Fills in the output's extents. Returns 0 when the filter is larger than the padded input. */
static int set_output(cb_conv2d_args *a)
{
    a->output_shape[0] = a->input_shape[0];
    a->output_shape[1] = a->filter_shape[0];
    for (int side = 0; side < 2; side++) {
        const uint64_t padded = a->input_shape[2 + side] + a->padding[side] + a->padding[2 + side];
        const uint64_t dilation = a->dilation[side] ? a->dilation[side] : 1;
        const uint64_t span = dilation * (a->filter_shape[2 + side] - 1) + 1;
        if (span > padded)
            return 0;
        a->output_shape[2 + side] = (padded - span) / a->stride[side] + 1;
    }
    return 1;
}

static void all_three(cb_backend be, const cb_conv2d_args *args)
{
    for (uint32_t op = CB_OP_CONV2D_FORWARD; op <= CB_OP_CONV2D_BACKWARD_FILTER; op++)
        check_conv2d(be, op, args);
}

static void n26_convolutions_are_right_where_the_stride_does_not_divide_the_size(void **state)
{
    for (uint64_t i = 0; i < 6 * 3 * 3 * 3; i++) {
        const uint64_t size = 3 + i % 6, filter = 1 + i / 6 % 3, stride = 1 + i / 18 % 3;
        const uint64_t pad = i / 54 % 3;
        cb_conv2d_args args = { CB_ARGS(cb_conv2d_args),
                                .input_shape = { 2, 2, size, 9 - size % 4 },
                                .filter_shape = { 3, 2, filter, 4 - filter },
                                .stride = { stride, 4 - stride },
                                .padding = { pad, 0, pad / 2, 1 } };
        if (set_output(&args))
            all_three(TEST_BE(state), &args);
    }
}

static void n26_convolutions_are_right_with_dilation_and_groups(void **state)
{
    for (uint64_t i = 0; i < 3 * 3 * 3; i++) {
        const uint64_t groups = 1 + i % 3;
        cb_conv2d_args args = { CB_ARGS(cb_conv2d_args),
                                .input_shape = { 1, 2 * groups, 7, 8 },
                                .filter_shape = { 3 * groups, 2, 3, 2 },
                                .stride = { 2, 1 },
                                .padding = { 2, 1, 0, 3 },
                                .dilation = { i / 3 % 3, i / 9 % 3 },
                                .groups = groups };
        if (set_output(&args))
            all_three(TEST_BE(state), &args);
    }
}

static void n29_an_empty_batch_is_no_work_and_no_error(void **state)
{
    cb_conv2d_args args = { CB_ARGS(cb_conv2d_args), .input_shape = { 0, 2, 5, 5 },
                            .filter_shape = { 3, 2, 3, 3 }, .stride = { 1, 1 } };
    assert_true(set_output(&args));
    all_three(TEST_BE(state), &args);
}

static void n29_an_empty_sum_is_zero_and_is_written(void **state)
{
    cb_conv2d_args no_channels = { CB_ARGS(cb_conv2d_args), .input_shape = { 2, 0, 5, 5 },
                                   .filter_shape = { 3, 0, 3, 3 }, .stride = { 1, 1 } };
    cb_conv2d_args no_filters = { CB_ARGS(cb_conv2d_args), .input_shape = { 2, 3, 5, 5 },
                                  .filter_shape = { 0, 3, 3, 3 }, .stride = { 1, 1 } };
    assert_true(set_output(&no_channels) && set_output(&no_filters));
    all_three(TEST_BE(state), &no_channels);
    all_three(TEST_BE(state), &no_filters);
}

static const cb_conv2d_args valid = {
    CB_ARGS(cb_conv2d_args),
    .input_shape = { 2, 4, 5, 6 },
    .filter_shape = { 6, 2, 3, 2 },
    .output_shape = { 2, 6, 3, 5 },
    .stride = { 1, 1 },
    .groups = 2,
};

/* What is changed in `valid`, and a word that the message must have. */
static const struct broken {
    uint64_t field, value;
    const char *word;
} broken[] = {
#define AT(field) offsetof(cb_conv2d_args, field)
    { AT(stride[0]), 0, "stride" },
    { AT(stride[1]), 0, "stride" },
    { AT(input_shape[0]), 1, "output_shape" },
    { AT(input_shape[1]), 3, "groups" },
    { AT(input_shape[1]), 6, "filter_shape" },
    { AT(input_shape[2]), 2, "filter" },
    { AT(input_shape[2]), 0, "filter" },
    { AT(input_shape[3]), 1, "filter" },
    { AT(filter_shape[0]), 5, "groups" },
    { AT(filter_shape[1]), 4, "filter_shape" },
    { AT(filter_shape[1]), 0, "filter_shape" },
    { AT(filter_shape[2]), 0, "filter_shape" },
    { AT(filter_shape[3]), 0, "filter_shape" },
    { AT(filter_shape[2]), 6, "filter" },
    { AT(output_shape[0]), 3, "output_shape" },
    { AT(output_shape[1]), 5, "output_shape" },
    { AT(output_shape[2]), 2, "output_shape" },
    { AT(output_shape[2]), 4, "output_shape" },
    { AT(output_shape[3]), 4, "output_shape" },
    { AT(output_shape[3]), 6, "output_shape" },
    { AT(dilation[0]), 3, "filter" },
    { AT(groups), 4, "groups" },
    { AT(groups), 3, "groups" },
#undef AT
};

static void n29_wrong_shapes_are_refused_by_name_and_nothing_is_written(void **state)
{
    const cb_backend be = TEST_BE(state);
    unsigned char fill[4096], got[4096];
    memset(fill, FILL_BYTE, sizeof(fill));
    struct kit_call call;
    for (uint32_t op = CB_OP_CONV2D_FORWARD; op <= CB_OP_CONV2D_BACKWARD_FILTER; op++)
        for (unsigned i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
            call.op = op;
            call.args.conv = valid;
            memcpy((char *)&call.args + broken[i].field, &broken[i].value, sizeof(uint64_t));
            uint64_t *const pointers[] = { &call.args.conv.input, &call.args.conv.filter,
                                           &call.args.conv.output };
            for (int p = 0; p < 3; p++)
                *pointers[p] = test_upload(be, fill, sizeof(fill));
            cb_error err = test_error();
            TEST_STATUS(kit_run(be, &call, &err), CB_INVALID_ARGUMENT, &err);
            assert_string_equal(err.where, cb_op_name(op));
            if (!strstr(err.msg, broken[i].word))
                fail_msg("no \"%s\" in \"%s\"", broken[i].word, err.msg);
            for (int p = 0; p < 3; p++) {
                test_download(be, got, *pointers[p], sizeof(got));
                assert_memory_equal(got, fill, sizeof(fill));
                TEST_OK(cb_free(be, *pointers[p], &err), &err);
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(n26_backward_data_writes_rows_that_no_filter_reached),
        cmocka_unit_test(n26_convolutions_are_right_where_the_stride_does_not_divide_the_size),
        cmocka_unit_test(n26_convolutions_are_right_with_dilation_and_groups),
        cmocka_unit_test(n29_an_empty_batch_is_no_work_and_no_error),
        cmocka_unit_test(n29_an_empty_sum_is_zero_and_is_written),
        cmocka_unit_test(n29_wrong_shapes_are_refused_by_name_and_nothing_is_written),
    };
    return cmocka_run_group_tests(tests, test_setup_backend, test_teardown_backend);
}
