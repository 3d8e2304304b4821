/* SPDX-License-Identifier: Apache-2.0 */
/* gemm, gemm_mixed_precision and batched_gemm. */
#include "ops.h"

static void arg_matrix(struct ocl_launch *run, const struct ocl_buffer *buffer, uint32_t element,
                       uint64_t ld, uint64_t stride)
{
    ocl_arg_buffer(run, buffer, element);
    ocl_arg_u64(run, ld);
    ocl_arg_u64(run, stride);
}

static void arg_scalar(struct ocl_launch *run, uint32_t dtype, double value)
{
    if (dtype == CB_F64)
        ocl_arg_f64(run, value);
    else
        ocl_arg_f32(run, (float)value);
}

static cb_status launch(struct ocl_call *call, const struct cbc_gemm *g)
{
    const struct ocl_tile t = ocl_gemm_tile(call->ocl, g->dtype);
    const uint64_t groups = ocl_divide_up(g->m, t.m) * ocl_divide_up(g->n, t.n) * g->batch;
    struct ocl_launch run;
    ocl_launch_begin(&run, call, "gemm", "gemm",
                     "-DTYPE=%u -DROUND=%u -DTRANS_A=%d -DTRANS_B=%d " OCL_TILE_OPTIONS,
                     (unsigned)g->dtype, (unsigned)g->round, g->trans_a, g->trans_b,
                     OCL_TILE_VALUES(t));
    arg_matrix(&run, &call->buffers[0], g->operands[0].align, g->lda, g->stride_a);
    arg_matrix(&run, &call->buffers[1], g->operands[1].align, g->ldb, g->stride_b);
    arg_matrix(&run, &call->buffers[2], g->operands[2].align, g->ldc, g->stride_c);
    ocl_arg_u64(&run, g->m);
    ocl_arg_u64(&run, g->n);
    ocl_arg_u64(&run, g->k);
    arg_scalar(&run, g->dtype, g->alpha);
    arg_scalar(&run, g->dtype, g->beta);
    return ocl_launch(&run, 1, (uint64_t[]){ groups }, (uint64_t[]){ ocl_tile_items(&t) });
}

static cb_status run(struct ocl_call *call, uint32_t op, const struct cbc_gemm *g, cb_error *err)
{
    cb_status st = ocl_can(call->ocl, op, g, err);
    if (st == CB_OK)
        st = ocl_call_open(call, g->stream, g->operands, 3, false, err);
    if (st == CB_OK && call->buffers[2].mem)
        st = launch(call, g);
    return st;
}

cb_status ocl_gemm(void *self, const cb_gemm_args *args, cb_error *err)
{
    struct ocl_call call;
    struct cbc_gemm g;
    cb_status st = ocl_call_begin(&call, self, "gemm", err);
    if (st == CB_OK)
        st = cbc_check_gemm(args, &g, err);
    if (st == CB_OK)
        st = run(&call, CB_OP_GEMM, &g, err);
    return ocl_call_end(&call, st);
}

cb_status ocl_gemm_mixed_precision(void *self, const cb_gemm_mixed_precision_args *args,
                                   cb_error *err)
{
    struct ocl_call call;
    struct cbc_gemm g;
    cb_status st = ocl_call_begin(&call, self, "gemm_mixed_precision", err);
    if (st == CB_OK)
        st = cbc_check_gemm_mixed_precision(args, &g, err);
    if (st == CB_OK)
        st = run(&call, CB_OP_GEMM_MIXED_PRECISION, &g, err);
    return ocl_call_end(&call, st);
}

cb_status ocl_batched_gemm(void *self, const cb_batched_gemm_args *args, cb_error *err)
{
    struct ocl_call call;
    struct cbc_gemm g;
    cb_status st = ocl_call_begin(&call, self, "batched_gemm", err);
    if (st == CB_OK)
        st = cbc_check_batched_gemm(args, &g, err);
    if (st == CB_OK)
        st = run(&call, CB_OP_BATCHED_GEMM, &g, err);
    return ocl_call_end(&call, st);
}
