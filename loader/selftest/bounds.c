/* SPDX-License-Identifier: Apache-2.0 */
/* How right is right: the bounds of the contract, and the verdict on one element. */
#include "suite.h"

#include <float.h>

static bool stored_in_16_bits(uint32_t type)
{
    return type == CB_F16 || type == CB_BF16;
}

double st_unit(uint32_t type)
{
    return type == CB_F64 ? 0x1p-53 : 0x1p-24;
}

/* 16-bit types are computed in f32; what their storage adds is half an ulp. */
double st_smallest(uint32_t type)
{
    return type == CB_F64 ? 0x1p-1074 : 0x1p-149;
}

double st_bound(uint32_t type, double bound, double terms, double at)
{
    const double whole = bound + (terms + 4.0) * st_smallest(type);
    return stored_in_16_bits(type) ? whole + st_ulp(type, fabs(at) + whole) / 2.0 : whole;
}

double st_sum_bound(uint32_t type, uint64_t n)
{
    const double terms = (double)n;
    return (n <= 4096 ? terms + 2.0 : log2(terms) + 8.0) * st_unit(type);
}

/* From where on a value rounds to infinity. For f64 the threshold itself has no double. */
static double overflow_from(uint32_t type)
{
    switch (type) {
    case CB_F16: return 65520.0;
    case CB_BF16: return 0x1.ffp+127;
    case CB_F32: return 0x1.ffffffp+127;
    default: return DBL_MAX;
    }
}

bool st_right(uint32_t type, const struct st_want *want, double got, double *error)
{
    const double value = want->value.hi;
    *error = NAN;
    if (isnan(value) || isnan(got))
        return isnan(value) && isnan(got);
    if (want->kind == ST_EXACT) {
        *error = got == value ? 0.0 : fabs(got - value);
        return got == value && signbit(got) == signbit(value);
    }
    if (isinf(value) || isinf(got)) {
        *error = got == value ? 0.0 : INFINITY;
        return got == value || (isinf(got) && isfinite(value) && signbit(got) == signbit(value) &&
                                fabs(value) + want->bound >= overflow_from(type));
    }
    *error = fabs((got - value) - want->value.lo);
    return *error <= want->bound;
}
