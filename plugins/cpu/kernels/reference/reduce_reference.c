/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions along one axis, each output over the axis in ascending order. */
#include "reference.h"

#include "ieee.h"
#include "sum.h"
#include "types.h"

/* Defines, for one type, the four reductions of the strided line that gives one output. */
#define DEFINE_REDUCE(SUFFIX, MEMORY, ARITHMETIC, LOAD, STORE)                                     \
    static ARITHMETIC plain_sum_##SUFFIX(const MEMORY *x, uint64_t len, uint64_t stride)           \
    {                                                                                              \
        ARITHMETIC sum = 0;                                                                        \
        for (uint64_t i = 0; i < len; i++)                                                         \
            sum += LOAD(x[i * stride]);                                                            \
        return sum;                                                                                \
    }                                                                                              \
                                                                                                   \
    static double long_sum_##SUFFIX(const MEMORY *x, uint64_t len, uint64_t stride)                \
    {                                                                                              \
        struct wide_sum sum = { 0, 0 };                                                            \
        for (uint64_t i = 0; i < len; i++)                                                         \
            wide_sum_add(&sum, LOAD(x[i * stride]));                                               \
        return wide_sum_total(&sum);                                                               \
    }                                                                                              \
                                                                                                   \
    static ARITHMETIC line_##SUFFIX(const struct cpu_axis *r, const MEMORY *x)                     \
    {                                                                                              \
        ARITHMETIC value = r->op == CB_REDUCE_MAX ? -INFINITY : INFINITY;                          \
        if (r->op == CB_REDUCE_SUM || r->op == CB_REDUCE_MEAN) {                                   \
            const ARITHMETIC terms = r->op == CB_REDUCE_MEAN ? (ARITHMETIC)r->len : 1;             \
            if (r->len <= LONGEST_PLAIN_SUM)                                                       \
                return plain_sum_##SUFFIX(x, r->len, r->inner) / terms;                            \
            return (ARITHMETIC)(long_sum_##SUFFIX(x, r->len, r->inner) / terms);                   \
        }                                                                                          \
        for (uint64_t i = 0; i < r->len; i++) {                                                    \
            const ARITHMETIC next = LOAD(x[i * r->inner]);                                         \
            value =                                                                                \
                r->op == CB_REDUCE_MAX ? IEEE_MAXIMUM(value, next) : IEEE_MINIMUM(value, next);    \
        }                                                                                          \
        return value;                                                                              \
    }                                                                                              \
                                                                                                   \
    static void reduce_##SUFFIX(const struct cpu_axis *r)                                          \
    {                                                                                              \
        const MEMORY *x = r->input;                                                                \
        MEMORY *out = r->output;                                                                   \
        for (uint64_t o = 0; o < r->outer; o++)                                                    \
            for (uint64_t i = 0; i < r->inner; i++)                                                \
                out[o * r->inner + i] =                                                            \
                    STORE(line_##SUFFIX(r, r->len ? x + o * r->len * r->inner + i : x));           \
    }
FOR_EACH_TYPE(DEFINE_REDUCE)

void cpu_reduce_reference(const struct cpu_axis *r, const struct cpu_work *work)
{
    (void)work;
    DISPATCH_TYPE(r->dtype, reduce, r);
}
