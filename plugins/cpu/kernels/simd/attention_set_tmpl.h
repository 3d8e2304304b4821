/* SPDX-License-Identifier: Apache-2.0 */
/* attention of one instruction set: its kernels, its slot. Included once by a file of the set. */
#include <string.h>

#include "attention_fold.h"
#include "attention_set.h"
#include "gemm_isa.h"
#include "vec.h"
#include "vec_math.h"

#define ADD_KEYS    8     /* that are added at a time */
#define FETCH_AHEAD 8192u /* bytes, of keys and of values: a vector of keys of 128 */

/* A vector of elements i.. of n, `fill` beyond them. */
VEC_INLINE f32_t load_part(const float *x, uint64_t i, uint64_t n, f32_t fill)
{
    if (n - i >= f32_n)
        return f32_load(x + i);
    const f32_m m = f32_mask(n - i);
    return f32_select(m, f32_load_mask(x + i, m), fill);
}

/* ---- few queries: keys and values are read once, as they lie ---- */

/* A step of all dot products: one vector of each query and key, of which only m when `part`. What
 * the next keys need is fetched. `last` is the last key there is. */
VEC_INLINE void dots_step(f32_t sums[f32_n], const float *q, const float *k, uint64_t last,
                          uint64_t d, const int rows, const bool part, f32_m m)
{
    const int keys = f32_n / rows;
#pragma GCC unroll 16
    for (int a = 0; a < keys; a++) {
        const float *key = k + ((uint64_t)a < last ? (uint64_t)a : last) * d;
        const f32_t x = part ? f32_load_mask(key, m) : f32_load(key);
        vec_prefetch((const char *)key + FETCH_AHEAD);
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++) {
            const float *query = q + (uint64_t)r * d;
            const f32_t y = part ? f32_load_mask(query, m) : f32_load(query);
            sums[r * keys + a] = f32_fma(x, y, sums[r * keys + a]);
        }
    }
}

/* The scores of `rows` queries, a constant power of two, and of as many keys as there are sums for,
 * but no more than n. */
VEC_INLINE void dots_tile(float *s, uint64_t ld, const float *q, const float *k, uint64_t n,
                          uint64_t d, float scale, const int rows)
{
    const uint64_t most = f32_n / (uint64_t)rows, keys = n < most ? n : most;
    const f32_m rest = f32_mask(d % f32_n);
    f32_t sums[f32_n];
    float scores[f32_n];
    uint64_t i = 0;
#pragma GCC unroll 16
    for (int a = 0; a < f32_n; a++)
        sums[a] = f32_zero();
    for (; d - i >= f32_n; i += f32_n)
        dots_step(sums, q + i, k + i, keys - 1, d, rows, false, rest);
    if (i < d)
        dots_step(sums, q + i, k + i, keys - 1, d, rows, true, rest);
    f32_store(scores, f32_mul(f32_set1(scale), attention_add(sums)));
    for (int r = 0; r < rows; r++)
        memcpy(s + (uint64_t)r * ld, scores + (uint64_t)r * most, keys * sizeof(float));
}

/* A few keys against all rows, so that they come from memory once. */
static void dots(float *s, uint64_t ld, const float *q, uint64_t rows, const float *k, uint64_t n,
                 uint64_t d, float scale)
{
    for (uint64_t j = 0; j < n; j += f32_n) {
        const uint64_t end = n - j < f32_n ? n : j + f32_n;
        uint64_t r = 0;
#define DOTS(some)                                                                                 \
    for (; rows - r >= (some); r += (some))                                                        \
        for (uint64_t i = j; i < end; i += f32_n / (some))                                         \
    dots_tile(s + r * ld + i, ld, q + r * d, k + i * d, end - i, d, scale, some)
        DOTS(4);
        DOTS(2);
        DOTS(1);
#undef DOTS
    }
}

/* Adds `keys` values, a constant, to one vector of every row. */
VEC_INLINE void add_step(float *o, const float *p, uint64_t ld, uint64_t rows, const float *v,
                         uint64_t step, uint64_t d, const int keys, f32_m m, const bool part)
{
    f32_t x[ADD_KEYS];
#pragma GCC unroll 8
    for (int j = 0; j < keys; j++) {
        const float *value = v + (uint64_t)j * step;
        x[j] = part ? f32_load_mask(value, m) : f32_load(value);
        vec_prefetch((const char *)value + FETCH_AHEAD);
    }
    for (uint64_t r = 0; r < rows; r++, o += d, p += ld) {
        f32_t sum = part ? f32_load_mask(o, m) : f32_load(o);
#pragma GCC unroll 8
        for (int j = 0; j < keys; j++)
            sum = f32_fma(x[j], f32_set1(p[j]), sum);
        if (part)
            f32_store_mask(o, m, sum);
        else
            f32_store(o, sum);
    }
}

VEC_INLINE void add_keys(float *o, const float *p, uint64_t ld, uint64_t rows, const float *v,
                         uint64_t step, uint64_t d, const int keys)
{
    const f32_m rest = f32_mask(d % f32_n);
    uint64_t i = 0;
    for (; d - i >= f32_n; i += f32_n)
        add_step(o + i, p, ld, rows, v + i, step, d, keys, rest, false);
    if (i < d)
        add_step(o + i, p, ld, rows, v + i, step, d, keys, rest, true);
}

static void add(float *o, const float *p, uint64_t ld, uint64_t rows, const float *v, uint64_t step,
                uint64_t n, uint64_t d)
{
    uint64_t j = 0;
    for (; n - j >= ADD_KEYS; j += ADD_KEYS)
        add_keys(o, p + j, ld, rows, v + j * step, step, d, ADD_KEYS);
    for (; j < n; j++)
        add_keys(o, p + j, ld, rows, v + j * step, step, d, 1);
}

/* ---- softmax, key block by key block ---- */

/* The largest of each element over a row. */
VEC_INLINE f32_t row_max(const float *s, uint64_t n)
{
    const f32_t least = f32_set1(-INFINITY);
    f32_t max[4] = { least, least, least, least };
    uint64_t i = 0;
    for (; n - i >= 4 * f32_n; i += 4 * f32_n)
        for (int j = 0; j < 4; j++)
            max[j] = f32_max(max[j], f32_load(s + i + j * f32_n));
    for (; i < n; i += f32_n)
        max[0] = f32_max(max[0], load_part(s, i, n, least));
    return f32_max(f32_max(max[0], max[1]), f32_max(max[2], max[3]));
}

/* The weights of a row, in place; the sum of each element over it. */
VEC_INLINE f32_t row_weights(float *s, uint64_t n, uint64_t room, f32_t max)
{
    const f32_t least = f32_set1(-INFINITY);
    f32_t sum[4] = { f32_zero(), f32_zero(), f32_zero(), f32_zero() };
    uint64_t i = 0;
    for (; n - i >= 4 * f32_n; i += 4 * f32_n)
        for (int j = 0; j < 4; j++) {
            const f32_t e = f32_exp_difference(f32_sub(f32_load(s + i + j * f32_n), max));
            sum[j] = f32_add(sum[j], e);
            f32_store(s + i + j * f32_n, e);
        }
    for (; i < n; i += f32_n) {
        const f32_t e = f32_exp_difference(f32_sub(load_part(s, i, n, least), max));
        sum[0] = f32_add(sum[0], e);
        f32_store_mask(s + i, f32_mask(room - i < f32_n ? room - i : f32_n), e);
    }
    for (; i < room; i += f32_n)
        f32_store_mask(s + i, f32_mask(room - i < f32_n ? room - i : f32_n), f32_zero());
    return f32_add(f32_add(sum[0], sum[1]), f32_add(sum[2], sum[3]));
}

/* Up to a vector of rows, so that no row waits for the maximum and the sum of the one before. A NaN
 * is lost on the way to the maximum, or not, but is there again among the weights. */
static void weigh_some(float *s, uint64_t ld, uint64_t rows, const uint64_t *n, uint64_t room,
                       const struct attention_state *state, float *factors)
{
    const f32_m some = f32_mask(rows);
    const f32_t old = f32_load_mask(state->max, some);
    f32_t part[f32_n];
    for (uint64_t r = 0; r < f32_n; r++)
        part[r] = r < rows ? row_max(s + r * ld, n[r]) : f32_zero();
    const f32_t max = f32_max(old, attention_max(part));
    const f32_t factor = f32_exp_difference(f32_sub(old, max));
    f32_store_mask(state->max, some, max);
    f32_store_mask(factors, some, factor);
    for (uint64_t r = 0; r < rows; r++)
        part[r] = row_weights(s + r * ld, n[r], room, f32_set1(state->max[r]));
    const f32_t sum = f32_load_mask(state->sum, some);
    f32_store_mask(state->sum, some, f32_fma(sum, factor, attention_add(part)));
}

static void weigh(float *s, uint64_t ld, uint64_t rows, const uint64_t *n, uint64_t room,
                  const struct attention_state *state, float *factors)
{
    for (uint64_t r = 0; r < rows; r += f32_n) {
        const struct attention_state here = { state->max + r, state->sum + r };
        weigh_some(s + r * ld, ld, rows - r < f32_n ? rows - r : f32_n, n + r, room, &here,
                   factors + r);
    }
}

static bool scale(float *x, uint64_t n, float factor)
{
    const f32_t y = f32_set1(factor), zero = f32_zero();
    const f32_m rest = f32_mask(n % f32_n);
    f32_t odd = zero; /* what is not finite, times 0, is NaN */
    uint64_t i = 0;
    for (; n - i >= f32_n; i += f32_n) {
        const f32_t product = f32_mul(f32_load(x + i), y);
        odd = f32_fma(product, zero, odd);
        f32_store(x + i, product);
    }
    const f32_t product = f32_mul(f32_load_mask(x + i, rest), y);
    f32_store_mask(x + i, rest, product);
    return !f32_any(f32_isnan(f32_fma(product, zero, odd)));
}

static const struct attention_set set = {
    .mv = GEMM_MV,
    .nr = GEMM_NR,
    .vector = f32_n,
    .block = ISA(gemm_block_f32),
    .pack = ISA(gemm_pack_f32),
    .dots = dots,
    .weigh = weigh,
    .add = add,
    .scale = scale,
};

static void run(const struct cpu_attention *t, const struct cpu_work *work)
{
    attention_run(&set, t, work);
}

static uint64_t workspace(const struct cpu_attention *t, unsigned threads)
{
    return attention_workspace(&set, t, threads);
}

const struct cpu_attention_kernel ISA(cpu_attention) = { run, workspace };
