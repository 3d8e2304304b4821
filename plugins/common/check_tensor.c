/* SPDX-License-Identifier: Apache-2.0 */
/* softmax, reduce, unary and binary: the ops on plain row-major tensors of any float type. */
#include "check.h"
#include "error.h"

#define ALL_TYPES (1u << CB_F64 | 1u << CB_F32 | 1u << CB_BF16 | 1u << CB_F16)

struct axis_args {
    uint32_t dtype, flags, rank, axis;
    const uint64_t *shape;
};

/* Splits a shape into what is before the axis, the axis, and what is behind it. */
static cb_status check_axis(const struct axis_args *l, struct cbc_axis *out, uint64_t *bytes,
                            const char *where, cb_error *err)
{
    out->dtype = l->dtype;
    cb_status st = cbc_check_dtype(&out->dtype, CB_F32, ALL_TYPES, where, err);
    if (st == CB_OK)
        st = cbc_check_flags(l->flags, 0, where, err);
    if (st != CB_OK)
        return st;
    if (l->rank < 1 || l->rank > CB_MAX_RANK)
        return cbc_invalid(err, where, "rank %u is not in 1..%d", (unsigned)l->rank, CB_MAX_RANK);
    if (!l->shape)
        return cbc_invalid(err, where, "shape is NULL");
    if (l->axis >= l->rank)
        return cbc_invalid(err, where, "axis %u is not below rank %u", (unsigned)l->axis,
                           (unsigned)l->rank);

    uint64_t product = cbc_dtype_size(out->dtype);
    out->outer = out->inner = 1;
    for (uint32_t i = 0; i < l->rank; i++) {
        if (!cbc_mul(&product, l->shape[i]))
            return cbc_invalid(err, where, "shape overflows at extent %u, which is %llu",
                               (unsigned)i, (unsigned long long)l->shape[i]);
        if (i < l->axis)
            out->outer *= l->shape[i];
        else if (i > l->axis)
            out->inner *= l->shape[i];
    }
    out->len = l->shape[l->axis];
    *bytes = out->outer && out->len && out->inner ? product : 0;
    return CB_OK;
}

cb_status cbc_check_softmax(const cb_softmax_args *args, struct cbc_axis *out, cb_error *err)
{
    static const char where[] = "softmax";
    cb_softmax_args l;
    uint64_t bytes;
    cb_status st = cb_args_read(&l, sizeof(l), CB_SOFTMAX_ARGS_1_0, args, where, err);
    if (st != CB_OK)
        return st;
    *out = (struct cbc_axis){ .stream = l.stream };
    const struct axis_args axis = { l.dtype, l.flags, l.rank, l.axis, l.shape };
    st = check_axis(&axis, out, &bytes, where, err);
    if (st != CB_OK)
        return st;
    const uint32_t element = cbc_dtype_size(out->dtype);
    out->operands[0] = (struct cbc_operand){ "input", l.input, bytes, element, false };
    out->operands[1] = (struct cbc_operand){ "output", l.output, bytes, element, true };
    return CB_OK;
}

cb_status cbc_check_reduce(const cb_reduce_args *args, struct cbc_axis *out, cb_error *err)
{
    static const char where[] = "reduce";
    cb_reduce_args l;
    uint64_t bytes;
    cb_status st = cb_args_read(&l, sizeof(l), CB_REDUCE_ARGS_1_0, args, where, err);
    if (st != CB_OK)
        return st;
    *out = (struct cbc_axis){ .op = l.op, .stream = l.stream };
    const struct axis_args axis = { l.dtype, l.flags, l.rank, l.axis, l.shape };
    st = check_axis(&axis, out, &bytes, where, err);
    if (st == CB_OK)
        st = cbc_check_reserved(l.reserved, where, err);
    if (st != CB_OK)
        return st;
    if (l.op > CB_REDUCE_MEAN)
        return cbc_unsupported(err, where, "op %u is not known", (unsigned)l.op);
    const uint32_t element = cbc_dtype_size(out->dtype);
    out->operands[0] = (struct cbc_operand){ "input", l.input, bytes, element, false };
    out->operands[1] = (struct cbc_operand){ "output", l.output, out->outer * out->inner * element,
                                             element, true };
    return CB_OK;
}

/* What unary and binary have in common: type, flags, op and count. */
static cb_status check_map(struct cbc_map *out, uint32_t flags, uint32_t reserved, uint32_t last_op,
                           const char *where, cb_error *err)
{
    uint64_t bytes = out->n;
    cb_status st = cbc_check_dtype(&out->dtype, CB_F32, ALL_TYPES, where, err);
    if (st == CB_OK)
        st = cbc_check_flags(flags, 0, where, err);
    if (st == CB_OK)
        st = cbc_check_reserved(reserved, where, err);
    if (st != CB_OK)
        return st;
    if (out->op > last_op)
        return cbc_unsupported(err, where, "op %u is not known", (unsigned)out->op);
    const uint32_t element = cbc_dtype_size(out->dtype);
    if (!cbc_mul(&bytes, element))
        return cbc_invalid(err, where, "n %llu overflows", (unsigned long long)out->n);
    for (int i = 0; i < 3; i++) {
        out->operands[i].bytes = bytes;
        out->operands[i].align = element;
    }
    return CB_OK;
}

cb_status cbc_check_unary(const cb_unary_args *args, struct cbc_map *out, cb_error *err)
{
    cb_unary_args l;
    cb_status st = cb_args_read(&l, sizeof(l), CB_UNARY_ARGS_1_0, args, "unary", err);
    if (st != CB_OK)
        return st;
    *out = (struct cbc_map){
        .dtype = l.dtype,
        .op = l.op,
        .n = l.n,
        .stream = l.stream,
        .operands = { { .name = "input", .ptr = l.input },
                      { .name = "output", .ptr = l.output, .written = true } },
    };
    return check_map(out, l.flags, l.reserved, CB_UNARY_NEG, "unary", err);
}

cb_status cbc_check_binary(const cb_binary_args *args, struct cbc_map *out, cb_error *err)
{
    cb_binary_args l;
    cb_status st = cb_args_read(&l, sizeof(l), CB_BINARY_ARGS_1_0, args, "binary", err);
    if (st != CB_OK)
        return st;
    *out = (struct cbc_map){
        .dtype = l.dtype,
        .op = l.op,
        .n = l.n,
        .stream = l.stream,
        .operands = { { .name = "a", .ptr = l.a },
                      { .name = "b", .ptr = l.b },
                      { .name = "output", .ptr = l.output, .written = true } },
    };
    return check_map(out, l.flags, l.reserved, CB_BINARY_MIN, "binary", err);
}
