/* SPDX-License-Identifier: Apache-2.0 */
/* Fetches what comes after a block, a few lines before each of its last tiles: early enough to be
 * there in time, late enough not to be gone again, and few enough at a time that the processor has
 * room for them. */
#ifndef CPU_GEMM_FETCH_H
#define CPU_GEMM_FETCH_H

#include "gemm_block.h"

/* Before one tile. */
static inline void gemm_fetch_some(struct gemm_fetch *f)
{
    if (f->wait) {
        f->wait--;
        return;
    }
    for (int r = 0; r < 2; r++) {
        struct gemm_region *region = &f->region[r];
        for (uint64_t left = f->lines[r]; left && region->columns;) {
            const char *p = region->p + f->done[r], *end = region->p + region->bytes;
            for (; left && p < end; p += GEMM_LINE, left--)
                __builtin_prefetch(p);
            f->done[r] = (uint64_t)(p - region->p);
            if (p >= end) {
                f->done[r] = 0;
                region->p += region->step;
                region->columns--;
            }
        }
    }
}

#endif
