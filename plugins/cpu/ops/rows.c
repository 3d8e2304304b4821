/* SPDX-License-Identifier: Apache-2.0 */
/* gather and scatter. */
#include "../cpu.h"

static void compute(const struct cpu_call *call, uint32_t op, const struct cbc_rows *g)
{
    const struct cpu_work work = { call->cpu->team, NULL };
    const struct cpu_rows x = {
        .scatter = op == CB_OP_SCATTER,
        .row_bytes = g->row_bytes,
        .n = g->n_indices,
        .indices = g->indices,
        .input = call->host[0],
        .output = call->host[1],
    };
    if (x.output)
        call->cpu->kernels.rows(&x, &work);
}

static cb_status rows(uint32_t op, void *self, const cb_rows_args *args, cb_error *err)
{
    struct cpu_call call;
    struct cbc_rows g;
    cb_status st = cpu_call_begin(&call, self, cb_op_name(op), err);
    if (st == CB_OK)
        st = cbc_check_rows(op, args, &g, err);
    if (st == CB_OK)
        st = cbc_check_indices(op, &g, err);
    if (st == CB_OK)
        st = cpu_call_open(&call, g.stream, g.operands, 2, false, err);
    if (st == CB_OK)
        compute(&call, op, &g);
    return cpu_call_end(&call, st);
}

cb_status cpu_gather(void *self, const cb_rows_args *args, cb_error *err)
{
    return rows(CB_OP_GATHER, self, args, err);
}

cb_status cpu_scatter(void *self, const cb_rows_args *args, cb_error *err)
{
    return rows(CB_OP_SCATTER, self, args, err);
}
