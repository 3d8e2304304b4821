/* SPDX-License-Identifier: Apache-2.0 */
/* softmax along each axis, of rows with and without special values. */
#include "suite.h"
#include "tensor.h"

#include <stdlib.h>
#include <string.h>

static const char value_rule[] =
    "softmax: p (d + sum p d + (n+6) u) + the smallest normal, d = (|x-max|+2) u";
static const char nan_rule[] = "a row with NaN or +infinity, and one of -infinity, is all NaN";

enum values {
    UNIFORM,
    WIDE,    /* as far apart as the type goes before exp is 0, and beyond */
    SPECIAL, /* some rows have NaN, +infinity, or are -infinity */
    LARGE,   /* so large that exp alone overflows */
};

struct softmax {
    uint32_t type, values, in_place;
    struct st_tensor shape;
    const struct st_variant *variant;
};

/* The smallest normal of the arithmetic, which is f32 for 16-bit types. */
static double smallest_normal(uint32_t type)
{
    return type == CB_F64 ? 0x1p-1022 : 0x1p-126;
}

static void want_row(struct st_run *run, const struct softmax *s, struct st_buffer *in,
                     struct st_buffer *out, struct st_softmax *row, uint64_t first)
{
    const uint64_t n = st_tensor_length(&s->shape), step = st_tensor_step(&s->shape);
    for (uint64_t i = 0; i < n; i++) {
        row->p[i] = (struct st_dd){ in->x[first + i * step], 0.0 };
        row->deviation[i] = 0.0;
    }
    st_softmax_row(s->type, row, n);
    run->rule = row->nan ? nan_rule : value_rule;
    for (uint64_t i = 0; i < n; i++) {
        if (row->nan) {
            st_want_exact(run, out, first + i * step, NAN);
            continue;
        }
        const double p = row->p[i].hi;
        const double bound = p * (row->deviation[i] + row->mean) + smallest_normal(s->type);
        st_want_near(run, out, first + i * step, row->p[i], st_bound(s->type, bound, (double)n, p));
    }
}

static void want_all(struct st_run *run, const struct softmax *s, struct st_buffer *in,
                     struct st_buffer *out)
{
    const uint64_t n = st_tensor_length(&s->shape);
    struct st_softmax row = { .p = st_host(run, n, sizeof(*row.p)),
                              .deviation = st_host(run, n, sizeof(*row.deviation)) };
    for (uint64_t i = 0; row.p && row.deviation && i < st_tensor_rows(&s->shape); i++)
        want_row(run, s, in, out, &row, st_tensor_row(&s->shape, i));
    free(row.p);
    free(row.deviation);
}

static void fill(struct st_run *run, const struct softmax *s, struct st_buffer *in)
{
    const double scale = s->values == WIDE ? 60.0 : s->values == LARGE ? 3.0 : 2.0;
    st_fill(run, in, scale);
    if (s->values == LARGE) {
        const double shift = s->type == CB_F16 ? 60000.0 : 1.0e30;
        for (uint64_t i = 0; i < in->count; i++)
            st_set(in, i, in->x[i] + (i % 2 ? shift : 0.0));
    }
    if (s->values != SPECIAL)
        return;
    static const double specials[] = { NAN, INFINITY, -INFINITY, 0.0 };
    const uint64_t n = st_tensor_length(&s->shape), step = st_tensor_step(&s->shape);
    for (uint64_t r = 0; r < st_tensor_rows(&s->shape); r++) {
        const uint64_t first = st_tensor_row(&s->shape, r);
        const double v = specials[r % 4];
        if (r % 8 == 6)
            for (uint64_t i = 0; i < n; i++)
                st_set(in, first + i * step, -INFINITY);
        else if (n)
            st_set(in, first + (r * 3 % n) * step, v);
    }
}

static void run_softmax(struct st_run *run, const struct softmax *s)
{
    static const char *const values[] = { "", ",wide", ",special", ",large" };
    char text[ST_TENSOR_TEXT];
    if (!st_begin(run, "softmax:%s,%s%s%s%s%s", st_type_name(s->type),
                  st_tensor_text(&s->shape, text), values[s->values],
                  s->in_place ? ",in_place" : "", ST_VARIANT(s->variant)))
        return;
    const uint64_t n = st_tensor_count(&s->shape);
    struct st_buffer *in = st_buffer(run, "input", s->type, n, s->in_place);
    struct st_buffer *out = s->in_place ? in : st_buffer(run, "output", s->type, n, true);
    if (in && out) {
        fill(run, s, in);
        want_all(run, s, in, out);
        cb_softmax_args args;
        cb_softmax_args_init(&args);
        args.dtype = s->type;
        args.shape = s->shape.extent;
        args.rank = s->shape.rank;
        args.axis = s->shape.axis;
        st_operand(run, "input", offsetof(cb_softmax_args, input), in, 0, n);
        st_operand(run, "output", offsetof(cb_softmax_args, output), out, 0, n);
        st_call(run, CB_OP_SOFTMAX, &args, s->variant);
    }
    st_end(run);
}

static void grid(struct st_run *run, uint32_t type)
{
    struct softmax s = { .type = type };
    for (uint64_t i = 0; st_tensor_try(i, st_full(run), &s.shape); i++) {
        for (s.values = UNIFORM; s.values <= LARGE; s.values++) {
            s.in_place = (i + s.values) % 3 == 0;
            if (s.values <= WIDE || st_tensor_count(&s.shape) < 2000)
                run_softmax(run, &s);
        }
    }
}

static void sample(struct st_run *run, uint32_t type, const struct st_variant *variant)
{
    const struct softmax s = { .type = type,
                               .shape = st_tensor_sample(run, variant),
                               .variant = variant };
    run_softmax(run, &s);
}

static const struct st_variant faults[] = { ST_TENSOR_FAULTS(cb_softmax_args), { .label = NULL } };

const struct st_group st_softmax = { "softmax", st_float_types, grid, sample, faults };
