/* SPDX-License-Identifier: Apache-2.0 */
/* turn_T: writes TURN_T lanes of a vector of steps each as steps of lanes, `room` elements apart.
 */
#ifndef CPU_GEMM_TURN_H
#define CPU_GEMM_TURN_H

#include "vec.h"

#if defined(__AVX512F__)

enum {
    TURN_f64 = 8,
    TURN_f32 = 8
};

static inline void turn_f64(const f64_t x[8], double *to, unsigned room)
{
    f64_t pair[8];
#pragma GCC unroll 4
    for (int i = 0; i < 8; i += 2) {
        pair[i] = _mm512_unpacklo_pd(x[i], x[i + 1]);
        pair[i + 1] = _mm512_unpackhi_pd(x[i], x[i + 1]);
    }
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++, to += room) {
        const f64_t a = _mm512_shuffle_f64x2(pair[i], pair[i + 2], 0x44);
        const f64_t b = _mm512_shuffle_f64x2(pair[i], pair[i + 2], 0xee);
        const f64_t c = _mm512_shuffle_f64x2(pair[i + 4], pair[i + 6], 0x44);
        const f64_t d = _mm512_shuffle_f64x2(pair[i + 4], pair[i + 6], 0xee);
        f64_store(to, _mm512_shuffle_f64x2(a, c, 0x88));
        f64_store(to + 2 * room, _mm512_shuffle_f64x2(a, c, 0xdd));
        f64_store(to + 4 * room, _mm512_shuffle_f64x2(b, d, 0x88));
        f64_store(to + 6 * room, _mm512_shuffle_f64x2(b, d, 0xdd));
    }
}

/* Of four vectors x[i] of steps, element s of each 128 bits to y[s]. */
static inline void turn_fours(const f32_t x[4], f32_t y[4])
{
    const f32_t a = _mm512_unpacklo_ps(x[0], x[1]), b = _mm512_unpackhi_ps(x[0], x[1]);
    const f32_t c = _mm512_unpacklo_ps(x[2], x[3]), d = _mm512_unpackhi_ps(x[2], x[3]);
    y[0] = _mm512_shuffle_ps(a, c, 0x44);
    y[1] = _mm512_shuffle_ps(a, c, 0xee);
    y[2] = _mm512_shuffle_ps(b, d, 0x44);
    y[3] = _mm512_shuffle_ps(b, d, 0xee);
}

static inline void turn_f32(const f32_t x[8], float *to, unsigned room)
{
    const __m512i low = _mm512_setr_epi32(0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23);
    const __m512i high = _mm512_add_epi32(low, _mm512_set1_epi32(8));
    f32_t four[8]; /* 4 lanes of steps i, i+4, i+8, i+12; then the other 4 lanes */
    turn_fours(x, four);
    turn_fours(x + 4, four + 4);
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++, to += room) {
        const f32_t a = _mm512_permutex2var_ps(four[i], low, four[i + 4]);
        const f32_t b = _mm512_permutex2var_ps(four[i], high, four[i + 4]);
        _mm256_storeu_ps(to, _mm512_castps512_ps256(a));
        _mm256_storeu_ps(to + 4 * room, _mm512_extractf32x8_ps(a, 1));
        _mm256_storeu_ps(to + 8 * room, _mm512_castps512_ps256(b));
        _mm256_storeu_ps(to + 12 * room, _mm512_extractf32x8_ps(b, 1));
    }
}

/* The first halves of two vectors to one place, the second halves to another. */
static inline void halve_f32(f32_t x, f32_t y, float *first, float *second)
{
    f32_store(first, _mm512_shuffle_f32x4(x, y, 0x44));
    f32_store(second, _mm512_shuffle_f32x4(x, y, 0xee));
}

/* Eight elements from each of two places. */
static inline f32_t f32_load_halves(const float *p, const float *q)
{
    return _mm512_insertf32x8(_mm512_castps256_ps512(_mm256_loadu_ps(p)), _mm256_loadu_ps(q), 1);
}

static inline __m256i turn_load_halves(const uint16_t *p, const uint16_t *q)
{
    return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)p)),
                                   _mm_loadu_si128((const __m128i *)q), 1);
}

static inline f32_t bf16_load_halves(const uint16_t *p, const uint16_t *q)
{
    return bf16_widen(turn_load_halves(p, q));
}

static inline f32_t f16_load_halves(const uint16_t *p, const uint16_t *q)
{
    return f16_widen(turn_load_halves(p, q));
}

/* From eight steps of lanes i and i + 4 in x[i] to steps of eight lanes, two in a line. */
static inline void turn_8_lanes(const f32_t x[4], float *to)
{
    f32_t y[4]; /* steps i and i + 4 of four lanes, and of the other four */
    turn_fours(x, y);
    f32_store(to, _mm512_shuffle_f32x4(y[0], y[1], 0x88));
    f32_store(to + 16, _mm512_shuffle_f32x4(y[2], y[3], 0x88));
    f32_store(to + 32, _mm512_shuffle_f32x4(y[0], y[1], 0xdd));
    f32_store(to + 48, _mm512_shuffle_f32x4(y[2], y[3], 0xdd));
}

#else

enum {
    TURN_f64 = 4,
    TURN_f32 = 8
};

static inline void turn_f64(const f64_t x[4], double *to, unsigned room)
{
    const f64_t a = _mm256_unpacklo_pd(x[0], x[1]), b = _mm256_unpackhi_pd(x[0], x[1]);
    const f64_t c = _mm256_unpacklo_pd(x[2], x[3]), d = _mm256_unpackhi_pd(x[2], x[3]);
    f64_store(to, _mm256_permute2f128_pd(a, c, 0x20));
    f64_store(to + room, _mm256_permute2f128_pd(b, d, 0x20));
    f64_store(to + 2 * room, _mm256_permute2f128_pd(a, c, 0x31));
    f64_store(to + 3 * room, _mm256_permute2f128_pd(b, d, 0x31));
}

static inline void turn_f32(const f32_t x[8], float *to, unsigned room)
{
    f32_t four[8]; /* 4 lanes of steps i and i+4; then the other 4 lanes */
#pragma GCC unroll 2
    for (int i = 0; i < 8; i += 4) {
        const f32_t a = _mm256_unpacklo_ps(x[i], x[i + 1]);
        const f32_t b = _mm256_unpackhi_ps(x[i], x[i + 1]);
        const f32_t c = _mm256_unpacklo_ps(x[i + 2], x[i + 3]);
        const f32_t d = _mm256_unpackhi_ps(x[i + 2], x[i + 3]);
        four[i] = _mm256_shuffle_ps(a, c, 0x44);
        four[i + 1] = _mm256_shuffle_ps(a, c, 0xee);
        four[i + 2] = _mm256_shuffle_ps(b, d, 0x44);
        four[i + 3] = _mm256_shuffle_ps(b, d, 0xee);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++, to += room) {
        f32_store(to, _mm256_permute2f128_ps(four[i], four[i + 4], 0x20));
        f32_store(to + 4 * room, _mm256_permute2f128_ps(four[i], four[i + 4], 0x31));
    }
}

#endif

#endif
