/* SPDX-License-Identifier: Apache-2.0 */
/* Streams and events. Every op is done when its call returns, so a stream is a name, and an event
 * is done as soon as it is recorded. The instance lists both, so that a stale handle is found. */
#include "cpu.h"

#include <stdlib.h>

struct cb_stream {
    cb_stream *next;
};

struct cb_event {
    cb_event *next;
};

/* ---- the two lists; the instance is locked ---- */

static cb_stream **find_stream(struct cpu_backend *cpu, const cb_stream *stream)
{
    cb_stream **at = &cpu->streams;
    while (*at && *at != stream)
        at = &(*at)->next;
    return at;
}

static cb_event **find_event(struct cpu_backend *cpu, const cb_event *event)
{
    cb_event **at = &cpu->events;
    while (*at && *at != event)
        at = &(*at)->next;
    return at;
}

cb_status cpu_stream_check(struct cpu_backend *cpu, cb_stream *stream, const char *where,
                           cb_error *err)
{
    if (!stream)
        return CB_OK;
    pthread_mutex_lock(&cpu->lock);
    const bool known = *find_stream(cpu, stream) != NULL;
    pthread_mutex_unlock(&cpu->lock);
    return known ? CB_OK
                 : cbc_invalid(err, where, "stream %p is none of this instance", (void *)stream);
}

static cb_status event_check(struct cpu_backend *cpu, cb_event *event, const char *where,
                             cb_error *err)
{
    pthread_mutex_lock(&cpu->lock);
    const bool known = event && *find_event(cpu, event) != NULL;
    pthread_mutex_unlock(&cpu->lock);
    return known ? CB_OK
                 : cbc_invalid(err, where, "event %p is none of this instance", (void *)event);
}

void cpu_streams_free(struct cpu_backend *cpu)
{
    while (cpu->streams) {
        cb_stream *stream = cpu->streams;
        cpu->streams = stream->next;
        free(stream);
    }
    while (cpu->events) {
        cb_event *event = cpu->events;
        cpu->events = event->next;
        free(event);
    }
}

/* ---- the slots ---- */

/* What stream_create and event_create check alike. */
static cb_status check_create(struct cpu_call *call, void *self, uint32_t flags, const void *out,
                              const char *where, cb_error *err)
{
    cb_status st = cpu_call_begin(call, self, where, err);
    if (st == CB_OK)
        st = cbc_check_flags(flags, 0, where, err);
    if (st == CB_OK && !out)
        st = cbc_invalid(err, where, "out is NULL");
    return st;
}

cb_status cpu_stream_create(void *self, uint32_t flags, cb_stream **out, cb_error *err)
{
    struct cpu_call call;
    cb_status st = check_create(&call, self, flags, out, "stream_create", err);
    cb_stream *stream = st == CB_OK ? calloc(1, sizeof(*stream)) : NULL;
    if (stream) {
        pthread_mutex_lock(&call.cpu->lock);
        stream->next = call.cpu->streams;
        call.cpu->streams = stream;
        pthread_mutex_unlock(&call.cpu->lock);
        *out = stream;
    } else if (st == CB_OK) {
        st = cbc_fail(err, CB_OUT_OF_MEMORY, "stream_create", "no memory for a stream");
    }
    return cpu_call_end(&call, st);
}

cb_status cpu_stream_destroy(void *self, cb_stream *stream, cb_error *err)
{
    struct cpu_call call;
    cb_status st = cpu_call_begin(&call, self, "stream_destroy", err);
    if (st == CB_OK) {
        pthread_mutex_lock(&call.cpu->lock);
        cb_stream **at = find_stream(call.cpu, stream);
        const bool known = stream && *at;
        if (known)
            *at = stream->next;
        pthread_mutex_unlock(&call.cpu->lock);
        if (known)
            free(stream);
        else
            st = cbc_invalid(err, "stream_destroy", "stream %p is none that was created",
                             (void *)stream);
    }
    return cpu_call_end(&call, st);
}

cb_status cpu_event_create(void *self, uint32_t flags, cb_event **out, cb_error *err)
{
    struct cpu_call call;
    cb_status st = check_create(&call, self, flags, out, "event_create", err);
    cb_event *event = st == CB_OK ? calloc(1, sizeof(*event)) : NULL;
    if (event) {
        pthread_mutex_lock(&call.cpu->lock);
        event->next = call.cpu->events;
        call.cpu->events = event;
        pthread_mutex_unlock(&call.cpu->lock);
        *out = event;
    } else if (st == CB_OK) {
        st = cbc_fail(err, CB_OUT_OF_MEMORY, "event_create", "no memory for an event");
    }
    return cpu_call_end(&call, st);
}

cb_status cpu_event_destroy(void *self, cb_event *event, cb_error *err)
{
    struct cpu_call call;
    cb_status st = cpu_call_begin(&call, self, "event_destroy", err);
    if (st == CB_OK) {
        pthread_mutex_lock(&call.cpu->lock);
        cb_event **at = find_event(call.cpu, event);
        const bool known = event && *at;
        if (known)
            *at = event->next;
        pthread_mutex_unlock(&call.cpu->lock);
        if (known)
            free(event);
        else
            st = cbc_invalid(err, "event_destroy", "event %p is none of this instance",
                             (void *)event);
    }
    return cpu_call_end(&call, st);
}

/* With nothing ever pending, record, wait and synchronize are their checks. */
static cb_status check_both(void *self, cb_stream *stream, cb_event *event, bool with_event,
                            const char *where, cb_error *err)
{
    struct cpu_call call;
    cb_status st = cpu_call_begin(&call, self, where, err);
    if (st == CB_OK)
        st = cpu_stream_check(call.cpu, stream, where, err);
    if (st == CB_OK && with_event)
        st = event_check(call.cpu, event, where, err);
    return cpu_call_end(&call, st);
}

cb_status cpu_event_record(void *self, cb_event *event, cb_stream *stream, cb_error *err)
{
    return check_both(self, stream, event, true, "event_record", err);
}

cb_status cpu_stream_wait_event(void *self, cb_stream *stream, cb_event *event, cb_error *err)
{
    return check_both(self, stream, event, true, "stream_wait_event", err);
}

cb_status cpu_event_synchronize(void *self, cb_event *event, cb_error *err)
{
    return check_both(self, NULL, event, true, "event_synchronize", err);
}

cb_status cpu_stream_synchronize(void *self, cb_stream *stream, cb_error *err)
{
    return check_both(self, stream, NULL, false, "stream_synchronize", err);
}

cb_status cpu_synchronize(void *self, cb_error *err)
{
    return check_both(self, NULL, NULL, false, "synchronize", err);
}

cb_status cpu_event_query(void *self, cb_event *event, uint32_t *done, cb_error *err)
{
    cb_status st = check_both(self, NULL, event, true, "event_query", err);
    if (st == CB_OK && !done)
        return cbc_invalid(err, "event_query", "done is NULL");
    if (st == CB_OK)
        *done = 1;
    return st;
}
