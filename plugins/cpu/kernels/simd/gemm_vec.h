/* SPDX-License-Identifier: Apache-2.0 */
/* The vectors that a tile is made of, by the instruction set that this is compiled for: T_t is one
 * of T_n elements, T_m says which of its first elements count. What a mask leaves out is neither
 * read nor written, and loaded as 0. */
#ifndef CPU_GEMM_VEC_H
#define CPU_GEMM_VEC_H

#include <immintrin.h>
#include <stdbool.h>

#if defined(__AVX512F__)

#define MM(op) _mm512_##op
typedef __m512d f64_t;
typedef __m512 f32_t;
typedef __mmask8 f64_m;
typedef __mmask16 f32_m;
enum {
    f64_n = 8,
    f32_n = 16
};

#define MASK(T, bits, suffix, REAL)                                                                \
    static inline T##_m T##_mask(unsigned n)                                                       \
    {                                                                                              \
        return (T##_m)((1u << n) - 1);                                                             \
    }                                                                                              \
    static inline bool T##_mask_full(T##_m m)                                                      \
    {                                                                                              \
        return m == T##_mask(T##_n);                                                               \
    }                                                                                              \
    static inline T##_t T##_load_mask(const REAL *p, T##_m m)                                      \
    {                                                                                              \
        return _mm512_maskz_loadu_##suffix(m, p);                                                  \
    }                                                                                              \
    static inline void T##_store_mask(REAL *p, T##_m m, T##_t x)                                   \
    {                                                                                              \
        _mm512_mask_storeu_##suffix(p, m, x);                                                      \
    }

#else

#define MM(op) _mm256_##op
typedef __m256d f64_t;
typedef __m256 f32_t;
typedef __m256i f64_m;
typedef __m256i f32_m;
enum {
    f64_n = 4,
    f32_n = 8
};

/* Of eight 32-bit parts, those of the first n elements. */
#define MASK(T, bits, suffix, REAL)                                                                \
    static inline T##_m T##_mask(unsigned n)                                                       \
    {                                                                                              \
        const __m256i parts = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);                           \
        return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)(n * bits / 32)), parts);                 \
    }                                                                                              \
    static inline bool T##_mask_full(T##_m m)                                                      \
    {                                                                                              \
        return _mm256_movemask_epi8(m) == -1;                                                      \
    }                                                                                              \
    static inline T##_t T##_load_mask(const REAL *p, T##_m m)                                      \
    {                                                                                              \
        return _mm256_maskload_##suffix(p, m);                                                     \
    }                                                                                              \
    static inline void T##_store_mask(REAL *p, T##_m m, T##_t x)                                   \
    {                                                                                              \
        _mm256_maskstore_##suffix(p, m, x);                                                        \
    }

#endif

#define VECTOR(T, suffix, REAL)                                                                    \
    static inline T##_t T##_zero(void)                                                             \
    {                                                                                              \
        return MM(setzero_##suffix)();                                                             \
    }                                                                                              \
    static inline T##_t T##_set1(REAL x)                                                           \
    {                                                                                              \
        return MM(set1_##suffix)(x);                                                               \
    }                                                                                              \
    static inline T##_t T##_load(const REAL *p)                                                    \
    {                                                                                              \
        return MM(loadu_##suffix)(p);                                                              \
    }                                                                                              \
    static inline void T##_store(REAL *p, T##_t x)                                                 \
    {                                                                                              \
        MM(storeu_##suffix)(p, x);                                                                 \
    }                                                                                              \
    static inline void T##_stream(REAL *p, T##_t x)                                                \
    {                                                                                              \
        MM(stream_##suffix)(p, x);                                                                 \
    }                                                                                              \
    static inline T##_t T##_mul(T##_t a, T##_t b)                                                  \
    {                                                                                              \
        return MM(mul_##suffix)(a, b);                                                             \
    }                                                                                              \
    static inline T##_t T##_fma(T##_t a, T##_t b, T##_t c)                                         \
    {                                                                                              \
        return MM(fmadd_##suffix)(a, b, c);                                                        \
    }
VECTOR(f64, pd, double)
VECTOR(f32, ps, float)
MASK(f64, 64, pd, double)
MASK(f32, 32, ps, float)

#undef VECTOR
#undef MASK
#undef MM

#endif
