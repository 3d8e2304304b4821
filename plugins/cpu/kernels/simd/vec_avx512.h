/* SPDX-License-Identifier: Apache-2.0 */
/* vec.h for AVX-512 F, BW, DQ and VL. */
#ifndef CPU_VEC_AVX512_H
#define CPU_VEC_AVX512_H

#define ISA(name) PASTE(name, _avx512)

typedef __m512 f32_t;
typedef __m512d f64_t;
typedef __mmask16 f32_m;
typedef __mmask8 f64_m;
enum {
    f32_n = 16,
    f64_n = 8
};

#define VEC(type, name, arguments, value)                                                          \
    VEC_INLINE type name arguments                                                                 \
    {                                                                                              \
        return value;                                                                              \
    }
#define VEC_DO(name, arguments, action)                                                            \
    VEC_INLINE void name arguments                                                                 \
    {                                                                                              \
        action;                                                                                    \
    }

/* E: prefix of the names, t: of the intrinsics, i: the integers of that width */
#define VEC_ARITHMETIC(E, t, i, SIGN)                                                              \
    VEC(E##_t, E##_zero, (void), _mm512_setzero_##t())                                             \
    VEC(E##_t, E##_set1, (E##_e x), _mm512_set1_##t(x))                                            \
    VEC(E##_t, E##_add, (E##_t a, E##_t b), _mm512_add_##t(a, b))                                  \
    VEC(E##_t, E##_sub, (E##_t a, E##_t b), _mm512_sub_##t(a, b))                                  \
    VEC(E##_t, E##_mul, (E##_t a, E##_t b), _mm512_mul_##t(a, b))                                  \
    VEC(E##_t, E##_div, (E##_t a, E##_t b), _mm512_div_##t(a, b))                                  \
    VEC(E##_t, E##_sqrt, (E##_t a), _mm512_sqrt_##t(a))                                            \
    VEC(E##_t, E##_fma, (E##_t a, E##_t b, E##_t c), _mm512_fmadd_##t(a, b, c))                    \
    VEC(E##_t, E##_fnma, (E##_t a, E##_t b, E##_t c), _mm512_fnmadd_##t(a, b, c))                  \
    VEC(E##_t, E##_neg, (E##_t a), _mm512_xor_##t(a, _mm512_set1_##t(SIGN)))                       \
    VEC(E##_t, E##_abs, (E##_t a), _mm512_andnot_##t(_mm512_set1_##t(SIGN), a))                    \
    VEC(E##_t, E##_round, (E##_t a), _mm512_roundscale_##t(a, 0))                                  \
    VEC(E##_t, E##_max, (E##_t a, E##_t b), _mm512_max_##t(a, b))                                  \
    VEC(E##_t, E##_min, (E##_t a, E##_t b), _mm512_min_##t(a, b))                                  \
    VEC(E##_m, E##_lt, (E##_t a, E##_t b), _mm512_cmp_##t##_mask(a, b, _CMP_LT_OQ))                \
    VEC(E##_m, E##_le, (E##_t a, E##_t b), _mm512_cmp_##t##_mask(a, b, _CMP_LE_OQ))                \
    VEC(E##_m, E##_gt, (E##_t a, E##_t b), _mm512_cmp_##t##_mask(a, b, _CMP_GT_OQ))                \
    VEC(E##_m, E##_eq, (E##_t a, E##_t b), _mm512_cmp_##t##_mask(a, b, _CMP_EQ_OQ))                \
    VEC(E##_m, E##_isnan, (E##_t a), _mm512_cmp_##t##_mask(a, a, _CMP_UNORD_Q))                    \
    VEC(E##_m, E##_isneg, (E##_t a), _mm512_movepi##i##_mask(_mm512_cast##t##_si512(a)))           \
    VEC(E##_t, E##_select, (E##_m m, E##_t yes, E##_t no), _mm512_mask_blend_##t(m, no, yes))      \
    VEC(E##_m, E##_not_positive, (E##_t a), _mm512_fpclass_##t##_mask(a, 0xdf))                    \
    VEC(E##_t, E##_copysign, (E##_t a, E##_t b),                                                   \
        _mm512_or_##t(E##_abs(a), _mm512_and_##t(b, _mm512_set1_##t(SIGN))))                       \
    VEC(bool, E##_any, (E##_m m), m != 0)                                                          \
    VEC(E##_m, E##_mask, (uint64_t n), (E##_m)((1u << n) - 1))                                     \
    VEC(E##_t, E##_scale, (E##_t x, E##_t n), _mm512_scalef_##t(x, n))                             \
                                                                                                   \
    /* VRANGE orders the zeros, but of a number and a NaN it takes the number. A difference is NaN \
     * as well, and of two it is the first: no compiler swaps its operands. */                     \
    VEC_INLINE E##_t E##_maximum(E##_t a, E##_t b)                                                 \
    {                                                                                              \
        return _mm512_mask_sub_##t(_mm512_range_##t(a, b, 5),                                      \
                                   _mm512_cmp_##t##_mask(a, b, _CMP_UNORD_Q), a, b);               \
    }                                                                                              \
    VEC_INLINE E##_t E##_minimum(E##_t a, E##_t b)                                                 \
    {                                                                                              \
        return _mm512_mask_sub_##t(_mm512_range_##t(a, b, 4),                                      \
                                   _mm512_cmp_##t##_mask(a, b, _CMP_UNORD_Q), a, b);               \
    }                                                                                              \
                                                                                                   \
    /* A mantissa below 1 comes from one above 1.5, halved. */                                     \
    VEC_INLINE E##_t E##_split(E##_t x, E##_t *n)                                                  \
    {                                                                                              \
        const E##_t one = _mm512_set1_##t(1), e = _mm512_getexp_##t(x);                            \
        const E##_t m = _mm512_getmant_##t(x, _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_zero);          \
        *n = _mm512_mask_add_##t(e, E##_lt(m, one), e, one);                                       \
        return m;                                                                                  \
    }                                                                                              \
                                                                                                   \
    VEC(E##_t, E##_load, (const E##_e *p), _mm512_loadu_##t(p))                                    \
    VEC(E##_t, E##_load_mask, (const E##_e *p, E##_m m), _mm512_maskz_loadu_##t(m, p))             \
    VEC_DO(E##_store, (E##_e * p, E##_t x), _mm512_storeu_##t(p, x))                               \
    VEC_DO(E##_store_mask, (E##_e * p, E##_m m, E##_t x), _mm512_mask_storeu_##t(p, m, x))         \
    VEC_DO(E##_stream, (E##_e * p, E##_t x), _mm512_stream_##t(p, x))
VEC_ARITHMETIC(f32, ps, 32, -0.0f)
VEC_ARITHMETIC(f64, pd, 64, -0.0)

VEC_INLINE f32_t f32_swap(f32_t a, int step)
{
    switch (step) {
    case 0: return _mm512_permute_ps(a, 0xb1);
    case 1: return _mm512_permute_ps(a, 0x4e);
    case 2: return _mm512_shuffle_f32x4(a, a, 0xb1);
    default: return _mm512_shuffle_f32x4(a, a, 0x4e);
    }
}

VEC_INLINE f64_t f64_swap(f64_t a, int step)
{
    switch (step) {
    case 0: return _mm512_permute_pd(a, 0x55);
    case 1: return _mm512_shuffle_f64x2(a, a, 0xb1);
    default: return _mm512_shuffle_f64x2(a, a, 0x4e);
    }
}

VEC(float, f32_first, (f32_t a), _mm512_cvtss_f32(a))
VEC(double, f64_first, (f64_t a), _mm512_cvtsd_f64(a))

/* The f32 elements in two halves. */
VEC(f64_t, f64_from_f32_low, (f32_t a), _mm512_cvtps_pd(_mm512_castps512_ps256(a)))
VEC(f64_t, f64_from_f32_high, (f32_t a), _mm512_cvtps_pd(_mm512_extractf32x8_ps(a, 1)))

VEC_INLINE f32_t bf16_widen(__m256i h)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(h), 16));
}

/* To nearest, ties to even, in the upper half of the bits; the lower half is not zeroed. The
 * rounding could carry a NaN's payload into its sign. */
VEC_INLINE __m512i bf16_upper(f32_t x)
{
    const __m512i bits = _mm512_castps_si512(x), half = _mm512_set1_epi32(0x7fff);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i rounded = _mm512_add_epi32(_mm512_add_epi32(bits, half), odd);
    return _mm512_mask_or_epi32(rounded, f32_isnan(x), bits, _mm512_set1_epi32(0x400000));
}

VEC_INLINE __m256i bf16_narrow(f32_t x)
{
    return _mm512_cvtepi32_epi16(_mm512_srli_epi32(bf16_upper(x), 16));
}

/* The numbers that are left of x. */
VEC_INLINE f32_t bf16_round(f32_t x)
{
    return _mm512_castsi512_ps(
        _mm512_and_si512(bf16_upper(x), _mm512_set1_epi32((int)0xffff0000u)));
}

VEC(f32_t, f16_widen, (__m256i h), _mm512_cvtph_ps(h))
VEC(__m256i, f16_narrow, (f32_t x), _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT))

#define VEC_MEMORY_16(E)                                                                           \
    VEC(f32_t, E##_load, (const E##_e *p), E##_widen(_mm256_loadu_si256((const __m256i *)p)))      \
    VEC(f32_t, E##_load_mask, (const E##_e *p, f32_m m),                                           \
        E##_widen(_mm256_maskz_loadu_epi16(m, p)))                                                 \
    VEC_DO(E##_store, (E##_e * p, f32_t x), _mm256_storeu_si256((__m256i *)p, E##_narrow(x)))      \
    VEC_DO(E##_store_mask, (E##_e * p, f32_m m, f32_t x),                                          \
           _mm256_mask_storeu_epi16(p, m, E##_narrow(x)))                                          \
    VEC_DO(E##_stream, (E##_e * p, f32_t x), _mm256_stream_si256((__m256i *)p, E##_narrow(x)))
VEC_MEMORY_16(bf16)
VEC_MEMORY_16(f16)

#undef VEC
#undef VEC_DO
#undef VEC_ARITHMETIC
#undef VEC_MEMORY_16

#endif
