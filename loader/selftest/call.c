/* SPDX-License-Identifier: Apache-2.0 */
/* One call of an op under watch: what supports promises, the status, the message, the operands. */
#include "suite.h"

#include "compute_backend_plugin.h"

#include <stdio.h>
#include <string.h>

#define TYPE_OFFSET offsetof(cb_gemm_args, dtype) /* in the args of every op */

/* A table that lacks the slot answers as a loader's stub would. */
#define DEFINE_CALL(slot, type)                                                                    \
    static cb_status call_##slot(cb_backend be, const void *args, cb_error *err)                   \
    {                                                                                              \
        if (!CB_HAS(be.api, slot))                                                                 \
            return cb_error_set(err, CB_UNSUPPORTED, #slot, #slot " is not in the table");         \
        return cb_##slot(be, (const type *)args, err);                                             \
    }
DEFINE_CALL(gemm, cb_gemm_args)
DEFINE_CALL(gemm_mixed_precision, cb_gemm_mixed_precision_args)
DEFINE_CALL(batched_gemm, cb_batched_gemm_args)
DEFINE_CALL(conv2d_forward, cb_conv2d_args)
DEFINE_CALL(conv2d_backward_data, cb_conv2d_args)
DEFINE_CALL(conv2d_backward_filter, cb_conv2d_args)
DEFINE_CALL(attention, cb_attention_args)
DEFINE_CALL(softmax, cb_softmax_args)
DEFINE_CALL(reduce, cb_reduce_args)
DEFINE_CALL(unary, cb_unary_args)
DEFINE_CALL(binary, cb_binary_args)
DEFINE_CALL(gather, cb_rows_args)
DEFINE_CALL(scatter, cb_rows_args)

static const struct entry {
    cb_status (*call)(cb_backend be, const void *args, cb_error *err);
    uint64_t size; /* of the args of 1.0; their last field is the stream */
    uint32_t type; /* at TYPE_OFFSET, the one that 0 stands for; 0: none */
} entries[CB_OP_COUNT] = {
    [CB_OP_GEMM] = { call_gemm, CB_GEMM_ARGS_1_0, CB_F64 },
    [CB_OP_GEMM_MIXED_PRECISION] = { call_gemm_mixed_precision, CB_GEMM_MIXED_PRECISION_ARGS_1_0,
                                     0 },
    [CB_OP_BATCHED_GEMM] = { call_batched_gemm, CB_BATCHED_GEMM_ARGS_1_0, CB_F64 },
    [CB_OP_CONV2D_FORWARD] = { call_conv2d_forward, CB_CONV2D_ARGS_1_0, CB_F32 },
    [CB_OP_CONV2D_BACKWARD_DATA] = { call_conv2d_backward_data, CB_CONV2D_ARGS_1_0, CB_F32 },
    [CB_OP_CONV2D_BACKWARD_FILTER] = { call_conv2d_backward_filter, CB_CONV2D_ARGS_1_0, CB_F32 },
    [CB_OP_ATTENTION] = { call_attention, CB_ATTENTION_ARGS_1_0, CB_F32 },
    [CB_OP_SOFTMAX] = { call_softmax, CB_SOFTMAX_ARGS_1_0, CB_F32 },
    [CB_OP_REDUCE] = { call_reduce, CB_REDUCE_ARGS_1_0, CB_F32 },
    [CB_OP_UNARY] = { call_unary, CB_UNARY_ARGS_1_0, CB_F32 },
    [CB_OP_BINARY] = { call_binary, CB_BINARY_ARGS_1_0, CB_F32 },
    [CB_OP_GATHER] = { call_gather, CB_ROWS_ARGS_1_0, 4 },
    [CB_OP_SCATTER] = { call_scatter, CB_ROWS_ARGS_1_0, 4 },
};

uint64_t st_args_size(uint32_t op)
{
    return entries[op].size;
}

cb_status st_slot(cb_backend be, uint32_t op, const void *args, cb_error *err)
{
    return entries[op].call(be, args, err);
}

cb_status st_slot_watched(struct st_run *run, uint32_t op, const void *args, cb_error *err)
{
    const uint64_t usual = st_control(), before = run->control ? run->control : usual;
    st_control_set(before);
    const cb_status st = st_slot(run->be, op, args, err);
    const uint64_t after = st_control();
    st_control_set(usual);
    if (after != before)
        st_fail(run, "a call restores the caller's floating-point control",
                "%s leaves rounding or flushing changed: %#" PRIx64 ", not %#" PRIx64,
                cb_op_name(op), after, before);
    return st;
}

void st_operand(struct st_run *run, const char *names, uint64_t field, struct st_buffer *buffer,
                uint64_t at, uint64_t span)
{
    run->operands[run->n_operands++] = (struct st_operand){ names, buffer, field, at, span };
}

static void put_u64(void *args, uint64_t offset, uint64_t value)
{
    memcpy((unsigned char *)args + offset, &value, sizeof(value));
}

void st_point(struct st_run *run, void *args)
{
    static const uint64_t anything[] = { 0, 1, UINT64_MAX, 0x1000 };
    for (uint32_t i = 0; i < run->n_operands; i++) {
        const struct st_operand *o = &run->operands[i];
        put_u64(args, o->field,
                o->span ? st_address(o->buffer, o->at) : anything[st_random(&run->random) % 4]);
    }
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Whether one of names, separated by '|', stands in the text as a word. */
static bool names_one(const char *text, const char *names)
{
    while (*names) {
        const size_t n = strcspn(names, "|");
        for (const char *at = text; *at; at++) {
            if (!strncmp(at, names, n) && (at == text || !is_word(at[-1])) && !is_word(at[n]))
                return true;
        }
        names += n + (names[n] == '|');
    }
    return false;
}

/* A message names the op and the argument, and fits its field. */
static void check_message(struct st_run *run, uint32_t op, cb_status got, const cb_error *err,
                          const char *names, const char *values)
{
    static const char rule[] = "an error has a message that names the op, the argument and its "
                               "value";
    if (!memchr(err->msg, 0, sizeof(err->msg)) || !memchr(err->where, 0, sizeof(err->where)))
        st_fail(run, rule, "%s: the message is not terminated", cb_op_name(op));
    else if (!err->msg[0])
        st_fail(run, rule, "%s: %s with an empty message", cb_op_name(op), cb_status_name(got));
    else if (err->code != got)
        st_fail(run, rule, "%s: %s, but err->code is %s", cb_op_name(op), cb_status_name(got),
                cb_status_name(err->code));
    else if (!names_one(err->where, cb_op_name(op)) && !names_one(err->msg, cb_op_name(op)))
        st_fail(run, rule, "the message does not name %s: %s", cb_op_name(op), err->msg);
    else if (names && !names_one(err->msg, names))
        st_fail(run, rule, "%s: the message does not name %s: %s", cb_op_name(op), names, err->msg);
    else if (values && !names_one(err->msg, values))
        st_fail(run, rule, "%s: the message does not say %s: %s", cb_op_name(op), values, err->msg);
}

bool st_attempt(struct st_run *run, uint32_t op, const void *args, cb_status want,
                const char *names, const char *values)
{
    cb_error err, untouched;
    memset(&err, 0x5a, sizeof(err));
    err.size = sizeof(err);
    untouched = err;
    const bool listen = want != CB_OK || st_random(&run->random) % 8 != 0;
    const cb_status got = st_slot_watched(run, op, args, listen ? &err : NULL);
    if (got == CB_OK && memcmp(&err, &untouched, sizeof(err)))
        st_fail(run, "on CB_OK *err is untouched", "%s wrote to err", cb_op_name(op));
    if (!listen)
        cb_error_set(&err, got, "", "the call had no err");
    else if (got != CB_OK && !memcmp(&err, &untouched, sizeof(err)))
        cb_error_set(&err, got, "", "");
    if (!st_status(run, cb_op_name(op), got, want, &err))
        return false;
    if (want != CB_OK)
        check_message(run, op, got, &err, names, values);
    return run->outcome != CB_SELFTEST_FAILED;
}

/* What supports says to args, with pointers that mean nothing. */
static bool ask(struct st_run *run, uint32_t op, const void *args, cb_support *support)
{
    static const char rule[] = "supports answers any struct of a known op, and says why not";
    cb_error err;
    cb_error_init(&err);
    cb_support_init(support);
    support->answer = UINT32_MAX;
    if (!st_status(run, "supports", cb_supports(run->be, op, args, support, &err), CB_OK, &err))
        return false;
    if (support->answer > CB_SUPPORT_SLOW)
        st_fail(run, rule, "supports answers %" PRIu32, support->answer);
    else if (!memchr(support->reason, 0, sizeof(support->reason)))
        st_fail(run, rule, "the reason is not terminated");
    else if (support->answer == CB_SUPPORT_NO && !support->reason[0])
        st_fail(run, rule, "supports says no without a reason");
    return run->outcome != CB_SELFTEST_FAILED;
}

/* The op must refuse what supports refuses; then the case is none that the backend can pass. */
static void check_unsupported(struct st_run *run, uint32_t op, const void *args,
                              const cb_support *support)
{
    char reason[sizeof(support->reason)];
    memcpy(reason, support->reason, sizeof(reason));
    cb_error err;
    cb_error_init(&err);
    const cb_status got = st_slot_watched(run, op, args, &err);
    if (got == CB_OK)
        st_fail(run, "what supports says no to fails", "supports says no (%s), but %s is OK",
                reason, cb_op_name(op));
    else if (got != CB_UNSUPPORTED)
        st_fail(run, "a valid call is refused with UNSUPPORTED or not at all",
                "supports says no (%s), and %s answers %s: %.400s", reason, cb_op_name(op),
                cb_status_name(got), err.msg);
    else if (st_buffers_down(run) && st_buffers_kept(run))
        st_skip(run, reason);
}

static void spoil_pointer(struct st_run *run, void *args, const struct st_variant *v)
{
    const struct st_operand *o = v->field < run->n_operands ? &run->operands[v->field] : NULL;
    if (!o || !o->span || (v->value == ST_POINTER_MISALIGNED && o->buffer->element == 1)) {
        run->outcome = ST_VOID;
        return;
    }
    uint64_t address = 0;
    switch (v->value) {
    case ST_POINTER_NULL: break;
    case ST_POINTER_MISALIGNED: address = st_address(o->buffer, o->at) + 1; break;
    case ST_POINTER_FREED:
        if (!st_alloc(run, o->buffer->bytes, &address) || !st_free(run, address))
            return;
        break;
    case ST_POINTER_SHORT:
        address = o->buffer->base + o->buffer->bytes - (o->span - 1) * o->buffer->element;
        break;
    default: address = o->buffer->base - o->buffer->element;
    }
    put_u64(args, o->field, address);
}

/* What a message may say of the value of a spoiled field; NULL when it need not. */
static const char *value_text(const struct st_variant *v, char text[64])
{
    if (v->how != ST_FIELD || v->related || v->target)
        return NULL;
    snprintf(text, 64, "%" PRIu64 "|0x%" PRIx64 "%s", v->value, v->value, v->value ? "" : "|NULL");
    return text;
}

/* Calls what must fail. supports sees a fault unless it is one of a pointer. */
static void call_fault(struct st_run *run, uint32_t op, void *args, const struct st_variant *v)
{
    const char *names = v->names;
    char values[64];
    if (v->how == ST_POINTER) {
        spoil_pointer(run, args, v);
        if (run->outcome != CB_SELFTEST_PASSED)
            return;
        names = run->operands[v->field].names;
    }
    cb_support support;
    if (v->how != ST_ARGS_NULL) {
        if (!ask(run, op, args, &support))
            return;
        const bool unseen = v->how == ST_POINTER || v->how == ST_INDEX;
        if (unseen && support.answer == CB_SUPPORT_NO)
            st_fail(run, "supports looks neither at pointers nor at indices",
                    "supports says no: %s", support.reason);
        if (!unseen && support.answer != CB_SUPPORT_NO)
            st_fail(run, "what supports does not say no to may not fail for its arguments",
                    "supports does not say no");
    }
    if (st_attempt(run, op, v->how == ST_ARGS_NULL ? NULL : args, v->status, names,
                   value_text(v, values)) &&
        st_buffers_down(run))
        st_buffers_kept(run);
}

/* Puts what the variant says into its field. */
static void spoil_field(void *args, const struct st_variant *v)
{
    unsigned char *field = (unsigned char *)args + v->field;
    const uint32_t narrow = (uint32_t)v->value;
    if (v->target)
        memcpy(field, (const void *)&v->target, sizeof(v->target));
    else if (v->width == sizeof(narrow))
        memcpy(field, &narrow, sizeof(narrow));
    else
        memcpy(field, &v->value, sizeof(v->value));
}

/* The struct of a later minor: accepted as long as what is not known is zero. */
static void lengthen(void *args, uint64_t value)
{
    put_u64(args, 0, CB_ARGS_SIZE_MAX);
    ((unsigned char *)args)[CB_ARGS_SIZE_MAX - 1] = (unsigned char)value;
}

/* A call that must be right; what args was is gone before its work need be done. */
static bool call_valid(struct st_run *run, uint32_t op, void *args, cb_stream *stream)
{
    cb_error err;
    cb_error_init(&err);
    if (!st_attempt(run, op, args, CB_OK, NULL, NULL))
        return false;
    memset(args, 0xff, entries[op].size);
    const cb_status st = stream ? run->be.api->stream_synchronize(run->be.self, stream, &err)
                                : cb_synchronize(run->be, &err);
    if (!st_status(run, "synchronize", st, CB_OK, &err) || !st_buffers_down(run))
        return false;
    st_buffers_judge(run);
    return run->outcome == CB_SELFTEST_PASSED;
}

static void call_on_stream(struct st_run *run, uint32_t op, void *args)
{
    if (!CB_HAS(run->be.api, stream_create) || !CB_HAS(run->be.api, stream_synchronize)) {
        st_skip(run, "the table has no streams");
        return;
    }
    cb_error err;
    cb_error_init(&err);
    cb_stream *stream = NULL;
    if (!st_offered(run, "stream_create",
                    run->be.api->stream_create(run->be.self, 0, &stream, &err), &err))
        return;
    memcpy((unsigned char *)args + entries[op].size - sizeof(cb_stream *), (void *)&stream,
           sizeof(cb_stream *));
    call_valid(run, op, args, stream);
    st_status(run, "stream_destroy", run->be.api->stream_destroy(run->be.self, stream, &err), CB_OK,
              &err);
}

/* A valid call and, once it has passed, what the variant adds to it. */
static void call_again(struct st_run *run, uint32_t op, void *args, const struct st_variant *v)
{
    uint64_t copy[ST_ARGS_ROOM / sizeof(uint64_t)];
    memcpy(copy, args, sizeof(copy));
    if (!call_valid(run, op, args, NULL))
        return;
    if (v)
        st_rerun(run, op, copy, v->how);
    else if (run->options.against.api)
        st_compare(run, op, copy);
}

static void call_default(struct st_run *run, uint32_t op, void *args)
{
    uint32_t type;
    memcpy(&type, (unsigned char *)args + TYPE_OFFSET, sizeof(type));
    if (!type || type != entries[op].type) {
        run->outcome = ST_VOID;
        return;
    }
    memset((unsigned char *)args + TYPE_OFFSET, 0, sizeof(type));
    call_valid(run, op, args, NULL);
}

void st_call(struct st_run *run, uint32_t op, const void *args, const struct st_variant *v)
{
    uint64_t room[ST_ARGS_ROOM / sizeof(uint64_t)] = { 0 };
    cb_support support;
    memcpy(room, args, entries[op].size);
    if (run->outcome != CB_SELFTEST_PASSED || !st_buffers_up(run) || !ask(run, op, room, &support))
        return;
    st_point(run, room);
    if (support.answer == CB_SUPPORT_NO) {
        check_unsupported(run, op, room, &support);
        return;
    }
    switch (v ? v->how : ST_PLAIN) {
    case ST_PLAIN:
    case ST_AGAIN:
    case ST_SHIFTED:
    case ST_CONCURRENT:
    case ST_CONTROL:
    case ST_THREADS: call_again(run, op, room, v); break;
    case ST_ON_STREAM: call_on_stream(run, op, room); break;
    case ST_DEFAULT: call_default(run, op, room); break;
    case ST_ARGS_LONGER:
        lengthen(room, v->value);
        if (v->status == CB_OK)
            call_valid(run, op, room, NULL);
        else
            call_fault(run, op, room, v);
        break;
    case ST_FIELD:
        spoil_field(room, v);
        call_fault(run, op, room, v);
        break;
    default: call_fault(run, op, room, v);
    }
}
