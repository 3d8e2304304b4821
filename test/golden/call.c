/* SPDX-License-Identifier: Apache-2.0 */
/* From the keys of a line to a call of the table. */
#include "golden.h"

#include <string.h>

typedef cb_status (*call_fn)(cb_backend be, const struct case_line *line,
                             const struct golden_operands *at, cb_error *err);

static cb_status call_gemm(cb_backend be, const struct case_line *line,
                           const struct golden_operands *at, cb_error *err)
{
    cb_gemm_args args;
    case_gemm(line, &args);
    args.a = at->in[0];
    args.b = at->in[1];
    args.c = at->out;
    return cb_gemm(be, &args, err);
}

static cb_status call_gemm_mixed(cb_backend be, const struct case_line *line,
                                 const struct golden_operands *at, cb_error *err)
{
    cb_gemm_mixed_precision_args args;
    case_gemm_mixed(line, &args);
    args.a = at->in[0];
    args.b = at->in[1];
    args.c = at->out;
    return cb_gemm_mixed_precision(be, &args, err);
}

static cb_status call_batched_gemm(cb_backend be, const struct case_line *line,
                                   const struct golden_operands *at, cb_error *err)
{
    cb_batched_gemm_args args;
    case_batched_gemm(line, &args);
    args.stride_a = case_u64(line, "stride_a");
    args.stride_b = case_u64(line, "stride_b");
    args.stride_c = case_u64(line, "stride_c");
    args.a = at->in[0];
    args.b = at->in[1];
    args.c = at->out;
    return cb_batched_gemm(be, &args, err);
}

static void read_conv2d(const struct case_line *line, cb_conv2d_args *args)
{
    uint64_t pad[2] = { 0, 0 };
    cb_conv2d_args_init(args);
    case_list(line, "in_shape", args->input_shape, 4);
    case_list(line, "f_shape", args->filter_shape, 4);
    case_list(line, "out_shape", args->output_shape, 4);
    case_list(line, "stride", args->stride, 2);
    case_list(line, "pad", pad, 2);
    args->padding[0] = args->padding[2] = pad[0];
    args->padding[1] = args->padding[3] = pad[1];
}

static cb_status call_conv2d_fwd(cb_backend be, const struct case_line *line,
                                 const struct golden_operands *at, cb_error *err)
{
    cb_conv2d_args args;
    read_conv2d(line, &args);
    args.input = at->in[0];
    args.filter = at->in[1];
    args.output = at->out;
    return cb_conv2d_forward(be, &args, err);
}

static cb_status call_conv2d_bwd_data(cb_backend be, const struct case_line *line,
                                      const struct golden_operands *at, cb_error *err)
{
    cb_conv2d_args args;
    read_conv2d(line, &args);
    args.output = at->in[0];
    args.filter = at->in[1];
    args.input = at->out;
    return cb_conv2d_backward_data(be, &args, err);
}

static cb_status call_conv2d_bwd_filter(cb_backend be, const struct case_line *line,
                                        const struct golden_operands *at, cb_error *err)
{
    cb_conv2d_args args;
    read_conv2d(line, &args);
    args.input = at->in[0];
    args.output = at->in[1];
    args.filter = at->out;
    return cb_conv2d_backward_filter(be, &args, err);
}

static cb_status call_attention(cb_backend be, const struct case_line *line,
                                const struct golden_operands *at, cb_error *err)
{
    cb_attention_args args;
    cb_attention_args_init(&args);
    args.flags = case_u64(line, "causal") ? CB_ATTENTION_CAUSAL : 0;
    args.batch = case_u64(line, "batch");
    args.heads = case_u64(line, "heads");
    args.seq_q = case_u64(line, "seq_q");
    args.seq_kv = case_u64(line, "seq_kv");
    args.head_dim = case_u64(line, "head_dim");
    args.scale = case_f64(line, "scale");
    args.q = at->in[0];
    args.k = at->in[1];
    args.v = at->in[2];
    args.o = at->out;
    return cb_attention(be, &args, err);
}

static cb_status call_softmax(cb_backend be, const struct case_line *line,
                              const struct golden_operands *at, cb_error *err)
{
    uint64_t shape[CB_MAX_RANK];
    cb_softmax_args args;
    cb_softmax_args_init(&args);
    args.rank = case_list(line, "shape", shape, CB_MAX_RANK);
    args.shape = shape;
    args.axis = (uint32_t)case_u64(line, "axis");
    args.input = at->in[0];
    args.output = at->out;
    return cb_softmax(be, &args, err);
}

static cb_status call_reduce(cb_backend be, const struct case_line *line,
                             const struct golden_operands *at, cb_error *err)
{
    uint64_t shape[CB_MAX_RANK];
    cb_reduce_args args;
    cb_reduce_args_init(&args);
    args.op = case_reduce_op(line, "rop");
    args.rank = case_list(line, "shape", shape, CB_MAX_RANK);
    args.shape = shape;
    args.axis = (uint32_t)case_u64(line, "axis");
    args.input = at->in[0];
    args.output = at->out;
    return cb_reduce(be, &args, err);
}

static cb_status call_unary(cb_backend be, const struct case_line *line,
                            const struct golden_operands *at, cb_error *err)
{
    cb_unary_args args;
    cb_unary_args_init(&args);
    args.op = case_unary_op(line, "uop");
    args.n = case_u64(line, "n");
    args.input = at->in[0];
    args.output = at->out;
    return cb_unary(be, &args, err);
}

static cb_status call_binary(cb_backend be, const struct case_line *line,
                             const struct golden_operands *at, cb_error *err)
{
    cb_binary_args args;
    cb_binary_args_init(&args);
    args.op = case_binary_op(line, "bop");
    args.n = case_u64(line, "n");
    args.a = at->in[0];
    args.b = at->in[1];
    args.output = at->out;
    return cb_binary(be, &args, err);
}

static cb_status call_rows(cb_backend be, const struct case_line *line,
                           const struct golden_operands *at, cb_error *err)
{
    cb_rows_args args;
    cb_rows_args_init(&args);
    args.rows = case_u64(line, "rows");
    args.cols = case_u64(line, "cols");
    args.indices = at->indices;
    args.n_indices = case_u64(line, "nidx");
    args.input = at->in[0];
    args.output = at->out;
    return strcmp(line->op, "gather") == 0 ? cb_gather(be, &args, err) : cb_scatter(be, &args, err);
}

static const struct {
    const char *op;
    call_fn call; /* NULL: no op of the table */
} ops[] = {
    { "gemm", call_gemm },
    { "gemm_mixed", call_gemm_mixed },
    { "batched_gemm", call_batched_gemm },
    { "conv2d_fwd", call_conv2d_fwd },
    { "conv2d_bwd_data", call_conv2d_bwd_data },
    { "conv2d_bwd_filter", call_conv2d_bwd_filter },
    { "attention", call_attention },
    { "softmax", call_softmax },
    { "reduce", call_reduce },
    { "unary", call_unary },
    { "binary", call_binary },
    { "gather", call_rows },
    { "scatter", call_rows },
    { "round_f16", NULL },
    { "round_bf16", NULL },
    { "decode_f16", NULL },
};

static call_fn find_call(const struct case_line *line)
{
    for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
        if (strcmp(line->op, ops[i].op) == 0)
            return ops[i].call;
    case_fail(line, "no such op");
}

/* Whether the lists of a convolution are as long as the fields of cb_conv2d_args. */
static int fits_fields(const struct case_line *line)
{
    static const struct {
        const char *key;
        uint32_t length;
    } lists[] = {
        { "in_shape", 4 }, { "f_shape", 4 }, { "out_shape", 4 }, { "stride", 2 }, { "pad", 2 },
    };
    uint64_t values[CB_MAX_RANK];
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        if (case_list(line, lists[i].key, values, CB_MAX_RANK) != lists[i].length)
            return 0;
    return 1;
}

enum golden_route golden_route(const struct case_line *line)
{
    if (!find_call(line))
        return GOLDEN_ROUNDING;
    if (strncmp(line->op, "conv2d", 6) == 0 && !fits_fields(line))
        return GOLDEN_FIELDS;
    return GOLDEN_TABLE;
}

cb_status golden_call(cb_backend be, const struct case_line *line,
                      const struct golden_operands *operands, cb_error *err)
{
    return find_call(line)(be, line, operands, err);
}
