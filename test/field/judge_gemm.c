/* SPDX-License-Identifier: Apache-2.0 */
#include "judge.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(LDBL_MANT_DIG >= 64, "the judge of f64 needs a wider type");

enum {
    CANARIES = 16
};

/* A matrix in memory: what its allocation holds, and where in it the matrix lies. */
struct matrix {
    uint32_t dtype;
    uint64_t rows, cols, ld;
    uint64_t offset, total; /* elements; total with offset and canaries */
    unsigned char *data;
    uint64_t base; /* of the allocation */
};

static uint64_t at(const struct matrix *x, uint64_t row, uint64_t col)
{
    return x->offset + row + col * x->ld;
}

static struct matrix make_matrix(const struct gemm_case *g, uint32_t dtype, uint64_t rows,
                                 uint64_t cols)
{
    struct matrix x = { dtype, rows, cols, rows + g->pad, g->offset, 0, NULL, 0 };
    const uint64_t extent = rows && cols ? x.ld * (cols - 1) + rows : 0;
    x.total = g->offset + extent + CANARIES;
    x.data = malloc(x.total * kit_size(dtype));
    assert_non_null(x.data);
    memset(x.data, FILL_BYTE, x.total * kit_size(dtype));
    return x;
}

static void randomize(struct matrix *x, uint64_t seed)
{
    for (uint64_t j = 0; j < x->cols; j++)
        kit_random(x->dtype, x->data + at(x, 0, j) * kit_size(x->dtype), x->rows, 1,
                   seed + 7919 * j);
}

static uint64_t upload(cb_backend be, struct matrix *x)
{
    x->base = test_upload(be, x->data, x->total * kit_size(x->dtype));
    return x->base + x->offset * kit_size(x->dtype);
}

/* Element (i, j) of op(X). */
static long double element(const struct matrix *x, uint32_t trans, uint64_t i, uint64_t j)
{
    return kit_get(x->dtype, x->data, trans ? at(x, j, i) : at(x, i, j));
}

static void judge(const struct gemm_case *g, const struct matrix *a, const struct matrix *b,
                  const struct matrix *c, const unsigned char *got)
{
    const long double u = c->dtype == CB_F64 ? 0x1p-53L : 0x1p-24L;
    const int reads = g->alpha != 0;
    for (uint64_t j = 0; j < g->n; j++)
        for (uint64_t i = 0; i < g->m; i++) {
            long double sum = 0, size = 0;
            for (uint64_t p = 0; reads && p < g->k; p++) {
                const long double x = element(a, g->trans_a, i, p) * element(b, g->trans_b, p, j);
                sum += x;
                size += fabsl(x);
            }
            const long double old = g->beta != 0 ? g->beta * element(c, 0, i, j) : 0;
            const long double want = g->alpha * sum + old;
            const long double bound =
                (g->k + 4) * (u * (fabsl(g->alpha) * size + fabsl(old)) + kit_ulp(c->dtype, 0));
            const double value = kit_get(c->dtype, got, at(c, i, j));
            if (!(fabsl(value - want) <= bound))
                fail_msg("gemm %s, trans %u %u, m %u n %u k %u, beta %g, offset %u: C(%u,%u) is "
                         "%.17g, not %.17Lg within %Lg",
                         cb_dtype_name(g->dtype), g->trans_a, g->trans_b, (unsigned)g->m,
                         (unsigned)g->n, (unsigned)g->k, g->beta, (unsigned)g->offset, (unsigned)i,
                         (unsigned)j, value, want, bound);
        }
}

/* All bytes of C's allocation that are no element of C are as they were. */
static void judge_rest(const struct matrix *c, unsigned char *got)
{
    const uint64_t size = kit_size(c->dtype);
    for (uint64_t j = 0; j < c->cols; j++)
        memcpy(got + at(c, 0, j) * size, c->data + at(c, 0, j) * size, c->rows * size);
    assert_memory_equal(got, c->data, c->total * size);
}

void check_gemm(cb_backend be, const struct gemm_case *g)
{
    const uint32_t wide = g->dtype == CB_F64 ? CB_F64 : CB_F32;
    struct matrix a = make_matrix(g, g->dtype, g->trans_a ? g->k : g->m, g->trans_a ? g->m : g->k);
    struct matrix b = make_matrix(g, g->dtype, g->trans_b ? g->n : g->k, g->trans_b ? g->k : g->n);
    struct matrix c = make_matrix(g, wide, g->m, g->n);
    if (g->alpha != 0) {
        randomize(&a, 1);
        randomize(&b, 2);
    }
    if (g->beta != 0)
        randomize(&c, 3);

    cb_error err = test_error();
    cb_gemm_args args = { CB_ARGS(cb_gemm_args),
                          .dtype = g->dtype,
                          .trans_a = g->trans_a,
                          .trans_b = g->trans_b,
                          .m = g->m,
                          .n = g->n,
                          .k = g->k,
                          .alpha = g->alpha,
                          .lda = a.ld,
                          .ldb = b.ld,
                          .beta = g->beta,
                          .ldc = c.ld };
    args.a = upload(be, &a);
    args.b = upload(be, &b);
    args.c = upload(be, &c);
    TEST_OK(cb_gemm(be, &args, &err), &err);

    unsigned char *got = malloc(c.total * kit_size(wide));
    assert_non_null(got);
    test_download(be, got, c.base, c.total * kit_size(wide));
    judge(g, &a, &b, &c, got);
    judge_rest(&c, got);

    struct matrix *const all[] = { &a, &b, &c };
    for (int i = 0; i < 3; i++) {
        TEST_OK(cb_free(be, all[i]->base, &err), &err);
        free(all[i]->data);
    }
    free(got);
}
