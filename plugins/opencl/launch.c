/* SPDX-License-Identifier: Apache-2.0 */
/* Setting arguments is not safe among threads, so each stream has kernels of its own, which are
 * used under its lock. */
#include "opencl.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What every device takes at once: work-items along the first dimension, groups along the others.
 */
#define ITEMS_MAX  (UINT64_C(1) << 30)
#define GROUPS_MAX UINT64_C(32768)

struct ocl_kernel {
    cl_program program;
    const char *name;
    cl_kernel kernel;
};

void ocl_kernels_free(cb_stream *stream)
{
    for (uint64_t i = 0; i < stream->n_kernels; i++)
        ocl_cl.clReleaseKernel(stream->kernels[i].kernel);
    stream->n_kernels = 0;
}

/* ---- finding the kernel ---- */

static bool grow(cb_stream *stream)
{
    if (stream->n_kernels < stream->kernels_room)
        return true;
    const uint64_t room = stream->kernels_room ? stream->kernels_room * 2 : 16;
    struct ocl_kernel *kernels = realloc(stream->kernels, room * sizeof(*kernels));
    if (!kernels)
        return false;
    stream->kernels = kernels;
    stream->kernels_room = room;
    return true;
}

static cb_status get_kernel(struct ocl_call *call, cl_program program, const char *name,
                            cl_kernel *out)
{
    cb_stream *stream = call->stream;
    cl_int code;
    for (uint64_t i = 0; i < stream->n_kernels; i++) {
        const struct ocl_kernel *k = &stream->kernels[i];
        if (k->program == program && !strcmp(k->name, name)) {
            *out = k->kernel;
            return CB_OK;
        }
    }
    if (!grow(stream))
        return cbc_fail(call->err, CB_OUT_OF_MEMORY, call->where, "no memory for a kernel");
    *out = ocl_cl.clCreateKernel(program, name, &code);
    if (!*out)
        return ocl_fail(call->err, call->where, "clCreateKernel", code);
    stream->kernels[stream->n_kernels++] = (struct ocl_kernel){ program, name, *out };
    return CB_OK;
}

void ocl_launch_begin(struct ocl_launch *run, struct ocl_call *call, const char *program,
                      const char *name, const char *format, ...)
{
    char options[OCL_OPTIONS_MAX];
    cl_program built;
    va_list ap;
    va_start(ap, format);
    const int length = vsnprintf(options, sizeof(options), format, ap);
    va_end(ap);
    *run = (struct ocl_launch){ .call = call, .name = name };
    if (length < 0 || length >= OCL_OPTIONS_MAX)
        run->st = cbc_fail(call->err, CB_DEVICE_ERROR, call->where, "options of %s are too long",
                           program);
    else
        run->st = ocl_program_get(call->ocl, program, options, &built, call->where, call->err);
    if (run->st == CB_OK)
        run->st = get_kernel(call, built, name, &run->kernel);
}

/* ---- arguments ---- */

static void set(struct ocl_launch *run, size_t size, const void *value)
{
    if (run->st != CB_OK)
        return;
    const cl_int code = ocl_cl.clSetKernelArg(run->kernel, run->n_args++, size, value);
    if (code != CL_SUCCESS)
        run->st = ocl_fail(run->call->err, run->call->where, "clSetKernelArg", code);
}

void ocl_arg_buffer(struct ocl_launch *run, const struct ocl_buffer *buffer, uint32_t element)
{
    const cl_ulong offset = buffer->offset / element;
    set(run, sizeof(cl_mem), &buffer->mem);
    set(run, sizeof(offset), &offset);
}

void ocl_arg_u32(struct ocl_launch *run, uint32_t value)
{
    set(run, sizeof(value), &value);
}

void ocl_arg_u64(struct ocl_launch *run, uint64_t value)
{
    set(run, sizeof(value), &value);
}

void ocl_arg_f32(struct ocl_launch *run, float value)
{
    set(run, sizeof(value), &value);
}

void ocl_arg_f64(struct ocl_launch *run, double value)
{
    set(run, sizeof(value), &value);
}

void ocl_arg_local(struct ocl_launch *run, uint64_t bytes)
{
    set(run, bytes, NULL);
}

/* ---- the launch ---- */

/* One box of groups, first and n, in each of the dimensions. */
static void launch_box(struct ocl_launch *run, unsigned dimensions, const uint64_t *first,
                       const uint64_t *n, const uint64_t *local)
{
    cb_stream *stream = run->call->stream;
    size_t offset[3], global[3], size[3];
    bool at_zero = true;
    cl_uint waits;
    cl_event event;
    if (run->st != CB_OK)
        return;
    for (unsigned d = 0; d < dimensions; d++) {
        offset[d] = first[d] * local[d];
        global[d] = n[d] * local[d];
        size[d] = local[d];
        at_zero &= !offset[d];
    }
    const cl_event *tail = ocl_stream_tail(stream, &waits);
    const cl_int code =
        ocl_cl.clEnqueueNDRangeKernel(stream->queue, run->kernel, dimensions,
                                      at_zero ? NULL : offset, global, size, waits, tail, &event);
    run->st = ocl_call_push(run->call, run->name, code, event);
}

cb_status ocl_launch(struct ocl_launch *run, unsigned dimensions, const uint64_t *groups,
                     const uint64_t *local)
{
    uint64_t all[3] = { 1, 1, 1 }, most[3] = { ITEMS_MAX, GROUPS_MAX, GROUPS_MAX };
    for (unsigned d = 0; d < dimensions; d++) {
        all[d] = groups[d];
        if (!groups[d])
            return run->st;
    }
    most[0] /= local[0];
    uint64_t first[3], n[3];
    for (first[2] = 0; first[2] < all[2]; first[2] += most[2])
        for (first[1] = 0; first[1] < all[1]; first[1] += most[1])
            for (first[0] = 0; first[0] < all[0]; first[0] += most[0]) {
                for (int d = 0; d < 3; d++)
                    n[d] = all[d] - first[d] < most[d] ? all[d] - first[d] : most[d];
                launch_box(run, dimensions, first, n, local);
            }
    return run->st;
}
