/* SPDX-License-Identifier: Apache-2.0 */
#include "avx512.h"

void cpu_avx512_kernels(struct cpu_kernels *kernels)
{
    kernels->threaded = true;
    kernels->gemm = cpu_gemm_avx512;
}
