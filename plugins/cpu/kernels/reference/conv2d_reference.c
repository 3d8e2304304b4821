/* SPDX-License-Identifier: Apache-2.0 */
/* The convolutions, row by row. The order of each sum is that of the plain seven loops: forward
 * over channel, filter row, filter column; backward_data over filter, output row, output column;
 * backward_filter over image, output row, output column. Only loops over different elements have
 * changed places, so that the innermost one runs along a row. */
#include "reference.h"

#include <stddef.h>
#include <string.h>

/* Which outputs of an axis see input through one tap: those from first on, count of them. */
struct span {
    uint64_t first, count;
};

static struct span tap_span(uint64_t tap, uint64_t dilation, uint64_t stride, uint64_t pad,
                            uint64_t in, uint64_t out)
{
    const uint64_t at = tap * dilation; /* the tap's place in the padded input, for output 0 */
    const uint64_t first = at < pad ? (pad - at - 1) / stride + 1 : 0;
    uint64_t end = in + pad > at ? (in + pad - at - 1) / stride + 1 : 0;
    end = end < out ? end : out;
    return (struct span){ first, end > first ? end - first : 0 };
}

static struct span column_span(const struct cpu_conv2d *v, uint64_t s)
{
    return tap_span(s, v->dilation_w, v->stride_w, v->pad_left, v->w, v->q);
}

/* Where the input meets the first output of a span. */
static uint64_t first_column(const struct cpu_conv2d *v, uint64_t s, struct span x)
{
    return x.first * v->stride_w + s * v->dilation_w - v->pad_left;
}

/* The input row under output row p and filter row r, or NULL in the padding. channel: of the input,
 * images counted through. */
static float *input_row(const struct cpu_conv2d *v, uint64_t channel, uint64_t p, uint64_t r)
{
    const uint64_t row = p * v->stride_h + r * v->dilation_h;
    if (row < v->pad_top || row - v->pad_top >= v->h)
        return NULL;
    return v->input + (channel * v->h + row - v->pad_top) * v->w;
}

/* The first input channel of the group of filter k, in image n. */
static uint64_t first_channel(const struct cpu_conv2d *v, uint64_t n, uint64_t k)
{
    return n * v->c + k / (v->k / v->groups) * v->c_group;
}

static void forward_row(const struct cpu_conv2d *v, const float *in, const float *taps, float *out)
{
    for (uint64_t s = 0; s < v->s; s++) {
        const struct span x = column_span(v, s);
        if (!x.count)
            continue;
        const float *from = in + first_column(v, s, x), tap = taps[s];
        float *to = out + x.first;
        if (v->stride_w == 1)
            for (uint64_t q = 0; q < x.count; q++)
                to[q] += from[q] * tap;
        else
            for (uint64_t q = 0; q < x.count; q++)
                to[q] += from[q * v->stride_w] * tap;
    }
}

void cpu_conv2d_forward_reference(const struct cpu_conv2d *v, const struct cpu_work *work)
{
    (void)work;
    for (uint64_t nk = 0; nk < v->n * v->k; nk++) {
        const uint64_t n = nk / v->k, k = nk % v->k;
        for (uint64_t p = 0; p < v->p; p++) {
            float *out = v->output + (nk * v->p + p) * v->q;
            memset(out, 0, v->q * sizeof(*out));
            for (uint64_t c = 0; c < v->c_group; c++)
                for (uint64_t r = 0; r < v->r; r++) {
                    const float *in = input_row(v, first_channel(v, n, k) + c, p, r);
                    if (in)
                        forward_row(v, in, v->filter + ((k * v->c_group + c) * v->r + r) * v->s,
                                    out);
                }
        }
    }
}

/* An input element meets output columns in ascending order when the taps descend. */
static void backward_data_row(const struct cpu_conv2d *v, const float *grad, const float *taps,
                              float *in)
{
    for (uint64_t s = v->s; s-- > 0;) {
        const struct span x = column_span(v, s);
        if (!x.count)
            continue;
        const float *from = grad + x.first, tap = taps[s];
        float *to = in + first_column(v, s, x);
        if (v->stride_w == 1)
            for (uint64_t q = 0; q < x.count; q++)
                to[q] += from[q] * tap;
        else
            for (uint64_t q = 0; q < x.count; q++)
                to[q * v->stride_w] += from[q] * tap;
    }
}

void cpu_conv2d_backward_data_reference(const struct cpu_conv2d *v, const struct cpu_work *work)
{
    (void)work;
    memset(v->input, 0, v->n * v->c * v->h * v->w * sizeof(*v->input));
    for (uint64_t nk = 0; nk < v->n * v->k; nk++) {
        const uint64_t n = nk / v->k, k = nk % v->k;
        for (uint64_t c = 0; c < v->c_group; c++)
            for (uint64_t p = 0; p < v->p; p++)
                for (uint64_t r = 0; r < v->r; r++) {
                    float *in = input_row(v, first_channel(v, n, k) + c, p, r);
                    if (in)
                        backward_data_row(v, v->output + (nk * v->p + p) * v->q,
                                          v->filter + ((k * v->c_group + c) * v->r + r) * v->s, in);
                }
    }
}

static void backward_filter_row(const struct cpu_conv2d *v, const float *in, const float *grad,
                                float *taps)
{
    for (uint64_t s = 0; s < v->s; s++) {
        const struct span x = column_span(v, s);
        if (!x.count)
            continue;
        const float *from = in + first_column(v, s, x), *with = grad + x.first;
        float sum = taps[s];
        for (uint64_t q = 0; q < x.count; q++)
            sum += from[q * v->stride_w] * with[q];
        taps[s] = sum;
    }
}

void cpu_conv2d_backward_filter_reference(const struct cpu_conv2d *v, const struct cpu_work *work)
{
    (void)work;
    memset(v->filter, 0, v->k * v->c_group * v->r * v->s * sizeof(*v->filter));
    for (uint64_t nk = 0; nk < v->n * v->k; nk++) {
        const uint64_t n = nk / v->k, k = nk % v->k;
        for (uint64_t c = 0; c < v->c_group; c++)
            for (uint64_t p = 0; p < v->p; p++)
                for (uint64_t r = 0; r < v->r; r++) {
                    const float *in = input_row(v, first_channel(v, n, k) + c, p, r);
                    if (in)
                        backward_filter_row(v, in, v->output + (nk * v->p + p) * v->q,
                                            v->filter + ((k * v->c_group + c) * v->r + r) * v->s);
                }
    }
}
