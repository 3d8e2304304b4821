/* SPDX-License-Identifier: Apache-2.0 */
/* attention and softmax. */
#include "bench.h"

#include <stdlib.h>

#define AT(key) c->keys[key].at[0]

/* A term of a softmax costs the judge an exp, of which that of f64 is slow. */
#define EXP_TERMS(dtype) ((dtype) == CB_F64 ? 100.0 : 2.0)

static bool row_allocate(struct st_softmax *row, uint64_t n)
{
    *row = (struct st_softmax){ .p = calloc(n, sizeof(*row->p)),
                                .deviation = calloc(n, sizeof(*row->deviation)) };
    return row->p && row->deviation;
}

static void row_free(struct st_softmax *row)
{
    free(row->p);
    free(row->deviation);
}

/* ---- softmax ---- */

bool bench_make_softmax(struct bench_case *c)
{
    cb_softmax_args *args = &c->call.args.softmax;
    uint64_t axis;
    if (!bench_axis(c, &axis))
        return false;
    cb_softmax_args_init(args);
    args->dtype = c->dtype;
    args->shape = c->keys[BENCH_SHAPE].at;
    args->rank = c->keys[BENCH_SHAPE].n;
    args->axis = (uint32_t)axis;
    for (int i = 0; i < 2; i++)
        if (!bench_operand(c, c->dtype, args->shape, args->rank, i ? &args->output : &args->input))
            return false;
    c->operands[0].scale = 4.0;
    c->bytes = bench_bytes(c);
    c->terms = EXP_TERMS(c->dtype) * (double)args->shape[axis];
    return true;
}

bool bench_want_softmax(const struct bench_case *c, uint64_t i, struct st_want *want)
{
    const cb_softmax_args *args = &c->call.args.softmax;
    const uint64_t n = args->shape[args->axis],
                   step = bench_step(args->shape, args->rank, args->axis);
    const uint64_t first = i / (n * step) * n * step + i % step, at = i / step % n;
    struct st_softmax row;
    const bool good = row_allocate(&row, n);
    for (uint64_t j = 0; good && j < n; j++)
        row.p[j].hi = bench_element(c, 0, first + j * step);
    if (good) {
        st_softmax_row(c->dtype, &row, n);
        const double p = row.p[at].hi, smallest = c->dtype == CB_F64 ? 0x1p-1022 : 0x1p-126;
        want->value = row.p[at];
        want->bound =
            st_bound(c->dtype, p * (row.deviation[at] + row.mean) + smallest, (double)n, p);
    }
    row_free(&row);
    return good;
}

/* ---- attention ---- */

bool bench_make_attention(struct bench_case *c)
{
    cb_attention_args *args = &c->call.args.attention;
    cb_attention_args_init(args);
    args->dtype = c->dtype;
    args->flags = AT(BENCH_CAUSAL) ? CB_ATTENTION_CAUSAL : 0;
    args->batch = AT(BENCH_BATCH);
    args->heads = AT(BENCH_HEADS);
    args->kv_heads = AT(BENCH_KV_HEADS) ? AT(BENCH_KV_HEADS) : args->heads;
    args->seq_q = AT(BENCH_SEQ_Q);
    args->seq_kv = AT(BENCH_SEQ_KV);
    args->head_dim = AT(BENCH_HEAD_DIM);
    args->scale = 1.0 / sqrt((double)args->head_dim);
    if (!args->kv_heads || args->heads % args->kv_heads)
        return bench_refuse(c, "kv_heads does not divide heads");
    if (args->flags && args->seq_q > args->seq_kv)
        return bench_refuse(c, "the first queries would see no key");
    const uint64_t q[] = { args->batch, args->heads, args->seq_q, args->head_dim };
    const uint64_t kv[] = { args->batch, args->kv_heads, args->seq_kv, args->head_dim };
    if (!bench_operand(c, c->dtype, q, 4, &args->q) ||
        !bench_operand(c, c->dtype, kv, 4, &args->k) ||
        !bench_operand(c, c->dtype, kv, 4, &args->v) || !bench_operand(c, c->dtype, q, 4, &args->o))
        return false;
    c->operands[0].scale = c->operands[1].scale = 1.5;
    /* Two products for each pair of a query and a key that it sees. */
    const double rows = (double)args->seq_q, keys = (double)args->seq_kv;
    const double pairs = rows * keys - (args->flags ? rows * (rows - 1.0) / 2.0 : 0.0);
    c->flops = 4.0 * (double)(args->batch * args->heads) * pairs * (double)args->head_dim;
    c->terms = keys * (double)args->head_dim;
    return true;
}

/* Scores of a query against its n visible keys, and their own error. */
static void score(const struct bench_case *c, uint64_t query, uint64_t key, uint64_t n,
                  struct st_softmax *row)
{
    const cb_attention_args *args = &c->call.args.attention;
    const double dim = (double)args->head_dim, scale = (double)(float)args->scale;
    for (uint64_t j = 0; j < n; j++) {
        struct st_sum sum = st_sum_of(CB_F32);
        for (uint64_t d = 0; d < args->head_dim; d++)
            st_sum_add(&sum, bench_element(c, 0, query + d),
                       bench_element(c, 1, key + j * args->head_dim + d));
        row->p[j].hi = scale * sum.plain;
        row->deviation[j] = (dim + 2.0) * st_unit(CB_F32) * fabs(scale) * sum.magnitude;
    }
}

bool bench_want_attention(const struct bench_case *c, uint64_t i, struct st_want *want)
{
    const cb_attention_args *args = &c->call.args.attention;
    const uint64_t dim = args->head_dim, d = i % dim, query = i / dim % args->seq_q;
    const uint64_t head = i / dim / args->seq_q % args->heads;
    const uint64_t batch = i / dim / args->seq_q / args->heads;
    const uint64_t kv_head = batch * args->kv_heads + head / (args->heads / args->kv_heads);
    const uint64_t key = kv_head * args->seq_kv * dim;
    const uint64_t n = args->flags ? query + 1 + args->seq_kv - args->seq_q : args->seq_kv;
    const double terms = (double)n;
    struct st_softmax row;
    const bool good = row_allocate(&row, n);
    double bound = 0.0;
    if (good) {
        score(c, i - d, key, n, &row);
        st_softmax_row(CB_F32, &row, n);
    }
    for (uint64_t j = 0; good && j < n; j++) {
        const double p = row.p[j].hi, v = bench_element(c, 2, key + j * dim + d);
        want->value.hi += p * v;
        bound += fabs(v) * p * (row.deviation[j] + row.mean + (terms + 1.0) * st_unit(CB_F32));
    }
    want->bound = st_bound(CB_F32, bound, terms, want->value.hi);
    row_free(&row);
    return good;
}
