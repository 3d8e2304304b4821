/* SPDX-License-Identifier: Apache-2.0 */
/* gemm, gemm_mixed_precision and batched_gemm: one check, since the first two are the third with
 * one batch. */
#include "check.h"
#include "error.h"

static inline cb_status check_transpose(uint32_t trans, const char *name, bool *out,
                                        const char *where, cb_error *err)
{
    if (trans > CB_CONJ_TRANS)
        return cbc_invalid(err, where, "%s %u is none of 0 (N), 1 (T), 2 (C)", name,
                           (unsigned)trans);
    *out = trans != CB_NO_TRANS;
    return CB_OK;
}

struct matrix {
    char name; /* 'A' */
    uint64_t rows, cols, ld, stride;
    uint32_t element;
};

/* Checks the leading dimension, and sets the bytes of all batches of the matrix: from its first
 * element to its last, the padding below the last column left out. */
static inline __attribute__((always_inline)) cb_status check_matrix(const struct matrix *mat,
                                                                    uint64_t batch, uint64_t *bytes,
                                                                    const char *where,
                                                                    cb_error *err)
{
    const char lower = (char)(mat->name + ('a' - 'A'));
    if (mat->ld < mat->rows)
        return cbc_invalid(err, where, "ld%c %llu is smaller than the %llu rows of %c", lower,
                           (unsigned long long)mat->ld, (unsigned long long)mat->rows, mat->name);

    const uint64_t rows = mat->rows ? mat->rows : 1, cols = mat->cols ? mat->cols : 1;
    uint64_t elements, apart = (batch ? batch : 1) - 1;
    if (__builtin_mul_overflow(mat->ld, cols - 1, &elements) ||
        __builtin_add_overflow(elements, rows, &elements) ||
        __builtin_mul_overflow(elements, mat->element, bytes))
        return cbc_invalid(err, where, "ld%c %llu with %llu columns of %c overflows", lower,
                           (unsigned long long)mat->ld, (unsigned long long)cols, mat->name);
    if (__builtin_mul_overflow(apart, mat->stride, &apart) ||
        __builtin_add_overflow(elements, apart, &elements) ||
        __builtin_mul_overflow(elements, mat->element, bytes))
        return cbc_invalid(err, where, "stride_%c %llu with batch %llu overflows", lower,
                           (unsigned long long)mat->stride, (unsigned long long)batch);
    return CB_OK;
}

/* Two C that share an element would make the result depend on the order of the batches. */
static cb_status check_c_apart(const struct cbc_gemm *g, const char *where, cb_error *err)
{
    if (g->batch <= 1 || !g->m || !g->n)
        return CB_OK;
    uint64_t interleaved;
    if (g->stride_c >= g->ldc * (g->n - 1) + g->m)
        return CB_OK;
    if (g->stride_c >= g->m && !__builtin_mul_overflow(g->stride_c, g->batch, &interleaved) &&
        interleaved <= g->ldc)
        return CB_OK;
    return cbc_invalid(err, where,
                       "stride_c %llu makes the C of %llu batches overlap (m %llu, n %llu, "
                       "ldc %llu)",
                       (unsigned long long)g->stride_c, (unsigned long long)g->batch,
                       (unsigned long long)g->m, (unsigned long long)g->n,
                       (unsigned long long)g->ldc);
}

/* Inlined, so that the first two ops do not pay for the third. */
static inline __attribute__((always_inline)) cb_status check(const cb_batched_gemm_args *args,
                                                             uint32_t round, struct cbc_gemm *g,
                                                             const char *where, cb_error *err)
{
    /* Field by field: to zero the operands first would take a tenth of a small product's time. */
    g->dtype = args->dtype, g->round = round;
    g->m = args->m, g->n = args->n, g->k = args->k;
    g->alpha = args->alpha, g->beta = args->beta;
    g->lda = args->lda, g->ldb = args->ldb, g->ldc = args->ldc;
    g->stride_a = args->stride_a, g->stride_b = args->stride_b, g->stride_c = args->stride_c;
    g->batch = args->batch;
    g->stream = args->stream;
    cb_status st = cbc_check_dtype(
        &g->dtype, CB_F64, 1u << CB_F64 | 1u << CB_F32 | 1u << CB_BF16 | 1u << CB_F16, where, err);
    if (st == CB_OK)
        st = cbc_check_flags(args->flags, 0, where, err);
    if (st == CB_OK)
        st = check_transpose(args->trans_a, "trans_a", &g->trans_a, where, err);
    if (st == CB_OK)
        st = check_transpose(args->trans_b, "trans_b", &g->trans_b, where, err);
    if (st != CB_OK)
        return st;

    const uint32_t element = cbc_dtype_size(g->dtype), element_c = g->dtype == CB_F64 ? 8 : 4;
    const struct matrix a = { 'A',
                              g->trans_a ? g->k : g->m,
                              g->trans_a ? g->m : g->k,
                              g->lda,
                              g->stride_a,
                              element },
                        b = { 'B',
                              g->trans_b ? g->n : g->k,
                              g->trans_b ? g->k : g->n,
                              g->ldb,
                              g->stride_b,
                              element },
                        c = { 'C', g->m, g->n, g->ldc, g->stride_c, element_c };
    uint64_t bytes_a = 0, bytes_b = 0, bytes_c = 0;
    st = check_matrix(&a, g->batch, &bytes_a, where, err);
    if (st == CB_OK)
        st = check_matrix(&b, g->batch, &bytes_b, where, err);
    if (st == CB_OK)
        st = check_matrix(&c, g->batch, &bytes_c, where, err);
    if (st == CB_OK)
        st = check_c_apart(g, where, err);
    if (st != CB_OK)
        return st;

    if (g->dtype != CB_F64) {
        g->alpha = (float)g->alpha;
        g->beta = (float)g->beta;
    }
    if (g->alpha == 0)
        g->k = 0;
    const bool work = g->m && g->n && g->batch;
    g->operands[0] = (struct cbc_operand){ "a", args->a, work && g->k ? bytes_a : 0, element, 0 };
    g->operands[1] = (struct cbc_operand){ "b", args->b, work && g->k ? bytes_b : 0, element, 0 };
    g->operands[2] = (struct cbc_operand){ "c", args->c, work ? bytes_c : 0, element_c, 1 };
    return CB_OK;
}

cb_status cbc_check_gemm(const cb_gemm_args *args, struct cbc_gemm *out, cb_error *err)
{
    cb_gemm_args local;
    const void *read;
    cb_status st = cbc_args_read(&read, &local, sizeof(local), CB_GEMM_ARGS_1_0, args, "gemm", err);
    if (st != CB_OK)
        return st;
    const cb_gemm_args *l = read;
    const cb_batched_gemm_args one = {
        CB_ARGS(cb_batched_gemm_args),
        .dtype = l->dtype,
        .flags = l->flags,
        .trans_a = l->trans_a,
        .trans_b = l->trans_b,
        .m = l->m,
        .n = l->n,
        .k = l->k,
        .alpha = l->alpha,
        .a = l->a,
        .lda = l->lda,
        .b = l->b,
        .ldb = l->ldb,
        .beta = l->beta,
        .c = l->c,
        .ldc = l->ldc,
        .batch = 1,
        .stream = l->stream,
    };
    return check(&one, 0, out, "gemm", err);
}

cb_status cbc_check_gemm_mixed_precision(const cb_gemm_mixed_precision_args *args,
                                         struct cbc_gemm *out, cb_error *err)
{
    static const char where[] = "gemm_mixed_precision";
    cb_gemm_mixed_precision_args local;
    const void *read;
    cb_status st = cbc_args_read(&read, &local, sizeof(local), CB_GEMM_MIXED_PRECISION_ARGS_1_0,
                                 args, where, err);
    if (st != CB_OK)
        return st;
    const cb_gemm_mixed_precision_args *l = read;
    if (l->precision > CB_MIXED_BF16)
        return cbc_unsupported(err, where, "precision %u is none of 0 (f16), 1 (bf16)",
                               (unsigned)l->precision);
    const cb_batched_gemm_args one = {
        CB_ARGS(cb_batched_gemm_args),
        .dtype = CB_F32,
        .flags = l->flags,
        .trans_a = l->trans_a,
        .trans_b = l->trans_b,
        .m = l->m,
        .n = l->n,
        .k = l->k,
        .alpha = l->alpha,
        .a = l->a,
        .lda = l->lda,
        .b = l->b,
        .ldb = l->ldb,
        .beta = l->beta,
        .c = l->c,
        .ldc = l->ldc,
        .batch = 1,
        .stream = l->stream,
    };
    return check(&one, l->precision == CB_MIXED_F16 ? CB_F16 : CB_BF16, out, where, err);
}

cb_status cbc_check_batched_gemm(const cb_batched_gemm_args *args, struct cbc_gemm *out,
                                 cb_error *err)
{
    static const char where[] = "batched_gemm";
    cb_batched_gemm_args local;
    const void *read;
    cb_status st =
        cbc_args_read(&read, &local, sizeof(local), CB_BATCHED_GEMM_ARGS_1_0, args, where, err);
    return st != CB_OK ? st : check(read, 0, out, where, err);
}
