/* SPDX-License-Identifier: Apache-2.0 */
/* gemm, gemm_mixed_precision and batched_gemm. */
#include "../cpu.h"

/* A transpose is a swap of strides: nothing below this line sees the flag. */
struct cpu_gemm cpu_gemm_normalize(const struct cbc_gemm *g)
{
    return (struct cpu_gemm){
        .dtype = g->dtype,
        .round = g->round,
        .m = g->m,
        .n = g->n,
        .k = g->k,
        .alpha = g->alpha,
        .beta = g->beta,
        .rs_a = g->trans_a ? g->lda : 1,
        .cs_a = g->trans_a ? 1 : g->lda,
        .rs_b = g->trans_b ? g->ldb : 1,
        .cs_b = g->trans_b ? 1 : g->ldb,
        .ldc = g->ldc,
        .stride_a = g->stride_a,
        .stride_b = g->stride_b,
        .stride_c = g->stride_c,
        .batch = g->batch,
    };
}

static cb_status compute(struct cpu_call *call, const void *checked, cb_error *err)
{
    const struct cpu_gemm_kernel *kernel = &call->cpu->kernels.gemm;
    struct cpu_gemm gemm = cpu_gemm_normalize(checked);
    struct cpu_work work;
    if (!call->host[2])
        return CB_OK;
    const cb_status st = cpu_call_work(call, CPU_WORKSPACE(kernel, &gemm, call->cpu), &work, err);
    if (st != CB_OK)
        return st;
    gemm.a = call->host[0];
    gemm.b = call->host[1];
    gemm.c = call->host[2];
    kernel->run(&gemm, &work);
    return CB_OK;
}

static const struct cpu_op gemm_op = { CPU_OP(struct cbc_gemm, compute, 3, false) };

cb_status cpu_gemm(void *self, const cb_gemm_args *args, cb_error *err)
{
    struct cpu_call call;
    struct cbc_gemm g;
    cb_status st = cpu_call_begin(&call, self, "gemm", err);
    if (st == CB_OK)
        st = cbc_check_gemm(args, &g, err);
    if (st == CB_OK)
        st = cpu_call_run(&call, &gemm_op, &g, err);
    return cpu_call_end(&call, st);
}

cb_status cpu_gemm_mixed_precision(void *self, const cb_gemm_mixed_precision_args *args,
                                   cb_error *err)
{
    struct cpu_call call;
    struct cbc_gemm g;
    cb_status st = cpu_call_begin(&call, self, "gemm_mixed_precision", err);
    if (st == CB_OK)
        st = cbc_check_gemm_mixed_precision(args, &g, err);
    if (st == CB_OK)
        st = cpu_call_run(&call, &gemm_op, &g, err);
    return cpu_call_end(&call, st);
}

cb_status cpu_batched_gemm(void *self, const cb_batched_gemm_args *args, cb_error *err)
{
    struct cpu_call call;
    struct cbc_gemm g;
    cb_status st = cpu_call_begin(&call, self, "batched_gemm", err);
    if (st == CB_OK)
        st = cbc_check_batched_gemm(args, &g, err);
    if (st == CB_OK)
        st = cpu_call_run(&call, &gemm_op, &g, err);
    return cpu_call_end(&call, st);
}
