/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels for AVX-512 F, BW, DQ and VL. */
#ifndef CPU_AVX512_H
#define CPU_AVX512_H

#include "../../dispatch/kernels.h"

extern const struct cpu_gemm_kernel cpu_gemm_avx512;
extern const struct cpu_conv2d_kernel cpu_conv2d_forward_avx512, cpu_conv2d_backward_data_avx512,
    cpu_conv2d_backward_filter_avx512;
extern const struct cpu_attention_kernel cpu_attention_avx512;

void cpu_map_avx512(const struct cpu_map *x, const struct cpu_work *work); /* unary and binary */
void cpu_softmax_avx512(const struct cpu_axis *x, const struct cpu_work *work);
void cpu_reduce_avx512(const struct cpu_axis *x, const struct cpu_work *work);
void cpu_rows_avx512(const struct cpu_rows *x, const struct cpu_work *work);

/* Overwrites the slots that this set does better. */
void cpu_avx512_kernels(struct cpu_kernels *kernels);

#endif
