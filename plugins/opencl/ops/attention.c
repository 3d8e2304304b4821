/* SPDX-License-Identifier: Apache-2.0 */
#include "ops.h"

/* A group has n queries of one head, m keys at a time, and m elements of head_dim. The weights of
 * its queries take local memory beside the tiles, so that these are smaller than those of gemm. */
static struct ocl_tile tile(const struct ocl_device *device)
{
    struct ocl_tile t = ocl_tile(device, CB_F32);
    if (ocl_in_a_row(device))
        t.m /= 2;
    else
        t.n /= 2;
    return t;
}

static cb_status launch(struct ocl_call *call, const struct cbc_attention *g)
{
    const struct ocl_tile t = tile(call->ocl->device);
    const uint64_t groups = ocl_divide_up(g->seq_q, t.n) * ocl_divide_up(g->head_dim, t.m);
    struct ocl_launch run;
    ocl_launch_begin(&run, call, "attention", "attention", "-DTYPE=%u " OCL_TILE_OPTIONS,
                     (unsigned)CB_F32, OCL_TILE_VALUES(t));
    for (int i = 0; i < 4; i++)
        ocl_arg_buffer(&run, &call->buffers[i], sizeof(float));
    ocl_arg_u64(&run, g->heads);
    ocl_arg_u64(&run, g->kv_heads);
    ocl_arg_u64(&run, g->seq_q);
    ocl_arg_u64(&run, g->seq_kv);
    ocl_arg_u64(&run, g->head_dim);
    ocl_arg_f32(&run, g->scale);
    ocl_arg_u32(&run, g->causal);
    return ocl_launch(&run, 1, (uint64_t[]){ groups * g->heads * g->batch },
                      (uint64_t[]){ ocl_tile_items(&t) });
}

static cb_status compute(struct ocl_call *call, const struct cbc_attention *g)
{
    if (!call->buffers[3].mem)
        return CB_OK;
    if (!call->buffers[0].mem) /* no keys at all */
        return ocl_call_zero(call, &call->buffers[3], g->operands[3].bytes);
    return launch(call, g);
}

cb_status ocl_attention(void *self, const cb_attention_args *args, cb_error *err)
{
    struct ocl_call call;
    struct cbc_attention g;
    cb_status st = ocl_call_begin(&call, self, "attention", err);
    if (st == CB_OK)
        st = cbc_check_attention(args, &g, err);
    if (st == CB_OK)
        st = ocl_can(call.ocl, CB_OP_ATTENTION, &g, err);
    if (st == CB_OK)
        st = ocl_call_open(&call, g.stream, g.operands, 4, false, err);
    if (st == CB_OK)
        st = compute(&call, &g);
    return ocl_call_end(&call, st);
}
