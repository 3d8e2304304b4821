/* SPDX-License-Identifier: Apache-2.0 */
#include "scene.h"

void scene_open(struct scene *s, const char *const *options)
{
    cb_error err = test_error();
    s->be = test_open(options);
    s->api = s->be.api;
    s->self = s->be.self;
    s->large = 0;
    for (int i = 0; i < 2; i++) {
        TEST_OK(s->api->stream_create(s->self, 0, &s->stream[i], &err), &err);
        s->buffer[i] = test_alloc(s->be, BYTES);
    }
    TEST_OK(s->api->event_create(s->self, 0, &s->event, &err), &err);
}

void scene_close(struct scene *s)
{
    test_close(s->be);
}

static cb_stream *stream_of(const struct scene *s, int stream)
{
    return stream < 0 ? NULL : s->stream[stream];
}

void scene_set(struct scene *s, int stream, int buffer, uint32_t value)
{
    cb_error err = test_error();
    TEST_OK(cb_memset(s->be, s->buffer[buffer], value, BYTES, stream_of(s, stream), &err), &err);
}

void scene_put(struct scene *s, int stream, int buffer, const float *x)
{
    cb_error err = test_error();
    const cb_copy_htod_args args = { CB_ARGS(cb_copy_htod_args),
                                     .flags = CB_COPY_ASYNC,
                                     .dst = s->buffer[buffer],
                                     .src = x,
                                     .bytes = BYTES,
                                     .stream = stream_of(s, stream) };
    TEST_OK(cb_copy_htod(s->be, &args, &err), &err);
}

cb_status scene_get(struct scene *s, int stream, int buffer, float *x, cb_error *err)
{
    const cb_copy_dtoh_args args = {
        CB_ARGS(cb_copy_dtoh_args), .flags = CB_COPY_ASYNC, .dst = x,
        .src = s->buffer[buffer],   .bytes = BYTES,         .stream = stream_of(s, stream)
    };
    return cb_copy_dtoh(s->be, &args, err);
}

void scene_add(struct scene *s, int stream, int to, int from)
{
    cb_error err = test_error();
    const cb_binary_args args = { CB_ARGS(cb_binary_args),
                                  .op = CB_BINARY_ADD,
                                  .n = COUNT,
                                  .a = s->buffer[to],
                                  .b = s->buffer[from],
                                  .output = s->buffer[to],
                                  .stream = stream_of(s, stream) };
    TEST_OK(cb_binary(s->be, &args, &err), &err);
}

void scene_record(struct scene *s, int stream)
{
    cb_error err = test_error();
    TEST_OK(s->api->event_record(s->self, s->event, stream_of(s, stream), &err), &err);
}

void scene_wait(struct scene *s, int stream)
{
    cb_error err = test_error();
    TEST_OK(s->api->stream_wait_event(s->self, stream_of(s, stream), s->event, &err), &err);
}

void scene_finish(struct scene *s, int stream)
{
    cb_error err = test_error();
    TEST_OK(s->api->stream_synchronize(s->self, stream_of(s, stream), &err), &err);
}

void scene_slow(struct scene *s, int stream)
{
    const uint64_t bytes = UINT64_C(32) << 20;
    cb_error err = test_error();
    if (!s->large)
        s->large = test_alloc(s->be, bytes);
    for (uint32_t i = 0; i < 4; i++)
        TEST_OK(cb_memset(s->be, s->large, i, bytes, stream_of(s, stream), &err), &err);
}

int scene_is_done(struct scene *s)
{
    cb_error err = test_error();
    uint32_t done = 77;
    TEST_OK(s->api->event_query(s->self, s->event, &done, &err), &err);
    return (int)done;
}

void scene_fill(float *x, float value)
{
    for (int i = 0; i < COUNT; i++)
        x[i] = value + (float)i;
}

void scene_expect(const float *x, float value, float step)
{
    for (int i = 0; i < COUNT; i++)
        if (x[i] != value + step * (float)i)
            fail_msg("element %d is %g, not %g", i, x[i], value + step * (float)i);
}
