/* SPDX-License-Identifier: Apache-2.0 */
/* Copies and fills, in order on their stream. */
#include "opencl.h"

#include <string.h>

#define PATTERN_MAX 16

cl_int ocl_fill(cb_stream *stream, const struct ocl_buffer *buffer, unsigned char value,
                uint64_t bytes, cl_event *event)
{
    unsigned char pattern[PATTERN_MAX];
    size_t size = PATTERN_MAX; /* offset and bytes must be multiples of it */
    cl_uint n;
    while ((buffer->offset | bytes) % size)
        size /= 2;
    memset(pattern, value, sizeof(pattern));
    const cl_event *tail = ocl_stream_tail(stream, &n);
    return ocl_cl.clEnqueueFillBuffer(stream->queue, buffer->mem, pattern, size, buffer->offset,
                                      bytes, n, tail, event);
}

/* Copies on the stream of the call; the two do not overlap. */
cb_status ocl_call_copy(struct ocl_call *call, const struct ocl_buffer *from,
                        const struct ocl_buffer *to, uint64_t bytes)
{
    cl_uint n;
    cl_event event;
    const cl_event *tail = ocl_stream_tail(call->stream, &n);
    const cl_int code = ocl_cl.clEnqueueCopyBuffer(
        call->stream->queue, from->mem, to->mem, from->offset, to->offset, bytes, n, tail, &event);
    return ocl_call_push(call, "clEnqueueCopyBuffer", code, event);
}

cb_status ocl_call_fill(struct ocl_call *call, const struct ocl_buffer *buffer, unsigned char value,
                        uint64_t bytes)
{
    cl_event event;
    const cl_int code = ocl_fill(call->stream, buffer, value, bytes, &event);
    return ocl_call_push(call, "clEnqueueFillBuffer", code, event);
}

/* ---- the slots ---- */

static cb_status end(struct ocl_call *call, const struct cbc_copy *copy, cb_status st)
{
    return st == CB_OK && !copy->async ? ocl_call_end_waiting(call) : ocl_call_end(call, st);
}

static cb_status enqueue_write(struct ocl_call *call, const struct cbc_copy *copy)
{
    cl_uint n;
    cl_event event;
    const struct ocl_buffer *to = &call->buffers[0];
    const cl_event *tail = ocl_stream_tail(call->stream, &n);
    const cl_int code =
        ocl_cl.clEnqueueWriteBuffer(call->stream->queue, to->mem, CL_FALSE, to->offset, copy->bytes,
                                    copy->from, n, tail, &event);
    return ocl_call_push(call, "clEnqueueWriteBuffer", code, event);
}

cb_status ocl_copy_htod(void *self, const cb_copy_htod_args *args, cb_error *err)
{
    struct ocl_call call;
    struct cbc_copy copy;
    cb_status st = ocl_call_begin(&call, self, "copy_htod", err);
    if (st == CB_OK)
        st = cbc_check_copy_htod(args, &copy, err);
    if (st == CB_OK)
        st = ocl_call_open(&call, copy.stream, copy.operands, 1, true, err);
    if (st == CB_OK && copy.bytes)
        st = enqueue_write(&call, &copy);
    return end(&call, &copy, st);
}

static cb_status enqueue_read(struct ocl_call *call, const struct cbc_copy *copy)
{
    cl_uint n;
    cl_event event;
    const struct ocl_buffer *from = &call->buffers[0];
    const cl_event *tail = ocl_stream_tail(call->stream, &n);
    const cl_int code =
        ocl_cl.clEnqueueReadBuffer(call->stream->queue, from->mem, CL_FALSE, from->offset,
                                   copy->bytes, copy->to, n, tail, &event);
    return ocl_call_push(call, "clEnqueueReadBuffer", code, event);
}

cb_status ocl_copy_dtoh(void *self, const cb_copy_dtoh_args *args, cb_error *err)
{
    struct ocl_call call;
    struct cbc_copy copy;
    cb_status st = ocl_call_begin(&call, self, "copy_dtoh", err);
    if (st == CB_OK)
        st = cbc_check_copy_dtoh(args, &copy, err);
    if (st == CB_OK)
        st = ocl_call_open(&call, copy.stream, copy.operands, 1, true, err);
    if (st == CB_OK && copy.bytes)
        st = enqueue_read(&call, &copy);
    return end(&call, &copy, st);
}

cb_status ocl_copy_dtod(void *self, const cb_copy_dtod_args *args, cb_error *err)
{
    struct ocl_call call;
    struct cbc_copy copy;
    cb_status st = ocl_call_begin(&call, self, "copy_dtod", err);
    if (st == CB_OK)
        st = cbc_check_copy_dtod(args, &copy, err);
    if (st == CB_OK) /* a source that overlaps becomes a copy in temporary memory */
        st = ocl_call_open(&call, copy.stream, copy.operands, 2, true, err);
    if (st == CB_OK && copy.bytes && copy.operands[0].ptr != copy.operands[1].ptr)
        st = ocl_call_copy(&call, &call.buffers[1], &call.buffers[0], copy.bytes);
    return end(&call, &copy, st);
}

cb_status ocl_memset(void *self, uint64_t dst, uint32_t value, uint64_t bytes, cb_stream *stream,
                     cb_error *err)
{
    struct ocl_call call;
    struct cbc_copy fill;
    cb_status st = ocl_call_begin(&call, self, "memset", err);
    if (st == CB_OK)
        st = cbc_check_memset(dst, value, bytes, stream, &fill, err);
    if (st == CB_OK)
        st = ocl_call_open(&call, fill.stream, fill.operands, 1, true, err);
    if (st == CB_OK && bytes)
        st = ocl_call_fill(&call, &call.buffers[0], (unsigned char)value, bytes);
    return ocl_call_end(&call, st);
}
