/* SPDX-License-Identifier: Apache-2.0 */
/* The vocabulary that kernels for AVX2 and AVX-512 are written in, so that both come from one text.
 *
 * f32_t and f64_t are a vector of f32_n floats or f64_n doubles; f32_m and f64_m say which of its
 * elements are meant. A function's name begins with what it works on:
 *   arithmetic (f32, f64)
 *     zero, set1; add, sub, mul, div, sqrt; fma(a, b, c) = a*b + c, fnma = c - a*b, each rounded
 *     once; neg, abs; round: to the nearest integer, ties to even
 *     max, min: of a number and a NaN the second; what they make of two zeros is not said
 *     maximum, minimum: IEEE 754-2019's
 *     lt, le, gt, eq, isnan, isneg (the sign bit) give a mask; select(m, yes, no); any(m)
 *     scale(x, n): x * 2^n rounded once, for 1/4 <= |x| <= 4, n integral, |n| <= 1100 (f32: 200)
 *     split(x, &n): x = m * 2^n for positive and finite x, subnormal ones too: 0.75 <= m < 1.5
 *     sum, max_of, min_of: of the elements of one vector, in a fixed order
 *   memory (f64, f32 and the 16-bit types bf16 and f16, which are read and written as f32)
 *     load, store: any aligned element; load_mask: zero where the mask is not, and nothing is read
 *     there; store_mask; stream: a store past the caches to an address aligned to the vector in
 *     memory, ordered by vec_fence
 *     mask(n): the first n elements, n at most a vector (of the arithmetic type); the 16-bit types
 *     take no other masks
 *
 * E_e is the type of an element of E in memory. */
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

VEC_INLINE void vec_fence(void)
{
    _mm_sfence();
}

VEC_INLINE void vec_prefetch(const void *p)
{
    _mm_prefetch((const char *)p, _MM_HINT_T0);
}

#endif
