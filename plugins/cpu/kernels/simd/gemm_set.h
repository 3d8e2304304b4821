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

/* Y := alpha * M * X + beta * Y; M is rows x k, X k x n, rows at most GEMV_ROWS(n), n at most
 * GEMV_COLUMNS. One of row and step is 1. Sums and a block of X have GEMV_ROOM elements each. */
#define GEMV_COLUMNS 8
#define GEMV_ROOM    4096u
#define GEMV_ROWS(n) (GEMV_ROOM / ((n) == 1 ? 2 : GEMV_COLUMNS))

struct gemv {
    uint64_t rows, k, n;
    const void *m, *x;
    void *y;
    uint64_t row, step, inc_x, inc_y; /* elements */
    uint64_t next_x, next_y;          /* from one column to the next */
    double alpha, beta;
};

/* The part of it that stays in L1: columns of X and of sums are `room` elements apart. */
struct gemv_block {
    uint64_t rows, steps, n, room;
    const void *x;
    void *sums;
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
