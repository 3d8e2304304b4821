/* SPDX-License-Identifier: Apache-2.0 */
#include "../cpu.h"

#include <string.h>

struct cpu_attention cpu_attention_normalize(const struct cbc_attention *g)
{
    return (struct cpu_attention){
        .batch = g->batch,
        .heads = g->heads,
        .kv_heads = g->kv_heads,
        .seq_q = g->seq_q,
        .seq_kv = g->seq_kv,
        .head_dim = g->head_dim,
        .scale = g->scale,
        .causal = g->causal,
    };
}

static cb_status compute(struct cpu_call *call, const void *checked, cb_error *err)
{
    const struct cbc_attention *g = checked;
    const struct cpu_attention_kernel *kernel = &call->cpu->kernels.attention;
    struct cpu_attention t = cpu_attention_normalize(g);
    struct cpu_work work;
    if (!call->host[3])
        return CB_OK;
    if (!call->host[0]) { /* no keys at all */
        memset(call->host[3], 0, g->operands[3].bytes);
        return CB_OK;
    }
    const cb_status st = cpu_call_work(call, CPU_WORKSPACE(kernel, &t, call->cpu), &work, err);
    if (st != CB_OK)
        return st;
    t.q = call->host[0];
    t.k = call->host[1];
    t.v = call->host[2];
    t.o = call->host[3];
    kernel->run(&t, &work);
    return CB_OK;
}

static const struct cpu_op attention_op = { CPU_OP(struct cbc_attention, compute, 4, false) };

cb_status cpu_attention(void *self, const cb_attention_args *args, cb_error *err)
{
    struct cpu_call call;
    struct cbc_attention g;
    cb_status st = cpu_call_begin(&call, self, "attention", err);
    if (st == CB_OK)
        st = cbc_check_attention(args, &g, err);
    if (st == CB_OK)
        st = cpu_call_run(&call, &attention_op, &g, err);
    return cpu_call_end(&call, st);
}
