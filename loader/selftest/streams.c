/* SPDX-License-Identifier: Apache-2.0 */
/* Streams and events: order within a stream, what ties streams together, when results are there.
 * A backend that computes at once and one that defers all pass the same cases. */
#include "suite.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BYTES     4096
#define ROUNDS    8
#define PING_PONG 200

/* What a case works with; all of it made and unmade here. */
struct scene {
    struct st_run *run;
    const compute_backend_v1 *api;
    void *self;
    cb_stream *stream[2];
    cb_event *event;
    uint64_t buffer[3];
    cb_error err;
    /* Host memory of asynchronous copies; it must outlive the streams, whatever fails. */
    float in[ROUNDS][BYTES / 4], out[ROUNDS][BYTES / 4];
};

static bool ok(struct scene *s, const char *call, cb_status got)
{
    return st_status(s->run, call, got, CB_OK, &s->err);
}

static bool offered(struct scene *s, const char *call, cb_status got)
{
    return st_offered(s->run, call, got, &s->err);
}

static bool refused(struct scene *s, const char *call, cb_status got, cb_status want)
{
    return st_status(s->run, call, got, want, &s->err);
}

static cb_binary_args doubling(const struct scene *s, cb_stream *stream)
{
    return (cb_binary_args){ CB_ARGS(cb_binary_args), .op = CB_BINARY_ADD, .n = BYTES / 4,
                             .a = s->buffer[0],       .b = s->buffer[0],   .output = s->buffer[0],
                             .stream = stream };
}

/* The op that the cases use. */
static bool twice_is_offered(struct scene *s)
{
    const cb_binary_args args = doubling(s, NULL);
    cb_support support;
    cb_support_init(&support);
    if (!CB_HAS(s->api, binary)) {
        st_skip(s->run, "the table lacks binary");
        return false;
    }
    if (!ok(s, "supports", s->api->supports(s->self, CB_OP_BINARY, &args, &support, &s->err)))
        return false;
    if (support.answer == CB_SUPPORT_NO)
        st_skip(s->run, support.reason);
    return support.answer != CB_SUPPORT_NO;
}

static bool set_up(struct scene *s)
{
    for (int i = 0; i < 2; i++)
        if (!offered(s, "stream_create", s->api->stream_create(s->self, 0, &s->stream[i], &s->err)))
            return false;
    for (int i = 0; i < 3; i++)
        if (!offered(s, "alloc", s->api->alloc(s->self, BYTES, NULL, &s->buffer[i], &s->err)))
            return false;
    return offered(s, "event_create", s->api->event_create(s->self, 0, &s->event, &s->err));
}

static void tear_down(struct scene *s)
{
    if (s->event)
        ok(s, "event_destroy", s->api->event_destroy(s->self, s->event, &s->err));
    for (int i = 0; i < 2; i++)
        if (s->stream[i])
            ok(s, "stream_destroy", s->api->stream_destroy(s->self, s->stream[i], &s->err));
    for (int i = 0; i < 3; i++)
        if (s->buffer[i])
            ok(s, "free", s->api->free(s->self, s->buffer[i], NULL, &s->err));
}

static bool put(struct scene *s, int stream, uint64_t dst, const void *src, uint32_t flags)
{
    cb_copy_htod_args args = {
        CB_ARGS(cb_copy_htod_args), .flags = flags, .dst = dst, .src = src, .bytes = BYTES,
        .stream = s->stream[stream]
    };
    return ok(s, "copy_htod", s->api->copy_htod(s->self, &args, &s->err));
}

static bool get(struct scene *s, int stream, void *dst, uint64_t src, uint32_t flags)
{
    cb_copy_dtoh_args args = {
        CB_ARGS(cb_copy_dtoh_args), .flags = flags, .dst = dst, .src = src, .bytes = BYTES,
        .stream = s->stream[stream]
    };
    return ok(s, "copy_dtoh", s->api->copy_dtoh(s->self, &args, &s->err));
}

static bool move(struct scene *s, int stream, uint64_t dst, uint64_t src)
{
    cb_copy_dtod_args args = {
        CB_ARGS(cb_copy_dtod_args), .flags = CB_COPY_ASYNC, .dst = dst, .src = src, .bytes = BYTES,
        .stream = s->stream[stream]
    };
    return ok(s, "copy_dtod", s->api->copy_dtod(s->self, &args, &s->err));
}

/* Adds buffer 0 to itself in f32, in order on the stream. */
static bool twice(struct scene *s, int stream)
{
    const cb_binary_args args = doubling(s, s->stream[stream]);
    return ok(s, "binary", s->api->binary(s->self, &args, &s->err));
}

static bool record(struct scene *s, cb_stream *stream)
{
    return ok(s, "event_record", s->api->event_record(s->self, s->event, stream, &s->err));
}

static bool wait_for(struct scene *s, cb_stream *stream)
{
    return ok(s, "stream_wait_event",
              s->api->stream_wait_event(s->self, stream, s->event, &s->err));
}

static bool finish(struct scene *s, int stream)
{
    return ok(s, "stream_synchronize",
              s->api->stream_synchronize(s->self, s->stream[stream], &s->err));
}

static void fill(float *x, float value)
{
    for (int i = 0; i < BYTES / 4; i++)
        x[i] = value + (float)(i % 16);
}

static void all_are(struct scene *s, const char *rule, const float *got, float factor, float value)
{
    for (int i = 0; i < BYTES / 4; i++) {
        const float want = factor * (value + (float)(i % 16));
        if (got[i] != want) {
            st_fail(s->run, rule, "element %d is %g, not %g", i, (double)got[i], (double)want);
            return;
        }
    }
}

static void work_runs_in_order(struct scene *s)
{
    for (int i = 0; i < ROUNDS; i++) {
        fill(s->in[i], (float)i);
        if (!put(s, 0, s->buffer[0], s->in[i], CB_COPY_ASYNC) || !twice(s, 0) || !twice(s, 0) ||
            !move(s, 0, s->buffer[1], s->buffer[0]) ||
            !get(s, 0, s->out[i], s->buffer[1], CB_COPY_ASYNC))
            return;
    }
    if (!finish(s, 0))
        return;
    for (int i = 0; i < ROUNDS; i++)
        all_are(s, "work on one stream runs in order", s->out[i], 4.0f, (float)i);
}

static void events_tie_streams(struct scene *s)
{
    float *in = s->in[0], *out = s->out[0];
    for (int i = 0; i < ROUNDS; i++) {
        fill(in, (float)i);
        memset(out, 0, BYTES);
        if (!put(s, 0, s->buffer[0], in, CB_COPY_ASYNC) || !twice(s, 0) ||
            !record(s, s->stream[0]) || !wait_for(s, s->stream[1]) ||
            !move(s, 1, s->buffer[1], s->buffer[0]) ||
            !get(s, 1, out, s->buffer[1], CB_COPY_ASYNC) || !finish(s, 1))
            return;
        all_are(s, "what is queued after stream_wait_event waits for the event", out, 2.0f,
                (float)i);
    }
}

static void events_say_when(struct scene *s)
{
    static const char rule[] = "an event is done once all that was queued before it is";
    float *in = s->in[0], *out = s->out[0];
    uint32_t done = 77;
    fill(in, 1.0f);
    if (!put(s, 0, s->buffer[0], in, CB_COPY_ASYNC) || !twice(s, 0) ||
        !get(s, 0, out, s->buffer[0], CB_COPY_ASYNC) || !record(s, s->stream[0]) ||
        !ok(s, "event_query", s->api->event_query(s->self, s->event, &done, &s->err)))
        return;
    if (done > 1)
        st_fail(s->run, rule, "event_query says %" PRIu32, done);
    if (done == 1)
        all_are(s, rule, out, 2.0f, 1.0f);
    if (!ok(s, "event_synchronize", s->api->event_synchronize(s->self, s->event, &s->err)))
        return;
    all_are(s, rule, out, 2.0f, 1.0f);
    done = 77;
    if (ok(s, "event_query", s->api->event_query(s->self, s->event, &done, &s->err)) && done != 1)
        st_fail(s->run, rule, "after event_synchronize event_query says %" PRIu32, done);
}

static void event_never_recorded_is_done(struct scene *s)
{
    uint32_t done = 77;
    ok(s, "event_query", s->api->event_query(s->self, s->event, &done, &s->err));
    if (done != 1)
        st_fail(s->run, "an event that was never recorded counts as done",
                "event_query says %" PRIu32, done);
    ok(s, "event_synchronize", s->api->event_synchronize(s->self, s->event, &s->err));
    if (wait_for(s, s->stream[0]))
        finish(s, 0);
}

/* Each step adds 1 to what the other stream has left, so each wait counts. */
static void streams_play_ping_pong(struct scene *s)
{
    float *ones = s->in[0], *out = s->out[0];
    for (int i = 0; i < BYTES / 4; i++)
        ones[i] = 1.0f;
    if (!put(s, 0, s->buffer[2], ones, 0))
        return;
    for (int i = 0; i < PING_PONG; i++) {
        const int here = i % 2, there = 1 - here;
        cb_binary_args args = doubling(s, s->stream[here]);
        args.a = s->buffer[there];
        args.b = s->buffer[2];
        args.output = s->buffer[here];
        if (!ok(s, "binary", s->api->binary(s->self, &args, &s->err)) ||
            !record(s, s->stream[here]) || !wait_for(s, s->stream[there]))
            return;
    }
    if (!get(s, 0, out, s->buffer[(PING_PONG - 1) % 2], CB_COPY_ASYNC) || !finish(s, 0))
        return;
    for (int i = 0; i < BYTES / 4; i++)
        if (out[i] != PING_PONG) {
            st_fail(s->run, "what is queued after stream_wait_event waits for the event",
                    "after %d steps element %d is %g", PING_PONG, i, (double)out[i]);
            return;
        }
}

static void a_wait_is_for_the_record_that_it_knew(struct scene *s)
{
    float *in = s->in[0], *out = s->out[0];
    fill(in, 2.0f);
    if (put(s, 0, s->buffer[0], in, CB_COPY_ASYNC) && twice(s, 0) && twice(s, 0) && twice(s, 0) &&
        record(s, s->stream[0]) && wait_for(s, s->stream[1]) && record(s, NULL) &&
        get(s, 1, out, s->buffer[0], CB_COPY_ASYNC) && finish(s, 1))
        all_are(s, "an event that is recorded again keeps those who wait for the record before",
                out, 8.0f, 2.0f);
    finish(s, 0);
}

static void the_default_stream_waits_for_events(struct scene *s)
{
    cb_stream *mine = s->stream[0];
    float *in = s->in[0], *out = s->out[0];
    fill(in, 4.0f);
    if (!put(s, 0, s->buffer[0], in, CB_COPY_ASYNC) || !twice(s, 0) || !record(s, mine) ||
        !wait_for(s, NULL))
        return;
    s->stream[0] = NULL;
    if (get(s, 0, out, s->buffer[0], CB_COPY_ASYNC) && finish(s, 0))
        all_are(s, "what is queued after stream_wait_event waits for the event", out, 2.0f, 4.0f);
    s->stream[0] = mine;
}

/* ---- what a call leaves to its caller when it returns ---- */

static void arguments_and_indices_are_the_callers_again(struct scene *s)
{
    static const char rule[] = "argument structs, shapes and indices are read before the call "
                               "returns";
    enum {
        ROWS = 16
    };
    uint64_t indices[ROWS];
    float *in = s->in[0], *out = s->out[0];
    cb_support support;
    cb_rows_args args = { CB_ARGS(cb_rows_args),  .rows = ROWS,          .cols = BYTES / 4 / ROWS,
                          .indices = indices,     .n_indices = ROWS,     .input = s->buffer[0],
                          .output = s->buffer[1], .stream = s->stream[0] };
    cb_support_init(&support);
    if (!CB_HAS(s->api, gather)) {
        st_skip(s->run, "the table lacks gather");
        return;
    }
    for (uint64_t i = 0; i < ROWS; i++)
        indices[i] = ROWS - 1 - i;
    if (!ok(s, "supports", s->api->supports(s->self, CB_OP_GATHER, &args, &support, &s->err)))
        return;
    if (support.answer == CB_SUPPORT_NO) {
        st_skip(s->run, support.reason);
        return;
    }
    for (int i = 0; i < BYTES / 4; i++)
        in[i] = (float)i;
    if (!put(s, 0, s->buffer[0], in, CB_COPY_ASYNC) ||
        !ok(s, "gather", s->api->gather(s->self, &args, &s->err)))
        return;
    memset(indices, 0, sizeof(indices));
    memset(&args, 0, sizeof(args));
    if (!get(s, 0, out, s->buffer[1], CB_COPY_ASYNC) || !finish(s, 0))
        return;
    for (int i = 0; i < ROWS; i++) {
        const float want = (float)((ROWS - 1 - i) * (BYTES / 4 / ROWS));
        if (out[i * (BYTES / 4 / ROWS)] != want)
            st_fail(s->run, rule, "row %d begins with %g, not %g", i,
                    (double)out[i * (BYTES / 4 / ROWS)], (double)want);
    }
}

static void uploaded_memory_is_the_callers_after_an_event(struct scene *s)
{
    float *in = s->in[0], *out = s->out[0];
    fill(in, 6.0f);
    if (!put(s, 0, s->buffer[0], in, CB_COPY_ASYNC) || !record(s, s->stream[0]) ||
        !ok(s, "event_synchronize", s->api->event_synchronize(s->self, s->event, &s->err)))
        return;
    memset(in, 0xff, BYTES);
    if (get(s, 0, out, s->buffer[0], CB_COPY_ASYNC) && finish(s, 0))
        all_are(s, "host memory of an asynchronous copy is free after an event behind it", out,
                1.0f, 6.0f);
}

static void bad_arguments_are_refused_at_once(struct scene *s)
{
    cb_binary_args args = doubling(s, s->stream[0]);
    args.n++;
    if (refused(s, "binary beyond its buffers", s->api->binary(s->self, &args, &s->err),
                CB_INVALID_ARGUMENT))
        finish(s, 0);
}

static void a_buffer_lives_until_queued_work_is_done(struct scene *s)
{
    float *in = s->in[0], *out = s->out[0];
    fill(in, 8.0f);
    if (!put(s, 0, s->buffer[0], in, 0) || !twice(s, 0) || !twice(s, 0) ||
        !get(s, 0, out, s->buffer[0], CB_COPY_ASYNC) ||
        !ok(s, "free", s->api->free(s->self, s->buffer[0], s->stream[0], &s->err)))
        return;
    s->buffer[0] = 0;
    if (finish(s, 0))
        all_are(s, "a buffer freed while an op uses it lives until the op ends", out, 4.0f, 8.0f);
}

/* ---- what waits for whom ---- */

static void blocking_copy_waits_for_its_stream(struct scene *s)
{
    float *in = s->in[0], *out = s->out[0];
    fill(in, 3.0f);
    if (put(s, 0, s->buffer[0], in, CB_COPY_ASYNC) && twice(s, 0) && twice(s, 0) &&
        get(s, 0, out, s->buffer[0], 0))
        all_are(s, "a blocking copy comes after the work queued on its stream", out, 4.0f, 3.0f);
}

static void synchronize_waits_for_all(struct scene *s)
{
    for (int i = 0; i < 2; i++) {
        fill(s->in[i], (float)i);
        if (!put(s, i, s->buffer[i], s->in[i], CB_COPY_ASYNC) ||
            !get(s, i, s->out[i], s->buffer[i], CB_COPY_ASYNC))
            return;
    }
    if (!ok(s, "synchronize", s->api->synchronize(s->self, &s->err)))
        return;
    for (int i = 0; i < 2; i++)
        all_are(s, "synchronize waits for every stream", s->out[i], 1.0f, (float)i);
}

static void stream_destroy_waits(struct scene *s)
{
    float *in = s->in[0], *out = s->out[0];
    fill(in, 5.0f);
    if (!put(s, 0, s->buffer[0], in, CB_COPY_ASYNC) || !twice(s, 0) ||
        !get(s, 0, out, s->buffer[0], CB_COPY_ASYNC))
        return;
    ok(s, "stream_destroy", s->api->stream_destroy(s->self, s->stream[0], &s->err));
    s->stream[0] = NULL;
    all_are(s, "stream_destroy waits for the stream's work", out, 2.0f, 5.0f);
}

/* Of an instance of its own, with work on two streams, one of which waits for the other. */
static void destroy_waits(struct scene *s)
{
    cb_backend be;
    struct scene *own = st_host(s->run, 1, sizeof(*own));
    if (!own || !st_open(s->run, NULL, 0, &be)) {
        free(own);
        return;
    }
    *own = (struct scene){ .run = s->run, .api = be.api, .self = be.self };
    cb_error_init(&own->err);
    fill(own->in[0], 9.0f);
    const bool queued = set_up(own) && put(own, 0, own->buffer[0], own->in[0], CB_COPY_ASYNC) &&
                        twice(own, 0) && record(own, own->stream[0]) &&
                        wait_for(own, own->stream[1]) &&
                        get(own, 1, own->out[0], own->buffer[0], CB_COPY_ASYNC);
    st_close(s->run, be);
    if (queued)
        all_are(s, "destroy waits for queued work", own->out[0], 2.0f, 9.0f);
    free(own);
}

/* ---- copies beside work ---- */

#define WORK_BYTES (UINT64_C(4) << 20)
#define WORK_MS    100 /* beside which a copy of BYTES is over at once, also on a busy machine */
#define PIECES_MAX 1024
#define TRIES      5

/* Queues pieces of long work on stream 0, and records the event behind them. */
static bool queue_work(struct scene *s, uint64_t ptr, uint32_t pieces)
{
    cb_binary_args args = doubling(s, s->stream[0]);
    args.n = WORK_BYTES / 4;
    args.a = args.b = args.output = ptr;
    for (uint32_t i = 0; i < pieces; i++)
        if (!ok(s, "binary", s->api->binary(s->self, &args, &s->err)))
            return false;
    return record(s, s->stream[0]);
}

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* How many pieces last long enough, when what the first call takes is over; 0: the case has
 * failed. */
static uint32_t enough_work(struct scene *s, uint64_t ptr)
{
    if (!queue_work(s, ptr, 1) || !finish(s, 0))
        return 0;
    for (uint32_t pieces = 1;; pieces *= 2) {
        const int64_t start = now_ms();
        if (!queue_work(s, ptr, pieces) || !finish(s, 0))
            return 0;
        if (now_ms() - start >= WORK_MS || pieces >= PIECES_MAX)
            return pieces;
    }
}

/* Whether copies on stream 1 are over while stream 0 is still at work; chance may have it
 * otherwise. */
static bool copies_are_over_first(struct scene *s, uint64_t ptr, uint32_t pieces)
{
    uint32_t done = 1;
    if (!queue_work(s, ptr, pieces) || !put(s, 1, s->buffer[0], s->in[0], CB_COPY_ASYNC) ||
        !get(s, 1, s->out[0], s->buffer[0], CB_COPY_ASYNC) || !finish(s, 1) ||
        !ok(s, "event_query", s->api->event_query(s->self, s->event, &done, &s->err)))
        return false;
    all_are(s, "an asynchronous copy is done after stream_synchronize", s->out[0], 1.0f, 1.0f);
    return finish(s, 0) && !done;
}

static void copies_overlap_with_work(struct scene *s)
{
    cb_capabilities caps;
    uint64_t ptr = 0;
    cb_capabilities_init(&caps);
    if (!ok(s, "capabilities", s->api->capabilities(s->self, CB_DEVICE_AUTO, &caps, &s->err)))
        return;
    if (!(caps.features & CB_FEATURE_ASYNC_COPY)) {
        st_skip(s->run, "the device has no CB_FEATURE_ASYNC_COPY");
        return;
    }
    if (!offered(s, "alloc", s->api->alloc(s->self, WORK_BYTES, NULL, &ptr, &s->err)))
        return;
    fill(s->in[0], 1.0f);
    const uint32_t pieces = enough_work(s, ptr);
    bool over = false;
    for (int i = 0; pieces && !over && i < TRIES; i++)
        over = copies_are_over_first(s, ptr, pieces);
    if (!over)
        st_fail(s->run, "with CB_FEATURE_ASYNC_COPY copies overlap with work on other streams",
                "%d times copies on one stream ended only after the work on another", TRIES);
    ok(s, "free", s->api->free(s->self, ptr, NULL, &s->err));
}

/* The default stream is NULL: all but destroying it works. */
static void default_stream(struct scene *s)
{
    float *in = s->in[0], *out = s->out[0];
    fill(in, 7.0f);
    refused(s, "stream_destroy of NULL", s->api->stream_destroy(s->self, NULL, &s->err),
            CB_INVALID_ARGUMENT);
    cb_stream *mine = s->stream[0];
    s->stream[0] = NULL;
    if (put(s, 0, s->buffer[0], in, CB_COPY_ASYNC) && twice(s, 0) && record(s, NULL) &&
        wait_for(s, NULL) && get(s, 0, out, s->buffer[0], CB_COPY_ASYNC) && finish(s, 0))
        all_are(s, "NULL is the default stream, in order like any other", out, 2.0f, 7.0f);
    s->stream[0] = mine;
}

static void faults_are_refused(struct scene *s)
{
    cb_stream *stream = NULL;
    cb_event *event = NULL;
    uint32_t done;
    refused(s, "stream_create with an unknown flag",
            s->api->stream_create(s->self, 1u << 31, &stream, &s->err), CB_UNSUPPORTED);
    refused(s, "event_create with an unknown flag",
            s->api->event_create(s->self, 1u << 31, &event, &s->err), CB_UNSUPPORTED);
    if (stream || event)
        st_fail(s->run, "a call that fails leaves its output as it was",
                "stream_create or event_create failed and wrote its output");
    refused(s, "event_record of NULL", s->api->event_record(s->self, NULL, NULL, &s->err),
            CB_INVALID_ARGUMENT);
    refused(s, "stream_wait_event of NULL",
            s->api->stream_wait_event(s->self, s->stream[0], NULL, &s->err), CB_INVALID_ARGUMENT);
    refused(s, "event_query of NULL", s->api->event_query(s->self, NULL, &done, &s->err),
            CB_INVALID_ARGUMENT);
    refused(s, "event_synchronize of NULL", s->api->event_synchronize(s->self, NULL, &s->err),
            CB_INVALID_ARGUMENT);
    refused(s, "event_destroy of NULL", s->api->event_destroy(s->self, NULL, &s->err),
            CB_INVALID_ARGUMENT);
}

static const struct {
    const char *name;
    void (*check)(struct scene *s);
    bool twice; /* it calls binary */
} cases[] = {
    { "work_runs_in_order", work_runs_in_order, true },
    { "events_tie_streams", events_tie_streams, true },
    { "events_say_when", events_say_when, true },
    { "event_never_recorded_is_done", event_never_recorded_is_done, false },
    { "streams_play_ping_pong", streams_play_ping_pong, true },
    { "a_wait_is_for_the_record_that_it_knew", a_wait_is_for_the_record_that_it_knew, true },
    { "the_default_stream_waits_for_events", the_default_stream_waits_for_events, true },
    { "arguments_and_indices_are_the_callers_again", arguments_and_indices_are_the_callers_again,
      false },
    { "uploaded_memory_is_the_callers_after_an_event",
      uploaded_memory_is_the_callers_after_an_event, false },
    { "bad_arguments_are_refused_at_once", bad_arguments_are_refused_at_once, true },
    { "a_buffer_lives_until_queued_work_is_done", a_buffer_lives_until_queued_work_is_done, true },
    { "blocking_copy_waits_for_its_stream", blocking_copy_waits_for_its_stream, true },
    { "synchronize_waits_for_all", synchronize_waits_for_all, false },
    { "stream_destroy_waits", stream_destroy_waits, true },
    { "destroy_waits", destroy_waits, true },
    { "copies_overlap_with_work", copies_overlap_with_work, true },
    { "default_stream", default_stream, true },
    { "faults_are_refused", faults_are_refused, false },
};

static bool has_streams(const compute_backend_v1 *api)
{
    return CB_HAS(api, stream_create) && CB_HAS(api, stream_destroy) &&
           CB_HAS(api, stream_synchronize) && CB_HAS(api, event_create) &&
           CB_HAS(api, event_destroy) && CB_HAS(api, event_record) &&
           CB_HAS(api, stream_wait_event) && CB_HAS(api, event_query) &&
           CB_HAS(api, event_synchronize);
}

static void grid(struct st_run *run, uint32_t type)
{
    (void)type;
    for (size_t i = 0; i < ST_COUNT(cases); i++) {
        if (!st_begin(run, "streams:%s", cases[i].name))
            continue;
        struct scene s = { .run = run, .api = run->be.api, .self = run->be.self };
        cb_error_init(&s.err);
        if (!has_streams(s.api))
            st_skip(run, "the table lacks streams or events");
        else if (set_up(&s) && (!cases[i].twice || twice_is_offered(&s)))
            cases[i].check(&s);
        if (has_streams(s.api))
            tear_down(&s);
        st_end(run);
    }
}

const struct st_group st_streams = { "streams", NULL, grid, NULL, NULL };
