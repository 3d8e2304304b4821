/* SPDX-License-Identifier: Apache-2.0 */
#include "avx512.h"

void cpu_avx512_kernels(struct cpu_kernels *kernels)
{
    kernels->threaded = true;
    kernels->gemm = cpu_gemm_avx512;
    kernels->conv2d_forward = cpu_conv2d_forward_avx512;
    kernels->conv2d_backward_data = cpu_conv2d_backward_data_avx512;
    kernels->conv2d_backward_filter = cpu_conv2d_backward_filter_avx512;
    kernels->attention = cpu_attention_avx512;
    kernels->softmax = cpu_softmax_avx512;
    kernels->reduce = cpu_reduce_avx512;
    kernels->unary = cpu_map_avx512;
    kernels->binary = cpu_map_avx512;
    kernels->rows = cpu_rows_avx512;
}
