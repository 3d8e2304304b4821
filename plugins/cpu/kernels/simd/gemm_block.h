/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of gemm, for every kernel that is one at heart: panels into a block of C.
 *
 * A is cut into panels of rows, B into panels of columns. A panel is k steps; a step holds one
 * element for each of its lanes, rows of A or columns of B. Panels may be packed, so that they are
 * read front to back, or lie in place. */
#ifndef CPU_GEMM_BLOCK_H
#define CPU_GEMM_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* A packed step of B has room for so many columns, whatever a tile uses of them. */
#define GEMM_LANES 8

#define GEMM_LINE 64 /* bytes that are fetched at once */

/* Memory that will be wanted after a block, and the pace of fetching it: columns of bytes, `step`
 * bytes apart; so many lines of it before each tile, after a wait of so many tiles. */
struct gemm_region {
    const char *p;
    uint64_t columns, step, bytes;
};
struct gemm_fetch {
    struct gemm_region region[2];
    uint64_t lines[2], wait;
    uint64_t done[2]; /* 0 at first: bytes of the first column */
};

/* The lanes of a step lie next to each other. Packed: step is room for the highest tile, and what
 * lies beyond the used lanes may be read but does not matter. Lengths are in elements. */
struct gemm_a {
    const void *p;
    uint64_t step, panel; /* from one step, one panel, to the next */
    uint64_t width;       /* rows of a panel, whole vectors, at most a tile's; the last: the rest */
    bool packed;
    bool far;                 /* in place, but not in L1: each step is asked for ahead */
    struct gemm_fetch *fetch; /* NULL: nothing */
};

/* lane 1 and step GEMM_LANES is packed, and fastest. */
struct gemm_b {
    const void *p;
    uint64_t step, lane, panel; /* from one step, column, panel, to the next */
    uint64_t width;             /* columns of a panel, at most a tile's; the last: the rest */
};

/* C := alpha * A * B + beta * C; beta 0: C is not read. */
struct gemm_c {
    void *p;
    uint64_t ld;
    double alpha, beta; /* exact in the type */
    bool stream;        /* stores pass the caches; beta is 0, p and ld are whole vectors */
};

/* m x n of C from k steps, k at least 1. The sum of each element is one chain of fused
 * multiply-adds over ascending steps, wherever the element lies. */
typedef void gemm_block_fn(uint64_t m, uint64_t n, uint64_t k, const struct gemm_a *a,
                           const struct gemm_b *b, const struct gemm_c *c);

/* From a matrix to packed panels of `width` lanes with room for `room`, a multiple of 8: n lanes,
 * `lane` elements apart, of k steps, `step` apart. One of lane and step is 1. */
typedef void gemm_pack_fn(void *panels, unsigned room, unsigned width, uint64_t n, uint64_t k,
                          const void *matrix, uint64_t lane, uint64_t step);

extern gemm_block_fn gemm_block_f64_avx512, gemm_block_f32_avx512;
extern gemm_block_fn gemm_block_f64_avx2, gemm_block_f32_avx2;

#define GEMM_PACKS(isa)                                                                            \
    extern gemm_pack_fn gemm_pack_f64_##isa, gemm_pack_f32_##isa, gemm_pack_bf16_##isa,            \
        gemm_pack_f16_##isa, gemm_pack_f32_as_bf16_##isa, gemm_pack_f32_as_f16_##isa;
GEMM_PACKS(avx512)
GEMM_PACKS(avx2)
#undef GEMM_PACKS

#endif
