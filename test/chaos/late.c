/* SPDX-License-Identifier: Apache-2.0 */
/* Errors that come late: the option fail makes work of one op fail when it runs. */
#include "scene.h"

#include <string.h>

/* The failure is found when all of it is queued. */
static const char *const options[] = { "fail=memset", "delay=20000", NULL };

/* Queues a memset that fails, and waits until it has. */
static void fail_late(struct scene *s, int stream)
{
    cb_error err = test_error();
    scene_set(s, stream, 0, 1);
    scene_record(s, stream);
    TEST_STATUS(s->api->event_synchronize(s->self, s->event, &err), CB_DEVICE_ERROR, &err);
    assert_non_null(strstr(err.msg, "memset"));
}

static void the_first_call_on_a_stream_reports_a_late_error_and_does_nothing_else(void **state)
{
    struct scene s;
    float x[COUNT] = { 7.0f }, got[COUNT] = { 3.0f };
    cb_error err = test_error();
    (void)state;
    scene_open(&s, options);
    scene_put(&s, -1, 0, x);
    fail_late(&s, 0);
    TEST_STATUS(scene_get(&s, 0, 0, got, &err), CB_DEVICE_ERROR, &err);
    assert_string_equal(err.where, "memset");
    scene_finish(&s, 0);
    assert_true(got[0] == 3.0f);
    TEST_OK(scene_get(&s, 0, 0, got, &err), &err);
    scene_finish(&s, 0);
    assert_true(got[0] == 7.0f);
    scene_close(&s);
}

static void every_call_with_a_status_on_the_stream_reports_a_late_error_once(void **state)
{
    (void)state;
    for (int call = 0; call < 8; call++) {
        struct scene s;
        cb_event *never = NULL;
        cb_error err = test_error();
        uint64_t ptr = 12345;
        scene_open(&s, options);
        TEST_OK(s.api->event_create(s.self, 0, &never, &err), &err);
        for (int again = 0; again < 2; again++) {
            const cb_status want = again ? CB_OK : CB_DEVICE_ERROR;
            cb_status got = CB_OK;
            if (!again)
                fail_late(&s, 0);
            switch (call) {
            case 0: got = s.api->stream_synchronize(s.self, s.stream[0], &err); break;
            case 1: got = s.api->synchronize(s.self, &err); break;
            case 2: got = s.api->event_record(s.self, s.event, s.stream[0], &err); break;
            case 3: got = s.api->stream_wait_event(s.self, s.stream[0], never, &err); break;
            case 4: got = s.api->alloc(s.self, 1, s.stream[0], &ptr, &err); break;
            case 5: got = s.api->free(s.self, s.buffer[1], s.stream[0], &err); break;
            case 6: got = s.api->stream_destroy(s.self, s.stream[0], &err); break;
            default: got = cb_memset(s.be, 0, 0, 0, s.stream[0], &err); break;
            }
            TEST_STATUS(got, want, &err);
            if (!again)
                assert_int_equal(ptr, 12345);
        }
        scene_close(&s);
    }
}

static void what_is_queued_behind_a_failure_is_skipped_and_events_report_it(void **state)
{
    struct scene s;
    float x[COUNT] = { 7.0f }, got[COUNT];
    cb_event *second = NULL;
    cb_error err = test_error();
    (void)state;
    scene_open(&s, options);
    TEST_OK(s.api->event_create(s.self, 0, &second, &err), &err);
    scene_set(&s, 0, 0, 1);
    scene_put(&s, 0, 0, x);
    scene_record(&s, 0);
    TEST_OK(s.api->event_record(s.self, second, s.stream[0], &err), &err);
    TEST_STATUS(s.api->event_synchronize(s.self, s.event, &err), CB_DEVICE_ERROR, &err);
    TEST_STATUS(s.api->event_synchronize(s.self, second, &err), CB_DEVICE_ERROR, &err);
    TEST_OK(s.api->event_synchronize(s.self, s.event, &err), &err);
    TEST_OK(s.api->event_synchronize(s.self, second, &err), &err);
    test_download(s.be, got, s.buffer[0], BYTES);
    assert_true(got[0] == 0.0f);
    scene_close(&s);
}

static void a_blocking_copy_that_waits_behind_a_failure_reports_it(void **state)
{
    struct scene s;
    float x[COUNT] = { 7.0f };
    cb_error err = test_error();
    (void)state;
    scene_open(&s, options);
    scene_set(&s, 0, 0, 1);
    const cb_copy_dtoh_args args = { CB_ARGS(cb_copy_dtoh_args), .dst = x, .src = s.buffer[0],
                                     .bytes = BYTES, .stream = s.stream[0] };
    TEST_STATUS(cb_copy_dtoh(s.be, &args, &err), CB_DEVICE_ERROR, &err);
    assert_true(x[0] == 7.0f);
    TEST_OK(cb_copy_dtoh(s.be, &args, &err), &err);
    assert_true(x[0] == 0.0f);
    scene_close(&s);
}

static void synchronize_reports_one_stream_a_call(void **state)
{
    struct scene s;
    cb_error err = test_error();
    (void)state;
    scene_open(&s, options);
    scene_set(&s, 0, 0, 1);
    scene_set(&s, 1, 1, 1);
    TEST_STATUS(s.api->synchronize(s.self, &err), CB_DEVICE_ERROR, &err);
    TEST_STATUS(s.api->synchronize(s.self, &err), CB_DEVICE_ERROR, &err);
    TEST_OK(s.api->synchronize(s.self, &err), &err);
    scene_close(&s);
}

static void a_late_error_is_no_other_streams(void **state)
{
    struct scene s;
    float x[COUNT];
    cb_error err = test_error();
    (void)state;
    scene_open(&s, options);
    fail_late(&s, 0);
    TEST_OK(scene_get(&s, 1, 0, x, &err), &err);
    scene_finish(&s, 1);
    scene_finish(&s, -1);
    TEST_STATUS(s.api->stream_synchronize(s.self, s.stream[0], &err), CB_DEVICE_ERROR, &err);
    scene_close(&s);
}

static void on_the_default_stream_work_fails_at_once(void **state)
{
    struct scene s;
    cb_error err = test_error();
    (void)state;
    scene_open(&s, options);
    TEST_STATUS(cb_memset(s.be, s.buffer[0], 1, BYTES, NULL, &err), CB_DEVICE_ERROR, &err);
    scene_finish(&s, -1);
    scene_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_call_on_a_stream_reports_a_late_error_and_does_nothing_else),
        cmocka_unit_test(every_call_with_a_status_on_the_stream_reports_a_late_error_once),
        cmocka_unit_test(what_is_queued_behind_a_failure_is_skipped_and_events_report_it),
        cmocka_unit_test(a_blocking_copy_that_waits_behind_a_failure_reports_it),
        cmocka_unit_test(synchronize_reports_one_stream_a_call),
        cmocka_unit_test(a_late_error_is_no_other_streams),
        cmocka_unit_test(on_the_default_stream_work_fails_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
