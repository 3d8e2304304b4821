/* SPDX-License-Identifier: Apache-2.0 */
/* The contract's argument checks. Each reads an argument struct of any version, judges everything
 * but device pointers, what indices say, and the stream, and fills a normalized description with
 * all defaults applied. The operands in it carry the byte ranges that the op will touch; the
 * backend looks those up in its cbc_addr_table. supports() runs the same functions, so that its
 * answer is the op's answer.
 *
 * Call them in the floating-point environment of cbc_fpenv_enter: scalars are rounded here. */
#ifndef CBC_CHECK_H
#define CBC_CHECK_H

#include <stdbool.h>

#include "compute_backend_plugin.h"

struct cbc_operand {
    const char *name; /* as in the argument struct */
    uint64_t ptr;
    uint64_t bytes; /* what the op touches from ptr on; 0: nothing, and ptr is not looked up */
    uint32_t align; /* bytes of an element, a power of two */
    bool written;
};

struct cbc_gemm {
    uint32_t dtype; /* of A and B in memory; C is CB_F64 for CB_F64, else CB_F32 */
    uint32_t round; /* CB_F16 or CB_BF16: A and B are rounded to it first; else 0 */
    bool trans_a, trans_b;
    uint64_t m, n, k;   /* k is 0 when A and B are not to be read */
    double alpha, beta; /* already rounded to f32 where the op says so */
    uint64_t lda, ldb, ldc;
    uint64_t stride_a, stride_b, stride_c; /* elements */
    uint64_t batch;
    cb_stream *stream;
    struct cbc_operand operands[3]; /* a, b, c */
};

struct cbc_conv2d {
    uint64_t n, c, h, w;       /* input */
    uint64_t k, c_group, r, s; /* filter; c_group is c / groups */
    uint64_t p, q;             /* output rows and columns */
    uint64_t stride_h, stride_w, dilation_h, dilation_w;
    uint64_t pad_top, pad_left;
    uint64_t groups;
    cb_stream *stream;
    struct cbc_operand operands[3]; /* input, filter, output */
};

struct cbc_attention {
    uint64_t batch, heads, kv_heads, seq_q, seq_kv, head_dim;
    float scale;
    bool causal;
    cb_stream *stream;
    struct cbc_operand operands[4]; /* q, k, v, o */
};

/* softmax and reduce: element (o, a, i) lies at (o*len + a)*inner + i. */
struct cbc_axis {
    uint32_t dtype;
    uint32_t op; /* CB_REDUCE_* for reduce */
    uint64_t outer, len, inner;
    cb_stream *stream;
    struct cbc_operand operands[2]; /* input, output */
};

/* unary and binary */
struct cbc_map {
    uint32_t dtype;
    uint32_t op;
    uint64_t n;
    cb_stream *stream;
    struct cbc_operand operands[3]; /* input, output; or a, b, output */
};

/* gather and scatter */
struct cbc_rows {
    uint64_t rows, row_bytes;
    const uint64_t *indices; /* the caller's */
    uint64_t n_indices;
    cb_stream *stream;
    struct cbc_operand operands[2]; /* input, output; the table's bytes by cbc_check_indices */
};

/* Copies and memset. */
struct cbc_copy {
    const void *from; /* host memory, of copy_htod */
    void *to;         /* host memory, of copy_dtoh */
    uint64_t bytes;
    bool async;
    cb_stream *stream;
    struct cbc_operand operands[2]; /* dst and src, those that are device memory, in this order */
};

/* cb_args_read that leaves a struct of this very version where it is: *read becomes args, else
 * local. */
static inline cb_status cbc_args_read(const void **read, void *local, uint64_t local_size,
                                      uint64_t size_1_0, const void *args, const char *where,
                                      cb_error *err)
{
    *read = args;
    if (args && *(const uint64_t *)args == local_size)
        return CB_OK;
    *read = local;
    return cb_args_read(local, local_size, size_1_0, args, where, err);
}

/* Of create, whose out and options are looked at too. */
cb_status cbc_check_create(const cb_create_args *args, void *const *out, cb_create_args *read,
                           cb_error *err);
cb_status cbc_check_info(const char *key, const uint64_t *length, cb_error *err);
/* Ends info: gives text to the caller. text: NULL when there is no such key. */
cb_status cbc_info_write(const char *key, const char *text, char *buffer, uint64_t *length,
                         cb_error *err);
cb_status cbc_check_copy_htod(const cb_copy_htod_args *args, struct cbc_copy *out, cb_error *err);
cb_status cbc_check_copy_dtoh(const cb_copy_dtoh_args *args, struct cbc_copy *out, cb_error *err);
cb_status cbc_check_copy_dtod(const cb_copy_dtod_args *args, struct cbc_copy *out, cb_error *err);
cb_status cbc_check_memset(uint64_t dst, uint32_t value, uint64_t bytes, cb_stream *stream,
                           struct cbc_copy *out, cb_error *err);
cb_status cbc_check_gemm(const cb_gemm_args *args, struct cbc_gemm *out, cb_error *err);
cb_status cbc_check_gemm_mixed_precision(const cb_gemm_mixed_precision_args *args,
                                         struct cbc_gemm *out, cb_error *err);
cb_status cbc_check_batched_gemm(const cb_batched_gemm_args *args, struct cbc_gemm *out,
                                 cb_error *err);
/* op: one of the three CB_OP_CONV2D_*. */
cb_status cbc_check_conv2d(uint32_t op, const cb_conv2d_args *args, struct cbc_conv2d *out,
                           cb_error *err);
cb_status cbc_check_attention(const cb_attention_args *args, struct cbc_attention *out,
                              cb_error *err);
cb_status cbc_check_softmax(const cb_softmax_args *args, struct cbc_axis *out, cb_error *err);
cb_status cbc_check_reduce(const cb_reduce_args *args, struct cbc_axis *out, cb_error *err);
cb_status cbc_check_unary(const cb_unary_args *args, struct cbc_map *out, cb_error *err);
cb_status cbc_check_binary(const cb_binary_args *args, struct cbc_map *out, cb_error *err);
/* op: CB_OP_GATHER or CB_OP_SCATTER. The indices are not looked at; the op calls
 * cbc_check_indices next, which also sets how much of the table is touched. */
cb_status cbc_check_rows(uint32_t op, const cb_rows_args *args, struct cbc_rows *out,
                         cb_error *err);
cb_status cbc_check_indices(uint32_t op, struct cbc_rows *rows, cb_error *err);

/* Any op by its code, for supports(). */
union cbc_any {
    struct cbc_gemm gemm;
    struct cbc_conv2d conv2d;
    struct cbc_attention attention;
    struct cbc_axis axis;
    struct cbc_map map;
    struct cbc_rows rows;
};
cb_status cbc_check_any(uint32_t op, const void *args, union cbc_any *out, cb_error *err);

/* ---- for the checks themselves, and for backends with checks of their own ---- */

/* Bytes of an element; dtype is one of the four. */
uint32_t cbc_dtype_size(uint32_t dtype);

/* A product in which a factor of 0 counts as 1; false when it overflows. */
static inline bool cbc_mul(uint64_t *product, uint64_t factor)
{
    return !__builtin_mul_overflow(*product, factor ? factor : 1, product);
}

cb_status cbc_check_flags(uint32_t flags, uint32_t known, const char *where, cb_error *err);
cb_status cbc_check_reserved(uint32_t reserved, const char *where, cb_error *err);

/* Replaces 0 by fallback; CB_UNSUPPORTED when the type is not in mask, a set of 1u << dtype. */
cb_status cbc_check_dtype(uint32_t *dtype, uint32_t fallback, uint32_t mask, const char *where,
                          cb_error *err);

/* Whether two operands share a byte. */
bool cbc_overlap(const struct cbc_operand *a, const struct cbc_operand *b);

#endif
