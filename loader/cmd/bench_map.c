/* SPDX-License-Identifier: Apache-2.0 */
/* Ops that are rated by the bytes they move: reduce, unary, binary, gather and scatter. */
#include "bench.h"

#include <stdlib.h>

#define AT(key) c->keys[key].at[0]

/* ---- reduce ---- */

bool bench_make_reduce(struct bench_case *c)
{
    cb_reduce_args *args = &c->call.args.reduce;
    uint64_t axis, rest[BENCH_RANK_MAX];
    if (!bench_axis(c, &axis))
        return false;
    cb_reduce_args_init(args);
    args->dtype = c->dtype;
    args->op = (uint32_t)AT(BENCH_OP);
    args->shape = c->keys[BENCH_SHAPE].at;
    args->rank = c->keys[BENCH_SHAPE].n;
    args->axis = (uint32_t)axis;
    for (uint32_t i = 0; i < args->rank; i++)
        rest[i] = i == axis ? 1 : args->shape[i];
    if (!bench_operand(c, c->dtype, args->shape, args->rank, &args->input) ||
        !bench_operand(c, c->dtype, rest, args->rank, &args->output))
        return false;
    c->bytes = bench_bytes(c);
    c->terms = (double)args->shape[axis];
    return true;
}

bool bench_want_reduce(const struct bench_case *c, uint64_t i, struct st_want *want)
{
    const cb_reduce_args *args = &c->call.args.reduce;
    const uint64_t n = args->shape[args->axis],
                   step = bench_step(args->shape, args->rank, args->axis);
    const uint64_t first = i / step * n * step + i % step;
    const bool largest = args->op == CB_REDUCE_MAX;
    const bool adds = args->op == CB_REDUCE_SUM || args->op == CB_REDUCE_MEAN;
    struct st_sum sum = st_sum_of(c->dtype);
    double extreme = largest ? -INFINITY : INFINITY;
    for (uint64_t j = 0; j < n; j++) {
        const double x = bench_element(c, 0, first + j * step);
        st_sum_add(&sum, x, 1.0);
        extreme = st_extreme(largest, extreme, x);
    }
    if (!adds) {
        *want = (struct st_want){ .value = { extreme, 0.0 }, .kind = ST_EXACT };
        return true;
    }
    const double by = args->op == CB_REDUCE_MEAN ? (double)n : 1.0;
    want->value = st_dd_div(st_sum_value(&sum), (struct st_dd){ by, 0.0 });
    want->bound = st_bound(c->dtype, st_sum_bound(c->dtype, n) * sum.magnitude / by, (double)n,
                           want->value.hi);
    return true;
}

/* ---- unary, binary ---- */

bool bench_make_map(struct bench_case *c)
{
    cb_unary_args *one = &c->call.args.unary;
    cb_binary_args *two = &c->call.args.binary;
    const bool is_unary = c->op->code == CB_OP_UNARY;
    const uint64_t n[] = { AT(BENCH_N) };
    const uint32_t op = (uint32_t)AT(BENCH_OP);
    if (is_unary) {
        cb_unary_args_init(one);
        one->dtype = c->dtype;
        one->op = op;
        one->n = n[0];
    } else {
        cb_binary_args_init(two);
        two->dtype = c->dtype;
        two->op = op;
        two->n = n[0];
    }
    if (!bench_operand(c, c->dtype, n, 1, is_unary ? &one->input : &two->a) ||
        (!is_unary && !bench_operand(c, c->dtype, n, 1, &two->b)) ||
        !bench_operand(c, c->dtype, n, 1, is_unary ? &one->output : &two->output))
        return false;
    c->operands[0].scale = 4.0;
    if (is_unary && (op == CB_UNARY_LOG || op == CB_UNARY_SQRT))
        c->operands[0].shift = 4.5;
    if (!is_unary)
        c->operands[1].shift = op == CB_BINARY_DIV ? 2.0 : 0.0;
    c->bytes = bench_bytes(c);
    return true;
}

static long double unary(uint32_t op, long double x)
{
    switch (op) {
    case CB_UNARY_RELU: return x > 0.0L ? x : 0.0L;
    case CB_UNARY_SIGMOID: return 1.0L / (1.0L + expl(-x));
    case CB_UNARY_TANH: return tanhl(x);
    case CB_UNARY_EXP: return expl(x);
    case CB_UNARY_LOG: return logl(x);
    case CB_UNARY_SQRT: return sqrtl(x);
    case CB_UNARY_ABS: return fabsl(x);
    default: return -x;
    }
}

static long double binary(uint32_t op, long double a, long double b)
{
    switch (op) {
    case CB_BINARY_ADD: return a + b;
    case CB_BINARY_SUB: return a - b;
    case CB_BINARY_MUL: return a * b;
    case CB_BINARY_DIV: return a / b;
    default: return (a > b) == (op == CB_BINARY_MAX) ? a : b;
    }
}

/* Of a result that is rounded once, half an ulp, and what long double itself misses. */
#define ROUNDED_ULP 0.501
#define UNARY_ULP   4.0

bool bench_want_map(const struct bench_case *c, uint64_t i, struct st_want *want)
{
    const bool is_unary = c->op->code == CB_OP_UNARY;
    const uint32_t op = (uint32_t)AT(BENCH_OP);
    const long double a = (long double)bench_element(c, 0, i);
    const long double y =
        is_unary ? unary(op, a) : binary(op, a, (long double)bench_element(c, 1, i));
    want->value.hi = (double)y;
    want->value.lo = (double)(y - (long double)want->value.hi);
    want->bound = (is_unary ? UNARY_ULP : ROUNDED_ULP) * st_ulp(c->dtype, want->value.hi);
    if (is_unary && (op == CB_UNARY_RELU || op == CB_UNARY_ABS || op == CB_UNARY_NEG))
        want->kind = ST_EXACT;
    return true;
}

/* ---- gather, scatter ---- */

bool bench_make_rows(struct bench_case *c)
{
    const bool gather = c->op->code == CB_OP_GATHER;
    const uint64_t rows = AT(BENCH_ROWS), cols = AT(BENCH_COLS), n = AT(BENCH_INDICES);
    const uint64_t table[] = { rows, cols }, other[] = { n, cols };
    cb_rows_args *args = &c->call.args.rows;
    uint64_t random = 1, moved;
    cb_rows_args_init(args);
    if (!bench_operand(c, c->dtype, gather ? table : other, 2, &args->input) ||
        !bench_operand(c, c->dtype, gather ? other : table, 2, &args->output) ||
        !bench_count(c, other, 2, &moved))
        return false;
    c->indices = calloc(n, sizeof(*c->indices));
    if (!c->indices)
        return bench_refuse(c, "out of memory");
    for (uint64_t i = 0; i < n; i++)
        c->indices[i] = st_random(&random) % rows;
    args->element_size = st_type_size(c->dtype);
    args->rows = rows;
    args->cols = cols;
    args->indices = c->indices;
    args->n_indices = n;
    c->bytes = 2.0 * (double)moved * (double)args->element_size;
    c->terms = gather ? 1.0 : (double)n;
    return true;
}

/* A row that is not scattered to keeps the zeroes of its allocation. */
bool bench_want_rows(const struct bench_case *c, uint64_t i, struct st_want *want)
{
    const uint64_t cols = AT(BENCH_COLS), row = i / cols, col = i % cols;
    *want = (struct st_want){ .kind = ST_EXACT };
    if (c->op->code == CB_OP_GATHER) {
        want->value.hi = bench_element(c, 0, c->indices[row] * cols + col);
        return true;
    }
    for (uint64_t j = AT(BENCH_INDICES); j-- > 0;) {
        if (c->indices[j] != row)
            continue;
        want->value.hi = bench_element(c, 0, j * cols + col);
        break;
    }
    return true;
}
