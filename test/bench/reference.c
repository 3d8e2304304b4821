/* SPDX-License-Identifier: Apache-2.0 */
/* What a result must be, in double, at a sample of its elements. */
#include "bench.h"

#include <math.h>
#include <stdlib.h>

#define SAMPLES 24

/* A sum, and that of the magnitudes of its terms. */
struct sum {
    double value, magnitude;
};

static void add(struct sum *s, double x)
{
    s->value += x;
    s->magnitude += fabs(x);
}

/* Element j of input i, as the operation must see it. */
static double in(const pb_case *c, int i, size_t j)
{
    const void *x = c->in[i];
    switch (c->dt) {
    case PB_F64: return ((const double *)x)[j];
    case PB_BF16: return bf2f(((const uint16_t *)x)[j]);
    case PB_F16: return h2f(((const uint16_t *)x)[j]);
    case PB_MIX_BF16: return bf2f(f2bf(((const float *)x)[j]));
    case PB_MIX_F16: return h2f(f2h(((const float *)x)[j]));
    default: return ((const float *)x)[j];
    }
}

static double out(const pb_case *c, size_t j)
{
    return c->dt == PB_F64 ? ((const double *)c->out)[j] : ((const float *)c->out)[j];
}

static struct sum gemm_at(const pb_case *c, size_t idx)
{
    const long M = c->d[0], N = c->d[1], K = c->d[2];
    const bool single = c->op == PB_GEMM, ta = single && c->d[3], tb = single && c->d[4];
    const size_t b = idx / (size_t)(M * N), r = idx % (size_t)(M * N);
    const long i = r % M, j = r / M;
    struct sum s = { 0 };
    for (long k = 0; k < K; k++)
        add(&s, in(c, 0, b * M * K + (ta ? k + i * K : i + k * M)) *
                    in(c, 1, b * K * N + (tb ? j + k * N : k + j * K)));
    return s;
}

/* ---- convolution ---- */

struct geometry {
    long N, IC, IH, IW, OC, KH, KW, S, P, G, OH, OW, ICG, OCG;
};

static struct geometry geometry(const pb_case *c)
{
    const long *d = c->d;
    return (struct geometry){ d[PB_CV_N],
                              d[PB_CV_IC],
                              d[PB_CV_IH],
                              d[PB_CV_IW],
                              d[PB_CV_OC],
                              d[PB_CV_KH],
                              d[PB_CV_KW],
                              d[PB_CV_S],
                              d[PB_CV_P],
                              d[PB_CV_G],
                              d[PB_CV_OH],
                              d[PB_CV_OW],
                              d[PB_CV_IC] / d[PB_CV_G],
                              d[PB_CV_OC] / d[PB_CV_G] };
}

/* Where a tap of the filter reads, for an output position; false in the padding. */
static bool tap(const struct geometry *g, long y, long x, long a, long b, long *yy, long *xx)
{
    *yy = y * g->S - g->P + a;
    *xx = x * g->S - g->P + b;
    return *yy >= 0 && *yy < g->IH && *xx >= 0 && *xx < g->IW;
}

static struct sum conv_fwd_at(const pb_case *c, size_t idx)
{
    const struct geometry g = geometry(c);
    const long x = idx % g.OW, y = idx / g.OW % g.OH, o = idx / (g.OW * g.OH) % g.OC,
               n = idx / (g.OW * g.OH * g.OC), group = o / g.OCG;
    struct sum s = { 0 };
    long yy, xx;
    for (long i = 0; i < g.ICG; i++)
        for (long a = 0; a < g.KH; a++)
            for (long b = 0; b < g.KW; b++)
                if (tap(&g, y, x, a, b, &yy, &xx))
                    add(&s, in(c, 0, ((n * g.IC + group * g.ICG + i) * g.IH + yy) * g.IW + xx) *
                                in(c, 1, ((o * g.ICG + i) * g.KH + a) * g.KW + b));
    return s;
}

static struct sum conv_bwdd_at(const pb_case *c, size_t idx)
{
    const struct geometry g = geometry(c);
    const long xx = idx % g.IW, yy = idx / g.IW % g.IH, i = idx / (g.IW * g.IH) % g.IC,
               n = idx / (g.IW * g.IH * g.IC), group = i / g.ICG;
    struct sum s = { 0 };
    for (long o = group * g.OCG; o < (group + 1) * g.OCG; o++)
        for (long a = 0; a < g.KH; a++)
            for (long b = 0; b < g.KW; b++) {
                const long y = yy + g.P - a, x = xx + g.P - b;
                if (y < 0 || x < 0 || y % g.S || x % g.S || y / g.S >= g.OH || x / g.S >= g.OW)
                    continue;
                add(&s, in(c, 0, ((n * g.OC + o) * g.OH + y / g.S) * g.OW + x / g.S) *
                            in(c, 1, ((o * g.ICG + i % g.ICG) * g.KH + a) * g.KW + b));
            }
    return s;
}

static struct sum conv_bwdw_at(const pb_case *c, size_t idx)
{
    const struct geometry g = geometry(c);
    const long b = idx % g.KW, a = idx / g.KW % g.KH, i = idx / (g.KW * g.KH) % g.ICG,
               o = idx / (g.KW * g.KH * g.ICG), group = o / g.OCG;
    struct sum s = { 0 };
    long yy, xx;
    for (long n = 0; n < g.N; n++)
        for (long y = 0; y < g.OH; y++)
            for (long x = 0; x < g.OW; x++)
                if (tap(&g, y, x, a, b, &yy, &xx))
                    add(&s, in(c, 0, ((n * g.IC + group * g.ICG + i) * g.IH + yy) * g.IW + xx) *
                                in(c, 1, ((n * g.OC + o) * g.OH + y) * g.OW + x));
    return s;
}

/* ---- along an axis ---- */

static struct sum softmax_at(const pb_case *c, size_t idx)
{
    const long A = c->d[1], I = c->d[2];
    const size_t first = idx / (A * I) * A * I + idx % I;
    double max = -INFINITY, sum = 0;
    for (long a = 0; a < A; a++)
        max = fmax(max, in(c, 0, first + a * I));
    for (long a = 0; a < A; a++)
        sum += exp(in(c, 0, first + a * I) - max);
    const double p = exp(in(c, 0, idx) - max) / sum;
    return (struct sum){ p, p };
}

static struct sum reduce_at(const pb_case *c, size_t idx)
{
    const long A = c->d[1], I = c->d[2];
    struct sum s = { 0 };
    for (long a = 0; a < A; a++)
        add(&s, in(c, 0, (idx / I * A + a) * I + idx % I));
    return s;
}

static struct sum attention_at(const pb_case *c, size_t idx)
{
    const long Sq = c->d[2], Sk = c->d[3], D = c->d[4], q = idx / D % Sq, e = idx % D;
    const long visible = c->d[5] ? Sk - Sq + q + 1 : Sk;
    const size_t head = idx / (Sq * D);
    double *w = xalloc(sizeof(*w) * visible), max = -INFINITY, sum = 0;
    struct sum s = { 0 };
    for (long k = 0; k < visible; k++) {
        double t = 0;
        for (long x = 0; x < D; x++)
            t += in(c, 0, (head * Sq + q) * D + x) * in(c, 1, (head * Sk + k) * D + x);
        w[k] = t / sqrt((double)D);
        max = fmax(max, w[k]);
    }
    for (long k = 0; k < visible; k++)
        sum += w[k] = exp(w[k] - max);
    for (long k = 0; k < visible; k++)
        add(&s, w[k] / sum * in(c, 2, (head * Sk + k) * D + e));
    free(w);
    return s;
}

/* ---- element by element ---- */

static double unary(long kind, double x)
{
    switch (kind) {
    case PB_RELU: return x > 0 ? x : 0;
    case PB_SIGMOID: return 1 / (1 + exp(-x));
    case PB_TANH: return tanh(x);
    case PB_EXP: return exp(x);
    case PB_LOG: return log(x);
    case PB_SQRT: return sqrt(x);
    case PB_ABS: return fabs(x);
    default: return -x;
    }
}

static struct sum map_at(const pb_case *c, size_t idx)
{
    const double x = in(c, 0, idx);
    const double y = c->op == PB_UNARY ? unary(c->d[1], x) : x + in(c, 1, idx);
    return (struct sum){ y, fmax(fabs(y), 1e-3) };
}

static struct sum gather_at(const pb_case *c, size_t idx)
{
    const long width = c->d[1];
    const int32_t row = ((const int32_t *)c->in[1])[idx / width];
    const double x = in(c, 0, (size_t)row * width + idx % width);
    return (struct sum){ x, fabs(x) };
}

static struct sum at(const pb_case *c, size_t idx)
{
    switch (c->op) {
    case PB_GEMM:
    case PB_GEMM_BATCH: return gemm_at(c, idx);
    case PB_CONV_FWD: return conv_fwd_at(c, idx);
    case PB_CONV_BWDD: return conv_bwdd_at(c, idx);
    case PB_CONV_BWDW: return conv_bwdw_at(c, idx);
    case PB_SOFTMAX: return softmax_at(c, idx);
    case PB_REDUCE: return reduce_at(c, idx);
    case PB_ATTN: return attention_at(c, idx);
    case PB_GATHER: return gather_at(c, idx);
    default: return map_at(c, idx);
    }
}

/* What scatter adds to what was there is not followed. */
double check(const pb_case *c)
{
    double worst = 0;
    const uint64_t keep = rng;
    if (c->op == PB_SCATTER)
        return 0;
    rng = 0x9E3779B97F4A7C15ull;
    for (int t = 0; t < SAMPLES; t++) {
        const size_t i = t == 0 ? 0 : t == 1 ? c->out_n - 1 : xr() % c->out_n;
        const struct sum want = at(c, i);
        const double e = fabs(out(c, i) - want.value) / (want.magnitude > 0 ? want.magnitude : 1);
        if (!(e <= worst)) /* a NaN counts */
            worst = e;
    }
    rng = keep;
    return worst;
}

double tolerance(const pb_case *c)
{
    return c->dt == PB_F64 ? 1e-12 : c->dt != PB_F32 ? 1e-4 : c->op == PB_GATHER ? 0 : 2e-5;
}
