/* SPDX-License-Identifier: Apache-2.0 */
/* The option warmup: runs ops once, small, on buffers of their own, so that their programs are
 * built before the first call that counts. What fails is logged; the op will say it again. */
#include "opencl.h"

#include <string.h>

#define SIDE 128 /* enough for the kernels of large shapes */

/* Whether a list with commas, or "all", has the name. */
static bool lists(const char *list, const char *name)
{
    const size_t length = strlen(name);
    if (!strcmp(list, "all"))
        return true;
    for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") == length && !memcmp(at, name, length))
            return true;
    return false;
}

bool ocl_warmup_valid(const char *ops)
{
    uint64_t known = 0, names = 1;
    if (!strcmp(ops, "all"))
        return true;
    for (const char *c = ops; *c; c++)
        names += *c == ',';
    for (uint32_t op = 0; op < CB_OP_COUNT; op++)
        known += lists(ops, cb_op_name(op));
    return *ops && known == names;
}

/* ---- one small call of each op; p is three buffers ---- */

static cb_status run_gemm(void *self, uint32_t op, uint32_t type, const uint64_t *p, cb_error *err)
{
    const cb_gemm_args gemm = { CB_ARGS(cb_gemm_args),
                                .dtype = type,
                                .m = SIDE,
                                .n = SIDE,
                                .k = SIDE,
                                .alpha = 1.0,
                                .a = p[0],
                                .lda = SIDE,
                                .b = p[1],
                                .ldb = SIDE,
                                .c = p[2],
                                .ldc = SIDE };
    const cb_gemm_mixed_precision_args mixed = { CB_ARGS(cb_gemm_mixed_precision_args),
                                                 .precision =
                                                     type == CB_BF16 ? CB_MIXED_BF16 : CB_MIXED_F16,
                                                 .m = SIDE,
                                                 .n = SIDE,
                                                 .k = SIDE,
                                                 .alpha = 1.0,
                                                 .a = p[0],
                                                 .lda = SIDE,
                                                 .b = p[1],
                                                 .ldb = SIDE,
                                                 .c = p[2],
                                                 .ldc = SIDE };
    const cb_batched_gemm_args batched = { CB_ARGS(cb_batched_gemm_args),
                                           .dtype = type,
                                           .m = SIDE,
                                           .n = SIDE,
                                           .k = SIDE,
                                           .alpha = 1.0,
                                           .a = p[0],
                                           .lda = SIDE,
                                           .b = p[1],
                                           .ldb = SIDE,
                                           .c = p[2],
                                           .ldc = SIDE,
                                           .stride_a = 0,
                                           .stride_b = 0,
                                           .stride_c = 0,
                                           .batch = 1 };
    if (op == CB_OP_GEMM)
        return ocl_gemm(self, &gemm, err);
    if (op == CB_OP_BATCHED_GEMM)
        return ocl_batched_gemm(self, &batched, err);
    return type == CB_BF16 || type == CB_F16 ? ocl_gemm_mixed_precision(self, &mixed, err) : CB_OK;
}

static cb_status run_conv2d(void *self, uint32_t op, const uint64_t *p, cb_error *err)
{
    const cb_conv2d_args args = { CB_ARGS(cb_conv2d_args),
                                  .input_shape = { 1, 4, 16, 16 },
                                  .filter_shape = { 4, 4, 3, 3 },
                                  .output_shape = { 1, 4, 16, 16 },
                                  .stride = { 1, 1 },
                                  .padding = CB_PADDING(1, 1),
                                  .input = p[0],
                                  .filter = p[1],
                                  .output = p[2] };
    return op == CB_OP_CONV2D_FORWARD         ? ocl_conv2d_forward(self, &args, err)
           : op == CB_OP_CONV2D_BACKWARD_DATA ? ocl_conv2d_backward_data(self, &args, err)
                                              : ocl_conv2d_backward_filter(self, &args, err);
}

static cb_status run_attention(void *self, const uint64_t *p, cb_error *err)
{
    const cb_attention_args args = { CB_ARGS(cb_attention_args),
                                     .batch = 1,
                                     .heads = 1,
                                     .seq_q = 16,
                                     .seq_kv = 16,
                                     .head_dim = 64,
                                     .scale = 0.125,
                                     .q = p[0],
                                     .k = p[1],
                                     .v = p[1],
                                     .o = p[2] };
    return ocl_attention(self, &args, err);
}

static cb_status run_tensor(void *self, uint32_t op, uint32_t type, const uint64_t *p,
                            cb_error *err)
{
    static const uint64_t shape[] = { SIDE, SIDE };
    const cb_softmax_args softmax = { CB_ARGS(cb_softmax_args),
                                      .dtype = type,
                                      .shape = shape,
                                      .rank = 2,
                                      .axis = 1,
                                      .input = p[0],
                                      .output = p[2] };
    const cb_reduce_args reduce = {
        CB_ARGS(cb_reduce_args), .dtype = type, .shape = shape, .rank = 2, .axis = 1,
        .input = p[0],           .output = p[2]
    };
    const cb_unary_args unary = { CB_ARGS(cb_unary_args), .dtype = type, .n = SIDE, .input = p[0],
                                  .output = p[2] };
    const cb_binary_args binary = {
        CB_ARGS(cb_binary_args), .dtype = type, .n = SIDE, .a = p[0], .b = p[1], .output = p[2]
    };
    return op == CB_OP_SOFTMAX  ? ocl_softmax(self, &softmax, err)
           : op == CB_OP_REDUCE ? ocl_reduce(self, &reduce, err)
           : op == CB_OP_UNARY  ? ocl_unary(self, &unary, err)
                                : ocl_binary(self, &binary, err);
}

static cb_status run_rows(void *self, uint32_t op, const uint64_t *p, cb_error *err)
{
    static const uint64_t index = 0;
    const cb_rows_args args = { CB_ARGS(cb_rows_args), .rows = 1,      .cols = SIDE,
                                .indices = &index,     .n_indices = 1, .input = p[0],
                                .output = p[2] };
    return op == CB_OP_GATHER ? ocl_gather(self, &args, err) : ocl_scatter(self, &args, err);
}

/* What ignores the type is run once. */
static cb_status run(void *self, uint32_t op, uint32_t type, const uint64_t *p, cb_error *err)
{
    switch (op) {
    case CB_OP_GEMM:
    case CB_OP_GEMM_MIXED_PRECISION:
    case CB_OP_BATCHED_GEMM: return run_gemm(self, op, type, p, err);
    case CB_OP_SOFTMAX:
    case CB_OP_REDUCE:
    case CB_OP_UNARY:
    case CB_OP_BINARY: return run_tensor(self, op, type, p, err);
    default: break;
    }
    if (type != CB_F32)
        return CB_OK;
    if (op == CB_OP_GATHER || op == CB_OP_SCATTER)
        return run_rows(self, op, p, err);
    return op == CB_OP_ATTENTION ? run_attention(self, p, err) : run_conv2d(self, op, p, err);
}

void ocl_warmup(struct ocl_backend *ocl)
{
    uint64_t p[3] = { 0 };
    cb_error err;
    cb_error_init(&err);
    cb_status st = CB_OK;
    for (int i = 0; i < 3 && st == CB_OK; i++)
        st = ocl_alloc(ocl, SIDE * SIDE * sizeof(double), NULL, &p[i], &err);
    for (uint32_t op = 0; op < CB_OP_COUNT && p[2]; op++)
        for (uint32_t type = CB_F64; type <= CB_F16 && lists(ocl->warmup, cb_op_name(op)); type++) {
            if (type == CB_F64 && !ocl->device->f64)
                continue;
            st = run(ocl, op, type, p, &err);
            if (st != CB_OK)
                ocl_log(ocl, CB_LOG_WARNING, "opencl: warmup: %s", err.msg);
        }
    if (!p[2])
        ocl_log(ocl, CB_LOG_WARNING, "opencl: warmup: %s", err.msg);
    st = ocl_synchronize(ocl, &err);
    if (st != CB_OK)
        ocl_log(ocl, CB_LOG_WARNING, "opencl: warmup: %s", err.msg);
    for (int i = 0; i < 3; i++)
        if (p[i])
            ocl_free(ocl, p[i], NULL, NULL);
}
