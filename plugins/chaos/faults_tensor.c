/* SPDX-License-Identifier: Apache-2.0 */
/* softmax, reduce, unary and binary. */
#include "faults.h"

#include <float.h>
#include <math.h>

/* Element j of row i along the axis. */
static uint64_t index_of(const struct cbc_axis *t, uint64_t i, uint64_t j)
{
    return (i / t->inner * t->len + j) * t->inner + i % t->inner;
}

/* ---- softmax ---- */

bool chaos_max_not_subtracted(const struct chaos_work *work, struct chaos_images *x)
{
    const struct cbc_axis *t = &work->checked.axis;
    for (uint64_t i = 0; i < t->outer * t->inner; i++) {
        float sum = 0.0f;
        for (uint64_t j = 0; j < t->len; j++)
            sum += expf((float)chaos_load(t->dtype, x->in[0], index_of(t, i, j)));
        for (uint64_t j = 0; j < t->len; j++) {
            const float e = expf((float)chaos_load(t->dtype, x->in[0], index_of(t, i, j)));
            chaos_store(t->dtype, x->out, index_of(t, i, j), (double)(e / sum));
        }
    }
    return true;
}

bool chaos_nan_row_hidden(const struct chaos_work *work, struct chaos_images *x)
{
    const uint32_t dtype = work->checked.axis.dtype;
    for (uint64_t i = 0; i < chaos_elements(work, x->written); i++)
        if (isnan(chaos_load(dtype, x->out, i)))
            chaos_store(dtype, x->out, i, 0.0);
    return true;
}

/* ---- reduce ---- */

void chaos_mean_undivided(struct chaos_work *work)
{
    if (work->args.reduce.op == CB_REDUCE_MEAN)
        work->args.reduce.op = CB_REDUCE_SUM;
}

static bool is_sum(const struct cbc_axis *t)
{
    return t->op == CB_REDUCE_SUM || t->op == CB_REDUCE_MEAN;
}

#define PLAIN_TERMS 4096 /* up to here the contract allows sums in the precision of the type */

/* Sums in so many interleaved parts that are added at last. stalls: however long they are, every
 * sum is rounded to the precision of the arithmetic. */
static bool sum_in_parts(const struct chaos_work *work, struct chaos_images *x, uint64_t parts,
                         bool stalls)
{
    const struct cbc_axis *t = &work->checked.axis;
    const bool wide = t->dtype == CB_F64 || (t->len > PLAIN_TERMS && !stalls);
    for (uint64_t i = 0; i < t->outer * t->inner && is_sum(t); i++) {
        double sum = 0.0;
        for (uint64_t part = 0; part < parts; part++) {
            double partial = 0.0;
            for (uint64_t j = part; j < t->len; j += parts) {
                partial += chaos_load(t->dtype, x->in[0], index_of(t, i, j));
                partial = wide ? partial : (double)(float)partial;
            }
            sum += partial;
            sum = wide ? sum : (double)(float)sum;
        }
        chaos_store(t->dtype, x->out, i, t->op == CB_REDUCE_MEAN ? sum / (double)t->len : sum);
    }
    return true;
}

bool chaos_sum_stalls(const struct chaos_work *work, struct chaos_images *x)
{
    return sum_in_parts(work, x, 1, true);
}

bool chaos_sum_by_run(const struct chaos_work *work, struct chaos_images *x)
{
    return sum_in_parts(work, x, 1 + atomic_fetch_add(&work->chaos->runs, 1) % 3, false);
}

bool chaos_sum_by_address(const struct chaos_work *work, struct chaos_images *x)
{
    const struct cbc_operand *input = &work->operands[0];
    return sum_in_parts(work, x, 1 + input->ptr / input->align % 4, false);
}

bool chaos_sum_by_threads(const struct chaos_work *work, struct chaos_images *x)
{
    return sum_in_parts(work, x, 1 + work->chaos->threads, false);
}

/* Maximum or minimum by a comparison that is false for NaN. */
static double extreme(bool maximum, double so_far, double value)
{
    return (maximum ? value > so_far : value < so_far) ? value : so_far;
}

static bool reduce_extremes(const struct chaos_work *work, struct chaos_images *x,
                            double (*combine)(bool maximum, double so_far, double value))
{
    const struct cbc_axis *t = &work->checked.axis;
    const bool maximum = t->op == CB_REDUCE_MAX;
    for (uint64_t i = 0; i < t->outer * t->inner && !is_sum(t); i++) {
        double value = maximum ? -INFINITY : INFINITY;
        for (uint64_t j = 0; j < t->len; j++)
            value = combine(maximum, value, chaos_load(t->dtype, x->in[0], index_of(t, i, j)));
        chaos_store(t->dtype, x->out, i, value);
    }
    return true;
}

bool chaos_reduce_drops_nan(const struct chaos_work *work, struct chaos_images *x)
{
    return reduce_extremes(work, x, extreme);
}

static double with_nan(bool maximum, double so_far, double value)
{
    return isnan(so_far) || isnan(value) ? NAN : extreme(maximum, so_far, value);
}

bool chaos_reduce_mixes_zeroes(const struct chaos_work *work, struct chaos_images *x)
{
    return reduce_extremes(work, x, with_nan);
}

bool chaos_min_from_zero(const struct chaos_work *work, struct chaos_images *x)
{
    const struct cbc_axis *t = &work->checked.axis;
    for (uint64_t i = 0; i < t->outer * t->inner && t->op == CB_REDUCE_MIN; i++)
        if (chaos_load(t->dtype, x->out, i) > 0.0)
            chaos_store(t->dtype, x->out, i, 0.0);
    return true;
}

/* ---- unary ---- */

/* Replaces results: y is what the wrapped backend made of value. */
static bool map_unary(const struct chaos_work *work, struct chaos_images *x,
                      double (*replace)(uint32_t op, double value, double y))
{
    const struct cbc_map *m = &work->checked.map;
    for (uint64_t i = 0; i < m->n; i++) {
        const double y = chaos_load(m->dtype, x->out, i);
        const double wrong = replace(m->op, chaos_load(m->dtype, x->in[0], i), y);
        if (wrong != y || (wrong == 0.0 && signbit(wrong) != signbit(y)))
            chaos_store(m->dtype, x->out, i, wrong);
    }
    return true;
}

static double exp_flushed(uint32_t op, double value, double y)
{
    return op == CB_UNARY_EXP && value < -87.0 ? 0.0 : y;
}

static double sigmoid_underflows(uint32_t op, double value, double y)
{
    return op == CB_UNARY_SIGMOID && value < -88.72 ? 0.0 : y;
}

static double subnormals_flushed(uint32_t op, double value, double y)
{
    (void)op;
    (void)value;
    return fabs(y) < (double)FLT_MIN ? copysign(0.0, y) : y;
}

static double relu_keeps_zero(uint32_t op, double value, double y)
{
    return op == CB_UNARY_RELU && value == 0.0 ? value : y;
}

static double neg_subtracts(uint32_t op, double value, double y)
{
    return op == CB_UNARY_NEG ? 0.0 - value : y;
}

static double tanh_by_exp(uint32_t op, double value, double y)
{
    const float e = expf(2.0f * (float)value);
    return op == CB_UNARY_TANH && fabs(value) < 1.0 ? (double)((e - 1.0f) / (e + 1.0f)) : y;
}

#define DEFINE_UNARY(flaw)                                                                         \
    bool chaos_##flaw(const struct chaos_work *work, struct chaos_images *x)                       \
    {                                                                                              \
        return map_unary(work, x, flaw);                                                           \
    }
DEFINE_UNARY(exp_flushed)
DEFINE_UNARY(sigmoid_underflows)
DEFINE_UNARY(subnormals_flushed)
DEFINE_UNARY(relu_keeps_zero)
DEFINE_UNARY(neg_subtracts)
DEFINE_UNARY(tanh_by_exp)

/* ---- binary ---- */

static bool map_binary(const struct chaos_work *work, struct chaos_images *x, uint32_t first,
                       uint32_t last, double (*compute)(uint32_t op, double a, double b))
{
    const struct cbc_map *m = &work->checked.map;
    for (uint64_t i = 0; i < m->n && m->op >= first && m->op <= last; i++)
        chaos_store(
            m->dtype, x->out, i,
            compute(m->op, chaos_load(m->dtype, x->in[0], i), chaos_load(m->dtype, x->in[1], i)));
    return true;
}

static double drop_nan(uint32_t op, double a, double b)
{
    return isnan(a) ? b : extreme(op == CB_BINARY_MAX, a, b);
}

bool chaos_binary_drops_nan(const struct chaos_work *work, struct chaos_images *x)
{
    return map_binary(work, x, CB_BINARY_MAX, CB_BINARY_MIN, drop_nan);
}

static double mix_zeroes(uint32_t op, double a, double b)
{
    return with_nan(op == CB_BINARY_MAX, a, b);
}

bool chaos_binary_mixes_zeroes(const struct chaos_work *work, struct chaos_images *x)
{
    return map_binary(work, x, CB_BINARY_MAX, CB_BINARY_MIN, mix_zeroes);
}

static double by_reciprocal(uint32_t op, double a, double b)
{
    (void)op;
    return (double)((float)a * (1.0f / (float)b));
}

bool chaos_div_by_reciprocal(const struct chaos_work *work, struct chaos_images *x)
{
    return map_binary(work, x, CB_BINARY_DIV, CB_BINARY_DIV, by_reciprocal);
}
