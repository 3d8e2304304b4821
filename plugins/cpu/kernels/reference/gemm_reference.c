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

void cpu_gemm_reference(const struct cpu_gemm *g)
{
    if (g->round == CB_BF16)
        gemm_f32_as_bf16(g);
    else if (g->round == CB_F16)
        gemm_f32_as_f16(g);
    else if (g->dtype == CB_F64)
        gemm_f64(g);
    else if (g->dtype == CB_F32)
        gemm_f32(g);
    else if (g->dtype == CB_BF16)
        gemm_bf16(g);
    else
        gemm_f16(g);
}
