/* SPDX-License-Identifier: Apache-2.0 */
/* Events, and the time between two of them. An event holds the marker of its last record, so that
 * who waits for it waits for the record that he knew. */
#include "opencl.h"

#include <stdlib.h>
#include <string.h>

struct cb_event {
    unsigned references;  /* under the instance's lock; one while it is in the list */
    pthread_mutex_t lock; /* guards what follows */
    cl_event marker;      /* NULL: never recorded */
    bool told;            /* the late error before the marker */
};

static cb_status acquire(struct ocl_backend *ocl, const cb_event *handle, cb_event **out,
                         const char *where, cb_error *err)
{
    pthread_mutex_lock(&ocl->lock);
    cb_event *event = cbc_handles_find(&ocl->events, handle);
    if (event)
        event->references++;
    pthread_mutex_unlock(&ocl->lock);
    *out = event;
    return event
               ? CB_OK
               : cbc_invalid(err, where, "event %p is none of this instance", (const void *)handle);
}

/* In the child of a fork the marker stays with the driver. */
static void free_event(struct ocl_backend *ocl, cb_event *event)
{
    if (event->marker && !atomic_load(&ocl->forked))
        ocl_cl.clReleaseEvent(event->marker);
    pthread_mutex_destroy(&event->lock);
    free(event);
}

static void release(struct ocl_backend *ocl, cb_event *event)
{
    pthread_mutex_lock(&ocl->lock);
    const bool last = !--event->references;
    pthread_mutex_unlock(&ocl->lock);
    if (last)
        free_event(ocl, event);
}

void ocl_events_free(struct ocl_backend *ocl)
{
    for (uint64_t i = 0; i < ocl->events.n; i++)
        free_event(ocl, ocl->events.list[i].object);
    cbc_handles_free(&ocl->events);
}

/* The marker of the last record, with a reference of the driver's; NULL: never recorded. */
static cl_event marker_of(cb_event *event)
{
    pthread_mutex_lock(&event->lock);
    cl_event marker = event->marker;
    if (marker)
        ocl_cl.clRetainEvent(marker);
    pthread_mutex_unlock(&event->lock);
    return marker;
}

/* Begins a call with an event, which is to be given back by leave. */
static cb_status enter(struct ocl_call *call, void *self, const cb_event *handle, cb_event **out,
                       const char *where, cb_error *err)
{
    cb_status st = ocl_call_begin(call, self, where, err);
    *out = NULL;
    if (st == CB_OK)
        st = acquire(call->ocl, handle, out, where, err);
    return st;
}

static cb_status leave(struct ocl_call *call, cb_event *event, cb_status st)
{
    if (event)
        release(call->ocl, event);
    return ocl_call_end(call, st);
}

/* ---- the slots ---- */

static cb_status create(struct ocl_backend *ocl, cb_event **out, cb_error *err)
{
    cb_event *event = calloc(1, sizeof(*event));
    if (!event)
        return cbc_fail(err, CB_OUT_OF_MEMORY, "event_create", "no memory for an event");
    pthread_mutex_init(&event->lock, NULL);
    event->references = 1;
    pthread_mutex_lock(&ocl->lock);
    cb_event *handle = cbc_handles_add(&ocl->events, event);
    pthread_mutex_unlock(&ocl->lock);
    if (!handle) {
        free_event(ocl, event);
        return cbc_fail(err, CB_OUT_OF_MEMORY, "event_create", "no memory for a handle");
    }
    *out = handle;
    return CB_OK;
}

cb_status ocl_event_create(void *self, uint32_t flags, cb_event **out, cb_error *err)
{
    struct ocl_call call;
    cb_status st = ocl_call_begin(&call, self, "event_create", err);
    if (st == CB_OK)
        st = cbc_check_flags(flags, 0, "event_create", err);
    if (st == CB_OK && !out)
        st = cbc_invalid(err, "event_create", "out is NULL");
    if (st == CB_OK)
        st = create(call.ocl, out, err);
    return ocl_call_end(&call, st);
}

cb_status ocl_event_destroy(void *self, cb_event *handle, cb_error *err)
{
    struct ocl_call call;
    cb_status st = ocl_call_begin(&call, self, "event_destroy", err);
    if (st == CB_OK) {
        pthread_mutex_lock(&call.ocl->lock);
        cb_event *event = cbc_handles_remove(&call.ocl->events, handle);
        pthread_mutex_unlock(&call.ocl->lock);
        if (event)
            release(call.ocl, event);
        else
            st = cbc_invalid(err, "event_destroy", "event %p is none of this instance",
                             (void *)handle);
    }
    return ocl_call_end(&call, st);
}

/* Enqueues a marker on the open stream and gives it to the event. It is a command like others: who
 * waits for the stream finds the event done. */
static cb_status record(struct ocl_call *call, cb_event *event)
{
    cl_uint n;
    cl_event marker;
    const cl_event *tail = ocl_stream_tail(call->stream, &n);
    const cl_int code = ocl_cl.clEnqueueMarkerWithWaitList(call->stream->queue, n, tail, &marker);
    const cb_status st = ocl_call_push(call, "clEnqueueMarkerWithWaitList", code, marker);
    if (st != CB_OK)
        return st;
    ocl_cl.clRetainEvent(marker);
    pthread_mutex_lock(&event->lock);
    const cl_event before = event->marker;
    event->marker = marker;
    event->told = false;
    pthread_mutex_unlock(&event->lock);
    if (before)
        ocl_cl.clReleaseEvent(before);
    return CB_OK;
}

cb_status ocl_event_record(void *self, cb_event *handle, cb_stream *stream, cb_error *err)
{
    struct ocl_call call;
    cb_event *event;
    cb_status st = enter(&call, self, handle, &event, "event_record", err);
    if (st == CB_OK)
        st = ocl_call_open(&call, stream, NULL, 0, true, err);
    if (st == CB_OK)
        st = record(&call, event);
    return leave(&call, event, st);
}

/* The failure of what was queued before a marker. */
static cb_status left_out(cl_int status, const char *where, cb_error *err)
{
    cbc_fail(err, CB_DEVICE_ERROR, where,
             "work queued before the event was recorded has failed (%d)", (int)status);
    if (err && err->size >= CB_ERROR_1_0)
        err->native_code = status;
    return CB_DEVICE_ERROR;
}

/* What is queued on the open stream from now on waits for the marker, and is skipped if what the
 * marker waits for fails; when it has failed by now, this call is the one that tells. */
static cb_status wait_on_device(struct ocl_call *call, cl_event marker)
{
    cl_uint n;
    cl_event list[2] = { marker }, event;
    const cl_int status = ocl_event_status(marker);
    if (status <= CL_COMPLETE)
        return status == CL_COMPLETE ? CB_OK : left_out(status, call->where, call->err);
    const cl_event *tail = ocl_stream_tail(call->stream, &n);
    if (n)
        list[1] = *tail;
    const cl_int code =
        ocl_cl.clEnqueueBarrierWithWaitList(call->stream->queue, 1 + n, list, &event);
    return ocl_call_push(call, "clEnqueueBarrierWithWaitList", code, event);
}

cb_status ocl_stream_wait_event(void *self, cb_stream *stream, cb_event *handle, cb_error *err)
{
    struct ocl_call call;
    cb_event *event;
    cb_status st = enter(&call, self, handle, &event, "stream_wait_event", err);
    if (st == CB_OK)
        st = ocl_call_open(&call, stream, NULL, 0, true, err);
    cl_event marker = st == CB_OK ? marker_of(event) : NULL;
    if (marker) {
        st = wait_on_device(&call, marker);
        ocl_cl.clReleaseEvent(marker);
    }
    return leave(&call, event, st);
}

/* The failure that came before the marker, once. */
static cb_status tell(cb_event *event, cl_event marker, const char *where, cb_error *err)
{
    const cl_int status = ocl_event_status(marker);
    if (status >= 0)
        return CB_OK;
    pthread_mutex_lock(&event->lock);
    const bool first = event->marker == marker && !event->told;
    if (first)
        event->told = true;
    pthread_mutex_unlock(&event->lock);
    return first ? left_out(status, where, err) : CB_OK;
}

cb_status ocl_event_query(void *self, cb_event *handle, uint32_t *done, cb_error *err)
{
    struct ocl_call call;
    cb_event *event;
    cb_status st = enter(&call, self, handle, &event, "event_query", err);
    if (st == CB_OK && !done)
        st = cbc_invalid(err, "event_query", "done is NULL");
    cl_event marker = st == CB_OK ? marker_of(event) : NULL;
    uint32_t is_done = 1;
    if (marker) {
        is_done = ocl_event_status(marker) <= CL_COMPLETE;
        st = tell(event, marker, "event_query", err);
        ocl_cl.clReleaseEvent(marker);
    }
    if (st == CB_OK)
        *done = is_done;
    return leave(&call, event, st);
}

cb_status ocl_event_synchronize(void *self, cb_event *handle, cb_error *err)
{
    struct ocl_call call;
    cb_event *event;
    cb_status st = enter(&call, self, handle, &event, "event_synchronize", err);
    cl_event marker = st == CB_OK ? marker_of(event) : NULL;
    if (marker) {
        ocl_cl.clWaitForEvents(1, &marker);
        st = tell(event, marker, "event_synchronize", err);
        ocl_cl.clReleaseEvent(marker);
    }
    return leave(&call, event, st);
}

/* ---- cb.profile/1 ---- */

/* When the last record of an event was done, by the device's clock. */
static cb_status time_of(struct ocl_call *call, const cb_event *handle, const char *name,
                         cl_ulong *out, cb_error *err)
{
    cb_event *event;
    cb_status st = acquire(call->ocl, handle, &event, "elapsed", err);
    if (st != CB_OK)
        return st;
    cl_event marker = marker_of(event);
    release(call->ocl, event);
    if (!marker)
        return cbc_invalid(err, "elapsed", "%s was never recorded", name);
    const cl_int status = ocl_event_status(marker);
    if (status > CL_COMPLETE)
        st = cbc_fail(err, CB_BUSY, "elapsed", "%s is not done yet", name);
    else if (status < CL_COMPLETE ||
             ocl_cl.clGetEventProfilingInfo(marker, CL_PROFILING_COMMAND_END, sizeof(*out), out,
                                            NULL) != CL_SUCCESS)
        st = cbc_invalid(err, "elapsed", "%s has no time: a late failure came before it", name);
    ocl_cl.clReleaseEvent(marker);
    return st;
}

static cb_status elapsed(void *self, cb_event *start, cb_event *end, int64_t *ns, cb_error *err)
{
    struct ocl_call call;
    cl_ulong from, to;
    cb_status st = ocl_call_begin(&call, self, "elapsed", err);
    if (st == CB_OK && !ns)
        st = cbc_invalid(err, "elapsed", "ns is NULL");
    if (st == CB_OK)
        st = time_of(&call, start, "start", &from, err);
    if (st == CB_OK)
        st = time_of(&call, end, "end", &to, err);
    if (st == CB_OK)
        *ns = (int64_t)(to - from);
    return ocl_call_end(&call, st);
}

static const cb_profile_v1 profile_api = { CB_ARGS(cb_profile_v1), elapsed };

cb_status ocl_get_extension(void *self, const char *id, cb_extension *out, cb_error *err)
{
    const cb_extension extension = { CB_ARGS(cb_extension), &profile_api, self };
    if (!id)
        return cbc_invalid(err, "get_extension", "id is NULL");
    if (strcmp(id, CB_PROFILE_ID))
        return cbc_fail(err, CB_NOT_FOUND, "get_extension", "there is no '%.80s'", id);
    return cb_result_write(out, &extension, sizeof(extension), CB_EXTENSION_1_0, "get_extension",
                           err);
}
