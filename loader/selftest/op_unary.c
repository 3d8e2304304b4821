/* SPDX-License-Identifier: Apache-2.0 */
/* unary: a stride through all bit patterns of the type, the special values, every small length. */
#include "suite.h"
#include "tensor.h"

#include <string.h>

static const char ulp_rule[] = "unary: 4 ulp of the type, subnormals included";
static const char exact_rule[] = "relu, abs and neg are exact, relu(-0) is +0, sqrt(-0) is -0";

static const char *const op_names[] = { "relu", "sigmoid", "tanh", "exp",
                                        "log",  "sqrt",    "abs",  "neg" };

enum values {
    UNIFORM,
    SPECIAL,
    PATTERNS, /* bit patterns, equally spaced, whatever they mean */
};

struct unary {
    uint32_t type, op, values, in_place;
    uint64_t n;
    uint32_t offset; /* elements that the operands lie off 64 bytes */
    uint64_t first;  /* of PATTERNS: the first pattern */
    double scale;    /* of UNIFORM */
    const struct st_variant *variant;
};

/* 1 / (1 + exp(-x)), in the form that does not lose what is small. */
static struct st_dd sigmoid(uint32_t type, double x)
{
    const struct st_dd one = { 1.0, 0.0 };
    const struct st_dd e = st_exp(type, (struct st_dd){ -fabs(x), 0.0 });
    const struct st_dd sum = st_dd_add(one, e);
    return st_dd_div(x < 0.0 ? e : one, sum);
}

/* (e - 1) / (e + 1) with e = exp(2x); a series where that cancels. */
static struct st_dd tanh_of(uint32_t type, double x)
{
    if (type != CB_F64 || fabs(x) > 30.0 || x == 0.0 || isnan(x))
        return (struct st_dd){ tanh(x), 0.0 };
    const struct st_dd v = { x, 0.0 }, one = { 1.0, 0.0 }, minus_one = { -1.0, 0.0 };
    if (fabs(x) < 0x1p-20) {
        const struct st_dd square = st_dd_mul(v, v);
        const struct st_dd third = st_dd_div(square, (struct st_dd){ -3.0, 0.0 });
        return st_dd_mul(v, st_dd_add(one, third));
    }
    const struct st_dd e = st_exp(type, st_dd_scale(v, 2.0));
    return st_dd_div(st_dd_add(e, minus_one), st_dd_add(e, one));
}

/* The root in double, and what it misses. */
static struct st_dd root(double x)
{
    const double r = sqrt(x);
    return (struct st_dd){ r, isfinite(r) && r > 0x1p-480 ? -fma(r, r, -x) / (2.0 * r) : 0.0 };
}

static struct st_dd evaluate(uint32_t type, uint32_t op, double x)
{
    switch (op) {
    case CB_UNARY_SIGMOID: return isnan(x) ? (struct st_dd){ x, 0.0 } : sigmoid(type, x);
    case CB_UNARY_TANH: return tanh_of(type, x);
    case CB_UNARY_EXP: return st_exp(type, (struct st_dd){ x, 0.0 });
    case CB_UNARY_LOG: return type == CB_F64 ? st_dd_log(x) : (struct st_dd){ log(x), 0.0 };
    case CB_UNARY_SQRT: return root(x);
    case CB_UNARY_ABS: return (struct st_dd){ fabs(x), 0.0 };
    case CB_UNARY_NEG: return (struct st_dd){ -x, 0.0 };
    default: return (struct st_dd){ isnan(x) || x > 0.0 ? x : 0.0, 0.0 };
    }
}

static bool is_exact(uint32_t op, double x)
{
    return op == CB_UNARY_RELU || op == CB_UNARY_ABS || op == CB_UNARY_NEG ||
           (op == CB_UNARY_SQRT && x == 0.0);
}

static void fill(struct st_run *run, const struct unary *u, struct st_buffer *in)
{
    const uint64_t bits = 8 * in->element;
    for (uint64_t i = 0; i < u->n; i++) {
        double v = u->scale * st_uniform(&run->random);
        if (u->values == SPECIAL)
            st_special(u->type, i, &v);
        if (u->values == PATTERNS) {
            const uint64_t step = bits == 16 ? 1 : UINT64_MAX / u->n >> (64 - bits);
            const uint64_t pattern = u->first + i * step;
            unsigned char room[8];
            const uint32_t half = (uint32_t)pattern;
            const uint16_t quarter = (uint16_t)pattern;
            memcpy(room,
                   bits == 64   ? (const void *)&pattern
                   : bits == 32 ? (const void *)&half
                                : (const void *)&quarter,
                   in->element);
            v = st_decode(u->type, room);
        }
        st_set(in, i, v);
    }
}

static void want_all(struct st_run *run, const struct unary *u, const struct st_buffer *in,
                     struct st_buffer *out)
{
    for (uint64_t i = 0; i < u->n; i++) {
        const double x = in->x[i];
        const struct st_dd y = evaluate(u->type, u->op, x);
        const bool exact = is_exact(u->op, x);
        run->rule = exact ? exact_rule : ulp_rule;
        if (exact)
            st_want_exact(run, out, i, y.hi);
        else
            st_want_near(run, out, i, y, 4.0 * st_ulp(u->type, y.hi));
    }
}

static void run_unary(struct st_run *run, const struct unary *u)
{
    static const char *const values[] = { "", ",special", ",patterns" };
    if (!st_begin(run, "unary:%s,%s,n=%" PRIu64 ",offset=%" PRIu32 ",scale=%g%s%.0" PRIu64 "%s%s%s",
                  st_type_name(u->type), op_names[u->op], u->n, u->offset, u->scale,
                  values[u->values], u->first, u->in_place ? ",in_place" : "",
                  ST_VARIANT(u->variant)))
        return;
    run->shift = u->offset;
    struct st_buffer *in = st_buffer(run, "input", u->type, u->n, u->in_place);
    struct st_buffer *out = u->in_place ? in : st_buffer(run, "output", u->type, u->n, true);
    if (in && out) {
        fill(run, u, in);
        want_all(run, u, in, out);
        cb_unary_args args;
        cb_unary_args_init(&args);
        args.dtype = u->type;
        args.op = u->op;
        args.n = u->n;
        st_operand(run, "input", offsetof(cb_unary_args, input), in, 0, u->n);
        st_operand(run, "output", offsetof(cb_unary_args, output), out, 0, u->n);
        st_call(run, CB_OP_UNARY, &args, u->variant);
    }
    st_end(run);
}

static void grid_patterns(struct st_run *run, struct unary u)
{
    const uint64_t rounds = st_full(run) && st_type_size(u.type) > 2 ? 64 : 1;
    u.values = PATTERNS;
    u.n = st_type_size(u.type) == 2 ? 65536 : st_full(run) ? 65537 : 20011;
    for (uint64_t i = 0; i < rounds; i++) {
        u.first = i * 977;
        run_unary(run, &u);
    }
}

static void grid(struct st_run *run, uint32_t type)
{
    static const double scales[] = { 1.0, 8.0, 100.0 };
    for (uint32_t op = CB_UNARY_RELU; op <= CB_UNARY_NEG; op++) {
        struct unary u = { .type = type, .op = op, .scale = 1.0 };
        for (uint32_t i = 0; i <= 65 * 4; i++) { /* lengths and places around every vector */
            u.n = i / 4;
            u.offset = i % 4;
            u.in_place = i % 5 == 3;
            u.scale = scales[i % 3];
            run_unary(run, &u);
        }
        u.scale = 1.0;
        for (u.in_place = 0; u.in_place <= 1; u.in_place++) {
            double v;
            u.values = SPECIAL;
            u.n = 0;
            while (st_special(type, u.n, &v))
                u.n++;
            run_unary(run, &u);
        }
        u.in_place = 0;
        grid_patterns(run, u);
    }
}

static void sample(struct st_run *run, uint32_t type, const struct st_variant *variant)
{
    const bool again = st_is_rerun(variant);
    struct unary u = {
        .type = type, .scale = 8.0, .n = st_size(run, variant, 21, 5003, 150001), .variant = variant
    };
    for (u.op = CB_UNARY_RELU; u.op <= CB_UNARY_NEG; u.op++) {
        if (again || u.op == CB_UNARY_EXP)
            run_unary(run, &u);
    }
}

static const struct st_variant faults[] = {
    ST_UNKNOWN("dtype=99", cb_unary_args, dtype, 99, "dtype"),
    ST_UNKNOWN("op=8", cb_unary_args, op, 8, "op"),
    ST_UNKNOWN("reserved=1", cb_unary_args, reserved, 1, "reserved"),
    ST_BAD("n=2^63", cb_unary_args, n, UINT64_C(1) << 63, "n"),
    { .label = NULL },
};

const struct st_group st_unary = { "unary", st_float_types, grid, sample, faults };
