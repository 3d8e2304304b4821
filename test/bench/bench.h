/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of peerbench share. main.c leads, measure.c times, cases.c says what is measured,
 * reference.c what is right; machine.c and peers_*.c are who is measured. */
#ifndef BENCH_H
#define BENCH_H

#include "peerbench.h"

#include <stdbool.h>
#include <stdint.h>

/* Of every peer; from the command line. */
extern int g_threads;

/* ---- values.c ---- */

/* Zeroed, 64-byte aligned; ends the program when there is none. */
void *xalloc(size_t n);

extern uint64_t rng;
uint64_t xr(void);
double frand(void); /* in [-0.5, 0.5) */

uint16_t f2bf(float f);
float bf2f(uint16_t h);
uint16_t f2h(float f);
float h2f(uint16_t u);

size_t dt_size(enum pb_dt d);
const char *dt_name(enum pb_dt d);
size_t out_size(enum pb_dt d);

/* ---- cases.c ---- */

extern pb_case g_cases[];
extern const char *g_sec[]; /* the section of each */
extern int g_ncases;
void make_cases(void);
void fill(pb_case *c);
void drop(pb_case *c);

/* ---- reference.c ---- */

/* The largest error of a sample, relative to the sum of the magnitudes of an element's terms. */
double check(const pb_case *c);
double tolerance(const pb_case *c);

/* ---- peers; each list ends with NULL ---- */

extern const pb_peer *const machine_peers[],
    *const blas_peers[], *const dnnl_peers[], *const vector_peers[], *const attention_peers[];

bool dnnl_open(void);

#define AVX512 __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,fma")))

/* A context that is the case alone. */
void *self_ctx(const pb_case *c, int th);
#define CASE(v) (*(const pb_case *const *)(v))

typedef void (*dgemm_fn)(int, int, int, int, int, int, double, const double *, int, const double *,
                         int, double, double *, int);
typedef void (*sgemm_fn)(int, int, int, int, int, int, float, const float *, int, const float *,
                         int, float, float *, int);
typedef void (*sgemv_fn)(int, int, int, int, float, const float *, int, const float *, int, float,
                         float *, int);
typedef struct {
    const char *name;
    void *h;
    dgemm_fn dgemm;
    sgemm_fn sgemm;
    sgemv_fn sgemv;
    void (*setth)(int);
} blas;

blas *blas_by_name(const char *n);
void blas_load(const char *name, const char *path, int threads);

/* ---- measure.c ---- */

#define PEERS_MAX 64
#define REPS_MAX  99

struct plan {
    const pb_peer *peers[PEERS_MAX];
    int n_peers;
    const char *only; /* peers whose name contains one of these, separated by commas; NULL: all */
    const char *tag;  /* follows each name */
    int reps;
    double min_ms; /* of a repetition */
};

struct figures {
    double median, quartile, best; /* ms of a call */
    double error;
    bool measured;
};

/* Times all peers on the case, whose buffers are filled. out: one for each peer. */
void measure(const struct plan *plan, pb_case *c, struct figures *out);

#endif
