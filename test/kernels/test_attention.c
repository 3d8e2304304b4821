/* SPDX-License-Identifier: Apache-2.0 */
/* attention, called directly, against softmax and sums in double with the contract's bound. */
#include "kernels_kit.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define JUDGED 60 /* rows of a large output */

struct shape {
    uint64_t batch, heads, kv_heads, seq_q, seq_kv, dim;
};

/* Parts of vectors and of tiles; fewer, as many and more queries than keys; heads in groups; so few
 * rows that nothing is packed; several blocks of keys, panels and pieces of rows; keys split over
 * pieces; long rows, for which a block is short; no keys at all; many heads for each thread. */
static const struct shape shapes[] = {
    { 1, 1, 1, 1, 1, 1 },      { 1, 2, 1, 3, 5, 7 },      { 2, 2, 2, 7, 4, 16 },
    { 1, 1, 1, 17, 17, 33 },   { 1, 3, 3, 16, 48, 64 },   { 1, 4, 2, 4, 50, 65 },
    { 1, 8, 1, 1, 1300, 40 },  { 1, 3, 1, 1, 1111, 20 },  { 2, 1, 1, 1, 2049, 128 },
    { 1, 7, 1, 1, 390, 31 },   { 1, 1, 1, 9, 1100, 24 },  { 1, 1, 1, 100, 385, 64 },
    { 1, 2, 1, 150, 800, 48 }, { 1, 1, 1, 530, 600, 17 }, { 1, 1, 1, 20, 130, 1500 },
    { 1, 1, 1, 3, 100, 1500 }, { 1, 5, 1, 13, 9, 5 },     { 1, 1, 1, 3, 0, 5 },
    { 1, 1, 1, 800, 500, 19 }, { 3, 2, 2, 128, 128, 64 }, { 1, 2, 2, 5, 1500, 6 },
    { 1, 1, 1, 40, 2600, 3 },  { 17, 4, 4, 2, 1030, 8 },  { 9, 2, 2, 40, 60, 20 },
};
#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

static uint64_t queries(const struct shape *s)
{
    return s->batch * s->heads * s->seq_q * s->dim;
}

static uint64_t keys(const struct shape *s)
{
    return s->batch * s->kv_heads * s->seq_kv * s->dim;
}

static float *floats(uint64_t n, uint64_t gap)
{
    return kit_memory(n * sizeof(float), gap * sizeof(float), sizeof(float));
}

static float *random_floats(uint64_t n, float size, uint64_t *seed)
{
    float *x = floats(n, 0);
    for (uint64_t i = 0; i < n; i++)
        x[i] = size * ((float)(kit_random(seed) >> 40) / 0x1p23f - 1);
    return x;
}

/* q, k and v of a shape, o to be computed. */
static struct cpu_attention make(const struct shape *s, float scale, bool causal, float size)
{
    uint64_t seed = s->seq_q * 7919 + s->seq_kv * 13 + s->dim;
    return (struct cpu_attention){
        .batch = s->batch,
        .heads = s->heads,
        .kv_heads = s->kv_heads,
        .seq_q = s->seq_q,
        .seq_kv = s->seq_kv,
        .head_dim = s->dim,
        .scale = scale,
        .causal = causal,
        .q = random_floats(queries(s), size, &seed),
        .k = random_floats(keys(s), size, &seed),
        .v = random_floats(keys(s), 1, &seed),
        .o = floats(queries(s), 0),
    };
}

static void run(const struct cpu_kernels *kernels, const struct cpu_attention *t, unsigned threads)
{
    const struct cpu_attention_kernel *kernel = &kernels->attention;
    struct cpu_work work = kit_work(threads, kernel->workspace(t, threads));
    kernel->run(t, &work);
    kit_work_end(&work);
}

static uint64_t visible(const struct cpu_attention *t, uint64_t i)
{
    if (!t->causal)
        return t->seq_kv;
    return i + 1 + t->seq_kv > t->seq_q ? i + 1 + t->seq_kv - t->seq_q : 0;
}

/* One row of scores: what softmax makes of it, and how far off that may be. */
struct row {
    double *p, *e; /* weights and e_j of the contract */
    double spread; /* sum of p_i e_i */
    bool nan;
};

static struct row judge_scores(const struct cpu_attention *t, const float *q, const float *k,
                               uint64_t n)
{
    struct row r = { malloc((n + 1) * sizeof(double)), malloc((n + 1) * sizeof(double)), 0, false };
    const double u = 0x1p-24, scale = t->scale;
    double max = -INFINITY, sum = 0;
    assert_true(r.p && r.e);
    for (uint64_t j = 0; j < n; j++) {
        double dot = 0, size = 0;
        for (uint64_t d = 0; d < t->head_dim; d++) {
            dot += (double)q[d] * k[j * t->head_dim + d];
            size += fabs((double)q[d] * k[j * t->head_dim + d]);
        }
        r.p[j] = scale * dot;
        r.e[j] = isfinite(r.p[j]) ? ((double)t->head_dim + 2) * u * fabs(scale) * size : 0;
        r.nan |= isnan(r.p[j]) || r.p[j] == INFINITY;
        max = r.p[j] > max ? r.p[j] : max;
    }
    r.nan |= n && max == -INFINITY;
    for (uint64_t j = 0; j < n && !r.nan; j++) {
        r.e[j] += isfinite(r.p[j]) ? (fabs(r.p[j] - max) + 2) * u : 0;
        r.p[j] = exp(r.p[j] - max);
        sum += r.p[j];
    }
    for (uint64_t j = 0; j < n && !r.nan; j++) {
        r.p[j] /= sum;
        r.spread += r.p[j] * r.e[j];
    }
    return r;
}

/* Row i of head h of batch b, by the contract. */
static void judge_row(const struct cpu_attention *t, uint64_t b, uint64_t h, uint64_t i)
{
    const uint64_t n = visible(t, i), dim = t->head_dim;
    const uint64_t at = ((b * t->heads + h) * t->seq_q + i) * dim;
    const uint64_t kv = (b * t->kv_heads + h / (t->heads / t->kv_heads)) * t->seq_kv * dim;
    const struct row r = judge_scores(t, t->q + at, t->k + kv, n);
    const double u = 0x1p-24, terms = (double)n;
    for (uint64_t d = 0; d < dim; d++) {
        const float got = t->o[at + d];
        double want = 0, bound = (terms + 4) * 0x1p-149;
        for (uint64_t j = 0; j < n && !r.nan; j++) {
            const double x = r.p[j] * t->v[kv + j * dim + d];
            want += x;
            bound += fabs(x) * (r.e[j] + r.spread + (terms + 6) * u + (terms + 1) * u);
        }
        if (r.nan || isnan(want) ? isnan(got) : n ? fabs(got - want) <= bound : got == 0)
            continue;
        print_error("batch %llu of %llu, head %llu of %llu on %llu, query %llu of %llu, %llu of "
                    "%llu keys, element %llu of %llu, causal %d: %.9g, not %.17g within %.3g\n",
                    (unsigned long long)b, (unsigned long long)t->batch, (unsigned long long)h,
                    (unsigned long long)t->heads, (unsigned long long)t->kv_heads,
                    (unsigned long long)i, (unsigned long long)t->seq_q, (unsigned long long)n,
                    (unsigned long long)t->seq_kv, (unsigned long long)d, (unsigned long long)dim,
                    t->causal, got, r.nan ? (double)NAN : want, bound);
        fail();
    }
    free(r.p);
    free(r.e);
}

/* All rows of a small output, some of a large one, and the last. */
static void judge(const struct cpu_attention *t)
{
    const uint64_t rows = t->batch * t->heads * t->seq_q;
    for (uint64_t r = 0; r < rows; r += rows / JUDGED + 1)
        judge_row(t, r / t->seq_q / t->heads, r / t->seq_q % t->heads, r % t->seq_q);
    judge_row(t, t->batch - 1, t->heads - 1, t->seq_q - 1);
}

/* The same floats, elsewhere. */
static const float *moved(const float *x, uint64_t n, uint64_t gap)
{
    float *y = floats(n, gap);
    memcpy(y, x, n * sizeof(*y));
    return y;
}

static void attention_is_within_its_bound_for_any_threads_and_address(void **state)
{
    static const float scales[] = { 1, 0.125f, -0.4f, 3 };
    const struct cpu_kernels kernels = kit_kernels(state);
    for (uint64_t i = 0; i < 2 * SHAPES; i++) {
        const struct shape *s = &shapes[i / 2];
        const uint64_t n = queries(s), kv = keys(s);
        const struct cpu_attention t = make(s, scales[i / 2 % 4], i % 2, 1);
        struct cpu_attention other = t;
        run(&kernels, &t, 1);
        judge(&t);
        for (unsigned threads = 2; threads < 5; threads++) {
            other.q = moved(t.q, n, threads + 3);
            other.k = moved(t.k, kv, threads % 3);
            other.v = moved(t.v, kv, 16 + threads);
            other.o = floats(n, 2 * threads + 1);
            run(&kernels, &other, threads);
            assert_memory_equal(other.o, t.o, n * sizeof(float));
        }
        kit_release();
    }
}

/* Every query attends to one key, wherever in the blocks it is, and the others are far below. */
static void attention_bears_scores_that_are_far_apart(void **state)
{
    static const float sizes[] = { 30, 1e4f, 1e17f };
    const struct cpu_kernels kernels = kit_kernels(state);
    for (uint64_t i = 0; i < 3 * SHAPES; i++) {
        const struct shape *s = &shapes[i / 3];
        const struct cpu_attention t = make(s, 1, i & 1, sizes[i % 3]);
        run(&kernels, &t, 3);
        judge(&t);
        kit_release();
    }
}

/* Element 0 of K is the score. */
static struct cpu_attention scored(const struct shape *s, bool causal)
{
    const struct cpu_attention t = make(s, 1, causal, 1);
    for (uint64_t i = 0; i < queries(s); i++)
        ((float *)t.q)[i] = i % s->dim ? 0.0f : 1.0f;
    return t;
}

static void a_row_follows_softmax_where_scores_are_infinite_or_nan(void **state)
{
    const struct cpu_kernels kernels = kit_kernels(state);
    static const float odd[] = { -INFINITY, INFINITY, NAN };
    for (uint64_t i = 0; i < SHAPES; i++)
        for (uint64_t c = 0; c < 2 * 5; c++) {
            const struct shape *s = &shapes[i];
            const struct cpu_attention t = scored(s, c % 2);
            float *k = (float *)t.k;
            const uint64_t n = keys(s) / s->dim, half = (n + 1) / 2;
            for (uint64_t j = 0; j < n; j++) /* cases 3, 4: half of the keys, all of them */
                if (c / 2 < 3 ? j == n / 3 : c / 2 == 3 ? j < half : true)
                    k[j * s->dim] = odd[c / 2 % 3];
            if (c / 2 == 4)
                for (uint64_t j = 0; j < n; j++)
                    k[j * s->dim] = -INFINITY;
            run(&kernels, &t, 3);
            judge(&t);
            kit_release();
        }
}

static void a_query_with_nan_spoils_no_other(void **state)
{
    const struct cpu_kernels kernels = kit_kernels(state);
    for (uint64_t i = 0; i < 2 * SHAPES; i++) {
        const struct shape *s = &shapes[i / 2];
        const struct cpu_attention t = make(s, 1, i % 2, 1);
        ((float *)t.q)[queries(s) / 2] = NAN;
        run(&kernels, &t, 2);
        judge(&t);
        kit_release();
    }
}

/* The last keys, which only the last queries see, and one in the middle. */
static void keys_and_values_that_are_masked_do_not_count(void **state)
{
    const struct cpu_kernels kernels = kit_kernels(state);
    for (uint64_t i = 0; i < 3 * SHAPES; i++) {
        const struct shape *s = &shapes[i / 3];
        if (!s->seq_kv)
            continue;
        const struct cpu_attention t = make(s, 1, true, 1);
        const uint64_t from = (i % 3 ? s->seq_kv / 2 : s->seq_kv - 1) * s->dim;
        for (uint64_t at = from; at < (i % 3 == 1 ? from + 1 : s->seq_kv * s->dim); at++) {
            ((float *)t.v)[at] = NAN;
            if (i % 3 == 0)
                ((float *)t.k)[at] = NAN;
        }
        run(&kernels, &t, 3);
        judge(&t);
        kit_release();
    }
}

/* Sums that are not divided yet would be infinite. */
static void values_may_be_as_large_as_numbers_go(void **state)
{
    const struct cpu_kernels kernels = kit_kernels(state);
    for (uint64_t i = 0; i < 2 * SHAPES; i++) {
        const struct shape *s = &shapes[i / 2];
        const struct cpu_attention t = make(s, 1, i % 2, 0.1f);
        for (uint64_t j = 0; j < keys(s); j++)
            ((float *)t.v)[j] *= 0.9f * FLT_MAX;
        for (uint64_t j = 0; j < keys(s); j += s->dim)
            ((float *)t.v)[j] = 0.9f * FLT_MAX;
        run(&kernels, &t, 3);
        judge(&t);
        kit_release();
    }
}

static void memory_does_not_grow_with_queries_times_keys(void **state)
{
    const struct cpu_kernels kernels = kit_kernels(state);
    for (uint64_t rows = 1; rows <= 1u << 24; rows *= 16) {
        const struct cpu_attention t = { .batch = 1,
                                         .heads = 2,
                                         .kv_heads = 1,
                                         .seq_q = rows,
                                         .seq_kv = 1u << 20,
                                         .head_dim = 128 };
        assert_true(kernels.attention.workspace(&t, 2) <= 2 * (4u << 20) + (4u << 20));
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(attention_is_within_its_bound_for_any_threads_and_address),
        cmocka_unit_test(attention_bears_scores_that_are_far_apart),
        cmocka_unit_test(a_row_follows_softmax_where_scores_are_infinite_or_nan),
        cmocka_unit_test(a_query_with_nan_spoils_no_other),
        cmocka_unit_test(keys_and_values_that_are_masked_do_not_count),
        cmocka_unit_test(values_may_be_as_large_as_numbers_go),
        cmocka_unit_test(memory_does_not_grow_with_queries_times_keys),
    };
    return kit_run("attention", tests, sizeof(tests) / sizeof(tests[0]));
}
