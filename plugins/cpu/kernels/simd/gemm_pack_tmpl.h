/* SPDX-License-Identifier: Apache-2.0 */
/* pack_KIND: from a matrix in memory to panels for gemm_block, widened or rounded on the way;
 * included once per kind, without a guard.
 *
 *   KIND     names the loads of gemm_group.h
 *   IN       type in memory
 *   T, REAL  f64, double or f32, float: what is packed */

/* Lanes lie next to each other: `width` of them, for k steps. */
static inline void PASTE(pack_copy_, KIND)(REAL *dst, unsigned room, unsigned width, uint64_t k,
                                           const IN *src, uint64_t step)
{
    const unsigned whole = width / GROUP * GROUP;
    for (uint64_t p = 0; p < k; p++, src += step, dst += room) {
        for (unsigned i = 0; i < whole; i += GROUP)
            STORE(dst + i, LOAD(src + i));
        if (whole < width)
            STORE(dst + whole, LOAD_PART(src + whole, width - whole));
    }
}

/* Steps lie next to each other: turns GROUP lanes by GROUP steps at a time. */
static inline void PASTE(pack_turn_, KIND)(REAL *dst, unsigned room, unsigned width, uint64_t k,
                                           const IN *src, uint64_t lane)
{
    for (uint64_t p = 0; p < k; p += GROUP) {
        const unsigned steps = k - p < GROUP ? (unsigned)(k - p) : GROUP;
        for (unsigned i = 0; i < width; i += GROUP) {
            GROUP_TYPE x[GROUP];
            const IN *row = src + i * lane + p;
            for (unsigned r = 0; r < GROUP; r++, row += lane)
                x[r] = i + r >= width   ? (GROUP_TYPE){ 0 }
                       : steps == GROUP ? LOAD(row)
                                        : LOAD_PART(row, steps);
            PASTE(turn_, T)(x);
            for (unsigned s = 0; s < steps; s++)
                STORE(dst + (p + s) * room + i, x[s]);
        }
    }
}

void ISA(PASTE(gemm_pack_, KIND))(void *panels, unsigned room, unsigned width, uint64_t n,
                                  uint64_t k, const void *matrix, uint64_t lane, uint64_t step)
{
    const IN *src = matrix;
    REAL *dst = panels;
    for (uint64_t i = 0; i < n; i += width, src += width * lane, dst += room * k) {
        const unsigned used = n - i < width ? (unsigned)(n - i) : width;
        if (lane == 1)
            PASTE(pack_copy_, KIND)(dst, room, used, k, src, step);
        else
            PASTE(pack_turn_, KIND)(dst, room, used, k, src, lane);
    }
}
