/* SPDX-License-Identifier: Apache-2.0 */
/* The ops on whole arrays of one type, in C order. */
#include "run.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* All inputs hold floats of one type, and are in C order from here on. */
static bool check(struct run *run)
{
    if (!has_floats(run, &run->in[0]))
        return false;
    for (uint32_t i = 0; i < run->n_in; i++)
        if (!has_type(run, &run->in[i], run->in[0].npy.type) || !array_lay_out(&run->in[i], false))
            return false;
    return true;
}

static bool output_like(struct run *run, const struct array *a, uint64_t *address)
{
    return make_output(run, a->npy.type, a->npy.rank, a->npy.shape, false, address);
}

/* The axis that was asked for, where a negative one counts from the end. */
static bool find_axis(struct run *run, uint32_t *out)
{
    const struct array *x = &run->in[0];
    const int64_t rank = x->npy.rank, axis = run->keys.axis;
    if (axis < -rank || axis >= rank)
        return refuse(run, x, "axis %" PRId64 " is not one of its %" PRId64, axis, rank);
    *out = (uint32_t)(axis < 0 ? axis + rank : axis);
    return true;
}

bool prepare_softmax(struct run *run)
{
    struct array *x = &run->in[0];
    cb_softmax_args *s = &run->args.softmax;
    cb_softmax_args_init(s);
    if (!check(run) || !find_axis(run, &s->axis))
        return false;
    s->dtype = dtype_of(x);
    s->shape = x->npy.shape;
    s->rank = x->npy.rank;
    x->address = &s->input;
    return output_like(run, x, &s->output);
}

bool prepare_reduce(struct run *run)
{
    struct array *x = &run->in[0];
    cb_reduce_args *r = &run->args.reduce;
    uint64_t shape[NPY_RANK_MAX];
    cb_reduce_args_init(r);
    if (!check(run) || !find_axis(run, &r->axis))
        return false;
    r->dtype = dtype_of(x);
    r->op = (uint32_t)run->keys.op;
    r->shape = x->npy.shape;
    r->rank = x->npy.rank;
    x->address = &r->input;
    for (uint32_t i = 0; i < x->npy.rank - 1; i++)
        shape[i] = x->npy.shape[i + (i >= r->axis)];
    return make_output(run, x->npy.type, x->npy.rank - 1, shape, false, &r->output);
}

static uint64_t count_of(const struct array *a)
{
    return a->npy.bytes / npy_item_size(a->npy.type);
}

bool prepare_unary(struct run *run)
{
    struct array *x = &run->in[0];
    cb_unary_args *u = &run->args.unary;
    cb_unary_args_init(u);
    if (!check(run))
        return false;
    u->dtype = dtype_of(x);
    u->op = (uint32_t)run->keys.op;
    u->n = count_of(x);
    x->address = &u->input;
    return output_like(run, x, &u->output);
}

bool prepare_binary(struct run *run)
{
    struct array *a = &run->in[0], *b = &run->in[1];
    cb_binary_args *args = &run->args.binary;
    cb_binary_args_init(args);
    if (!check(run) || !same_shape(run, b, a))
        return false;
    args->dtype = dtype_of(a);
    args->op = (uint32_t)run->keys.op;
    args->n = count_of(a);
    a->address = &args->a;
    b->address = &args->b;
    return output_like(run, a, &args->output);
}

bool prepare_attention(struct run *run)
{
    struct array *q = &run->in[0], *k = &run->in[1], *v = &run->in[2];
    cb_attention_args *a = &run->args.attention;
    if (!has_rank(run, q, 4) || !has_rank(run, k, 4) || !fits(run, k, 0, q, 0) ||
        !fits(run, k, 3, q, 3) || !same_shape(run, v, k) || !check(run))
        return false;
    const uint64_t *s = q->npy.shape, depth = s[3] ? s[3] : 1;
    if (s[1] && !k->npy.shape[1]) /* in the arguments 0 heads would mean as many as Q has */
        return refuse(run, k, "it has no heads for the %" PRIu64 " of %s", s[1], q->path);
    *a = (cb_attention_args){
        CB_ARGS(cb_attention_args),
        .dtype = dtype_of(q),
        .flags = run->keys.causal ? CB_ATTENTION_CAUSAL : 0,
        .batch = s[0],
        .heads = s[1],
        .kv_heads = k->npy.shape[1],
        .seq_q = s[2],
        .seq_kv = k->npy.shape[2],
        .head_dim = s[3],
        .scale = run->keys.given & KEY_SCALE ? run->keys.scale : 1 / sqrt((double)depth),
    };
    q->address = &a->q;
    k->address = &a->k;
    v->address = &a->v;
    return output_like(run, q, &a->o);
}
