/* SPDX-License-Identifier: Apache-2.0 */
/* softmax, reduce, unary and binary. None of their kernels needs memory, so none can fail. */
#include "../cpu.h"

static cb_status compute_axis(struct cpu_call *call, const struct cbc_axis *g,
                              void (*kernel)(const struct cpu_axis *, const struct cpu_work *))
{
    const struct cpu_work work = { call->cpu->team, NULL };
    const struct cpu_axis x = { g->dtype, g->op,         g->outer,     g->len,
                                g->inner, call->host[0], call->host[1] };
    if (x.output)
        kernel(&x, &work);
    return CB_OK;
}

static cb_status compute_softmax(struct cpu_call *call, const void *checked, cb_error *err)
{
    (void)err;
    return compute_axis(call, checked, call->cpu->kernels.softmax);
}

static cb_status compute_reduce(struct cpu_call *call, const void *checked, cb_error *err)
{
    (void)err;
    return compute_axis(call, checked, call->cpu->kernels.reduce);
}

static cb_status compute_unary(struct cpu_call *call, const void *checked, cb_error *err)
{
    const struct cbc_map *g = checked;
    const struct cpu_map x = { g->dtype, g->op, g->n, call->host[0], NULL, call->host[1] };
    const struct cpu_work work = { call->cpu->team, NULL };
    (void)err;
    if (x.n)
        call->cpu->kernels.unary(&x, &work);
    return CB_OK;
}

static cb_status compute_binary(struct cpu_call *call, const void *checked, cb_error *err)
{
    const struct cbc_map *g = checked;
    const struct cpu_map x = { g->dtype, g->op, g->n, call->host[0], call->host[1], call->host[2] };
    const struct cpu_work work = { call->cpu->team, NULL };
    (void)err;
    if (x.n)
        call->cpu->kernels.binary(&x, &work);
    return CB_OK;
}

static const struct cpu_op softmax_op = { CPU_OP(struct cbc_axis, compute_softmax, 2, true) };
static const struct cpu_op reduce_op = { CPU_OP(struct cbc_axis, compute_reduce, 2, false) };
static const struct cpu_op unary_op = { CPU_OP(struct cbc_map, compute_unary, 2, true) };
static const struct cpu_op binary_op = { CPU_OP(struct cbc_map, compute_binary, 3, true) };

cb_status cpu_softmax(void *self, const cb_softmax_args *args, cb_error *err)
{
    struct cpu_call call;
    struct cbc_axis g;
    cb_status st = cpu_call_begin(&call, self, "softmax", err);
    if (st == CB_OK)
        st = cbc_check_softmax(args, &g, err);
    if (st == CB_OK)
        st = cpu_call_run(&call, &softmax_op, &g, err);
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
        st = cpu_call_run(&call, &reduce_op, &g, err);
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
        st = cpu_call_run(&call, &unary_op, &g, err);
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
        st = cpu_call_run(&call, &binary_op, &g, err);
    return cpu_call_end(&call, st);
}
