/* SPDX-License-Identifier: Apache-2.0 */
/* The slots of streams. The default stream needs no queue: its work runs in the caller's thread. */
#include "queue.h"

#include <signal.h>
#include <stdlib.h>

cb_stream *chaos_stream_wrapped(const cb_stream *stream)
{
    return stream ? stream->wrapped : NULL;
}

/* The stream is one of the instance's, and not the default one. */
static cb_status known(const struct chaos *chaos, const cb_stream *stream, const char *where,
                       cb_error *err)
{
    if (chaos_stream_known(chaos, stream))
        return CB_OK;
    return cbc_invalid(err, where, "stream %p is none of this instance", (const void *)stream);
}

cb_status chaos_stream_check(struct chaos *chaos, cb_stream *stream, const char *where,
                             cb_error *err)
{
    if (!stream)
        return CB_OK;
    pthread_mutex_lock(&chaos->lock);
    cb_status st = known(chaos, stream, where, err);
    if (st == CB_OK)
        st = chaos_report(stream, err);
    pthread_mutex_unlock(&chaos->lock);
    return st;
}

cb_status chaos_fail_late(struct chaos *chaos, cb_stream *stream, cb_status st, cb_error *err)
{
    pthread_mutex_lock(&chaos->lock);
    const bool is_late = chaos_stream_known(chaos, stream);
    if (is_late) {
        stream->failed = st;
        cb_error_init(&stream->error);
        cbc_error_pass(&stream->error, err ? err : &stream->error);
    }
    pthread_mutex_unlock(&chaos->lock);
    return is_late ? CB_OK : st;
}

cb_status chaos_submit(struct chaos_work *work, cb_error *err)
{
    struct chaos *chaos = work->chaos;
    struct chaos_waiter waiter = { .done = false };
    const bool jumps =
        work->blocks && work->code < CHAOS_SLOTS && chaos_has(chaos, CHAOS_COPY_JUMPS);
    if (!work->stream || jumps) {
        const cb_status st = chaos_run(work, err);
        chaos_work_free(work);
        return st;
    }
    cb_error_init(&waiter.error);
    pthread_mutex_lock(&chaos->lock);
    work->waiter = work->blocks ? &waiter : NULL;
    const bool blocks = work->blocks;
    const cb_status st = chaos_push(work, err);
    while (st == CB_OK && blocks && !waiter.done)
        pthread_cond_wait(&chaos->changed, &chaos->lock);
    pthread_mutex_unlock(&chaos->lock);
    if (st != CB_OK)
        chaos_work_free(work);
    return st != CB_OK ? st : chaos_tell(waiter.status, &waiter.error, err);
}

/* Waits until the work that is now queued on a stream is done, or reports its late error. */
static cb_status finish(struct chaos *chaos, cb_stream *stream, cb_error *err)
{
    struct chaos_work *work = chaos_work_create(chaos, CHAOS_NOTHING, stream, err);
    if (!work)
        return CB_OUT_OF_MEMORY;
    work->blocks = true;
    return chaos_submit(work, err);
}

/* A thread for the stream, with every signal blocked and a name. */
static cb_status start(cb_stream *stream, cb_error *err)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int failed = pthread_create(&stream->thread, NULL, chaos_worker, stream);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed)
        return cbc_fail(err, CB_OUT_OF_MEMORY, "stream_create", "the system refused a thread (%d)",
                        failed);
    pthread_setname_np(stream->thread, "cb-chaos");
    return CB_OK;
}

cb_status chaos_stream_create(void *self, uint32_t flags, cb_stream **out, cb_error *err)
{
    struct chaos *chaos = self;
    const cb_backend be = chaos->wrapped;
    cb_stream *stream = NULL;
    cb_status st = chaos_begin(chaos, "stream_create", err);
    if (st == CB_OK)
        st = cbc_check_flags(flags, 0, "stream_create", err);
    if (st == CB_OK && !out)
        st = cbc_invalid(err, "stream_create", "out is NULL");
    if (st != CB_OK)
        return st;
    stream = calloc(1, sizeof(*stream));
    if (!stream)
        return cbc_fail(err, CB_OUT_OF_MEMORY, "stream_create", "no memory for a stream");
    stream->chaos = chaos;
    if (CB_HAS(be.api, stream_create))
        st = be.api->stream_create(be.self, 0, &stream->wrapped, err);
    if (st != CB_OK)
        goto fail;
    st = start(stream, err);
    if (st != CB_OK)
        goto fail;
    pthread_mutex_lock(&chaos->lock);
    stream->next = chaos->streams;
    chaos->streams = stream;
    pthread_mutex_unlock(&chaos->lock);
    *out = stream;
    return CB_OK;

fail:
    if (stream->wrapped)
        be.api->stream_destroy(be.self, stream->wrapped, NULL);
    free(stream);
    return st;
}

/* Joins the thread once it has worked off the queue. The stream is off the list. */
static void end(cb_stream *stream)
{
    struct chaos *chaos = stream->chaos;
    pthread_mutex_lock(&chaos->lock);
    stream->stop = true;
    pthread_cond_broadcast(&chaos->changed);
    pthread_mutex_unlock(&chaos->lock);
    pthread_join(stream->thread, NULL);
    if (stream->wrapped)
        chaos->wrapped.api->stream_destroy(chaos->wrapped.self, stream->wrapped, NULL);
    free(stream);
}

void chaos_streams_end(struct chaos *chaos)
{
    while (chaos->streams) {
        cb_stream *stream = chaos->streams;
        if (chaos_has(chaos, CHAOS_END_DROPS))
            chaos_drop(chaos, stream);
        chaos->streams = stream->next;
        end(stream);
    }
}

cb_status chaos_stream_destroy(void *self, cb_stream *stream, cb_error *err)
{
    struct chaos *chaos = self;
    cb_status st = chaos_begin(chaos, "stream_destroy", err);
    if (st == CB_OK && !stream)
        st = cbc_invalid(err, "stream_destroy", "the default stream cannot be destroyed");
    if (st == CB_OK && chaos_has(chaos, CHAOS_DESTROY_DROPS))
        chaos_drop(chaos, stream);
    if (st == CB_OK)
        st = chaos_stream_check(chaos, stream, "stream_destroy", err);
    if (st == CB_OK)
        st = finish(chaos, stream, err);
    if (st != CB_OK)
        return st;
    pthread_mutex_lock(&chaos->lock);
    cb_stream **at = &chaos->streams;
    while (*at != stream)
        at = &(*at)->next;
    *at = stream->next;
    pthread_mutex_unlock(&chaos->lock);
    end(stream);
    return CB_OK;
}

cb_status chaos_stream_synchronize(void *self, cb_stream *stream, cb_error *err)
{
    struct chaos *chaos = self;
    cb_status st = chaos_begin(chaos, "stream_synchronize", err);
    if (st == CB_OK)
        st = chaos_stream_check(chaos, stream, "stream_synchronize", err);
    if (st != CB_OK || !stream)
        return st;
    if (chaos_has(chaos, CHAOS_SYNC_DROPS))
        chaos_drop(chaos, stream);
    return finish(chaos, stream, err);
}

/* Whether a stream still has work from before the ticket. */
static bool is_behind(const struct chaos *chaos, uint64_t ticket)
{
    for (const cb_stream *s = chaos->streams; s; s = s->next) {
        const uint64_t next = s->first ? s->first->ticket : UINT64_MAX;
        if ((s->running ? s->running : next) <= ticket)
            return true;
    }
    return false;
}

cb_status chaos_synchronize(void *self, cb_error *err)
{
    struct chaos *chaos = self;
    cb_status st = chaos_begin(chaos, "synchronize", err);
    if (st != CB_OK)
        return st;
    if (chaos_has(chaos, CHAOS_SYNC_ALL_DROPS))
        chaos_drop(chaos, chaos->streams);
    pthread_mutex_lock(&chaos->lock);
    const uint64_t ticket = chaos->tickets;
    while (is_behind(chaos, ticket))
        pthread_cond_wait(&chaos->changed, &chaos->lock);
    for (cb_stream *s = chaos->streams; s && st == CB_OK; s = s->next)
        st = chaos_report(s, err);
    pthread_mutex_unlock(&chaos->lock);
    return st;
}
