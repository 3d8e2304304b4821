/* SPDX-License-Identifier: Apache-2.0 */
/* Events. Each record makes a new mark, so that who waits for an event waits for the record that it
 * knew, whatever is recorded afterwards. */
#include "queue.h"

#include <stdlib.h>

/* The place in the list; the instance is locked. */
static cb_event **find(struct chaos *chaos, const cb_event *event)
{
    cb_event **at = &chaos->events;
    while (*at && *at != event)
        at = &(*at)->next;
    return at;
}

bool chaos_event_known(const struct chaos *chaos, const cb_event *event)
{
    const cb_event *at = chaos->events;
    while (at && at != event)
        at = at->next;
    return at != NULL;
}

/* Begins a call with the event: on CB_OK the instance is locked. */
static cb_status enter(struct chaos *chaos, cb_event *event, const char *where, cb_error *err)
{
    const cb_status st = chaos_begin(chaos, where, err);
    if (st != CB_OK)
        return st;
    pthread_mutex_lock(&chaos->lock);
    if (chaos_event_known(chaos, event))
        return CB_OK;
    pthread_mutex_unlock(&chaos->lock);
    return cbc_invalid(err, where, "event %p is none of this instance", (void *)event);
}

cb_status chaos_event_create(void *self, uint32_t flags, cb_event **out, cb_error *err)
{
    struct chaos *chaos = self;
    cb_status st = chaos_begin(chaos, "event_create", err);
    if (st == CB_OK)
        st = cbc_check_flags(flags, 0, "event_create", err);
    if (st == CB_OK && !out)
        st = cbc_invalid(err, "event_create", "out is NULL");
    if (st != CB_OK)
        return st;
    cb_event *event = calloc(1, sizeof(*event));
    if (!event)
        return cbc_fail(err, CB_OUT_OF_MEMORY, "event_create", "no memory for an event");
    pthread_mutex_lock(&chaos->lock);
    event->next = chaos->events;
    chaos->events = event;
    pthread_mutex_unlock(&chaos->lock);
    *out = event;
    return CB_OK;
}

static void destroy(struct chaos *chaos, cb_event *event)
{
    *find(chaos, event) = event->next;
    chaos_mark_drop(event->mark);
    free(event);
}

cb_status chaos_event_destroy(void *self, cb_event *event, cb_error *err)
{
    struct chaos *chaos = self;
    const cb_status st = enter(chaos, event, "event_destroy", err);
    if (st != CB_OK)
        return st;
    destroy(chaos, event);
    pthread_mutex_unlock(&chaos->lock);
    return CB_OK;
}

void chaos_events_end(struct chaos *chaos)
{
    while (chaos->events)
        destroy(chaos, chaos->events);
}

/* Queues work that knows a mark. On CB_OK the work has taken one hold of it. */
static cb_status queue(struct chaos *chaos, uint32_t code, cb_stream *stream, const cb_event *event,
                       struct chaos_mark *mark, cb_error *err)
{
    struct chaos_work *work = chaos_work_create(chaos, code, stream, err);
    if (!work)
        return CB_OUT_OF_MEMORY;
    work->mark = mark;
    work->event = event;
    const cb_status st = chaos_push(work, err);
    if (st != CB_OK)
        chaos_work_free(work);
    else
        chaos_mark_hold(mark);
    return st;
}

cb_status chaos_event_record(void *self, cb_event *event, cb_stream *stream, cb_error *err)
{
    struct chaos *chaos = self;
    cb_status st = enter(chaos, event, "event_record", err);
    if (st != CB_OK)
        return st;
    struct chaos_mark *mark = calloc(1, sizeof(*mark));
    if (!mark)
        st = cbc_fail(err, CB_OUT_OF_MEMORY, "event_record", "no memory for a mark");
    else if (stream && !chaos_stream_known(chaos, stream))
        st = cbc_invalid(err, "event_record", "stream %p is none of this instance", (void *)stream);
    else if (stream)
        st = queue(chaos, CHAOS_RECORD, stream, event, mark, err);
    if (st == CB_OK) {
        chaos_mark_drop(event->mark);
        event->mark = chaos_mark_hold(mark);
        if (!stream)
            chaos_mark_now(mark);
        pthread_cond_broadcast(&chaos->changed);
    } else {
        free(mark);
    }
    pthread_mutex_unlock(&chaos->lock);
    return st;
}

cb_status chaos_stream_wait_event(void *self, cb_stream *stream, cb_event *event, cb_error *err)
{
    struct chaos *chaos = self;
    cb_status st = enter(chaos, event, "stream_wait_event", err);
    if (st != CB_OK)
        return st;
    struct chaos_mark *mark = chaos_mark_hold(event->mark);
    const bool heeds = mark && !chaos_has(chaos, CHAOS_WAIT_IGNORED) &&
                       (stream || !chaos_has(chaos, CHAOS_DEFAULT_WAITS_NOT));
    const bool waits = heeds && !mark->done;
    if (stream && !chaos_stream_known(chaos, stream))
        st = cbc_invalid(err, "stream_wait_event", "stream %p is none of this instance",
                         (void *)stream);
    else if (stream)
        st = waits ? queue(chaos, CHAOS_WAIT, stream, event, mark, err) : chaos_report(stream, err);
    /* Work of the default stream runs in the thread of its caller, who therefore waits here. */
    while (!stream && waits && !mark->done)
        pthread_cond_wait(&chaos->changed, &chaos->lock);
    if (st == CB_OK && heeds && mark->done)
        st = chaos_mark_inherit(chaos, mark, err);
    chaos_mark_drop(mark);
    pthread_mutex_unlock(&chaos->lock);
    return st;
}

/* The failure that came before the record, once. */
static cb_status report(struct chaos_mark *mark, cb_error *err)
{
    if (!mark || mark->told)
        return CB_OK;
    mark->told = mark->done;
    return chaos_tell(mark->failed, &mark->error, err);
}

cb_status chaos_event_query(void *self, cb_event *event, uint32_t *done, cb_error *err)
{
    struct chaos *chaos = self;
    cb_status st = enter(chaos, event, "event_query", err);
    if (st != CB_OK)
        return st;
    if (!done) {
        st = cbc_invalid(err, "event_query", "done is NULL");
    } else {
        const bool is_done =
            !event->mark || event->mark->done || chaos_has(chaos, CHAOS_EVENT_EARLY);
        st = report(event->mark, err);
        if (st == CB_OK)
            *done = is_done;
    }
    pthread_mutex_unlock(&chaos->lock);
    return st;
}

cb_status chaos_event_synchronize(void *self, cb_event *event, cb_error *err)
{
    struct chaos *chaos = self;
    cb_status st = enter(chaos, event, "event_synchronize", err);
    if (st != CB_OK)
        return st;
    struct chaos_mark *mark = chaos_mark_hold(event->mark);
    while (mark && !mark->done && !chaos_has(chaos, CHAOS_EVENT_WAITS_NOT))
        pthread_cond_wait(&chaos->changed, &chaos->lock);
    st = report(mark, err);
    chaos_mark_drop(mark);
    pthread_mutex_unlock(&chaos->lock);
    return st;
}
