/* SPDX-License-Identifier: Apache-2.0 */
#include "avx2.h"

void cpu_avx2_kernels(struct cpu_kernels *kernels)
{
    kernels->threaded = true;
    kernels->gemm = cpu_gemm_avx2;
    kernels->conv2d_forward = cpu_conv2d_forward_avx2;
    kernels->conv2d_backward_data = cpu_conv2d_backward_data_avx2;
    kernels->conv2d_backward_filter = cpu_conv2d_backward_filter_avx2;
    kernels->attention = cpu_attention_avx2;
    kernels->softmax = cpu_softmax_avx2;
    kernels->reduce = cpu_reduce_avx2;
    kernels->unary = cpu_map_avx2;
    kernels->binary = cpu_map_avx2;
    kernels->rows = cpu_rows_avx2;
}
