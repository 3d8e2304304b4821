/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels.h"

#include <string.h>

#include "../kernels/reference/reference.h"

bool cpu_kernels_select(struct cpu_kernels *kernels, const char *most)
{
    *kernels = (struct cpu_kernels){
        .name = "reference",
        .gemm = cpu_gemm_reference,
        .conv2d_forward = cpu_conv2d_forward_reference,
        .conv2d_backward_data = cpu_conv2d_backward_data_reference,
        .conv2d_backward_filter = cpu_conv2d_backward_filter_reference,
        .attention = cpu_attention_reference,
        .softmax = cpu_softmax_reference,
        .reduce = cpu_reduce_reference,
        .unary = cpu_unary_reference,
        .binary = cpu_binary_reference,
    };
    return !strcmp(most, "auto") || !strcmp(most, "reference");
}
