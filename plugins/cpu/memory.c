/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers are blocks of host memory behind addresses of the table. */
#include "cpu.h"

#include <stdlib.h>
#include <string.h>

#define ALIGNMENT 64

/* Takes bytes from the limit; false when they are not there. */
static bool reserve(struct cpu_backend *cpu, uint64_t bytes)
{
    uint_fast64_t taken = atomic_load_explicit(&cpu->allocated, memory_order_relaxed);
    do {
        if (bytes > cpu->memory_limit - taken)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(&cpu->allocated, &taken, taken + bytes,
                                                    memory_order_relaxed, memory_order_relaxed));
    return true;
}

/* owner is the block, or NULL for memory that was imported. */
void cpu_release(void *ctx, void *memory, void *owner, uint64_t bytes)
{
    struct cpu_backend *cpu = ctx;
    (void)memory;
    if (!owner)
        return;
    free(owner);
    atomic_fetch_sub_explicit(&cpu->allocated, bytes, memory_order_relaxed);
}

static cb_status alloc(struct cpu_call *call, uint64_t bytes, uint64_t *out, cb_error *err)
{
    struct cpu_backend *cpu = call->cpu;
    if (!reserve(cpu, bytes))
        return cbc_fail(err, CB_OUT_OF_MEMORY, "alloc", "%llu bytes asked for, %llu are free",
                        (unsigned long long)bytes,
                        (unsigned long long)(cpu->memory_limit - atomic_load(&cpu->allocated)));

    /* calloc leaves large blocks untouched: zero pages come when they are used. */
    char *block = calloc(1, bytes + ALIGNMENT - 1);
    cb_status st = CB_OK;
    if (block) {
        char *memory = block + (ALIGNMENT - (uintptr_t)block % ALIGNMENT) % ALIGNMENT;
        st = cbc_addr_table_insert(cpu->table, bytes, memory, block, out, "alloc", err);
    } else {
        st = cbc_fail(err, CB_OUT_OF_MEMORY, "alloc", "the system refused %llu bytes",
                      (unsigned long long)bytes);
    }
    if (st != CB_OK) {
        free(block);
        atomic_fetch_sub_explicit(&cpu->allocated, bytes, memory_order_relaxed);
    }
    return st;
}

cb_status cpu_alloc(void *self, uint64_t bytes, cb_stream *stream, uint64_t *out, cb_error *err)
{
    struct cpu_call call;
    cb_status st = cpu_call_begin(&call, self, "alloc", err);
    if (st == CB_OK && (!out || !bytes))
        st = cbc_invalid(err, "alloc", out ? "bytes is 0" : "out is NULL");
    if (st == CB_OK)
        st = cpu_stream_check(call.cpu, stream, "alloc", err);
    if (st == CB_OK)
        st = alloc(&call, bytes, out, err);
    return cpu_call_end(&call, st);
}

cb_status cpu_free(void *self, uint64_t ptr, cb_stream *stream, cb_error *err)
{
    struct cpu_call call;
    cb_status st = cpu_call_begin(&call, self, "free", err);
    if (st == CB_OK)
        st = cpu_stream_check(call.cpu, stream, "free", err);
    if (st == CB_OK)
        st = cbc_addr_table_remove(call.cpu->table, ptr, "free", err);
    return cpu_call_end(&call, st);
}

/* ---- copies; memmove copes with an overlap, so that none is copied away before ---- */

static cb_status move_in(struct cpu_call *call, const void *checked, cb_error *err)
{
    const struct cbc_copy *copy = checked;
    (void)err;
    if (copy->bytes)
        memmove(call->host[0], copy->from, copy->bytes);
    return CB_OK;
}

static cb_status move_out(struct cpu_call *call, const void *checked, cb_error *err)
{
    const struct cbc_copy *copy = checked;
    (void)err;
    if (copy->bytes)
        memmove(copy->to, call->host[0], copy->bytes);
    return CB_OK;
}

static cb_status move_within(struct cpu_call *call, const void *checked, cb_error *err)
{
    const struct cbc_copy *copy = checked;
    (void)err;
    if (copy->bytes)
        memmove(call->host[0], call->host[1], copy->bytes);
    return CB_OK;
}

static const struct cpu_op copy_htod_op = { CPU_OP(struct cbc_copy, move_in, 1, true) };
static const struct cpu_op copy_dtoh_op = { CPU_OP(struct cbc_copy, move_out, 1, true) };
static const struct cpu_op copy_dtod_op = { CPU_OP(struct cbc_copy, move_within, 2, true) };

static cb_status run_copy(struct cpu_call *call, const struct cpu_op *op, struct cbc_copy *copy,
                          cb_error *err)
{
    copy->operands[0].written = false;
    call->blocks = !copy->async;
    return cpu_call_run(call, op, copy, err);
}

cb_status cpu_copy_htod(void *self, const cb_copy_htod_args *args, cb_error *err)
{
    struct cpu_call call;
    struct cbc_copy copy;
    cb_status st = cpu_call_begin(&call, self, "copy_htod", err);
    if (st == CB_OK)
        st = cbc_check_copy_htod(args, &copy, err);
    if (st == CB_OK)
        st = run_copy(&call, &copy_htod_op, &copy, err);
    return cpu_call_end(&call, st);
}

cb_status cpu_copy_dtoh(void *self, const cb_copy_dtoh_args *args, cb_error *err)
{
    struct cpu_call call;
    struct cbc_copy copy;
    cb_status st = cpu_call_begin(&call, self, "copy_dtoh", err);
    if (st == CB_OK)
        st = cbc_check_copy_dtoh(args, &copy, err);
    if (st == CB_OK)
        st = run_copy(&call, &copy_dtoh_op, &copy, err);
    return cpu_call_end(&call, st);
}

cb_status cpu_copy_dtod(void *self, const cb_copy_dtod_args *args, cb_error *err)
{
    struct cpu_call call;
    struct cbc_copy copy;
    cb_status st = cpu_call_begin(&call, self, "copy_dtod", err);
    if (st == CB_OK)
        st = cbc_check_copy_dtod(args, &copy, err);
    if (st == CB_OK)
        st = run_copy(&call, &copy_dtod_op, &copy, err);
    return cpu_call_end(&call, st);
}

/* ---- memset ---- */

struct fill {
    struct cbc_copy range;
    int value;
};

static cb_status fill(struct cpu_call *call, const void *checked, cb_error *err)
{
    const struct fill *f = checked;
    (void)err;
    if (f->range.bytes)
        memset(call->host[0], f->value, f->range.bytes);
    return CB_OK;
}

static const struct cpu_op memset_op = { .compute = fill,
                                         .bytes = sizeof(struct fill),
                                         .stream = offsetof(struct fill, range.stream),
                                         .operands = offsetof(struct fill, range.operands),
                                         .n_operands = 1,
                                         .in_place = true };

cb_status cpu_memset(void *self, uint64_t dst, uint32_t value, uint64_t bytes, cb_stream *stream,
                     cb_error *err)
{
    struct cpu_call call;
    struct fill f = { .value = (int)value };
    cb_status st = cpu_call_begin(&call, self, "memset", err);
    if (st == CB_OK)
        st = cbc_check_memset(dst, value, bytes, stream, &f.range, err);
    if (st == CB_OK)
        st = cpu_call_run(&call, &memset_op, &f, err);
    return cpu_call_end(&call, st);
}

cb_status cpu_memory_info(void *self, cb_memory_info *out, cb_error *err)
{
    struct cpu_call call;
    cb_memory_info info = { CB_ARGS(cb_memory_info) };
    cb_status st = cpu_call_begin(&call, self, "memory_info", err);
    if (st == CB_OK) {
        info.total = call.cpu->memory_limit;
        info.free = info.total - atomic_load(&call.cpu->allocated);
        cbc_addr_table_live(call.cpu->table, &info.live_bytes, &info.live_count);
        st = cb_result_write(out, &info, sizeof(info), CB_MEMORY_INFO_1_0, "memory_info", err);
    }
    return cpu_call_end(&call, st);
}
