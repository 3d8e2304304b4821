/* SPDX-License-Identifier: Apache-2.0 */
/* The contract between ops and kernels. An op checks, normalizes and calls; a kernel computes.
 *
 * A kernel is called with arguments that are valid and buffers that do not overlap (but for the
 * in-place ones that its struct names), on aligned elements, in the floating-point environment of
 * cbc_fpenv_enter. It cannot fail. Its result does not depend on the addresses of its buffers. */
#ifndef CPU_KERNELS_H
#define CPU_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

#include "../team.h"

/* What a kernel computes with. */
struct cpu_work {
    struct cpu_team *team;
    void *memory; /* the bytes that its workspace function asked for, 64-byte aligned, not zeroed */
};

/* For each of `batch` matrices: C := alpha * A * B + beta * C, A m x k, B k x n, C m x n with
 * columns ldc apart. Element (i, p) of A is a[i*rs_a + p*cs_a], of B (p, j) b[p*rs_b + j*cs_b]: a
 * transpose is a swap of strides, and no kernel sees the flag. k is 0 when A and B must not be
 * read; beta 0: C must not be read. */
struct cpu_gemm {
    uint32_t dtype; /* CB_F64, CB_F32, CB_BF16, CB_F16: of A and B; C is f64 for f64, else f32 */
    uint32_t round; /* CB_BF16, CB_F16: round f32 A and B to it before multiplying; else 0 */
    uint64_t m, n, k;
    double alpha, beta; /* exact in the type of C */
    const void *a, *b;
    void *c;
    uint64_t rs_a, cs_a, rs_b, cs_b, ldc;  /* elements */
    uint64_t stride_a, stride_b, stride_c; /* elements, from one matrix to the next */
    uint64_t batch;
};

/* Input N C H W, filter K C/groups R S, output N K P Q; see the ABI header for the sum. `filter` of
 * backward_filter and `input` of backward_data are written, all of them. */
struct cpu_conv2d {
    uint64_t n, c, h, w, k, c_group, r, s, p, q;
    uint64_t stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_left, groups;
    float *input, *filter, *output;
};

/* As the ABI header says. */
struct cpu_attention {
    uint64_t batch, heads, kv_heads, seq_q, seq_kv, head_dim;
    float scale;
    bool causal;
    const float *q, *k, *v;
    float *o;
};

/* softmax and reduce: element (o, a, i) of the input lies at (o*len + a)*inner + i. softmax may be
 * in place. */
struct cpu_axis {
    uint32_t dtype, op;
    uint64_t outer, len, inner;
    const void *input;
    void *output;
};

/* unary (b is NULL) and binary. The output may be either input. */
struct cpu_map {
    uint32_t dtype, op;
    uint64_t n;
    const void *a, *b;
    void *output;
};

/* gather: row i of output := row indices[i] of input; scatter: row indices[i] of output := row i of
 * input, and of duplicates the last wins. The indices are valid. */
struct cpu_rows {
    bool scatter;
    uint64_t row_bytes, n;
    const uint64_t *indices;
    const char *input;
    char *output;
};

/* A kernel that needs memory travels with the function that says how many bytes, for a call on so
 * many threads; that is given the kernel's own struct, whose pointers it does not look at. NULL:
 * none. */
struct cpu_gemm_kernel {
    void (*run)(const struct cpu_gemm *, const struct cpu_work *);
    uint64_t (*workspace)(const struct cpu_gemm *, unsigned threads);
};

struct cpu_conv2d_kernel {
    void (*run)(const struct cpu_conv2d *, const struct cpu_work *);
    uint64_t (*workspace)(const struct cpu_conv2d *, unsigned threads);
};

struct cpu_attention_kernel {
    void (*run)(const struct cpu_attention *, const struct cpu_work *);
    uint64_t (*workspace)(const struct cpu_attention *, unsigned threads);
};

/* A set of kernels: who is chosen is decided once, in cpu_kernels_select. */
struct cpu_kernels {
    const char *name;
    const char *above,
        *above_why; /* the next rung, and why it was not taken; NULL: there is none */
    bool threaded;  /* whether any of them uses more than the caller's thread */
    struct cpu_gemm_kernel gemm;
    struct cpu_conv2d_kernel conv2d_forward, conv2d_backward_data, conv2d_backward_filter;
    struct cpu_attention_kernel attention;
    void (*softmax)(const struct cpu_axis *, const struct cpu_work *);
    void (*reduce)(const struct cpu_axis *, const struct cpu_work *);
    void (*unary)(const struct cpu_map *, const struct cpu_work *);
    void (*binary)(const struct cpu_map *, const struct cpu_work *);
    void (*rows)(const struct cpu_rows *, const struct cpu_work *);
};

/* The whole choice, weakest rung first. The first fills every slot, so that no op meets a NULL; a
 * later rung overwrites what it does better. `most`, the option kernels, names the last rung that
 * may be taken: "auto" for the best this machine can climb. False when there is no such rung. */
bool cpu_kernels_select(struct cpu_kernels *kernels, const char *most);

/* The names that cpu_kernels_select takes, for messages. */
#define CPU_KERNELS_NAMES "auto, reference, avx2, avx512, amx"

#endif
