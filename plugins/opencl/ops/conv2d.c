/* SPDX-License-Identifier: Apache-2.0 */
/* The three convolutions: products of a matrix that the kernel gathers from one operand (of each
 * image, or of all) with one that another operand is. */
#include "ops.h"

/* Below this, kernels number places by int; see NOWHERE in kernels/conv2d.cl. */
#define NEAR (UINT64_C(1) << 29)

/* Which operand the op writes. */
static unsigned written_by(uint32_t op)
{
    return op == CB_OP_CONV2D_FORWARD ? 2 : op == CB_OP_CONV2D_BACKWARD_DATA ? 0 : 1;
}

/* A bound on how far places in a padded image, and taps off it, are apart. */
static uint64_t reach_of(uint64_t extent, uint64_t pad, uint64_t outputs, uint64_t stride,
                         uint64_t taps, uint64_t dilation)
{
    uint64_t reach = extent;
    return __builtin_add_overflow(reach, pad, &reach) ||
                   __builtin_add_overflow(reach, (outputs - 1) * stride, &reach) ||
                   __builtin_add_overflow(reach, (taps - 1) * dilation, &reach)
               ? UINT64_MAX
               : reach;
}

uint64_t ocl_conv2d_reach(const struct cbc_conv2d *g)
{
    const uint64_t rows = reach_of(g->h, g->pad_top, g->p, g->stride_h, g->r, g->dilation_h);
    const uint64_t columns = reach_of(g->w, g->pad_left, g->q, g->stride_w, g->s, g->dilation_w);
    return rows > columns ? rows : columns;
}

/* A stride or dilation that is beyond every place leads to none, as all such do. */
static uint64_t within(uint64_t step, uint64_t limit)
{
    return step < limit ? step : limit;
}

static cb_status launch(struct ocl_call *call, uint32_t op, const struct cbc_conv2d *g)
{
    static const unsigned order[3][3] = { { 0, 1, 2 }, { 2, 1, 0 }, { 0, 2, 1 } };
    const struct ocl_tile t = ocl_tile(call->ocl->device, CB_F32);
    const unsigned mode = op - CB_OP_CONV2D_FORWARD;
    const uint64_t taps = g->c_group * g->r * g->s, filters = g->k / g->groups;
    const uint64_t m[3] = { g->p * g->q, g->h * g->w, taps };
    const uint64_t n[3] = { filters, g->c_group, filters };
    const uint64_t images = op == CB_OP_CONV2D_BACKWARD_FILTER ? 1 : g->n;
    const uint64_t groups = ocl_divide_up(m[mode], t.m) * ocl_divide_up(n[mode], t.n) * g->groups;
    const bool near = ocl_conv2d_reach(g) < NEAR;
    const uint64_t limit = near ? NEAR : OCL_CONV2D_FAR;
    const uint64_t sizes[] = { g->n,
                               g->c,
                               g->h,
                               g->w,
                               g->k,
                               g->c_group,
                               g->r,
                               g->s,
                               g->p,
                               g->q,
                               within(g->stride_h, limit),
                               within(g->stride_w, limit),
                               within(g->dilation_h, limit),
                               within(g->dilation_w, limit),
                               g->pad_top,
                               g->pad_left,
                               g->groups };
    struct ocl_launch run;
    ocl_launch_begin(&run, call, "conv2d", "conv2d",
                     "-DTYPE=%u -DMODE=%u -DPOSITION=%s " OCL_TILE_OPTIONS, (unsigned)CB_F32, mode,
                     near ? "int" : "long", OCL_TILE_VALUES(t));
    for (int i = 0; i < 3; i++)
        ocl_arg_buffer(&run, &call->buffers[order[mode][i]], sizeof(float));
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        ocl_arg_u64(&run, sizes[i]);
    return ocl_launch(&run, 1, (uint64_t[]){ groups * images }, (uint64_t[]){ ocl_tile_items(&t) });
}

static cb_status compute(struct ocl_call *call, uint32_t op, const struct cbc_conv2d *g)
{
    const unsigned written = written_by(op);
    if (!call->buffers[written].mem)
        return CB_OK;
    if (!call->buffers[0].mem || !call->buffers[1].mem || !call->buffers[2].mem) /* empty sums */
        return ocl_call_zero(call, &call->buffers[written], g->operands[written].bytes);
    return launch(call, op, g);
}

static cb_status conv2d(uint32_t op, void *self, const cb_conv2d_args *args, cb_error *err)
{
    struct ocl_call call;
    struct cbc_conv2d g;
    cb_status st = ocl_call_begin(&call, self, cb_op_name(op), err);
    if (st == CB_OK)
        st = cbc_check_conv2d(op, args, &g, err);
    if (st == CB_OK)
        st = ocl_can(call.ocl, op, &g, err);
    if (st == CB_OK)
        st = ocl_call_open(&call, g.stream, g.operands, 3, false, err);
    if (st == CB_OK)
        st = compute(&call, op, &g);
    return ocl_call_end(&call, st);
}

cb_status ocl_conv2d_forward(void *self, const cb_conv2d_args *args, cb_error *err)
{
    return conv2d(CB_OP_CONV2D_FORWARD, self, args, err);
}

cb_status ocl_conv2d_backward_data(void *self, const cb_conv2d_args *args, cb_error *err)
{
    return conv2d(CB_OP_CONV2D_BACKWARD_DATA, self, args, err);
}

cb_status ocl_conv2d_backward_filter(void *self, const cb_conv2d_args *args, cb_error *err)
{
    return conv2d(CB_OP_CONV2D_BACKWARD_FILTER, self, args, err);
}
