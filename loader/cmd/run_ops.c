/* SPDX-License-Identifier: Apache-2.0 */
#include "run.h"

#include <stdio.h>
#include <string.h>

static const char *const mixed_names[] = { "f16", "bf16" };
static const char *const reduce_names[] = { "sum", "max", "min", "mean" };
static const char *const unary_names[] = { "relu", "sigmoid", "tanh", "exp",
                                           "log",  "sqrt",    "abs",  "neg" };
static const char *const binary_names[] = { "add", "sub", "mul", "div", "max", "min" };

#define GEMM_KEYS   (KEY_ALPHA | KEY_BETA | KEY_TRANS_A | KEY_TRANS_B)
#define CONV2D_KEYS (KEY_STRIDE | KEY_PADDING | KEY_DILATION | KEY_GROUPS)
#define NAMES(list) .names = list, .n_names = sizeof(list) / sizeof(list[0])

static const struct op ops[CB_OP_COUNT] = {
    { CB_OP_GEMM, 2, 3, "A B [C]", "alpha A B + beta C, in Fortran order; of f16 A and B, C is f32",
      .keys = GEMM_KEYS, .prepare = prepare_gemm },
    { CB_OP_GEMM_MIXED_PRECISION, 2, 3, "A B [C]",
      "alpha A B + beta C of f32, with A and B rounded to 16 bits, of f16 or as asked",
      .keys = GEMM_KEYS | KEY_PRECISION, NAMES(mixed_names),
      .prepare = prepare_gemm_mixed_precision },
    { CB_OP_BATCHED_GEMM, 2, 3, "A B [C]",
      "the same for each matrix of [batch, rows, columns]; a batch of 1 is shared",
      .keys = GEMM_KEYS, .prepare = prepare_batched_gemm },
    { CB_OP_CONV2D_FORWARD, 2, 2, "INPUT FILTER", "cross-correlation: [N,C,H,W], [K,C/groups,R,S]",
      .keys = CONV2D_KEYS, .prepare = prepare_conv2d_forward },
    { CB_OP_CONV2D_BACKWARD_DATA, 2, 2, "FILTER GRADIENT",
      "gradient of the input, from that of the output", .keys = CONV2D_KEYS | KEY_INPUT_SHAPE,
      .prepare = prepare_conv2d_backward_data },
    { CB_OP_CONV2D_BACKWARD_FILTER, 2, 2, "INPUT GRADIENT",
      "gradient of the filter, from that of the output", .keys = CONV2D_KEYS | KEY_FILTER_SHAPE,
      .prepare = prepare_conv2d_backward_filter },
    { CB_OP_ATTENTION, 3, 3, "Q K V",
      "softmax(scale Q K^T) V: [batch, heads, seq, head_dim]; K and V may have fewer heads",
      .keys = KEY_SCALE | KEY_CAUSAL, .prepare = prepare_attention },
    { CB_OP_SOFTMAX, 1, 1, "X", "exp(x) / sum of exp(x), along an axis: the last", .keys = KEY_AXIS,
      .prepare = prepare_softmax },
    { CB_OP_REDUCE, 1, 1, "X", "one axis, which the result lacks", .keys = KEY_OP | KEY_AXIS,
      .needed = KEY_OP | KEY_AXIS, NAMES(reduce_names), .prepare = prepare_reduce },
    { CB_OP_UNARY, 1, 1, "X", "each element", .keys = KEY_OP, .needed = KEY_OP, NAMES(unary_names),
      .prepare = prepare_unary },
    { CB_OP_BINARY, 2, 2, "A B", "element by element; both have one shape", .keys = KEY_OP,
      .needed = KEY_OP, NAMES(binary_names), .prepare = prepare_binary },
    { CB_OP_GATHER, 2, 2, "TABLE INDICES", "the rows TABLE[INDICES]", .prepare = prepare_gather },
    { CB_OP_SCATTER, 3, 3, "TABLE INDICES ROWS", "TABLE after TABLE[INDICES] = ROWS",
      .prepare = prepare_scatter },
};

const struct op *op_find(const char *name)
{
    const char *names[CB_OP_COUNT];
    for (uint64_t i = 0; i < CB_OP_COUNT; i++) {
        names[i] = cb_op_name(ops[i].code);
        if (!strcmp(names[i], name))
            return &ops[i];
    }
    complain("unknown op '%s'; the nearest is %s", name, nearest(name, names, CB_OP_COUNT));
    return NULL;
}

void run_help(void)
{
    puts("\nOps with their files and keys:");
    for (uint64_t i = 0; i < CB_OP_COUNT; i++) {
        printf("  %s %s", cb_op_name(ops[i].code), ops[i].files);
        keys_of_op_help(&ops[i]);
        printf("\n      %s\n", ops[i].story);
    }
    puts("\nKeys, and what they are when not given:");
    keys_help();
}

cb_status op_call(struct run *run, cb_backend be, cb_error *err)
{
    switch (run->op->code) {
    case CB_OP_GEMM: return cb_gemm(be, &run->args.gemm, err);
    case CB_OP_GEMM_MIXED_PRECISION: return cb_gemm_mixed_precision(be, &run->args.mixed, err);
    case CB_OP_BATCHED_GEMM: return cb_batched_gemm(be, &run->args.batched, err);
    case CB_OP_CONV2D_FORWARD: return cb_conv2d_forward(be, &run->args.conv2d, err);
    case CB_OP_CONV2D_BACKWARD_DATA: return cb_conv2d_backward_data(be, &run->args.conv2d, err);
    case CB_OP_CONV2D_BACKWARD_FILTER: return cb_conv2d_backward_filter(be, &run->args.conv2d, err);
    case CB_OP_ATTENTION: return cb_attention(be, &run->args.attention, err);
    case CB_OP_SOFTMAX: return cb_softmax(be, &run->args.softmax, err);
    case CB_OP_REDUCE: return cb_reduce(be, &run->args.reduce, err);
    case CB_OP_UNARY: return cb_unary(be, &run->args.unary, err);
    case CB_OP_BINARY: return cb_binary(be, &run->args.binary, err);
    case CB_OP_GATHER: return cb_gather(be, &run->args.rows, err);
    case CB_OP_SCATTER: return cb_scatter(be, &run->args.rows, err);
    default: return CB_UNSUPPORTED;
    }
}
