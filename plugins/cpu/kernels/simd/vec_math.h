/* SPDX-License-Identifier: Apache-2.0 */
/* exp, log, tanh and sigmoid of a vector, f32_ and f64_, over the whole range: subnormal numbers in
 * and out, infinities, NaN. Errors are in docs/unary_errors.md.
 *
 * exp(x) = 2^n * exp(r) with n an integer and |r| <= ln 2 / 2; log(x) = n * ln 2 + log(m) with
 * 0.75 <= m < 1.5. The polynomials are minimax approximations over these ranges. */
#ifndef CPU_VEC_MATH_H
#define CPU_VEC_MATH_H

#include <math.h>

#include "vec.h"

/* (exp(r) - 1 - r) / r^2, lowest power first */
static const float f32_exp_poly[] = { 0x1p-1f, 0x1.55548ep-3f, 0x1.55545ep-5f, 0x1.123b58p-7f,
                                      0x1.6db4aap-10f };
static const double f64_exp_poly[] = { 0x1.000000000000bp-1,  0x1.5555555555561p-3,
                                       0x1.555555555002ep-5,  0x1.111111110d5e2p-7,
                                       0x1.6c16c185a7c96p-10, 0x1.a01a01bb036a1p-13,
                                       0x1.a01996926872fp-16, 0x1.71dddf7a2bee6p-19,
                                       0x1.28b04a64909ddp-22, 0x1.af861504427ddp-26 };

/* (log(1 + r) - r + r^2 / 2) / r^3 */
static const float f32_log_poly[] = { 0x1.5555a4p-2f,  -0x1.000040p-2f, 0x1.9969b0p-3f,
                                      -0x1.54efdcp-3f, 0x1.28847cp-3f,  -0x1.0d8a90p-3f,
                                      0x1.ac90c8p-4f,  -0x1.7140c8p-5f };

/* (log((1 + s) / (1 - s)) - 2s) / s^3, in powers of s^2 */
static const double f64_log_poly[] = { 0x1.555555555554fp-1, 0x1.999999999c1aep-2,
                                       0x1.24924921e1800p-2, 0x1.c71c749206eb7p-3,
                                       0x1.745c4a5c05b89p-3, 0x1.3b35d0342f96ep-3,
                                       0x1.0dca9e0b6592ep-3, 0x1.1b87e361dd194p-3 };

/* ln 2, and in two parts, the first so short that its product with n is exact; of exp, where the
 * result is surely 0 and infinity; of tanh, where it is surely 1. */
enum {
    MATH_LOG2E,
    MATH_LN2,
    MATH_LN2_HIGH,
    MATH_LN2_LOW,
    MATH_EXP_MIN,
    MATH_EXP_MAX,
    MATH_TANH_MAX
};
static const float f32_math[] = {
    0x1.715476p+0f, 0x1.62e43p-1f, 0x1.62e4p-1f, 0x1.7f7d1cp-20f, -104, 89, 10
};
static const double f64_math[] = { 0x1.71547652b82fep+0,
                                   0x1.62e42fefa39efp-1,
                                   0x1.62e42fefa3p-1,
                                   0x1.3de6af278ece6p-42,
                                   -746,
                                   710,
                                   20 };

#define MATH_POLY(E, x, name) E##_horner(x, name, (int)(sizeof(name) / sizeof(name[0])))

/* What is written alike for both. */
#define DEFINE_MATH(E)                                                                             \
    VEC_INLINE E##_t E##_horner(E##_t x, const E##_e *c, int n)                                    \
    {                                                                                              \
        E##_t sum = E##_set1(c[n - 1]);                                                            \
        for (int i = n - 2; i >= 0; i--)                                                           \
            sum = E##_fma(sum, x, E##_set1(c[i]));                                                 \
        return sum;                                                                                \
    }                                                                                              \
                                                                                                   \
    /* exp(r) - 1, and n */                                                                        \
    VEC_INLINE E##_t E##_exp_parts(E##_t x, E##_t *n)                                              \
    {                                                                                              \
        *n = E##_round(E##_mul(x, E##_set1(E##_math[MATH_LOG2E])));                                \
        E##_t r = E##_fnma(*n, E##_set1(E##_math[MATH_LN2_HIGH]), x);                              \
        r = E##_fnma(*n, E##_set1(E##_math[MATH_LN2_LOW]), r);                                     \
        return E##_fma(E##_mul(r, r), MATH_POLY(E, r, E##_exp_poly), r);                           \
    }                                                                                              \
                                                                                                   \
    /* For x up to EXP_MAX. max gives its second operand when it is NaN. */                        \
    VEC_INLINE E##_t E##_exp_below(E##_t x)                                                        \
    {                                                                                              \
        E##_t n;                                                                                   \
        const E##_t p = E##_exp_parts(E##_max(E##_set1(E##_math[MATH_EXP_MIN]), x), &n);           \
        return E##_scale(E##_add(p, E##_set1(1)), n);                                              \
    }                                                                                              \
                                                                                                   \
    VEC_INLINE E##_t E##_exp(E##_t x)                                                              \
    {                                                                                              \
        return E##_exp_below(E##_min(E##_set1(E##_math[MATH_EXP_MAX]), x));                        \
    }                                                                                              \
                                                                                                   \
    /* With e = exp(-|x|), 1/(1 + e) or e/(1 + e): neither overflows, and the second keeps its     \
     * precision down to the subnormal numbers. */                                                 \
    VEC_INLINE E##_t E##_sigmoid(E##_t x)                                                          \
    {                                                                                              \
        const E##_t one = E##_set1(1), e = E##_exp_below(E##_neg(E##_abs(x)));                     \
        return E##_div(E##_select(E##_isneg(x), e, one), E##_add(one, e));                         \
    }                                                                                              \
                                                                                                   \
    /* With d = exp(-2|x|) - 1, -d/(2 + d) and the sign of x. */                                   \
    VEC_INLINE E##_t E##_tanh(E##_t x)                                                             \
    {                                                                                              \
        const E##_t most = E##_set1(E##_math[MATH_TANH_MAX]), one = E##_set1(1);                   \
        E##_t n;                                                                                   \
        const E##_t y = E##_mul(E##_min(most, E##_abs(x)), E##_set1(-2));                          \
        const E##_t p = E##_exp_parts(y, &n), power = E##_scale(one, n);                           \
        const E##_t d = E##_fma(power, p, E##_sub(power, one));                                    \
        return E##_copysign(E##_div(d, E##_add(d, E##_set1(2))), x);                               \
    }                                                                                              \
                                                                                                   \
    /* log of what is no positive and finite number; y for the others */                           \
    VEC_INLINE E##_t E##_log_others(E##_t x, E##_t y)                                              \
    {                                                                                              \
        y = E##_select(E##_lt(x, E##_zero()), E##_set1(NAN), y);                                   \
        y = E##_select(E##_eq(x, E##_zero()), E##_set1(-INFINITY), y);                             \
        y = E##_select(E##_eq(x, E##_set1(INFINITY)), x, y);                                       \
        return E##_select(E##_isnan(x), x, y);                                                     \
    }                                                                                              \
                                                                                                   \
    VEC_INLINE E##_t E##_log_positive(E##_t x);                                                    \
                                                                                                   \
    VEC_INLINE E##_t E##_log(E##_t x)                                                              \
    {                                                                                              \
        const E##_t y = E##_log_positive(x);                                                       \
        const E##_m others = E##_not_positive(x);                                                  \
        if (__builtin_expect(E##_any(others), 0))                                                  \
            return E##_log_others(x, y);                                                           \
        return y;                                                                                  \
    }
DEFINE_MATH(f32)
DEFINE_MATH(f64)

/* exp(x), x at most 0. Shorter than exp_below, it takes n ln 2 off in one step, with an error of
 * |x| / 20 half ulps: a difference of numbers has one of |x| as it is rounded. */
VEC_INLINE f32_t f32_exp_difference(f32_t x)
{
    const f32_t one = f32_set1(1), magic = f32_set1(0x1.8p23f);
    x = f32_max(f32_set1(f32_math[MATH_EXP_MIN]), x);
    const f32_t n = f32_sub(f32_fma(x, f32_set1(f32_math[MATH_LOG2E]), magic), magic);
    const f32_t r = f32_fnma(n, f32_set1(f32_math[MATH_LN2]), x);
    const f32_t q = f32_fma(MATH_POLY(f32, r, f32_exp_poly), r, one);
    return f32_scale(f32_fma(q, r, one), n);
}

VEC_INLINE f64_t f64_exp_difference(f64_t x)
{
    return f64_exp_below(x);
}

/* Here ln 2 rounded to f32 is good enough: its own error is a twentieth of an ulp. */
VEC_INLINE f32_t f32_log_positive(f32_t x)
{
    f32_t n;
    const f32_t r = f32_sub(f32_split(x, &n), f32_set1(1));
    const f32_t q = f32_fma(MATH_POLY(f32, r, f32_log_poly), r, f32_set1(-0.5f));
    const f32_t y = f32_fma(f32_mul(r, r), q, r);
    return f32_fma(n, f32_set1(f32_math[MATH_LN2]), y);
}

/* With s = r/(2 + r) and h = r^2/2, log(1 + r) = r - (h - s*(h + s^2*poly)): the large terms are
 * exact or small. */
VEC_INLINE f64_t f64_log_positive(f64_t x)
{
    f64_t n;
    const f64_t r = f64_sub(f64_split(x, &n), f64_set1(1));
    const f64_t s = f64_div(r, f64_add(r, f64_set1(2))), z = f64_mul(s, s);
    const f64_t h = f64_mul(f64_mul(r, r), f64_set1(0.5));
    const f64_t inner = f64_fma(z, MATH_POLY(f64, z, f64_log_poly), h);
    const f64_t low = f64_fma(s, inner, f64_mul(n, f64_set1(f64_math[MATH_LN2_LOW])));
    const f64_t y = f64_sub(r, f64_sub(h, low));
    return f64_fma(n, f64_set1(f64_math[MATH_LN2_HIGH]), y);
}

#endif
