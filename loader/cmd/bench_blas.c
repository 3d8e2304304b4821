/* SPDX-License-Identifier: Apache-2.0 */
/* A column that is a BLAS: any library with dgemm_ and sgemm_ of the Fortran interface, whose
 * integers have 32 bits. It computes on the case's own arrays. */
#include "bench.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* For float and double alike. The last two are the lengths of the first two, which Fortran passes
 * unseen. */
typedef void (*gemm_fn)(const char *trans_a, const char *trans_b, const int *m, const int *n,
                        const int *k, const void *alpha, const void *a, const int *lda,
                        const void *b, const int *ldb, const void *beta, void *c, const int *ldc,
                        size_t, size_t);

static gemm_fn gemm_of(const struct column *col, const struct bench_case *c)
{
    gemm_fn gemm;
    *(void **)&gemm = c->dtype == CB_F64 ? col->gemm[0] : c->dtype == CB_F32 ? col->gemm[1] : NULL;
    return c->op->code == CB_OP_GEMM || c->op->code == CB_OP_BATCHED_GEMM ? gemm : NULL;
}

static void ask(struct column *col, struct bench_case *c)
{
    const cb_gemm_args *g = &c->call.args.gemm;
    col->state = BENCH_MEASURED;
    if (!gemm_of(col, c))
        column_stop(col, BENCH_UNSUPPORTED, "no function for this op and type");
    else if (g->m > INT_MAX || g->n > INT_MAX || g->k > INT_MAX)
        column_stop(col, BENCH_UNSUPPORTED, "a size needs more than 32 bits");
}

static void run(struct column *col, struct bench_case *c, uint64_t calls)
{
    const gemm_fn gemm = gemm_of(col, c);
    const cb_batched_gemm_args *g = &c->call.args.batched;
    const bool batched = c->op->code == CB_OP_BATCHED_GEMM;
    const int m = (int)g->m, n = (int)g->n, k = (int)g->k;
    const int lda = (int)g->lda, ldb = (int)g->ldb, ldc = (int)g->ldc;
    const uint64_t size = st_type_size(c->dtype), batch = batched ? g->batch : 1;
    const double one = 1.0, zero = 0.0;
    const float one_f = 1.0f, zero_f = 0.0f;
    const void *alpha = c->dtype == CB_F64 ? (const void *)&one : &one_f;
    const void *beta = c->dtype == CB_F64 ? (const void *)&zero : &zero_f;
    for (uint64_t i = 0; i < calls * batch; i++) {
        const uint64_t at = batched ? i % batch * size : 0;
        gemm(g->trans_a ? "T" : "N", g->trans_b ? "T" : "N", &m, &n, &k, alpha,
             (const char *)c->operands[0].memory + at * g->m * g->k, &lda,
             (const char *)c->operands[1].memory + at * g->k * g->n, &ldb, beta,
             (char *)c->operands[2].memory + at * g->m * g->n, &ldc, 1, 1);
    }
}

static void nothing(struct column *col, struct bench_case *c)
{
    (void)col, (void)c;
}

/* Its threads may still run code of the library, which is why that stays. */
static void close_peer(struct column *col)
{
    (void)col;
}

static const struct column_kind blas = { ask, nothing, run, nothing, nothing, close_peer };

bool column_open_peer(struct column *col, const char *spec, const char *threads)
{
    /* Each library asks for its own when it is loaded. */
    static const char *const variables[] = { "OPENBLAS_NUM_THREADS", "BLIS_NUM_THREADS",
                                             "MKL_NUM_THREADS", "OMP_NUM_THREADS" };
    const char *path = strchr(spec, ':');
    if (strncmp(spec, "blas:", 5) != 0) {
        complain("'%s' is not of the form blas:PATH", spec);
        return false;
    }
    for (uint64_t i = 0; threads && i < sizeof(variables) / sizeof(variables[0]); i++)
        setenv(variables[i], threads, 1);
    /* A power of two of clock ticks, some milliseconds: by itself OpenBLAS lets its workers spin
     * for 100 ms and more, through the turns of the columns that follow. In its own turn they are
     * never idle for so long. */
    setenv("OPENBLAS_THREAD_TIMEOUT", "24", 0);
    *col = (struct column){ .kind = &blas, .name = spec };
    col->library = dlopen(++path, RTLD_NOW | RTLD_LOCAL);
    if (!col->library) {
        complain("%s", dlerror());
        return false;
    }
    col->gemm[0] = dlsym(col->library, "dgemm_");
    col->gemm[1] = dlsym(col->library, "sgemm_");
    if (!col->gemm[0] && !col->gemm[1]) {
        complain("%s has neither dgemm_ nor sgemm_", path);
        dlclose(col->library);
        return false;
    }
    snprintf(col->facts, sizeof(col->facts), "a BLAS with %s%s%s", col->gemm[0] ? "dgemm_" : "",
             col->gemm[0] && col->gemm[1] ? " and " : "", col->gemm[1] ? "sgemm_" : "");
    return true;
}
