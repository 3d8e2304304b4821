/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers of the driver behind addresses of the table. What they take is counted here, since a
 * driver may promise more than there is and fail when the memory is used. */
#include "opencl.h"

#include <stdlib.h>

#define SPARES_PER_STREAM 4

/* Temporary memory that no call has; under the instance's lock. */
struct ocl_spare {
    struct ocl_spare *next;
    const cb_stream *stream;
    cl_mem mem;
    uint64_t bytes;
};

/* Takes bytes from the limit; false when they are not there. */
static bool reserve(struct ocl_backend *ocl, uint64_t bytes)
{
    uint_fast64_t taken = atomic_load_explicit(&ocl->allocated, memory_order_relaxed);
    do {
        if (bytes > ocl->memory_limit - taken)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(&ocl->allocated, &taken, taken + bytes,
                                                    memory_order_relaxed, memory_order_relaxed));
    return true;
}

cb_status ocl_memory_take(struct ocl_backend *ocl, uint64_t bytes, const void *host, cl_mem *out,
                          const char *where, cb_error *err)
{
    const cl_mem_flags flags = CL_MEM_READ_WRITE | (host ? CL_MEM_COPY_HOST_PTR : 0);
    cl_int code;
    if (bytes > ocl->device->max_alloc)
        return cbc_fail(err, CB_OUT_OF_MEMORY, where,
                        "%llu bytes asked for, the device gives at most %llu at once",
                        (unsigned long long)bytes, (unsigned long long)ocl->device->max_alloc);
    while (!reserve(ocl, bytes))
        if (!ocl_spares_drop(ocl, NULL))
            return cbc_fail(err, CB_OUT_OF_MEMORY, where, "%llu bytes asked for, %llu are free",
                            (unsigned long long)bytes,
                            (unsigned long long)(ocl->memory_limit - atomic_load(&ocl->allocated)));
    do {
        /* The flag makes the driver read host before it returns; it takes no const pointer. */
        *out = ocl_cl.clCreateBuffer(ocl->context, flags, bytes, (void *)(uintptr_t)host, &code);
    } while (!*out && ocl_is_memory(code) && ocl_spares_drop(ocl, NULL));
    if (*out)
        return CB_OK;
    atomic_fetch_sub_explicit(&ocl->allocated, bytes, memory_order_relaxed);
    return ocl_fail(err, where, "clCreateBuffer", code);
}

void ocl_memory_give(struct ocl_backend *ocl, cl_mem mem, uint64_t bytes)
{
    if (atomic_load(&ocl->forked))
        return;
    ocl_cl.clReleaseMemObject(mem);
    atomic_fetch_sub_explicit(&ocl->allocated, bytes, memory_order_relaxed);
}

void ocl_release(void *ctx, void *memory, void *owner, uint64_t bytes)
{
    (void)owner;
    ocl_memory_give(ctx, memory, bytes);
}

/* ---- spares ---- */

cl_mem ocl_spare_take(struct ocl_backend *ocl, const cb_stream *stream, uint64_t *bytes)
{
    struct ocl_spare **best = NULL;
    pthread_mutex_lock(&ocl->lock);
    for (struct ocl_spare **at = &ocl->spares; *at; at = &(*at)->next)
        if ((*at)->stream == stream && (*at)->bytes >= *bytes &&
            (!best || (*at)->bytes < (*best)->bytes))
            best = at;
    struct ocl_spare *taken = best ? *best : NULL;
    if (taken)
        *best = taken->next;
    pthread_mutex_unlock(&ocl->lock);
    cl_mem mem = taken ? taken->mem : NULL;
    if (taken)
        *bytes = taken->bytes;
    free(taken);
    return mem;
}

/* Takes the smallest spare of a stream that has more than it may keep off the list, or NULL. */
static struct ocl_spare *surplus(struct ocl_backend *ocl, const cb_stream *stream)
{
    struct ocl_spare **least = NULL;
    unsigned n = 0;
    for (struct ocl_spare **at = &ocl->spares; *at; at = &(*at)->next) {
        if ((*at)->stream != stream)
            continue;
        n++;
        if (!least || (*at)->bytes < (*least)->bytes)
            least = at;
    }
    if (n <= SPARES_PER_STREAM)
        return NULL;
    struct ocl_spare *loser = *least;
    *least = loser->next;
    return loser;
}

void ocl_spare_keep(struct ocl_backend *ocl, const cb_stream *stream, cl_mem mem, uint64_t bytes)
{
    struct ocl_spare *spare = malloc(sizeof(*spare));
    if (!spare) {
        ocl_memory_give(ocl, mem, bytes);
        return;
    }
    pthread_mutex_lock(&ocl->lock);
    *spare = (struct ocl_spare){ ocl->spares, stream, mem, bytes };
    ocl->spares = spare;
    struct ocl_spare *loser = surplus(ocl, stream);
    pthread_mutex_unlock(&ocl->lock);
    if (loser)
        ocl_memory_give(ocl, loser->mem, loser->bytes);
    free(loser);
}

bool ocl_spares_drop(struct ocl_backend *ocl, const cb_stream *stream)
{
    struct ocl_spare *dropped = NULL;
    pthread_mutex_lock(&ocl->lock);
    for (struct ocl_spare **at = &ocl->spares; *at;) {
        struct ocl_spare *spare = *at;
        if (stream && spare->stream != stream) {
            at = &spare->next;
            continue;
        }
        *at = spare->next;
        spare->next = dropped;
        dropped = spare;
    }
    pthread_mutex_unlock(&ocl->lock);
    const bool any = dropped != NULL;
    while (dropped) {
        struct ocl_spare *spare = dropped;
        dropped = spare->next;
        ocl_memory_give(ocl, spare->mem, spare->bytes);
        free(spare);
    }
    return any;
}

/* ---- the slots ---- */

/* Fills a new buffer with zeroes, and waits for it: any stream may use it next. */
static cb_status clear(struct ocl_backend *ocl, cl_mem mem, uint64_t bytes, cb_error *err)
{
    cb_stream *stream = ocl->clearing;
    cl_event event;
    const struct ocl_buffer all = { mem, 0 };
    pthread_mutex_lock(&stream->lock);
    cl_int code = ocl_fill(stream, &all, 0, bytes, &event);
    pthread_mutex_unlock(&stream->lock);
    if (code != CL_SUCCESS)
        return ocl_fail(err, "alloc", "clEnqueueFillBuffer", code);
    code = ocl_cl.clWaitForEvents(1, &event);
    const cl_int status = ocl_event_status(event);
    ocl_cl.clReleaseEvent(event);
    if (status < 0 || code != CL_SUCCESS)
        return ocl_fail(err, "alloc", "clEnqueueFillBuffer", status < 0 ? status : code);
    return CB_OK;
}

static cb_status alloc(struct ocl_backend *ocl, uint64_t bytes, uint64_t *out, cb_error *err)
{
    cl_mem mem;
    cb_status st = ocl_memory_take(ocl, bytes, NULL, &mem, "alloc", err);
    if (st != CB_OK)
        return st;
    st = clear(ocl, mem, bytes, err);
    if (st == CB_OK)
        st = cbc_addr_table_insert(ocl->table, bytes, mem, NULL, out, "alloc", err);
    if (st != CB_OK)
        ocl_memory_give(ocl, mem, bytes);
    return st;
}

cb_status ocl_alloc(void *self, uint64_t bytes, cb_stream *stream, uint64_t *out, cb_error *err)
{
    struct ocl_call call;
    cb_status st = ocl_call_begin(&call, self, "alloc", err);
    if (st == CB_OK && !out)
        st = cbc_invalid(err, "alloc", "out is NULL");
    if (st == CB_OK && !bytes)
        st = cbc_invalid(err, "alloc", "bytes is 0");
    if (st == CB_OK)
        st = ocl_call_open(&call, stream, NULL, 0, true, err);
    st = ocl_call_end(&call, st); /* the stream is not needed while the driver is at it */
    return st == CB_OK ? alloc(self, bytes, out, err) : st;
}

cb_status ocl_free(void *self, uint64_t ptr, cb_stream *stream, cb_error *err)
{
    struct ocl_call call;
    cb_status st = ocl_call_begin(&call, self, "free", err);
    if (st == CB_OK)
        st = ocl_call_open(&call, stream, NULL, 0, true, err);
    if (st == CB_OK)
        st = cbc_addr_table_remove(call.ocl->table, ptr, "free", err);
    return ocl_call_end(&call, st);
}

static uint64_t spare_bytes(struct ocl_backend *ocl)
{
    uint64_t bytes = 0;
    pthread_mutex_lock(&ocl->lock);
    for (const struct ocl_spare *spare = ocl->spares; spare; spare = spare->next)
        bytes += spare->bytes;
    pthread_mutex_unlock(&ocl->lock);
    return bytes;
}

cb_status ocl_memory_info(void *self, cb_memory_info *out, cb_error *err)
{
    struct ocl_call call;
    cb_memory_info info = { CB_ARGS(cb_memory_info) };
    cb_status st = ocl_call_begin(&call, self, "memory_info", err);
    if (st == CB_OK) {
        const uint64_t spare = spare_bytes(call.ocl); /* it makes way */
        const uint64_t taken = atomic_load(&call.ocl->allocated);
        info.total = call.ocl->memory_limit;
        info.free = info.total - (taken > spare ? taken - spare : 0);
        cbc_addr_table_live(call.ocl->table, &info.live_bytes, &info.live_count);
        st = cb_result_write(out, &info, sizeof(info), CB_MEMORY_INFO_1_0, "memory_info", err);
    }
    return ocl_call_end(&call, st);
}
