/* SPDX-License-Identifier: Apache-2.0 */
/* The two 16-bit storage types. Rounding is to nearest, ties to even; subnormals are kept, what is
 * too large becomes infinity, and a NaN becomes the quiet NaN of its sign without payload. Integer
 * arithmetic only: the same bits under any rounding mode and on any machine. */
#ifndef CBC_HALF_H
#define CBC_HALF_H

#include <stdint.h>

static inline uint32_t cbc_f32_bits(float x)
{
    uint32_t bits;
    __builtin_memcpy(&bits, &x, sizeof(bits));
    return bits;
}

static inline float cbc_f32_from_bits(uint32_t bits)
{
    float x;
    __builtin_memcpy(&x, &bits, sizeof(x));
    return x;
}

static inline uint16_t cbc_f32_to_bf16(float x)
{
    const uint32_t b = cbc_f32_bits(x);
    if ((b & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)((b >> 16 & 0x8000u) | 0x7fc0u);
    return (uint16_t)((b + 0x7fffu + (b >> 16 & 1u)) >> 16);
}

static inline float cbc_bf16_to_f32(uint16_t h)
{
    return cbc_f32_from_bits((uint32_t)h << 16);
}

static inline uint16_t cbc_f32_to_f16(float x)
{
    const uint32_t b = cbc_f32_bits(x), sign = b >> 16 & 0x8000u, mag = b & 0x7fffffffu;

    if (mag > 0x7f800000u)
        return (uint16_t)(sign | 0x7e00u);
    if (mag >= 0x477ff000u) /* 65520, halfway between the largest f16 and the next power of two */
        return (uint16_t)(sign | 0x7c00u);
    if (mag >= 0x38800000u) { /* 2^-14, the smallest normal f16 */
        const uint32_t rebased = mag - (112u << 23);
        return (uint16_t)(sign | ((rebased + 0xfffu + (rebased >> 13 & 1u)) >> 13));
    }
    if (mag <= 0x33000000u) /* 2^-25, halfway between 0 and the smallest subnormal */
        return (uint16_t)sign;

    /* A subnormal: the significand with its hidden bit, in units of 2^-24. */
    const uint32_t significand = (mag & 0x7fffffu) | 0x800000u, shift = 126u - (mag >> 23);
    const uint32_t kept = significand >> shift, rest = significand & ((1u << shift) - 1);
    const uint32_t half = 1u << (shift - 1);
    return (uint16_t)(sign | (kept + (rest > half || (rest == half && (kept & 1u)))));
}

static inline float cbc_f16_to_f32(uint16_t h)
{
    const uint32_t sign = (uint32_t)(h & 0x8000u) << 16, exponent = h >> 10 & 0x1fu;
    uint32_t fraction = h & 0x3ffu;

    if (exponent == 0x1f)
        return cbc_f32_from_bits(sign | 0x7f800000u | fraction << 13);
    if (exponent)
        return cbc_f32_from_bits(sign | (exponent + 112u) << 23 | fraction << 13);
    if (!fraction)
        return cbc_f32_from_bits(sign);
    const uint32_t up = (uint32_t)__builtin_clz(fraction) - 21u; /* brings the leading bit to 10 */
    fraction = fraction << up & 0x3ffu;
    return cbc_f32_from_bits(sign | (113u - up) << 23 | fraction << 13);
}

#endif
