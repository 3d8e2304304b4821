/* SPDX-License-Identifier: Apache-2.0 */
/* The vocabulary that kernels for AVX2 and AVX-512 are written in, so that both come from one text.
 *
 * f32_t and f64_t are a vector of f32_n floats or f64_n doubles; f32_m and f64_m say which of its
 * elements are meant. A name begins with what it works on. Arithmetic, f32 and f64:
 *
 * - zero, set1; add, sub, mul, div, sqrt; fma(a, b, c) = a*b + c and fnma = c - a*b, rounded once
 * - neg, abs, copysign(a, b); round: to the nearest integer, ties to even
 * - max, min: of a number and a NaN the second; what they make of two zeros is not said
 * - maximum, minimum: IEEE 754-2019's
 * - lt, le, gt, eq, isnan, isneg (the sign bit), not_positive (all but positive and finite numbers)
 *   give a mask; select(m, yes, no); any(m); mask(n): the first n elements, n at most a vector
 * - scale(x, n): x * 2^n rounded once, for 1/4 <= |x| <= 4, n integral, |n| <= 1100 (f32: 200)
 * - split(x, &n): x = m * 2^n for positive and finite x, subnormal ones too; 0.75 <= m < 1.5
 * - all_add, all_max, all_maximum, all_minimum: every element becomes the sum... of all, in a fixed
 *   order; swap(a, step): element i is that at i ^ 1 << step; first: element 0
 *
 * Memory, f64, f32 and the 16-bit types bf16 and f16, which are read and written as f32; E_e is the
 * type of one element there:
 *
 * - load, store: from and to any aligned element
 * - load_mask, store_mask: touch only the elements of a mask(n); the others are loaded as zero
 * - stream: a store past the caches, to an address aligned to the vector's size in memory; fence
 *   when done */
#ifndef CPU_VEC_H
#define CPU_VEC_H

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

#define VEC_INLINE static inline __attribute__((always_inline, unused))

#define PASTE_(a, b) a##b
#define PASTE(a, b)  PASTE_(a, b)

typedef double f64_e;
typedef float f32_e;
typedef uint16_t bf16_e;
typedef uint16_t f16_e;

#if defined(__AVX512F__)
#include "vec_avx512.h"
#else
#include "vec_avx2.h"
#endif

#define VEC_ALL(E, name)                                                                           \
    VEC_INLINE E##_t E##_all_##name(E##_t a)                                                       \
    {                                                                                              \
        for (int step = 0; 1 << step < E##_n; step++)                                              \
            a = E##_##name(a, E##_swap(a, step));                                                  \
        return a;                                                                                  \
    }
VEC_ALL(f32, add)
VEC_ALL(f32, max)
VEC_ALL(f32, maximum)
VEC_ALL(f32, minimum)
VEC_ALL(f64, add)
VEC_ALL(f64, max)
VEC_ALL(f64, maximum)
VEC_ALL(f64, minimum)
#undef VEC_ALL

VEC_INLINE void vec_fence(void)
{
    _mm_sfence();
}

/* Any address will do. */
VEC_INLINE void vec_prefetch(const void *p)
{
    _mm_prefetch((const char *)p, _MM_HINT_T0);
}

VEC_INLINE void vec_prefetch_l2(const void *p)
{
    _mm_prefetch((const char *)p, _MM_HINT_T1);
}

#endif
