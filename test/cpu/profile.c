/* SPDX-License-Identifier: Apache-2.0 */
/* The extension cb.profile/1 of the CPU plugin. */
#include "scene.h"

#include <string.h>
#include <time.h>

struct profile {
    struct scene s;
    const cb_profile_v1 *api;
    void *self;
    cb_event *end; /* s.event is the start */
};

static void profile_open(struct profile *p)
{
    cb_error err = test_error();
    cb_extension extension;
    cb_extension_init(&extension);
    scene_open(&p->s, NULL);
    TEST_OK(p->s.api->get_extension(p->s.self, CB_PROFILE_ID, &extension, &err), &err);
    p->api = extension.api;
    p->self = extension.self;
    assert_true(p->api->size >= CB_PROFILE_1_0);
    TEST_OK(p->s.api->event_create(p->s.self, 0, &p->end, &err), &err);
}

static void record(struct profile *p, cb_event *event, int stream)
{
    cb_error err = test_error();
    TEST_OK(p->s.api->event_record(p->s.self, event, stream < 0 ? NULL : p->s.stream[stream], &err),
            &err);
}

static int64_t elapsed(struct profile *p, cb_event *start, cb_event *end)
{
    cb_error err = test_error();
    int64_t ns = INT64_MIN;
    TEST_OK(p->api->elapsed(p->self, start, end, &ns, &err), &err);
    return ns;
}

static void refused(struct profile *p, cb_event *start, cb_event *end, cb_status want,
                    const char *name)
{
    cb_error err = test_error();
    int64_t ns = 77;
    TEST_STATUS(p->api->elapsed(p->self, start, end, &ns, &err), want, &err);
    assert_string_equal(err.where, "elapsed");
    assert_non_null(strstr(err.msg, name));
    assert_int_equal(ns, 77);
}

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void the_time_of_work_is_within_that_of_its_host(void **state)
{
    struct profile p;
    (void)state;
    profile_open(&p);
    const int64_t before = now();
    record(&p, p.s.event, 0);
    scene_slow(&p.s, 0);
    record(&p, p.end, 0);
    scene_finish(&p.s, 0);
    const int64_t whole = now() - before, ns = elapsed(&p, p.s.event, p.end);
    assert_true(ns > 0 && ns <= whole);
    assert_int_equal(elapsed(&p, p.end, p.s.event), -ns);
    assert_int_equal(elapsed(&p, p.end, p.end), 0);
    scene_close(&p.s);
}

static void events_of_different_streams_can_be_compared(void **state)
{
    struct profile p;
    cb_error err = test_error();
    (void)state;
    profile_open(&p);
    record(&p, p.end, -1);
    scene_slow(&p.s, 0);
    record(&p, p.s.event, 0);
    scene_wait(&p.s, 1);
    record(&p, p.end, 1);
    TEST_OK(cb_synchronize(p.s.be, &err), &err);
    assert_true(elapsed(&p, p.s.event, p.end) >= 0);
    record(&p, p.end, -1);
    assert_true(elapsed(&p, p.s.event, p.end) > 0);
    scene_close(&p.s);
}

static void a_time_stays_when_its_stream_has_gone(void **state)
{
    struct profile p;
    cb_error err = test_error();
    (void)state;
    profile_open(&p);
    record(&p, p.s.event, 0);
    record(&p, p.end, 0);
    TEST_OK(p.s.api->stream_destroy(p.s.self, p.s.stream[0], &err), &err);
    const int64_t ns = elapsed(&p, p.s.event, p.end);
    assert_true(ns >= 0);
    assert_int_equal(elapsed(&p, p.s.event, p.end), ns);
    scene_close(&p.s);
}

static void an_event_that_is_not_done_is_busy(void **state)
{
    struct profile p;
    cb_status st = CB_OK;
    (void)state;
    profile_open(&p);
    record(&p, p.s.event, -1);
    /* A busy machine may be done with the work before this thread asks. */
    for (int i = 0; i < 20 && st != CB_BUSY; i++) {
        cb_error err = test_error();
        int64_t ns = 77;
        scene_slow(&p.s, 0);
        record(&p, p.end, 0);
        st = p.api->elapsed(p.self, p.s.event, p.end, &ns, &err);
        if (st == CB_BUSY) {
            assert_non_null(strstr(err.msg, "end"));
            assert_int_equal(ns, 77);
        }
    }
    assert_int_equal(st, CB_BUSY);
    scene_finish(&p.s, 0);
    assert_true(elapsed(&p, p.s.event, p.end) > 0);
    scene_close(&p.s);
}

static void events_without_a_time_are_refused_by_name(void **state)
{
    struct profile p;
    cb_error err = test_error();
    (void)state;
    profile_open(&p);
    refused(&p, p.s.event, p.end, CB_INVALID_ARGUMENT, "start");
    record(&p, p.s.event, -1);
    refused(&p, p.s.event, p.end, CB_INVALID_ARGUMENT, "end");
    refused(&p, NULL, p.s.event, CB_INVALID_ARGUMENT, "start");
    refused(&p, p.s.event, NULL, CB_INVALID_ARGUMENT, "end");
    record(&p, p.end, -1);
    TEST_STATUS(p.api->elapsed(p.self, p.s.event, p.end, NULL, &err), CB_INVALID_ARGUMENT, &err);
    assert_non_null(strstr(err.msg, "ns"));
    TEST_OK(p.s.api->event_destroy(p.s.self, p.end, &err), &err);
    refused(&p, p.s.event, p.end, CB_INVALID_ARGUMENT, "end");
    scene_close(&p.s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_time_of_work_is_within_that_of_its_host),
        cmocka_unit_test(events_of_different_streams_can_be_compared),
        cmocka_unit_test(a_time_stays_when_its_stream_has_gone),
        cmocka_unit_test(an_event_that_is_not_done_is_busy),
        cmocka_unit_test(events_without_a_time_are_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
