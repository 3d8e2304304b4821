/* SPDX-License-Identifier: Apache-2.0 */
/* softmax, reduce, unary and binary. */
#include "../cpu.h"

static void compute_axis(struct cpu_call *call, const struct cbc_axis *g,
                         void (*kernel)(const struct cpu_axis *, const struct cpu_work *))
{
    const struct cpu_work work = { call->cpu->team, NULL };
    const struct cpu_axis x = { g->dtype, g->op,         g->outer,     g->len,
                                g->inner, call->host[0], call->host[1] };
    if (x.output)
        kernel(&x, &work);
}

cb_status cpu_softmax(void *self, const cb_softmax_args *args, cb_error *err)
{
    struct cpu_call call;
    struct cbc_axis g;
    cb_status st = cpu_call_begin(&call, self, "softmax", err);
    if (st == CB_OK)
        st = cbc_check_softmax(args, &g, err);
    if (st == CB_OK)
        st = cpu_call_open(&call, g.stream, g.operands, 2, true, err);
    if (st == CB_OK)
        compute_axis(&call, &g, call.cpu->kernels.softmax);
    return cpu_call_end(&call, st);
}

cb_status cpu_reduce(void *self, const cb_reduce_args *args, cb_error *err)
{
    struct cpu_call call;
    struct cbc_axis g;
    cb_status st = cpu_call_begin(&call, self, "reduce", err);
    if (st == CB_OK)
        st = cbc_check_reduce(args, &g, err);
    if (st == CB_OK)
        st = cpu_call_open(&call, g.stream, g.operands, 2, false, err);
    if (st == CB_OK)
        compute_axis(&call, &g, call.cpu->kernels.reduce);
    return cpu_call_end(&call, st);
}

cb_status cpu_unary(void *self, const cb_unary_args *args, cb_error *err)
{
    struct cpu_call call;
    struct cbc_map g;
    cb_status st = cpu_call_begin(&call, self, "unary", err);
    if (st == CB_OK)
        st = cbc_check_unary(args, &g, err);
    if (st == CB_OK)
        st = cpu_call_open(&call, g.stream, g.operands, 2, true, err);
    if (st == CB_OK && g.n) {
        const struct cpu_map x = { g.dtype, g.op, g.n, call.host[0], NULL, call.host[1] };
        const struct cpu_work work = { call.cpu->team, NULL };
        call.cpu->kernels.unary(&x, &work);
    }
    return cpu_call_end(&call, st);
}

cb_status cpu_binary(void *self, const cb_binary_args *args, cb_error *err)
{
    struct cpu_call call;
    struct cbc_map g;
    cb_status st = cpu_call_begin(&call, self, "binary", err);
    if (st == CB_OK)
        st = cbc_check_binary(args, &g, err);
    if (st == CB_OK)
        st = cpu_call_open(&call, g.stream, g.operands, 3, true, err);
    if (st == CB_OK && g.n) {
        const struct cpu_map x = { g.dtype, g.op, g.n, call.host[0], call.host[1], call.host[2] };
        const struct cpu_work work = { call.cpu->team, NULL };
        call.cpu->kernels.binary(&x, &work);
    }
    return cpu_call_end(&call, st);
}
