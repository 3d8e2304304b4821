/* SPDX-License-Identifier: Apache-2.0 */
/* gemm, gemm_mixed_precision and batched_gemm: their arguments begin alike, and a single matrix is
 * a batch of one. */
#include "bench.h"

#define AT(key) c->keys[key].at[0]

static bool is_mixed(const struct bench_case *c)
{
    return c->op->code == CB_OP_GEMM_MIXED_PRECISION;
}

static uint64_t batch_of(const struct bench_case *c)
{
    return c->op->code == CB_OP_BATCHED_GEMM ? AT(BENCH_BATCH) : 1;
}

/* The args of gemm_mixed_precision differ in the name of a field only. */
_Static_assert(offsetof(cb_gemm_args, c) == offsetof(cb_gemm_mixed_precision_args, c) &&
                   offsetof(cb_gemm_args, c) == offsetof(cb_batched_gemm_args, c),
               "the three structs begin alike");

static void fill_args(struct bench_case *c)
{
    cb_batched_gemm_args *args = &c->call.args.batched;
    const bool ta = AT(BENCH_TRANS_A), tb = AT(BENCH_TRANS_B);
    cb_batched_gemm_args_init(args);
    args->dtype = c->dtype;
    args->trans_a = ta;
    args->trans_b = tb;
    args->m = AT(BENCH_M);
    args->n = AT(BENCH_N);
    args->k = AT(BENCH_K);
    args->alpha = 1.0;
    args->lda = ta ? args->k : args->m;
    args->ldb = tb ? args->n : args->k;
    args->ldc = args->m;
    if (c->op->code == CB_OP_BATCHED_GEMM) {
        args->stride_a = args->m * args->k;
        args->stride_b = args->k * args->n;
        args->stride_c = args->m * args->n;
        args->batch = batch_of(c);
        return;
    }
    args->size = sizeof(cb_gemm_args);
    if (is_mixed(c))
        c->call.args.mixed.precision = c->dtype == CB_F16 ? CB_MIXED_F16 : CB_MIXED_BF16;
    c->call.args.gemm.stream = NULL;
}

bool bench_make_gemm(struct bench_case *c)
{
    const uint64_t batch = batch_of(c), m = AT(BENCH_M), n = AT(BENCH_N), k = AT(BENCH_K);
    const uint64_t a[] = { batch, m, k }, b[] = { batch, k, n }, to[] = { batch, m, n };
    const uint32_t type = is_mixed(c) ? CB_F32 : c->dtype;
    cb_batched_gemm_args *args = &c->call.args.batched;
    if (is_mixed(c) && c->dtype != CB_F16 && c->dtype != CB_BF16)
        return bench_refuse(c, "the dtype is what is rounded to, f16 or bf16");
    fill_args(c);
    if (!bench_operand(c, type, a, 3, &args->a) || !bench_operand(c, type, b, 3, &args->b) ||
        !bench_operand(c, c->dtype == CB_F64 ? CB_F64 : CB_F32, to, 3, &args->c))
        return false;
    c->flops = 2.0 * (double)m * (double)n * (double)k * (double)batch;
    c->terms = (double)k;
    return true;
}

static double factor(const struct bench_case *c, uint32_t o, uint64_t i)
{
    const double x = bench_element(c, o, i);
    return is_mixed(c) ? st_round(c->dtype, x) : x;
}

bool bench_want_gemm(const struct bench_case *c, uint64_t i, struct st_want *want)
{
    const uint64_t m = AT(BENCH_M), n = AT(BENCH_N), k = AT(BENCH_K);
    const uint64_t matrix = i / (m * n), row = i % m, col = i / m % n;
    const uint32_t type = c->operands[2].type;
    struct st_sum sum = st_sum_of(type);
    for (uint64_t p = 0; p < k; p++) {
        const uint64_t a = AT(BENCH_TRANS_A) ? p + row * k : row + p * m;
        const uint64_t b = AT(BENCH_TRANS_B) ? col + p * n : p + col * k;
        st_sum_add(&sum, factor(c, 0, matrix * m * k + a), factor(c, 1, matrix * k * n + b));
    }
    const double bound = ((double)k + 4.0) * st_unit(type) * sum.magnitude;
    want->value = st_sum_value(&sum);
    want->bound = st_bound(type, bound, (double)k, want->value.hi);
    return true;
}
