/* SPDX-License-Identifier: Apache-2.0 */
/* What a call through the completed table costs over a direct call of the same function: the mock's
 * gemm does nothing, so the difference is the dispatch. */
#include "cb_loader.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CALLS  20000000
#define ROUNDS 9

static double nanoseconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

typedef cb_status (*gemm_fn)(void *self, const cb_gemm_args *args, cb_error *err);

static double direct(gemm_fn gemm, void *self, const cb_gemm_args *args)
{
    const double start = nanoseconds();
    for (int i = 0; i < CALLS; i++) {
        gemm(self, args, NULL);
        __asm__ volatile("" ::: "memory");
    }
    return (nanoseconds() - start) / CALLS;
}

static double through_table(cb_backend be, const cb_gemm_args *args)
{
    const double start = nanoseconds();
    for (int i = 0; i < CALLS; i++) {
        cb_gemm(be, args, NULL);
        __asm__ volatile("" ::: "memory");
    }
    return (nanoseconds() - start) / CALLS;
}

int main(void)
{
    cb_error err;
    cb_loader *loader = NULL;
    cb_backend be;
    const cb_gemm_args args = { CB_ARGS(cb_gemm_args) };
    cb_error_init(&err);
    setenv("CB_PLUGINS", TEST_MOCKS "/libcb_good.so", 1);
    setenv("CB_CONFIG", TEST_DATA "/empty.conf", 1);
    if (cb_loader_open(NULL, &loader, &err) || cb_loader_select(loader, NULL, &be, &err)) {
        fprintf(stderr, "%s\n", err.msg);
        return 1;
    }
    /* The best of some rounds, by turns: what disturbs only ever adds. */
    double plain = 1e9, table = 1e9;
    for (int i = 0; i < ROUNDS; i++) {
        const double p = direct(be.api->gemm, be.self, &args), t = through_table(be, &args);
        plain = p < plain ? p : plain;
        table = t < table ? t : table;
    }
    printf("direct %.3f ns, through the table %.3f ns: %.3f ns over\n", plain, table,
           table - plain);
    cb_loader_release(loader, be, NULL);
    return cb_loader_close(loader, NULL) != CB_OK;
}
