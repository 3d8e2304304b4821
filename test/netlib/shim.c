/* SPDX-License-Identifier: Apache-2.0 */
/* dgemm_ and sgemm_ in Fortran's ABI over the gemm of a backend, to be preloaded into a program
 * that calls them: netlib's own test drivers. The backend is CB_TEST_PLUGIN, else NETLIB_PLUGIN.
 *
 * BLAS has no status, so a call that fails leaves C as it was, which a driver notices. How many
 * calls the backend did is written to the file that NETLIB_COUNT names, when the program ends. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compute_backend.h"

#define EXPORT __attribute__((visibility("default")))

/* The driver's own: it records the routine and the number of the bad argument. */
void xerbla_(const char *routine, const int32_t *info, size_t routine_length);

EXPORT void dgemm_(const char *ta, const char *tb, const int32_t *m, const int32_t *n,
                   const int32_t *k, const double *alpha, const double *a, const int32_t *lda,
                   const double *b, const int32_t *ldb, const double *beta, double *c,
                   const int32_t *ldc);
EXPORT void sgemm_(const char *ta, const char *tb, const int32_t *m, const int32_t *n,
                   const int32_t *k, const float *alpha, const float *a, const int32_t *lda,
                   const float *b, const int32_t *ldb, const float *beta, float *c,
                   const int32_t *ldc);

static cb_backend backend;
static uint64_t calls;

static void open_backend(void)
{
    const char *path = getenv("CB_TEST_PLUGIN");
    cb_plugin_entry_fn entry = NULL;
    cb_negotiation n;
    cb_create_args args;
    cb_error err;
    cb_negotiation_init(&n);
    cb_create_args_init(&args);
    cb_error_init(&err);

    void *dl = dlopen(path ? path : NETLIB_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    if (dl)
        *(void **)&entry = dlsym(dl, CB_PLUGIN_SYMBOL);
    if (!entry || entry(&n) != CB_OK) {
        fprintf(stderr, "netlib shim: %s\n", entry ? n.reason : dlerror());
        return;
    }
    const compute_backend_v1 *api = n.table;
    void *self = NULL;
    if (api->create(&args, &self, &err) != CB_OK ||
        api->init(self, CB_DEVICE_AUTO, &err) != CB_OK) {
        fprintf(stderr, "netlib shim: %s: %s\n", err.where, err.msg);
        api->destroy(self);
        return;
    }
    backend.api = api;
    backend.self = self;
}

static const cb_backend *get_backend(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_backend);
    return backend.api ? &backend : NULL;
}

__attribute__((destructor)) static void report_count(void)
{
    const char *path = getenv("NETLIB_COUNT");
    FILE *f = path ? fopen(path, "w") : NULL;
    if (f) {
        fprintf(f, "%llu\n", (unsigned long long)calls);
        fclose(f);
    }
    if (backend.api)
        backend.api->destroy(backend.self);
}

/* A matrix in host memory: `rows` by `cols`, column-major. */
struct matrix {
    char *host;
    uint64_t rows, cols, ld, width;
    uint64_t ptr; /* its copy on the device; 0 when it has no elements */
};

static uint64_t bytes_of(const struct matrix *x)
{
    return x->rows && x->cols ? (x->ld * (x->cols - 1) + x->rows) * x->width : 0;
}

static cb_status upload(const cb_backend *be, struct matrix *x)
{
    if (!bytes_of(x))
        return CB_OK;
    const cb_status status = cb_alloc(*be, bytes_of(x), &x->ptr, NULL);
    return status == CB_OK ? cb_upload(*be, x->ptr, x->host, bytes_of(x), NULL) : status;
}

/* Brings the elements back and leaves the rows up to ld as the host has them. */
static cb_status download(const cb_backend *be, const struct matrix *x)
{
    const uint64_t bytes = bytes_of(x);
    if (!bytes)
        return CB_OK;
    char *copy = malloc(bytes);
    if (!copy)
        return CB_OUT_OF_MEMORY;
    const cb_status status = cb_download(*be, copy, x->ptr, bytes, NULL);
    for (uint64_t j = 0; status == CB_OK && j < x->cols; j++)
        memcpy(x->host + j * x->ld * x->width, copy + j * x->ld * x->width, x->rows * x->width);
    free(copy);
    return status;
}

/* args has all but the pointers. */
static void multiply(cb_gemm_args *args, uint64_t width, const void *a, const void *b, void *c)
{
    const cb_backend *be = get_backend();
    if (!be)
        return;
    const int ta = args->trans_a != CB_NO_TRANS, tb = args->trans_b != CB_NO_TRANS;
    const uint64_t m = args->m, n = args->n, k = args->k;
    struct matrix x[3] = {
        { (char *)(uintptr_t)a, ta ? k : m, ta ? m : k, args->lda, width, 0 },
        { (char *)(uintptr_t)b, tb ? n : k, tb ? k : n, args->ldb, width, 0 },
        { c, m, n, args->ldc, width, 0 },
    };
    cb_error err;
    cb_error_init(&err);
    for (int i = 0; i < 3; i++)
        if (upload(be, &x[i]) != CB_OK)
            goto out;
    args->a = x[0].ptr;
    args->b = x[1].ptr;
    args->c = x[2].ptr;
    if (cb_gemm(*be, args, &err) != CB_OK) {
        fprintf(stderr, "netlib shim: %s\n", err.msg);
        goto out;
    }
    if (download(be, &x[2]) == CB_OK)
        calls++;

out:
    for (int i = 0; i < 3; i++)
        if (x[i].ptr)
            cb_free(*be, x[i].ptr, NULL);
}

/* The ABI's code, or one that is no code. */
static uint32_t transpose_of(char letter)
{
    switch (letter) {
    case 'N':
    case 'n': return CB_NO_TRANS;
    case 'T':
    case 't': return CB_TRANS;
    case 'C':
    case 'c': return CB_CONJ_TRANS;
    default: return UINT32_MAX;
    }
}

/* The number of the first argument that BLAS refuses, 0 when all are right. The backend's rules
 * for leading dimensions are others: BLAS wants at least 1. */
static int32_t bad_argument(uint32_t ta, uint32_t tb, int32_t m, int32_t n, int32_t k, int32_t lda,
                            int32_t ldb, int32_t ldc)
{
    const int32_t rows_a = ta == CB_NO_TRANS ? m : k, rows_b = tb == CB_NO_TRANS ? k : n;
    const struct {
        int wrong;
        int32_t number;
    } rules[] = {
        { ta == UINT32_MAX, 1 },
        { tb == UINT32_MAX, 2 },
        { m < 0, 3 },
        { n < 0, 4 },
        { k < 0, 5 },
        { lda < (rows_a > 1 ? rows_a : 1), 8 },
        { ldb < (rows_b > 1 ? rows_b : 1), 10 },
        { ldc < (m > 1 ? m : 1), 13 },
    };
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
        if (rules[i].wrong)
            return rules[i].number;
    return 0;
}

/* dgemm_ and sgemm_ differ in a type and a name. */
#define DEFINE_GEMM(routine, text, type, code)                                                     \
    void routine(const char *ta, const char *tb, const int32_t *m, const int32_t *n,               \
                 const int32_t *k, const type *alpha, const type *a, const int32_t *lda,           \
                 const type *b, const int32_t *ldb, const type *beta, type *c, const int32_t *ldc) \
    {                                                                                              \
        cb_gemm_args args;                                                                         \
        cb_gemm_args_init(&args);                                                                  \
        args.dtype = code;                                                                         \
        args.trans_a = transpose_of(*ta);                                                          \
        args.trans_b = transpose_of(*tb);                                                          \
        const int32_t info =                                                                       \
            bad_argument(args.trans_a, args.trans_b, *m, *n, *k, *lda, *ldb, *ldc);                \
        if (info) {                                                                                \
            xerbla_(text, &info, sizeof(text) - 1);                                                \
            return;                                                                                \
        }                                                                                          \
        args.m = (uint64_t)*m;                                                                     \
        args.n = (uint64_t)*n;                                                                     \
        args.k = (uint64_t)*k;                                                                     \
        args.alpha = *alpha;                                                                       \
        args.beta = *beta;                                                                         \
        args.lda = (uint64_t)*lda;                                                                 \
        args.ldb = (uint64_t)*ldb;                                                                 \
        args.ldc = (uint64_t)*ldc;                                                                 \
        multiply(&args, sizeof(type), a, b, c);                                                    \
    }
DEFINE_GEMM(dgemm_, "DGEMM ", double, CB_F64)
DEFINE_GEMM(sgemm_, "SGEMM ", float, CB_F32)
