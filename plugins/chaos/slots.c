/* SPDX-License-Identifier: Apache-2.0 */
/* What can be queued, a row each: its name, its args, its check, its operands, and the slot of the
 * wrapped backend that does it. */
#include "faults.h"

#include <stdlib.h>
#include <string.h>

/* Calls a slot that takes args, or says that it is not there. */
#define DEFINE_CALL(slot)                                                                          \
    static bool has_##slot(const compute_backend_v1 *api)                                          \
    {                                                                                              \
        return CB_HAS(api, slot);                                                                  \
    }                                                                                              \
    static cb_status call_##slot(const struct chaos_work *w, cb_error *err)                        \
    {                                                                                              \
        return w->chaos->wrapped.api->slot(w->chaos->wrapped.self, &w->args.slot, err);            \
    }
DEFINE_CALL(gemm)
DEFINE_CALL(gemm_mixed_precision)
DEFINE_CALL(batched_gemm)
DEFINE_CALL(conv2d_forward)
DEFINE_CALL(conv2d_backward_data)
DEFINE_CALL(conv2d_backward_filter)
DEFINE_CALL(attention)
DEFINE_CALL(softmax)
DEFINE_CALL(reduce)
DEFINE_CALL(unary)
DEFINE_CALL(binary)
DEFINE_CALL(gather)
DEFINE_CALL(scatter)
DEFINE_CALL(copy_htod)
DEFINE_CALL(copy_dtoh)
DEFINE_CALL(copy_dtod)

static bool has_memset(const compute_backend_v1 *api)
{
    return CB_HAS(api, memset);
}

static cb_status call_memset(const struct chaos_work *w, cb_error *err)
{
    const struct chaos_memset_args *a = &w->args.memset;
    return w->chaos->wrapped.api->memset(w->chaos->wrapped.self, a->dst, a->value, a->bytes,
                                         a->stream, err);
}

#define IN_ARGS(member, field) offsetof(union chaos_args, member.field)
#define OF(member)             offsetof(union cbc_any, member)
#define ROW(slot, operands_at, n, ...)                                                             \
    {                                                                                              \
        .name = #slot, .size = sizeof(((union chaos_args *)0)->slot), .has = has_##slot,           \
        .call = call_##slot, .stream = IN_ARGS(slot, stream), .operands = operands_at,             \
        .n_operands = n, .pointers = {                                                             \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
#define GEMM_ROW(slot)                                                                             \
    ROW(slot, OF(gemm.operands), 3, IN_ARGS(slot, a), IN_ARGS(slot, b), IN_ARGS(slot, c))
#define CONV2D_ROW(slot)                                                                           \
    ROW(slot, OF(conv2d.operands), 3, IN_ARGS(slot, input), IN_ARGS(slot, filter),                 \
        IN_ARGS(slot, output))
#define PAIR_ROW(slot, of)                                                                         \
    ROW(slot, OF(of.operands), 2, IN_ARGS(slot, input), IN_ARGS(slot, output))

static const struct slot {
    const char *name;
    uint64_t size; /* of the args */
    bool (*has)(const compute_backend_v1 *api);
    cb_status (*call)(const struct chaos_work *work, cb_error *err);
    uint64_t stream;   /* where in the args */
    uint64_t operands; /* of an op: where in what its check makes */
    uint32_t n_operands;
    uint64_t pointers[CHAOS_OPERANDS_MAX]; /* of the operands, where in the args */
} slots[CHAOS_SLOTS] = {
    [CB_OP_GEMM] = GEMM_ROW(gemm),
    [CB_OP_GEMM_MIXED_PRECISION] = GEMM_ROW(gemm_mixed_precision),
    [CB_OP_BATCHED_GEMM] = GEMM_ROW(batched_gemm),
    [CB_OP_CONV2D_FORWARD] = CONV2D_ROW(conv2d_forward),
    [CB_OP_CONV2D_BACKWARD_DATA] = CONV2D_ROW(conv2d_backward_data),
    [CB_OP_CONV2D_BACKWARD_FILTER] = CONV2D_ROW(conv2d_backward_filter),
    [CB_OP_ATTENTION] = ROW(attention, OF(attention.operands), 4, IN_ARGS(attention, q),
                            IN_ARGS(attention, k), IN_ARGS(attention, v), IN_ARGS(attention, o)),
    [CB_OP_SOFTMAX] = PAIR_ROW(softmax, axis),
    [CB_OP_REDUCE] = PAIR_ROW(reduce, axis),
    [CB_OP_UNARY] = PAIR_ROW(unary, map),
    [CB_OP_BINARY] = ROW(binary, OF(map.operands), 3, IN_ARGS(binary, a), IN_ARGS(binary, b),
                         IN_ARGS(binary, output)),
    [CB_OP_GATHER] = PAIR_ROW(gather, rows),
    [CB_OP_SCATTER] = PAIR_ROW(scatter, rows),
    [CHAOS_COPY_HTOD] = ROW(copy_htod, 0, 1, IN_ARGS(copy_htod, dst)),
    [CHAOS_COPY_DTOH] = ROW(copy_dtoh, 0, 1, IN_ARGS(copy_dtoh, src)),
    [CHAOS_COPY_DTOD] = ROW(copy_dtod, 0, 2, IN_ARGS(copy_dtod, dst), IN_ARGS(copy_dtod, src)),
    [CHAOS_MEMSET] = ROW(memset, 0, 1, IN_ARGS(memset, dst)),
};

const char *chaos_code_name(uint32_t code)
{
    static const char *const queued[] = { "event_record", "stream_wait_event", "synchronize" };
    return code < CHAOS_SLOTS ? slots[code].name : queued[code - CHAOS_SLOTS];
}

uint32_t chaos_code_find(const char *name)
{
    for (uint32_t i = 0; i < CHAOS_SLOTS; i++)
        if (!strcmp(slots[i].name, name))
            return i;
    return CHAOS_NEVER;
}

/* ---- checks ---- */

static cb_status check_copy(struct chaos_work *w, cb_error *err)
{
    struct cbc_copy copy = { 0 };
    const union chaos_args *a = &w->args;
    cb_status st;
    switch (w->code) {
    case CHAOS_COPY_HTOD: st = cbc_check_copy_htod(&a->copy_htod, &copy, err); break;
    case CHAOS_COPY_DTOH: st = cbc_check_copy_dtoh(&a->copy_dtoh, &copy, err); break;
    case CHAOS_COPY_DTOD: st = cbc_check_copy_dtod(&a->copy_dtod, &copy, err); break;
    default:
        st = cbc_check_memset(a->memset.dst, a->memset.value, a->memset.bytes, a->memset.stream,
                              &copy, err);
        copy.async = true;
    }
    memcpy(w->operands, copy.operands, sizeof(copy.operands));
    w->blocks = !copy.async;
    return st;
}

static cb_status check_op(struct chaos_work *w, cb_error *err)
{
    cb_status st = cbc_check_any(w->code, &w->args, &w->checked, err);
    if (st == CB_OK && (w->code == CB_OP_GATHER || w->code == CB_OP_SCATTER))
        st = cbc_check_indices(w->code, &w->checked.rows, err);
    if (st == CB_OK)
        memcpy(w->operands, (const char *)&w->checked + slots[w->code].operands,
               slots[w->code].n_operands * sizeof(w->operands[0]));
    return st;
}

/* Work that is queued must not fail for its arguments: what the wrapped backend refuses is refused
 * now. */
static cb_status check_support(const struct chaos_work *w, cb_error *err)
{
    const cb_backend be = w->chaos->wrapped;
    cb_support support;
    if (!slots[w->code].has(be.api))
        return cbc_unsupported(err, slots[w->code].name, "the wrapped backend %s has no such slot",
                               be.api->name);
    if (w->code >= CB_OP_COUNT || !w->stream)
        return CB_OK;
    cb_support_init(&support);
    cb_status st = be.api->supports(be.self, w->code, &w->args, &support, err);
    if (st == CB_OK && support.answer == CB_SUPPORT_NO)
        st = cbc_unsupported(err, slots[w->code].name, "%s", support.reason);
    return st;
}

/* Shapes and indices belong to the caller, who may drop them when the call has returned. What an
 * asynchronous copy reads must live on, but not under a fault: a caller who was told too early that
 * the work is done is to find wrong values, not to crash. */
static cb_status copy_list(struct chaos_work *w, cb_error *err)
{
    uint64_t field = 0, bytes = 0;
    switch (w->code) {
    case CB_OP_SOFTMAX:
        field = IN_ARGS(softmax, shape);
        bytes = w->args.softmax.rank * sizeof(uint64_t);
        break;
    case CB_OP_REDUCE:
        field = IN_ARGS(reduce, shape);
        bytes = w->args.reduce.rank * sizeof(uint64_t);
        break;
    case CB_OP_GATHER:
    case CB_OP_SCATTER:
        field = IN_ARGS(gather, indices);
        bytes = w->args.gather.n_indices * sizeof(uint64_t);
        break;
    case CHAOS_COPY_HTOD:
        field = IN_ARGS(copy_htod, src);
        bytes = w->chaos->fault && w->stream && !w->blocks ? w->args.copy_htod.bytes : 0;
        break;
    default: break;
    }
    const void *list;
    if (!bytes || w->list)
        return CB_OK;
    w->list = malloc(bytes);
    if (!w->list)
        return cbc_fail(err, CB_OUT_OF_MEMORY, slots[w->code].name,
                        "no memory for a copy of %llu bytes", (unsigned long long)bytes);
    memcpy(&list, (const char *)&w->args + field, sizeof(list));
    memcpy(w->list, list, bytes);
    list = w->list;
    memcpy((char *)&w->args + field, &list, sizeof(list));
    return CB_OK;
}

static void put(struct chaos_work *w, uint64_t offset, uint64_t value)
{
    memcpy((char *)&w->args + offset, &value, sizeof(value));
}

static cb_status find_operands(struct chaos_work *w, cb_error *err)
{
    const struct slot *slot = &slots[w->code];
    cb_status st = cbc_addr_table_pin(w->chaos->table, w->operands, slot->n_operands, w->pins,
                                      slot->name, err);
    if (st != CB_OK)
        return st;
    w->n_operands = w->n_pins = slot->n_operands;
    for (unsigned i = 0; i < w->n_pins; i++)
        if (w->pins[i].allocation)
            put(w, slot->pointers[i], (uint64_t)(uintptr_t)w->pins[i].memory + w->pins[i].offset);
    return CB_OK;
}

cb_status chaos_prepare(struct chaos_work *w, const void *args, cb_error *err)
{
    const struct slot *slot = &slots[w->code];
    const struct chaos_fault *fault = chaos_fault_of(w->chaos, w->code);
    w->caller = args;
    cb_status st = cb_args_read(&w->args, slot->size, slot->size, args, slot->name, err);
    if (st != CB_OK)
        return st;
    memcpy(&w->stream, (const char *)&w->args + slot->stream, sizeof(w->stream));
    if (fault && fault->edit)
        fault->edit(w);
    st = w->code < CB_OP_COUNT ? check_op(w, err) : check_copy(w, err);
    if (st == CB_OK)
        st = check_support(w, err);
    if (st == CB_OK)
        st = copy_list(w, err);
    if (st == CB_OK)
        st = find_operands(w, err);
    if (st == CB_OK)
        st = chaos_stream_check(w->chaos, w->stream, slot->name, err);
    return st;
}

cb_status chaos_call_wrapped(struct chaos_work *w, cb_error *err)
{
    const cb_backend be = w->chaos->wrapped;
    cb_stream *stream = chaos_stream_wrapped(w->stream);
    memcpy((char *)&w->args + slots[w->code].stream, (const void *)&stream, sizeof(stream));
    const cb_status st = slots[w->code].call(w, err);
    if (st != CB_OK)
        return st;
    return CB_HAS(be.api, stream_synchronize) ? be.api->stream_synchronize(be.self, stream, err)
                                              : be.api->synchronize(be.self, err);
}

void chaos_work_free(struct chaos_work *work)
{
    if (!work)
        return;
    cbc_addr_table_unpin(work->chaos->table, work->pins, work->n_pins);
    free(work->list);
    free(work);
}
