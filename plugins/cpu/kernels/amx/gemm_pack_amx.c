/* SPDX-License-Identifier: Apache-2.0 */
/* Packing for tiles. Elements are moved by vectors of 32, or as pairs of them by vectors of 16. */
#include "amx_panel.h"

#include "../simd/vec.h"

#define ROW_AHEAD 256 /* elements that are fetched before they are read */

/* The lines of 32 elements, wherever they are. */
VEC_INLINE void fetch(const void *matrix, uint64_t at, const bool f32)
{
    const uintptr_t p = (uintptr_t)matrix + at * (f32 ? 4 : 2);
    vec_prefetch((const void *)p);
    if (f32)
        vec_prefetch((const void *)(p + 64));
}

/* Elements 16h to 16h + 15 of n, rounded to bf16, as the upper halves; those from n on are zero. */
VEC_INLINE __m512i read_upper(const float *p, unsigned h, unsigned n)
{
    const unsigned some = n < 16 * h ? 0 : n - 16 * h;
    return bf16_upper(some >= 16 ? f32_load(p + 16 * h)
                      : some     ? f32_load_mask(p + 16 * h, f32_mask(some))
                                 : f32_zero());
}

/* n bf16 elements, rounded where they are f32; the rest zero. */
VEC_INLINE __m512i read(const void *matrix, uint64_t at, unsigned n, const bool f32)
{
    static const _Alignas(64) uint16_t upper[32] = {
        1,  3,  5,  7,  9,  11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31,
        33, 35, 37, 39, 41, 43, 45, 47, 49, 51, 53, 55, 57, 59, 61, 63,
    };
    if (f32) {
        const float *p = (const float *)matrix + at;
        return _mm512_permutex2var_epi16(read_upper(p, 0, n), _mm512_load_si512(upper),
                                         read_upper(p, 1, n));
    }
    const uint16_t *p = (const uint16_t *)matrix + at;
    return n == 32 ? _mm512_loadu_si512(p)
                   : _mm512_maskz_loadu_epi16((__mmask32)((1u << n) - 1), p);
}

/* The smallest of numbers without their sign, doubled, less one: so zero is the largest. */
VEC_INLINE __m512i note(__m512i least, __m512i x)
{
    return _mm512_min_epu16(least, _mm512_sub_epi16(_mm512_slli_epi16(x, 1), _mm512_set1_epi16(1)));
}

static uint32_t exponent(const uint16_t least[32])
{
    uint16_t x = UINT16_MAX;
    for (unsigned i = 0; i < 32; i++)
        x = least[i] < x ? least[i] : x;
    return (x + 1u) >> 8;
}

/* From 32 lanes of two elements to the pairs of lanes 0..15 and 16..31. */
VEC_INLINE void pair(__m512i x, __m512i y, __m512i to[2])
{
    const __m512i order = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
    x = _mm512_permutexvar_epi64(order, x);
    y = _mm512_permutexvar_epi64(order, y);
    to[0] = _mm512_unpacklo_epi16(x, y);
    to[1] = _mm512_unpackhi_epi16(x, y);
}

/* The same from memory: the elements at x and at y of n lanes. There may be no second element, or
 * none. */
VEC_INLINE void read_pair(const void *matrix, uint64_t x, uint64_t y, unsigned n, unsigned steps,
                          const bool f32, __m512i to[2])
{
    const __m512i none = _mm512_setzero_si512();
    if (!f32) {
        pair(steps > 0 ? read(matrix, x, n, false) : none,
             steps > 1 ? read(matrix, y, n, false) : none, to);
        return;
    }
    const float *p = (const float *)matrix + x, *q = (const float *)matrix + y;
#pragma GCC unroll 2
    for (unsigned h = 0; h < 2; h++) {
        const __m512i first = steps > 0 ? read_upper(p, h, n) : none;
        const __m512i second = steps > 1 ? read_upper(q, h, n) : none;
        to[h] = _mm512_mask_mov_epi16(_mm512_srli_epi32(first, 16), 0xaaaaaaaau, second);
    }
}

/* Transposes a tile, as 16 x 16 pairs. */
VEC_INLINE void turn(__m512i x[16])
{
    __m512i y[16];
#pragma GCC unroll 8
    for (int i = 0; i < 16; i += 2) {
        y[i] = _mm512_unpacklo_epi32(x[i], x[i + 1]);
        y[i + 1] = _mm512_unpackhi_epi32(x[i], x[i + 1]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 16; i += 4) {
        x[i] = _mm512_unpacklo_epi64(y[i], y[i + 2]);
        x[i + 1] = _mm512_unpackhi_epi64(y[i], y[i + 2]);
        x[i + 2] = _mm512_unpacklo_epi64(y[i + 1], y[i + 3]);
        x[i + 3] = _mm512_unpackhi_epi64(y[i + 1], y[i + 3]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        y[i] = _mm512_shuffle_i32x4(x[i], x[i + 4], 0x88);
        y[i + 4] = _mm512_shuffle_i32x4(x[i], x[i + 4], 0xdd);
        y[i + 8] = _mm512_shuffle_i32x4(x[i + 8], x[i + 12], 0x88);
        y[i + 12] = _mm512_shuffle_i32x4(x[i + 8], x[i + 12], 0xdd);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        x[i] = _mm512_shuffle_i32x4(y[i], y[i + 8], 0x88);
        x[i + 4] = _mm512_shuffle_i32x4(y[i + 4], y[i + 12], 0x88);
        x[i + 8] = _mm512_shuffle_i32x4(y[i], y[i + 8], 0xdd);
        x[i + 12] = _mm512_shuffle_i32x4(y[i + 4], y[i + 12], 0xdd);
    }
}

/* Elements p to p + steps of lanes that lie next to each other, as pairs. */
VEC_INLINE __m512i read_pairs(const struct amx_source *from, uint64_t lane, unsigned lanes,
                              uint64_t p, unsigned steps, const bool f32, __m512i least,
                              __m512i to[2][16])
{
#pragma GCC unroll 16
    for (unsigned i = 0; i < 16; i++) {
        const uint64_t at = lane + (p + 2 * i) * from->step, ahead = at + AMX_STEP * from->step;
        __m512i both[2];
        fetch(from->matrix, ahead, f32);
        fetch(from->matrix, ahead + from->step, f32);
        read_pair(from->matrix, at, at + from->step, lanes, steps > 2 * i ? steps - 2 * i : 0, f32,
                  both);
        least = note(note(least, both[0]), both[1]);
        to[0][i] = both[0];
        to[1][i] = both[1];
    }
    return least;
}

/* The same of lanes whose elements lie next to each other, as rows of a lane each. */
VEC_INLINE __m512i read_rows(const struct amx_source *from, uint64_t lane, unsigned lanes,
                             uint64_t p, unsigned steps, const bool f32, __m512i least,
                             __m512i to[2][16])
{
#pragma GCC unroll 32
    for (unsigned i = 0; i < AMX_LANES; i++) {
        const uint64_t at = (lane + i) * from->lane + p;
        __m512i x = _mm512_setzero_si512();
        fetch(from->matrix, at + ROW_AHEAD, f32);
        if (i < lanes)
            x = read(from->matrix, at, steps, f32);
        least = note(least, x);
        to[i / 16][i % 16] = x;
    }
    return least;
}

/* One step of one panel. */
VEC_INLINE void pack_step(struct amx_panel *panel, const struct amx_source *from, uint64_t lane,
                          unsigned lanes, uint64_t p, unsigned steps, const bool f32,
                          const bool pairs)
{
    uint16_t *to = panel->steps + p / AMX_STEP * 2 * AMX_TILE;
    __m512i least = _mm512_load_si512(panel->least), x[2][16];
    least = from->lane == 1 ? read_pairs(from, lane, lanes, p, steps, f32, least, x)
                            : read_rows(from, lane, lanes, p, steps, f32, least, x);
    _mm512_store_si512(panel->least, least);
#pragma GCC unroll 2
    for (unsigned h = 0; h < 2; h++, to += AMX_TILE) {
        if ((from->lane == 1) != pairs)
            turn(x[h]);
#pragma GCC unroll 16
        for (unsigned i = 0; i < 16; i++)
            _mm512_store_si512(to + i * 32, x[h][i]);
    }
}

/* Panel by panel, or step by step where the lanes of all panels lie next to each other. */
VEC_INLINE void pack(struct amx_panel *panels, uint64_t slot, const struct amx_source *from,
                     uint64_t lanes, uint64_t k, const bool f32, const bool pairs)
{
    const uint64_t some = from->lane == 1 ? AMX_STEP : k;
    for (uint64_t i = 0; i * AMX_LANES < lanes; i++)
        _mm512_store_si512(amx_panel(panels, slot, i)->least, _mm512_set1_epi16(-1));
    for (uint64_t first = 0; first < k; first += some)
        for (uint64_t lane = 0; lane < lanes; lane += AMX_LANES) {
            struct amx_panel *panel = amx_panel(panels, slot, lane / AMX_LANES);
            const unsigned n = lanes - lane < AMX_LANES ? (unsigned)(lanes - lane) : AMX_LANES;
            for (uint64_t p = first; p < first + some && p < k; p += AMX_STEP) {
                const unsigned steps = k - p < AMX_STEP ? (unsigned)(k - p) : AMX_STEP;
                if (n == AMX_LANES && steps == AMX_STEP)
                    pack_step(panel, from, lane, AMX_LANES, p, AMX_STEP, f32, pairs);
                else
                    pack_step(panel, from, lane, n, p, steps, f32, pairs);
            }
        }
    for (uint64_t i = 0; i * AMX_LANES < lanes; i++) {
        struct amx_panel *panel = amx_panel(panels, slot, i);
        panel->exponent = exponent(panel->least);
    }
}

void amx_look_at_b(struct amx_panel *panels, uint64_t slot, const uint16_t *matrix, uint64_t lanes,
                   uint64_t k)
{
    for (uint64_t i = 0; i < lanes / AMX_LANES; i++) {
        struct amx_panel *panel = amx_panel(panels, slot, i);
        const uint16_t *p = matrix + i * AMX_LANES * k, *end = p + AMX_LANES * k;
        __m512i least = _mm512_set1_epi16(-1);
        for (; p < end; p += AMX_STEP)
            least = note(least, _mm512_loadu_si512(p));
        _mm512_store_si512(panel->least, least);
        panel->exponent = exponent(panel->least);
    }
}

void amx_pack_a(struct amx_panel *panels, uint64_t slot, const struct amx_source *from,
                uint64_t lanes, uint64_t k)
{
    if (from->f32)
        pack(panels, slot, from, lanes, k, true, true);
    else
        pack(panels, slot, from, lanes, k, false, true);
}

void amx_pack_b(struct amx_panel *panels, uint64_t slot, const struct amx_source *from,
                uint64_t lanes, uint64_t k)
{
    if (from->f32)
        pack(panels, slot, from, lanes, k, true, false);
    else
        pack(panels, slot, from, lanes, k, false, false);
}
