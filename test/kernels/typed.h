/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of the four types that softmax, reduce, unary and binary take, seen as numbers. The
 * judge computes in long double. */
#ifndef TEST_KERNELS_TYPED_H
#define TEST_KERNELS_TYPED_H

#include "kernels_kit.h"

struct typed {
    uint32_t dtype;
    unsigned size;         /* bytes */
    int digits;            /* of the significand */
    int least;             /* 2^least is the smallest subnormal number */
    long double u;         /* half an ulp of 1 in the arithmetic, which for 16 bits is f32's */
    long double tiny, max; /* the smallest normal number of the arithmetic; the largest number */
};

#define TYPES 4
extern const struct typed typed_all[TYPES];

double typed_get(const struct typed *type, const void *memory, uint64_t i);
/* Rounds to nearest. */
void typed_put(const struct typed *type, void *memory, uint64_t i, double x);

/* The distance of two neighbours of a number near x. */
long double typed_ulp(const struct typed *type, long double x);

/* Whether got is within bound of want, plus half an ulp of a 16-bit type. A NaN wants a NaN; where
 * want is beyond the largest number, an infinity of its sign will do. */
bool typed_near(const struct typed *type, double got, long double want, long double bound);

/* Fills memory: with any bits, or with numbers between -scale and scale. */
void typed_fill_bits(const struct typed *type, void *memory, uint64_t n, uint64_t *seed);
void typed_fill(const struct typed *type, void *memory, uint64_t n, double scale, uint64_t *seed);

/* Bytes of n elements. */
static inline uint64_t typed_bytes(const struct typed *type, uint64_t n)
{
    return n * type->size;
}

#endif
