/* SPDX-License-Identifier: Apache-2.0 */
#include "typed.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "half.h"

const struct typed typed_all[TYPES] = {
    { CB_F64, 8, 53, -1074, 0x1p-53L, 0x1p-1022L, DBL_MAX },
    { CB_F32, 4, 24, -149, 0x1p-24L, 0x1p-126L, FLT_MAX },
    { CB_BF16, 2, 8, -133, 0x1p-24L, 0x1p-126L, 0x1.fep127L },
    { CB_F16, 2, 11, -24, 0x1p-24L, 0x1p-126L, 65504 },
};

double typed_get(const struct typed *type, const void *memory, uint64_t i)
{
    switch (type->dtype) {
    case CB_F64: return ((const double *)memory)[i];
    case CB_F32: return ((const float *)memory)[i];
    case CB_BF16: return cbc_bf16_to_f32(((const uint16_t *)memory)[i]);
    default: return cbc_f16_to_f32(((const uint16_t *)memory)[i]);
    }
}

void typed_put(const struct typed *type, void *memory, uint64_t i, double x)
{
    switch (type->dtype) {
    case CB_F64: ((double *)memory)[i] = x; break;
    case CB_F32: ((float *)memory)[i] = (float)x; break;
    case CB_BF16: ((uint16_t *)memory)[i] = cbc_f32_to_bf16((float)x); break;
    default: ((uint16_t *)memory)[i] = cbc_f32_to_f16((float)x); break;
    }
}

long double typed_ulp(const struct typed *type, long double x)
{
    int exponent = 0;
    frexpl(x, &exponent);
    exponent -= type->digits;
    return ldexpl(1, x == 0 || exponent < type->least ? type->least : exponent);
}

bool typed_near(const struct typed *type, double got, long double want, long double bound)
{
    if (isnan(want))
        return isnan(got);
    if (isinf(want))
        return got == (double)want;
    if (type->size == 2)
        bound += typed_ulp(type, want) / 2;
    const long double most = type->max + typed_ulp(type, type->max) / 2;
    if (isinf(got))
        return !signbit(got) == !signbit(want) && fabsl(want) + bound >= most;
    return fabsl(got - want) <= bound;
}

void typed_fill_bits(const struct typed *type, void *memory, uint64_t n, uint64_t *seed)
{
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t bits = kit_random(seed) >> 7;
        memcpy((char *)memory + i * type->size, &bits, type->size);
    }
}

void typed_fill(const struct typed *type, void *memory, uint64_t n, double scale, uint64_t *seed)
{
    for (uint64_t i = 0; i < n; i++)
        typed_put(type, memory, i, ((double)(kit_random(seed) >> 11) / 0x1p52 - 1) * scale);
}
