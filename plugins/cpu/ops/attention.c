/* SPDX-License-Identifier: Apache-2.0 */
#include "../cpu.h"

#include <string.h>

static void compute(struct cpu_call *call, const struct cbc_attention *g)
{
    const struct cpu_attention t = {
        .batch = g->batch,
        .heads = g->heads,
        .kv_heads = g->kv_heads,
        .seq_q = g->seq_q,
        .seq_kv = g->seq_kv,
        .head_dim = g->head_dim,
        .scale = g->scale,
        .causal = g->causal,
        .q = call->host[0],
        .k = call->host[1],
        .v = call->host[2],
        .o = call->host[3],
        .scores = call->scratch,
    };
    if (t.q)
        call->cpu->kernels.attention(&t);
    else if (t.o) /* no keys at all */
        memset(t.o, 0, g->operands[3].bytes);
}

cb_status cpu_attention(void *self, const cb_attention_args *args, cb_error *err)
{
    struct cpu_call call;
    struct cbc_attention g;
    cb_status st = cpu_call_begin(&call, self, "attention", err);
    if (st == CB_OK)
        st = cbc_check_attention(args, &g, err);
    if (st == CB_OK)
        st = cpu_call_open(&call, g.stream, g.operands, 4, false, err);
    if (st == CB_OK && call.host[0])
        st = cpu_call_scratch(&call, g.seq_kv * sizeof(float), err);
    if (st == CB_OK)
        compute(&call, &g);
    return cpu_call_end(&call, st);
}
