/* SPDX-License-Identifier: Apache-2.0 */
/* Streams and events of the CPU plugin. */
#include "backend.h"
#include "kit.h"

#include <string.h>

static cb_stream *stream_create(cb_backend be)
{
    cb_error err = test_error();
    cb_stream *stream = NULL;
    TEST_OK(be.api->stream_create(be.self, 0, &stream, &err), &err);
    assert_non_null(stream);
    return stream;
}

static cb_event *event_create(cb_backend be)
{
    cb_error err = test_error();
    cb_event *event = NULL;
    TEST_OK(be.api->event_create(be.self, 0, &event, &err), &err);
    assert_non_null(event);
    return event;
}

static void every_op_runs_on_a_stream_as_on_the_default_one(void **state)
{
    const cb_backend be = TEST_BE(state);
    cb_error err = test_error();
    struct kit_call call;
    struct kit_data data;
    unsigned char want[KIT_BYTES_MAX], got[KIT_BYTES_MAX];
    cb_stream *stream = stream_create(be);
    for (unsigned i = 0; kit_call(i, &call); i++) {
        const uint64_t bytes = kit_bytes(&call, call.out);
        kit_data_random(&call, &data, 1, i);
        TEST_OK(kit_run_apart(be, &call, &data, want, &err), &err);
        TEST_OK(kit_place(be, &call, &data, &err), &err);
        *kit_stream(&call) = stream;
        TEST_OK(kit_run(be, &call, &err), &err);
        TEST_OK(be.api->stream_synchronize(be.self, stream, &err), &err);
        test_download(be, got, *kit_pointer(&call, call.out), bytes);
        assert_memory_equal(got, want, bytes);
        kit_unplace(be, &call);
    }
    TEST_OK(be.api->stream_destroy(be.self, stream, &err), &err);
}

static void work_on_one_stream_runs_in_order_and_a_blocking_copy_sees_it(void **state)
{
    const cb_backend be = TEST_BE(state);
    cb_error err = test_error();
    cb_stream *stream = stream_create(be);
    const float one = 1;
    float got = 0;
    uint64_t ptr = 0;
    TEST_OK(be.api->alloc(be.self, sizeof(float), stream, &ptr, &err), &err);
    const cb_copy_htod_args up = {
        CB_ARGS(cb_copy_htod_args), .flags = CB_COPY_ASYNC, .dst = ptr, .src = &one,
        .bytes = sizeof(one),       .stream = stream
    };
    const cb_binary_args twice = {
        CB_ARGS(cb_binary_args), .op = CB_BINARY_ADD, .n = 1, .a = ptr, .b = ptr,
        .output = ptr,           .stream = stream
    };
    const cb_copy_dtoh_args down = { CB_ARGS(cb_copy_dtoh_args), .dst = &got, .src = ptr,
                                     .bytes = sizeof(got), .stream = stream };
    TEST_OK(cb_copy_htod(be, &up, &err), &err);
    for (int i = 0; i < 20; i++)
        TEST_OK(cb_binary(be, &twice, &err), &err);
    TEST_OK(cb_copy_dtoh(be, &down, &err), &err);
    assert_true(got == 1048576);
    TEST_OK(be.api->free(be.self, ptr, stream, &err), &err);
    TEST_OK(be.api->stream_destroy(be.self, stream, &err), &err);
}

static void an_event_ties_two_streams_together(void **state)
{
    const cb_backend be = TEST_BE(state);
    cb_error err = test_error();
    cb_stream *one = stream_create(be), *two = stream_create(be);
    cb_event *event = event_create(be);
    uint32_t done = 0;
    unsigned char got[64];
    const uint64_t a = test_alloc(be, 64), b = test_alloc(be, 64);
    TEST_OK(cb_memset(be, a, 5, 64, one, &err), &err);
    TEST_OK(be.api->event_record(be.self, event, one, &err), &err);
    TEST_OK(be.api->stream_wait_event(be.self, two, event, &err), &err);
    const cb_copy_dtod_args copy = { CB_ARGS(cb_copy_dtod_args),
                                     .flags = CB_COPY_ASYNC,
                                     .dst = b,
                                     .src = a,
                                     .bytes = 64,
                                     .stream = two };
    TEST_OK(cb_copy_dtod(be, &copy, &err), &err);
    TEST_OK(be.api->event_record(be.self, event, two, &err), &err);
    TEST_OK(be.api->event_synchronize(be.self, event, &err), &err);
    TEST_OK(be.api->event_query(be.self, event, &done, &err), &err);
    assert_int_equal(done, 1);
    test_download(be, got, b, 64);
    for (int i = 0; i < 64; i++)
        assert_int_equal(got[i], 5);
    TEST_OK(be.api->event_destroy(be.self, event, &err), &err);
    TEST_OK(be.api->stream_destroy(be.self, one, &err), &err);
    TEST_OK(be.api->stream_destroy(be.self, two, &err), &err);
    TEST_OK(cb_free(be, a, &err), &err);
    TEST_OK(cb_free(be, b, &err), &err);
}

static void an_event_that_was_never_recorded_counts_as_done(void **state)
{
    const cb_backend be = TEST_BE(state);
    cb_error err = test_error();
    cb_event *event = event_create(be);
    uint32_t done = 0;
    TEST_OK(be.api->event_query(be.self, event, &done, &err), &err);
    assert_int_equal(done, 1);
    TEST_OK(be.api->event_synchronize(be.self, event, &err), &err);
    TEST_OK(be.api->stream_wait_event(be.self, NULL, event, &err), &err);
    TEST_STATUS(be.api->event_query(be.self, event, NULL, &err), CB_INVALID_ARGUMENT, &err);
    TEST_OK(be.api->event_destroy(be.self, event, &err), &err);
}

static void the_default_stream_synchronizes_but_cannot_be_destroyed(void **state)
{
    const cb_backend be = TEST_BE(state);
    cb_error err = test_error();
    cb_event *event = event_create(be);
    TEST_OK(be.api->stream_synchronize(be.self, NULL, &err), &err);
    TEST_OK(cb_synchronize(be, &err), &err);
    TEST_OK(be.api->event_record(be.self, event, NULL, &err), &err);
    TEST_STATUS(be.api->stream_destroy(be.self, NULL, &err), CB_INVALID_ARGUMENT, &err);
    assert_string_equal(err.where, "stream_destroy");
    TEST_OK(be.api->event_destroy(be.self, event, &err), &err);
}

/* A handle that is none of the instance's: every function that takes one refuses it. */
static void refuses_stream(cb_backend be, cb_stream *stream)
{
    const compute_backend_v1 *api = be.api;
    cb_error err = test_error();
    uint64_t out = 7;
    const uint64_t ptr = test_alloc(be, 64);
    cb_event *event = event_create(be);
    cb_copy_dtod_args copy = { CB_ARGS(cb_copy_dtod_args), .dst = ptr, .src = ptr, .bytes = 8,
                               .stream = stream };
    TEST_STATUS(api->stream_destroy(be.self, stream, &err), CB_INVALID_ARGUMENT, &err);
    TEST_STATUS(api->stream_synchronize(be.self, stream, &err), CB_INVALID_ARGUMENT, &err);
    TEST_STATUS(api->event_record(be.self, event, stream, &err), CB_INVALID_ARGUMENT, &err);
    TEST_STATUS(api->stream_wait_event(be.self, stream, event, &err), CB_INVALID_ARGUMENT, &err);
    TEST_STATUS(api->alloc(be.self, 64, stream, &out, &err), CB_INVALID_ARGUMENT, &err);
    TEST_STATUS(api->free(be.self, ptr, stream, &err), CB_INVALID_ARGUMENT, &err);
    TEST_STATUS(api->memset(be.self, ptr, 1, 8, stream, &err), CB_INVALID_ARGUMENT, &err);
    TEST_STATUS(cb_copy_dtod(be, &copy, &err), CB_INVALID_ARGUMENT, &err);
    assert_non_null(strstr(err.msg, "stream"));
    assert_int_equal(out, 7);
    TEST_OK(api->event_destroy(be.self, event, &err), &err);
    TEST_OK(cb_free(be, ptr, &err), &err);

    struct kit_call call;
    struct kit_data data;
    unsigned char got[KIT_BYTES_MAX];
    for (uint32_t op = 0; op < CB_OP_COUNT; op++) {
        kit_call_f32(op, &call);
        kit_data_random(&call, &data, 1, op);
        *kit_stream(&call) = stream;
        TEST_STATUS(kit_run_apart(be, &call, &data, got, &err), CB_INVALID_ARGUMENT, &err);
        assert_non_null(strstr(err.msg, "stream"));
        assert_memory_equal(got, data.bytes[call.out], kit_bytes(&call, call.out));
    }
}

static void refuses_event(cb_backend be, cb_event *event)
{
    cb_error err = test_error();
    uint32_t done = 7;
    const compute_backend_v1 *api = be.api;
    TEST_STATUS(api->event_destroy(be.self, event, &err), CB_INVALID_ARGUMENT, &err);
    TEST_STATUS(api->event_record(be.self, event, NULL, &err), CB_INVALID_ARGUMENT, &err);
    TEST_STATUS(api->stream_wait_event(be.self, NULL, event, &err), CB_INVALID_ARGUMENT, &err);
    TEST_STATUS(api->event_query(be.self, event, &done, &err), CB_INVALID_ARGUMENT, &err);
    TEST_STATUS(api->event_synchronize(be.self, event, &err), CB_INVALID_ARGUMENT, &err);
    assert_non_null(strstr(err.msg, "event"));
    assert_int_equal(done, 7);
}

static void a_destroyed_handle_is_refused(void **state)
{
    const cb_backend be = TEST_BE(state);
    cb_error err = test_error();
    cb_stream *stream = stream_create(be);
    TEST_OK(be.api->stream_destroy(be.self, stream, &err), &err);
    /* refuses_stream makes an event, which may not take the stream's memory and pass for it. */
    refuses_stream(be, stream);
    cb_event *event = event_create(be);
    TEST_OK(be.api->event_destroy(be.self, event, &err), &err);
    refuses_event(be, event);
}

/* Whatever is made after it, in the memory that it left. */
static void a_destroyed_handle_stays_refused_when_others_are_made(void **state)
{
    const cb_backend be = TEST_BE(state);
    cb_error err = test_error();
    cb_stream *stale_stream = stream_create(be), *streams[20];
    cb_event *stale_event = event_create(be), *events[20];
    TEST_OK(be.api->stream_destroy(be.self, stale_stream, &err), &err);
    TEST_OK(be.api->event_destroy(be.self, stale_event, &err), &err);
    for (int i = 0; i < 20; i++) {
        streams[i] = stream_create(be);
        events[i] = event_create(be);
    }
    refuses_stream(be, stale_stream);
    refuses_event(be, stale_event);
    for (int i = 0; i < 20; i++) {
        TEST_OK(be.api->stream_destroy(be.self, streams[i], &err), &err);
        TEST_OK(be.api->event_destroy(be.self, events[i], &err), &err);
    }
}

static void a_handle_of_another_instance_is_refused(void **state)
{
    const cb_backend be = TEST_BE(state), other = test_open(NULL);
    refuses_stream(be, stream_create(other));
    refuses_event(be, event_create(other));
    test_close(other);
}

static void a_handle_that_is_none_is_refused_without_being_read(void **state)
{
    const cb_backend be = TEST_BE(state);
    refuses_stream(be, (cb_stream *)(uintptr_t)8);
    refuses_stream(be, (cb_stream *)UINTPTR_MAX);
    refuses_event(be, (cb_event *)(uintptr_t)8);
    refuses_event(be, NULL);
    cb_stream *stream = stream_create(be);
    cb_event *event = event_create(be);
    refuses_event(be, (cb_event *)(void *)stream);
    refuses_stream(be, (cb_stream *)(void *)event);
    TEST_OK(be.api->stream_destroy(be.self, stream, NULL), NULL);
    TEST_OK(be.api->event_destroy(be.self, event, NULL), NULL);
}

static void creating_with_an_unknown_flag_is_unsupported_and_without_out_invalid(void **state)
{
    const cb_backend be = TEST_BE(state);
    cb_error err = test_error();
    cb_stream *stream = NULL;
    cb_event *event = NULL;
    TEST_STATUS(be.api->stream_create(be.self, 1, &stream, &err), CB_UNSUPPORTED, &err);
    TEST_STATUS(be.api->event_create(be.self, 1u << 31, &event, &err), CB_UNSUPPORTED, &err);
    TEST_STATUS(be.api->stream_create(be.self, 0, NULL, &err), CB_INVALID_ARGUMENT, &err);
    TEST_STATUS(be.api->event_create(be.self, 0, NULL, &err), CB_INVALID_ARGUMENT, &err);
    assert_true(!stream && !event);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_op_runs_on_a_stream_as_on_the_default_one),
        cmocka_unit_test(work_on_one_stream_runs_in_order_and_a_blocking_copy_sees_it),
        cmocka_unit_test(an_event_ties_two_streams_together),
        cmocka_unit_test(an_event_that_was_never_recorded_counts_as_done),
        cmocka_unit_test(the_default_stream_synchronizes_but_cannot_be_destroyed),
        cmocka_unit_test(a_destroyed_handle_is_refused),
        cmocka_unit_test(a_destroyed_handle_stays_refused_when_others_are_made),
        cmocka_unit_test(a_handle_of_another_instance_is_refused),
        cmocka_unit_test(a_handle_that_is_none_is_refused_without_being_read),
        cmocka_unit_test(creating_with_an_unknown_flag_is_unsupported_and_without_out_invalid),
    };
    return cmocka_run_group_tests(tests, test_setup_backend, test_teardown_backend);
}
