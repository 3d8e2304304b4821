/* SPDX-License-Identifier: Apache-2.0 */
/* Work that fails on the device, after the call that queued it has returned. The driver is one that
 * fails on command. */
#include "backend.h"
#include "driver.h"

#include <string.h>

#define BYTES 64
#define LOST  (-5) /* CL_OUT_OF_RESOURCES, what drivers say of a device that is gone */

struct scene {
    cb_backend be;
    cb_stream *stream[2];
    cb_event *event;
    uint64_t ptr;
    cb_error err;
    unsigned char in[BYTES], out[BYTES];
};

static int set_up(void **state)
{
    static struct scene s;
    memset(&s, 0, sizeof(s));
    s.be = test_open(NULL);
    s.err = test_error();
    for (int i = 0; i < 2; i++)
        TEST_OK(s.be.api->stream_create(s.be.self, 0, &s.stream[i], &s.err), &s.err);
    TEST_OK(s.be.api->event_create(s.be.self, 0, &s.event, &s.err), &s.err);
    s.ptr = test_alloc(s.be, BYTES);
    memset(s.in, 7, BYTES);
    *state = &s;
    return 0;
}

static int tear_down(void **state)
{
    struct scene *s = *state;
    driver_let_go();
    s->be.api->destroy(s->be.self);
    driver_reset();
    return 0;
}

/* A memset on a stream that waits, to fail later. */
static void queue_failure(struct scene *s, int stream)
{
    driver_hold(LOST);
    TEST_OK(cb_memset(s->be, s->ptr, 1, BYTES, s->stream[stream], &s->err), &s->err);
}

static cb_status put(struct scene *s, int stream)
{
    const cb_copy_htod_args args = { CB_ARGS(cb_copy_htod_args),
                                     .flags = CB_COPY_ASYNC,
                                     .dst = s->ptr,
                                     .src = s->in,
                                     .bytes = BYTES,
                                     .stream = s->stream[stream] };
    return cb_copy_htod(s->be, &args, &s->err);
}

static cb_status get(struct scene *s, cb_stream *stream)
{
    const cb_copy_dtoh_args args = { CB_ARGS(cb_copy_dtoh_args), .dst = s->out, .src = s->ptr,
                                     .bytes = BYTES, .stream = stream };
    return cb_copy_dtoh(s->be, &args, &s->err);
}

static cb_status record(struct scene *s, int stream)
{
    return s->be.api->event_record(s->be.self, s->event, s->stream[stream], &s->err);
}

static cb_status wait_event(struct scene *s)
{
    return s->be.api->event_synchronize(s->be.self, s->event, &s->err);
}

static cb_status wait_stream(struct scene *s, int i)
{
    return s->be.api->stream_synchronize(s->be.self, s->stream[i], &s->err);
}

static void fails(cb_status got, const struct scene *s)
{
    TEST_STATUS(got, CB_DEVICE_ERROR, &s->err);
}

static void what_is_queued_behind_a_failure_is_skipped(void **state)
{
    struct scene *s = *state;
    queue_failure(s, 0);
    TEST_OK(put(s, 0), &s->err);
    driver_let_go();
    fails(wait_stream(s, 0), s);
    TEST_OK(get(s, NULL), &s->err);
    for (int i = 0; i < BYTES; i++)
        assert_int_equal(s->out[i], 0);
}

static void the_stream_tells_it_once_with_code_and_op(void **state)
{
    struct scene *s = *state;
    queue_failure(s, 0);
    TEST_OK(put(s, 0), &s->err);
    TEST_OK(put(s, 0), &s->err);
    driver_let_go();
    fails(wait_stream(s, 0), s);
    assert_int_equal(s->err.code, CB_DEVICE_ERROR);
    assert_int_equal(s->err.native_code, LOST);
    assert_non_null(strstr(s->err.msg, "stream_synchronize: work queued by memset"));
    TEST_OK(wait_stream(s, 0), &s->err);
    TEST_OK(put(s, 0), &s->err);
    TEST_OK(get(s, s->stream[0]), &s->err);
    assert_memory_equal(s->out, s->in, BYTES);
}

static void the_cause_is_told_after_more_work_than_is_remembered(void **state)
{
    struct scene *s = *state;
    queue_failure(s, 0);
    for (int i = 0; i < 100; i++)
        TEST_OK(put(s, 0), &s->err);
    driver_let_go();
    fails(wait_stream(s, 0), s);
    TEST_OK(wait_stream(s, 0), &s->err);
}

static void the_call_that_tells_it_does_nothing_else(void **state)
{
    struct scene *s = *state;
    queue_failure(s, 0);
    driver_let_go();
    memset(s->out, 99, BYTES);
    fails(get(s, s->stream[0]), s);
    assert_int_equal(s->out[0], 99);
    queue_failure(s, 0);
    driver_let_go();
    uint64_t ptr = 77;
    fails(s->be.api->alloc(s->be.self, 64, s->stream[0], &ptr, &s->err), s);
    assert_true(ptr == 77);
    queue_failure(s, 0);
    driver_let_go();
    fails(s->be.api->free(s->be.self, s->ptr, s->stream[0], &s->err), s);
    queue_failure(s, 0);
    driver_let_go();
    fails(s->be.api->stream_destroy(s->be.self, s->stream[0], &s->err), s);
    TEST_OK(s->be.api->stream_destroy(s->be.self, s->stream[0], &s->err), &s->err);
}

static void a_blocking_copy_tells_of_its_own_failure(void **state)
{
    struct scene *s = *state;
    driver_spoil(LOST);
    fails(get(s, s->stream[0]), s);
    assert_int_equal(s->err.native_code, LOST);
    TEST_OK(wait_stream(s, 0), &s->err);
}

static void each_event_recorded_behind_it_tells_it_once(void **state)
{
    struct scene *s = *state;
    uint32_t done = 77;
    queue_failure(s, 0);
    TEST_OK(record(s, 0), &s->err);
    TEST_OK(s->be.api->event_query(s->be.self, s->event, &done, &s->err), &s->err);
    assert_int_equal(done, 0);
    driver_let_go();
    fails(wait_event(s), s);
    assert_true(s->err.native_code < 0);
    TEST_OK(wait_event(s), &s->err);
    TEST_OK(s->be.api->event_query(s->be.self, s->event, &done, &s->err), &s->err);
    assert_int_equal(done, 1);
    fails(wait_stream(s, 0), s);
    TEST_OK(record(s, 0), &s->err);
    TEST_OK(wait_event(s), &s->err);
}

static void other_streams_do_not_see_it(void **state)
{
    struct scene *s = *state;
    queue_failure(s, 0);
    driver_let_go();
    TEST_OK(get(s, s->stream[1]), &s->err);
    TEST_OK(get(s, NULL), &s->err);
    TEST_OK(wait_stream(s, 1), &s->err);
    fails(wait_stream(s, 0), s);
}

static void a_stream_that_waits_for_it_is_skipped_too(void **state)
{
    struct scene *s = *state;
    queue_failure(s, 0);
    TEST_OK(record(s, 0), &s->err);
    TEST_OK(s->be.api->stream_wait_event(s->be.self, s->stream[1], s->event, &s->err), &s->err);
    TEST_OK(put(s, 1), &s->err);
    driver_let_go();
    fails(wait_stream(s, 1), s);
    fails(wait_stream(s, 0), s);
    fails(s->be.api->stream_wait_event(s->be.self, s->stream[1], s->event, &s->err), s);
    fails(s->be.api->stream_wait_event(s->be.self, NULL, s->event, &s->err), s);
    assert_true(s->err.native_code < 0);
    TEST_OK(wait_stream(s, 1), &s->err);
    TEST_OK(record(s, 0), &s->err);
    TEST_OK(s->be.api->stream_wait_event(s->be.self, s->stream[1], s->event, &s->err), &s->err);
    TEST_OK(wait_stream(s, 1), &s->err);
    TEST_OK(get(s, NULL), &s->err);
    assert_int_equal(s->out[0], 0);
}

static void synchronize_tells_of_one_stream_a_call(void **state)
{
    struct scene *s = *state;
    queue_failure(s, 0);
    driver_let_go();
    queue_failure(s, 1);
    driver_let_go();
    fails(cb_synchronize(s->be, &s->err), s);
    fails(cb_synchronize(s->be, &s->err), s);
    TEST_OK(cb_synchronize(s->be, &s->err), &s->err);
}

static void an_event_behind_it_has_no_time(void **state)
{
    struct scene *s = *state;
    cb_extension x;
    int64_t ns = 77;
    cb_extension_init(&x);
    TEST_OK(s->be.api->get_extension(s->be.self, CB_PROFILE_ID, &x, &s->err), &s->err);
    const cb_profile_v1 *profile = x.api;
    queue_failure(s, 0);
    TEST_OK(record(s, 0), &s->err);
    TEST_STATUS(profile->elapsed(x.self, s->event, s->event, &ns, &s->err), CB_BUSY, &s->err);
    driver_let_go();
    fails(wait_stream(s, 0), s);
    TEST_STATUS(profile->elapsed(x.self, s->event, s->event, &ns, &s->err), CB_INVALID_ARGUMENT,
                &s->err);
    assert_true(ns == 77);
}

static void destroy_does_not_mind_a_failure(void **state)
{
    struct scene *s = *state;
    queue_failure(s, 0);
    TEST_OK(put(s, 0), &s->err);
    driver_let_go();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_queued_behind_a_failure_is_skipped),
        TEST(the_stream_tells_it_once_with_code_and_op),
        TEST(the_cause_is_told_after_more_work_than_is_remembered),
        TEST(the_call_that_tells_it_does_nothing_else),
        TEST(a_blocking_copy_tells_of_its_own_failure),
        TEST(each_event_recorded_behind_it_tells_it_once),
        TEST(other_streams_do_not_see_it),
        TEST(a_stream_that_waits_for_it_is_skipped_too),
        TEST(synchronize_tells_of_one_stream_a_call),
        TEST(an_event_behind_it_has_no_time),
        TEST(destroy_does_not_mind_a_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
