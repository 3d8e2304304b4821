/* SPDX-License-Identifier: Apache-2.0 */
/* Element i of attention_add(x) is the sum of the elements of x[i], of attention_max(x) the largest
 * of them: as many at once as a vector has elements, each in the same order. */
#ifndef CPU_ATTENTION_FOLD_H
#define CPU_ATTENTION_FOLD_H

#include "vec.h"

/* Each step folds pairs of vectors into one, whose elements belong to the one and the other. */
#if defined(__AVX512F__)

#define ATTENTION_FOLD(op)                                                                         \
    VEC_INLINE f32_t attention_##op(const f32_t x[16])                                             \
    {                                                                                              \
        f32_t two[8], four[4], eight[2];                                                           \
        for (int i = 0; i < 8; i++)                                                                \
            two[i] = f32_##op(_mm512_unpacklo_ps(x[2 * i], x[2 * i + 1]),                          \
                              _mm512_unpackhi_ps(x[2 * i], x[2 * i + 1]));                         \
        for (int i = 0; i < 4; i++) {                                                              \
            const f64_t a = _mm512_castps_pd(two[2 * i]), b = _mm512_castps_pd(two[2 * i + 1]);    \
            four[i] = f32_##op(_mm512_castpd_ps(_mm512_unpacklo_pd(a, b)),                         \
                               _mm512_castpd_ps(_mm512_unpackhi_pd(a, b)));                        \
        }                                                                                          \
        for (int i = 0; i < 2; i++)                                                                \
            eight[i] = f32_##op(_mm512_shuffle_f32x4(four[2 * i], four[2 * i + 1], 0x88),          \
                                _mm512_shuffle_f32x4(four[2 * i], four[2 * i + 1], 0xdd));         \
        return f32_##op(_mm512_shuffle_f32x4(eight[0], eight[1], 0x88),                            \
                        _mm512_shuffle_f32x4(eight[0], eight[1], 0xdd));                           \
    }

#else

#define ATTENTION_FOLD(op)                                                                         \
    VEC_INLINE f32_t attention_##op(const f32_t x[8])                                              \
    {                                                                                              \
        f32_t two[4], four[2];                                                                     \
        for (int i = 0; i < 4; i++)                                                                \
            two[i] = f32_##op(_mm256_unpacklo_ps(x[2 * i], x[2 * i + 1]),                          \
                              _mm256_unpackhi_ps(x[2 * i], x[2 * i + 1]));                         \
        for (int i = 0; i < 2; i++) {                                                              \
            const f64_t a = _mm256_castps_pd(two[2 * i]), b = _mm256_castps_pd(two[2 * i + 1]);    \
            four[i] = f32_##op(_mm256_castpd_ps(_mm256_unpacklo_pd(a, b)),                         \
                               _mm256_castpd_ps(_mm256_unpackhi_pd(a, b)));                        \
        }                                                                                          \
        return f32_##op(_mm256_permute2f128_ps(four[0], four[1], 0x20),                            \
                        _mm256_permute2f128_ps(four[0], four[1], 0x31));                           \
    }

#endif

ATTENTION_FOLD(add)
ATTENTION_FOLD(max)
#undef ATTENTION_FOLD

#endif
