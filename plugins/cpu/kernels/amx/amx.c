/* SPDX-License-Identifier: Apache-2.0 */
#include "amx.h"

void cpu_amx_kernels(struct cpu_kernels *kernels)
{
    kernels->gemm = cpu_gemm_amx;
}
