/* SPDX-License-Identifier: Apache-2.0 */
/* cb.profile/1 where it is there: the time between two events. */
#include "suite.h"

#include <time.h>

#define PAUSE 20000000 /* nanoseconds between two records */

/* What a case works with; events and the stream are made and unmade here. */
struct scene {
    struct st_run *run;
    const compute_backend_v1 *api;
    void *self;
    const cb_profile_v1 *profile;
    void *profile_self;
    cb_stream *stream;
    cb_event *event[2];
    cb_error err;
};

static bool is(struct scene *s, const char *call, cb_status got, cb_status want)
{
    return st_status(s->run, call, got, want, &s->err);
}

/* False: the case is skipped, or has failed. */
static bool find_profile(struct scene *s)
{
    cb_extension extension;
    cb_extension_init(&extension);
    if (!CB_HAS(s->api, get_extension)) {
        st_skip(s->run, "the table has no get_extension");
        return false;
    }
    const cb_status st = s->api->get_extension(s->self, CB_PROFILE_ID, &extension, &s->err);
    if (st == CB_NOT_FOUND) {
        st_skip(s->run, s->err.msg);
        return false;
    }
    if (!st_offered(s->run, "get_extension", st, &s->err))
        return false;
    s->profile = extension.api;
    s->profile_self = extension.self;
    if (s->profile && s->profile->size >= CB_PROFILE_1_0 && s->profile->elapsed)
        return true;
    st_fail(s->run, "an extension's table is whole", CB_PROFILE_ID " lacks elapsed");
    return false;
}

static bool has_events(const compute_backend_v1 *api)
{
    return CB_HAS(api, stream_create) && CB_HAS(api, stream_destroy) && CB_HAS(api, event_create) &&
           CB_HAS(api, event_destroy) && CB_HAS(api, event_record) &&
           CB_HAS(api, event_synchronize);
}

static bool set_up(struct scene *s)
{
    if (!find_profile(s))
        return false;
    if (!has_events(s->api)) {
        st_fail(s->run, "what an extension needs is there", CB_PROFILE_ID " without events");
        return false;
    }
    for (int i = 0; i < 2; i++)
        if (!st_offered(s->run, "event_create",
                        s->api->event_create(s->self, 0, &s->event[i], &s->err), &s->err))
            return false;
    return st_offered(s->run, "stream_create",
                      s->api->stream_create(s->self, 0, &s->stream, &s->err), &s->err);
}

static void tear_down(struct scene *s)
{
    if (s->stream)
        is(s, "stream_destroy", s->api->stream_destroy(s->self, s->stream, &s->err), CB_OK);
    for (int i = 0; i < 2; i++)
        if (s->event[i])
            is(s, "event_destroy", s->api->event_destroy(s->self, s->event[i], &s->err), CB_OK);
}

static cb_status elapsed(struct scene *s, int from, int to, int64_t *ns)
{
    return s->profile->elapsed(s->profile_self, s->event[from], s->event[to], ns, &s->err);
}

static bool record(struct scene *s, int event, cb_stream *stream)
{
    return is(s, "event_record", s->api->event_record(s->self, s->event[event], stream, &s->err),
              CB_OK);
}

static bool wait_for(struct scene *s, int event)
{
    return is(s, "event_synchronize", s->api->event_synchronize(s->self, s->event[event], &s->err),
              CB_OK);
}

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* What passes between the end of one record and the beginning of the next passes between them, and
 * no more than passes around both; clocks may differ by a hundredth and 10 microseconds. */
static void elapsed_is_the_time_between(struct scene *s, cb_stream *stream)
{
    static const char rule[] = "elapsed is the time between two events, in nanoseconds";
    const struct timespec pause = { 0, PAUSE };
    int64_t ns = 0, back = 0;
    const int64_t before = now();
    if (!record(s, 0, stream) || !wait_for(s, 0))
        return;
    const int64_t from = now();
    nanosleep(&pause, NULL);
    const int64_t to = now();
    if (!record(s, 1, stream) || !wait_for(s, 1))
        return;
    const int64_t after = now();
    const int64_t least = to - from, most = after - before, slack = most / 100 + 10000;
    if (!is(s, "elapsed", elapsed(s, 0, 1, &ns), CB_OK) ||
        !is(s, "elapsed of the reverse", elapsed(s, 1, 0, &back), CB_OK))
        return;
    if (ns < least - slack || ns > most + slack)
        st_fail(s->run, rule, "%" PRId64 " ns, not in %" PRId64 "..%" PRId64, ns, least, most);
    else if (back != -ns)
        st_fail(s->run, rule, "from start to end %" PRId64 " ns, from end to start %" PRId64, ns,
                back);
    if (is(s, "elapsed of one event", elapsed(s, 0, 0, &ns), CB_OK) && ns)
        st_fail(s->run, rule, "from an event to itself %" PRId64 " ns", ns);
}

static void elapsed_on_a_stream(struct scene *s)
{
    elapsed_is_the_time_between(s, s->stream);
}

static void elapsed_on_the_default_stream(struct scene *s)
{
    elapsed_is_the_time_between(s, NULL);
}

/* Of events on two streams, tied by a wait. */
static void elapsed_between_streams(struct scene *s)
{
    int64_t ns = -1;
    if (record(s, 0, s->stream) &&
        is(s, "stream_wait_event", s->api->stream_wait_event(s->self, NULL, s->event[0], &s->err),
           CB_OK) &&
        record(s, 1, NULL) && wait_for(s, 0) && wait_for(s, 1) &&
        is(s, "elapsed", elapsed(s, 0, 1, &ns), CB_OK) && ns < 0)
        st_fail(s->run, "elapsed is at least 0 when the start comes before the end",
                "%" PRId64 " ns", ns);
}

/* An event that says it is not done has no time yet. */
static void elapsed_does_not_wait(struct scene *s)
{
    static const char rule[] = "elapsed of an event that is not done is BUSY";
    uint64_t ptr;
    uint32_t done = 1;
    int64_t ns = 77;
    if (!CB_HAS(s->api, memset) || !CB_HAS(s->api, event_query)) {
        st_skip(s->run, "the table lacks memset or event_query");
        return;
    }
    if (!st_alloc(s->run, 1 << 20, &ptr) || !record(s, 0, NULL) || !wait_for(s, 0))
        return;
    for (uint32_t i = 0; i < 8; i++)
        is(s, "memset", s->api->memset(s->self, ptr, i, 1 << 20, s->stream, &s->err), CB_OK);
    if (record(s, 1, s->stream)) {
        const cb_status st = elapsed(s, 0, 1, &ns);
        is(s, "event_query", s->api->event_query(s->self, s->event[1], &done, &s->err), CB_OK);
        if (st != CB_BUSY)
            is(s, "elapsed", st, CB_OK);
        if (!done && st != CB_BUSY)
            st_fail(s->run, rule, "it is %s, and then event_query says 0", cb_status_name(st));
        if (st == CB_BUSY && ns != 77)
            st_fail(s->run, "a call that fails leaves its output as it was", "ns was written");
        if (wait_for(s, 1))
            is(s, "elapsed once both are done", elapsed(s, 0, 1, &ns), CB_OK);
    }
    st_free(s->run, ptr);
}

static void events_without_a_time_are_refused(struct scene *s)
{
    int64_t ns = 77;
    is(s, "elapsed of what was never recorded", elapsed(s, 0, 1, &ns), CB_INVALID_ARGUMENT);
    if (!record(s, 0, s->stream) || !wait_for(s, 0))
        return;
    is(s, "elapsed to what was never recorded", elapsed(s, 0, 1, &ns), CB_INVALID_ARGUMENT);
    is(s, "elapsed from what was never recorded", elapsed(s, 1, 0, &ns), CB_INVALID_ARGUMENT);
    is(s, "elapsed from NULL",
       s->profile->elapsed(s->profile_self, NULL, s->event[0], &ns, &s->err), CB_INVALID_ARGUMENT);
    is(s, "elapsed with ns NULL", elapsed(s, 0, 0, NULL), CB_INVALID_ARGUMENT);
    if (ns != 77)
        st_fail(s->run, "a call that fails leaves its output as it was", "ns was written");
}

static const struct {
    const char *name;
    void (*check)(struct scene *s);
} cases[] = {
    { "elapsed_on_a_stream", elapsed_on_a_stream },
    { "elapsed_on_the_default_stream", elapsed_on_the_default_stream },
    { "elapsed_between_streams", elapsed_between_streams },
    { "elapsed_does_not_wait", elapsed_does_not_wait },
    { "events_without_a_time_are_refused", events_without_a_time_are_refused },
};

static void grid(struct st_run *run, uint32_t type)
{
    (void)type;
    for (size_t i = 0; i < ST_COUNT(cases); i++) {
        if (!st_begin(run, "profile:%s", cases[i].name))
            continue;
        struct scene s = { .run = run, .api = run->be.api, .self = run->be.self };
        cb_error_init(&s.err);
        if (set_up(&s))
            cases[i].check(&s);
        tear_down(&s);
        st_end(run);
    }
}

const struct st_group st_profile = { "profile", NULL, grid, NULL, NULL };
