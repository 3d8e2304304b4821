/* SPDX-License-Identifier: Apache-2.0 */
#include "ops.h"

/* The type that sums are in; 0 where the op only moves bytes. */
static uint32_t type_of(uint32_t op, const union cbc_any *any)
{
    switch (op) {
    case CB_OP_GEMM:
    case CB_OP_GEMM_MIXED_PRECISION:
    case CB_OP_BATCHED_GEMM: return any->gemm.dtype;
    case CB_OP_SOFTMAX:
    case CB_OP_REDUCE: return any->axis.dtype;
    case CB_OP_UNARY:
    case CB_OP_BINARY: return any->map.dtype;
    case CB_OP_GATHER:
    case CB_OP_SCATTER: return 0;
    default: return CB_F32;
    }
}

static bool is_gemm(uint32_t op)
{
    return op == CB_OP_GEMM || op == CB_OP_GEMM_MIXED_PRECISION || op == CB_OP_BATCHED_GEMM;
}

static bool is_conv2d(uint32_t op)
{
    return op == CB_OP_CONV2D_FORWARD || op == CB_OP_CONV2D_BACKWARD_DATA ||
           op == CB_OP_CONV2D_BACKWARD_FILTER;
}

cb_status ocl_can(const struct ocl_backend *ocl, uint32_t op, const void *any, cb_error *err)
{
    const struct ocl_device *d = ocl->device;
    const char *where = cb_op_name(op);
    const uint32_t dtype = type_of(op, any);
    if (dtype == CB_F64 && !d->f64)
        return cbc_unsupported(err, where, "dtype %s: %.100s has no doubles", cb_dtype_name(dtype),
                               d->name);
    if (d->group_size < OCL_GROUP)
        return cbc_unsupported(err, where,
                               "%.100s has groups of at most %llu work-items, and %d "
                               "are needed",
                               d->name, (unsigned long long)d->group_size, OCL_GROUP);
    if (is_conv2d(op) && ocl_conv2d_reach(any) >= OCL_CONV2D_FAR)
        return cbc_unsupported(err, where, "the padded image spans more than 2^61 places");
    if (!is_gemm(op))
        return CB_OK;
    const struct ocl_tile t = ocl_gemm_tile(ocl, dtype);
    const uint64_t items = ocl_tile_items(&t), bytes = ocl_tile_local_bytes(&t, dtype);
    if (items > d->group_size || bytes > d->local_memory)
        return cbc_unsupported(err, where,
                               "a tile of %ux%ux%u takes %llu work-items and %llu bytes of local "
                               "memory, and %.100s has %llu and %llu",
                               t.m, t.n, t.k, (unsigned long long)items, (unsigned long long)bytes,
                               d->name, (unsigned long long)d->group_size,
                               (unsigned long long)d->local_memory);
    return CB_OK;
}

/* What a valid call would ask for beyond copies of inputs that its output overlaps. */
static uint64_t temporary_bytes(const struct ocl_backend *ocl, uint32_t op,
                                const union cbc_any *any)
{
    switch (op) {
    case CB_OP_REDUCE: return ocl_reduce_temporary(ocl->device, &any->axis);
    case CB_OP_GATHER: return any->rows.n_indices * sizeof(uint64_t);
    case CB_OP_SCATTER: return any->rows.n_indices * 2 * sizeof(uint64_t);
    default: return 0;
    }
}

cb_status ocl_supports(void *self, uint32_t op, const void *args, cb_support *out, cb_error *err)
{
    struct ocl_call call;
    union cbc_any any;
    cb_error why;
    cb_support answer = { CB_ARGS(cb_support), .answer = CB_SUPPORT_YES };
    cb_error_init(&why);

    cb_status st = ocl_call_begin(&call, self, "supports", err);
    if (st == CB_OK && !args)
        st = cbc_invalid(err, "supports", "args is NULL");
    if (st == CB_OK) {
        if (cbc_check_any(op, args, &any, &why) != CB_OK ||
            ocl_can(call.ocl, op, &any, &why) != CB_OK) {
            answer.answer = CB_SUPPORT_NO;
            cb_text_append(answer.reason, sizeof(answer.reason), why.msg);
        } else {
            answer.temporary_bytes = temporary_bytes(call.ocl, op, &any);
        }
        st = cb_result_write(out, &answer, sizeof(answer), CB_SUPPORT_1_0, "supports", err);
    }
    return ocl_call_end(&call, st);
}
