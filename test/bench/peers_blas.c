/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries with the C interface of BLAS, found at run time. */
#include "bench.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static blas g_blas[8];
static int g_nblas;
blas *blas_by_name(const char *n)
{
    for (int i = 0; i < g_nblas; i++)
        if (!strcmp(g_blas[i].name, n))
            return &g_blas[i];
    return NULL;
}

/* Function pointers of all types, as POSIX has them. */
#define FIND(pointer, library, name) (*(void **)&(pointer) = dlsym(library, name))

/* BLIS learns the number of threads by a call of its own, and tells which kernels it took. */
static void set_up_blis(const blas *b, int threads)
{
    void (*set)(long), (*init)(void);
    int (*arch)(void);
    char *(*arch_name)(int);
    FIND(set, b->h, "bli_thread_set_num_threads");
    FIND(init, b->h, "bli_init");
    FIND(arch, b->h, "bli_arch_query_id");
    FIND(arch_name, b->h, "bli_arch_string");
    if (!set || !init)
        return;
    init();
    if (arch && arch_name)
        fprintf(stderr, "# %s config %s\n", b->name, arch_name(arch()));
    set(threads);
}

void blas_load(const char *name, const char *path, int threads)
{
    char *(*core)(void);
    void *h = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!h) {
        fprintf(stderr, "# no %s: %s\n", name, dlerror());
        return;
    }
    blas *b = &g_blas[g_nblas++];
    b->name = name;
    b->h = h;
    FIND(b->dgemm, h, "cblas_dgemm");
    FIND(b->sgemm, h, "cblas_sgemm");
    FIND(b->sgemv, h, "cblas_sgemv");
    FIND(b->setth, h, "openblas_set_num_threads");
    FIND(core, h, "openblas_get_corename");
    if (core)
        fprintf(stderr, "# %s core %s\n", name, core());
    if (b->setth)
        b->setth(threads);
    else
        set_up_blis(b, threads);
}

typedef struct {
    const pb_case *c;
    blas *b;
    const double **A, **B;
    double **C;
} bctx;

static void *blas_prep_n(const char *n, const pb_case *c, int th)
{
    blas *b = blas_by_name(n);
    if (!b || (c->op != PB_GEMM && c->op != PB_GEMM_BATCH) || (c->dt != PB_F64 && c->dt != PB_F32))
        return NULL;
    bctx *x = calloc(1, sizeof *x);
    x->c = c;
    x->b = b;
    return x;
}

static int blas_run(void *v)
{
    bctx *x = v;
    const pb_case *c = x->c;
    const long *d = c->d;
    int m = d[0], n = d[1], k = d[2], ta = 0, tb = 0;
    long nb = 1;
    if (c->op == PB_GEMM) {
        ta = d[3];
        tb = d[4];
    } else
        nb = d[3];
    for (long i = 0; i < nb; i++)
        if (c->dt == PB_F64)
            x->b->dgemm(102, ta ? 112 : 111, tb ? 112 : 111, m, n, k, 1.0,
                        (double *)c->in[0] + i * m * k, ta ? k : m, (double *)c->in[1] + i * k * n,
                        tb ? n : k, 0.0, (double *)c->out + i * m * n, m);
        else
            x->b->sgemm(102, ta ? 112 : 111, tb ? 112 : 111, m, n, k, 1.0f,
                        (float *)c->in[0] + i * m * k, ta ? k : m, (float *)c->in[1] + i * k * n,
                        tb ? n : k, 0.0f, (float *)c->out + i * m * n, m);
    return 0;
}

static void *openblas_prep(const pb_case *c, int th)
{
    return blas_prep_n("openblas", c, th);
}

static void *blis_prep(const pb_case *c, int th)
{
    return blas_prep_n("blis", c, th);
}

static void *user_prep(const pb_case *c, int th)
{
    return blas_prep_n("user", c, th);
}

static const pb_peer P_openblas = { "openblas", openblas_prep, blas_run, NULL, free };
static const pb_peer P_blis = { "blis", blis_prep, blas_run, NULL, free };
static const pb_peer P_user = { "user-blas", user_prep, blas_run, NULL, free };
/* batch spread over OpenMP threads, single-threaded OpenBLAS inside: the strongest composed batch
 */
static void *obatch_prep(const pb_case *c, int th)
{
    return c->op == PB_GEMM_BATCH ? blas_prep_n("openblas", c, th) : NULL;
}

static int obatch_run(void *v)
{
    bctx *x = v;
    const pb_case *c = x->c;
    const long *d = c->d;
    int m = d[0], n = d[1], k = d[2];
    x->b->setth(1);
#pragma omp parallel for schedule(static) num_threads(g_threads)
    for (long i = 0; i < d[3]; i++)
        if (c->dt == PB_F64)
            x->b->dgemm(102, 111, 111, m, n, k, 1.0, (double *)c->in[0] + i * m * k, m,
                        (double *)c->in[1] + i * k * n, k, 0.0, (double *)c->out + i * m * n, m);
        else
            x->b->sgemm(102, 111, 111, m, n, k, 1.0f, (float *)c->in[0] + i * m * k, m,
                        (float *)c->in[1] + i * k * n, k, 0.0f, (float *)c->out + i * m * n, m);
    x->b->setth(g_threads);
    return 0;
}

static const pb_peer P_obatch = { "openblas-omp", obatch_prep, obatch_run, NULL, free };

/* reduction as a matrix-vector product with ones */
typedef struct {
    const pb_case *c;
    blas *b;
    float *one;
} rctx;

static void *rgemv_prep(const pb_case *c, int th)
{
    blas *b = blas_by_name("openblas");
    if (c->op != PB_REDUCE || !b || (c->d[2] > 1 && c->d[0] > 1) || c->d[0] * c->d[2] == 1)
        return NULL;
    rctx *x = calloc(1, sizeof *x);
    x->c = c;
    x->b = b;
    x->one = xalloc(c->d[1] * 4);
    for (long i = 0; i < c->d[1]; i++)
        x->one[i] = 1;
    return x;
}

static int rgemv_run(void *v)
{
    rctx *x = v;
    const long *d = x->c->d;
    if (d[2] > 1)
        x->b->sgemv(101, 112, d[1], d[2], 1, x->c->in[0], d[2], x->one, 1, 0, x->c->out, 1);
    else
        x->b->sgemv(101, 111, d[0], d[1], 1, x->c->in[0], d[1], x->one, 1, 0, x->c->out, 1);
    return 0;
}

static void rgemv_done(void *v)
{
    rctx *x = v;
    free(x->one);
    free(x);
}

static const pb_peer P_rgemv = { "openblas-gemv", rgemv_prep, rgemv_run, NULL, rgemv_done };

const pb_peer *const blas_peers[] = { &P_openblas, &P_blis, &P_user, &P_obatch, &P_rgemv, NULL };
