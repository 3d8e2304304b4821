/* SPDX-License-Identifier: Apache-2.0 */
/* gemm, gemm_mixed_precision and batched_gemm: one case covers the three, since their args begin
 * alike and a single matrix is a batch of one. */
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char sum_rule[] = "gemm: (k + 4) u (|alpha| sum |ab| + |beta c|)";
static const char zero_rule[] = "with k or alpha of 0, C := beta C, and with beta of 0, +0";

enum values {
    UNIFORM,
    ONES,
    SPECIAL,   /* A holds every special value, k is 1 */
    SPRINKLED, /* uniform with a NaN and an infinity in A and B */
    UNREAD,    /* alpha is 0: A and B are there, and all NaN */
};

enum overlap {
    APART,
    C_ON_A,       /* the same elements */
    C_INTO_A,     /* C begins inside A */
    C_ON_B,       /* the same elements */
    INTERLEAVED,  /* batched: the rows of the C_i alternate */
    SHARED_INPUT, /* batched: strides of A and B are 0 */
};

struct gemm {
    uint32_t op, type;
    uint32_t ta, tb;
    uint64_t m, n, k;
    uint64_t pad; /* rows between the extent and the leading dimension */
    double alpha, beta;
    uint64_t batch;
    uint32_t values, overlap;
    const struct st_variant *variant;
};

/* A matrix in memory, its buffer, and for A and B the elements as they are multiplied: those of
 * the buffer, or in mixed precision rounded. */
struct matrix {
    struct st_buffer *buffer;
    double *rounded;
    const double *factor;
    uint64_t at, rows, cols, ld, stride;
};

static uint64_t span_of(const struct matrix *x, uint64_t batch)
{
    if (!x->rows || !x->cols || !batch)
        return 0;
    return (batch - 1) * x->stride + (x->cols - 1) * x->ld + x->rows;
}

static uint64_t index_of(const struct matrix *x, uint64_t batch, uint32_t trans, uint64_t i,
                         uint64_t j)
{
    return x->at + batch * x->stride + (trans ? j + i * x->ld : i + j * x->ld);
}

static bool is_batched(const struct gemm *g)
{
    return g->op == CB_OP_BATCHED_GEMM;
}

static uint32_t type_of_inputs(const struct gemm *g)
{
    return g->op == CB_OP_GEMM_MIXED_PRECISION ? CB_F32 : g->type;
}

static uint32_t type_of_output(const struct gemm *g)
{
    return g->type == CB_F64 ? CB_F64 : CB_F32;
}

/* alpha and beta as the op sees them. */
static double scalar(const struct gemm *g, double x)
{
    return g->type == CB_F64 ? x : (double)(float)x;
}

static bool reads_inputs(const struct gemm *g)
{
    return g->alpha != 0.0 && g->m && g->n && g->k && g->batch;
}

static void fill(struct st_run *run, const struct gemm *g, const struct matrix *x, bool is_a)
{
    for (uint64_t l = 0; l < (x->stride || !g->batch ? g->batch : 1); l++) {
        for (uint64_t j = 0; j < x->cols; j++) {
            for (uint64_t i = 0; i < x->rows; i++) {
                double v = g->values == ONES ? 1.0 : 2.0 * st_uniform(&run->random);
                if (g->values == SPECIAL && is_a)
                    st_special(type_of_inputs(g), i + j, &v);
                if (g->values == SPRINKLED && i + j == 2)
                    v = is_a ? NAN : INFINITY;
                if (g->values == UNREAD && x->buffer != &run->buffers[2])
                    v = NAN;
                st_set(x->buffer, index_of(x, l, CB_NO_TRANS, i, j), v);
            }
        }
    }
}

static bool round_factors(struct st_run *run, const struct gemm *g, struct matrix *x)
{
    x->factor = x->buffer->x;
    if (g->op != CB_OP_GEMM_MIXED_PRECISION)
        return true;
    x->rounded = st_host(run, x->buffer->count, sizeof(double));
    if (!x->rounded)
        return false;
    for (uint64_t i = 0; i < x->buffer->count; i++)
        x->rounded[i] = st_round(g->type, x->buffer->x[i]);
    x->factor = x->rounded;
    return true;
}

static void want_element(struct st_run *run, const struct gemm *g, const struct matrix x[3],
                         uint64_t l, uint64_t i, uint64_t j)
{
    const uint32_t type = type_of_output(g);
    const uint64_t at = index_of(&x[2], l, CB_NO_TRANS, i, j);
    const double alpha = scalar(g, g->alpha), beta = scalar(g, g->beta);
    struct st_sum sum = st_sum_of(type);
    for (uint64_t p = 0; p < g->k && alpha != 0.0; p++)
        st_sum_add(&sum, x[0].factor[index_of(&x[0], l, g->ta, i, p)],
                   x[1].factor[index_of(&x[1], l, g->tb, p, j)]);
    const double c = beta != 0.0 ? x[2].buffer->x[at] : 0.0;
    if (!reads_inputs(g)) {
        run->rule = zero_rule;
        if (beta == 0.0) {
            st_want_exact(run, x[2].buffer, at, 0.0);
            return;
        }
    }
    const double u = st_unit(type), terms = (double)g->k;
    struct st_dd value =
        st_dd_mul((struct st_dd){ alpha, 0.0 }, alpha != 0.0 ? st_sum_value(&sum) : sum.value);
    value = st_dd_add(value, st_dd_mul((struct st_dd){ beta, 0.0 }, (struct st_dd){ c, 0.0 }));
    const double bound = (terms + 4.0) * u * (fabs(alpha) * sum.magnitude + fabs(beta * c));
    st_want_near(run, x[2].buffer, at, value, st_bound(type, bound, terms, value.hi));
}

static void want_all(struct st_run *run, const struct gemm *g, const struct matrix x[3])
{
    run->rule = sum_rule;
    for (uint64_t l = 0; l < g->batch; l++) {
        for (uint64_t j = 0; j < g->n; j++) {
            for (uint64_t i = 0; i < g->m; i++)
                want_element(run, g, x, l, i, j);
        }
    }
}

/* Where the three matrices lie: rows, leading dimensions and strides. */
static void lay_out(const struct gemm *g, struct matrix x[3])
{
    const uint64_t pad = g->pad;
    x[0] = g->ta ? (struct matrix){ .rows = g->k, .cols = g->m }
                 : (struct matrix){ .rows = g->m, .cols = g->k };
    x[1] = g->tb ? (struct matrix){ .rows = g->n, .cols = g->k }
                 : (struct matrix){ .rows = g->k, .cols = g->n };
    x[2] = (struct matrix){ .rows = g->m, .cols = g->n };
    for (int i = 0; i < 3; i++) {
        x[i].ld = x[i].rows + pad;
        x[i].stride = is_batched(g) ? span_of(&x[i], 1) + pad : 0;
    }
    if (g->overlap == SHARED_INPUT)
        x[0].stride = x[1].stride = 0;
    if (g->overlap == INTERLEAVED) {
        x[2].stride = x[2].rows + pad;
        x[2].ld = x[2].stride * (g->batch ? g->batch : 1) + pad;
    }
}

static bool make_buffers(struct st_run *run, const struct gemm *g, struct matrix x[3])
{
    static const char *const names[3] = { "a", "b", "c" };
    const int host = g->overlap == C_ON_A || g->overlap == C_INTO_A ? 0
                     : g->overlap == C_ON_B                         ? 1
                                                                    : 2;
    if (host != 2)
        x[2].at = g->overlap == C_INTO_A ? 2 : 0;
    for (int i = 0; i < 3; i++) {
        if (i == 2 && host != 2) {
            x[2].buffer = x[host].buffer;
            continue;
        }
        uint64_t count = span_of(&x[i], g->batch);
        if (i == host && host != 2)
            count += 2 + span_of(&x[2], g->batch);
        x[i].buffer = st_buffer(run, names[i], i == 2 ? type_of_output(g) : type_of_inputs(g),
                                count, i == host);
        if (!x[i].buffer)
            return false;
        if (i == host && host != 2)
            st_fill(run, x[i].buffer, 1.0);
    }
    return true;
}

static void call(struct st_run *run, const struct gemm *g, const struct matrix x[3])
{
    cb_batched_gemm_args args;
    cb_batched_gemm_args_init(&args);
    args.dtype = g->type;
    args.trans_a = g->ta;
    args.trans_b = g->tb;
    args.m = g->m;
    args.n = g->n;
    args.k = g->k;
    args.alpha = g->alpha;
    args.beta = g->beta;
    args.lda = x[0].ld;
    args.ldb = x[1].ld;
    args.ldc = x[2].ld;
    const bool reads = reads_inputs(g) || g->values == UNREAD;
    st_operand(run, "a|A", offsetof(cb_gemm_args, a), x[0].buffer, x[0].at,
               reads ? span_of(&x[0], g->batch) : 0);
    st_operand(run, "b|B", offsetof(cb_gemm_args, b), x[1].buffer, x[1].at,
               reads ? span_of(&x[1], g->batch) : 0);
    st_operand(run, "c|C", offsetof(cb_gemm_args, c), x[2].buffer, x[2].at,
               span_of(&x[2], g->batch));
    if (is_batched(g)) {
        args.stride_a = x[0].stride;
        args.stride_b = x[1].stride;
        args.stride_c = x[2].stride;
        args.batch = g->batch;
    } else {
        args.size = CB_GEMM_ARGS_1_0;
        if (g->op == CB_OP_GEMM_MIXED_PRECISION)
            args.dtype = g->type == CB_F16 ? CB_MIXED_F16 : CB_MIXED_BF16;
        args.stride_a = 0; /* the stream of the shorter structs */
    }
    st_call(run, g->op, &args, g->variant);
}

static void run_gemm(struct st_run *run, const struct gemm *g)
{
    static const char *const values[] = { "", ",ones", ",special", ",sprinkled", ",unread" };
    static const char *const overlaps[] = {
        "", ",c=a", ",c=a+2", ",c=b", ",interleaved", ",shared"
    };
    char batch[32] = "";
    if (is_batched(g))
        snprintf(batch, sizeof(batch), ",batch=%" PRIu64, g->batch);
    if (!st_begin(run,
                  "%s:%s,%c%c,m=%" PRIu64 ",n=%" PRIu64 ",k=%" PRIu64 ",pad=%" PRIu64
                  ",alpha=%g,beta=%g%s%s%s%s%s",
                  cb_op_name(g->op), st_type_name(g->type), "ntc"[g->ta], "ntc"[g->tb], g -> m,
                  g -> n, g -> k, g -> pad, g -> alpha, g -> beta, batch, values[g->values],
                  overlaps[g->overlap], ST_VARIANT(g->variant)))
        return;
    struct matrix x[3];
    lay_out(g, x);
    if (make_buffers(run, g, x)) {
        if (g->overlap != C_ON_A && g->overlap != C_INTO_A)
            fill(run, g, &x[0], true);
        if (g->overlap != C_ON_B)
            fill(run, g, &x[1], false);
        if (g->beta != 0.0 && x[2].buffer == &run->buffers[2])
            fill(run, g, &x[2], false);
        if (round_factors(run, g, &x[0]) && round_factors(run, g, &x[1])) {
            want_all(run, g, x);
            call(run, g, x);
        }
        free(x[0].rounded);
        free(x[1].rounded);
    }
    st_end(run);
}

/* What every grid starts from. */
static struct gemm base(uint32_t op, uint32_t type)
{
    return (
        struct gemm){ .op = op, .type = type, .alpha = 1.0, .batch = 1, .m = 5, .n = 4, .k = 3 };
}

static const uint64_t tails[] = { 1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12,
                                  13, 14, 15, 16, 17, 31, 32, 33, 63, 64, 65 };

/* Extents around every tile size, each in each place. The quick grid takes every extent in every
 * place once per pair of transposes, in another company each time. */
static void grid_tails(struct st_run *run, struct gemm g)
{
    const uint64_t n = ST_COUNT(tails), all = st_full(run) ? n * n * n * 2 : n * 2;
    for (uint64_t pair = 0; pair < 9; pair++) {
        g.ta = (uint32_t)pair / 3;
        g.tb = (uint32_t)pair % 3;
        for (uint64_t i = 0; i < all; i++) {
            const uint64_t j = i / 2;
            g.m = tails[j % n];
            g.n = tails[st_full(run) ? j / n % n : (j * 7 + pair) % n];
            g.k = tails[st_full(run) ? j / n / n : (j * 11 + 3 * pair + 5) % n];
            g.beta = (double)(i % 2);
            g.pad = i % 3 == 2 ? 3 : 0;
            run_gemm(run, &g);
        }
    }
}

/* Extents of 0 and the scalars that change what is read. */
static void grid_zeroes(struct st_run *run, struct gemm g)
{
    static const uint64_t extents[] = { 0, 1, 5 };
    static const double scalars[] = { 0.0, 1.0, -0.5, 3.0, 0.1 };
    for (uint64_t i = 0; i < 27; i++) {
        g.m = extents[i % 3];
        g.n = extents[i / 3 % 3];
        g.k = extents[i / 9];
        for (uint64_t s = 0; s < 25; s++) {
            if (g.m * g.n * g.k != 125 && g.m * g.n != 5 && s % 5 > 1 && !st_full(run))
                continue;
            g.alpha = scalars[s / 5];
            g.beta = scalars[s % 5];
            g.pad = (i + s) % 2;
            g.ta = (uint32_t)(s % 2);
            g.tb = (uint32_t)(i % 2);
            run_gemm(run, &g);
        }
    }
}

static void grid_long(struct st_run *run, struct gemm g)
{
    static const uint64_t shapes[][3] = {
        { 1, 1, 1000 }, { 1000, 1, 1 }, { 1, 1000, 1 }, { 2, 1, 1 },   { 257, 1, 70 },
        { 1, 257, 70 }, { 3, 2, 700 },  { 130, 3, 2 },  { 3, 129, 2 }, { 66, 70, 68 },
    };
    for (uint64_t i = 0; i < ST_COUNT(shapes) * 4; i++) {
        g.m = shapes[i / 4][0];
        g.n = shapes[i / 4][1];
        g.k = shapes[i / 4][2];
        g.ta = i % 2;
        g.tb = i / 2 % 2;
        g.pad = i % 3;
        g.beta = i % 2 ? -1.0 : 0.0;
        run_gemm(run, &g);
    }
}

static void grid_values(struct st_run *run, struct gemm g)
{
    struct gemm ones = g, special = g, sprinkled = g, unread = g;
    ones.values = ONES;
    ones.m = ones.n = 1;
    ones.k = 4096;
    run_gemm(run, &ones);

    special.values = SPECIAL;
    special.k = 1;
    special.m = 0;
    for (double v; st_special(type_of_inputs(&g), special.m, &v);)
        special.m++;
    run_gemm(run, &special);

    sprinkled.values = SPRINKLED;
    sprinkled.m = sprinkled.n = sprinkled.k = 9;
    run_gemm(run, &sprinkled);
    sprinkled.ta = CB_TRANS;
    sprinkled.beta = 1.0;
    run_gemm(run, &sprinkled);

    unread.values = UNREAD;
    unread.alpha = 0.0;
    run_gemm(run, &unread);
    unread.beta = 3.0;
    run_gemm(run, &unread);
}

static void grid_overlaps(struct st_run *run, struct gemm g)
{
    static const uint32_t overlaps[] = { C_ON_A, C_INTO_A, C_ON_B };
    if (type_of_inputs(&g) != type_of_output(&g))
        return;
    for (uint64_t i = 0; i < ST_COUNT(overlaps) * 8; i++) {
        g.overlap = overlaps[i / 8];
        g.m = g.n = g.k = i % 2 ? 19 : 4;
        g.batch = is_batched(&g) ? 1 + i % 3 : 1;
        g.ta = i / 2 % 2;
        g.beta = i / 4 % 2 ? 1.0 : 0.0;
        run_gemm(run, &g);
    }
}

static void grid_batches(struct st_run *run, struct gemm g)
{
    static const uint32_t layouts[] = { APART, INTERLEAVED, SHARED_INPUT };
    for (uint64_t i = 0; i < 9 * ST_COUNT(layouts) * 4; i++) {
        g.ta = (uint32_t)(i % 3);
        g.tb = (uint32_t)(i / 3 % 3);
        g.overlap = layouts[i / 9 % 3];
        g.batch = i / 27;
        g.m = 3 + i % 7;
        g.n = 1 + i % 5;
        g.k = 2 + i % 9;
        g.pad = i % 2 * 2;
        g.beta = i / 2 % 2 ? 2.0 : 0.0;
        run_gemm(run, &g);
    }
}

static void grid(struct st_run *run, uint32_t op, uint32_t type)
{
    const struct gemm g = base(op, type);
    grid_zeroes(run, g);
    grid_long(run, g);
    grid_values(run, g);
    grid_overlaps(run, g);
    if (is_batched(&g))
        grid_batches(run, g);
    else
        grid_tails(run, g);
}

/* Each fault with each pair of transposes, since the leading dimension's rule follows them. */
static void sample(struct st_run *run, uint32_t op, uint32_t type, const struct st_variant *v)
{
    struct gemm g = base(op, type);
    g.variant = v;
    g.beta = 1.0;
    g.pad = 1;
    g.batch = is_batched(&g) ? 3 : 1;
    g.m = st_size(run, v, g.m, 70, is_batched(&g) ? 100 : 250);
    g.n = st_size(run, v, g.n, 67, is_batched(&g) ? 101 : 251);
    g.k = st_size(run, v, g.k, 131, 131);
    for (uint32_t pair = 0; pair < 4; pair++) {
        g.ta = pair % 2;
        g.tb = pair / 2;
        run_gemm(run, &g);
    }
}

#define DEFINE_GROUP_FUNCTIONS(name, op)                                                           \
    static void name##_grid(struct st_run *run, uint32_t type)                                     \
    {                                                                                              \
        grid(run, op, type);                                                                       \
    }                                                                                              \
    static void name##_sample(struct st_run *run, uint32_t type, const struct st_variant *v)       \
    {                                                                                              \
        sample(run, op, type, v);                                                                  \
    }
DEFINE_GROUP_FUNCTIONS(gemm, CB_OP_GEMM)
DEFINE_GROUP_FUNCTIONS(mixed, CB_OP_GEMM_MIXED_PRECISION)
DEFINE_GROUP_FUNCTIONS(batched, CB_OP_BATCHED_GEMM)

/* The sample's op(A) is 5 x 3, op(B) 3 x 4 and C 5 x 4, each with one row of padding. */
#define COMMON_FAULTS                                                                              \
    ST_BAD("lda=2", cb_gemm_args, lda, 2, "lda"), ST_BAD("lda=0", cb_gemm_args, lda, 0, "lda"),    \
        ST_BAD("ldb=2", cb_gemm_args, ldb, 2, "ldb"),                                              \
        ST_BAD("ldc=4", cb_gemm_args, ldc, 4, "ldc"),                                              \
        ST_BAD("ldc=0", cb_gemm_args, ldc, 0, "ldc"),                                              \
        ST_BAD("trans_a=3", cb_gemm_args, trans_a, 3, "trans_a"),                                  \
        ST_BAD("trans_b=255", cb_gemm_args, trans_b, 255, "trans_b"),                              \
        ST_BAD("m=2^63", cb_gemm_args, m, UINT64_C(1) << 63, "ldc|lda|m|A|C"),                     \
        ST_BAD("n=2^63", cb_gemm_args, n, UINT64_C(1) << 63, "ldb|n|B|C|b|c"),                     \
        ST_BAD("k=2^63", cb_gemm_args, k, UINT64_C(1) << 63, "lda|ldb|k|A|B"),                     \
        ST_BAD("lda=2^62", cb_gemm_args, lda, UINT64_C(1) << 62, "lda|A|a"),                       \
        ST_BAD("ldc=2^64-1", cb_gemm_args, ldc, UINT64_MAX, "ldc|C|c")

static const struct st_variant gemm_faults[] = {
    COMMON_FAULTS,
    ST_UNKNOWN("dtype=99", cb_gemm_args, dtype, 99, "dtype"),
    { .label = NULL },
};

static const struct st_variant mixed_faults[] = {
    COMMON_FAULTS,
    ST_UNKNOWN("precision=2", cb_gemm_mixed_precision_args, precision, 2, "precision"),
    { .label = NULL },
};

static const struct st_variant batched_faults[] = {
    COMMON_FAULTS,
    ST_UNKNOWN("dtype=99", cb_gemm_args, dtype, 99, "dtype"),
    ST_BAD("stride_c=0", cb_batched_gemm_args, stride_c, 0, "stride_c"),
    ST_BAD("stride_c=22", cb_batched_gemm_args, stride_c, 22, "stride_c"),
    ST_BAD("stride_a=2^62", cb_batched_gemm_args, stride_a, UINT64_C(1) << 62, "stride_a|A|a"),
    ST_BAD("batch=2^63", cb_batched_gemm_args, batch, UINT64_C(1) << 63,
           "batch|stride_a|stride_b|stride_c|A|B|C|a|b|c"),
    { .label = NULL },
};

static const uint32_t stored_types[] = { CB_F64, CB_F32, CB_BF16, CB_F16, 0 };
static const uint32_t mixed_types[] = { CB_BF16, CB_F16, 0 };

const struct st_group st_gemm = { "gemm", stored_types, gemm_grid, gemm_sample, gemm_faults };
const struct st_group st_gemm_mixed_precision = { "gemm_mixed_precision", mixed_types, mixed_grid,
                                                  mixed_sample, mixed_faults };
const struct st_group st_batched_gemm = { "batched_gemm", stored_types, batched_grid,
                                          batched_sample, batched_faults };
