/* SPDX-License-Identifier: Apache-2.0 */
/* The slots of streams. The default stream needs no queue: its work runs in its caller's thread. */
#include "queue.h"

#include <stdlib.h>

cb_status cpu_stream_check(struct cpu_backend *cpu, cb_stream *handle, const char *where,
                           cb_error *err)
{
    struct cpu_stream *stream;
    if (!handle)
        return CB_OK;
    cb_status st = cpu_queues_lock(cpu, where, err);
    if (st != CB_OK)
        return st;
    st = cpu_queue_find(cpu, handle, &stream, where, err);
    if (st == CB_OK)
        st = cpu_queue_report(&stream->failed, err);
    cpu_queues_unlock(cpu);
    return st;
}

static cb_status create(struct cpu_backend *cpu, cb_stream **out, cb_error *err)
{
    struct cpu_stream *stream;
    const cb_status st = cpu_queue_create(cpu, &stream, err);
    if (st != CB_OK)
        return st;
    pthread_mutex_lock(&cpu->queues.lock);
    cb_stream *handle = cbc_handles_add(&cpu->queues.streams, stream);
    pthread_mutex_unlock(&cpu->queues.lock);
    if (!handle) {
        cpu_queue_free(stream);
        return cbc_fail(err, CB_OUT_OF_MEMORY, "stream_create", "no memory for a handle");
    }
    *out = handle;
    return CB_OK;
}

cb_status cpu_stream_create(void *self, uint32_t flags, cb_stream **out, cb_error *err)
{
    struct cpu_call call;
    cb_status st = cpu_call_begin(&call, self, "stream_create", err);
    if (st == CB_OK)
        st = cbc_check_flags(flags, 0, "stream_create", err);
    if (st == CB_OK && !out)
        st = cbc_invalid(err, "stream_create", "out is NULL");
    if (st == CB_OK)
        st = create(call.cpu, out, err);
    return cpu_call_end(&call, st);
}

/* Waits for all work of a stream that is there, has no error to report, and gets none. */
static cb_status finish(struct cpu_backend *cpu, cb_stream *handle, uint64_t ticket,
                        struct cpu_stream **out, const char *where, cb_error *err)
{
    cb_status st = cpu_queue_find(cpu, handle, out, where, err);
    if (st == CB_OK)
        st = cpu_queue_report(&(*out)->failed, err);
    if (st == CB_OK) {
        cpu_queue_wait_stream(*out, ticket);
        st = cpu_queue_find(cpu, handle, out, where, err); /* or another thread has destroyed it */
    }
    return st == CB_OK ? cpu_queue_report(&(*out)->failed, err) : st;
}

static cb_status destroy(struct cpu_backend *cpu, cb_stream *handle, cb_error *err)
{
    struct cpu_stream *stream;
    cb_status st = cpu_queues_lock(cpu, "stream_destroy", err);
    if (st != CB_OK)
        return st;
    st = finish(cpu, handle, UINT64_MAX, &stream, "stream_destroy", err);
    if (st == CB_OK) {
        cbc_handles_remove(&cpu->queues.streams, handle);
        while (stream->users)
            pthread_cond_wait(&cpu->queues.changed, &cpu->queues.lock);
    }
    cpu_queues_unlock(cpu);
    if (st == CB_OK)
        cpu_queue_free(stream);
    return st;
}

cb_status cpu_stream_destroy(void *self, cb_stream *stream, cb_error *err)
{
    struct cpu_call call;
    cb_status st = cpu_call_begin(&call, self, "stream_destroy", err);
    if (st == CB_OK && !stream)
        st = cbc_invalid(err, "stream_destroy", "the default stream cannot be destroyed");
    if (st == CB_OK)
        st = destroy(call.cpu, stream, err);
    return cpu_call_end(&call, st);
}

static cb_status synchronize(struct cpu_backend *cpu, cb_stream *handle, cb_error *err)
{
    struct cpu_stream *stream;
    cb_status st = cpu_queues_lock(cpu, "stream_synchronize", err);
    if (st != CB_OK)
        return st;
    st = finish(cpu, handle, cpu->queues.tickets, &stream, "stream_synchronize", err);
    cpu_queues_unlock(cpu);
    return st;
}

cb_status cpu_stream_synchronize(void *self, cb_stream *stream, cb_error *err)
{
    struct cpu_call call;
    cb_status st = cpu_call_begin(&call, self, "stream_synchronize", err);
    if (st == CB_OK && stream)
        st = synchronize(call.cpu, stream, err);
    return cpu_call_end(&call, st);
}

static cb_status synchronize_all(struct cpu_backend *cpu, cb_error *err)
{
    const struct cbc_handles *streams = &cpu->queues.streams;
    cb_status st = cpu_queues_lock(cpu, "synchronize", err);
    if (st != CB_OK)
        return st;
    cpu_queue_wait_all(cpu, cpu->queues.tickets);
    for (uint64_t i = 0; i < streams->n && st == CB_OK; i++)
        st = cpu_queue_report(&((struct cpu_stream *)streams->list[i].object)->failed, err);
    cpu_queues_unlock(cpu);
    return st;
}

cb_status cpu_synchronize(void *self, cb_error *err)
{
    struct cpu_call call;
    cb_status st = cpu_call_begin(&call, self, "synchronize", err);
    if (st == CB_OK)
        st = synchronize_all(call.cpu, err);
    return cpu_call_end(&call, st);
}
