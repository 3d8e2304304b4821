/* SPDX-License-Identifier: Apache-2.0 */
/* What a line must give: the stored result and how near to it is near enough, as
 * test/data/golden/README.md and the contract's departures say. */
#include "golden.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* For quirks that go through the C library's exp. */
#define LIBM_BOUND 1e-6

int golden_is_quirk(const struct case_line *line)
{
    return case_find(line, "std_status") != NULL;
}

static cb_status expected_status(const struct case_line *line)
{
    /* The one quirk whose standard outcome is not ours: its C overlap. */
    if (strcmp(line->name, "q_batched_stride0") == 0)
        return CB_INVALID_ARGUMENT;
    const char *key = golden_is_quirk(line) ? "std_status" : "status";
    return strcmp(case_text(line, key), "ok") == 0 ? CB_OK : CB_INVALID_ARGUMENT;
}

/* |alpha| sum |a b| + |beta c| of one element, with what the call must not read left out. */
static double gemm_magnitude(const struct case_line *line, const cb_batched_gemm_args *g,
                             uint64_t batch, uint64_t i, uint64_t j)
{
    const double *a = case_array(line, "@in0").data;
    const double *b = case_array(line, "@in1").data;
    const double *c = case_array(line, "@out0").data;
    double sum = 0;
    a += batch * g->stride_a;
    b += batch * g->stride_b;
    c += batch * g->stride_c;
    for (uint64_t p = 0; g->alpha != 0 && p < g->k; p++)
        sum += fabs(a[g->trans_a ? i * g->lda + p : p * g->lda + i] *
                    b[g->trans_b ? p * g->ldb + j : j * g->ldb + p]);
    return fabs(g->alpha) * sum + (g->beta != 0 ? fabs(g->beta * c[j * g->ldc + i]) : 0);
}

/* (k+4) u (|alpha| sum |a b| + |beta c|) and the subnormals, in f64; 0 between the rows of C. */
static void gemm_bounds(const struct case_line *line, double *bound)
{
    cb_batched_gemm_args g;
    case_batched_gemm(line, &g);
    if (g.batch > 1) {
        g.stride_a = case_u64(line, "stride_a");
        g.stride_b = case_u64(line, "stride_b");
        g.stride_c = case_u64(line, "stride_c");
    }
    const double terms = (double)g.k + 4;
    for (uint64_t batch = 0; batch < g.batch; batch++)
        for (uint64_t j = 0; j < g.n; j++)
            for (uint64_t i = 0; i < g.m; i++)
                bound[batch * g.stride_c + j * g.ldc + i] =
                    terms * (0x1p-53 * gemm_magnitude(line, &g, batch, i, j) + 0x1p-1074);
}

/* The bounds of a quirk, one an element. */
static double *quirk_bounds(const struct case_line *line, uint64_t count)
{
    double *bound = calloc(count ? count : 1, sizeof(*bound));
    assert_non_null(bound);
    if (case_is(line, "cmp", "libm")) {
        for (uint64_t i = 0; i < count; i++)
            bound[i] = LIBM_BOUND;
    } else if (strstr(line->op, "gemm")) {
        gemm_bounds(line, bound);
    } else {
        /* The finite sums of the other quirks have only zeroes to add. */
        for (uint64_t i = 0; i < count; i++)
            bound[i] = 4 * 0x1p-149;
    }
    return bound;
}

static void expect_quirk(const struct case_line *line, int exact, struct golden_expectation *expect)
{
    const struct case_array standard = case_array_if_any(line, "@std");
    expect->output = standard.data ? standard : case_array(line, "@want");
    const int is_sum = case_is(line, "cmp", "order") && (standard.data || !exact);
    if (is_sum || case_is(line, "cmp", "libm"))
        expect->bound = expect->storage = quirk_bounds(line, expect->output.count);
}

static void expect_case(const struct case_line *line, int exact, struct golden_expectation *expect)
{
    /* gemm_ab_00 keeps the -0 of terms that alpha and beta of 0 do not compute here. */
    const int any_order = !exact || strcmp(line->name, "gemm_ab_00") == 0;
    expect->output = case_array(line, "@want");
    if (case_is(line, "cmp", "libm") || (case_is(line, "cmp", "order") && any_order)) {
        const struct case_array ref = case_array(line, "@ref"), tol = case_array(line, "@tol");
        assert_true(ref.type == CASE_F64 && ref.count == expect->output.count);
        assert_true(tol.type == CASE_F64 && tol.count == expect->output.count);
        expect->ref = ref.data;
        expect->bound = tol.data;
    }
}

void golden_expect(const struct case_line *line, int exact, struct golden_expectation *expect)
{
    memset(expect, 0, sizeof(*expect));
    expect->status = expected_status(line);
    if (expect->status != CB_OK)
        expect->output = case_array(line, "@out0");
    else if (golden_is_quirk(line))
        expect_quirk(line, exact, expect);
    else
        expect_case(line, exact, expect);
}

void golden_expectation_free(struct golden_expectation *expect)
{
    free(expect->storage);
    memset(expect, 0, sizeof(*expect));
}
