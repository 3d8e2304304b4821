/* SPDX-License-Identifier: Apache-2.0 */
/* softmax, reduce, unary and binary. */
#include "ops.h"

/* ---- along an axis ---- */

#define AXIS_OPTIONS "-DTYPE=%u -DCOLUMNS=%d -DW=%u -DIN_A_ROW=%d"
#define AXIS_VALUES(call, g, w)                                                                    \
    (unsigned)(g)->dtype, (g)->inner > 1, (w)->lanes, ocl_in_a_row((call)->ocl->device)

static void arg_axis(struct ocl_launch *run, const struct cbc_axis *g, const struct ocl_walk *w)
{
    ocl_arg_u64(run, g->outer);
    ocl_arg_u64(run, g->len);
    ocl_arg_u64(run, g->inner);
    ocl_arg_u32(run, w->parts);
}

static cb_status launch_softmax(struct ocl_call *call, const struct cbc_axis *g)
{
    const struct ocl_walk w = ocl_walk(call->ocl->device, g, false);
    struct ocl_launch run;
    ocl_launch_begin(&run, call, "axis", "softmax", AXIS_OPTIONS, AXIS_VALUES(call, g, &w));
    ocl_arg_buffer(&run, &call->buffers[0], g->operands[0].align);
    ocl_arg_buffer(&run, &call->buffers[1], g->operands[1].align);
    arg_axis(&run, g, &w);
    return ocl_launch(&run, 1, &w.groups, (uint64_t[]){ OCL_GROUP });
}

cb_status ocl_softmax(void *self, const cb_softmax_args *args, cb_error *err)
{
    struct ocl_call call;
    struct cbc_axis g;
    cb_status st = ocl_call_begin(&call, self, "softmax", err);
    if (st == CB_OK)
        st = cbc_check_softmax(args, &g, err);
    if (st == CB_OK)
        st = ocl_can(call.ocl, CB_OP_SOFTMAX, &g, err);
    if (st == CB_OK)
        st = ocl_call_open(&call, g.stream, g.operands, 2, true, err);
    if (st == CB_OK && call.buffers[1].mem)
        st = launch_softmax(&call, &g);
    return ocl_call_end(&call, st);
}

/* Bytes of a number as it is computed with. */
static uint32_t real_size(uint32_t dtype)
{
    return dtype == CB_F64 ? 8 : 4;
}

/* The totals of splits, as pairs. */
static uint64_t totals_bytes(const struct cbc_axis *g, const struct ocl_walk *w)
{
    return w->splits > 1 ? 2 * w->splits * g->outer * g->inner * real_size(g->dtype) : 0;
}

uint64_t ocl_reduce_temporary(const struct ocl_device *device, const struct cbc_axis *g)
{
    const struct ocl_walk w = ocl_walk(device, g, true);
    return totals_bytes(g, &w);
}

static cb_status add_splits(struct ocl_call *call, const struct cbc_axis *g,
                            const struct ocl_walk *w, const struct ocl_buffer *totals)
{
    const uint64_t outputs = g->outer * g->inner;
    struct ocl_launch run;
    ocl_launch_begin(&run, call, "axis", "reduce_splits", AXIS_OPTIONS " -DOP=%u",
                     AXIS_VALUES(call, g, w), (unsigned)g->op);
    ocl_arg_buffer(&run, totals, real_size(g->dtype));
    ocl_arg_buffer(&run, &call->buffers[1], g->operands[1].align);
    ocl_arg_u64(&run, outputs);
    ocl_arg_u64(&run, g->len);
    ocl_arg_u32(&run, w->splits);
    return ocl_launch(&run, 1, (uint64_t[]){ ocl_divide_up(outputs, OCL_GROUP) },
                      (uint64_t[]){ OCL_GROUP });
}

static cb_status launch_reduce(struct ocl_call *call, const struct cbc_axis *g)
{
    const struct ocl_walk w = ocl_walk(call->ocl->device, g, true);
    struct ocl_buffer totals = { NULL, 0 };
    struct ocl_launch run;
    cb_status st = CB_OK;
    if (w.splits > 1)
        st = ocl_call_temporary(call, totals_bytes(g, &w), &totals);
    if (st != CB_OK)
        return st;
    ocl_launch_begin(&run, call, "axis", "reduce", AXIS_OPTIONS " -DOP=%u",
                     AXIS_VALUES(call, g, &w), (unsigned)g->op);
    ocl_arg_buffer(&run, &call->buffers[0], g->operands[0].align);
    ocl_arg_buffer(&run, &call->buffers[1], g->operands[1].align);
    ocl_arg_buffer(&run, &totals, real_size(g->dtype));
    arg_axis(&run, g, &w);
    ocl_arg_u32(&run, w.splits);
    st = ocl_launch(&run, 1, &w.groups, (uint64_t[]){ OCL_GROUP });
    return st == CB_OK && w.splits > 1 ? add_splits(call, g, &w, &totals) : st;
}

cb_status ocl_reduce(void *self, const cb_reduce_args *args, cb_error *err)
{
    struct ocl_call call;
    struct cbc_axis g;
    cb_status st = ocl_call_begin(&call, self, "reduce", err);
    if (st == CB_OK)
        st = cbc_check_reduce(args, &g, err);
    if (st == CB_OK)
        st = ocl_can(call.ocl, CB_OP_REDUCE, &g, err);
    if (st == CB_OK)
        st = ocl_call_open(&call, g.stream, g.operands, 2, false, err);
    if (st == CB_OK && call.buffers[1].mem)
        st = launch_reduce(&call, &g);
    return ocl_call_end(&call, st);
}

/* ---- element by element ---- */

static cb_status launch_map(struct ocl_call *call, const struct cbc_map *g, const char *name,
                            unsigned operands)
{
    struct ocl_launch run;
    ocl_launch_begin(&run, call, "map", name, "-DTYPE=%u -DOP=%u -DIN_A_ROW=%d", (unsigned)g->dtype,
                     (unsigned)g->op, ocl_in_a_row(call->ocl->device));
    for (unsigned i = 0; i < operands; i++)
        ocl_arg_buffer(&run, &call->buffers[i], g->operands[i].align);
    ocl_arg_u64(&run, g->n);
    return ocl_launch_vector(&run, g->n, ocl_per_item(call->ocl->device, g->n));
}

cb_status ocl_unary(void *self, const cb_unary_args *args, cb_error *err)
{
    struct ocl_call call;
    struct cbc_map g;
    cb_status st = ocl_call_begin(&call, self, "unary", err);
    if (st == CB_OK)
        st = cbc_check_unary(args, &g, err);
    if (st == CB_OK)
        st = ocl_can(call.ocl, CB_OP_UNARY, &g, err);
    if (st == CB_OK)
        st = ocl_call_open(&call, g.stream, g.operands, 2, true, err);
    if (st == CB_OK && g.n)
        st = launch_map(&call, &g, "unary", 2);
    return ocl_call_end(&call, st);
}

cb_status ocl_binary(void *self, const cb_binary_args *args, cb_error *err)
{
    struct ocl_call call;
    struct cbc_map g;
    cb_status st = ocl_call_begin(&call, self, "binary", err);
    if (st == CB_OK)
        st = cbc_check_binary(args, &g, err);
    if (st == CB_OK)
        st = ocl_can(call.ocl, CB_OP_BINARY, &g, err);
    if (st == CB_OK)
        st = ocl_call_open(&call, g.stream, g.operands, 3, true, err);
    if (st == CB_OK && g.n)
        st = launch_map(&call, &g, "binary", 3);
    return ocl_call_end(&call, st);
}
