/* SPDX-License-Identifier: Apache-2.0 */
/* The three convolutions. */
#include "../cpu.h"

#include <string.h>

const struct cpu_conv2d_kernel *cpu_conv2d_kernel(const struct cpu_backend *cpu, uint32_t op)
{
    return op == CB_OP_CONV2D_FORWARD         ? &cpu->kernels.conv2d_forward
           : op == CB_OP_CONV2D_BACKWARD_DATA ? &cpu->kernels.conv2d_backward_data
                                              : &cpu->kernels.conv2d_backward_filter;
}

struct cpu_conv2d cpu_conv2d_normalize(const struct cbc_conv2d *g)
{
    return (struct cpu_conv2d){
        .n = g->n,
        .c = g->c,
        .h = g->h,
        .w = g->w,
        .k = g->k,
        .c_group = g->c_group,
        .r = g->r,
        .s = g->s,
        .p = g->p,
        .q = g->q,
        .stride_h = g->stride_h,
        .stride_w = g->stride_w,
        .dilation_h = g->dilation_h,
        .dilation_w = g->dilation_w,
        .pad_top = g->pad_top,
        .pad_left = g->pad_left,
        .groups = g->groups,
    };
}

static cb_status compute(struct cpu_call *call, uint32_t op, const struct cbc_conv2d *g,
                         cb_error *err)
{
    const struct cpu_conv2d_kernel *kernel = cpu_conv2d_kernel(call->cpu, op);
    struct cpu_conv2d v = cpu_conv2d_normalize(g);
    struct cpu_work work;
    if (!call->host[0] || !call->host[1] || !call->host[2]) {
        for (int i = 0; i < 3; i++) /* empty sums */
            if (call->host[i] && g->operands[i].written)
                memset(call->host[i], 0, g->operands[i].bytes);
        return CB_OK;
    }
    const cb_status st = cpu_call_work(call, CPU_WORKSPACE(kernel, &v, call->cpu), &work, err);
    if (st != CB_OK)
        return st;
    v.input = call->host[0];
    v.filter = call->host[1];
    v.output = call->host[2];
    kernel->run(&v, &work);
    return CB_OK;
}

#define CONV2D(name, op)                                                                           \
    static cb_status name(struct cpu_call *call, const void *checked, cb_error *err)               \
    {                                                                                              \
        return compute(call, op, checked, err);                                                    \
    }
CONV2D(forward, CB_OP_CONV2D_FORWARD)
CONV2D(backward_data, CB_OP_CONV2D_BACKWARD_DATA)
CONV2D(backward_filter, CB_OP_CONV2D_BACKWARD_FILTER)

static cb_status conv2d(uint32_t op, void *self, const cb_conv2d_args *args, cb_error *err)
{
    static const struct cpu_op ops[] = {
        [CB_OP_CONV2D_FORWARD] = { CPU_OP(struct cbc_conv2d, forward, 3, false) },
        [CB_OP_CONV2D_BACKWARD_DATA] = { CPU_OP(struct cbc_conv2d, backward_data, 3, false) },
        [CB_OP_CONV2D_BACKWARD_FILTER] = { CPU_OP(struct cbc_conv2d, backward_filter, 3, false) },
    };
    struct cpu_call call;
    struct cbc_conv2d g;
    cb_status st = cpu_call_begin(&call, self, cb_op_name(op), err);
    if (st == CB_OK)
        st = cbc_check_conv2d(op, args, &g, err);
    if (st == CB_OK)
        st = cpu_call_run(&call, &ops[op], &g, err);
    return cpu_call_end(&call, st);
}

cb_status cpu_conv2d_forward(void *self, const cb_conv2d_args *args, cb_error *err)
{
    return conv2d(CB_OP_CONV2D_FORWARD, self, args, err);
}

cb_status cpu_conv2d_backward_data(void *self, const cb_conv2d_args *args, cb_error *err)
{
    return conv2d(CB_OP_CONV2D_BACKWARD_DATA, self, args, err);
}

cb_status cpu_conv2d_backward_filter(void *self, const cb_conv2d_args *args, cb_error *err)
{
    return conv2d(CB_OP_CONV2D_BACKWARD_FILTER, self, args, err);
}
