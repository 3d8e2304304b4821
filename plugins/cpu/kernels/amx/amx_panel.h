/* SPDX-License-Identifier: Apache-2.0 */
/* The operands of a tile product, packed, and a square of C from two of them.
 *
 * A panel has AMX_LANES lanes, rows of A or columns of B, and is a sequence of steps of AMX_STEP
 * elements of bf16 each. A step is two tiles, of 16 lanes each, of 16 rows of 64 bytes:
 *
 * - of B, one row for each lane: its elements in order;
 * - of A, one row for each pair of elements: the pair of each lane.
 *
 * Lanes and elements that a matrix does not have are zero. */
#ifndef CPU_AMX_PANEL_H
#define CPU_AMX_PANEL_H

#include <stdbool.h>
#include <stdint.h>

#include "../simd/gemm_block.h"

#define AMX_LANES      32u
#define AMX_STEP       32u
#define AMX_TILE       512u /* elements of a tile */
#define AMX_STAY_STEPS 16u  /* of a panel of B, 32 KB, that stays in L1 while those of A pass */
#define AMX_STEP_BYTES (4 * AMX_TILE) /* of two tiles of two-byte elements */

struct amx_panel {
    union {
        uint32_t exponent; /* biased, of the smallest number but zero; 256: there is none */
        _Alignas(64) uint16_t least[32]; /* what packing knows of it so far */
    };
    uint16_t steps[];
};

/* Where a panel comes from: element p of lane l is matrix[l*lane + p*step], and one of lane and
 * step is 1. f32 elements are rounded to bf16. */
struct amx_source {
    const void *matrix;
    uint64_t lane, step; /* elements */
    bool f32;
};

/* The lanes of a panel of B, each with its elements in order: packed, or where they lie in their
 * matrix. */
struct amx_lanes {
    const uint16_t *p;
    uint64_t lane, tile, step; /* elements, from one to the next */
    uint32_t exponent;         /* of the panel */
};

/* Packs k elements of so many lanes as panels of A or of B, `slot` bytes apart. */
void amx_pack_a(struct amx_panel *panels, uint64_t slot, const struct amx_source *from,
                uint64_t lanes, uint64_t k);
void amx_pack_b(struct amx_panel *panels, uint64_t slot, const struct amx_source *from,
                uint64_t lanes, uint64_t k);

/* Of panels of B that stay in their matrix, lane behind lane: finds their exponents. Lanes and k
 * are whole panels and steps. */
void amx_look_at_b(struct amx_panel *panels, uint64_t slot, const uint16_t *matrix, uint64_t lanes,
                   uint64_t k);

static inline struct amx_panel *amx_panel(const void *panels, uint64_t slot, uint64_t i)
{
    return (struct amx_panel *)((uintptr_t)panels + i * slot);
}

/* Squares of C, one after the other, on the tiles of this thread; each is written to C while the
 * next is computed, and the last by amx_end. */
struct amx_squares {
    _Alignas(64) float sums[2][AMX_LANES * AMX_LANES]; /* by columns */
    unsigned now;                                      /* which of them is computed next */
    const float *from;                                 /* columns of the other that are left */
    float *to;                                         /* where they belong */
    unsigned columns, rows;
    struct gemm_c c;
};

/* Gives the tiles their shape. */
void amx_begin(struct amx_squares *squares);

/* C := alpha * A * B + beta * C for the rows and columns, at most AMX_LANES each, of two panels of
 * k elements. */
void amx_square(struct amx_squares *squares, const struct amx_panel *a, const struct amx_lanes *b,
                uint64_t k, unsigned rows, unsigned columns, const struct gemm_c *c);

/* Leaves the tiles as they were found: without shape and content. */
void amx_end(struct amx_squares *squares);

#endif
