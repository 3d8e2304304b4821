/* SPDX-License-Identifier: Apache-2.0 */
/* What an instruction set brings to attention, and the part that all of them share: which queries
 * meet which keys, in what order, on which thread. */
#ifndef CPU_ATTENTION_SET_H
#define CPU_ATTENTION_SET_H

#include "../../dispatch/kernels.h"
#include "gemm_block.h"

#define ATTENTION_PANEL 16 /* rows of queries whose scores are in L1 together; whole vectors */

/* The softmax of some rows so far: the largest score, or -FLT_MAX where that is less, and the sum
 * of exp(score - max). */
struct attention_state {
    float *max, *sum;
};

/* Lengths are in floats. */
struct attention_set {
    unsigned mv, nr; /* a tile of block: vectors of rows, columns */
    unsigned vector; /* floats */
    gemm_block_fn *block;
    gemm_pack_fn *pack;

    /* s[r*ld + j] := scale * (row r of q) * (row j of k), of so many rows of d and n keys */
    void (*dots)(float *s, uint64_t ld, const float *q, uint64_t rows, const float *k, uint64_t n,
                 uint64_t d, float scale);

    /* Up to ATTENTION_PANEL rows of scores, ld apart: turns the first n[r] of each into weights
     * exp(score - max), and those from there to room into 0. Counts them in; factors are what
     * earlier weights, and sums of them, are to be multiplied by. */
    void (*weigh)(float *s, uint64_t ld, uint64_t rows, const uint64_t *n, uint64_t room,
                  const struct attention_state *state, float *factors);

    /* row r of o += sum over j of p[r*ld + j] * v[j*step..], each d long; ascending j, each product
     * added with one rounding */
    void (*add)(float *o, const float *p, uint64_t ld, uint64_t rows, const float *v, uint64_t step,
                uint64_t n, uint64_t d);

    /* x *= factor; whether all of the n products are finite. */
    bool (*scale)(float *x, uint64_t n, float factor);
};

void attention_run(const struct attention_set *set, const struct cpu_attention *t,
                   const struct cpu_work *work);
uint64_t attention_workspace(const struct attention_set *set, const struct cpu_attention *t,
                             unsigned threads);

#endif
