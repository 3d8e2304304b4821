/* SPDX-License-Identifier: Apache-2.0 */
#include "opencl.h"

#include <stdlib.h>

/* ---- the list ---- */

cb_status ocl_stream_acquire(struct ocl_backend *ocl, const cb_stream *handle, cb_stream **out,
                             const char *where, cb_error *err)
{
    pthread_mutex_lock(&ocl->lock);
    cb_stream *stream = handle ? cbc_handles_find(&ocl->streams, handle) : ocl->default_stream;
    if (stream)
        stream->references++;
    pthread_mutex_unlock(&ocl->lock);
    *out = stream;
    return stream ? CB_OK
                  : cbc_invalid(err, where, "stream %p is none of this instance",
                                (const void *)handle);
}

/* The first of the streams made after the one of that number, which it replaces; with a reference.
 * NULL: there is none. */
static cb_stream *acquire_next(struct ocl_backend *ocl, uint64_t *number)
{
    const struct cbc_handles *streams = &ocl->streams;
    cb_stream *stream = NULL;
    uint64_t i = 0;
    pthread_mutex_lock(&ocl->lock);
    while (i < streams->n && streams->list[i].number <= *number)
        i++;
    if (i < streams->n) {
        *number = streams->list[i].number;
        stream = streams->list[i].object;
        stream->references++;
    }
    pthread_mutex_unlock(&ocl->lock);
    return stream;
}

/* ---- commands; the stream is locked ---- */

static struct ocl_command *newest(const cb_stream *stream)
{
    return (struct ocl_command *)&stream->recent[(stream->commands - 1) % OCL_RECENT];
}

const cl_event *ocl_stream_tail(const cb_stream *stream, cl_uint *count)
{
    *count = stream->commands ? 1 : 0;
    return stream->commands ? &newest(stream)->event : NULL;
}

cb_status ocl_stream_push(cb_stream *stream, const char *function, cl_int code, cl_event event,
                          const char *where, cb_error *err)
{
    if (code != CL_SUCCESS)
        return ocl_fail(err, where, function, code);
    stream->commands++;
    struct ocl_command *command = newest(stream);
    if (command->event)
        ocl_cl.clReleaseEvent(command->event);
    *command = (struct ocl_command){ event, where };
    return CB_OK;
}

cl_int ocl_event_status(cl_event event)
{
    cl_int status = CL_COMPLETE;
    const cl_int code = ocl_cl.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS,
                                              sizeof(status), &status, NULL);
    return code == CL_SUCCESS ? status : code;
}

static void forget_commands(cb_stream *stream)
{
    for (int i = 0; i < OCL_RECENT; i++)
        if (stream->recent[i].event) {
            ocl_cl.clReleaseEvent(stream->recent[i].event);
            stream->recent[i].event = NULL;
        }
    stream->commands = 0;
}

/* The first of the remembered commands that failed is the cause; the others waited for it. */
static cb_status report(cb_stream *stream, const char *where, cb_error *err)
{
    const uint64_t n = stream->commands < OCL_RECENT ? stream->commands : OCL_RECENT;
    const char *who = where;
    cl_int cause = CL_COMPLETE;
    ocl_cl.clWaitForEvents(1, &newest(stream)->event); /* until all of them are skipped */
    for (uint64_t i = stream->commands - n; i < stream->commands && cause >= 0; i++) {
        const struct ocl_command *command = &stream->recent[i % OCL_RECENT];
        cause = ocl_event_status(command->event);
        who = command->where;
    }
    forget_commands(stream);
    stream->reports++;
    char function[96] = "";
    cb_text_append(function, sizeof(function), "work queued by ");
    cb_text_append(function, sizeof(function), who);
    cb_text_append(function, sizeof(function), " has failed");
    ocl_fail(err, where, function, cause);
    if (err && err->size >= CB_ERROR_1_0)
        err->code = CB_DEVICE_ERROR;
    return CB_DEVICE_ERROR;
}

cb_status ocl_stream_late(cb_stream *stream, const char *where, cb_error *err)
{
    if (!stream->commands || ocl_event_status(newest(stream)->event) >= 0)
        return CB_OK;
    return report(stream, where, err);
}

/* ---- waiting; the stream is not locked ---- */

/* Waits for what is queued by now. True: it failed, and *reports says how many late errors had been
 * told when it was queued. */
static bool wait_for_tail(cb_stream *stream, uint64_t *reports)
{
    pthread_mutex_lock(&stream->lock);
    cl_event tail = stream->commands ? newest(stream)->event : NULL;
    if (tail)
        ocl_cl.clRetainEvent(tail);
    *reports = stream->reports;
    pthread_mutex_unlock(&stream->lock);
    if (!tail)
        return false;
    ocl_cl.clWaitForEvents(1, &tail);
    const bool failed = ocl_event_status(tail) < 0;
    ocl_cl.clReleaseEvent(tail);
    return failed;
}

cb_status ocl_stream_finish(cb_stream *stream, const char *where, cb_error *err)
{
    uint64_t reports;
    cb_status st = CB_OK;
    if (!wait_for_tail(stream, &reports))
        return CB_OK;
    pthread_mutex_lock(&stream->lock);
    if (stream->reports == reports) /* nobody else has told it meanwhile */
        st = report(stream, where, err);
    pthread_mutex_unlock(&stream->lock);
    return st;
}

/* ---- making and freeing ---- */

/* Nobody refers to it any more. In the child of a fork its objects stay with the driver. */
static void free_stream(struct ocl_backend *ocl, cb_stream *stream)
{
    if (!atomic_load(&ocl->forked)) {
        ocl_cl.clFinish(stream->queue);
        forget_commands(stream);
        ocl_kernels_free(stream);
        ocl_cl.clReleaseCommandQueue(stream->queue);
        ocl_spares_drop(ocl, stream);
    }
    free(stream->kernels);
    pthread_mutex_destroy(&stream->lock);
    free(stream);
}

cb_status ocl_stream_make(struct ocl_backend *ocl, cb_stream **out, const char *where,
                          cb_error *err)
{
    cl_int code;
    cb_stream *stream = calloc(1, sizeof(*stream));
    if (!stream)
        return cbc_fail(err, CB_OUT_OF_MEMORY, where, "no memory for a stream");
    stream->queue = ocl_cl.clCreateCommandQueue(ocl->context, ocl->device->id,
                                                CL_QUEUE_PROFILING_ENABLE, &code);
    if (!stream->queue) {
        free(stream);
        return ocl_fail(err, where, "clCreateCommandQueue", code);
    }
    pthread_mutex_init(&stream->lock, NULL);
    stream->references = 1;
    pthread_mutex_lock(&ocl->lock);
    stream->handle = cbc_handles_add(&ocl->streams, stream);
    pthread_mutex_unlock(&ocl->lock);
    if (!stream->handle) {
        free_stream(ocl, stream);
        return cbc_fail(err, CB_OUT_OF_MEMORY, where, "no memory for a handle");
    }
    *out = stream;
    return CB_OK;
}

void ocl_stream_release(struct ocl_backend *ocl, cb_stream *stream)
{
    pthread_mutex_lock(&ocl->lock);
    const bool last = !--stream->references;
    pthread_mutex_unlock(&ocl->lock);
    if (last)
        free_stream(ocl, stream);
}

void ocl_streams_free(struct ocl_backend *ocl)
{
    for (uint64_t i = 0; i < ocl->streams.n; i++)
        free_stream(ocl, ocl->streams.list[i].object);
    cbc_handles_free(&ocl->streams);
}

/* ---- the slots ---- */

cb_status ocl_stream_create(void *self, uint32_t flags, cb_stream **out, cb_error *err)
{
    struct ocl_call call;
    cb_stream *stream;
    cb_status st = ocl_call_begin(&call, self, "stream_create", err);
    if (st == CB_OK)
        st = cbc_check_flags(flags, 0, "stream_create", err);
    if (st == CB_OK && !out)
        st = cbc_invalid(err, "stream_create", "out is NULL");
    if (st == CB_OK)
        st = ocl_stream_make(call.ocl, &stream, "stream_create", err);
    if (st == CB_OK)
        *out = stream->handle;
    return ocl_call_end(&call, st);
}

static cb_status destroy(struct ocl_backend *ocl, cb_stream *stream, cb_error *err)
{
    cb_status st = ocl_stream_finish(stream, "stream_destroy", err);
    if (st != CB_OK)
        return st;
    pthread_mutex_lock(&ocl->lock);
    const bool found = cbc_handles_remove(&ocl->streams, stream->handle);
    pthread_mutex_unlock(&ocl->lock);
    if (!found)
        return cbc_invalid(err, "stream_destroy", "the stream is being destroyed already");
    ocl_stream_release(ocl, stream); /* the list's */
    return CB_OK;
}

cb_status ocl_stream_destroy(void *self, cb_stream *stream, cb_error *err)
{
    struct ocl_call call;
    cb_stream *found;
    cb_status st = ocl_call_begin(&call, self, "stream_destroy", err);
    if (st == CB_OK && !stream)
        st = cbc_invalid(err, "stream_destroy", "the default stream cannot be destroyed");
    if (st == CB_OK)
        st = ocl_stream_acquire(call.ocl, stream, &found, "stream_destroy", err);
    if (st == CB_OK) {
        st = destroy(call.ocl, found, err);
        ocl_stream_release(call.ocl, found);
    }
    return ocl_call_end(&call, st);
}

cb_status ocl_stream_synchronize(void *self, cb_stream *stream, cb_error *err)
{
    struct ocl_call call;
    cb_stream *found;
    cb_status st = ocl_call_begin(&call, self, "stream_synchronize", err);
    if (st == CB_OK)
        st = ocl_stream_acquire(call.ocl, stream, &found, "stream_synchronize", err);
    if (st == CB_OK) {
        st = ocl_stream_finish(found, "stream_synchronize", err);
        ocl_stream_release(call.ocl, found);
    }
    return ocl_call_end(&call, st);
}

cb_status ocl_synchronize(void *self, cb_error *err)
{
    struct ocl_call call;
    uint64_t at, reports;
    cb_stream *stream;
    cb_status st = ocl_call_begin(&call, self, "synchronize", err);
    if (st != CB_OK)
        return ocl_call_end(&call, st);
    for (at = 0; (stream = acquire_next(call.ocl, &at)); ocl_stream_release(call.ocl, stream))
        wait_for_tail(stream, &reports);
    for (at = 0; st == CB_OK && (stream = acquire_next(call.ocl, &at));
         ocl_stream_release(call.ocl, stream)) {
        pthread_mutex_lock(&stream->lock);
        st = ocl_stream_late(stream, "synchronize", err);
        pthread_mutex_unlock(&stream->lock);
    }
    return ocl_call_end(&call, st);
}
