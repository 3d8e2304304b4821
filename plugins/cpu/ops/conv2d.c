/* SPDX-License-Identifier: Apache-2.0 */
/* The three convolutions. */
#include "../cpu.h"

#include <string.h>

typedef void (*conv2d_kernel)(const struct cpu_conv2d *);

static conv2d_kernel kernel_of(const struct cpu_kernels *kernels, uint32_t op)
{
    return op == CB_OP_CONV2D_FORWARD         ? kernels->conv2d_forward
           : op == CB_OP_CONV2D_BACKWARD_DATA ? kernels->conv2d_backward_data
                                              : kernels->conv2d_backward_filter;
}

static void compute(struct cpu_call *call, uint32_t op, const struct cbc_conv2d *g)
{
    const struct cpu_conv2d v = {
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
        .input = call->host[0],
        .filter = call->host[1],
        .output = call->host[2],
    };
    if (v.input && v.filter && v.output) {
        kernel_of(&call->cpu->kernels, op)(&v);
        return;
    }
    for (int i = 0; i < 3; i++) /* empty sums */
        if (call->host[i] && g->operands[i].written)
            memset(call->host[i], 0, g->operands[i].bytes);
}

static cb_status conv2d(uint32_t op, void *self, const cb_conv2d_args *args, cb_error *err)
{
    struct cpu_call call;
    struct cbc_conv2d g;
    cb_status st = cpu_call_begin(&call, self, cb_op_name(op), err);
    if (st == CB_OK)
        st = cbc_check_conv2d(op, args, &g, err);
    if (st == CB_OK)
        st = cpu_call_open(&call, g.stream, g.operands, 3, false, err);
    if (st == CB_OK)
        compute(&call, op, &g);
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
