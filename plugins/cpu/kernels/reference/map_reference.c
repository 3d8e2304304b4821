/* SPDX-License-Identifier: Apache-2.0 */
/* unary and binary. The transcendental functions are computed in double whatever the type: for f32
 * and the 16-bit types that leaves one rounding, and for f64 it is libm's own. */
#include "reference.h"

#include "ieee.h"
#include "types.h"

/* Two forms, so that neither exponential overflows where the result does not. */
static double sigmoid(double x)
{
    if (x >= 0)
        return 1 / (1 + exp(-x));
    const double e = exp(x);
    return e / (1 + e);
}

#define SQRT(x) _Generic((x), float : sqrtf, double : sqrt)(x)
#define ABS(x)  _Generic((x), float : fabsf, double : fabs)(x)
#define RELU(x) ((x) > 0 || (x) != (x) ? (x) : 0)

/* One loop an op, so that the choice stays out of it. */
#define UNARY_LOOP(MEMORY, ARITHMETIC, LOAD, STORE, EXPRESSION)                                    \
    do {                                                                                           \
        const MEMORY *in = u->a;                                                                   \
        MEMORY *out = u->output;                                                                   \
        for (uint64_t i = 0; i < u->n; i++) {                                                      \
            const ARITHMETIC x = LOAD(in[i]);                                                      \
            out[i] = STORE((ARITHMETIC)(EXPRESSION));                                              \
        }                                                                                          \
    } while (0)

#define DEFINE_UNARY(SUFFIX, M, A, L, S)                                                           \
    static void unary_##SUFFIX(const struct cpu_map *u)                                            \
    {                                                                                              \
        switch (u->op) {                                                                           \
        case CB_UNARY_RELU: UNARY_LOOP(M, A, L, S, RELU(x)); break;                                \
        case CB_UNARY_SIGMOID: UNARY_LOOP(M, A, L, S, sigmoid(x)); break;                          \
        case CB_UNARY_TANH: UNARY_LOOP(M, A, L, S, tanh((double)x)); break;                        \
        case CB_UNARY_EXP: UNARY_LOOP(M, A, L, S, exp((double)x)); break;                          \
        case CB_UNARY_LOG: UNARY_LOOP(M, A, L, S, log((double)x)); break;                          \
        case CB_UNARY_SQRT: UNARY_LOOP(M, A, L, S, SQRT(x)); break;                                \
        case CB_UNARY_ABS: UNARY_LOOP(M, A, L, S, ABS(x)); break;                                  \
        default: UNARY_LOOP(M, A, L, S, -x); break;                                                \
        }                                                                                          \
    }
FOR_EACH_TYPE(DEFINE_UNARY)

#define BINARY_LOOP(MEMORY, ARITHMETIC, LOAD, STORE, EXPRESSION)                                   \
    do {                                                                                           \
        const MEMORY *a = b_->a, *b = b_->b;                                                       \
        MEMORY *out = b_->output;                                                                  \
        for (uint64_t i = 0; i < b_->n; i++) {                                                     \
            const ARITHMETIC x = LOAD(a[i]), y = LOAD(b[i]);                                       \
            out[i] = STORE(EXPRESSION);                                                            \
        }                                                                                          \
    } while (0)

#define DEFINE_BINARY(SUFFIX, M, A, L, S)                                                          \
    static void binary_##SUFFIX(const struct cpu_map *b_)                                          \
    {                                                                                              \
        switch (b_->op) {                                                                          \
        case CB_BINARY_ADD: BINARY_LOOP(M, A, L, S, x + y); break;                                 \
        case CB_BINARY_SUB: BINARY_LOOP(M, A, L, S, x - y); break;                                 \
        case CB_BINARY_MUL: BINARY_LOOP(M, A, L, S, x *y); break;                                  \
        case CB_BINARY_DIV: BINARY_LOOP(M, A, L, S, x / y); break;                                 \
        case CB_BINARY_MAX: BINARY_LOOP(M, A, L, S, IEEE_MAXIMUM(x, y)); break;                    \
        default: BINARY_LOOP(M, A, L, S, IEEE_MINIMUM(x, y)); break;                               \
        }                                                                                          \
    }
FOR_EACH_TYPE(DEFINE_BINARY)

void cpu_unary_reference(const struct cpu_map *u, const struct cpu_work *work)
{
    (void)work;
    DISPATCH_TYPE(u->dtype, unary, u);
}

void cpu_binary_reference(const struct cpu_map *b, const struct cpu_work *work)
{
    (void)work;
    DISPATCH_TYPE(b->dtype, binary, b);
}
