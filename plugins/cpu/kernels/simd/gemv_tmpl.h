/* SPDX-License-Identifier: Apache-2.0 */
/* gemv_KIND: a matrix by a vector; included once per kind, without a guard.
 *
 *   KIND     names the loads of gemm_group.h
 *   IN       type in memory
 *   T, REAL  f64, double or f32, float: what is computed with
 *
 * The matrix is read once, several lines of it side by side, as streams that the processor sees.
 * Sums, and the vector in blocks of GEMV_STEPS, stay in L1. Every sum is in an order that only its
 * length decides. */

/* Rows lie next to each other: sums += columns * x, 8 columns at a time. */
static inline __attribute__((always_inline)) void
PASTE(gemv_add_, KIND)(REAL *sums, const IN *m, uint64_t rows, uint64_t step, const REAL *x,
                       const unsigned columns)
{
    uint64_t i = 0;
    for (; i + GROUP <= rows; i += GROUP) {
        GROUP_TYPE sum = PASTE(load_, T)(sums + i);
#pragma GCC unroll 8
        for (unsigned s = 0; s < columns; s++)
            sum = PASTE(fma_, T)(LOAD(m + s * step + i), PASTE(set1_, T)(x[s]), sum);
        STORE(sums + i, sum);
    }
    for (; i < rows; i++)
        for (unsigned s = 0; s < columns; s++)
            sums[i] = PASTE(fma_one_, T)(LOAD_ONE(m + s * step + i), x[s], sums[i]);
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

/* Steps lie next to each other: adds a dot product to each of a few sums. */
static inline __attribute__((always_inline)) void
PASTE(gemv_dot_, KIND)(REAL *sums, const IN *m, uint64_t row, uint64_t steps, const REAL *x,
                       const unsigned rows)
{
    GROUP_TYPE sum[4][2] = { { { 0 } } };
    uint64_t p = 0;
    for (; p + 2 * GROUP <= steps; p += 2 * GROUP) {
        const GROUP_TYPE x0 = PASTE(load_, T)(x + p), x1 = PASTE(load_, T)(x + p + GROUP);
#pragma GCC unroll 4
        for (unsigned r = 0; r < rows; r++) {
            sum[r][0] = PASTE(fma_, T)(LOAD(m + r * row + p), x0, sum[r][0]);
            sum[r][1] = PASTE(fma_, T)(LOAD(m + r * row + p + GROUP), x1, sum[r][1]);
        }
    }
    for (unsigned r = 0; r < rows; r++) {
        REAL lanes[GROUP], rest = 0;
        STORE(lanes, PASTE(add_, T)(sum[r][0], sum[r][1]));
        for (uint64_t q = p; q < steps; q++)
            rest = PASTE(fma_one_, T)(LOAD_ONE(m + r * row + q), x[q], rest);
        for (unsigned half = GROUP / 2; half; half /= 2)
            for (unsigned l = 0; l < half; l++)
                lanes[l] += lanes[l + half];
        sums[r] += lanes[0] + rest;
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

static void PASTE(gemv_, KIND)(const struct gemv *v)
{
    const IN *m = v->m, *x = v->x;
    const REAL alpha = (REAL)v->alpha, beta = (REAL)v->beta;
    REAL sums[GEMV_ROWS] = { 0 }, wide[GEMV_STEPS], *y = v->y;
    for (uint64_t p = 0; p < v->k; p += GEMV_STEPS) {
        const uint64_t steps = v->k - p < GEMV_STEPS ? v->k - p : GEMV_STEPS;
        for (uint64_t q = 0; q < steps; q++)
            wide[q] = LOAD_ONE(x + (p + q) * v->inc_x);
        if (v->step == 1)
            PASTE(gemv_rows_, KIND)(sums, m + p, v->rows, v->row, steps, wide);
        else
            PASTE(gemv_columns_, KIND)(sums, m + p * v->step, v->rows, v->step, steps, wide);
    }
    for (uint64_t i = 0; i < v->rows; i++, y += v->inc_y)
        *y = beta == 0 ? alpha * sums[i] : PASTE(fma_one_, T)(alpha, sums[i], beta * *y);
}
