/* SPDX-License-Identifier: Apache-2.0 */
/* The null backend opens, and refuses everything that a host may then ask of it, by name. */
#include "backend.h"

#include <string.h>

static cb_backend create_null(void)
{
    cb_error err = test_error();
    cb_create_args args;
    cb_create_args_init(&args);
    cb_backend be = { test_table(), NULL };
    TEST_OK(be.api->create(&args, &be.self, &err), &err);
    return be;
}

static void expect(cb_status got, cb_status want, const cb_error *err, const char *slot)
{
    test_status_at(got, want, err, slot, __FILE__, __LINE__);
    assert_int_equal(err->code, want);
    assert_string_equal(err->where, slot);
    assert_non_null(strstr(err->msg, slot));
}

#define EXPECT(slot, want, ...)                                                                    \
    do {                                                                                           \
        cb_error err = test_error();                                                               \
        expect(be.api->slot(be.self, __VA_ARGS__, &err), want, &err, #slot);                       \
    } while (0)

/* Every slot that the null backend cannot serve. */
static void expect_everything(cb_backend be, cb_status want)
{
    uint64_t ptr = 7;
    uint32_t done = 7;
    cb_stream *stream = NULL;
    cb_event *event = NULL;
    EXPECT(alloc, want, 64, NULL, &ptr);
    EXPECT(copy_htod, want, &(cb_copy_htod_args){ CB_ARGS(cb_copy_htod_args) });
    EXPECT(copy_dtoh, want, &(cb_copy_dtoh_args){ CB_ARGS(cb_copy_dtoh_args) });
    EXPECT(copy_dtod, want, &(cb_copy_dtod_args){ CB_ARGS(cb_copy_dtod_args) });
    EXPECT(memset, want, 1, 0, 1, NULL);
    EXPECT(gemm, want, &(cb_gemm_args){ CB_ARGS(cb_gemm_args) });
    EXPECT(gemm_mixed_precision, want,
           &(cb_gemm_mixed_precision_args){ CB_ARGS(cb_gemm_mixed_precision_args) });
    EXPECT(batched_gemm, want, &(cb_batched_gemm_args){ CB_ARGS(cb_batched_gemm_args) });
    EXPECT(conv2d_forward, want, &(cb_conv2d_args){ CB_ARGS(cb_conv2d_args) });
    EXPECT(conv2d_backward_data, want, &(cb_conv2d_args){ CB_ARGS(cb_conv2d_args) });
    EXPECT(conv2d_backward_filter, want, &(cb_conv2d_args){ CB_ARGS(cb_conv2d_args) });
    EXPECT(attention, want, &(cb_attention_args){ CB_ARGS(cb_attention_args) });
    EXPECT(softmax, want, &(cb_softmax_args){ CB_ARGS(cb_softmax_args) });
    EXPECT(reduce, want, &(cb_reduce_args){ CB_ARGS(cb_reduce_args) });
    EXPECT(unary, want, &(cb_unary_args){ CB_ARGS(cb_unary_args) });
    EXPECT(binary, want, &(cb_binary_args){ CB_ARGS(cb_binary_args) });
    EXPECT(gather, want, &(cb_rows_args){ CB_ARGS(cb_rows_args) });
    EXPECT(scatter, want, &(cb_rows_args){ CB_ARGS(cb_rows_args) });
    EXPECT(stream_create, want, 0, &stream);
    EXPECT(stream_destroy, want, NULL);
    EXPECT(stream_synchronize, want, NULL);
    EXPECT(event_create, want, 0, &event);
    EXPECT(event_destroy, want, NULL);
    EXPECT(event_record, want, NULL, NULL);
    EXPECT(stream_wait_event, want, NULL, NULL);
    EXPECT(event_query, want, NULL, &done);
    EXPECT(event_synchronize, want, NULL);
    assert_int_equal(ptr, 7);
    assert_int_equal(done, 7);
    assert_null(stream);
    assert_null(event);
}

static void before_init_every_slot_that_needs_a_device_is_not_initialized(void **state)
{
    (void)state;
    const cb_backend be = create_null();
    expect_everything(be, CB_NOT_INITIALIZED);
    EXPECT(free, CB_NOT_INITIALIZED, 1, NULL);
    EXPECT(supports, CB_NOT_INITIALIZED, CB_OP_GEMM, NULL, NULL);
    EXPECT(memory_info, CB_NOT_INITIALIZED, NULL);
    cb_error err = test_error();
    expect(cb_synchronize(be, &err), CB_NOT_INITIALIZED, &err, "synchronize");
    test_close(be);
}

static void after_init_every_op_allocation_and_copy_is_unsupported_by_name(void **state)
{
    const cb_backend be = TEST_BE(state);
    expect_everything(be, CB_UNSUPPORTED);
    EXPECT(free, CB_INVALID_ARGUMENT, 1, NULL);
    cb_error err = test_error();
    TEST_OK(cb_synchronize(be, &err), &err);
}

static void supports_says_no_to_every_op_with_a_reason(void **state)
{
    const cb_backend be = TEST_BE(state);
    const cb_gemm_args args = { CB_ARGS(cb_gemm_args) };
    for (uint32_t op = 0; op < CB_OP_COUNT; op++) {
        cb_error err = test_error();
        cb_support out = { CB_ARGS(cb_support), .answer = CB_SUPPORT_YES };
        TEST_OK(cb_supports(be, op, &args, &out, &err), &err);
        assert_int_equal(out.answer, CB_SUPPORT_NO);
        assert_non_null(strstr(out.reason, cb_op_name(op)));
    }
    EXPECT(supports, CB_INVALID_ARGUMENT, CB_OP_GEMM, NULL, NULL);
}

static void there_is_one_device_with_host_memory_and_no_features(void **state)
{
    const cb_backend be = TEST_BE(state);
    cb_error err = test_error();
    uint32_t count = 0;
    cb_device_info device = { CB_ARGS(cb_device_info) };
    cb_capabilities caps = { CB_ARGS(cb_capabilities), .features = 0xFF };
    cb_memory_info memory = { .size = sizeof(memory), .total = 1, .free = 1, .live_count = 1 };
    TEST_OK(be.api->device_count(be.self, &count, &err), &err);
    assert_int_equal(count, 1);
    TEST_OK(be.api->device_info(be.self, 0, &device, &err), &err);
    assert_int_equal(device.memory_kind, CB_MEMORY_HOST);
    assert_string_equal(device.id, "null");
    TEST_OK(be.api->capabilities(be.self, CB_DEVICE_AUTO, &caps, &err), &err);
    assert_int_equal(caps.features, 0);
    TEST_OK(be.api->memory_info(be.self, &memory, &err), &err);
    assert_int_equal(memory.total + memory.free + memory.live_bytes + memory.live_count, 0);
    EXPECT(init, CB_INVALID_ARGUMENT, 1);
    TEST_OK(be.api->init(be.self, 0, &err), &err);
}

static void every_info_key_that_is_listed_has_a_value(void **state)
{
    const cb_backend be = TEST_BE(state);
    char keys[512], value[128];
    uint64_t length = sizeof(keys);
    cb_error err = test_error();
    TEST_OK(be.api->info(be.self, "keys", keys, &length, &err), &err);
    assert_int_equal(length, strlen(keys) + 1);
    assert_non_null(strstr(keys, "initialized"));
    char *save = NULL;
    for (char *key = strtok_r(keys, "\n", &save); key; key = strtok_r(NULL, "\n", &save)) {
        length = sizeof(value);
        TEST_OK(be.api->info(be.self, key, value, &length, &err), &err);
        assert_string_not_equal(value, "");
    }
    length = 1;
    TEST_STATUS(be.api->info(be.self, "summary", value, &length, &err), CB_INVALID_ARGUMENT, &err);
    assert_true(length > 1);
    TEST_STATUS(be.api->info(be.self, "nothing", value, &length, &err), CB_NOT_FOUND, &err);
}

static void create_knows_the_option_device_and_refuses_others_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *option;
        cb_status status;
        const char *where;
    } rows[] = {
        { "device=0", CB_OK, NULL },
        { "device=null*", CB_OK, NULL },
        { "device=1", CB_INVALID_ARGUMENT, "option device" },
        { "devices=0", CB_INVALID_ARGUMENT, "option devices" },
        { "bogus", CB_INVALID_ARGUMENT, "option bogus" },
        { "a_key_that_is_longer_than_the_place_for_it_in_the_error_struct_is=1",
          CB_INVALID_ARGUMENT, "option a_key_that_is_longer_than_the_place_for_it_in_the_error_" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        cb_error err = test_error();
        void *self = NULL;
        const cb_create_args args = { CB_ARGS(cb_create_args), .options = &rows[i].option,
                                      .n_options = 1 };
        TEST_STATUS(test_table()->create(&args, &self, &err), rows[i].status, &err);
        if (rows[i].where)
            assert_string_equal(err.where, rows[i].where);
        test_table()->destroy(self);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(before_init_every_slot_that_needs_a_device_is_not_initialized),
        cmocka_unit_test_setup_teardown(
            after_init_every_op_allocation_and_copy_is_unsupported_by_name, test_setup_backend,
            test_teardown_backend),
        cmocka_unit_test_setup_teardown(supports_says_no_to_every_op_with_a_reason,
                                        test_setup_backend, test_teardown_backend),
        cmocka_unit_test_setup_teardown(there_is_one_device_with_host_memory_and_no_features,
                                        test_setup_backend, test_teardown_backend),
        cmocka_unit_test_setup_teardown(every_info_key_that_is_listed_has_a_value,
                                        test_setup_backend, test_teardown_backend),
        cmocka_unit_test(create_knows_the_option_device_and_refuses_others_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
