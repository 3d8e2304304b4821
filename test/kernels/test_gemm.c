/* SPDX-License-Identifier: Apache-2.0 */
/* gemm's kernels, called directly, against a sum in long double with the contract's bound. */
#include "kernels_kit.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "half.h"

#define SAMPLES 1000 /* elements of a large C that are judged */

/* Types in memory, and what they are rounded to first. */
struct kind {
    uint32_t dtype, round;
    unsigned size;
};
static const struct kind kinds[] = {
    { CB_F64, 0, 8 }, { CB_F32, 0, 4 },       { CB_BF16, 0, 2 },
    { CB_F16, 0, 2 }, { CB_F32, CB_BF16, 4 }, { CB_F32, CB_F16, 4 },
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

struct problem {
    const struct kind *kind;
    uint64_t m, n, k, batch;
    bool trans_a, trans_b, share_b;
    unsigned pad; /* rows beyond the extent in every leading dimension, and matrices' distance */
    double alpha, beta;
    double (*value)(uint64_t *seed); /* of A and B */
};

/* A problem in memory. */
struct matrices {
    struct cpu_gemm g;
    void *a, *b, *c, *before; /* before: C as it was */
    uint64_t c_bytes;
};

static unsigned c_size(const struct problem *p)
{
    return p->kind->dtype == CB_F64 ? 8 : 4;
}

static double between_ones(uint64_t *seed)
{
    return (double)(kit_random(seed) >> 11) / 4503599627370496.0 - 1;
}

static void put(void *memory, uint64_t i, const struct kind *kind, double x)
{
    if (kind->dtype == CB_F64)
        ((double *)memory)[i] = x;
    else if (kind->dtype == CB_F32)
        ((float *)memory)[i] = (float)x;
    else
        ((uint16_t *)memory)[i] =
            kind->dtype == CB_BF16 ? cbc_f32_to_bf16((float)x) : cbc_f32_to_f16((float)x);
}

/* What the op must see at an element. */
static double get(const void *memory, uint64_t i, const struct kind *kind)
{
    if (kind->dtype == CB_F64)
        return ((const double *)memory)[i];
    if (kind->dtype == CB_BF16)
        return cbc_bf16_to_f32(((const uint16_t *)memory)[i]);
    if (kind->dtype == CB_F16)
        return cbc_f16_to_f32(((const uint16_t *)memory)[i]);
    const float x = ((const float *)memory)[i];
    return kind->round == CB_BF16  ? cbc_bf16_to_f32(cbc_f32_to_bf16(x))
           : kind->round == CB_F16 ? cbc_f16_to_f32(cbc_f32_to_f16(x))
                                   : x;
}

static double get_c(const void *c, uint64_t i, const struct problem *p)
{
    return p->kind->dtype == CB_F64 ? ((const double *)c)[i] : ((const float *)c)[i];
}

/* rows x cols, batch times, of random values; what lies between stays guard. */
static void *matrix(const struct problem *p, uint64_t rows, uint64_t cols, uint64_t ld,
                    uint64_t stride, uint64_t gap, const struct kind *kind, uint64_t *seed)
{
    const uint64_t last = stride * (p->batch - 1), n = last + ld * (cols - 1) + rows;
    void *memory = kit_memory(n * kind->size, gap * kind->size, kind->size);
    for (uint64_t at = 0; at <= last; at += stride ? stride : 1)
        for (uint64_t j = 0; j < cols; j++)
            for (uint64_t i = 0; i < rows; i++)
                put(memory, at + i + j * ld, kind, p->value(seed));
    return memory;
}

/* gap: elements between each matrix and the end of its page. */
static struct matrices make(const struct problem *p, uint64_t gap)
{
    const struct kind c_kind = { p->kind->dtype == CB_F64 ? CB_F64 : CB_F32, 0, c_size(p) };
    const uint64_t rows_a = p->trans_a ? p->k : p->m, cols_a = p->trans_a ? p->m : p->k;
    const uint64_t rows_b = p->trans_b ? p->n : p->k, cols_b = p->trans_b ? p->k : p->n;
    const uint64_t lda = rows_a + p->pad, ldb = rows_b + p->pad, ldc = p->m + p->pad;
    struct matrices x = { .g = { .dtype = p->kind->dtype, .round = p->kind->round } };
    struct cpu_gemm *g = &x.g;
    uint64_t seed = p->m * 131 + p->n * 17 + p->k + 1;

    g->m = p->m, g->n = p->n, g->k = p->k, g->batch = p->batch;
    g->alpha = p->alpha, g->beta = p->beta;
    g->rs_a = p->trans_a ? lda : 1, g->cs_a = p->trans_a ? 1 : lda;
    g->rs_b = p->trans_b ? ldb : 1, g->cs_b = p->trans_b ? 1 : ldb;
    g->ldc = ldc;
    g->stride_a = p->batch > 1 ? lda * cols_a + p->pad : 0;
    g->stride_b = p->batch > 1 && !p->share_b ? ldb * cols_b + p->pad : 0;
    g->stride_c = p->batch > 1 ? ldc * p->n + p->pad : 0;
    g->a = x.a = matrix(p, rows_a, cols_a, lda, g->stride_a, gap, p->kind, &seed);
    g->b = x.b = matrix(p, rows_b, cols_b, ldb, g->stride_b, gap, p->kind, &seed);
    g->c = x.c = matrix(p, p->m, p->n, ldc, g->stride_c, gap, &c_kind, &seed);
    x.c_bytes = (g->stride_c * (p->batch - 1) + ldc * (p->n - 1) + p->m) * c_size(p);
    x.before = kit_memory(x.c_bytes, 0, c_size(p));
    memcpy(x.before, x.c, x.c_bytes);
    return x;
}

static void run(const struct cpu_gemm_kernel *kernel, const struct cpu_gemm *g, unsigned threads)
{
    struct cpu_work work = kit_work(threads, kernel->workspace ? kernel->workspace(g, threads) : 0);
    kernel->run(g, &work);
    kit_work_end(&work);
}

/* Element (i, j) of matrix number q, by the contract. */
static void judge(const struct problem *p, const struct matrices *x, uint64_t q, uint64_t i,
                  uint64_t j)
{
    const struct cpu_gemm *g = &x->g;
    const uint64_t at = q * g->stride_c + i + j * g->ldc;
    const bool f64 = p->kind->dtype == CB_F64;
    const long double u = f64 ? 0x1p-53L : 0x1p-24L, tiny = f64 ? 0x1p-1074L : 0x1p-149L;
    const double largest = f64 ? DBL_MAX : (double)FLT_MAX;
    long double sum = 0, size = 0;
    for (uint64_t s = 0; s < p->k; s++) {
        const long double t =
            (long double)get(x->a, q * g->stride_a + i * g->rs_a + s * g->cs_a, p->kind) *
            get(x->b, q * g->stride_b + s * g->rs_b + j * g->cs_b, p->kind);
        sum += t;
        size += fabsl(t);
    }
    const long double old = p->beta == 0 ? 0 : (long double)p->beta * get_c(x->before, at, p);
    const long double want = (long double)p->alpha * sum + old, k = (long double)p->k + 4;
    const long double bound = k * u * (fabsl(p->alpha * size) + fabsl(old)) + k * tiny;
    const double got = get_c(x->c, at, p);

    if (isnan(want)  ? isnan(got)
        : isinf(got) ? got * want > 0 && fabsl(want) > largest * (1 - u)
                     : fabsl(got - want) <= bound)
        return;
    print_error("m %llu n %llu k %llu dtype %u round %u trans %d%d beta %g: C(%llu, %llu) of %llu "
                "is %.17g, not %.20Lg within %.3Lg\n",
                (unsigned long long)p->m, (unsigned long long)p->n, (unsigned long long)p->k,
                p->kind->dtype, p->kind->round, p->trans_a, p->trans_b, p->beta,
                (unsigned long long)i, (unsigned long long)j, (unsigned long long)q, got, want,
                bound);
    fail();
}

/* All of a small C, samples and the last element of a large one; and the padding of all. */
static void judge_all(const struct problem *p, const struct matrices *x)
{
    const struct cpu_gemm *g = &x->g;
    const uint64_t all = p->m * p->n * p->batch, step = all / SAMPLES + 1, size = c_size(p);
    for (uint64_t e = 0; e < all; e += step)
        judge(p, x, e / (p->m * p->n), e % p->m, e / p->m % p->n);
    judge(p, x, p->batch - 1, p->m - 1, p->n - 1);
    for (uint64_t q = 0; q < p->batch; q++)
        for (uint64_t j = 0; j + 1 < p->n; j++) {
            const char *column = (const char *)x->c + (q * g->stride_c + j * g->ldc) * size;
            assert_true(kit_is_guard(column + p->m * size, p->pad * size, c_size(p)));
        }
}

static void solve(void **state, const struct problem *p)
{
    const struct cpu_kernels kernels = kit_kernels(state);
    struct matrices x = make(p, 0);
    run(&kernels.gemm, &x.g, 3);
    judge_all(p, &x);
    kit_release();
}

/* m, n, k: edges of every tile, vectors, small ones, the largest small ones, more steps, rows and
 * columns than one block has, and a few rows or columns that are too long to be small. */
static const uint64_t shapes[][3] = {
    { 1, 1, 1 },     { 2, 3, 1 },      { 7, 5, 3 },      { 8, 8, 8 },       { 9, 13, 17 },
    { 16, 6, 40 },   { 24, 8, 2 },     { 25, 9, 31 },    { 48, 4, 5 },      { 49, 15, 9 },
    { 33, 33, 33 },  { 65, 63, 64 },   { 1, 70, 300 },   { 70, 1, 300 },    { 1, 1, 2500 },
    { 1, 2100, 5 },  { 2100, 1, 5 },   { 3, 1, 2049 },   { 129, 130, 129 }, { 97, 200, 130 },
    { 5, 9, 50000 }, { 24, 3000, 37 }, { 400, 30, 900 }, { 30, 400, 900 },  { 257, 263, 401 },
    { 530, 8, 501 }, { 7, 501, 601 },  { 523, 2, 2100 }, { 3, 700, 1030 },  { 70, 64, 96 },
    { 33, 32, 512 },
};
#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

static void gemm_is_within_the_bound_for_every_shape_type_and_transpose(void **state)
{
    static const double scalars[][2] = { { 1, 0 }, { -0.5, 1 }, { 1, 0.75 } };
    for (uint64_t s = 0; s < SHAPES; s++)
        for (uint64_t v = s % KIT_STEP; v < KINDS * 4; v += KIT_STEP) {
            const struct problem p = {
                .kind = &kinds[v / 4],
                .m = shapes[s][0],
                .n = shapes[s][1],
                .k = shapes[s][2],
                .batch = 1,
                .trans_a = v & 1,
                .trans_b = v & 2,
                .pad = (unsigned)(v + s) % 4,
                .alpha = scalars[(s + v) % 3][0],
                .beta = scalars[(s + v) % 3][1],
                .value = between_ones,
            };
            solve(state, &p);
        }
}

static void batched_gemm_is_within_the_bound_and_shares_b_by_stride_zero(void **state)
{
    static const uint64_t sizes[][4] = { /* m, n, k, batch */
                                         { 3, 2, 4, 300 },
                                         { 16, 16, 16, 40 },
                                         { 1, 40, 33, 9 },
                                         { 150, 140, 130, 13 },
                                         { 180, 170, 160, 2 }
    };
    for (uint64_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
        for (uint64_t v = 0; v < KINDS * 2; v++) {
            const struct problem p = {
                .kind = &kinds[v / 2],
                .m = sizes[s][0],
                .n = sizes[s][1],
                .k = sizes[s][2],
                .batch = sizes[s][3],
                .trans_a = v & 1,
                .share_b = v & 1,
                .pad = (unsigned)v % 3,
                .alpha = 1,
                .beta = v & 1 ? 0.5 : 0,
                .value = between_ones,
            };
            solve(state, &p);
        }
}

static void batched_gemm_is_within_the_bound_where_c_is_larger_than_the_caches(void **state)
{
    for (uint64_t s = 0; s < 2; s++) {
        const struct problem p = { &kinds[s], 64, 48, 3, 500, .alpha = 1, .value = between_ones };
        solve(state, &p);
    }
}

static void gemm_with_beta_zero_does_not_read_c(void **state)
{
    const struct cpu_kernels kernels = kit_kernels(state);
    for (uint64_t s = 0; s < SHAPES * KINDS; s++) {
        const uint64_t *shape = shapes[s / KINDS];
        const struct problem p = {
            &kinds[s % KINDS],    shape[0], shape[1], shape[2], 1, .pad = 1, .alpha = 2,
            .value = between_ones
        };
        const struct kind *c_kind = &kinds[c_size(&p) == 8 ? 0 : 1];
        struct matrices x = make(&p, 0);
        for (uint64_t i = 0; i < x.c_bytes / c_size(&p); i++)
            if (!kit_is_guard((char *)x.c + i * c_size(&p), c_size(&p), c_size(&p)))
                put(x.c, i, c_kind, NAN);
        run(&kernels.gemm, &x.g, 1);
        judge_all(&p, &x);
        kit_release();
    }
}

static void gemm_without_steps_scales_c_and_reads_neither_a_nor_b(void **state)
{
    static const double betas[] = { 0, 1, -2 };
    const struct cpu_kernels kernels = kit_kernels(state);
    for (uint64_t v = 0; v < 2 * 3; v++) {
        struct problem p = {
            &kinds[v / 3],        37, 11, 5, 3, .pad = 2, .alpha = 1, .beta = betas[v % 3],
            .value = between_ones
        };
        struct matrices x = make(&p, 0);
        p.k = x.g.k = 0;
        x.g.a = x.g.b = NULL;
        run(&kernels.gemm, &x.g, 3);
        for (uint64_t i = 0; i < 37; i++)
            assert_true(get_c(x.c, i, &p) == betas[v % 3] * get_c(x.before, i, &p));
        judge_all(&p, &x);
        kit_release();
    }
}

/* Some are not finite, are small as few are, or are large, yet no sum of theirs overflows. */
static double extreme(uint64_t *seed)
{
    static const double values[] = { INFINITY, -INFINITY, NAN,      0x1p60,
                                     -0x1p58,  0x1p-140,  0x1p-149, -0.0 };
    const uint64_t r = kit_random(seed) >> 20;
    return r % 150 < 8 ? values[r % 150] : between_ones(seed);
}

static void gemm_spreads_nan_and_infinity_and_bears_extremes(void **state)
{
    for (uint64_t s = 0; s < SHAPES; s++)
        for (uint64_t v = 0; v < KINDS; v++) {
            const struct problem p = {
                &kinds[v],        shapes[s][0],     shapes[s][1], shapes[s][2] % 60 + 1, 1,
                .trans_a = v & 1, .trans_b = s & 1, .alpha = 1,   .value = extreme
            };
            solve(state, &p);
        }
}

/* Powers of two so small that each product is a subnormal number. */
static double small_integer(uint64_t *seed)
{
    return (double)(kit_random(seed) >> 20 & 7) - 3;
}

/* Element number e of the product, where double holds every sum. */
static double exact_sum(const struct problem *p, const struct matrices *x, uint64_t e)
{
    double sum = 0;
    for (uint64_t q = 0; q < p->k; q++)
        sum += get(x->a, e % p->m * x->g.rs_a + q * x->g.cs_a, p->kind) *
               get(x->b, q * x->g.rs_b + e / p->m * x->g.cs_b, p->kind);
    return sum;
}

static void gemm_keeps_subnormal_operands_and_results(void **state)
{
    const struct cpu_kernels kernels = kit_kernels(state);
    for (uint64_t s = 0; s < SHAPES; s++)
        for (uint64_t v = s % KIT_STEP; v < KINDS; v += KIT_STEP) {
            const struct kind *kind = &kinds[v];
            const bool half = kind->dtype == CB_F16 || kind->round == CB_F16;
            const double unit = kind->dtype == CB_F64                   ? 0x1p-1074
                                : half                                  ? 0x1p-24
                                : kind->round || kind->dtype == CB_BF16 ? 0x1p-133
                                                                        : 0x1p-149;
            const struct problem p = {
                kind, shapes[s][0],     shapes[s][1], shapes[s][2],
                1,    .trans_a = s & 1, .alpha = 1,   .value = small_integer
            };
            struct matrices x = make(&p, 0);
            for (uint64_t i = 0; i < p.m * p.k; i++)
                put(x.a, i, kind, get(x.a, i, kind) * unit);
            run(&kernels.gemm, &x.g, 1);
            for (uint64_t e = 0; e < p.m * p.n; e += p.m * p.n / SAMPLES + 1)
                assert_true(get_c(x.c, e, &p) == exact_sum(&p, &x, e));
            kit_release();
        }
}

/* 1, 129/128 or 130/128, of either sign, so that products often cancel but for their last bit:
 * (129/128)^2 - 1 * 130/128 = 2^-14. */
static double nearly_one(uint64_t *seed)
{
    const uint64_t r = kit_random(seed) >> 20;
    return (r & 1 ? 1 : -1) * (128 + (double)((r >> 1) % 3)) / 128;
}

/* On both sides of where a product of two 16-bit numbers, or its last bit, becomes subnormal. Every
 * sum is exact. */
static void gemm_is_exact_where_sums_cancel_to_the_smallest_numbers(void **state)
{
    static const int exponents[][2] = { /* of A, B */
                                        { -56, -54 },  { -55, -56 },  { -56, -56 }, { -57, -56 },
                                        { -126, 13 },  { -126, 14 },  { -126, 15 }, { -127, 15 },
                                        { 15, -127 },  { 14, -126 },  { 13, -126 }, { -60, -66 },
                                        { -126, 127 }, { -133, 127 }, { 127, -133 }
    };
    const struct cpu_kernels kernels = kit_kernels(state);
    for (uint64_t e = 0; e < sizeof(exponents) / sizeof(exponents[0]); e++)
        for (uint64_t s = 0; s < SHAPES; s++)
            for (uint64_t v = 0; v < 2; v++) {
                const struct kind *kind = v ? &kinds[4] : &kinds[2];
                const struct problem p = { kind,
                                           shapes[s][0],
                                           shapes[s][1],
                                           shapes[s][2] % 40 + 32,
                                           1,
                                           .trans_a = s & 1,
                                           .trans_b = s & 2,
                                           .alpha = 1,
                                           .value = nearly_one };
                if (p.m * p.n > 12000)
                    continue;
                struct matrices x = make(&p, 0);
                for (uint64_t i = 0; i < p.m * p.k; i++)
                    put(x.a, i, kind, ldexp(get(x.a, i, kind), exponents[e][0]));
                for (uint64_t i = 0; i < p.k * p.n; i++)
                    put(x.b, i, kind, ldexp(get(x.b, i, kind), exponents[e][1]));
                run(&kernels.gemm, &x.g, 1);
                for (uint64_t i = 0; i < p.m * p.n; i++)
                    assert_true(get_c(x.c, i, &p) == exact_sum(&p, &x, i));
                kit_release();
            }
}

/* A row of A, or a column of B. */
struct line {
    void *matrix;
    uint64_t first, step; /* elements */
};

static struct line line(const struct matrices *x, bool of_b, uint64_t i)
{
    const struct cpu_gemm *g = &x->g;
    return of_b ? (struct line){ x->b, i * g->cs_b, g->rs_b }
                : (struct line){ x->a, i * g->rs_a, g->cs_a };
}

/* One number decides how the others around it are multiplied, and theirs stay right. What it is
 * multiplied with is large, so that only the number itself can tell. */
static void gemm_keeps_a_single_subnormal_operand_among_others(void **state)
{
    static const uint64_t sizes[][3] = { { 64, 64, 64 }, { 33, 40, 70 }, { 96, 32, 33 } };
    const struct cpu_kernels kernels = kit_kernels(state);
    for (unsigned s = 0; s < 3; s++)
        for (unsigned v = 0; v < 24; v++) {
            const struct kind *kind = v & 1 ? &kinds[4] : &kinds[2];
            const bool in_b = v & 2;
            const struct problem p = { kind,
                                       sizes[s][0],
                                       sizes[s][1],
                                       sizes[s][2],
                                       1,
                                       .trans_a = v & 4,
                                       .trans_b = v & 4,
                                       .alpha = 1,
                                       .value = between_ones };
            const uint64_t lanes = in_b ? p.n : p.m, others = in_b ? p.m : p.n;
            const uint64_t lane = (lanes - 1) * (v / 8) / 2, step = (p.k - 1) * (v / 8) / 2;
            struct matrices x = make(&p, 0);
            const struct line one = line(&x, in_b, lane), all = line(&x, !in_b, 0);
            for (uint64_t i = 0; i < others * p.k; i++)
                put(all.matrix, i, kind, 0x1p40 * get(all.matrix, i, kind));
            for (uint64_t q = 0; q < p.k; q++)
                put(one.matrix, one.first + q * one.step, kind, q == step ? 0x1p-131 : 0);
            run(&kernels.gemm, &x.g, 1);
            judge_all(&p, &x);
            for (uint64_t i = 0; i < others; i++) {
                const struct line other = line(&x, !in_b, i);
                const double want =
                    0x1p-131 * get(other.matrix, other.first + step * other.step, kind);
                assert_true(get_c(x.c, in_b ? i + lane * p.m : lane + i * p.m, &p) == want);
            }
            kit_release();
        }
}

/* Large enough that all threads work, in every path; one so large that it may pass the caches. */
static void gemm_gives_the_same_bits_on_one_thread_and_three_and_at_any_address(void **state)
{
    static const uint64_t sizes[][4] = {
        { 1, 3000, 200, 1 },  { 3000, 1, 200, 1 },  { 100, 90, 120, 30 },  { 300, 290, 500, 1 },
        { 40, 2000, 800, 1 }, { 2000, 40, 800, 1 }, { 1024, 1032, 20, 1 }, { 140, 150, 160, 20 },
        { 3000, 5, 300, 1 },  { 7, 3000, 300, 1 },  { 70, 90, 2100, 1 },   { 300, 96, 128, 1 }
    };
    const struct cpu_kernels kernels = kit_kernels(state);
    /* Without threads there is one path, and it is slow. */
    const uint64_t n = kernels.threaded ? sizeof(sizes) / sizeof(sizes[0]) : 3;
    for (uint64_t s = 0; s < n; s++)
        for (uint64_t v = s % KIT_STEP; v < KINDS; v += KIT_STEP) {
            const struct problem p = { &kinds[v],   sizes[s][0],          sizes[s][1],
                                       sizes[s][2], sizes[s][3],          .trans_b = s & 1,
                                       .alpha = 1,  .value = between_ones };
            struct matrices one = make(&p, 0), three = make(&p, 0), shifted = make(&p, 1);
            run(&kernels.gemm, &one.g, 1);
            run(&kernels.gemm, &three.g, 3);
            run(&kernels.gemm, &shifted.g, 2);
            assert_memory_equal(one.c, three.c, one.c_bytes);
            assert_memory_equal(one.c, shifted.c, one.c_bytes);
            kit_release();
        }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(gemm_is_within_the_bound_for_every_shape_type_and_transpose),
        cmocka_unit_test(batched_gemm_is_within_the_bound_and_shares_b_by_stride_zero),
        cmocka_unit_test(batched_gemm_is_within_the_bound_where_c_is_larger_than_the_caches),
        cmocka_unit_test(gemm_with_beta_zero_does_not_read_c),
        cmocka_unit_test(gemm_without_steps_scales_c_and_reads_neither_a_nor_b),
        cmocka_unit_test(gemm_spreads_nan_and_infinity_and_bears_extremes),
        cmocka_unit_test(gemm_keeps_subnormal_operands_and_results),
        cmocka_unit_test(gemm_is_exact_where_sums_cancel_to_the_smallest_numbers),
        cmocka_unit_test(gemm_keeps_a_single_subnormal_operand_among_others),
        cmocka_unit_test(gemm_gives_the_same_bits_on_one_thread_and_three_and_at_any_address),
    };
    return kit_run("gemm kernels", tests, sizeof(tests) / sizeof(tests[0]));
}
