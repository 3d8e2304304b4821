/* SPDX-License-Identifier: Apache-2.0 */
/* The three convolutions. A case is one geometry; the op says which of the three tensors is
 * written, and an element of it is a sum over what it meets of the other two. */
#include "bench.h"

#include <string.h>

struct geometry {
    uint64_t n, c, h, w;       /* input */
    uint64_t k, c_group, r, s; /* filter */
    uint64_t p, q;             /* output */
    uint64_t stride[2], padding[2], dilation[2], groups;
};

static bool measure(const struct bench_case *c, struct geometry *g)
{
    const uint64_t *in = c->keys[BENCH_INPUT].at, *f = c->keys[BENCH_FILTER].at;
    uint64_t out[2];
    *g = (struct geometry){ in[0], in[1], in[2],
                            in[3], f[0],  f[1],
                            f[2],  f[3],  .groups = c->keys[BENCH_GROUPS].at[0] };
    for (int i = 0; i < 2; i++) {
        const uint64_t pad = c->keys[BENCH_PADDING].at[i], step = c->keys[BENCH_STRIDE].at[i];
        const uint64_t apart = c->keys[BENCH_DILATION].at[i];
        uint64_t whole, reach;
        g->padding[i] = pad;
        g->stride[i] = step;
        g->dilation[i] = apart;
        if (pad > INT64_MAX / 4 || in[2 + i] > INT64_MAX / 4 || !f[2 + i] || !step || !apart ||
            __builtin_mul_overflow(apart, f[2 + i] - 1, &reach) || reach > INT64_MAX / 4)
            return bench_refuse(c, "no such convolution");
        whole = in[2 + i] + 2 * pad;
        if (reach + 1 > whole)
            return bench_refuse(c, "the filter is larger than the padded input");
        out[i] = (whole - reach - 1) / step + 1;
    }
    g->p = out[0];
    g->q = out[1];
    if (!g->groups || g->k % g->groups || g->c != g->c_group * g->groups)
        return bench_refuse(c, "groups and channels do not fit");
    return true;
}

static void fill_args(struct bench_case *c, const struct geometry *g)
{
    cb_conv2d_args *args = &c->call.args.conv2d;
    const uint64_t out[4] = { g->n, g->k, g->p, g->q };
    cb_conv2d_args_init(args);
    args->dtype = c->dtype;
    args->groups = g->groups;
    memcpy(args->input_shape, c->keys[BENCH_INPUT].at, sizeof(args->input_shape));
    memcpy(args->filter_shape, c->keys[BENCH_FILTER].at, sizeof(args->filter_shape));
    memcpy(args->output_shape, out, sizeof(out));
    memcpy(args->stride, g->stride, sizeof(args->stride));
    memcpy(args->dilation, g->dilation, sizeof(args->dilation));
    memcpy(args->padding, g->padding, sizeof(g->padding));
    memcpy(args->padding + 2, g->padding, sizeof(g->padding));
}

bool bench_make_conv2d(struct bench_case *c)
{
    struct geometry g;
    cb_conv2d_args *args = &c->call.args.conv2d;
    if (!measure(c, &g))
        return false;
    fill_args(c, &g);
    /* What is written stands last. */
    struct {
        const uint64_t *shape;
        uint64_t *address;
    } tensors[3] = {
        { args->input_shape, &args->input },
        { args->filter_shape, &args->filter },
        { args->output_shape, &args->output },
    };
    const int last = c->op->code == CB_OP_CONV2D_FORWARD         ? 2
                     : c->op->code == CB_OP_CONV2D_BACKWARD_DATA ? 0
                                                                 : 1;
    for (int i = 0; i < 3; i++)
        if (i != last && !bench_operand(c, c->dtype, tensors[i].shape, 4, tensors[i].address))
            return false;
    if (!bench_operand(c, c->dtype, tensors[last].shape, 4, tensors[last].address))
        return false;
    const double filter = (double)(g.c_group * g.r * g.s), positions = (double)(g.n * g.p * g.q);
    c->flops = 2.0 * (double)g.k * filter * positions;
    c->terms = c->flops / 2.0 / (double)bench_output(c)->count;
    return true;
}

/* What is not in the image: above and left of it, a position wraps around. */
static uint64_t input_at(const struct geometry *g, int axis, uint64_t out, uint64_t filter)
{
    return out * g->stride[axis] + filter * g->dilation[axis] - g->padding[axis];
}

/* The element of the output whose term of that filter position is that input position; UINT64_MAX:
 * there is none. */
static uint64_t output_at(const struct geometry *g, int axis, uint64_t in, uint64_t filter)
{
    const uint64_t from = in + g->padding[axis], shift = filter * g->dilation[axis];
    const uint64_t extent = axis ? g->q : g->p;
    if (from < shift || (from - shift) % g->stride[axis] ||
        (from - shift) / g->stride[axis] >= extent)
        return UINT64_MAX;
    return (from - shift) / g->stride[axis];
}

static uint64_t index_of(const uint64_t *shape, uint64_t i, uint64_t j, uint64_t k, uint64_t l)
{
    return ((i * shape[1] + j) * shape[2] + k) * shape[3] + l;
}

/* An element of a tensor, by its four indices. */
struct position {
    uint64_t at[4];
};

static struct position position_of(const uint64_t *shape, uint64_t i)
{
    return (struct position){ { i / (shape[1] * shape[2] * shape[3]),
                                i / (shape[2] * shape[3]) % shape[1], i / shape[3] % shape[2],
                                i % shape[3] } };
}

static void add(const struct bench_case *c, struct st_sum *sum, uint64_t first, uint64_t second)
{
    st_sum_add(sum, bench_element(c, 0, first), bench_element(c, 1, second));
}

/* Operands: input, filter. */
static void sum_forward(const struct bench_case *c, const struct geometry *g, struct position o,
                        struct st_sum *sum)
{
    const cb_conv2d_args *args = &c->call.args.conv2d;
    const uint64_t group = o.at[1] / (g->k / g->groups);
    for (uint64_t i = 0; i < g->c_group * g->r * g->s; i++) {
        const uint64_t ch = i / (g->r * g->s), r = i / g->s % g->r, s = i % g->s;
        const uint64_t y = input_at(g, 0, o.at[2], r), x = input_at(g, 1, o.at[3], s);
        if (y < g->h && x < g->w)
            add(c, sum, index_of(args->input_shape, o.at[0], group * g->c_group + ch, y, x),
                index_of(args->filter_shape, o.at[1], ch, r, s));
    }
}

/* Operands: filter, gradient of the output. */
static void sum_backward_data(const struct bench_case *c, const struct geometry *g,
                              struct position o, struct st_sum *sum)
{
    const cb_conv2d_args *args = &c->call.args.conv2d;
    const uint64_t k_group = g->k / g->groups, group = o.at[1] / g->c_group;
    for (uint64_t i = 0; i < k_group * g->r * g->s; i++) {
        const uint64_t k = group * k_group + i / (g->r * g->s), r = i / g->s % g->r, s = i % g->s;
        const uint64_t p = output_at(g, 0, o.at[2], r), q = output_at(g, 1, o.at[3], s);
        if (p < g->p && q < g->q)
            add(c, sum, index_of(args->filter_shape, k, o.at[1] % g->c_group, r, s),
                index_of(args->output_shape, o.at[0], k, p, q));
    }
}

/* Operands: input, gradient of the output. */
static void sum_backward_filter(const struct bench_case *c, const struct geometry *g,
                                struct position o, struct st_sum *sum)
{
    const cb_conv2d_args *args = &c->call.args.conv2d;
    const uint64_t group = o.at[0] / (g->k / g->groups), ch = group * g->c_group + o.at[1];
    for (uint64_t i = 0; i < g->n * g->p * g->q; i++) {
        const uint64_t n = i / (g->p * g->q), p = i / g->q % g->p, q = i % g->q;
        const uint64_t y = input_at(g, 0, p, o.at[2]), x = input_at(g, 1, q, o.at[3]);
        if (y < g->h && x < g->w)
            add(c, sum, index_of(args->input_shape, n, ch, y, x),
                index_of(args->output_shape, n, o.at[0], p, q));
    }
}

bool bench_want_conv2d(const struct bench_case *c, uint64_t i, struct st_want *want)
{
    const cb_conv2d_args *args = &c->call.args.conv2d;
    struct geometry g;
    struct st_sum sum = st_sum_of(CB_F32);
    if (!measure(c, &g))
        return false;
    if (c->op->code == CB_OP_CONV2D_FORWARD)
        sum_forward(c, &g, position_of(args->output_shape, i), &sum);
    else if (c->op->code == CB_OP_CONV2D_BACKWARD_DATA)
        sum_backward_data(c, &g, position_of(args->input_shape, i), &sum);
    else
        sum_backward_filter(c, &g, position_of(args->filter_shape, i), &sum);
    const double terms = (double)sum.terms;
    want->value = st_sum_value(&sum);
    want->bound =
        st_bound(CB_F32, (terms + 1.0) * st_unit(CB_F32) * sum.magnitude, terms, want->value.hi);
    return true;
}
