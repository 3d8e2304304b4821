/* SPDX-License-Identifier: Apache-2.0 */
/* What goes wrong in matrix products. */
#include "faults.h"

#include <math.h>
#include <string.h>

/* The broken functions look at f32 and f64 products alike. */
static double read_c(void *self, const cb_gemm_args *g, uint64_t i)
{
    return g->dtype == CB_F64 ? peek_f64(self, g->c, i) : (double)peek(self, g->c, i);
}

static void write_c(void *self, const cb_gemm_args *g, uint64_t i, double value)
{
    if (g->dtype == CB_F64)
        poke_f64(self, g->c, i, value);
    else
        poke(self, g->c, i, (float)value);
}

static bool has_c(const cb_gemm_args *g)
{
    return g && g->size == CB_GEMM_ARGS_1_0 && g->m && g->n;
}

/* A call with other args where those are valid, else the call as it was. */
static cb_status try_other(void *self, const cb_gemm_args *other, const cb_gemm_args *g,
                           cb_error *err)
{
    const cb_status st = right->gemm(self, other, NULL);
    return st == CB_OK ? st : right->gemm(self, g, err);
}

static cb_status gemm_skips_the_last_element(void *self, const cb_gemm_args *g, cb_error *err)
{
    const uint64_t last = has_c(g) ? g->ldc * (g->n - 1) + g->m - 1 : 0;
    const double before = has_c(g) ? read_c(self, g, last) : 0.0;
    const cb_status st = right->gemm(self, g, err);
    if (st == CB_OK && has_c(g))
        write_c(self, g, last, before);
    return st;
}

static cb_status gemm_takes_k_short_by_one(void *self, const cb_gemm_args *g, cb_error *err)
{
    if (!has_c(g) || g->k % 4 != 3)
        return right->gemm(self, g, err);
    cb_gemm_args other = *g;
    other.k--;
    return right->gemm(self, &other, err);
}

static cb_status gemm_writes_a_padding_row(void *self, const cb_gemm_args *g, cb_error *err)
{
    const cb_status st = right->gemm(self, g, err);
    if (st == CB_OK && has_c(g) && g->ldc > g->m && g->n > 1)
        write_c(self, g, g->m, 0.0);
    return st;
}

static cb_status gemm_adds_zero_to_a_padding_row(void *self, const cb_gemm_args *g, cb_error *err)
{
    const cb_status st = right->gemm(self, g, err);
    if (st == CB_OK && has_c(g) && g->ldc > g->m && g->n > 1)
        write_c(self, g, g->m, read_c(self, g, g->m) + 0.0);
    return st;
}

static cb_status gemm_writes_behind_c(void *self, const cb_gemm_args *g, cb_error *err)
{
    const cb_status st = right->gemm(self, g, err);
    if (st == CB_OK && has_c(g))
        write_c(self, g, g->ldc * (g->n - 1) + g->m, 0.0);
    return st;
}

static cb_status gemm_reads_c_with_beta_0(void *self, const cb_gemm_args *g, cb_error *err)
{
    if (!has_c(g) || g->beta != 0.0)
        return right->gemm(self, g, err);
    cb_gemm_args other = *g;
    other.beta = 1e-30;
    return right->gemm(self, &other, err);
}

static cb_status gemm_reads_a_with_alpha_0(void *self, const cb_gemm_args *g, cb_error *err)
{
    if (!has_c(g) || g->alpha != 0.0)
        return right->gemm(self, g, err);
    cb_gemm_args other = *g;
    other.alpha = 1e-30;
    return right->gemm(self, &other, err);
}

static cb_status gemm_does_nothing_with_k_0(void *self, const cb_gemm_args *g, cb_error *err)
{
    return has_c(g) && g->k == 0 && g->ldc >= g->m ? CB_OK : right->gemm(self, g, err);
}

static cb_status gemm_takes_transposed_b_as_it_is(void *self, const cb_gemm_args *g, cb_error *err)
{
    if (!has_c(g) || g->trans_b != CB_TRANS)
        return right->gemm(self, g, err);
    cb_gemm_args other = *g;
    other.trans_b = CB_NO_TRANS;
    return try_other(self, &other, g, err);
}

static cb_status gemm_takes_conj_trans_as_no_trans(void *self, const cb_gemm_args *g, cb_error *err)
{
    if (!has_c(g) || g->trans_a != CB_CONJ_TRANS)
        return right->gemm(self, g, err);
    cb_gemm_args other = *g;
    other.trans_a = CB_NO_TRANS;
    return try_other(self, &other, g, err);
}

static cb_status gemm_is_off_by_more_than_the_bound(void *self, const cb_gemm_args *g,
                                                    cb_error *err)
{
    const cb_status st = right->gemm(self, g, err);
    if (st == CB_OK && has_c(g) && g->k == 64) {
        const double c = read_c(self, g, 0);
        write_c(self, g, 0, c + (g->dtype == CB_F64 ? 1e-11 : 1e-3));
    }
    return st;
}

static cb_status gemm_sums_in_f16(void *self, const cb_gemm_args *g, cb_error *err)
{
    const cb_status st = right->gemm(self, g, err);
    if (st == CB_OK && has_c(g) && g->dtype == CB_F16 && read_c(self, g, 0) > 2048.0)
        write_c(self, g, 0, 2048.0);
    return st;
}

static cb_status gemm_asks_for_whole_columns(void *self, const cb_gemm_args *g, cb_error *err)
{
    if (has_c(g) && g->ldc >= g->m && g->ldc < 1000) {
        static _Thread_local char room[1 << 20]; /* the self-test calls from many threads */
        const cb_copy_dtoh_args all = { CB_ARGS(cb_copy_dtoh_args), .dst = room, .src = g->c,
                                        .bytes = g->ldc * g->n * (g->dtype == CB_F64 ? 8 : 4) };
        if (all.bytes <= sizeof(room) && right->copy_dtoh(self, &all, err) != CB_OK)
            return CB_INVALID_ARGUMENT;
    }
    return right->gemm(self, g, err);
}

static cb_status gemm_demands_alignment(void *self, const cb_gemm_args *g, cb_error *err)
{
    return has_c(g) && g->c % 16 ? CB_INVALID_ARGUMENT : right->gemm(self, g, err);
}

static cb_status gemm_modifies_an_input(void *self, const cb_gemm_args *g, cb_error *err)
{
    const cb_status st = right->gemm(self, g, err);
    if (st == CB_OK && has_c(g) && g->k && g->alpha != 0.0 && g->a != g->c)
        poke(self, g->a, 0, 0.0f);
    return st;
}

/* The smallest change there is, so that only a comparison of bits can find it. */
static void nudge(void *self, const cb_gemm_args *g)
{
    const double c = read_c(self, g, 0);
    write_c(self, g, 0, g->dtype == CB_F64 ? nextafter(c, 1e9) : nextafterf((float)c, 1e9f));
}

static cb_status gemm_depends_on_the_run(void *self, const cb_gemm_args *g, cb_error *err)
{
    static unsigned calls;
    const cb_status st = right->gemm(self, g, err);
    if (st == CB_OK && has_c(g) && g->k > 100 && calls++ % 2)
        nudge(self, g);
    return st;
}

static cb_status gemm_depends_on_the_address(void *self, const cb_gemm_args *g, cb_error *err)
{
    const cb_status st = right->gemm(self, g, err);
    if (st == CB_OK && has_c(g) && g->k > 100 && g->a / (g->dtype == CB_F64 ? 8 : 4) % 2)
        nudge(self, g);
    return st;
}

static cb_status gemm_writes_c_on_an_error(void *self, const cb_gemm_args *g, cb_error *err)
{
    const cb_status st = right->gemm(self, g, err);
    if (st == CB_INVALID_ARGUMENT && has_c(g))
        write_c(self, g, 0, 0.0);
    return st;
}

static cb_status gemm_answers_the_wrong_status(void *self, const cb_gemm_args *g, cb_error *err)
{
    const cb_status st = right->gemm(self, g, err);
    return st == CB_INVALID_ARGUMENT ? CB_DEVICE_ERROR : st;
}

static cb_status gemm_leaves_the_message_empty(void *self, const cb_gemm_args *g, cb_error *err)
{
    const cb_status st = right->gemm(self, g, err);
    if (st != CB_OK && err)
        err->msg[0] = 0;
    return st;
}

static cb_status gemm_does_not_name_the_argument(void *self, const cb_gemm_args *g, cb_error *err)
{
    const cb_status st = right->gemm(self, g, err);
    if (st != CB_OK && err)
        strcpy(err->msg, "gemm: something is not as it must be");
    return st;
}

static cb_status gemm_does_not_say_the_value(void *self, const cb_gemm_args *g, cb_error *err)
{
    const cb_status st = right->gemm(self, g, err);
    for (char *c = err && st != CB_OK ? err->msg : ""; *c; c++) {
        if (*c >= '0' && *c <= '9')
            *c = '?';
    }
    return st;
}

static cb_status gemm_writes_err_on_success(void *self, const cb_gemm_args *g, cb_error *err)
{
    const cb_status st = right->gemm(self, g, err);
    if (st == CB_OK && err)
        err->msg[0] = 0;
    return st;
}

static cb_status gemm_ignores_unknown_flags(void *self, const cb_gemm_args *g, cb_error *err)
{
    if (!has_c(g))
        return right->gemm(self, g, err);
    cb_gemm_args other = *g;
    other.flags = 0;
    return right->gemm(self, &other, err);
}

static cb_status mixed_swaps_the_precisions(void *self, const cb_gemm_mixed_precision_args *g,
                                            cb_error *err)
{
    cb_gemm_mixed_precision_args other = { 0 };
    if (!g || g->size != sizeof(*g) || g->precision > CB_MIXED_BF16)
        return right->gemm_mixed_precision(self, g, err);
    memcpy(&other, g, sizeof(other));
    other.precision = !other.precision;
    return right->gemm_mixed_precision(self, &other, err);
}

static cb_status batched_ignores_stride_a(void *self, const cb_batched_gemm_args *g, cb_error *err)
{
    if (!g || g->size != sizeof(*g))
        return right->batched_gemm(self, g, err);
    cb_batched_gemm_args other = *g;
    other.stride_a = 0;
    return right->batched_gemm(self, &other, err);
}

static cb_status batched_accepts_c_on_c(void *self, const cb_batched_gemm_args *g, cb_error *err)
{
    if (!g || g->size != sizeof(*g) || g->stride_c)
        return right->batched_gemm(self, g, err);
    cb_batched_gemm_args other = *g;
    other.batch = g->batch ? 1 : 0;
    return right->batched_gemm(self, &other, err);
}

#define GEMM_TYPE(name, type) FAULT(name, gemm, "gemm:" type ",*", "gemm:" type ",")
#define GEMM(name)            GEMM_TYPE(name, "f32")

const struct fault gemm_faults[] = {
    GEMM_TYPE(gemm_skips_the_last_element, "f64"),
    GEMM_TYPE(gemm_takes_k_short_by_one, "bf16"),
    GEMM(gemm_writes_a_padding_row),
    GEMM(gemm_adds_zero_to_a_padding_row),
    GEMM(gemm_writes_behind_c),
    GEMM(gemm_reads_c_with_beta_0),
    GEMM(gemm_reads_a_with_alpha_0),
    GEMM(gemm_does_nothing_with_k_0),
    GEMM(gemm_takes_transposed_b_as_it_is),
    GEMM(gemm_takes_conj_trans_as_no_trans),
    GEMM_TYPE(gemm_is_off_by_more_than_the_bound, "f64"),
    GEMM_TYPE(gemm_sums_in_f16, "f16"),
    GEMM(gemm_asks_for_whole_columns),
    GEMM(gemm_demands_alignment),
    GEMM(gemm_modifies_an_input),
    GEMM(gemm_depends_on_the_run),
    GEMM(gemm_depends_on_the_address),
    GEMM(gemm_writes_c_on_an_error),
    GEMM(gemm_answers_the_wrong_status),
    GEMM(gemm_leaves_the_message_empty),
    GEMM(gemm_does_not_name_the_argument),
    GEMM(gemm_does_not_say_the_value),
    GEMM(gemm_writes_err_on_success),
    GEMM(gemm_ignores_unknown_flags),
    FAULT(mixed_swaps_the_precisions, gemm_mixed_precision, "gemm_mixed_precision:f16,*",
          "gemm_mixed_precision:f16,"),
    FAULT(batched_ignores_stride_a, batched_gemm, "batched_gemm:f32,*", "batched_gemm:f32,"),
    FAULT(batched_accepts_c_on_c, batched_gemm, "batched_gemm:f32,*", "batched_gemm:f32,"),
    { .name = NULL },
};
