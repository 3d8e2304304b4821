/* SPDX-License-Identifier: Apache-2.0 */
/* The four element types of softmax, reduce, unary and binary, for the template headers.
 *
 * FOR_EACH_TYPE(X) calls X(suffix, type in memory, type of arithmetic, load, store). The 16-bit
 * types compute in f32 and round once, when stored. */
#ifndef CPU_TYPES_H
#define CPU_TYPES_H

#include "compute_backend.h"
#include "half.h"

#define AS_IS(x) (x)
#define FOR_EACH_TYPE(X)                                                                           \
    X(f64, double, double, AS_IS, AS_IS)                                                           \
    X(f32, float, float, AS_IS, AS_IS)                                                             \
    X(bf16, uint16_t, float, cbc_bf16_to_f32, cbc_f32_to_bf16)                                     \
    X(f16, uint16_t, float, cbc_f16_to_f32, cbc_f32_to_f16)

/* Calls function_SUFFIX(...) by a dtype. */
#define DISPATCH_TYPE(dtype, function, ...)                                                        \
    do {                                                                                           \
        switch (dtype) {                                                                           \
        case CB_F64: function##_f64(__VA_ARGS__); break;                                           \
        case CB_F32: function##_f32(__VA_ARGS__); break;                                           \
        case CB_BF16: function##_bf16(__VA_ARGS__); break;                                         \
        default: function##_f16(__VA_ARGS__); break;                                               \
        }                                                                                          \
    } while (0)

#endif
