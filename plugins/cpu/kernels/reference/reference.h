/* SPDX-License-Identifier: Apache-2.0 */
/* The portable kernels: plain C without contraction, each sum in one fixed order, the numerical
 * reference of every other set. */
#ifndef CPU_REFERENCE_H
#define CPU_REFERENCE_H

#include "../../dispatch/kernels.h"

/* Sums of more terms run in a wider accumulator, since a plain one stalls. */
#define LONGEST_PLAIN_SUM 4096

void cpu_gemm_reference(const struct cpu_gemm *g, const struct cpu_work *work);
void cpu_conv2d_forward_reference(const struct cpu_conv2d *v, const struct cpu_work *work);
void cpu_conv2d_backward_data_reference(const struct cpu_conv2d *v, const struct cpu_work *work);
void cpu_conv2d_backward_filter_reference(const struct cpu_conv2d *v, const struct cpu_work *work);
void cpu_attention_reference(const struct cpu_attention *t, const struct cpu_work *work);
uint64_t cpu_attention_reference_workspace(const struct cpu_attention *t, unsigned threads);
void cpu_softmax_reference(const struct cpu_axis *x, const struct cpu_work *work);
void cpu_reduce_reference(const struct cpu_axis *x, const struct cpu_work *work);
void cpu_unary_reference(const struct cpu_map *x, const struct cpu_work *work);
void cpu_binary_reference(const struct cpu_map *x, const struct cpu_work *work);
void cpu_rows_reference(const struct cpu_rows *x, const struct cpu_work *work);

/* Fills every slot. */
void cpu_reference_kernels(struct cpu_kernels *kernels);

#endif
