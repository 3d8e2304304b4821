/* SPDX-License-Identifier: Apache-2.0 */
/* gemv_KIND: a matrix by a vector; included once per kind, without a guard. See gemm_kind_tmpl.h
 * for what it is given.
 *
 * The matrix is read once, several lines of it side by side, as streams that the processor sees.
 * Sums, and the vector in blocks of GEMV_STEPS, stay in L1. Every sum is in an order that only its
 * length decides. */

/* Rows lie next to each other: sums += columns * x, 8 columns at a time. */
static inline __attribute__((always_inline)) void
PASTE(gemv_add_, KIND)(REAL *sums, const IN *m, uint64_t rows, uint64_t step, const REAL *x,
                       const unsigned columns)
{
    for (uint64_t i = 0; i < rows; i += V(n)) {
        const bool whole = rows - i >= V(n);
        const V(m) some = V(mask)(whole ? V(n) : rows - i);
        V(t) sum = V(load)(sums + i);
#pragma GCC unroll 8
        for (unsigned s = 0; s < columns; s++) {
            const IN *p = m + s * step + i;
            sum = V(fma)(whole ? LOAD(p) : LOAD_MASK(p, some), V(set1)(x[s]), sum);
        }
        V(store)(sums + i, sum);
    }
}

static void PASTE(gemv_columns_, KIND)(REAL *sums, const IN *m, uint64_t rows, uint64_t step,
                                       uint64_t steps, const REAL *x)
{
    uint64_t p = 0;
    for (; p + 8 <= steps; p += 8)
        PASTE(gemv_add_, KIND)(sums, m + p * step, rows, step, x + p, 8);
    for (; p < steps; p++)
        PASTE(gemv_add_, KIND)(sums, m + p * step, rows, step, x + p, 1);
}

/* Steps lie next to each other: adds a dot product to each of a few sums. x ends in zeros up to a
 * whole vector. */
static inline __attribute__((always_inline)) void
PASTE(gemv_dot_, KIND)(REAL *sums, const IN *m, uint64_t row, uint64_t steps, const REAL *x,
                       const unsigned rows)
{
    const V(m) rest = V(mask)(steps % V(n));
    V(t) sum[4][2];
    uint64_t p = 0;
#pragma GCC unroll 4
    for (unsigned r = 0; r < rows; r++)
        sum[r][0] = sum[r][1] = V(zero)();
    for (; p + 2 * V(n) <= steps; p += 2 * V(n)) {
#pragma GCC unroll 4
        for (unsigned r = 0; r < rows; r++) {
            const IN *q = m + r * row + p;
            sum[r][0] = V(fma)(LOAD(q), V(load)(x + p), sum[r][0]);
            sum[r][1] = V(fma)(LOAD(q + V(n)), V(load)(x + p + V(n)), sum[r][1]);
        }
    }
    for (unsigned r = 0; r < rows; r++) {
        uint64_t q = p;
        for (; q + V(n) <= steps; q += V(n))
            sum[r][0] = V(fma)(LOAD(m + r * row + q), V(load)(x + q), sum[r][0]);
        if (q < steps)
            sum[r][1] = V(fma)(LOAD_MASK(m + r * row + q, rest), V(load)(x + q), sum[r][1]);
        sums[r] += V(first)(V(all_add)(V(add)(sum[r][0], sum[r][1])));
    }
}

static void PASTE(gemv_rows_, KIND)(REAL *sums, const IN *m, uint64_t rows, uint64_t row,
                                    uint64_t steps, const REAL *x)
{
    uint64_t i = 0;
    for (; i + 4 <= rows; i += 4)
        PASTE(gemv_dot_, KIND)(sums + i, m + i * row, row, steps, x, 4);
    for (; i < rows; i++)
        PASTE(gemv_dot_, KIND)(sums + i, m + i * row, row, steps, x, 1);
}

/* The vector in the type that is computed in, and zeros to the end. */
static void PASTE(gemv_widen_, KIND)(REAL wide[GEMV_STEPS], const IN *x, uint64_t n, uint64_t inc)
{
    const V(m) one = V(mask)(1);
    if (inc == 1) {
        for (uint64_t i = 0; i < n; i += V(n))
            V(store)(wide + i, LOAD_MASK(x + i, V(mask)(n - i < V(n) ? n - i : V(n))));
        return;
    }
    for (uint64_t i = 0; i < n; i++)
        V(store_mask)(wide + i, one, LOAD_MASK(x + i * inc, one));
    for (uint64_t i = n; i % V(n); i++)
        wide[i] = 0;
}

static void PASTE(gemv_, KIND)(const struct gemv *v)
{
    const IN *m = v->m, *x = v->x;
    const REAL alpha = (REAL)v->alpha, beta = (REAL)v->beta;
    REAL sums[GEMV_ROWS], wide[GEMV_STEPS], *y = v->y;
    memset(sums, 0, (v->rows + V(n) - 1) / V(n) * V(n) * sizeof(REAL));
    for (uint64_t p = 0; p < v->k; p += GEMV_STEPS) {
        const uint64_t steps = v->k - p < GEMV_STEPS ? v->k - p : GEMV_STEPS;
        PASTE(gemv_widen_, KIND)(wide, x + p * v->inc_x, steps, v->inc_x);
        if (v->step == 1)
            PASTE(gemv_rows_, KIND)(sums, m + p, v->rows, v->row, steps, wide);
        else
            PASTE(gemv_columns_, KIND)(sums, m + p * v->step, v->rows, v->step, steps, wide);
    }
    for (uint64_t i = 0; i < v->rows; i++, y += v->inc_y)
        *y = beta == 0 ? alpha * sums[i] : alpha * sums[i] + beta * *y;
}
