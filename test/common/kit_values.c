/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of every type as doubles. Written for the eye, and apart from plugins/common, whose
 * conversions it judges along with the rest. */
#include "kit.h"

#include <float.h>
#include <math.h>
#include <string.h>

const uint32_t kit_dtypes[4] = { CB_F64, CB_F32, CB_BF16, CB_F16 };

/* A binary format: digits after the leading one, the exponent of the smallest normal, the largest
 * finite number. */
struct format {
    int fraction;
    int min_exponent;
    double max;
};

static struct format format_of(uint32_t dtype)
{
    switch (dtype) {
    case CB_F64: return (struct format){ 52, -1022, DBL_MAX };
    case CB_F32: return (struct format){ 23, -126, FLT_MAX };
    case CB_BF16: return (struct format){ 7, -126, 0x1.fep127 };
    default: return (struct format){ 10, -14, 65504 };
    }
}

uint64_t kit_size(uint32_t dtype)
{
    return dtype == CB_F64 ? 8 : dtype == CB_F32 ? 4 : 2;
}

double kit_ulp(uint32_t dtype, double value)
{
    const struct format f = format_of(dtype);
    const int exponent =
        value != 0 && ilogb(value) > f.min_exponent ? ilogb(value) : f.min_exponent;
    return ldexp(1, exponent - f.fraction);
}

static double round_to(uint32_t dtype, double value)
{
    if (!isfinite(value) || value == 0)
        return value;
    const double ulp = kit_ulp(dtype, value);
    /* The division is exact in two halves only: half of an f64's smallest ulp is 0. */
    const int shift = ilogb(ulp) / 2;
    const double scaled = ldexp(ldexp(value, -shift), shift - ilogb(ulp));
    const double rounded = nearbyint(scaled) * ulp;
    return fabs(rounded) > format_of(dtype).max ? copysign(INFINITY, value) : rounded;
}

static double f16_value(uint16_t bits)
{
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double value;
    if (exponent == 31)
        value = fraction ? NAN : INFINITY;
    else
        value = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
    return bits >> 15 ? -value : value;
}

static uint16_t f16_bits(double value)
{
    const uint16_t sign = signbit(value) ? 0x8000 : 0;
    const double size = fabs(value);
    if (isnan(value))
        return 0x7e00 | sign;
    if (isinf(value))
        return 0x7c00 | sign;
    if (size < 0x1p-14)
        return (uint16_t)(ldexp(size, 24)) | sign;
    const int exponent = ilogb(size);
    return (uint16_t)(((exponent + 15) << 10) + (int)(ldexp(size, 10 - exponent) - 1024)) | sign;
}

double kit_get(uint32_t dtype, const void *data, uint64_t i)
{
    const unsigned char *at = (const unsigned char *)data + i * kit_size(dtype);
    double f64;
    float f32;
    uint16_t half;
    if (dtype == CB_F64) {
        memcpy(&f64, at, sizeof(f64));
        return f64;
    }
    if (dtype == CB_F32) {
        memcpy(&f32, at, sizeof(f32));
        return f32;
    }
    memcpy(&half, at, sizeof(half));
    if (dtype == CB_F16)
        return f16_value(half);
    const uint32_t bits = (uint32_t)half << 16;
    memcpy(&f32, &bits, sizeof(f32));
    return f32;
}

void kit_put(uint32_t dtype, void *data, uint64_t i, double value)
{
    unsigned char *at = (unsigned char *)data + i * kit_size(dtype);
    const double rounded = dtype == CB_F64 ? value : round_to(dtype, value);
    const float f32 = (float)rounded;
    uint32_t bits;
    uint16_t half;
    if (dtype == CB_F64) {
        memcpy(at, &rounded, sizeof(rounded));
        return;
    }
    if (dtype == CB_F32) {
        memcpy(at, &f32, sizeof(f32));
        return;
    }
    memcpy(&bits, &f32, sizeof(bits));
    half = dtype == CB_F16 ? f16_bits(rounded) : (uint16_t)(bits >> 16);
    memcpy(at, &half, sizeof(half));
}

void kit_fill(uint32_t dtype, void *data, uint64_t n, double value)
{
    for (uint64_t i = 0; i < n; i++)
        kit_put(dtype, data, i, value);
}

/* splitmix64 */
uint64_t kit_next(uint64_t *seed)
{
    uint64_t x = *seed += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

void kit_random(uint32_t dtype, void *data, uint64_t n, double scale, uint64_t seed)
{
    for (uint64_t i = 0; i < n; i++) {
        const double uniform = (double)(kit_next(&seed) >> 11) * 0x1p-52 - 1;
        kit_put(dtype, data, i, uniform * scale);
    }
}
