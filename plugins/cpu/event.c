/* SPDX-License-Identifier: Apache-2.0 */
/* Events. Each record makes a new mark, so that who waits for an event waits for the record that it
 * knew, whatever is recorded afterwards. */
#include "queue.h"

#include <stdlib.h>

/* Locks the queues and finds an event; on an error they are not locked. */
static cb_status enter(struct cpu_call *call, void *self, const cb_event *handle,
                       struct cpu_event **out, const char *where, cb_error *err)
{
    cb_status st = cpu_call_begin(call, self, where, err);
    if (st == CB_OK)
        st = cpu_queues_lock(call->cpu, where, err);
    if (st != CB_OK)
        return st;
    st = cpu_event_find(call->cpu, handle, out, "event", where, err);
    if (st != CB_OK)
        cpu_queues_unlock(call->cpu);
    return st;
}

cb_status cpu_event_find(struct cpu_backend *cpu, const cb_event *handle, struct cpu_event **out,
                         const char *name, const char *where, cb_error *err)
{
    *out = cbc_handles_find(&cpu->queues.events, handle);
    return *out ? CB_OK
                : cbc_invalid(err, where, "%s %p is none of this instance", name,
                              (const void *)handle);
}

static cb_status create(struct cpu_backend *cpu, cb_event **out, cb_error *err)
{
    struct cpu_event *event = calloc(1, sizeof(*event));
    pthread_mutex_lock(&cpu->queues.lock);
    cb_event *handle = event ? cbc_handles_add(&cpu->queues.events, event) : NULL;
    pthread_mutex_unlock(&cpu->queues.lock);
    if (!handle) {
        free(event);
        return cbc_fail(err, CB_OUT_OF_MEMORY, "event_create", "no memory for an event");
    }
    *out = handle;
    return CB_OK;
}

cb_status cpu_event_create(void *self, uint32_t flags, cb_event **out, cb_error *err)
{
    struct cpu_call call;
    cb_status st = cpu_call_begin(&call, self, "event_create", err);
    if (st == CB_OK)
        st = cbc_check_flags(flags, 0, "event_create", err);
    if (st == CB_OK && !out)
        st = cbc_invalid(err, "event_create", "out is NULL");
    if (st == CB_OK)
        st = create(call.cpu, out, err);
    return cpu_call_end(&call, st);
}

static void end(struct cpu_event *event)
{
    cpu_mark_drop(event->mark);
    free(event);
}

cb_status cpu_event_destroy(void *self, cb_event *handle, cb_error *err)
{
    struct cpu_call call;
    struct cpu_event *event;
    const cb_status st = enter(&call, self, handle, &event, "event_destroy", err);
    if (st == CB_OK) {
        cbc_handles_remove(&call.cpu->queues.events, handle);
        end(event);
        cpu_queues_unlock(call.cpu);
    }
    return cpu_call_end(&call, st);
}

void cpu_events_end(struct cpu_backend *cpu)
{
    struct cbc_handles *events = &cpu->queues.events;
    for (uint64_t i = 0; i < events->n; i++)
        end(events->list[i].object);
    cbc_handles_free(events);
}

/* Queues a task that makes a mark, or waits for it; the task holds the mark. */
static cb_status queue(struct cpu_backend *cpu, const cb_stream *stream, struct cpu_mark *mark,
                       bool makes_mark, const char *where, cb_error *err)
{
    struct cpu_task *task = cpu_task_create(0, where, err);
    if (!task)
        return CB_OUT_OF_MEMORY;
    task->makes_mark = makes_mark;
    task->mark = cpu_mark_hold(mark);
    const cb_status st = cpu_queue_push(cpu, stream, task, err);
    if (st != CB_OK) {
        cpu_mark_drop(mark);
        free(task);
    }
    return st;
}

/* The queues are locked. They are let go only after the work is queued, and then the event may be
 * recorded again or destroyed at any time: it has to have its new mark before. */
static cb_status record(struct cpu_backend *cpu, struct cpu_event *event, const cb_stream *stream,
                        cb_error *err)
{
    struct cpu_mark *before = event->mark, *mark = calloc(1, sizeof(*mark));
    cb_status st = CB_OK;
    if (!mark)
        return cbc_fail(err, CB_OUT_OF_MEMORY, "event_record", "no memory for a mark");
    mark->on = stream;
    event->mark = cpu_mark_hold(mark);
    if (stream)
        st = queue(cpu, stream, mark, true, "event_record", err);
    else
        cpu_mark_now(mark);
    if (st != CB_OK) {
        event->mark = before;
        before = mark;
    }
    cpu_mark_drop(before);
    return st;
}

cb_status cpu_event_record(void *self, cb_event *handle, cb_stream *stream, cb_error *err)
{
    struct cpu_call call;
    struct cpu_event *event;
    cb_status st = enter(&call, self, handle, &event, "event_record", err);
    if (st == CB_OK) {
        st = record(call.cpu, event, stream, err);
        cpu_queues_unlock(call.cpu);
    }
    return cpu_call_end(&call, st);
}

/* The failure that left a mark out, if that is known by now. */
static cb_status known_failure(const struct cpu_mark *mark, cb_error *err)
{
    return mark && mark->done ? cbc_error_pass(err, &mark->failed) : CB_OK;
}

/* The same, to the first who asks for it. */
static cb_status tell(struct cpu_mark *mark, cb_error *err)
{
    if (!mark || mark->told)
        return CB_OK;
    mark->told = mark->done;
    return known_failure(mark, err);
}

/* Work of the default stream runs in its caller's thread, so it is there that it waits. */
static cb_status wait_on(struct cpu_backend *cpu, const cb_stream *handle, struct cpu_mark *mark,
                         cb_error *err)
{
    struct cpu_stream *stream;
    cb_status st = CB_OK;
    if (!handle) {
        cpu_mark_hold(mark);
        cpu_queue_wait_mark(cpu, mark);
        st = known_failure(mark, err);
        cpu_mark_drop(mark);
        return st;
    }
    if (mark && !mark->done)
        return queue(cpu, handle, mark, false, "stream_wait_event", err);
    st = cpu_queue_find(cpu, handle, &stream, "stream_wait_event", err);
    if (st == CB_OK)
        st = cpu_queue_report(&stream->failed, err);
    return st == CB_OK ? known_failure(mark, err) : st;
}

cb_status cpu_stream_wait_event(void *self, cb_stream *stream, cb_event *handle, cb_error *err)
{
    struct cpu_call call;
    struct cpu_event *event;
    cb_status st = enter(&call, self, handle, &event, "stream_wait_event", err);
    if (st == CB_OK) {
        st = wait_on(call.cpu, stream, event->mark, err);
        cpu_queues_unlock(call.cpu);
    }
    return cpu_call_end(&call, st);
}

cb_status cpu_event_query(void *self, cb_event *handle, uint32_t *done, cb_error *err)
{
    struct cpu_call call;
    struct cpu_event *event;
    cb_status st = enter(&call, self, handle, &event, "event_query", err);
    if (st == CB_OK) {
        struct cpu_mark *mark = event->mark;
        if (!done)
            st = cbc_invalid(err, "event_query", "done is NULL");
        else
            st = tell(mark, err);
        if (st == CB_OK)
            *done = !mark || mark->done;
        cpu_queues_unlock(call.cpu);
    }
    return cpu_call_end(&call, st);
}

cb_status cpu_event_synchronize(void *self, cb_event *handle, cb_error *err)
{
    struct cpu_call call;
    struct cpu_event *event;
    cb_status st = enter(&call, self, handle, &event, "event_synchronize", err);
    if (st == CB_OK) {
        struct cpu_mark *mark = cpu_mark_hold(event->mark);
        cpu_queue_wait_mark(call.cpu, mark);
        st = tell(mark, err);
        cpu_mark_drop(mark);
        cpu_queues_unlock(call.cpu);
    }
    return cpu_call_end(&call, st);
}
