/* SPDX-License-Identifier: Apache-2.0 */
/* reduce: sum, max, min and mean along one axis, long ones among them. */
#include "suite.h"
#include "tensor.h"

#include <string.h>

static const char sum_rule[] =
    "sums of n terms: (n+2) u sum |x| up to 4096, (log2 n + 8) u sum |x| beyond";
static const char extreme_rule[] =
    "IEEE 754-2019 maximum and minimum: a NaN gives NaN, -0 is below +0";
static const char empty_rule[] = "an empty axis gives 0, -infinity, +infinity, NaN";

static const char *const op_names[] = { "sum", "max", "min", "mean" };

enum values {
    UNIFORM,
    WIDE_RANGE, /* magnitudes far apart, so that orders of summation differ */
    ZEROES,     /* both zeroes, mixed */
    ONE_NAN,
    INFINITE,
    ONES,
    LARGE_FIRST, /* 2^p, to which a plain sum of p bits can add no 1 */
};

struct reduce {
    uint32_t type, op, values, in_place;
    uint64_t nan_at;
    struct st_tensor shape;
    const struct st_variant *variant;
};

static void want_extreme(struct st_run *run, const struct reduce *r, const double *x, uint64_t n,
                         uint64_t step, struct st_buffer *out, uint64_t i)
{
    double value = r->op == CB_REDUCE_MAX ? -INFINITY : INFINITY;
    for (uint64_t j = 0; j < n; j++)
        value = st_extreme(r->op == CB_REDUCE_MAX, value, x[j * step]);
    run->rule = n ? extreme_rule : empty_rule;
    st_want_exact(run, out, i, value);
}

static void want_sum(struct st_run *run, const struct reduce *r, const double *x, uint64_t n,
                     uint64_t step, struct st_buffer *out, uint64_t i)
{
    struct st_sum sum = st_sum_of(r->type);
    const bool mean = r->op == CB_REDUCE_MEAN;
    const struct st_dd length = { mean ? (double)n : 1.0, 0.0 };
    for (uint64_t j = 0; j < n; j++)
        st_sum_add(&sum, x[j * step], 1.0);
    if (n == 0) {
        run->rule = empty_rule;
        st_want_exact(run, out, i, mean ? NAN : 0.0);
        return;
    }
    const struct st_dd value = st_dd_div(st_sum_value(&sum), length);
    const double bound = st_sum_bound(r->type, n) * sum.magnitude / length.hi;
    run->rule = sum_rule;
    st_want_near(run, out, i, value, st_bound(r->type, bound, (double)n, value.hi));
}

static void fill(struct st_run *run, const struct reduce *r, struct st_buffer *in)
{
    const int range = r->type == CB_F16 ? 7 : 30;
    for (uint64_t i = 0; i < in->count; i++) {
        const uint64_t dice = st_random(&run->random);
        double v = st_uniform(&run->random);
        if (r->values == WIDE_RANGE)
            v = ldexp(v, (int)(dice % (uint64_t)(2 * range + 1)) - range);
        else if (r->values == ZEROES)
            v = dice % 2 ? 0.0 : -0.0;
        else if (r->values == INFINITE && dice % 8 == 0)
            v = r->op == CB_REDUCE_MIN ? INFINITY : -INFINITY;
        else if (r->values == ONES || r->values == LARGE_FIRST)
            v = r->values == LARGE_FIRST && i == 0 ? 1.0 / st_unit(r->type) : 1.0;
        st_set(in, i, v);
    }
    if (r->values == ONE_NAN && r->nan_at < in->count)
        st_set(in, r->nan_at, NAN);
}

static void run_reduce(struct st_run *run, const struct reduce *r)
{
    static const char *const values[] = { "",          ",wide", ",zeroes",     ",nan",
                                          ",infinite", ",ones", ",large_first" };
    char text[ST_TENSOR_TEXT];
    if (!st_begin(run, "reduce:%s,%s,%s%s%.0" PRIu64 "%s%s%s", st_type_name(r->type),
                  op_names[r->op], st_tensor_text(&r->shape, text), values[r->values], r->nan_at,
                  r->in_place ? ",in_place" : "", ST_VARIANT(r->variant)))
        return;
    const uint64_t n = st_tensor_length(&r->shape), step = st_tensor_step(&r->shape),
                   rows = st_tensor_rows(&r->shape);
    struct st_buffer *in =
        st_buffer(run, "input", r->type, n * rows + (r->in_place ? rows : 0), r->in_place);
    struct st_buffer *out = r->in_place ? in : st_buffer(run, "output", r->type, rows, true);
    if (in && out) {
        fill(run, r, in);
        for (uint64_t i = 0; i < rows; i++) {
            const double *x = in->x + st_tensor_row(&r->shape, i);
            if (r->op == CB_REDUCE_SUM || r->op == CB_REDUCE_MEAN)
                want_sum(run, r, x, n, step, out, i);
            else
                want_extreme(run, r, x, n, step, out, i);
        }
        cb_reduce_args args;
        cb_reduce_args_init(&args);
        args.dtype = r->type;
        args.op = r->op;
        args.shape = r->shape.extent;
        args.rank = r->shape.rank;
        args.axis = r->shape.axis;
        st_operand(run, "input", offsetof(cb_reduce_args, input), in, 0, n * rows);
        st_operand(run, "output", offsetof(cb_reduce_args, output), out, 0, rows);
        st_call(run, CB_OP_REDUCE, &args, r->variant);
    }
    st_end(run);
}

/* The NaN at each place of each length, and zeroes of both signs. */
static void grid_extremes(struct st_run *run, struct reduce r)
{
    for (uint64_t n = 1; n <= 40; n++) {
        r.shape = (struct st_tensor){ { n }, 1, 0 };
        r.values = ZEROES;
        r.nan_at = 0;
        run_reduce(run, &r);
        r.values = ONE_NAN;
        for (uint64_t i = 0; i < n; i++) {
            r.nan_at = st_full(run) ? i : (i * 5) % n;
            run_reduce(run, &r);
            i += st_full(run) ? 0 : 4;
        }
    }
}

static void grid_long(struct st_run *run, struct reduce r)
{
    const uint64_t lengths[] = { 4096, 4097, 100000, 20000000 };
    for (size_t i = 0; i < ST_COUNT(lengths) - !st_full(run); i++) {
        r.values = ONES;
        r.shape = (struct st_tensor){ { lengths[i] }, 1, 0 };
        run_reduce(run, &r);
    }
    r.values = LARGE_FIRST;
    r.shape = (struct st_tensor){ { 300000 }, 1, 0 };
    if (r.type != CB_F16) /* which has no 2^24 */
        run_reduce(run, &r);
}

static void grid(struct st_run *run, uint32_t type)
{
    for (uint32_t op = CB_REDUCE_SUM; op <= CB_REDUCE_MEAN; op++) {
        struct reduce r = { .type = type, .op = op };
        for (uint64_t i = 0; st_tensor_try(i, st_full(run), &r.shape); i++) {
            r.values = i % 2 ? UNIFORM : WIDE_RANGE;
            run_reduce(run, &r);
            r.values = i % 2 ? INFINITE : UNIFORM;
            r.in_place = 1;
            run_reduce(run, &r);
            r.in_place = 0;
        }
        if (op == CB_REDUCE_MAX || op == CB_REDUCE_MIN)
            grid_extremes(run, r);
        else
            grid_long(run, r);
    }
}

static void sample(struct st_run *run, uint32_t type, const struct st_variant *variant)
{
    struct reduce r = { .type = type,
                        .values = WIDE_RANGE,
                        .shape = st_tensor_sample(run, variant),
                        .variant = variant };
    for (r.op = CB_REDUCE_SUM; r.op <= CB_REDUCE_MEAN; r.op++) {
        if (r.op == CB_REDUCE_SUM || st_is_rerun(variant))
            run_reduce(run, &r);
    }
}

static const struct st_variant faults[] = {
    ST_TENSOR_FAULTS(cb_reduce_args),
    ST_UNKNOWN("op=4", cb_reduce_args, op, 4, "op"),
    ST_UNKNOWN("reserved=1", cb_reduce_args, reserved, 1, "reserved"),
    { .label = NULL },
};

const struct st_group st_reduce = { "reduce", st_float_types, grid, sample, faults };
