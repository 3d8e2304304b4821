/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of the CPU plugin whose work is truly done later. */
#include "kit.h"
#include "scene.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- later ---- */

/* A machine that is busy with other things may be done with the work before this thread can ask, so
 * it is asked some times. */
static void work_on_a_stream_runs_after_its_call_has_returned(void **state)
{
    struct scene s;
    float x[COUNT] = { 0 };
    cb_error err = test_error();
    int later = 0;
    (void)state;
    scene_open(&s, NULL);
    for (int i = 0; i < 20 && !later; i++) {
        x[0] = 0;
        scene_slow(&s, 0);
        scene_set(&s, 0, 0, 0x40);
        TEST_OK(scene_get(&s, 0, 0, x, &err), &err);
        scene_record(&s, 0);
        later = !scene_is_done(&s);
        TEST_OK(s.api->event_synchronize(s.self, s.event, &err), &err);
        assert_int_equal(scene_is_done(&s), 1);
        assert_true(x[0] == 0x1.808080p+1f);
    }
    assert_true(later);
    scene_close(&s);
}

/* What an input is when the work runs, not when it was queued. */
static void an_input_that_overlaps_is_read_when_the_work_runs(void **state)
{
    struct scene s;
    float x[COUNT], got[COUNT];
    cb_error err = test_error();
    (void)state;
    scene_open(&s, NULL);
    scene_fill(x, 5);
    scene_slow(&s, 0);
    scene_put(&s, 0, 0, x);
    const cb_unary_args neg = { CB_ARGS(cb_unary_args),
                                .op = CB_UNARY_NEG,
                                .n = COUNT - 1,
                                .input = s.buffer[0],
                                .output = s.buffer[0] + sizeof(float),
                                .stream = s.stream[0] };
    TEST_OK(cb_unary(s.be, &neg, &err), &err);
    TEST_OK(scene_get(&s, 0, 0, got, &err), &err);
    scene_finish(&s, 0);
    assert_true(got[0] == 5);
    for (int i = 1; i < COUNT; i++)
        assert_true(got[i] == -(5 + (float)(i - 1)));
    scene_close(&s);
}

static void bad_arguments_are_refused_before_anything_is_queued(void **state)
{
    struct scene s;
    struct kit_call call;
    struct kit_data data;
    unsigned char got[KIT_BYTES_MAX];
    cb_error err = test_error();
    (void)state;
    scene_open(&s, NULL);
    for (uint32_t op = 0; op < CB_OP_COUNT; op++) {
        kit_call_f32(op, &call);
        kit_data_random(&call, &data, 1, op);
        TEST_OK(kit_place(s.be, &call, &data, &err), &err);
        *kit_stream(&call) = s.stream[0];
        uint64_t *output = kit_pointer(&call, call.out), kept = *output;
        *output += 1;
        TEST_STATUS(kit_run(s.be, &call, &err), CB_INVALID_ARGUMENT, &err);
        *output = kept;
        scene_finish(&s, 0);
        test_download(s.be, got, *output, kit_bytes(&call, call.out));
        assert_memory_equal(got, data.bytes[call.out], kit_bytes(&call, call.out));
        kit_unplace(s.be, &call);
    }
    scene_close(&s);
}

/* More than a queue holds: who adds to it does some of it. */
static void a_long_queue_is_worked_off_by_who_adds_to_it(void **state)
{
    enum {
        ADDS = 5000
    };
    struct scene s;
    float one[COUNT], got[COUNT];
    cb_error err = test_error();
    (void)state;
    scene_open(&s, NULL);
    for (int i = 0; i < COUNT; i++)
        one[i] = 1;
    scene_put(&s, -1, 1, one);
    scene_slow(&s, 0);
    for (int i = 0; i < ADDS; i++) {
        scene_add(&s, 0, 0, 1);
        if (i == ADDS / 2)
            scene_record(&s, 0);
    }
    assert_int_equal(scene_is_done(&s), 1);
    TEST_OK(scene_get(&s, 0, 0, got, &err), &err);
    scene_finish(&s, 0);
    scene_expect(got, ADDS, 0);
    scene_close(&s);
}

/* ---- ends ---- */

static void stream_destroy_waits_and_those_who_wait_for_its_event_go_on(void **state)
{
    struct scene s;
    float x[COUNT] = { 0 }, y[COUNT] = { 0 };
    cb_error err = test_error();
    (void)state;
    scene_open(&s, NULL);
    scene_slow(&s, 0);
    scene_set(&s, 0, 0, 0x40);
    TEST_OK(scene_get(&s, 0, 0, x, &err), &err);
    scene_record(&s, 0);
    scene_wait(&s, 1);
    TEST_OK(scene_get(&s, 1, 0, y, &err), &err);
    TEST_OK(s.api->stream_destroy(s.self, s.stream[0], &err), &err);
    assert_true(x[0] == 0x1.808080p+1f);
    assert_int_equal(scene_is_done(&s), 1);
    scene_finish(&s, 1);
    assert_true(y[0] == 0x1.808080p+1f);
    scene_close(&s);
}

static void *synchronize(void *arg)
{
    struct scene *s = arg;
    const cb_status st = s->api->stream_synchronize(s->self, s->stream[0], NULL);
    return st == CB_OK || st == CB_INVALID_ARGUMENT ? NULL : arg;
}

static void a_stream_may_be_destroyed_while_others_wait_for_it(void **state)
{
    struct scene s;
    pthread_t threads[4];
    cb_error err = test_error();
    (void)state;
    scene_open(&s, NULL);
    for (int round = 0; round < 10; round++) {
        scene_slow(&s, 0);
        for (int i = 0; i < 4; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, synchronize, &s), 0);
        TEST_OK(s.api->stream_destroy(s.self, s.stream[0], &err), &err);
        for (int i = 0; i < 4; i++) {
            void *bad = &s;
            assert_int_equal(pthread_join(threads[i], &bad), 0);
            assert_null(bad);
        }
        TEST_OK(s.api->stream_create(s.self, 0, &s.stream[0], &err), &err);
    }
    scene_close(&s);
}

/* ---- fork ---- */

/* gcc says it with a macro, clang with a feature. */
#if defined(__SANITIZE_THREAD__)
#define IS_TSAN 1
#elif defined(__has_feature)
#define IS_TSAN __has_feature(thread_sanitizer)
#else
#define IS_TSAN 0
#endif

static void skip_under_tsan(const char *test)
{
    if (IS_TSAN)
        test_skip(test, "ThreadSanitizer gives up when a forked child starts threads again");
}

/* Forks with work in flight, 1000 on top of what the slow work leaves. */
static pid_t fork_in_flight(struct scene *s)
{
    float one[COUNT];
    for (int i = 0; i < COUNT; i++)
        one[i] = 1;
    scene_open(s, NULL);
    scene_put(s, -1, 1, one);
    scene_slow(s, 0);
    for (int i = 0; i < 500; i++)
        scene_add(s, 0, 0, 1);
    scene_record(s, 0);
    scene_wait(s, 1);
    for (int i = 0; i < 500; i++)
        scene_add(s, 1, 0, 1);
    fflush(NULL); /* what is not yet written would be written by the child too */
    const pid_t child = fork();
    assert_true(child >= 0);
    if (!child)
        alarm(60);
    return child;
}

static int is_a_thousand(struct scene *s)
{
    float got[COUNT];
    int ok = s->api->stream_synchronize(s->self, s->stream[1], NULL) == CB_OK &&
             cb_download(s->be, got, s->buffer[0], BYTES, NULL) == CB_OK;
    for (int i = 0; i < COUNT; i++)
        ok = ok && got[i] == 1000;
    return ok;
}

static void expect_success(pid_t child)
{
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void after_fork_the_queues_of_both_go_on_where_they_stood(void **state)
{
    struct scene s;
    (void)state;
    skip_under_tsan(__func__);
    const pid_t child = fork_in_flight(&s);
    if (!child) {
        const int ok = is_a_thousand(&s);
        s.api->destroy(s.self);
        _exit(!ok);
    }
    assert_true(is_a_thousand(&s));
    expect_success(child);
    scene_close(&s);
}

static void after_fork_a_child_may_destroy_at_once(void **state)
{
    struct scene s;
    (void)state;
    const pid_t child = fork_in_flight(&s);
    if (!child) {
        s.api->destroy(s.self);
        _exit(0);
    }
    expect_success(child);
    assert_true(is_a_thousand(&s));
    scene_close(&s);
}

static void after_fork_a_child_that_only_asks_sees_the_event_done(void **state)
{
    struct scene s;
    (void)state;
    skip_under_tsan(__func__);
    const pid_t child = fork_in_flight(&s);
    if (!child) {
        uint32_t done = 0;
        while (!done && s.api->event_query(s.self, s.event, &done, NULL) == CB_OK)
            usleep(1000);
        _exit(done != 1);
    }
    expect_success(child);
    scene_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_on_a_stream_runs_after_its_call_has_returned),
        cmocka_unit_test(an_input_that_overlaps_is_read_when_the_work_runs),
        cmocka_unit_test(bad_arguments_are_refused_before_anything_is_queued),
        cmocka_unit_test(a_long_queue_is_worked_off_by_who_adds_to_it),
        cmocka_unit_test(stream_destroy_waits_and_those_who_wait_for_its_event_go_on),
        cmocka_unit_test(a_stream_may_be_destroyed_while_others_wait_for_it),
        cmocka_unit_test(after_fork_the_queues_of_both_go_on_where_they_stood),
        cmocka_unit_test(after_fork_a_child_may_destroy_at_once),
        cmocka_unit_test(after_fork_a_child_that_only_asks_sees_the_event_done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
