/* SPDX-License-Identifier: Apache-2.0 */
/* attention: causal and not, grouped heads, rows without a key, what masked keys must not do. */
#include "suite.h"

#include <stdlib.h>
#include <string.h>

static const char value_rule[] =
    "attention: sum |v| p (e + sum p e + (n+6) u) + (n+1) u sum p |v| over the n visible keys, "
    "e = (|s-max|+2) u + (d+2) u |scale| sum |qk|";
static const char no_key_rule[] = "a query that sees no key gives zeroes";
static const char nan_rule[] = "scores with NaN or +infinity, or all -infinity, give NaN";

enum values {
    UNIFORM,
    LAST_KEY_NAN, /* K and V of the last key are NaN: only who sees it may notice */
    SOME_MINUS_INF,
    ALL_MINUS_INF,
    ONE_PLUS_INF,
    NAN_IN_V,
};

enum overlap {
    APART,
    O_ON_Q,
    O_ON_K,
    O_ON_V
};

struct attention {
    uint64_t batch, heads, kv_heads, seq_q, seq_kv, dim;
    double scale;
    uint32_t causal, values, overlap;
    const struct st_variant *variant;
};

/* Room for one row of scores. */
struct rows {
    struct st_softmax softmax;
    struct st_buffer *q, *k, *v, *o;
};

static uint64_t kv_heads(const struct attention *a)
{
    return a->kv_heads ? a->kv_heads : a->heads;
}

static uint64_t visible(const struct attention *a, uint64_t i)
{
    if (!a->causal)
        return a->seq_kv;
    const uint64_t end = i + 1 + a->seq_kv;
    return end <= a->seq_q ? 0 : end - a->seq_q;
}

/* Scores of one query against its n visible keys, and their own error. */
static void score(const struct attention *a, const struct rows *r, uint64_t q, uint64_t key,
                  uint64_t n)
{
    const double scale = (double)(float)a->scale;
    for (uint64_t j = 0; j < n; j++) {
        struct st_sum sum = st_sum_of(CB_F32);
        for (uint64_t d = 0; d < a->dim; d++)
            st_sum_add(&sum, r->q->x[q + d], r->k->x[key + j * a->dim + d]);
        r->softmax.p[j] = (struct st_dd){ scale * sum.plain, 0.0 };
        r->softmax.deviation[j] = isinf(sum.magnitude) ? 0.0
                                                       : ((double)a->dim + 2.0) * st_unit(CB_F32) *
                                                             fabs(scale) * sum.magnitude;
    }
}

static void want_row(struct st_run *run, const struct attention *a, struct rows *r, uint64_t q,
                     uint64_t key, uint64_t n)
{
    const double terms = (double)n;
    score(a, r, q, key, n);
    st_softmax_row(CB_F32, &r->softmax, n);
    run->rule = n == 0 ? no_key_rule : r->softmax.nan ? nan_rule : value_rule;
    for (uint64_t d = 0; d < a->dim; d++) {
        if (n == 0 || r->softmax.nan) {
            st_want_exact(run, r->o, q + d, n == 0 ? 0.0 : NAN);
            continue;
        }
        double value = 0.0, bound = 0.0;
        for (uint64_t j = 0; j < n; j++) {
            const double v = r->v->x[key + j * a->dim + d], p = r->softmax.p[j].hi;
            value += p * v;
            bound += fabs(v) * p * (r->softmax.deviation[j] + r->softmax.mean);
            bound += (terms + 1.0) * st_unit(CB_F32) * p * fabs(v);
        }
        st_want_near(run, r->o, q + d, (struct st_dd){ value, 0.0 },
                     st_bound(CB_F32, bound, terms, value));
    }
}

static void want_all(struct st_run *run, const struct attention *a, struct rows *r)
{
    r->softmax.p = st_host(run, a->seq_kv, sizeof(*r->softmax.p));
    r->softmax.deviation = st_host(run, a->seq_kv, sizeof(*r->softmax.deviation));
    if (!r->softmax.p || !r->softmax.deviation)
        goto out;
    for (uint64_t i = 0; i < a->batch * a->heads * a->seq_q; i++) {
        const uint64_t query = i % a->seq_q, head = i / a->seq_q % a->heads,
                       batch = i / a->seq_q / a->heads;
        const uint64_t kv_head = batch * kv_heads(a) + head / (a->heads / kv_heads(a));
        want_row(run, a, r, i * a->dim, kv_head * a->seq_kv * a->dim, visible(a, query));
    }
out:
    free(r->softmax.p);
    free(r->softmax.deviation);
}

static void spoil_keys(const struct attention *a, const struct rows *r)
{
    for (uint64_t i = 0; i < r->k->count; i++) {
        const uint64_t key = i / a->dim % a->seq_kv;
        if (a->values == LAST_KEY_NAN && key == a->seq_kv - 1) {
            st_set(r->k, i, NAN);
            st_set(r->v, i, NAN);
        }
        if (a->values == ALL_MINUS_INF || (a->values == SOME_MINUS_INF && key % 3 != 1))
            st_set(r->k, i, -INFINITY);
        if (a->values == ONE_PLUS_INF && key == 2)
            st_set(r->k, i, INFINITY);
        if (a->values == NAN_IN_V && key == 1 && i % a->dim == 0)
            st_set(r->v, i, NAN);
    }
}

static bool make_buffers(struct st_run *run, const struct attention *a, struct rows *r)
{
    const uint64_t queries = a->batch * a->heads * a->seq_q * a->dim;
    const uint64_t keys = a->batch * kv_heads(a) * a->seq_kv * a->dim;
    r->q = st_buffer(run, "q", CB_F32, queries, a->overlap == O_ON_Q);
    r->k = st_buffer(run, "k", CB_F32, keys, a->overlap == O_ON_K);
    r->v = st_buffer(run, "v", CB_F32, keys, a->overlap == O_ON_V);
    r->o = a->overlap == O_ON_Q   ? r->q
           : a->overlap == O_ON_K ? r->k
           : a->overlap == O_ON_V ? r->v
                                  : st_buffer(run, "o", CB_F32, queries, true);
    if (!r->q || !r->k || !r->v || !r->o)
        return false;
    st_fill(run, r->q, 2.0);
    st_fill(run, r->k, 2.0);
    st_fill(run, r->v, 2.0);
    /* Scores of an infinite key are infinite of one sign where all queries are positive. */
    for (uint64_t i = 0; a->values >= SOME_MINUS_INF && i < queries; i++)
        st_set(r->q, i, 0.5 + fabs(r->q->x[i]));
    spoil_keys(a, r);
    return true;
}

static void call(struct st_run *run, const struct attention *a, const struct rows *r)
{
    cb_attention_args args;
    cb_attention_args_init(&args);
    args.dtype = CB_F32;
    args.flags = a->causal ? CB_ATTENTION_CAUSAL : 0;
    args.batch = a->batch;
    args.heads = a->heads;
    args.kv_heads = a->kv_heads;
    args.seq_q = a->seq_q;
    args.seq_kv = a->seq_kv;
    args.head_dim = a->dim;
    args.scale = a->scale;
    const uint64_t work = r->o->count;
    st_operand(run, "q", offsetof(cb_attention_args, q), r->q, 0, r->q->count);
    st_operand(run, "k", offsetof(cb_attention_args, k), r->k, 0, work ? r->k->count : 0);
    st_operand(run, "v", offsetof(cb_attention_args, v), r->v, 0, work ? r->v->count : 0);
    st_operand(run, "o", offsetof(cb_attention_args, o), r->o, 0, r->o->count);
    st_call(run, CB_OP_ATTENTION, &args, a->variant);
}

static void run_attention(struct st_run *run, const struct attention *a)
{
    static const char *const values[] = { "",           ",last_key_nan", ",some_minus_inf",
                                          ",minus_inf", ",plus_inf",     ",nan_in_v" };
    static const char *const overlaps[] = { "", ",o=q", ",o=k", ",o=v" };
    if (!st_begin(run,
                  "attention:f32,batch=%" PRIu64 ",heads=%" PRIu64 ",kv_heads=%" PRIu64
                  ",seq_q=%" PRIu64 ",seq_kv=%" PRIu64 ",dim=%" PRIu64 ",scale=%g%s%s%s%s%s",
                  a->batch, a->heads, a->kv_heads, a->seq_q, a->seq_kv, a->dim, a->scale,
                  a->causal ? ",causal" : "", values[a->values], overlaps[a->overlap],
                  ST_VARIANT(a->variant)))
        return;
    struct rows r;
    if (make_buffers(run, a, &r)) {
        want_all(run, a, &r);
        call(run, a, &r);
    }
    st_end(run);
}

static void grid_shapes(struct st_run *run)
{
    static const uint64_t lengths[] = { 0, 1, 2, 5, 17, 33, 64 };
    static const uint64_t heads[][2] = { { 1, 0 }, { 2, 2 }, { 4, 2 }, { 6, 1 } };
    static const uint64_t dims[] = { 1, 3, 8, 17 };
    static const double scales[] = { 1.0, 0.35355338, 0.0, -2.0, 30.0 };
    const uint64_t n = ST_COUNT(lengths), all = n * n * 2 * (st_full(run) ? 16 : 2);
    for (uint64_t i = 0; i < all; i++) {
        const uint64_t j = i / n / n / 2;
        struct attention a = { .batch = 1 + i % 2, .causal = i / n / n % 2 };
        a.seq_q = lengths[i % n];
        a.seq_kv = lengths[i / n % n];
        a.heads = heads[(i + j) % 4][0];
        a.kv_heads = heads[(i + j) % 4][1];
        a.dim = dims[(i / 3 + j) % 4];
        a.scale = scales[(i + j) % 5];
        run_attention(run, &a);
    }
}

static void grid(struct st_run *run, uint32_t type)
{
    (void)type;
    grid_shapes(run);
    for (uint32_t values = LAST_KEY_NAN; values <= NAN_IN_V; values++) {
        for (uint64_t i = 0; i < 8; i++) {
            const struct attention a = { .batch = 1,
                                         .heads = 2,
                                         .kv_heads = 1,
                                         .seq_q = 3 + i,
                                         .seq_kv = 6,
                                         .dim = 1 + i % 3,
                                         .scale = 0.5,
                                         .causal = i % 2,
                                         .values = values };
            run_attention(run, &a);
        }
    }
    for (uint32_t overlap = O_ON_Q; overlap <= O_ON_V; overlap++) {
        const struct attention a = { .batch = 2,
                                     .heads = 2,
                                     .seq_q = 9,
                                     .seq_kv = 9,
                                     .dim = 5,
                                     .scale = 0.5,
                                     .causal = overlap % 2,
                                     .overlap = overlap };
        run_attention(run, &a);
    }
    for (uint64_t i = 0; i < 4; i++) {
        const struct attention a = { .batch = i != 0,
                                     .heads = i == 1 ? 0 : 2,
                                     .seq_q = 3,
                                     .seq_kv = i == 3 ? 5000 : 4,
                                     .dim = i == 2 ? 0 : 2,
                                     .scale = 1.0 };
        run_attention(run, &a);
    }
}

static void sample(struct st_run *run, uint32_t type, const struct st_variant *variant)
{
    (void)type;
    struct attention a = { .batch = 2,
                           .heads = 4,
                           .kv_heads = 2,
                           .seq_q = 5,
                           .seq_kv = 7,
                           .dim = 3,
                           .scale = 0.5,
                           .causal = 1,
                           .variant = variant };
    a.seq_q = st_size(run, variant, a.seq_q, 40, 200);
    a.seq_kv = st_size(run, variant, a.seq_kv, 40, 200);
    run_attention(run, &a);
}

static const struct st_variant faults[] = {
    ST_UNKNOWN("dtype=f64", cb_attention_args, dtype, CB_F64, "dtype"),
    ST_UNKNOWN("flags=2", cb_attention_args, flags, 2, "flags"),
    ST_BAD("kv_heads=3", cb_attention_args, kv_heads, 3, "kv_heads"),
    ST_BAD("kv_heads=8", cb_attention_args, kv_heads, 8, "kv_heads"),
    ST_BAD("batch=2^62", cb_attention_args, batch, UINT64_C(1) << 62, "batch"),
    ST_BAD("seq_q=2^63", cb_attention_args, seq_q, UINT64_C(1) << 63, "seq_q|q|length"),
    ST_BAD("seq_kv=2^63", cb_attention_args, seq_kv, UINT64_C(1) << 63, "seq_kv|k|length"),
    ST_BAD("head_dim=2^63", cb_attention_args, head_dim, UINT64_C(1) << 63, "head_dim"),
    { .label = NULL },
};

static const uint32_t types[] = { CB_F32, 0 };

const struct st_group st_attention = { "attention", types, grid, sample, faults };
