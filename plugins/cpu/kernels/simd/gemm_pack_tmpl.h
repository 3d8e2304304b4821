/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_pack_KIND: from a matrix to packed panels, widened or rounded on the way; included once per
 * kind, without a guard. See gemm_kind_tmpl.h for what it is given. */

/* Lanes lie next to each other: `vectors` of them, the last with so many elements, for k steps.
 * Panels are packed a few steps at a time, and as many are fetched ahead: a column is too short to
 * be a stream that the processor sees. */
static inline __attribute__((always_inline)) void
PASTE(copy_lanes_, KIND)(REAL *dst, unsigned room, const unsigned vectors, const unsigned last,
                         uint64_t k, const IN *src, uint64_t step)
{
    const unsigned end = (vectors - 1) * V(n);
    const V(m) some = V(mask)(last);
    const IN *next = src + PACK_STEPS * step;
    for (; k; k--, src += step, next += step, dst += room) {
#pragma GCC unroll 8
        for (unsigned i = 0; i < vectors * V(n); i += 64 / sizeof(IN))
            vec_prefetch(next + i);
#pragma GCC unroll 8
        for (unsigned i = 0; i < end; i += V(n))
            V(store)(dst + i, LOAD(src + i));
        if (last == V(n))
            V(store)(dst + end, LOAD(src + end));
        else
            V(store_mask)(dst + end, some, LOAD_MASK(src + end, some));
    }
}

static inline void PASTE(pack_copy_, KIND)(REAL *dst, unsigned room, unsigned width, uint64_t k,
                                           const IN *src, uint64_t step)
{
    const unsigned high = GEMM_MV * V(n);
    for (; width > high; width -= high, dst += high, src += high)
        PASTE(copy_lanes_, KIND)(dst, room, GEMM_MV, V(n), k, src, step);
    const unsigned vectors = (width + V(n) - 1) / V(n), last = width - (vectors - 1) * V(n);
    if (vectors == 1 && last == V(n))
        PASTE(copy_lanes_, KIND)(dst, room, 1, V(n), k, src, step);
    else if (vectors == GEMM_MV && last == V(n))
        PASTE(copy_lanes_, KIND)(dst, room, GEMM_MV, V(n), k, src, step);
    else if (vectors == 1)
        PASTE(copy_lanes_, KIND)(dst, room, 1, last, k, src, step);
    else if (vectors == GEMM_MV)
        PASTE(copy_lanes_, KIND)(dst, room, GEMM_MV, last, k, src, step);
    else
        PASTE(copy_lanes_, KIND)(dst, room, 2, last, k, src, step);
}

#ifdef HALVES
/* The same of two panels of GEMM_LANES, from a vector of lanes, and two steps at a time. */
static inline void PASTE(pack_halves_, KIND)(REAL *dst, uint64_t panel, uint64_t k, const IN *src,
                                             uint64_t step)
{
    const IN *next = src + PACK_STEPS * step;
    for (; k > 1; k -= 2, src += 2 * step, next += 2 * step, dst += 2 * GEMM_LANES) {
        vec_prefetch(next);
        vec_prefetch(next + step);
        PASTE(halve_, T)(LOAD(src), LOAD(src + step), dst, dst + panel);
    }
    if (k) {
        const V(m) half = V(mask)(GEMM_LANES);
        V(store_mask)(dst, half, LOAD_MASK(src, half));
        V(store_mask)(dst + panel, half, LOAD_MASK(src + GEMM_LANES, half));
    }
}
#endif

/* Steps lie next to each other: turns a few lanes by a vector of steps. Those of the next panel are
 * fetched on the way. Addresses go from lane to lane: there are not enough registers for all. */
static inline __attribute__((always_inline)) void
PASTE(turn_lanes_, KIND)(REAL *dst, unsigned room, const IN *src, const IN *next, uint64_t lane)
{
    V(t) x[PASTE(TURN_, T)];
#pragma GCC unroll 8
    for (unsigned r = 0; r < PASTE(TURN_, T); r++, src += lane, next += lane) {
        x[r] = LOAD(src);
        vec_prefetch(next);
    }
    PASTE(turn_, T)(x, dst, room);
}

/* Fewer lanes, or fewer steps. What is written beside the lanes does not matter. */
static void PASTE(turn_some_, KIND)(REAL *dst, unsigned room, unsigned lanes, uint64_t steps,
                                    const IN *src, uint64_t lane)
{
    enum {
        LANES = PASTE(TURN_, T)
    };
    const V(m) some = V(mask)(steps);
    REAL turned[V(n) * LANES];
    V(t) x[LANES];
    for (unsigned r = 0; r < LANES; r++)
        x[r] = r < lanes ? LOAD_MASK(src + r * lane, some) : V(zero)();
    PASTE(turn_, T)(x, turned, LANES);
    for (unsigned s = 0; s < steps; s++)
        memcpy(dst + s * room, turned + s * LANES, LANES * sizeof(REAL));
}

#ifdef HALVES
/* The same of eight lanes of a panel that has no more, by whole lines. */
static inline __attribute__((always_inline)) void
PASTE(turn_lines_, KIND)(REAL *dst, const IN *src, const IN *next, uint64_t lane)
{
#pragma GCC unroll 2
    for (unsigned s = 0; s < V(n); s += 8) {
        V(t) x[4];
#pragma GCC unroll 4
        for (unsigned r = 0; r < 4; r++)
            x[r] = LOAD_HALVES(src + r * lane + s, src + (r + 4) * lane + s);
        turn_8_lanes(x, dst + s * GEMM_LANES);
    }
#pragma GCC unroll 8
    for (unsigned r = 0; r < 8; r++, next += lane)
        vec_prefetch(next);
}
#endif

static inline __attribute__((always_inline)) void
PASTE(turn_panel_, KIND)(REAL *dst, const unsigned room, unsigned width, uint64_t k, const IN *src,
                         uint64_t lane)
{
    const unsigned most = PASTE(TURN_, T);
    for (uint64_t p = 0; p < k; p += V(n), dst += V(n) * room, src += V(n)) {
        const uint64_t steps = k - p < V(n) ? k - p : V(n);
        for (unsigned i = 0; i < width; i += most) {
            const IN *from = src + i * lane, *next = from + width * lane;
            const unsigned lanes = width - i < most ? width - i : most;
            if (lanes < most || steps < V(n))
                PASTE(turn_some_, KIND)(dst + i, room, lanes, steps, from, lane);
#ifdef HALVES
            else if (room == GEMM_LANES)
                PASTE(turn_lines_, KIND)(dst, from, next, lane);
#endif
            else
                PASTE(turn_lanes_, KIND)(dst + i, room, from, next, lane);
        }
    }
}

static inline void PASTE(pack_turn_, KIND)(REAL *dst, unsigned room, unsigned width, uint64_t k,
                                           const IN *src, uint64_t lane)
{
    if (room == GEMM_LANES)
        PASTE(turn_panel_, KIND)(dst, GEMM_LANES, width, k, src, lane);
    else
        PASTE(turn_panel_, KIND)(dst, room, width, k, src, lane);
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
#ifdef HALVES
            if (lane == 1 && room == GEMM_LANES && width == GEMM_LANES && n - i >= V(n)) {
                PASTE(pack_halves_, KIND)(dst, k * room, steps, src, step);
                i += width;
                continue;
            }
#endif
            if (lane == 1)
                PASTE(pack_copy_, KIND)(dst, room, lanes, steps, src, step);
            else
                PASTE(pack_turn_, KIND)(dst, room, lanes, steps, src, lane);
        }
    }
}
