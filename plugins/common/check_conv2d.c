/* SPDX-License-Identifier: Apache-2.0 */
/* The three convolutions: the same shapes and rules, and another operand that is written. */
#include "check.h"
#include "error.h"

/* One spatial axis: checks stride, dilation, filter and padding, and that out is as they say. */
static cb_status check_extent(const char *axis, uint64_t in, uint64_t before, uint64_t after,
                              uint64_t filter, uint64_t stride, uint64_t dilation, uint64_t out,
                              const char *where, cb_error *err)
{
    uint64_t padded, reach;
    if (!stride)
        return cbc_invalid(err, where, "stride of %s is 0", axis);
    if (!filter)
        return cbc_invalid(err, where, "filter_shape of %s is 0", axis);
    if (__builtin_add_overflow(in, before, &padded) ||
        __builtin_add_overflow(padded, after, &padded))
        return cbc_invalid(err, where, "padding %llu and %llu of %s overflows",
                           (unsigned long long)before, (unsigned long long)after, axis);
    if (__builtin_mul_overflow(dilation, filter - 1, &reach) ||
        __builtin_add_overflow(reach, 1, &reach))
        return cbc_invalid(err, where, "dilation %llu with a filter of %llu %s overflows",
                           (unsigned long long)dilation, (unsigned long long)filter, axis);
    if (reach > padded)
        return cbc_invalid(err, where,
                           "the filter spans %llu %s, more than the padded input's %llu",
                           (unsigned long long)reach, axis, (unsigned long long)padded);
    const uint64_t want = (padded - reach) / stride + 1;
    if (out != want)
        return cbc_invalid(err, where, "output_shape has %llu %s, not %llu",
                           (unsigned long long)out, axis, (unsigned long long)want);
    return CB_OK;
}

static cb_status check_channels(const cb_conv2d_args *l, uint64_t groups, const char *where,
                                cb_error *err)
{
    const uint64_t c = l->input_shape[1], k = l->filter_shape[0];
    if (c % groups || k % groups)
        return cbc_invalid(err, where, "groups %llu does not divide %llu channels and %llu filters",
                           (unsigned long long)groups, (unsigned long long)c,
                           (unsigned long long)k);
    if (l->filter_shape[1] != c / groups)
        return cbc_invalid(err, where, "filter_shape has %llu channels, not %llu",
                           (unsigned long long)l->filter_shape[1],
                           (unsigned long long)(c / groups));
    if (l->output_shape[1] != k)
        return cbc_invalid(err, where, "output_shape has %llu channels, not the %llu filters",
                           (unsigned long long)l->output_shape[1], (unsigned long long)k);
    if (l->output_shape[0] != l->input_shape[0])
        return cbc_invalid(err, where, "output_shape has %llu images, not %llu",
                           (unsigned long long)l->output_shape[0],
                           (unsigned long long)l->input_shape[0]);
    return CB_OK;
}

static cb_status check_size(const uint64_t shape[4], const char *name, uint64_t *bytes,
                            const char *where, cb_error *err)
{
    uint64_t product = sizeof(float);
    bool fits = true, empty = false;
    for (int i = 0; i < 4; i++) {
        fits = fits && cbc_mul(&product, shape[i]);
        empty = empty || !shape[i];
    }
    if (!fits)
        return cbc_invalid(err, where, "%s %llu,%llu,%llu,%llu overflows", name,
                           (unsigned long long)shape[0], (unsigned long long)shape[1],
                           (unsigned long long)shape[2], (unsigned long long)shape[3]);
    *bytes = empty ? 0 : product;
    return CB_OK;
}

/* Only what takes part in a sum is touched: with nothing to write, or an empty sum, no input is. */
static void set_operands(uint32_t op, const cb_conv2d_args *l, const uint64_t bytes[3],
                         struct cbc_conv2d *out)
{
    const int written = op == CB_OP_CONV2D_FORWARD ? 2 : op == CB_OP_CONV2D_BACKWARD_DATA ? 0 : 1;
    const bool sums = bytes[0] && bytes[1] && bytes[2];
    const uint64_t ptr[3] = { l->input, l->filter, l->output };
    static const char *const names[3] = { "input", "filter", "output" };
    for (int i = 0; i < 3; i++)
        out->operands[i] =
            (struct cbc_operand){ names[i], ptr[i], i == written || sums ? bytes[i] : 0,
                                  sizeof(float), i == written };
}

cb_status cbc_check_conv2d(uint32_t op, const cb_conv2d_args *args, struct cbc_conv2d *out,
                           cb_error *err)
{
    const char *where = cb_op_name(op);
    cb_conv2d_args l;
    cb_status st = cb_args_read(&l, sizeof(l), CB_CONV2D_ARGS_1_0, args, where, err);
    if (st == CB_OK)
        st = cbc_check_dtype(&l.dtype, CB_F32, 1u << CB_F32, where, err);
    if (st == CB_OK)
        st = cbc_check_flags(l.flags, 0, where, err);
    if (st != CB_OK)
        return st;

    const uint64_t groups = l.groups ? l.groups : 1;
    const uint64_t dilation_h = l.dilation[0] ? l.dilation[0] : 1;
    const uint64_t dilation_w = l.dilation[1] ? l.dilation[1] : 1;
    uint64_t bytes[3];
    st = check_channels(&l, groups, where, err);
    if (st == CB_OK)
        st = check_extent("rows", l.input_shape[2], l.padding[0], l.padding[2], l.filter_shape[2],
                          l.stride[0], dilation_h, l.output_shape[2], where, err);
    if (st == CB_OK)
        st =
            check_extent("columns", l.input_shape[3], l.padding[1], l.padding[3], l.filter_shape[3],
                         l.stride[1], dilation_w, l.output_shape[3], where, err);
    if (st == CB_OK)
        st = check_size(l.input_shape, "input_shape", &bytes[0], where, err);
    if (st == CB_OK)
        st = check_size(l.filter_shape, "filter_shape", &bytes[1], where, err);
    if (st == CB_OK)
        st = check_size(l.output_shape, "output_shape", &bytes[2], where, err);
    if (st != CB_OK)
        return st;

    *out = (struct cbc_conv2d){
        .n = l.input_shape[0],
        .c = l.input_shape[1],
        .h = l.input_shape[2],
        .w = l.input_shape[3],
        .k = l.filter_shape[0],
        .c_group = l.filter_shape[1],
        .r = l.filter_shape[2],
        .s = l.filter_shape[3],
        .p = l.output_shape[2],
        .q = l.output_shape[3],
        .stride_h = l.stride[0],
        .stride_w = l.stride[1],
        .dilation_h = dilation_h,
        .dilation_w = dilation_w,
        .pad_top = l.padding[0],
        .pad_left = l.padding[1],
        .groups = groups,
        .stream = l.stream,
    };
    set_operands(op, &l, bytes, out);
    return CB_OK;
}
