/* SPDX-License-Identifier: Apache-2.0 */
#include "reference.h"

#include "compute_backend.h"
#include "half.h"

#define ROWS 16

#define GEMM         gemm_f64
#define GEMM_IN      double
#define GEMM_C       double
#define GEMM_LOAD(x) (x)
#include "gemm_tmpl.h"

#define GEMM         gemm_f32
#define GEMM_IN      float
#define GEMM_C       float
#define GEMM_LOAD(x) (x)
#include "gemm_tmpl.h"

#define GEMM         gemm_bf16
#define GEMM_IN      uint16_t
#define GEMM_C       float
#define GEMM_LOAD(x) cbc_bf16_to_f32(x)
#include "gemm_tmpl.h"

#define GEMM         gemm_f16
#define GEMM_IN      uint16_t
#define GEMM_C       float
#define GEMM_LOAD(x) cbc_f16_to_f32(x)
#include "gemm_tmpl.h"

#define GEMM         gemm_f32_as_bf16
#define GEMM_IN      float
#define GEMM_C       float
#define GEMM_LOAD(x) cbc_bf16_to_f32(cbc_f32_to_bf16(x))
#include "gemm_tmpl.h"

#define GEMM         gemm_f32_as_f16
#define GEMM_IN      float
#define GEMM_C       float
#define GEMM_LOAD(x) cbc_f16_to_f32(cbc_f32_to_f16(x))
#include "gemm_tmpl.h"

/* The kernel for a pair of types. */
static void (*kernel_of(const struct cpu_gemm *g))(const struct cpu_gemm *)
{
    if (g->round)
        return g->round == CB_BF16 ? gemm_f32_as_bf16 : gemm_f32_as_f16;
    return g->dtype == CB_F64    ? gemm_f64
           : g->dtype == CB_F32  ? gemm_f32
           : g->dtype == CB_BF16 ? gemm_bf16
                                 : gemm_f16;
}

/* The matrices `stride` elements further on; NULL stays NULL. */
static void *next(const void *matrix, uint64_t stride, uint64_t element)
{
    return matrix ? (char *)matrix + stride * element : NULL;
}

void cpu_gemm_reference(const struct cpu_gemm *g, const struct cpu_work *work)
{
    const uint64_t element = g->dtype == CB_F64 ? 8 : g->dtype == CB_F32 ? 4 : 2;
    struct cpu_gemm one = *g;
    (void)work;
    for (uint64_t i = 0; i < g->batch; i++) {
        kernel_of(g)(&one);
        one.a = next(one.a, g->stride_a, element);
        one.b = next(one.b, g->stride_b, element);
        one.c = next(one.c, g->stride_c, g->dtype == CB_F64 ? 8 : 4);
    }
}
