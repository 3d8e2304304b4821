/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_pack_KIND: from a matrix to packed panels, widened or rounded on the way; included once per
 * kind, without a guard. See gemm_kind_tmpl.h for what it is given. */

/* Lanes lie next to each other: `width` of them, for k steps. Panels are packed a few steps at a
 * time, and as many are fetched ahead: a column is too short to be a stream that the processor
 * sees. */
static inline void PASTE(pack_copy_, KIND)(REAL *dst, unsigned room, unsigned width, uint64_t k,
                                           const IN *src, uint64_t step)
{
    const unsigned whole = width / V(n) * V(n);
    const V(m) rest = V(mask)(width - whole);
    for (uint64_t p = 0; p < k; p++, src += step, dst += room) {
        for (unsigned i = 0; i < width; i += 64 / sizeof(IN))
            vec_prefetch(src + PACK_STEPS * step + i);
        for (unsigned i = 0; i < whole; i += V(n))
            V(store)(dst + i, LOAD(src + i));
        if (whole < width)
            V(store_mask)(dst + whole, rest, LOAD_MASK(src + whole, rest));
    }
}

/* Steps lie next to each other: turns a few lanes by a vector of steps at a time. The lanes of the
 * next panel are fetched on the way. */
static inline void PASTE(pack_turn_, KIND)(REAL *dst, unsigned room, unsigned width, uint64_t k,
                                           const IN *src, uint64_t lane)
{
    enum {
        LANES = PASTE(TURN_, T)
    };
    for (uint64_t p = 0; p < k; p += V(n), dst += V(n) * room) {
        const uint64_t steps = k - p < V(n) ? k - p : V(n);
        for (unsigned i = 0; i < width; i += LANES) {
            const unsigned lanes = width - i < LANES ? width - i : LANES;
            const IN *row = src + i * lane + p;
            V(t) x[LANES];
            if (lanes == LANES && steps == V(n)) {
#pragma GCC unroll 8
                for (unsigned r = 0; r < LANES; r++) {
                    x[r] = LOAD(row + r * lane);
                    vec_prefetch(row + (width + r) * lane);
                }
                PASTE(turn_, T)(x, dst + i, room);
                continue;
            }
            REAL turned[V(n) * LANES];
            for (unsigned r = 0; r < LANES; r++)
                x[r] = r < lanes ? LOAD_MASK(row + r * lane, V(mask)(steps)) : V(zero)();
            PASTE(turn_, T)(x, turned, LANES);
            for (unsigned s = 0; s < steps; s++)
                memcpy(dst + s * room + i, turned + s * LANES, LANES * sizeof(REAL));
        }
    }
}

void ISA(PASTE(gemm_pack_, KIND))(void *panels, unsigned room, unsigned width, uint64_t n,
                                  uint64_t k, const void *matrix, uint64_t lane, uint64_t step)
{
    const uint64_t some = lane == 1 ? PACK_STEPS : k;
    for (uint64_t p = 0; p < k; p += some) {
        const uint64_t steps = k - p < some ? k - p : some;
        for (uint64_t i = 0; i < n; i += width) {
            const unsigned lanes = n - i < width ? (unsigned)(n - i) : width;
            const IN *src = (const IN *)matrix + i * lane + p * step;
            REAL *dst = (REAL *)panels + (i / width * k + p) * room;
            if (lane == 1)
                PASTE(pack_copy_, KIND)(dst, room, lanes, steps, src, step);
            else
                PASTE(pack_turn_, KIND)(dst, room, lanes, steps, src, lane);
        }
    }
}
