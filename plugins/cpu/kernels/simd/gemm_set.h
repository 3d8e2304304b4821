/* SPDX-License-Identifier: Apache-2.0 */
/* What an instruction set brings to gemm, and the part that all of them share: paths, blocks,
 * threads and memory. */
#ifndef CPU_GEMM_SET_H
#define CPU_GEMM_SET_H

#include "../../dispatch/kernels.h"
#include "gemm_block.h"

/* A type to compute in. */
struct gemm_type {
    gemm_block_fn *block;
    unsigned size;   /* bytes of an element */
    unsigned vector; /* elements of a vector */
};

/* y := alpha * M * x + beta * y; M is rows x k, and has at most GEMV_ROWS. One of row and step
 * is 1. Both constants are whole vectors. */
#define GEMV_ROWS  2048
#define GEMV_STEPS 2048

struct gemv {
    uint64_t rows, k;
    const void *m, *x;
    void *y;
    uint64_t row, step, inc_x, inc_y; /* elements */
    double alpha, beta;
};

/* A type in memory, and what becomes of it. */
struct gemm_kind {
    const struct gemm_type *type;
    gemm_pack_fn *pack;
    void (*gemv)(const struct gemv *);
    unsigned size; /* bytes of an element in memory */
    bool plain;    /* it is computed with as it is */
};

enum {
    GEMM_F64,
    GEMM_F32,
    GEMM_BF16,
    GEMM_F16,
    GEMM_F32_AS_BF16,
    GEMM_F32_AS_F16,
    GEMM_KINDS,
};

struct gemm_set {
    unsigned mv, nr; /* a tile: vectors of rows, columns */
    struct gemm_kind kinds[GEMM_KINDS];
};

void gemm_run(const struct gemm_set *set, const struct cpu_gemm *g, const struct cpu_work *work);
uint64_t gemm_workspace(const struct gemm_set *set, const struct cpu_gemm *g, unsigned threads);

#endif
