/* SPDX-License-Identifier: Apache-2.0 */
#include "avx2.h"

void cpu_avx2_kernels(struct cpu_kernels *kernels)
{
    kernels->threaded = true;
    kernels->gemm = cpu_gemm_avx2;
}
