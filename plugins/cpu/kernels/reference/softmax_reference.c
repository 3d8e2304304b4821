/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax along one axis: maximum, exponentials and their sum, quotients. NaN, an infinite maximum
 * and a line of -infinity come out as NaN by themselves: no guard may hide them. */
#include "reference.h"

#include "sum.h"
#include "types.h"

#define EXP(x) _Generic((x), float : expf, double : exp)(x)

/* Defines, for one type, the softmax of one strided line. A 16-bit output cannot hold an
 * exponential without rounding it, so there it is computed again for the quotient. */
#define DEFINE_SOFTMAX(SUFFIX, MEMORY, ARITHMETIC, LOAD, STORE)                                    \
    static void line_##SUFFIX(const MEMORY *x, MEMORY *out, uint64_t len, uint64_t stride)         \
    {                                                                                              \
        const int keep = sizeof(MEMORY) == sizeof(ARITHMETIC);                                     \
        ARITHMETIC max = -INFINITY, sum = 0;                                                       \
        struct wide_sum wide = { 0, 0 };                                                           \
        for (uint64_t i = 0; i < len; i++)                                                         \
            max = LOAD(x[i * stride]) > max ? LOAD(x[i * stride]) : max;                           \
        for (uint64_t i = 0; i < len; i++) {                                                       \
            const ARITHMETIC e = EXP(LOAD(x[i * stride]) - max);                                   \
            if (keep)                                                                              \
                out[i * stride] = STORE(e);                                                        \
            if (len <= LONGEST_PLAIN_SUM)                                                          \
                sum += e;                                                                          \
            else                                                                                   \
                wide_sum_add(&wide, e);                                                            \
        }                                                                                          \
        if (len > LONGEST_PLAIN_SUM)                                                               \
            sum = (ARITHMETIC)wide_sum_total(&wide);                                               \
        const ARITHMETIC scale = 1 / sum;                                                          \
        for (uint64_t i = 0; i < len; i++) {                                                       \
            const ARITHMETIC e = keep ? LOAD(out[i * stride]) : EXP(LOAD(x[i * stride]) - max);    \
            out[i * stride] = STORE(e * scale);                                                    \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    static void softmax_##SUFFIX(const struct cpu_axis *s)                                         \
    {                                                                                              \
        for (uint64_t o = 0; o < s->outer; o++)                                                    \
            for (uint64_t i = 0; i < s->inner; i++) {                                              \
                const uint64_t at = o * s->len * s->inner + i;                                     \
                line_##SUFFIX((const MEMORY *)s->input + at, (MEMORY *)s->output + at, s->len,     \
                              s->inner);                                                           \
            }                                                                                      \
    }
FOR_EACH_TYPE(DEFINE_SOFTMAX)

void cpu_softmax_reference(const struct cpu_axis *s, const struct cpu_work *work)
{
    (void)work;
    DISPATCH_TYPE(s->dtype, softmax, s);
}
