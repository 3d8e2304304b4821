/* SPDX-License-Identifier: Apache-2.0 */
/* vec.h for AVX2, FMA and F16C. A mask is a vector whose elements are all ones or all zeros. */
#ifndef CPU_VEC_AVX2_H
#define CPU_VEC_AVX2_H

#include <math.h>
#include <string.h>

#define ISA(name) PASTE(name, _avx2)

typedef __m256 f32_t;
typedef __m256d f64_t;
typedef __m256i f32_m;
typedef __m256i f64_m;
enum {
    f32_n = 8,
    f64_n = 4
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

/* A window on it begins with as many ones as are asked for. */
static const int32_t vec_ones[16] = { -1, -1, -1, -1, -1, -1, -1, -1 };

#define VEC_COMPARE(E, t, a, b, how) _mm256_cast##t##_si256(_mm256_cmp_##t(a, b, how))
#define VEC_SELECT(E, t, m, yes, no) _mm256_blendv_##t(no, yes, _mm256_castsi256_##t(m))

/* E: prefix of the names, t: of the intrinsics, i: those of the integers of that width, which in
 * memory are of type I */
#define VEC_ARITHMETIC(E, t, i, I, SIGN)                                                           \
    VEC(E##_t, E##_zero, (void), _mm256_setzero_##t())                                             \
    VEC(E##_t, E##_set1, (E##_e x), _mm256_set1_##t(x))                                            \
    VEC(E##_t, E##_add, (E##_t a, E##_t b), _mm256_add_##t(a, b))                                  \
    VEC(E##_t, E##_sub, (E##_t a, E##_t b), _mm256_sub_##t(a, b))                                  \
    VEC(E##_t, E##_mul, (E##_t a, E##_t b), _mm256_mul_##t(a, b))                                  \
    VEC(E##_t, E##_div, (E##_t a, E##_t b), _mm256_div_##t(a, b))                                  \
    VEC(E##_t, E##_sqrt, (E##_t a), _mm256_sqrt_##t(a))                                            \
    VEC(E##_t, E##_fma, (E##_t a, E##_t b, E##_t c), _mm256_fmadd_##t(a, b, c))                    \
    VEC(E##_t, E##_fnma, (E##_t a, E##_t b, E##_t c), _mm256_fnmadd_##t(a, b, c))                  \
    VEC(E##_t, E##_neg, (E##_t a), _mm256_xor_##t(a, _mm256_set1_##t(SIGN)))                       \
    VEC(E##_t, E##_abs, (E##_t a), _mm256_andnot_##t(_mm256_set1_##t(SIGN), a))                    \
    VEC(E##_t, E##_round, (E##_t a),                                                               \
        _mm256_round_##t(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC))                        \
    VEC(E##_t, E##_max, (E##_t a, E##_t b), _mm256_max_##t(a, b))                                  \
    VEC(E##_t, E##_min, (E##_t a, E##_t b), _mm256_min_##t(a, b))                                  \
    VEC(E##_m, E##_lt, (E##_t a, E##_t b), VEC_COMPARE(E, t, a, b, _CMP_LT_OQ))                    \
    VEC(E##_m, E##_le, (E##_t a, E##_t b), VEC_COMPARE(E, t, a, b, _CMP_LE_OQ))                    \
    VEC(E##_m, E##_gt, (E##_t a, E##_t b), VEC_COMPARE(E, t, a, b, _CMP_GT_OQ))                    \
    VEC(E##_m, E##_eq, (E##_t a, E##_t b), VEC_COMPARE(E, t, a, b, _CMP_EQ_OQ))                    \
    VEC(E##_m, E##_isnan, (E##_t a), VEC_COMPARE(E, t, a, a, _CMP_UNORD_Q))                        \
    VEC(E##_m, E##_isneg, (E##_t a),                                                               \
        _mm256_cmpgt_##i(_mm256_setzero_si256(), _mm256_cast##t##_si256(a)))                       \
    VEC(E##_t, E##_select, (E##_m m, E##_t yes, E##_t no), VEC_SELECT(E, t, m, yes, no))           \
    VEC(E##_m, E##_not_positive, (E##_t a),                                                        \
        _mm256_or_si256(VEC_COMPARE(E, t, a, E##_zero(), _CMP_NGT_UQ),                             \
                        VEC_COMPARE(E, t, a, _mm256_set1_##t(INFINITY), _CMP_EQ_OQ)))              \
    VEC(E##_t, E##_copysign, (E##_t a, E##_t b),                                                   \
        _mm256_or_##t(E##_abs(a), _mm256_and_##t(b, _mm256_set1_##t(SIGN))))                       \
    VEC(bool, E##_any, (E##_m m), _mm256_movemask_##t(_mm256_castsi256_##t(m)) != 0)               \
    VEC(E##_m, E##_mask, (uint64_t n),                                                             \
        _mm256_loadu_si256((const __m256i *)(const void *)(vec_ones + 8 - n * sizeof(I) / 4)))     \
                                                                                                   \
    /* MAXP takes the second of two zeros, or of a number and a NaN: both ways round, the zeros    \
     * meet in the sign bit. A difference with a NaN is NaN, and of two it is the first: no        \
     * compiler swaps its operands. */                                                             \
    VEC_INLINE E##_t E##_maximum(E##_t a, E##_t b)                                                 \
    {                                                                                              \
        const E##_t most = _mm256_and_##t(_mm256_max_##t(a, b), _mm256_max_##t(b, a));             \
        return VEC_SELECT(E, t, VEC_COMPARE(E, t, a, b, _CMP_UNORD_Q), _mm256_sub_##t(a, b),       \
                          most);                                                                   \
    }                                                                                              \
    VEC_INLINE E##_t E##_minimum(E##_t a, E##_t b)                                                 \
    {                                                                                              \
        const E##_t least = _mm256_or_##t(_mm256_min_##t(a, b), _mm256_min_##t(b, a));             \
        return VEC_SELECT(E, t, VEC_COMPARE(E, t, a, b, _CMP_UNORD_Q), _mm256_sub_##t(a, b),       \
                          least);                                                                  \
    }                                                                                              \
                                                                                                   \
    VEC(E##_t, E##_load, (const E##_e *p), _mm256_loadu_##t(p))                                    \
    VEC(E##_t, E##_load_mask, (const E##_e *p, E##_m m), _mm256_maskload_##t(p, m))                \
    VEC_DO(E##_store, (E##_e * p, E##_t x), _mm256_storeu_##t(p, x))                               \
    VEC_DO(E##_store_mask, (E##_e * p, E##_m m, E##_t x), _mm256_maskstore_##t(p, m, x))           \
    VEC_DO(E##_stream, (E##_e * p, E##_t x), _mm256_stream_##t(p, x))
VEC_ARITHMETIC(f32, ps, epi32, int32_t, -0.0f)
VEC_ARITHMETIC(f64, pd, epi64, int64_t, -0.0)

/* Two factors, since neither 2^n nor its reciprocal need be a normal number. The first product is
 * exact. */
VEC_INLINE f32_t f32_scale(f32_t x, f32_t n)
{
    const __m256i bias = _mm256_set1_epi32(127), whole = _mm256_cvtps_epi32(n);
    const __m256i half = _mm256_srai_epi32(whole, 1), rest = _mm256_sub_epi32(whole, half);
    const __m256i a = _mm256_slli_epi32(_mm256_add_epi32(half, bias), 23);
    const __m256i b = _mm256_slli_epi32(_mm256_add_epi32(rest, bias), 23);
    return f32_mul(f32_mul(x, _mm256_castsi256_ps(a)), _mm256_castsi256_ps(b));
}

/* There is no conversion to 64-bit integers: adding 3 * 2^51 leaves one in the low bits. The half
 * is rounded down by shifting a number that is never negative. */
VEC_INLINE f64_t f64_scale(f64_t x, f64_t n)
{
    const f64_t magic = f64_set1(0x1.8p52);
    const __m256i whole =
        _mm256_sub_epi64(_mm256_castpd_si256(f64_add(n, magic)), _mm256_castpd_si256(magic));
    const __m256i half =
        _mm256_sub_epi64(_mm256_srli_epi64(_mm256_add_epi64(whole, _mm256_set1_epi64x(2048)), 1),
                         _mm256_set1_epi64x(1024));
    const __m256i bias = _mm256_set1_epi64x(1023), rest = _mm256_sub_epi64(whole, half);
    const __m256i a = _mm256_slli_epi64(_mm256_add_epi64(half, bias), 52);
    const __m256i b = _mm256_slli_epi64(_mm256_add_epi64(rest, bias), 52);
    return f64_mul(f64_mul(x, _mm256_castsi256_pd(a)), _mm256_castsi256_pd(b));
}

VEC_INLINE f32_t f32_split(f32_t x, f32_t *n)
{
    const f32_m tiny = f32_lt(x, f32_set1(0x1p-126f));
    const __m256i bits = _mm256_castps_si256(f32_select(tiny, f32_mul(x, f32_set1(0x1p24f)), x));
    const __m256i low = _mm256_castps_si256(f32_set1(0.75f));
    const __m256i e = _mm256_srai_epi32(_mm256_sub_epi32(bits, low), 23);
    *n = f32_sub(_mm256_cvtepi32_ps(e), f32_select(tiny, f32_set1(24), f32_zero()));
    return _mm256_castsi256_ps(_mm256_sub_epi32(bits, _mm256_slli_epi32(e, 23)));
}

/* The exponent, kept biased so that it is positive, becomes the low bits of a double near 2^52. */
VEC_INLINE f64_t f64_split(f64_t x, f64_t *n)
{
    const f64_m tiny = f64_lt(x, f64_set1(0x1p-1022));
    const __m256i bits = _mm256_castpd_si256(f64_select(tiny, f64_mul(x, f64_set1(0x1p54)), x));
    const __m256i up = _mm256_set1_epi64x(0x0008000000000000); /* from 0.75 to 1 */
    const __m256i biased = _mm256_srli_epi64(_mm256_add_epi64(bits, up), 52);
    const __m256i magic = _mm256_castpd_si256(f64_set1(0x1p52));
    const f64_t offset = f64_select(tiny, f64_set1(0x1p52 + 1023 + 54), f64_set1(0x1p52 + 1023));
    *n = f64_sub(_mm256_castsi256_pd(_mm256_or_si256(biased, magic)), offset);
    const __m256i e = _mm256_sub_epi64(biased, _mm256_set1_epi64x(1023));
    return _mm256_castsi256_pd(_mm256_sub_epi64(bits, _mm256_slli_epi64(e, 52)));
}

VEC_INLINE f32_t f32_swap(f32_t a, int step)
{
    switch (step) {
    case 0: return _mm256_permute_ps(a, 0xb1);
    case 1: return _mm256_permute_ps(a, 0x4e);
    default: return _mm256_permute2f128_ps(a, a, 1);
    }
}

VEC_INLINE f64_t f64_swap(f64_t a, int step)
{
    return step ? _mm256_permute2f128_pd(a, a, 1) : _mm256_permute_pd(a, 5);
}

VEC(float, f32_first, (f32_t a), _mm256_cvtss_f32(a))
VEC(double, f64_first, (f64_t a), _mm256_cvtsd_f64(a))

/* The f32 elements in two halves. */
VEC(f64_t, f64_from_f32_low, (f32_t a), _mm256_cvtps_pd(_mm256_castps256_ps128(a)))
VEC(f64_t, f64_from_f32_high, (f32_t a), _mm256_cvtps_pd(_mm256_extractf128_ps(a, 1)))

VEC_INLINE f32_t bf16_widen(__m128i h)
{
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(h), 16));
}

/* To nearest, ties to even, in the upper half of the bits; the lower half is not zeroed. The
 * rounding could carry a NaN's payload into its sign. */
VEC_INLINE __m256i bf16_upper(f32_t x)
{
    const __m256i bits = _mm256_castps_si256(x), half = _mm256_set1_epi32(0x7fff);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i rounded = _mm256_add_epi32(_mm256_add_epi32(bits, half), odd);
    const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
    return _mm256_blendv_epi8(rounded, quiet, f32_isnan(x));
}

VEC_INLINE __m128i bf16_narrow(f32_t x)
{
    const __m256i kept = _mm256_srli_epi32(bf16_upper(x), 16);
    return _mm_packus_epi32(_mm256_castsi256_si128(kept), _mm256_extracti128_si256(kept, 1));
}

/* The numbers that are left of x. */
VEC_INLINE f32_t bf16_round(f32_t x)
{
    return _mm256_castsi256_ps(
        _mm256_and_si256(bf16_upper(x), _mm256_set1_epi32((int)0xffff0000u)));
}

VEC(f32_t, f16_widen, (__m128i h), _mm256_cvtph_ps(h))
VEC(__m128i, f16_narrow, (f32_t x), _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT))

/* AVX2 masks no 16-bit elements: the first ones go through a copy. */
VEC_INLINE uint64_t vec_count_16(f32_m m)
{
    return (uint64_t)__builtin_popcount((unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(m))) *
           sizeof(uint16_t);
}

VEC_INLINE __m128i vec_load_mask_16(const uint16_t *p, f32_m m)
{
    __m128i h = _mm_setzero_si128();
    memcpy(&h, p, vec_count_16(m));
    return h;
}

VEC_INLINE void vec_store_mask_16(uint16_t *p, f32_m m, __m128i h)
{
    memcpy(p, &h, vec_count_16(m));
}

#define VEC_MEMORY_16(E)                                                                           \
    VEC(f32_t, E##_load, (const E##_e *p), E##_widen(_mm_loadu_si128((const __m128i *)p)))         \
    VEC(f32_t, E##_load_mask, (const E##_e *p, f32_m m), E##_widen(vec_load_mask_16(p, m)))        \
    VEC_DO(E##_store, (E##_e * p, f32_t x), _mm_storeu_si128((__m128i *)p, E##_narrow(x)))         \
    VEC_DO(E##_store_mask, (E##_e * p, f32_m m, f32_t x), vec_store_mask_16(p, m, E##_narrow(x)))  \
    VEC_DO(E##_stream, (E##_e * p, f32_t x), _mm_stream_si128((__m128i *)p, E##_narrow(x)))
VEC_MEMORY_16(bf16)
VEC_MEMORY_16(f16)

#undef VEC
#undef VEC_DO
#undef VEC_COMPARE
#undef VEC_SELECT
#undef VEC_ARITHMETIC
#undef VEC_MEMORY_16

#endif
