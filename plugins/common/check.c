/* SPDX-License-Identifier: Apache-2.0 */
/* What the checks of all ops share, and the way from an op code to its check. */
#include "check.h"
#include "error.h"

uint32_t cbc_dtype_size(uint32_t dtype)
{
    return dtype == CB_F64 ? 8 : dtype == CB_F32 ? 4 : 2;
}

cb_status cbc_check_flags(uint32_t flags, uint32_t known, const char *where, cb_error *err)
{
    if (flags & ~known)
        return cbc_unsupported(err, where, "flags 0x%x has a bit that this backend does not know",
                               (unsigned)flags);
    return CB_OK;
}

cb_status cbc_check_reserved(uint32_t reserved, const char *where, cb_error *err)
{
    if (reserved)
        return cbc_unsupported(err, where, "reserved is %u, which this backend does not know",
                               (unsigned)reserved);
    return CB_OK;
}

cb_status cbc_check_dtype(uint32_t *dtype, uint32_t fallback, uint32_t mask, const char *where,
                          cb_error *err)
{
    if (*dtype == CB_DTYPE_DEFAULT)
        *dtype = fallback;
    if (*dtype > 31 || !(mask & 1u << *dtype))
        return cbc_unsupported(err, where, "dtype %u (%s) is not served", (unsigned)*dtype,
                               cb_dtype_name(*dtype));
    return CB_OK;
}

bool cbc_overlap(const struct cbc_operand *a, const struct cbc_operand *b)
{
    return a->bytes && b->bytes && a->ptr < b->ptr + b->bytes && b->ptr < a->ptr + a->bytes;
}

cb_status cbc_check_any(uint32_t op, const void *args, union cbc_any *out, cb_error *err)
{
    switch (op) {
    case CB_OP_GEMM: return cbc_check_gemm(args, &out->gemm, err);
    case CB_OP_GEMM_MIXED_PRECISION: return cbc_check_gemm_mixed_precision(args, &out->gemm, err);
    case CB_OP_BATCHED_GEMM: return cbc_check_batched_gemm(args, &out->gemm, err);
    case CB_OP_CONV2D_FORWARD:
    case CB_OP_CONV2D_BACKWARD_DATA:
    case CB_OP_CONV2D_BACKWARD_FILTER: return cbc_check_conv2d(op, args, &out->conv2d, err);
    case CB_OP_ATTENTION: return cbc_check_attention(args, &out->attention, err);
    case CB_OP_SOFTMAX: return cbc_check_softmax(args, &out->axis, err);
    case CB_OP_REDUCE: return cbc_check_reduce(args, &out->axis, err);
    case CB_OP_UNARY: return cbc_check_unary(args, &out->map, err);
    case CB_OP_BINARY: return cbc_check_binary(args, &out->map, err);
    case CB_OP_GATHER:
    case CB_OP_SCATTER: return cbc_check_rows(op, args, &out->rows, err);
    default: return cbc_unsupported(err, "supports", "op %u is not known", (unsigned)op);
    }
}
