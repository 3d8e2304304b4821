/* SPDX-License-Identifier: Apache-2.0 */
/* Streams, events and the time between them, on a device that works while the host goes on. */
#include "backend.h"
#include "driver.h"
#include "kit.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define N 1024

static cb_stream *make_stream(cb_backend be)
{
    cb_error err = test_error();
    cb_stream *stream = NULL;
    TEST_OK(be.api->stream_create(be.self, 0, &stream, &err), &err);
    return stream;
}

static cb_event *make_event(cb_backend be)
{
    cb_error err = test_error();
    cb_event *event = NULL;
    TEST_OK(be.api->event_create(be.self, 0, &event, &err), &err);
    return event;
}

static cb_status twice(cb_backend be, uint64_t x, cb_stream *stream, cb_error *err)
{
    const cb_binary_args args = {
        CB_ARGS(cb_binary_args), .op = CB_BINARY_ADD, .n = N, .a = x, .b = x, .output = x,
        .stream = stream
    };
    return cb_binary(be, &args, err);
}

static void move(cb_backend be, uint64_t dst, uint64_t src, cb_stream *stream)
{
    cb_error err = test_error();
    const cb_copy_dtod_args args = {
        CB_ARGS(cb_copy_dtod_args), .flags = CB_COPY_ASYNC, .dst = dst, .src = src,
        .bytes = N * sizeof(float), .stream = stream
    };
    TEST_OK(cb_copy_dtod(be, &args, &err), &err);
}

static void two_streams_pass_work_to_and_fro(void **state)
{
    const cb_backend be = TEST_BE(state);
    cb_error err = test_error();
    cb_stream *const stream[2] = { make_stream(be), make_stream(be) };
    cb_event *const event[2] = { make_event(be), make_event(be) };
    float x[N];
    for (int i = 0; i < N; i++)
        x[i] = (float)(i % 7);
    const uint64_t a = test_upload(be, x, sizeof(x)), b = test_alloc(be, sizeof(x));
    for (int i = 0; i < 200; i++) {
        cb_stream *const s = stream[i % 2];
        const uint64_t from = i % 2 ? b : a, to = i % 2 ? a : b;
        TEST_OK(be.api->stream_wait_event(be.self, s, event[!(i % 2)], &err), &err);
        if (i % 20 == 0)
            TEST_OK(twice(be, from, s, &err), &err);
        move(be, to, from, s);
        TEST_OK(be.api->event_record(be.self, event[i % 2], s, &err), &err);
    }
    TEST_OK(be.api->stream_synchronize(be.self, stream[1], &err), &err);
    float got[N];
    test_download(be, got, a, sizeof(got));
    for (int i = 0; i < N; i++)
        assert_true(got[i] == 1024 * x[i]);
    for (int i = 0; i < 2; i++) {
        TEST_OK(be.api->event_destroy(be.self, event[i], &err), &err);
        TEST_OK(be.api->stream_destroy(be.self, stream[i], &err), &err);
    }
    test_release(be, a);
    test_release(be, b);
}

/* ---- handles ---- */

static void a_handle_that_is_gone_never_comes_to_life(void **state)
{
    const cb_backend be = TEST_BE(state);
    const compute_backend_v1 *api = be.api;
    cb_error err = test_error();
    uint32_t done = 77;
    cb_stream *stream = make_stream(be), *streams[50];
    cb_event *event = make_event(be), *events[50];
    TEST_OK(api->stream_destroy(be.self, stream, &err), &err);
    TEST_OK(api->event_destroy(be.self, event, &err), &err);
    for (int i = 0; i < 50; i++) {
        streams[i] = make_stream(be);
        events[i] = make_event(be);
        assert_ptr_not_equal(streams[i], stream);
        assert_ptr_not_equal(events[i], event);
    }
    const uint64_t x = test_alloc(be, N * sizeof(float));
    TEST_STATUS(twice(be, x, stream, &err), CB_INVALID_ARGUMENT, &err);
    TEST_STATUS(cb_memset(be, x, 0, 4, stream, &err), CB_INVALID_ARGUMENT, &err);
    TEST_STATUS(api->stream_destroy(be.self, stream, &err), CB_INVALID_ARGUMENT, &err);
    TEST_STATUS(api->stream_synchronize(be.self, stream, &err), CB_INVALID_ARGUMENT, &err);
    TEST_STATUS(api->event_record(be.self, events[0], stream, &err), CB_INVALID_ARGUMENT, &err);
    TEST_STATUS(api->event_record(be.self, event, NULL, &err), CB_INVALID_ARGUMENT, &err);
    TEST_STATUS(api->stream_wait_event(be.self, NULL, event, &err), CB_INVALID_ARGUMENT, &err);
    TEST_STATUS(api->event_query(be.self, event, &done, &err), CB_INVALID_ARGUMENT, &err);
    TEST_STATUS(api->event_synchronize(be.self, event, &err), CB_INVALID_ARGUMENT, &err);
    TEST_STATUS(api->event_destroy(be.self, event, &err), CB_INVALID_ARGUMENT, &err);
    /* A stream is no event, and the other way round. */
    TEST_STATUS(api->event_destroy(be.self, (cb_event *)streams[0], &err), CB_INVALID_ARGUMENT,
                &err);
    TEST_STATUS(api->stream_destroy(be.self, (cb_stream *)events[0], &err), CB_INVALID_ARGUMENT,
                &err);
    for (int i = 0; i < 50; i++) {
        TEST_OK(api->stream_destroy(be.self, streams[i], &err), &err);
        TEST_OK(api->event_destroy(be.self, events[i], &err), &err);
    }
    test_release(be, x);
}

static void handles_of_another_instance_are_refused(void **state)
{
    const cb_backend be = TEST_BE(state), other = test_open(NULL);
    cb_error err = test_error();
    cb_stream *theirs = make_stream(other);
    const uint64_t x = test_alloc(be, 64);
    TEST_STATUS(cb_memset(be, x, 0, 4, theirs, &err), CB_INVALID_ARGUMENT, &err);
    test_release(be, x);
    test_close(other);
}

/* ---- waiting ---- */

static void a_call_returns_while_the_device_works(void **state)
{
    const cb_backend be = TEST_BE(state);
    cb_error err = test_error();
    cb_event *event = make_event(be);
    cb_stream *stream = make_stream(be);
    const uint64_t x = test_alloc(be, N * sizeof(float));
    uint32_t done = 77;
    driver_hold(-5); /* a command that is never done */
    TEST_OK(cb_memset(be, x, 1, 64, stream, &err), &err);
    TEST_OK(twice(be, x, stream, &err), &err);
    TEST_OK(be.api->event_record(be.self, event, stream, &err), &err);
    TEST_OK(be.api->event_query(be.self, event, &done, &err), &err);
    assert_int_equal(done, 0);
    TEST_OK(twice(be, x, NULL, &err), &err); /* other streams go on */
    TEST_OK(be.api->stream_synchronize(be.self, NULL, &err), &err);
    driver_let_go();
    TEST_STATUS(be.api->stream_synchronize(be.self, stream, &err), CB_DEVICE_ERROR, &err);
    driver_reset();
}

static void destroying_the_instance_waits_for_its_work(void **state)
{
    enum {
        BYTES = 8 << 20
    };
    static unsigned char in[BYTES], out[BYTES];
    (void)state;
    memset(in, 9, BYTES);
    for (int round = 0; round < 5; round++) {
        const cb_backend be = test_open(NULL);
        cb_error err = test_error();
        memset(out, 0, BYTES);
        cb_stream *stream = make_stream(be);
        const uint64_t x = test_alloc(be, BYTES);
        const cb_copy_htod_args put = { CB_ARGS(cb_copy_htod_args),
                                        .flags = CB_COPY_ASYNC,
                                        .dst = x,
                                        .src = in,
                                        .bytes = BYTES,
                                        .stream = stream };
        const cb_copy_dtoh_args get = { CB_ARGS(cb_copy_dtoh_args),
                                        .flags = CB_COPY_ASYNC,
                                        .dst = out,
                                        .src = x,
                                        .bytes = BYTES,
                                        .stream = stream };
        TEST_OK(cb_copy_htod(be, &put, &err), &err);
        TEST_OK(cb_copy_dtoh(be, &get, &err), &err);
        test_close(be);
        assert_memory_equal(out, in, BYTES);
    }
}

/* ---- cb.profile/1 ---- */

static void the_time_between_events_is_told_in_their_order(void **state)
{
    const cb_backend be = TEST_BE(state);
    cb_error err = test_error();
    cb_extension x;
    cb_event *never = make_event(be), *start = make_event(be), *end = make_event(be);
    cb_stream *stream = make_stream(be);
    int64_t ns = -77, back = 0;
    cb_extension_init(&x);
    TEST_OK(be.api->get_extension(be.self, CB_PROFILE_ID, &x, &err), &err);
    const cb_profile_v1 *profile = x.api;
    assert_true(profile->size >= CB_PROFILE_1_0);

    const uint64_t big = test_alloc(be, 64 << 20);
    TEST_OK(be.api->event_record(be.self, start, stream, &err), &err);
    for (int i = 0; i < 4; i++)
        TEST_OK(cb_memset(be, big, 1, 64 << 20, stream, &err), &err);
    TEST_OK(be.api->event_record(be.self, end, stream, &err), &err);
    TEST_OK(be.api->event_synchronize(be.self, end, &err), &err);
    TEST_OK(profile->elapsed(x.self, start, end, &ns, &err), &err);
    assert_true(ns > 1000000); /* 256 MiB in a millisecond would be 268 GB/s on one core */
    assert_true(ns < 20000000000);
    TEST_OK(profile->elapsed(x.self, end, start, &back, &err), &err);
    assert_true(back == -ns);
    TEST_OK(profile->elapsed(x.self, end, end, &back, &err), &err);
    assert_true(back == 0);

    back = 77;
    TEST_STATUS(profile->elapsed(x.self, start, never, &back, &err), CB_INVALID_ARGUMENT, &err);
    TEST_STATUS(profile->elapsed(x.self, NULL, end, &back, &err), CB_INVALID_ARGUMENT, &err);
    TEST_STATUS(profile->elapsed(x.self, start, end, NULL, &err), CB_INVALID_ARGUMENT, &err);
    assert_true(back == 77);
    TEST_STATUS(be.api->get_extension(be.self, "cb.nothing/1", &x, &err), CB_NOT_FOUND, &err);
    test_release(be, big);
}

/* ---- many threads ---- */

struct worker {
    cb_backend be;
    cb_stream *shared;
    uint64_t seed, x;
    int bad;
};

/* Kernels on a stream of one's own and on one that all share, programs that all want at once. */
static void *work(void *arg)
{
    struct worker *w = arg;
    const cb_backend be = w->be;
    const compute_backend_v1 *api = be.api;
    cb_stream *own = NULL;
    float in[N], out[N];
    w->bad |= api->stream_create(be.self, 0, &own, NULL) != CB_OK;
    w->bad |= cb_alloc(be, sizeof(in), &w->x, NULL) != CB_OK;
    for (int round = 0; round < 30; round++) {
        for (int i = 0; i < N; i++)
            in[i] = (float)(kit_next(&w->seed) % 1000);
        cb_stream *stream = round % 2 ? w->shared : own;
        const cb_copy_htod_args put = {
            CB_ARGS(cb_copy_htod_args), .flags = CB_COPY_ASYNC, .dst = w->x, .src = in,
            .bytes = sizeof(in),        .stream = stream
        };
        const cb_copy_dtoh_args get = { CB_ARGS(cb_copy_dtoh_args), .dst = out, .src = w->x,
                                        .bytes = sizeof(out), .stream = stream };
        w->bad |= cb_copy_htod(be, &put, NULL) != CB_OK;
        w->bad |= twice(be, w->x, stream, NULL) != CB_OK;
        w->bad |= cb_copy_dtoh(be, &get, NULL) != CB_OK;
        for (int i = 0; i < N; i++)
            w->bad |= out[i] != 2 * in[i];
    }
    w->bad |= cb_free(be, w->x, NULL) != CB_OK;
    w->bad |= api->stream_destroy(be.self, own, NULL) != CB_OK;
    return NULL;
}

static void six_threads_on_one_instance_get_what_they_asked_for(void **state)
{
    struct worker workers[6];
    pthread_t threads[6];
    const cb_backend be = TEST_BE(state);
    cb_stream *shared = make_stream(be);
    for (unsigned i = 0; i < 6; i++) {
        workers[i] = (struct worker){ be, shared, i, 0, 0 };
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < 6; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(workers[i].bad, 0);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, test_setup_backend, test_teardown_backend)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(six_threads_on_one_instance_get_what_they_asked_for),
        TEST(two_streams_pass_work_to_and_fro),
        TEST(a_handle_that_is_gone_never_comes_to_life),
        TEST(handles_of_another_instance_are_refused),
        TEST(a_call_returns_while_the_device_works),
        cmocka_unit_test(destroying_the_instance_waits_for_its_work),
        TEST(the_time_between_events_is_told_in_their_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
