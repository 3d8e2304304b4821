/* SPDX-License-Identifier: Apache-2.0 */
#include "reference.h"

#include <stddef.h>

void cpu_reference_kernels(struct cpu_kernels *kernels)
{
    *kernels = (struct cpu_kernels){
        .gemm = { cpu_gemm_reference, NULL },
        .conv2d_forward = { cpu_conv2d_forward_reference, NULL },
        .conv2d_backward_data = { cpu_conv2d_backward_data_reference, NULL },
        .conv2d_backward_filter = { cpu_conv2d_backward_filter_reference, NULL },
        .attention = { cpu_attention_reference, cpu_attention_reference_workspace },
        .softmax = cpu_softmax_reference,
        .reduce = cpu_reduce_reference,
        .unary = cpu_unary_reference,
        .binary = cpu_binary_reference,
        .rows = cpu_rows_reference,
    };
}
