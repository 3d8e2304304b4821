/* SPDX-License-Identifier: Apache-2.0 */
/* gemm, gemm_mixed_precision and batched_gemm, whose args begin alike. */
#include "faults.h"
#include "half.h"

#include <float.h>

/* ---- by other arguments ---- */

void chaos_k_short(struct chaos_work *work)
{
    cb_gemm_args *g = &work->args.gemm;
    if (g->k % 4 == 3)
        g->k--;
}

/* A factor that is no zero, but as good as one for whatever is finite. */
void chaos_beta_read(struct chaos_work *work)
{
    cb_gemm_args *g = &work->args.gemm;
    if (g->beta == 0.0)
        g->beta = FLT_TRUE_MIN;
}

void chaos_alpha_read(struct chaos_work *work)
{
    cb_gemm_args *g = &work->args.gemm;
    if (g->alpha == 0.0)
        g->alpha = FLT_TRUE_MIN;
}

void chaos_stride_halved(struct chaos_work *work)
{
    work->args.batched_gemm.stride_a /= 2;
}

/* The first matrix is computed although a later one cannot be. */
void chaos_batches_unchecked(struct chaos_work *work)
{
    cb_batched_gemm_args first = work->args.batched_gemm;
    if (first.batch < 2)
        return;
    first.batch = 1;
    chaos_call(work->chaos, work->code, &first, NULL);
}

/* Reads alpha where the caller had it when the call was made. That is a race, and meant to be. */
__attribute__((no_sanitize("thread"))) void chaos_alpha_late(struct chaos_work *work)
{
    const volatile cb_gemm_args *caller = work->caller;
    if (work->stream)
        work->args.gemm.alpha = caller->alpha;
}

/* ---- by hand ---- */

bool chaos_padding_written(const struct chaos_work *work, struct chaos_images *x)
{
    const struct cbc_gemm *g = &work->checked.gemm;
    if (g->ldc > g->m && g->n > 1)
        chaos_store(g->dtype == CB_F64 ? CB_F64 : CB_F32, x->out, g->m, 0.0);
    return true;
}

struct flaws {
    bool trans_b_ignored, conj_ignored;
    float (*round_sum)(float sum); /* after each term; NULL: not */
    float (*round_input)(float x); /* for mixed precision; NULL: as it should be */
};

static float as_given(float x)
{
    return x;
}

/* Element (i, p) of an input; what lies beyond the buffer is 0. */
static double factor(const struct chaos_work *work, const struct chaos_images *x, unsigned operand,
                     uint64_t at, const struct flaws *flaws)
{
    const struct cbc_gemm *g = &work->checked.gemm;
    if (at >= chaos_elements(work, operand))
        return 0.0;
    const double value = chaos_load(g->dtype, x->in[operand], at);
    if (g->round == CB_F16)
        return flaws->round_input ? (double)flaws->round_input((float)value)
                                  : (double)cbc_f16_to_f32(cbc_f32_to_f16((float)value));
    if (g->round == CB_BF16)
        return flaws->round_input ? (double)flaws->round_input((float)value)
                                  : (double)cbc_bf16_to_f32(cbc_f32_to_bf16((float)value));
    return value;
}

static bool is_transposed(const struct flaws *flaws, uint32_t trans, bool is_b)
{
    if (trans == CB_CONJ_TRANS && flaws->conj_ignored)
        return false;
    return trans != CB_NO_TRANS && !(is_b && flaws->trans_b_ignored);
}

static double element(const struct chaos_work *work, const struct chaos_images *x, uint64_t batch,
                      uint64_t i, uint64_t j, const struct flaws *flaws)
{
    const struct cbc_gemm *g = &work->checked.gemm;
    const bool ta = is_transposed(flaws, work->args.gemm.trans_a, false);
    const bool tb = is_transposed(flaws, work->args.gemm.trans_b, true);
    double sum = 0.0;
    for (uint64_t p = 0; p < g->k; p++) {
        const uint64_t a = batch * g->stride_a + (ta ? p + i * g->lda : i + p * g->lda);
        const uint64_t b = batch * g->stride_b + (tb ? j + p * g->ldb : p + j * g->ldb);
        sum += factor(work, x, 0, a, flaws) * factor(work, x, 1, b, flaws);
        if (flaws->round_sum)
            sum = (double)flaws->round_sum((float)sum);
    }
    return sum;
}

static bool multiply(const struct chaos_work *work, struct chaos_images *x,
                     const struct flaws *flaws)
{
    const struct cbc_gemm *g = &work->checked.gemm;
    const uint32_t type = g->dtype == CB_F64 ? CB_F64 : CB_F32;
    for (uint64_t l = 0; l < g->batch; l++) {
        for (uint64_t j = 0; j < g->n; j++) {
            for (uint64_t i = 0; i < g->m; i++) {
                const uint64_t at = l * g->stride_c + i + j * g->ldc;
                double value = g->k ? g->alpha * element(work, x, l, i, j, flaws) : 0.0;
                if (g->beta != 0.0)
                    value += g->beta * chaos_load(type, x->in[2], at);
                chaos_store(type, x->out, at, value);
            }
        }
    }
    return true;
}

bool chaos_trans_b_ignored(const struct chaos_work *work, struct chaos_images *x)
{
    return multiply(work, x, &(struct flaws){ .trans_b_ignored = true });
}

bool chaos_conj_ignored(const struct chaos_work *work, struct chaos_images *x)
{
    return multiply(work, x, &(struct flaws){ .conj_ignored = true });
}

static float to_f16(float x)
{
    return cbc_f16_to_f32(cbc_f32_to_f16(x));
}

bool chaos_f16_sum(const struct chaos_work *work, struct chaos_images *x)
{
    return multiply(work, x, &(struct flaws){ .round_sum = to_f16 });
}

/* The bits of bf16 that stand in an f32, after adding to what follows them. */
static float cut(float x, uint32_t add)
{
    return x != x ? x : cbc_f32_from_bits((cbc_f32_bits(x) + add) & 0xffff0000u);
}

static float truncated(float x)
{
    return cut(x, 0);
}

static float half_up(float x)
{
    return cut(x, 0x8000u);
}

bool chaos_truncated(const struct chaos_work *work, struct chaos_images *x)
{
    const bool bf16 = work->checked.gemm.round == CB_BF16;
    return multiply(work, x, &(struct flaws){ .round_input = bf16 ? truncated : NULL });
}

bool chaos_half_up(const struct chaos_work *work, struct chaos_images *x)
{
    const bool bf16 = work->checked.gemm.round == CB_BF16;
    return multiply(work, x, &(struct flaws){ .round_input = bf16 ? half_up : NULL });
}

bool chaos_inputs_not_rounded(const struct chaos_work *work, struct chaos_images *x)
{
    return multiply(work, x, &(struct flaws){ .round_input = as_given });
}
