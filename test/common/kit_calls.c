/* SPDX-License-Identifier: Apache-2.0 */
/* A small valid call of every op. Extents are unequal and odd, matrices have padding, so that a
 * mix-up of two of them shows. */
#include "kit.h"

#include <stdio.h>
#include <string.h>

static const uint64_t shape[3] = { 3, 4, 5 };
static const uint64_t indices[4] = { 3, 0, 6, 3 };

static void add_operand(struct kit_call *c, const char *name, size_t field, uint32_t dtype,
                        uint64_t count)
{
    c->operands[c->n_operands++] = (struct kit_operand){ name, field, dtype, count };
}
#define ADD_OPERAND(call, type, field, dtype, count)                                               \
    add_operand(call, #field, offsetof(type, field), dtype, count)

/* The three gemms have their common fields by the same names. `batch` matrices lie stride_x apart,
 * of which mixed and plain ones have one. */
#define FILL_GEMM(call, member, type, in, acc, variant, last)                                      \
    do {                                                                                           \
        type *g = &(call)->args.member;                                                            \
        type##_init(g);                                                                            \
        g->m = 5, g->n = 4, g->k = 3;                                                              \
        g->alpha = 1.25, g->beta = 0.5;                                                            \
        g->trans_a = (variant)&1, g->trans_b = (variant) >> 1;                                     \
        g->lda = (g->trans_a ? g->k : g->m) + 1;                                                   \
        g->ldb = (g->trans_b ? g->n : g->k) + 1;                                                   \
        g->ldc = g->m + 1;                                                                         \
        const uint64_t extent_a = g->lda * (g->trans_a ? g->m : g->k) - 1;                         \
        const uint64_t extent_b = g->ldb * (g->trans_b ? g->k : g->n) - 1;                         \
        const uint64_t extent_c = g->ldc * g->n - 1;                                               \
        ADD_OPERAND(call, type, a, in, (last) * (extent_a + 2) + extent_a);                        \
        ADD_OPERAND(call, type, b, in, (last) * (extent_b + 2) + extent_b);                        \
        ADD_OPERAND(call, type, c, acc, (last) * (extent_c + 2) + extent_c);                       \
        (call)->out = 2;                                                                           \
    } while (0)

static int make_gemm(struct kit_call *c, uint32_t dtype, uint32_t variant)
{
    FILL_GEMM(c, gemm, cb_gemm_args, dtype, dtype == CB_F64 ? CB_F64 : CB_F32, variant, 0);
    c->args.gemm.dtype = dtype;
    return variant < 4;
}

static int make_mixed(struct kit_call *c, uint32_t dtype, uint32_t variant)
{
    FILL_GEMM(c, mixed, cb_gemm_mixed_precision_args, CB_F32, CB_F32, variant & 3, 0);
    c->args.mixed.precision = dtype == CB_F16 ? CB_MIXED_F16 : CB_MIXED_BF16;
    return variant < 4 && (dtype == CB_F16 || dtype == CB_BF16);
}

static int make_batched(struct kit_call *c, uint32_t dtype, uint32_t variant)
{
    FILL_GEMM(c, batched, cb_batched_gemm_args, dtype, dtype == CB_F64 ? CB_F64 : CB_F32, variant,
              2);
    cb_batched_gemm_args *g = &c->args.batched;
    g->dtype = dtype;
    g->batch = 3;
    g->stride_a = g->lda * (g->trans_a ? g->m : g->k) + 1;
    g->stride_b = g->ldb * (g->trans_b ? g->k : g->n) + 1;
    g->stride_c = g->ldc * g->n + 1;
    return variant < 4;
}

static int make_conv(struct kit_call *c, uint32_t dtype, uint32_t variant)
{
    c->args.conv = (cb_conv2d_args){ CB_ARGS(cb_conv2d_args),
                                     .dtype = CB_F32,
                                     .input_shape = { 2, 4, 5, 6 },
                                     .filter_shape = { 6, 2, 3, 2 },
                                     .output_shape = { 2, 6, 3, 5 },
                                     .stride = { 2, 1 },
                                     .padding = { 1, 0, 2, 1 },
                                     .dilation = { 1, 2 },
                                     .groups = 2 };
    ADD_OPERAND(c, cb_conv2d_args, input, CB_F32, 2 * 4 * 5 * 6);
    ADD_OPERAND(c, cb_conv2d_args, filter, CB_F32, 6 * 2 * 3 * 2);
    ADD_OPERAND(c, cb_conv2d_args, output, CB_F32, 2 * 6 * 3 * 5);
    c->out = c->op == CB_OP_CONV2D_FORWARD ? 2 : c->op == CB_OP_CONV2D_BACKWARD_DATA ? 0 : 1;
    return dtype == CB_F32 && variant < 1;
}

static int make_attention(struct kit_call *c, uint32_t dtype, uint32_t variant)
{
    c->args.attention = (cb_attention_args){ CB_ARGS(cb_attention_args),
                                             .dtype = CB_F32,
                                             .flags = variant ? CB_ATTENTION_CAUSAL : 0,
                                             .batch = 2,
                                             .heads = 4,
                                             .kv_heads = 2,
                                             .seq_q = 3,
                                             .seq_kv = 5,
                                             .head_dim = 4,
                                             .scale = 0.5 };
    ADD_OPERAND(c, cb_attention_args, q, CB_F32, 2 * 4 * 3 * 4);
    ADD_OPERAND(c, cb_attention_args, k, CB_F32, 2 * 2 * 5 * 4);
    ADD_OPERAND(c, cb_attention_args, v, CB_F32, 2 * 2 * 5 * 4);
    ADD_OPERAND(c, cb_attention_args, o, CB_F32, 2 * 4 * 3 * 4);
    c->out = 3;
    return dtype == CB_F32 && variant < 2;
}

static int make_softmax(struct kit_call *c, uint32_t dtype, uint32_t variant)
{
    c->args.softmax = (cb_softmax_args){ CB_ARGS(cb_softmax_args), .dtype = dtype, .shape = shape,
                                         .rank = 3, .axis = variant };
    ADD_OPERAND(c, cb_softmax_args, input, dtype, 60);
    ADD_OPERAND(c, cb_softmax_args, output, dtype, 60);
    c->out = 1;
    return variant < 3;
}

static int make_reduce(struct kit_call *c, uint32_t dtype, uint32_t variant)
{
    c->args.reduce = (cb_reduce_args){ CB_ARGS(cb_reduce_args), .dtype = dtype, .op = variant,
                                       .shape = shape,          .rank = 3,      .axis = 1 };
    ADD_OPERAND(c, cb_reduce_args, input, dtype, 60);
    ADD_OPERAND(c, cb_reduce_args, output, dtype, 15);
    c->out = 1;
    return variant <= CB_REDUCE_MEAN;
}

static int make_unary(struct kit_call *c, uint32_t dtype, uint32_t variant)
{
    c->args.unary =
        (cb_unary_args){ CB_ARGS(cb_unary_args), .dtype = dtype, .op = variant, .n = 37 };
    ADD_OPERAND(c, cb_unary_args, input, dtype, 37);
    ADD_OPERAND(c, cb_unary_args, output, dtype, 37);
    c->out = 1;
    return variant <= CB_UNARY_NEG;
}

static int make_binary(struct kit_call *c, uint32_t dtype, uint32_t variant)
{
    c->args.binary =
        (cb_binary_args){ CB_ARGS(cb_binary_args), .dtype = dtype, .op = variant, .n = 37 };
    ADD_OPERAND(c, cb_binary_args, a, dtype, 37);
    ADD_OPERAND(c, cb_binary_args, b, dtype, 37);
    ADD_OPERAND(c, cb_binary_args, output, dtype, 37);
    c->out = 2;
    return variant <= CB_BINARY_MIN;
}

static int make_rows(struct kit_call *c, uint32_t dtype, uint32_t variant)
{
    c->args.rows = (cb_rows_args){ CB_ARGS(cb_rows_args),
                                   .element_size = (uint32_t)kit_size(dtype),
                                   .rows = 7,
                                   .cols = 5,
                                   .indices = indices,
                                   .n_indices = 4 };
    const int gather = c->op == CB_OP_GATHER;
    ADD_OPERAND(c, cb_rows_args, input, dtype, gather ? 7 * 5 : 4 * 5);
    ADD_OPERAND(c, cb_rows_args, output, dtype, gather ? 4 * 5 : 7 * 5);
    c->out = 1;
    return variant < 1;
}

enum {
    VARIANTS_MAX = 8
};

static int make(struct kit_call *c, uint32_t op, uint32_t dtype, uint32_t variant)
{
    static int (*const makers[CB_OP_COUNT])(struct kit_call *, uint32_t, uint32_t) = {
        [CB_OP_GEMM] = make_gemm,
        [CB_OP_GEMM_MIXED_PRECISION] = make_mixed,
        [CB_OP_BATCHED_GEMM] = make_batched,
        [CB_OP_CONV2D_FORWARD] = make_conv,
        [CB_OP_CONV2D_BACKWARD_DATA] = make_conv,
        [CB_OP_CONV2D_BACKWARD_FILTER] = make_conv,
        [CB_OP_ATTENTION] = make_attention,
        [CB_OP_SOFTMAX] = make_softmax,
        [CB_OP_REDUCE] = make_reduce,
        [CB_OP_UNARY] = make_unary,
        [CB_OP_BINARY] = make_binary,
        [CB_OP_GATHER] = make_rows,
        [CB_OP_SCATTER] = make_rows,
    };
    memset(c, 0, sizeof(*c));
    c->op = op;
    snprintf(c->name, sizeof(c->name), "%s %s %u", cb_op_name(op), cb_dtype_name(dtype), variant);
    return makers[op](c, dtype, variant);
}

int kit_call(unsigned i, struct kit_call *call)
{
    for (uint32_t op = 0; op < CB_OP_COUNT; op++)
        for (unsigned t = 0; t < 4; t++)
            for (uint32_t variant = 0; variant < VARIANTS_MAX; variant++)
                if (make(call, op, kit_dtypes[t], variant) && i-- == 0)
                    return 1;
    return 0;
}

void kit_call_f32(uint32_t op, struct kit_call *call)
{
    make(call, op, op == CB_OP_GEMM_MIXED_PRECISION ? CB_F16 : CB_F32, 0);
}

uint64_t *kit_pointer(struct kit_call *call, unsigned operand)
{
    return (uint64_t *)(void *)((char *)&call->args + call->operands[operand].field);
}

/* The stream is every struct's last field of 1.0. */
cb_stream **kit_stream(struct kit_call *call)
{
    return (cb_stream **)(void *)((char *)&call->args + call->args.size - sizeof(cb_stream *));
}

uint64_t kit_bytes(const struct kit_call *call, unsigned operand)
{
    return call->operands[operand].count * kit_size(call->operands[operand].dtype);
}

void kit_data_random(const struct kit_call *call, struct kit_data *data, double scale,
                     uint64_t seed)
{
    for (unsigned i = 0; i < call->n_operands; i++)
        kit_random(call->operands[i].dtype, data->bytes[i], call->operands[i].count, scale,
                   seed + 1000 * i);
}

cb_status kit_run(cb_backend be, const struct kit_call *call, cb_error *err)
{
    const union kit_args *args = &call->args;
    switch (call->op) {
    case CB_OP_GEMM: return cb_gemm(be, &args->gemm, err);
    case CB_OP_GEMM_MIXED_PRECISION: return cb_gemm_mixed_precision(be, &args->mixed, err);
    case CB_OP_BATCHED_GEMM: return cb_batched_gemm(be, &args->batched, err);
    case CB_OP_CONV2D_FORWARD: return cb_conv2d_forward(be, &args->conv, err);
    case CB_OP_CONV2D_BACKWARD_DATA: return cb_conv2d_backward_data(be, &args->conv, err);
    case CB_OP_CONV2D_BACKWARD_FILTER: return cb_conv2d_backward_filter(be, &args->conv, err);
    case CB_OP_ATTENTION: return cb_attention(be, &args->attention, err);
    case CB_OP_SOFTMAX: return cb_softmax(be, &args->softmax, err);
    case CB_OP_REDUCE: return cb_reduce(be, &args->reduce, err);
    case CB_OP_UNARY: return cb_unary(be, &args->unary, err);
    case CB_OP_BINARY: return cb_binary(be, &args->binary, err);
    case CB_OP_GATHER: return cb_gather(be, &args->rows, err);
    default: return cb_scatter(be, &args->rows, err);
    }
}

void kit_unplace(cb_backend be, struct kit_call *call)
{
    for (unsigned i = 0; i < call->n_operands; i++) {
        if (*kit_pointer(call, i))
            cb_free(be, *kit_pointer(call, i), NULL);
        *kit_pointer(call, i) = 0;
    }
}

cb_status kit_place(cb_backend be, struct kit_call *call, const struct kit_data *data,
                    cb_error *err)
{
    cb_status status = CB_OK;
    for (unsigned i = 0; i < call->n_operands; i++)
        *kit_pointer(call, i) = 0;
    for (unsigned i = 0; i < call->n_operands && status == CB_OK; i++) {
        status = cb_alloc(be, kit_bytes(call, i), kit_pointer(call, i), err);
        if (status == CB_OK)
            status = cb_upload(be, *kit_pointer(call, i), data->bytes[i], kit_bytes(call, i), err);
    }
    if (status != CB_OK)
        kit_unplace(be, call);
    return status;
}

cb_status kit_run_apart(cb_backend be, struct kit_call *call, const struct kit_data *data,
                        void *result, cb_error *err)
{
    cb_status status = kit_place(be, call, data, err);
    if (status != CB_OK)
        return status;
    status = kit_run(be, call, err);
    const cb_status read =
        cb_download(be, result, *kit_pointer(call, call->out), kit_bytes(call, call->out), NULL);
    kit_unplace(be, call);
    return status != CB_OK ? status : read;
}
