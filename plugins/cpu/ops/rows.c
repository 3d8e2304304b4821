/* SPDX-License-Identifier: Apache-2.0 */
/* gather and scatter. */
#include "../cpu.h"

static void compute(const struct cpu_call *call, bool scatter, const struct cbc_rows *g)
{
    const struct cpu_work work = { call->cpu->team, NULL };
    const struct cpu_rows x = {
        .scatter = scatter,
        .row_bytes = g->row_bytes,
        .n = g->n_indices,
        .indices = g->indices,
        .input = call->host[0],
        .output = call->host[1],
    };
    if (x.output)
        call->cpu->kernels.rows(&x, &work);
}

static cb_status gather(struct cpu_call *call, const void *checked, cb_error *err)
{
    (void)err;
    compute(call, false, checked);
    return CB_OK;
}

static cb_status scatter(struct cpu_call *call, const void *checked, cb_error *err)
{
    (void)err;
    compute(call, true, checked);
    return CB_OK;
}

static cb_status rows(uint32_t op, void *self, const cb_rows_args *args, cb_error *err)
{
    static const struct cpu_op ops[] = {
        [CB_OP_GATHER] = { CPU_OP(struct cbc_rows, gather, 2, false),
                           .list = offsetof(struct cbc_rows, indices),
                           .length = offsetof(struct cbc_rows, n_indices) },
        [CB_OP_SCATTER] = { CPU_OP(struct cbc_rows, scatter, 2, false),
                            .list = offsetof(struct cbc_rows, indices),
                            .length = offsetof(struct cbc_rows, n_indices) },
    };
    struct cpu_call call;
    struct cbc_rows g;
    cb_status st = cpu_call_begin(&call, self, cb_op_name(op), err);
    if (st == CB_OK)
        st = cbc_check_rows(op, args, &g, err);
    if (st == CB_OK)
        st = cbc_check_indices(op, &g, err);
    if (st == CB_OK)
        st = cpu_call_run(&call, &ops[op], &g, err);
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
