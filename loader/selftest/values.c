/* SPDX-License-Identifier: Apache-2.0 */
/* Element types, and values to try them with. */
#include "suite.h"

#include <string.h>

/* The binary formats: significand bits with the hidden one, and the exponents of the smallest and
 * the largest normal. */
static const struct format {
    uint32_t type, size;
    const char *name;
    int precision, emin, emax;
} formats[] = {
    { CB_F64, 8, "f64", 53, -1022, 1023 }, { CB_F32, 4, "f32", 24, -126, 127 },
    { CB_BF16, 2, "bf16", 8, -126, 127 },  { CB_F16, 2, "f16", 11, -14, 15 },
    { ST_RAW(1), 1, "8bit", 0, 0, 0 },     { ST_RAW(2), 2, "16bit", 0, 0, 0 },
    { ST_RAW(4), 4, "32bit", 0, 0, 0 },    { ST_RAW(8), 8, "64bit", 0, 0, 0 },
    { ST_RAW(16), 16, "128bit", 0, 0, 0 },
};

static const struct format *format_of(uint32_t type)
{
    for (size_t i = 0; i < ST_COUNT(formats); i++) {
        if (formats[i].type == type)
            return &formats[i];
    }
    return &formats[0];
}

uint32_t st_type_size(uint32_t type)
{
    return format_of(type)->size;
}

const char *st_type_name(uint32_t type)
{
    return format_of(type)->name;
}

/* 2^e, and the exponent of a value that is a normal double; this is where the time of filling
 * buffers goes, so without a call. */
static double two_to(int e)
{
    if (e < -1022)
        return ldexp(1.0, e);
    const uint64_t bits = (uint64_t)(e + 1023) << 52;
    double power;
    memcpy(&power, &bits, sizeof(power));
    return power;
}

static int exponent_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return (int)(bits >> 52 & 0x7ff) - 1023;
}

double st_ulp(uint32_t type, double at)
{
    const struct format *f = format_of(type);
    int e = exponent_of(at); /* of zero and of a subnormal it is below all */
    if (e < f->emin)
        e = f->emin;
    if (e > f->emax)
        e = f->emax;
    return two_to(e - (f->precision - 1));
}

double st_round(uint32_t type, double value)
{
    const struct format *f = format_of(type);
    if (type == CB_F64 || !isfinite(value) || value == 0.0)
        return value;
    const double ulp = st_ulp(type, value);
    const double limit = (2.0 - two_to(1 - f->precision)) * two_to(f->emax);
    const double rounded = nearbyint(value / ulp) * ulp;
    return copysign(fabs(rounded) > limit ? INFINITY : rounded, value);
}

static uint16_t encode_16(const struct format *f, double value)
{
    const uint16_t sign = signbit(value) ? 0x8000 : 0;
    const int fraction = f->precision - 1;
    const uint16_t infinity = (uint16_t)(0x7fff >> fraction << fraction);
    if (isnan(value))
        return (uint16_t)(sign | infinity | 1u << (fraction - 1));
    const double magnitude = fabs(st_round(f->type, value));
    if (isinf(magnitude))
        return sign | infinity;
    if (magnitude < two_to(f->emin))
        return (uint16_t)(sign | (uint16_t)(magnitude * two_to(fraction - f->emin)));
    const int e = exponent_of(magnitude);
    const uint16_t mantissa = (uint16_t)(magnitude * two_to(fraction - e));
    return (uint16_t)(sign | (((e - f->emin) << fraction) + mantissa));
}

static double decode_16(const struct format *f, uint16_t bits)
{
    const int fraction = f->precision - 1;
    const int mantissa = bits & ((1 << fraction) - 1);
    const int exponent = (bits & 0x7fff) >> fraction;
    double magnitude;
    if (exponent == f->emax - f->emin + 2)
        magnitude = mantissa ? NAN : INFINITY;
    else if (exponent == 0)
        magnitude = mantissa * two_to(f->emin - fraction);
    else
        magnitude = (mantissa + (1 << fraction)) * two_to(exponent - 1 + f->emin - fraction);
    return bits & 0x8000 ? -magnitude : magnitude;
}

void st_encode(uint32_t type, double value, void *bits)
{
    if (type == CB_F64) {
        memcpy(bits, &value, sizeof(value));
    } else if (type == CB_F32) {
        const float f = (float)value;
        memcpy(bits, &f, sizeof(f));
    } else {
        const uint16_t h = encode_16(format_of(type), value);
        memcpy(bits, &h, sizeof(h));
    }
}

double st_decode(uint32_t type, const void *bits)
{
    if (type == CB_F64) {
        double d;
        memcpy(&d, bits, sizeof(d));
        return d;
    }
    if (type == CB_F32) {
        float f;
        memcpy(&f, bits, sizeof(f));
        return (double)f;
    }
    uint16_t h;
    memcpy(&h, bits, sizeof(h));
    return decode_16(format_of(type), h);
}

/* The payload changes from element to element, so that a guard that was moved shows too. */
void st_canary(uint32_t type, uint64_t index, void *bits)
{
    const uint64_t payload = 1 + index % 29;
    if (type == CB_F64) {
        const uint64_t nan = 0x7ff4000000000000 | payload;
        memcpy(bits, &nan, sizeof(nan));
    } else if (type == CB_F32) {
        const uint32_t nan = 0x7fa00000u | (uint32_t)payload;
        memcpy(bits, &nan, sizeof(nan));
    } else if (type == CB_F16 || type == CB_BF16) {
        const uint16_t nan = (uint16_t)((type == CB_F16 ? 0x7d00 : 0x7f80) | payload);
        memcpy(bits, &nan, sizeof(nan));
    } else {
        memset(bits, (int)(0xa0 ^ payload), st_type_size(type));
    }
}

uint64_t st_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

double st_uniform(uint64_t *state)
{
    return (double)((int64_t)(st_random(state) >> 39) - (1 << 24)) / (1 << 24);
}

/* FNV-1a. */
uint64_t st_hash(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325;
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3;
    return hash;
}

bool st_special(uint32_t type, uint64_t i, double *value)
{
    static const double plain[] = {
        0.0,     0.5,     1.0,      1.5,     2.0,     3.0,      10.0,     15.5,     17.5,
        20.0,    34.0,    87.0,     88.0,    88.375,  88.71875, 88.7225,  88.75,    89.0,
        90.0,    100.0,   103.5,    104.0,   126.0,   127.0,    128.0,    149.0,    400.0,
        708.0,   709.0,   709.75,   710.0,   745.0,   746.0,    10000.0,  0.625,    0.25,
        0.34375, 0.6875,  1e-3,     1e-4,    1e-8,    1e-17,    1e-30,    INFINITY, NAN,
        0.75,    0.96875, 1.015625, 1.03125, 0x1p-24, 0x1p-14,  0x1p-126, 65504.0,  65520.0,
    };
    const struct format *f = format_of(type);
    const double normal = ldexp(1.0, f->emin), limit = ldexp(1.0, f->emax),
                 epsilon = ldexp(1.0, 1 - f->precision);
    const double ends[] = {
        normal * epsilon,
        normal * epsilon * 2.0,
        normal * (1.0 - epsilon),
        normal,
        normal * (1 + epsilon),
        limit * (2.0 - epsilon),
        limit,
        1.0 - epsilon,
        1.0 - epsilon / 2.0,
        1.0 + epsilon,
        epsilon,
        1.0 / limit,
    };
    const uint64_t n = ST_COUNT(plain) + ST_COUNT(ends);
    if (i >= 2 * n)
        return false;
    const uint64_t at = i / 2;
    const double v = at < ST_COUNT(plain) ? plain[at] : ends[at - ST_COUNT(plain)];
    *value = st_round(type, i % 2 ? -v : v);
    return true;
}
