/* SPDX-License-Identifier: Apache-2.0 */
/* Errors that are found late. Nothing that a host may do makes work fail, so the backend must offer
 * it: with the option fail=memset every memset passes its checks and fails when it runs. One that
 * takes delay=MICROSECONDS too begins each piece of work so much later. */
#include "suite.h"

#include <string.h>

#define BYTES 64

static const char rule[] = "after a failure found late the stream skips what is queued; the first "
                           "call on it that returns a status reports the error, does nothing else "
                           "and clears it; events recorded after it report it once each, and "
                           "streams that wait for one of them fail too";

/* An instance on whose stream 0 a memset has failed, with a copy and an event queued behind it. */
struct late {
    struct st_run *run;
    const compute_backend_v1 *api;
    void *self;
    cb_stream *stream[2];
    cb_event *event;
    uint64_t ptr;
    cb_error err;
    unsigned char in[BYTES], out[BYTES];
};

static void check(struct late *l, const char *call, cb_status got, cb_status want)
{
    if (got != want)
        st_fail(l->run, rule, "%s is %s, not %s%s%.300s", call, cb_status_name(got),
                cb_status_name(want), got == CB_OK ? "" : ": ", got == CB_OK ? "" : l->err.msg);
    else if (want != CB_OK && !l->err.msg[0])
        st_fail(l->run, "an error has a message", "%s: the message is empty", call);
}

static cb_status fail_on(struct late *l, cb_stream *stream)
{
    return l->api->memset(l->self, l->ptr, 1, BYTES, stream, &l->err);
}

static cb_status wait_event(struct late *l)
{
    return l->api->event_synchronize(l->self, l->event, &l->err);
}

static cb_status wait_stream(struct late *l, int i)
{
    return l->api->stream_synchronize(l->self, l->stream[i], &l->err);
}

/* Blocks, unless flags say otherwise. */
static cb_status get(struct late *l, int i)
{
    const cb_copy_dtoh_args args = { CB_ARGS(cb_copy_dtoh_args), .dst = l->out, .src = l->ptr,
                                     .bytes = BYTES, .stream = i < 0 ? NULL : l->stream[i] };
    return l->api->copy_dtoh(l->self, &args, &l->err);
}

static cb_status put(struct late *l, int i)
{
    const cb_copy_htod_args args = { CB_ARGS(cb_copy_htod_args),
                                     .flags = CB_COPY_ASYNC,
                                     .dst = l->ptr,
                                     .src = l->in,
                                     .bytes = BYTES,
                                     .stream = l->stream[i] };
    return l->api->copy_htod(l->self, &args, &l->err);
}

/* False: the failure did not come late, or the case has ended. */
static bool queue_failure(struct late *l)
{
    memset(l->in, 7, BYTES);
    for (int i = 0; i < 2; i++)
        if (!st_offered(l->run, "stream_create",
                        l->api->stream_create(l->self, 0, &l->stream[i], &l->err), &l->err))
            return false;
    if (!st_offered(l->run, "event_create", l->api->event_create(l->self, 0, &l->event, &l->err),
                    &l->err) ||
        !st_status(l->run, "alloc", l->api->alloc(l->self, BYTES, NULL, &l->ptr, &l->err), CB_OK,
                   &l->err))
        return false;
    const cb_status st = fail_on(l, l->stream[0]);
    if (st == CB_DEVICE_ERROR)
        st_unjudged(l->run, "memset on a stream fails at once, so nothing fails late: %s",
                    l->err.msg);
    else
        check(l, "memset", st, CB_OK);
    return l->run->outcome == CB_SELFTEST_PASSED;
}

static void queue_the_rest(struct late *l)
{
    check(l, "copy_htod behind the failure", put(l, 0), CB_OK);
    check(l, "event_record behind the failure",
          l->api->event_record(l->self, l->event, l->stream[0], &l->err), CB_OK);
}

static void each_event_reports_it_once(struct late *l)
{
    queue_the_rest(l);
    check(l, "event_synchronize behind the failure", wait_event(l), CB_DEVICE_ERROR);
    check(l, "event_synchronize again", wait_event(l), CB_OK);
    check(l, "stream_synchronize behind the failure", wait_stream(l, 0), CB_DEVICE_ERROR);
}

static void the_stream_reports_it_once(struct late *l)
{
    queue_the_rest(l);
    check(l, "stream_synchronize behind the failure", wait_stream(l, 0), CB_DEVICE_ERROR);
    check(l, "stream_synchronize again", wait_stream(l, 0), CB_OK);
    check(l, "a copy after the report", get(l, 0), CB_OK);
}

static void what_is_queued_behind_it_is_skipped(struct late *l)
{
    queue_the_rest(l);
    check(l, "stream_synchronize behind the failure", wait_stream(l, 0), CB_DEVICE_ERROR);
    check(l, "copy_dtoh on the default stream", get(l, -1), CB_OK);
    if (l->out[0] == 7)
        st_fail(l->run, rule, "the copy that was queued behind the failure has run");
}

static void the_call_that_reports_it_does_nothing_else(struct late *l)
{
    l->out[0] = 99;
    check(l, "copy_dtoh behind the failure", get(l, 0), CB_DEVICE_ERROR);
    if (l->out[0] != 99)
        st_fail(l->run, rule, "the copy that reports the failure has moved bytes");
    check(l, "copy_dtoh again", get(l, 0), CB_OK);
}

static void events_that_are_not_behind_it_do_not_report_it(struct late *l)
{
    cb_event *before;
    if (!st_offered(l->run, "event_create", l->api->event_create(l->self, 0, &before, &l->err),
                    &l->err))
        return;
    check(l, "event_record on another stream",
          l->api->event_record(l->self, before, l->stream[1], &l->err), CB_OK);
    check(l, "stream_synchronize behind the failure", wait_stream(l, 0), CB_DEVICE_ERROR);
    check(l, "event_synchronize of an event that has nothing to do with it",
          l->api->event_synchronize(l->self, before, &l->err), CB_OK);
    check(l, "event_record after the report",
          l->api->event_record(l->self, before, l->stream[0], &l->err), CB_OK);
    check(l, "event_synchronize of an event that was recorded after the report",
          l->api->event_synchronize(l->self, before, &l->err), CB_OK);
}

/* Which of the calls tells depends on when the failure is found. */
static void a_stream_that_waits_for_an_event_behind_it_fails_too(struct late *l)
{
    queue_the_rest(l);
    for (int i = 0; i < 2; i++) {
        cb_status st = l->api->stream_wait_event(l->self, l->stream[1], l->event, &l->err);
        if (st == CB_OK)
            st = put(l, 1);
        if (st == CB_OK)
            st = wait_stream(l, 1);
        check(l, i ? "a second wait for the event" : "stream_wait_event, or what comes after it",
              st, CB_DEVICE_ERROR);
        check(l, "stream_synchronize again", wait_stream(l, 1), CB_OK);
    }
    check(l, "copy_dtoh on the default stream", get(l, -1), CB_OK);
    if (l->out[0] == 7)
        st_fail(l->run, rule, "the copy that was queued behind the wait has run");
    check(l, "stream_synchronize behind the failure", wait_stream(l, 0), CB_DEVICE_ERROR);
    check(l, "event_record after the report",
          l->api->event_record(l->self, l->event, l->stream[0], &l->err), CB_OK);
    check(l, "stream_wait_event of what was recorded after the report",
          l->api->stream_wait_event(l->self, l->stream[1], l->event, &l->err), CB_OK);
    check(l, "stream_synchronize of the stream that waited", wait_stream(l, 1), CB_OK);
}

static void the_default_stream_that_waits_for_it_fails_too(struct late *l)
{
    queue_the_rest(l);
    cb_status st = l->api->stream_wait_event(l->self, NULL, l->event, &l->err);
    if (st == CB_OK)
        st = get(l, -1);
    check(l, "stream_wait_event on the default stream, or a copy after it", st, CB_DEVICE_ERROR);
    check(l, "copy_dtoh again", get(l, -1), CB_OK);
    check(l, "stream_synchronize behind the failure", wait_stream(l, 0), CB_DEVICE_ERROR);
}

static void bad_arguments_do_not_report_it(struct late *l)
{
    queue_the_rest(l);
    check(l, "event_synchronize behind the failure", wait_event(l), CB_DEVICE_ERROR);
    check(l, "memset of a value beyond a byte",
          l->api->memset(l->self, l->ptr, 256, BYTES, l->stream[0], &l->err), CB_INVALID_ARGUMENT);
    check(l, "memset beyond the buffer",
          l->api->memset(l->self, l->ptr, 1, BYTES + 1, l->stream[0], &l->err),
          CB_INVALID_ARGUMENT);
    check(l, "stream_synchronize behind the failure", wait_stream(l, 0), CB_DEVICE_ERROR);
}

static void other_streams_do_not_see_it(struct late *l)
{
    check(l, "copy_dtoh on another stream", get(l, 1), CB_OK);
    check(l, "stream_synchronize of another stream", wait_stream(l, 1), CB_OK);
    check(l, "stream_synchronize", wait_stream(l, 0), CB_DEVICE_ERROR);
}

static void synchronize_reports_one_stream_a_call(struct late *l)
{
    check(l, "memset on the other stream", fail_on(l, l->stream[1]), CB_OK);
    check(l, "synchronize", l->api->synchronize(l->self, &l->err), CB_DEVICE_ERROR);
    check(l, "synchronize again", l->api->synchronize(l->self, &l->err), CB_DEVICE_ERROR);
    check(l, "synchronize a third time", l->api->synchronize(l->self, &l->err), CB_OK);
}

static const struct {
    const char *name;
    void (*check)(struct late *l);
} cases[] = {
    { "each_event_reports_it_once", each_event_reports_it_once },
    { "the_stream_reports_it_once", the_stream_reports_it_once },
    { "what_is_queued_behind_it_is_skipped", what_is_queued_behind_it_is_skipped },
    { "the_call_that_reports_it_does_nothing_else", the_call_that_reports_it_does_nothing_else },
    { "events_that_are_not_behind_it_do_not_report_it",
      events_that_are_not_behind_it_do_not_report_it },
    { "bad_arguments_do_not_report_it", bad_arguments_do_not_report_it },
    { "a_stream_that_waits_for_an_event_behind_it_fails_too",
      a_stream_that_waits_for_an_event_behind_it_fails_too },
    { "the_default_stream_that_waits_for_it_fails_too",
      the_default_stream_that_waits_for_it_fails_too },
    { "other_streams_do_not_see_it", other_streams_do_not_see_it },
    { "synchronize_reports_one_stream_a_call", synchronize_reports_one_stream_a_call },
};

/* With the delay where that is known: then all of a case is queued before the failure is found. */
static bool open_failing(struct st_run *run, cb_backend *out)
{
    static const char *const options[] = { "fail=memset", "delay=20000" };
    for (uint64_t n = ST_COUNT(options); n; n--) {
        if (run->outcome == CB_SELFTEST_SKIPPED)
            run->outcome = CB_SELFTEST_PASSED;
        if (st_open(run, options, n, out))
            return true;
    }
    if (run->outcome == CB_SELFTEST_SKIPPED) {
        run->outcome = CB_SELFTEST_PASSED;
        st_unjudged(run, "no work can be made to fail: the backend takes no option fail=memset");
    }
    return false;
}

static void grid(struct st_run *run, uint32_t type)
{
    (void)type;
    for (size_t i = 0; i < ST_COUNT(cases); i++) {
        cb_backend be;
        if (!st_begin(run, "late:%s", cases[i].name))
            continue;
        if (open_failing(run, &be)) {
            struct late l = { .run = run, .api = be.api, .self = be.self };
            cb_error_init(&l.err);
            if (queue_failure(&l))
                cases[i].check(&l);
            st_close(run, be);
        }
        st_end(run);
    }
}

const struct st_group st_late = { "late", NULL, grid, NULL, NULL };
