/* SPDX-License-Identifier: Apache-2.0 */
#include "opencl.h"

cb_status ocl_call_begin(struct ocl_call *call, void *self, const char *where, cb_error *err)
{
    call->ocl = self;
    call->where = where;
    call->err = err;
    call->fpenv = cbc_fpenv_enter();
    call->stream = NULL;
    call->n = 0;
    call->n_temporaries = 0;
    const cb_status st = ocl_fork_check(call->ocl, where, err);
    if (st != CB_OK)
        return st;
    if (!atomic_load_explicit(&call->ocl->initialized, memory_order_acquire))
        return cbc_fail(err, CB_NOT_INITIALIZED, where, "init has not been called");
    return CB_OK;
}

/* Replaces an operand by a copy in temporary memory. */
static cb_status copy_input(struct ocl_call *call, unsigned i, uint64_t bytes)
{
    struct ocl_buffer copy;
    cb_status st = ocl_call_temporary(call, bytes, &copy);
    if (st == CB_OK)
        st = ocl_call_copy(call, &call->buffers[i], &copy, bytes);
    if (st == CB_OK)
        call->buffers[i] = copy;
    return st;
}

static cb_status copy_inputs(struct ocl_call *call, const struct cbc_operand *operands, unsigned n,
                             bool in_place)
{
    const struct cbc_operand *output = NULL;
    cb_status st = CB_OK;
    for (unsigned i = 0; i < n; i++)
        if (operands[i].written)
            output = &operands[i];
    for (unsigned i = 0; i < n && output && st == CB_OK; i++) {
        const struct cbc_operand *input = &operands[i];
        if (input == output || !cbc_overlap(input, output))
            continue;
        if (!in_place || input->ptr != output->ptr)
            st = copy_input(call, i, input->bytes);
    }
    return st;
}

cb_status ocl_call_open(struct ocl_call *call, cb_stream *handle,
                        const struct cbc_operand *operands, unsigned n, bool in_place,
                        cb_error *err)
{
    struct ocl_backend *ocl = call->ocl;
    cb_stream *stream;
    cb_status st = ocl_stream_acquire(ocl, handle, &stream, call->where, err);
    if (st != CB_OK)
        return st;
    call->err = err;
    st = cbc_addr_table_pin(ocl->table, operands, n, call->pins, call->where, err);
    if (st != CB_OK) {
        ocl_stream_release(ocl, stream);
        return st;
    }
    call->n = n;
    for (unsigned i = 0; i < n; i++)
        call->buffers[i] = (struct ocl_buffer){ call->pins[i].memory, call->pins[i].offset };
    pthread_mutex_lock(&stream->lock);
    call->stream = stream;
    st = ocl_stream_late(stream, call->where, err);
    return st == CB_OK ? copy_inputs(call, operands, n, in_place) : st;
}

/* Adds memory to the temporaries of the call. */
static cb_status temporary(struct ocl_call *call, struct ocl_temporary t, const void *host,
                           struct ocl_buffer *out)
{
    cb_status st = CB_OK;
    if (call->n_temporaries == OCL_TEMPORARIES_MAX)
        return cbc_fail(call->err, CB_DEVICE_ERROR, call->where,
                        "a call has more than %d temporary buffers", OCL_TEMPORARIES_MAX);
    if (t.spare)
        t.mem = ocl_spare_take(call->ocl, call->stream, &t.bytes);
    if (!t.mem)
        st = ocl_memory_take(call->ocl, t.bytes, host, &t.mem, call->where, call->err);
    if (st != CB_OK)
        return st;
    call->temporaries[call->n_temporaries++] = t;
    *out = (struct ocl_buffer){ t.mem, 0 };
    return CB_OK;
}

cb_status ocl_call_temporary(struct ocl_call *call, uint64_t bytes, struct ocl_buffer *out)
{
    return temporary(call, (struct ocl_temporary){ .bytes = bytes, .spare = true }, NULL, out);
}

cb_status ocl_call_upload(struct ocl_call *call, const void *host, uint64_t bytes,
                          struct ocl_buffer *out)
{
    return temporary(call, (struct ocl_temporary){ .bytes = bytes }, host, out);
}

cb_status ocl_call_zero(struct ocl_call *call, const struct ocl_buffer *buffer, uint64_t bytes)
{
    return ocl_call_fill(call, buffer, 0, bytes);
}

cb_status ocl_call_push(struct ocl_call *call, const char *function, cl_int code, cl_event event)
{
    return ocl_stream_push(call->stream, function, code, event, call->where, call->err);
}

/* The driver keeps memory for what is enqueued; a spare is used next by what is enqueued later. */
static void end(struct ocl_call *call)
{
    struct ocl_backend *ocl = call->ocl;
    for (unsigned i = 0; i < call->n_temporaries; i++) {
        const struct ocl_temporary *t = &call->temporaries[i];
        if (t->spare)
            ocl_spare_keep(ocl, call->stream, t->mem, t->bytes);
        else
            ocl_memory_give(ocl, t->mem, t->bytes);
    }
    if (call->stream) {
        ocl_cl.clFlush(call->stream->queue);
        pthread_mutex_unlock(&call->stream->lock);
    }
    cbc_addr_table_unpin(ocl->table, call->pins, call->n);
}

cb_status ocl_call_end(struct ocl_call *call, cb_status st)
{
    end(call);
    if (call->stream)
        ocl_stream_release(call->ocl, call->stream);
    cbc_fpenv_leave(call->fpenv);
    return st;
}

cb_status ocl_call_end_waiting(struct ocl_call *call)
{
    end(call);
    const cb_status st = ocl_stream_finish(call->stream, call->where, call->err);
    ocl_stream_release(call->ocl, call->stream);
    cbc_fpenv_leave(call->fpenv);
    return st;
}
