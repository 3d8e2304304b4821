/* SPDX-License-Identifier: Apache-2.0 */
#include "run.h"

#include <string.h>

/* One of the two spatial axes. */
struct side {
    uint64_t stride, padding, dilation;
};

/* False: the padding overflows. */
static bool side_of(const struct keys *keys, uint32_t i, struct side *out)
{
    out->stride = keys->stride[i];
    out->dilation = keys->dilation[i] ? keys->dilation[i] : 1;
    return !__builtin_add_overflow(keys->padding[i], keys->padding[i + 2], &out->padding);
}

/* What a filter of that extent spans, less one. False: nothing, or it overflows. */
static bool reach_of(const struct side *s, uint64_t filter, uint64_t *reach)
{
    return filter && !__builtin_mul_overflow(s->dilation, filter - 1, reach);
}

/* The three extents of an axis, each from the other two: in + padding - reach = (out - 1) * stride,
 * where a stride above 1 may leave a remainder. False: there is none that fits. */
static bool find_out(const struct side *s, uint64_t in, uint64_t filter, uint64_t *out)
{
    uint64_t reach, padded;
    if (!s->stride || !reach_of(s, filter, &reach) ||
        __builtin_add_overflow(in, s->padding, &padded) || padded <= reach)
        return false;
    *out = (padded - reach - 1) / s->stride + 1;
    return true;
}

static bool find_in(const struct side *s, uint64_t filter, uint64_t out, uint64_t *in)
{
    uint64_t reach, padded;
    if (!out || !reach_of(s, filter, &reach) || __builtin_add_overflow(out, reach, &padded) ||
        padded < s->padding)
        return false;
    *in = padded - s->padding;
    return true;
}

static bool find_filter(const struct side *s, uint64_t in, uint64_t out, uint64_t *filter)
{
    uint64_t padded;
    if (!out || __builtin_add_overflow(in, s->padding, &padded) || padded < out ||
        (padded - out) % s->dilation)
        return false;
    *filter = (padded - out) / s->dilation + 1;
    return true;
}

typedef bool (*find_fn)(const struct side *s, uint64_t first, uint64_t second, uint64_t *wanted);

/* The two spatial extents of the result, from those of the operands. */
static bool find_sides(struct run *run, find_fn find, uint64_t shape[4])
{
    const struct array *first = &run->in[0], *second = &run->in[1];
    for (uint32_t i = 0; i < 2; i++) {
        struct side s;
        if (!side_of(&run->keys, i, &s) ||
            !find(&s, first->npy.shape[2 + i], second->npy.shape[2 + i], &shape[2 + i]))
            return refuse(run, second,
                          "its axis %u does not fit that of %s with this stride, padding and "
                          "dilation",
                          (unsigned)(2 + i), first->path);
    }
    return true;
}

/* The shape that was given, or the one that follows, which only a stride of 1 leaves no doubt of.
 */
static bool find_shape(struct run *run, uint32_t key, const uint64_t *given, const char *name,
                       find_fn find, uint64_t shape[4])
{
    if (run->keys.given & key) {
        memcpy(shape, given, 4 * sizeof(*shape));
        return true;
    }
    if (run->keys.stride[0] == 1 && run->keys.stride[1] == 1)
        return find_sides(run, find, shape);
    complain("%s: a stride that is not 1,1 leaves more than one shape: %s is needed",
             cb_op_name(run->op->code), name);
    return false;
}

static uint64_t groups_of(const struct keys *keys)
{
    return keys->groups ? keys->groups : 1;
}

static bool check(struct run *run)
{
    return has_rank(run, &run->in[0], 4) && has_rank(run, &run->in[1], 4) &&
           has_floats(run, &run->in[0]) && has_type(run, &run->in[1], run->in[0].npy.type) &&
           array_lay_out(&run->in[0], false) && array_lay_out(&run->in[1], false);
}

/* shapes, and addresses to come: of input, filter and output. */
static bool fill(struct run *run, struct array *arrays[3], const uint64_t *shapes[3])
{
    const struct keys *keys = &run->keys;
    cb_conv2d_args *c = &run->args.conv2d;
    uint64_t *const addresses[3] = { &c->input, &c->filter, &c->output };
    *c = (cb_conv2d_args){
        CB_ARGS(cb_conv2d_args),
        .dtype = dtype_of(&run->in[0]),
        .groups = keys->groups,
    };
    memcpy(c->input_shape, shapes[0], sizeof(c->input_shape));
    memcpy(c->filter_shape, shapes[1], sizeof(c->filter_shape));
    memcpy(c->output_shape, shapes[2], sizeof(c->output_shape));
    memcpy(c->stride, keys->stride, sizeof(c->stride));
    memcpy(c->padding, keys->padding, sizeof(c->padding));
    memcpy(c->dilation, keys->dilation, sizeof(c->dilation));
    for (uint32_t i = 0; i < 3; i++) {
        if (arrays[i])
            arrays[i]->address = addresses[i];
        else if (!make_output(run, run->in[0].npy.type, 4, shapes[i], false, addresses[i]))
            return false;
    }
    return true;
}

bool prepare_conv2d_forward(struct run *run)
{
    struct array *x = &run->in[0], *w = &run->in[1];
    uint64_t out[4] = { x->npy.shape[0], w->npy.shape[0] };
    return check(run) && find_sides(run, find_out, out) &&
           fill(run, (struct array *[]){ x, w, NULL },
                (const uint64_t *[]){ x->npy.shape, w->npy.shape, out });
}

bool prepare_conv2d_backward_data(struct run *run)
{
    struct array *w = &run->in[0], *dy = &run->in[1];
    uint64_t in[4] = { dy->npy.shape[0] };
    if (!check(run))
        return false;
    if (__builtin_mul_overflow(w->npy.shape[1], groups_of(&run->keys), &in[1]))
        return refuse(run, w, "its axis 1 times groups overflows");
    return find_shape(run, KEY_INPUT_SHAPE, run->keys.input_shape, "input_shape=N,C,H,W", find_in,
                      in) &&
           fill(run, (struct array *[]){ NULL, w, dy },
                (const uint64_t *[]){ in, w->npy.shape, dy->npy.shape });
}

bool prepare_conv2d_backward_filter(struct run *run)
{
    struct array *x = &run->in[0], *dy = &run->in[1];
    if (!check(run))
        return false;
    uint64_t filter[4] = { dy->npy.shape[1], x->npy.shape[1] / groups_of(&run->keys) };
    return find_shape(run, KEY_FILTER_SHAPE, run->keys.filter_shape, "filter_shape=K,C/GROUPS,R,S",
                      find_filter, filter) &&
           fill(run, (struct array *[]){ x, NULL, dy },
                (const uint64_t *[]){ x->npy.shape, filter, dy->npy.shape });
}
