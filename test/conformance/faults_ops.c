/* SPDX-License-Identifier: Apache-2.0 */
/* What goes wrong in convolution, attention, softmax, reductions, maps and rows. */
#include "faults.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- Convolution --------------------------------------------------------------------------- */

typedef cb_status (*conv_fn)(void *self, const cb_conv2d_args *args, cb_error *err);

static bool is_conv(const cb_conv2d_args *a)
{
    return a && a->size == sizeof(*a);
}

static uint64_t count(const uint64_t shape[4])
{
    return shape[0] * shape[1] * shape[2] * shape[3];
}

/* A call with other args where those are valid, else the call as it was. */
static cb_status try_other(conv_fn call, void *self, const cb_conv2d_args *other,
                           const cb_conv2d_args *args, cb_error *err)
{
    const cb_status st = call(self, other, NULL);
    return st == CB_OK ? st : call(self, args, err);
}

static void swap(uint64_t *a, uint64_t *b)
{
    const uint64_t t = *a;
    *a = *b;
    *b = t;
}

static cb_status conv_swaps_the_strides(void *self, const cb_conv2d_args *a, cb_error *err)
{
    if (!is_conv(a))
        return right->conv2d_forward(self, a, err);
    cb_conv2d_args other = *a;
    swap(&other.stride[0], &other.stride[1]);
    return try_other(right->conv2d_forward, self, &other, a, err);
}

static cb_status conv_swaps_the_paddings(void *self, const cb_conv2d_args *a, cb_error *err)
{
    if (!is_conv(a))
        return right->conv2d_forward(self, a, err);
    cb_conv2d_args other = *a;
    swap(&other.padding[0], &other.padding[2]);
    swap(&other.padding[1], &other.padding[3]);
    return try_other(right->conv2d_forward, self, &other, a, err);
}

/* Without dilation the output would be larger: the rest is taken for padding that is not there. */
static cb_status conv_ignores_the_dilation(void *self, const cb_conv2d_args *a, cb_error *err)
{
    if (!is_conv(a) || a->dilation[0] < 2 || a->dilation[0] > 9 || a->padding[2] > 9)
        return right->conv2d_forward(self, a, err);
    cb_conv2d_args other = *a;
    const uint64_t more = (a->dilation[0] - 1) * (a->filter_shape[2] - 1);
    other.dilation[0] = 1;
    other.padding[2] = more < a->padding[2] ? a->padding[2] - more : 0;
    return try_other(right->conv2d_forward, self, &other, a, err);
}

static cb_status conv_accepts_stride_0(void *self, const cb_conv2d_args *a, cb_error *err)
{
    if (is_conv(a) && (a->stride[0] == 0 || a->stride[1] == 0))
        return CB_OK;
    return right->conv2d_forward(self, a, err);
}

static cb_status backward_data_skips_gradients_of_0(void *self, const cb_conv2d_args *a,
                                                    cb_error *err)
{
    const cb_status st = right->conv2d_backward_data(self, a, err);
    for (uint64_t i = 0; st == CB_OK && is_conv(a) && i < count(a->input_shape); i++) {
        if (isnan(peek(self, a->input, i)))
            poke(self, a->input, i, 0.0f);
    }
    return st;
}

static cb_status backward_filter_leaves_an_empty_sum(void *self, const cb_conv2d_args *a,
                                                     cb_error *err)
{
    return is_conv(a) && a->input_shape[0] == 0 ? CB_OK
                                                : right->conv2d_backward_filter(self, a, err);
}

/* ---- Attention ----------------------------------------------------------------------------- */

static bool is_attention(const cb_attention_args *a)
{
    return a && a->size == sizeof(*a);
}

static cb_status attention_ignores_the_mask(void *self, const cb_attention_args *a, cb_error *err)
{
    if (!is_attention(a))
        return right->attention(self, a, err);
    cb_attention_args other = *a;
    other.flags &= ~CB_ATTENTION_CAUSAL;
    return right->attention(self, &other, err);
}

/* With one head a shorter K and V are their own beginning. */
static cb_status attention_masks_from_the_upper_left(void *self, const cb_attention_args *a,
                                                     cb_error *err)
{
    if (!is_attention(a) || !(a->flags & CB_ATTENTION_CAUSAL) || a->seq_kv <= a->seq_q)
        return right->attention(self, a, err);
    cb_attention_args other = *a;
    other.seq_kv = a->seq_q;
    return right->attention(self, &other, err);
}

static cb_status attention_is_causal_one_too_early(void *self, const cb_attention_args *a,
                                                   cb_error *err)
{
    if (!is_attention(a) || !(a->flags & CB_ATTENTION_CAUSAL) || a->seq_kv < 2)
        return right->attention(self, a, err);
    cb_attention_args other = *a;
    other.seq_kv--;
    return right->attention(self, &other, err);
}

static cb_status attention_leaves_rows_without_keys(void *self, const cb_attention_args *a,
                                                    cb_error *err)
{
    const bool none = is_attention(a) && (a->flags & CB_ATTENTION_CAUSAL) && a->seq_q > a->seq_kv;
    const float before = none ? peek(self, a->o, 0) : 0.0f;
    const cb_status st = right->attention(self, a, err);
    if (st == CB_OK && none)
        poke(self, a->o, 0, before);
    return st;
}

static cb_status attention_ignores_kv_heads(void *self, const cb_attention_args *a, cb_error *err)
{
    if (!is_attention(a) || a->kv_heads < 2 || a->heads % a->kv_heads)
        return right->attention(self, a, err);
    cb_attention_args other = *a;
    other.kv_heads = 1;
    return right->attention(self, &other, err);
}

/* ---- Softmax and reduce -------------------------------------------------------------------- */

static cb_status softmax_overflows_without_max(void *self, const cb_softmax_args *a, cb_error *err)
{
    const bool large =
        a && a->size == sizeof(*a) && a->dtype == CB_F32 && fabsf(peek(self, a->input, 1)) > 89.0f;
    const cb_status st = right->softmax(self, a, err);
    if (st == CB_OK && large)
        poke(self, a->output, 1, NAN);
    return st;
}

static cb_status softmax_hides_nan(void *self, const cb_softmax_args *a, cb_error *err)
{
    const cb_status st = right->softmax(self, a, err);
    if (st == CB_OK && a->dtype == CB_F32 && isnan(peek(self, a->output, 0)))
        poke(self, a->output, 0, 0.0f);
    return st;
}

static cb_status reduce_takes_mean_as_sum(void *self, const cb_reduce_args *a, cb_error *err)
{
    if (!a || a->size != sizeof(*a) || a->op != CB_REDUCE_MEAN)
        return right->reduce(self, a, err);
    cb_reduce_args other = *a;
    other.op = CB_REDUCE_SUM;
    return right->reduce(self, &other, err);
}

static cb_status reduce_drops_nan(void *self, const cb_reduce_args *a, cb_error *err)
{
    const cb_status st = right->reduce(self, a, err);
    if (st == CB_OK && a->op == CB_REDUCE_MAX && a->dtype == CB_F32 && a->rank == 1 &&
        isnan(peek(self, a->output, 0)))
        poke(self, a->output, 0, 1.0f);
    return st;
}

static cb_status reduce_stalls_in_long_sums(void *self, const cb_reduce_args *a, cb_error *err)
{
    const cb_status st = right->reduce(self, a, err);
    if (st == CB_OK && a->dtype == CB_F32 && a->op == CB_REDUCE_SUM && a->rank == 1 &&
        a->shape[0] > 4097)
        poke(self, a->output, 0, peek(self, a->output, 0) * 0.9999f);
    return st;
}

/* ---- Maps ---------------------------------------------------------------------------------- */

static bool is_f32_map(cb_status st, const cb_unary_args *a)
{
    return st == CB_OK && a->dtype == CB_F32;
}

static cb_status unary_skips_the_last_element(void *self, const cb_unary_args *a, cb_error *err)
{
    const bool some = a && a->size == sizeof(*a) && a->n % 8 == 5 && a->dtype == CB_F32;
    const float before = some ? peek(self, a->output, a->n - 1) : 0.0f;
    const cb_status st = right->unary(self, a, err);
    if (st == CB_OK && some)
        poke(self, a->output, a->n - 1, before);
    return st;
}

static cb_status unary_flushes_subnormals(void *self, const cb_unary_args *a, cb_error *err)
{
    const cb_status st = right->unary(self, a, err);
    for (uint64_t i = 0; is_f32_map(st, a) && a->op == CB_UNARY_EXP && i < a->n && a->n < 500;
         i++) {
        if (fabsf(peek(self, a->output, i)) < FLT_MIN)
            poke(self, a->output, i, 0.0f);
    }
    return st;
}

static cb_status unary_keeps_relu_of_minus_0(void *self, const cb_unary_args *a, cb_error *err)
{
    const cb_status st = right->unary(self, a, err);
    for (uint64_t i = 0; is_f32_map(st, a) && a->op == CB_UNARY_RELU && i < a->n && a->n < 500;
         i++) {
        const float x = peek(self, a->input, i);
        if (x == 0.0f && signbit(x))
            poke(self, a->output, i, x);
    }
    return st;
}

static cb_status unary_log_is_5_ulp_off(void *self, const cb_unary_args *a, cb_error *err)
{
    const cb_status st = right->unary(self, a, err);
    if (is_f32_map(st, a) && a->op == CB_UNARY_LOG && a->n > 40) {
        const float y = peek(self, a->output, 33);
        poke(self, a->output, 33, y + 5.0f * (nextafterf(y, INFINITY) - y));
    }
    return st;
}

static cb_status unary_modifies_the_input(void *self, const cb_unary_args *a, cb_error *err)
{
    const cb_status st = right->unary(self, a, err);
    if (is_f32_map(st, a) && a->n && a->input != a->output)
        poke(self, a->input, 0, 1.0f);
    return st;
}

static cb_status binary_loses_the_sign_of_0(void *self, const cb_binary_args *a, cb_error *err)
{
    const cb_status st = right->binary(self, a, err);
    const bool min = st == CB_OK && a->dtype == CB_F32 && a->op == CB_BINARY_MIN;
    for (uint64_t i = 0; min && i < a->n && i < 500; i++) {
        if (peek(self, a->output, i) == 0.0f)
            poke(self, a->output, i, 0.0f);
    }
    return st;
}

static cb_status binary_refuses_overlaps(void *self, const cb_binary_args *a, cb_error *err)
{
    const cb_status st = right->binary(self, a, err);
    return st == CB_OK && a->output > a->a && a->output < a->a + a->n ? CB_UNSUPPORTED : st;
}

static cb_status binary_rounds_towards_0(void *self, const cb_binary_args *a, cb_error *err)
{
    const cb_status st = right->binary(self, a, err);
    if (st == CB_OK && a->dtype == CB_F32 && a->op == CB_BINARY_DIV && a->n == 11)
        poke(self, a->output, 7, nextafterf(peek(self, a->output, 7), 0.0f));
    return st;
}

/* ---- Rows ---------------------------------------------------------------------------------- */

/* Row by row, and none a second time. */
static cb_status scatter_lets_the_first_win(void *self, const cb_rows_args *a, cb_error *err)
{
    if (!a || a->size != sizeof(*a) || !a->indices || a->n_indices > 100)
        return right->scatter(self, a, err);
    uint64_t unique[100], n = 0;
    for (uint64_t i = 0; i < a->n_indices; i++) {
        bool seen = false;
        for (uint64_t j = 0; j < i; j++)
            seen = seen || a->indices[j] == a->indices[i];
        if (seen)
            break;
        unique[n++] = a->indices[i];
    }
    cb_rows_args other = *a;
    other.indices = unique;
    other.n_indices = n;
    return n ? right->scatter(self, &other, err) : right->scatter(self, a, err);
}

static cb_status gather_is_off_by_one_row(void *self, const cb_rows_args *a, cb_error *err)
{
    if (!a || a->size != sizeof(*a) || !a->indices || a->n_indices > 100 || !a->n_indices)
        return right->gather(self, a, err);
    uint64_t shifted[100];
    memcpy(shifted, a->indices, a->n_indices * sizeof(*shifted));
    if (shifted[0] + 1 < a->rows)
        shifted[0]++;
    cb_rows_args other = *a;
    other.indices = shifted;
    return right->gather(self, &other, err);
}

static cb_status scatter_checks_each_index_late(void *self, const cb_rows_args *a, cb_error *err)
{
    const cb_status st = right->scatter(self, a, err);
    if (st == CB_INVALID_ARGUMENT && a && a->size == sizeof(*a) && a->indices &&
        a->n_indices < 100 && a->indices[0] < a->rows) {
        cb_rows_args other = *a;
        other.n_indices = 1;
        right->scatter(self, &other, NULL);
    }
    return st;
}

const struct fault op_faults[] = {
    FAULT(conv_swaps_the_strides, conv2d_forward, "conv2d_forward", "conv2d_forward:"),
    FAULT(conv_swaps_the_paddings, conv2d_forward, "conv2d_forward", "conv2d_forward:"),
    FAULT(conv_ignores_the_dilation, conv2d_forward, "conv2d_forward", "conv2d_forward:"),
    FAULT(conv_accepts_stride_0, conv2d_forward, "conv2d_forward", "conv2d_forward:"),
    FAULT(backward_data_skips_gradients_of_0, conv2d_backward_data, "conv2d_backward_data",
          "conv2d_backward_data:"),
    FAULT(backward_filter_leaves_an_empty_sum, conv2d_backward_filter, "conv2d_backward_filter",
          "conv2d_backward_filter:"),
    FAULT(attention_ignores_the_mask, attention, "attention", "attention:"),
    FAULT(attention_masks_from_the_upper_left, attention, "attention", "attention:"),
    FAULT(attention_is_causal_one_too_early, attention, "attention", "attention:"),
    FAULT(attention_leaves_rows_without_keys, attention, "attention", "attention:"),
    FAULT(attention_ignores_kv_heads, attention, "attention", "attention:"),
    FAULT(softmax_overflows_without_max, softmax, "softmax:f32,*", "softmax:f32"),
    FAULT(softmax_hides_nan, softmax, "softmax:f32,*", "softmax:f32"),
    FAULT(reduce_takes_mean_as_sum, reduce, "reduce:f16,*", "reduce:f16,mean"),
    FAULT(reduce_drops_nan, reduce, "reduce:f32,*", "reduce:f32,max"),
    FAULT(reduce_stalls_in_long_sums, reduce, "reduce:f32,*", "reduce:f32,sum"),
    FAULT(unary_skips_the_last_element, unary, "unary:f32,*", "unary:f32"),
    FAULT(unary_flushes_subnormals, unary, "unary:f32,*", "unary:f32,exp"),
    FAULT(unary_keeps_relu_of_minus_0, unary, "unary:f32,*", "unary:f32,relu"),
    FAULT(unary_log_is_5_ulp_off, unary, "unary:f32,*", "unary:f32,log"),
    FAULT(unary_modifies_the_input, unary, "unary:f32,*", "unary:f32"),
    FAULT(binary_loses_the_sign_of_0, binary, "binary:f32,*", "binary:f32,min"),
    FAULT(binary_refuses_overlaps, binary, "binary:f64,*", "binary:f64,"),
    FAULT(binary_rounds_towards_0, binary, "binary:f32,*", "binary:f32,div"),
    FAULT(scatter_lets_the_first_win, scatter, "scatter", "scatter:"),
    FAULT(scatter_checks_each_index_late, scatter, "scatter", "scatter:"),
    FAULT(gather_is_off_by_one_row, gather, "gather", "gather:"),
    { .name = NULL },
};
