/* SPDX-License-Identifier: Apache-2.0 */
/* gemm, gemm_mixed_precision and batched_gemm. */
#include "../cpu.h"

/* Batch i of an operand that may be absent. */
static void *matrix(void *base, uint64_t i, uint64_t stride, uint32_t element)
{
    return base ? (char *)base + i * stride * element : NULL;
}

static cb_status run(struct cpu_call *call, const struct cbc_gemm *g, cb_error *err)
{
    cb_status st = cpu_call_open(call, g->stream, g->operands, 3, false, err);
    if (st != CB_OK || !g->m || !g->n)
        return st;

    /* A transpose is a swap of strides: nothing below this line sees the flag. */
    struct cpu_gemm one = {
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
    };
    for (uint64_t i = 0; i < g->batch; i++) {
        one.a = matrix(call->host[0], i, g->stride_a, g->operands[0].align);
        one.b = matrix(call->host[1], i, g->stride_b, g->operands[1].align);
        one.c = matrix(call->host[2], i, g->stride_c, g->operands[2].align);
        call->cpu->kernels.gemm(&one);
    }
    return CB_OK;
}

cb_status cpu_gemm(void *self, const cb_gemm_args *args, cb_error *err)
{
    struct cpu_call call;
    struct cbc_gemm g;
    cb_status st = cpu_call_begin(&call, self, "gemm", err);
    if (st == CB_OK)
        st = cbc_check_gemm(args, &g, err);
    if (st == CB_OK)
        st = run(&call, &g, err);
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
        st = run(&call, &g, err);
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
        st = run(&call, &g, err);
    return cpu_call_end(&call, st);
}
