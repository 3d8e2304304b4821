/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels for AVX2, FMA and F16C. */
#ifndef CPU_AVX2_H
#define CPU_AVX2_H

#include "../../dispatch/kernels.h"

extern const struct cpu_gemm_kernel cpu_gemm_avx2;

/* Overwrites the slots that this set does better. */
void cpu_avx2_kernels(struct cpu_kernels *kernels);

#endif
