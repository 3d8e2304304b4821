/* SPDX-License-Identifier: Apache-2.0 */
/* The ABI's matrices are column-major. One in C order is, read that way, its own transpose. */
#include "run.h"

static uint32_t result_type(const struct array *a)
{
    return a->npy.type == NPY_F16 ? NPY_F32 : a->npy.type;
}

/* Types, and shapes of A, B and C. first: the axis of the rows; what is before counts matrices. */
static bool check(struct run *run, uint32_t first)
{
    const struct array *a = &run->in[0], *b = &run->in[1], *c = &run->in[2];
    const struct keys *keys = &run->keys;
    const uint32_t ta = keys->trans_a ? 1 : 0, tb = keys->trans_b ? 1 : 0;
    for (uint32_t i = 0; i < run->n_in; i++)
        if (!has_rank(run, &run->in[i], first + 2))
            return false;
    if (!has_floats(run, a) || !has_type(run, b, a->npy.type) ||
        !fits(run, b, first + tb, a, first + 1 - ta))
        return false;
    if (run->n_in == 3)
        return has_type(run, c, result_type(a)) && fits(run, c, first, a, first + ta) &&
               fits(run, c, first + 1, b, first + 1 - tb);
    if (keys->given & KEY_BETA) {
        complain("%s: beta needs a third file, C", cb_op_name(run->op->code));
        return false;
    }
    return true;
}

/* C is its own first content, or zeroes that are not read. */
static bool make_c(struct run *run, uint32_t rank, const uint64_t *shape, bool fortran,
                   uint64_t *address)
{
    if (run->n_in < 3)
        return make_output(run, result_type(&run->in[0]), rank, shape, fortran, address);
    if (!array_lay_out(&run->in[2], fortran))
        return false;
    make_output_of(run, &run->in[2], address);
    return true;
}

static uint32_t trans_of(const struct array *matrix, uint64_t key)
{
    return (key != 0) != !matrix->npy.fortran ? CB_TRANS : CB_NO_TRANS;
}

static uint64_t ld_of(const struct array *matrix)
{
    return matrix->npy.shape[matrix->npy.fortran ? 0 : 1];
}

bool prepare_gemm(struct run *run)
{
    struct array *a = &run->in[0], *b = &run->in[1];
    const struct keys *keys = &run->keys;
    cb_gemm_args *g = &run->args.gemm;
    if (!check(run, 0))
        return false;
    const uint64_t shape[2] = { a->npy.shape[keys->trans_a ? 1 : 0],
                                b->npy.shape[keys->trans_b ? 0 : 1] };
    *g = (cb_gemm_args){
        CB_ARGS(cb_gemm_args),
        .dtype = dtype_of(a),
        .trans_a = trans_of(a, keys->trans_a),
        .trans_b = trans_of(b, keys->trans_b),
        .m = shape[0],
        .n = shape[1],
        .k = a->npy.shape[keys->trans_a ? 0 : 1],
        .alpha = keys->alpha,
        .lda = ld_of(a),
        .ldb = ld_of(b),
        .beta = run->n_in == 3 ? keys->beta : 0,
        .ldc = shape[0],
    };
    a->address = &g->a;
    b->address = &g->b;
    return make_c(run, 2, shape, true, &g->c);
}

bool prepare_gemm_mixed_precision(struct run *run)
{
    if (!has_type(run, &run->in[0], NPY_F32) || !prepare_gemm(run))
        return false;
    const cb_gemm_args g = run->args.gemm;
    run->args.mixed = (cb_gemm_mixed_precision_args){
        CB_ARGS(cb_gemm_mixed_precision_args),
        .precision = (uint32_t)run->keys.precision,
        .trans_a = g.trans_a,
        .trans_b = g.trans_b,
        .m = g.m,
        .n = g.n,
        .k = g.k,
        .alpha = g.alpha,
        .lda = g.lda,
        .ldb = g.ldb,
        .beta = g.beta,
        .ldc = g.ldc,
    };
    run->in[0].address = &run->args.mixed.a;
    run->in[1].address = &run->args.mixed.b;
    run->out.address = &run->args.mixed.c;
    return true;
}

static uint64_t matrix_stride(const struct array *a)
{
    return a->npy.shape[0] == 1 ? 0 : a->npy.shape[1] * a->npy.shape[2];
}

/* All is in C order here, so the backend sees the transposes of all three: C' = B' A'. */
bool prepare_batched_gemm(struct run *run)
{
    struct array *a = &run->in[0], *b = &run->in[1];
    const struct keys *keys = &run->keys;
    cb_batched_gemm_args *g = &run->args.batched;
    if (!check(run, 1))
        return false;
    const struct array *most = a->npy.shape[0] == 1 ? b : a;
    const uint64_t shape[3] = { most->npy.shape[0], a->npy.shape[keys->trans_a ? 2 : 1],
                                b->npy.shape[keys->trans_b ? 1 : 2] };
    if ((b->npy.shape[0] != 1 && !fits(run, b, 0, most, 0)) ||
        (run->n_in == 3 && !fits(run, &run->in[2], 0, most, 0)) || !array_lay_out(a, false) ||
        !array_lay_out(b, false))
        return false;
    *g = (cb_batched_gemm_args){
        CB_ARGS(cb_batched_gemm_args),
        .dtype = dtype_of(a),
        .trans_a = keys->trans_b ? CB_TRANS : CB_NO_TRANS,
        .trans_b = keys->trans_a ? CB_TRANS : CB_NO_TRANS,
        .m = shape[2],
        .n = shape[1],
        .k = a->npy.shape[keys->trans_a ? 1 : 2],
        .alpha = keys->alpha,
        .lda = b->npy.shape[2],
        .ldb = a->npy.shape[2],
        .beta = run->n_in == 3 ? keys->beta : 0,
        .ldc = shape[2],
        .stride_a = matrix_stride(b),
        .stride_b = matrix_stride(a),
        .stride_c = shape[1] * shape[2],
        .batch = shape[0],
    };
    a->address = &g->b;
    b->address = &g->a;
    return make_c(run, 3, shape, false, &g->c);
}
