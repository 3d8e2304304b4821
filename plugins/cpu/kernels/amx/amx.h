/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels for AMX-TILE and AMX-BF16 over what the avx512 set needs. */
#ifndef CPU_AMX_H
#define CPU_AMX_H

#include "../../dispatch/kernels.h"

extern const struct cpu_gemm_kernel cpu_gemm_amx;

/* Overwrites the slots that this set does better. */
void cpu_amx_kernels(struct cpu_kernels *kernels);

#endif
