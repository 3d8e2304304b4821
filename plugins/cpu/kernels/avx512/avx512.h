/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels for AVX-512 F, BW, DQ and VL. */
#ifndef CPU_AVX512_H
#define CPU_AVX512_H

#include "../../dispatch/kernels.h"

extern const struct cpu_gemm_kernel cpu_gemm_avx512;

/* Overwrites the slots that this set does better. */
void cpu_avx512_kernels(struct cpu_kernels *kernels);

#endif
