/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of a stream, and the thread that works it off. */
#include "queue.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

struct chaos_mark *chaos_mark_hold(struct chaos_mark *mark)
{
    if (mark)
        mark->holders++;
    return mark;
}

void chaos_mark_drop(struct chaos_mark *mark)
{
    if (mark && !--mark->holders)
        free(mark);
}

void chaos_mark_now(struct chaos_mark *mark)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    mark->time = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    mark->done = true;
}

cb_status chaos_mark_inherit(const struct chaos *chaos, const struct chaos_mark *mark,
                             cb_error *err)
{
    return chaos_has(chaos, CHAOS_LATE_ENDS_AT_WAIT) ? CB_OK
                                                     : chaos_tell(mark->failed, &mark->error, err);
}

bool chaos_stream_known(const struct chaos *chaos, const cb_stream *stream)
{
    const cb_stream *at = chaos->streams;
    while (at && at != stream)
        at = at->next;
    return at != NULL;
}

cb_status chaos_tell(cb_status st, const cb_error *from, cb_error *err)
{
    return st == CB_OK ? st : cbc_error_pass(err, from);
}

cb_status chaos_report(cb_stream *stream, cb_error *err)
{
    const cb_status st = stream->failed;
    const bool again = chaos_has(stream->chaos, CHAOS_LATE_TWICE) && !stream->told;
    stream->told = again && st != CB_OK;
    if (!stream->told)
        stream->failed = CB_OK;
    return chaos_tell(st, &stream->error, err);
}

/* ---- the queue ---- */

struct chaos_work *chaos_work_create(struct chaos *chaos, uint32_t code, cb_stream *stream,
                                     cb_error *err)
{
    struct chaos_work *work = calloc(1, sizeof(*work));
    if (!work) {
        cbc_fail(err, CB_OUT_OF_MEMORY, chaos_code_name(code), "no memory for a piece of work");
        return NULL;
    }
    work->chaos = chaos;
    work->code = code;
    work->stream = stream;
    return work;
}

void chaos_works_free(struct chaos_work *list)
{
    while (list) {
        struct chaos_work *work = list;
        list = work->next;
        chaos_work_free(work);
    }
}

/* The stream that a fault sends work to: another one, if there is one. What touches host memory
 * keeps its stream, since its caller could not know when that is free. */
static cb_stream *destination(const struct chaos_work *work)
{
    const bool moves = chaos_has(work->chaos, CHAOS_STREAMS_SWAPPED) && !work->waiter &&
                       work->code != CHAOS_COPY_HTOD && work->code != CHAOS_COPY_DTOH &&
                       work->code < CHAOS_SLOTS;
    cb_stream *other = work->chaos->streams;
    while (moves && other && other == work->stream)
        other = other->next;
    return moves && other ? other : work->stream;
}

cb_status chaos_push(struct chaos_work *work, cb_error *err)
{
    cb_stream *stream = destination(work);
    const cb_status st = chaos_report(work->stream, err);
    if (st != CB_OK)
        return st;
    struct chaos_work **at = &stream->first;
    const bool last =
        !chaos_has(work->chaos, CHAOS_LAST_FIRST) || work->waiter || work->code >= CHAOS_SLOTS;
    while (*at && last)
        at = &(*at)->next;
    work->stream = stream;
    work->ticket = ++work->chaos->tickets;
    work->next = *at;
    *at = work;
    pthread_cond_broadcast(&work->chaos->changed);
    return CB_OK;
}

static struct chaos_work *take(cb_stream *stream)
{
    struct chaos_work *work = stream->first;
    if (work)
        stream->first = work->next;
    return work;
}

/* Tells whoever waits for work, and its mark, what became of it. */
static void settle(struct chaos_work *work, cb_status st, const cb_error *error)
{
    if (work->mark && work->code == CHAOS_RECORD) {
        if (st == CB_OK)
            chaos_mark_now(work->mark);
        work->mark->done = true;
        work->mark->failed = st;
        work->mark->error = *error;
        work->mark->told = chaos_has(work->chaos, CHAOS_LATE_NOT_IN_EVENT);
    }
    chaos_mark_drop(work->mark);
    if (work->waiter)
        *work->waiter = (struct chaos_waiter){ true, st, *error };
}

struct chaos_work *chaos_drain(cb_stream *stream, cb_status st, const cb_error *error, bool *waited)
{
    struct chaos_work *list = stream->first;
    *waited = false;
    for (struct chaos_work *work = list; work; work = work->next) {
        *waited |= work->waiter != NULL;
        settle(work, st, error);
    }
    stream->first = NULL;
    pthread_cond_broadcast(&stream->chaos->changed);
    return list;
}

void chaos_drop(struct chaos *chaos, cb_stream *stream)
{
    cb_error none;
    bool waited;
    cb_error_init(&none);
    pthread_mutex_lock(&chaos->lock);
    struct chaos_work *dropped =
        chaos_stream_known(chaos, stream) ? chaos_drain(stream, CB_OK, &none, &waited) : NULL;
    pthread_mutex_unlock(&chaos->lock);
    chaos_works_free(dropped);
}

/* ---- the worker ---- */

/* Whether what a wait waits for is there. */
static bool is_there(const struct chaos_work *work)
{
    const bool ends = chaos_has(work->chaos, CHAOS_WAIT_ENDS_AT_RECORD) &&
                      chaos_event_known(work->chaos, work->event);
    return work->mark->done || (ends && work->event->mark != work->mark);
}

/* Whether another stream still has work from before this. */
static bool others_are_behind(const struct chaos_work *work)
{
    for (const cb_stream *s = work->chaos->streams; s; s = s->next) {
        const uint64_t next = s->first ? s->first->ticket : UINT64_MAX;
        if (s != work->stream && (s->running ? s->running : next) < work->ticket)
            return true;
    }
    return false;
}

/* For a fault: until all that was queued before this is done. */
static void wait_for_others(struct chaos_work *work)
{
    pthread_mutex_lock(&work->chaos->lock);
    while (others_are_behind(work))
        pthread_cond_wait(&work->chaos->changed, &work->chaos->lock);
    pthread_mutex_unlock(&work->chaos->lock);
}

static cb_status run(struct chaos_work *work, cb_error *err)
{
    struct chaos *chaos = work->chaos;
    const bool copies = work->code >= CHAOS_COPY_HTOD && work->code <= CHAOS_COPY_DTOD;
    cb_status st = CB_OK;
    const struct timespec delay = { (time_t)(chaos->delay / 1000000),
                                    (long)(chaos->delay % 1000000 * 1000) };
    if (work->code < CHAOS_SLOTS) {
        if (chaos->delay)
            nanosleep(&delay, NULL);
        if (copies && chaos_has(chaos, CHAOS_COPY_WAITS))
            wait_for_others(work);
        return chaos_run(work, err);
    }
    pthread_mutex_lock(&chaos->lock);
    while (work->code == CHAOS_WAIT && !is_there(work))
        pthread_cond_wait(&chaos->changed, &chaos->lock);
    if (work->code == CHAOS_WAIT)
        st = chaos_mark_inherit(chaos, work->mark, err);
    pthread_mutex_unlock(&chaos->lock);
    return st;
}

/* For a fault: of whatever was recorded at some time. */
static void fail_events(const struct chaos *chaos, cb_status st, const cb_error *error)
{
    for (cb_event *event = chaos->events; event; event = event->next)
        if (event->mark && event->mark->done) {
            event->mark->told = false;
            event->mark->failed = st;
            event->mark->error = *error;
        }
}

/* A failure that nobody waits for: what is queued behind it is skipped, and the next call on the
 * stream reports it, unless one is waiting already. Returns what was skipped. */
static struct chaos_work *fail(cb_stream *stream, cb_status st, const cb_error *error)
{
    const struct chaos *chaos = stream->chaos;
    struct chaos_work *skipped = NULL;
    bool told = false;
    if (!chaos_has(chaos, CHAOS_LATE_CARRIES_ON))
        skipped = chaos_drain(stream, st, error, &told);
    if (chaos_has(chaos, CHAOS_LATE_IN_ANY_EVENT))
        fail_events(chaos, st, error);
    if (chaos_has(chaos, CHAOS_LATE_SPREADS))
        for (cb_stream *other = chaos->streams; other; other = other->next) {
            other->failed = st;
            other->error = *error;
        }
    stream->told = told;
    if (chaos_has(chaos, CHAOS_LATE_LOST))
        return skipped;
    if (!told || chaos_has(chaos, CHAOS_LATE_TWICE)) {
        stream->failed = st;
        stream->error = *error;
    }
    return skipped;
}

void *chaos_worker(void *arg)
{
    cb_stream *stream = arg;
    struct chaos *chaos = stream->chaos;
    const cbc_fpenv fpenv = cbc_fpenv_enter();
    pthread_mutex_lock(&chaos->lock);
    for (;;) {
        while (!stream->first && !stream->stop)
            pthread_cond_wait(&chaos->changed, &chaos->lock);
        struct chaos_work *work = take(stream);
        if (!work)
            break;
        stream->running = work->ticket;
        pthread_mutex_unlock(&chaos->lock);

        cb_error error;
        cb_error_init(&error);
        const cb_status st = run(work, &error);

        pthread_mutex_lock(&chaos->lock);
        const bool late = st != CB_OK && !work->waiter;
        struct chaos_work *skipped = late ? fail(stream, st, &error) : NULL;
        settle(work, st, &error);
        work->next = skipped;
        pthread_mutex_unlock(&chaos->lock);
        chaos_works_free(work);

        /* Only now, so that memory that was freed meanwhile is back when a waiter goes on. */
        pthread_mutex_lock(&chaos->lock);
        stream->running = 0;
        pthread_cond_broadcast(&chaos->changed);
    }
    pthread_mutex_unlock(&chaos->lock);
    cbc_fpenv_leave(fpenv);
    return NULL;
}
