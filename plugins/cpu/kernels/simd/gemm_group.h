/* SPDX-License-Identifier: Apache-2.0 */
/* What packing and gemv need: groups of elements in 256 bits, whatever the set, read from every
 * kind of matrix, computed with, turned, and written. A load of a part sets the rest to 0 and reads
 * no further. */
#ifndef CPU_GEMM_GROUP_H
#define CPU_GEMM_GROUP_H

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#include "half.h"

enum {
    GROUP_f64 = 4,
    GROUP_f32 = 8
};
typedef __m256d group_f64;
typedef __m256 group_f32;
typedef double real_f64;
typedef float real_f32;

/* Lanes below n. */
static inline __m256i part_of_8(unsigned n)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

static inline __m256i part_of_4(unsigned n)
{
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3));
}

static inline __m256 widen_bf16(__m128i x)
{
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(x), 16));
}

/* To nearest, ties to even; a NaN must not become infinity, so it loses its low bits first. */
static inline __m256 round_bf16(__m256 x)
{
    const __m256i bits = _mm256_castps_si256(x), one = _mm256_set1_epi32(1);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), one);
    const __m256i up = _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff));
    const __m256 sum = _mm256_castsi256_ps(_mm256_add_epi32(bits, up));
    const __m256 quiet = _mm256_or_ps(x, _mm256_castsi256_ps(_mm256_set1_epi32(0x400000)));
    const __m256 high = _mm256_castsi256_ps(_mm256_set1_epi32((int)0xffff0000u));
    return _mm256_and_ps(_mm256_blendv_ps(sum, quiet, _mm256_cmp_ps(x, x, _CMP_UNORD_Q)), high);
}

static inline __m256 round_f16(__m256 x)
{
    return _mm256_cvtph_ps(_mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

static inline __m128i load_u16_part(const uint16_t *p, unsigned n)
{
    uint16_t whole[8] = { 0 };
    memcpy(whole, p, n * sizeof(*p));
    return _mm_loadu_si128((const __m128i *)whole);
}

static inline __m128i load_u16(const uint16_t *p)
{
    return _mm_loadu_si128((const __m128i *)p);
}

/* For each kind: from memory to a group, whole and in part, and to one element. */
#define LOADS(kind, IN, T, whole, part, one)                                                       \
    static inline group_##T load_##kind(const IN *p)                                               \
    {                                                                                              \
        return whole;                                                                              \
    }                                                                                              \
    static inline group_##T load_part_##kind(const IN *p, unsigned n)                              \
    {                                                                                              \
        return part;                                                                               \
    }                                                                                              \
    static inline real_##T load_one_##kind(const IN *p)                                            \
    {                                                                                              \
        return one;                                                                                \
    }
LOADS(f64, double, f64, _mm256_loadu_pd(p), _mm256_maskload_pd(p, part_of_4(n)), *p)
LOADS(f32, float, f32, _mm256_loadu_ps(p), _mm256_maskload_ps(p, part_of_8(n)), *p)
LOADS(bf16, uint16_t, f32, widen_bf16(load_u16(p)), widen_bf16(load_u16_part(p, n)),
      cbc_bf16_to_f32(*p))
LOADS(f16, uint16_t, f32, _mm256_cvtph_ps(load_u16(p)), _mm256_cvtph_ps(load_u16_part(p, n)),
      cbc_f16_to_f32(*p))
LOADS(f32_as_bf16, float, f32, round_bf16(load_f32(p)), round_bf16(load_part_f32(p, n)),
      cbc_bf16_to_f32(cbc_f32_to_bf16(*p)))
LOADS(f32_as_f16, float, f32, round_f16(load_f32(p)), round_f16(load_part_f32(p, n)),
      cbc_f16_to_f32(cbc_f32_to_f16(*p)))
#undef LOADS

/* Rows become columns. */
static inline void turn_f64(__m256d x[4])
{
    const __m256d a = _mm256_unpacklo_pd(x[0], x[1]), b = _mm256_unpackhi_pd(x[0], x[1]);
    const __m256d c = _mm256_unpacklo_pd(x[2], x[3]), d = _mm256_unpackhi_pd(x[2], x[3]);
    x[0] = _mm256_permute2f128_pd(a, c, 0x20);
    x[1] = _mm256_permute2f128_pd(b, d, 0x20);
    x[2] = _mm256_permute2f128_pd(a, c, 0x31);
    x[3] = _mm256_permute2f128_pd(b, d, 0x31);
}

static inline void turn_f32(__m256 x[8])
{
    __m256 pair[8], four[8];
#pragma GCC unroll 4
    for (int i = 0; i < 8; i += 2) {
        pair[i] = _mm256_unpacklo_ps(x[i], x[i + 1]);
        pair[i + 1] = _mm256_unpackhi_ps(x[i], x[i + 1]);
    }
#pragma GCC unroll 2
    for (int i = 0; i < 8; i += 4) {
        four[i] = _mm256_shuffle_ps(pair[i], pair[i + 2], 0x44);
        four[i + 1] = _mm256_shuffle_ps(pair[i], pair[i + 2], 0xee);
        four[i + 2] = _mm256_shuffle_ps(pair[i + 1], pair[i + 3], 0x44);
        four[i + 3] = _mm256_shuffle_ps(pair[i + 1], pair[i + 3], 0xee);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        x[i] = _mm256_permute2f128_ps(four[i], four[i + 4], 0x20);
        x[i + 4] = _mm256_permute2f128_ps(four[i], four[i + 4], 0x31);
    }
}

/* The little arithmetic of gemv. */
#define ARITHMETIC(T, suffix, one)                                                                 \
    static inline void store_##T(real_##T *p, group_##T x)                                         \
    {                                                                                              \
        _mm256_storeu_##suffix(p, x);                                                              \
    }                                                                                              \
    static inline group_##T set1_##T(real_##T x)                                                   \
    {                                                                                              \
        return _mm256_set1_##suffix(x);                                                            \
    }                                                                                              \
    static inline group_##T add_##T(group_##T a, group_##T b)                                      \
    {                                                                                              \
        return _mm256_add_##suffix(a, b);                                                          \
    }                                                                                              \
    static inline group_##T fma_##T(group_##T a, group_##T b, group_##T c)                         \
    {                                                                                              \
        return _mm256_fmadd_##suffix(a, b, c);                                                     \
    }                                                                                              \
    static inline real_##T fma_one_##T(real_##T a, real_##T b, real_##T c)                         \
    {                                                                                              \
        return one(a, b, c);                                                                       \
    }
ARITHMETIC(f64, pd, __builtin_fma)
ARITHMETIC(f32, ps, __builtin_fmaf)
#undef ARITHMETIC

#endif
