/* SPDX-License-Identifier: Apache-2.0 */
/* gemv_KIND: a matrix by a few vectors; included once per kind, without a guard. See
 * gemm_kind_tmpl.h for what it is given.
 *
 * The matrix is read once, several lines of it side by side, as streams that the processor sees.
 * Sums, and the vectors in blocks, stay in L1. Every sum is in an order that only the shape
 * decides. */

/* Rows lie next to each other: sums += columns * x, 8 columns at a time. */
static inline __attribute__((always_inline)) void PASTE(gemv_add_, KIND)(const struct gemv_block *g,
                                                                         const IN *m, uint64_t step,
                                                                         uint64_t p,
                                                                         const unsigned columns)
{
    for (uint64_t i = 0; i < g->rows; i += V(n)) {
        const bool whole = g->rows - i >= V(n);
        const V(m) some = V(mask)(whole ? V(n) : g->rows - i);
        V(t) column[8];
#pragma GCC unroll 8
        for (unsigned s = 0; s < columns; s++)
            column[s] = whole ? LOAD(m + s * step + i) : LOAD_MASK(m + s * step + i, some);
        for (uint64_t j = 0; j < g->n; j++) {
            const REAL *x = (const REAL *)g->x + j * g->room + p;
            REAL *sums = (REAL *)g->sums + j * g->room + i;
            V(t) sum = V(load)(sums);
#pragma GCC unroll 8
            for (unsigned s = 0; s < columns; s++)
                sum = V(fma)(column[s], V(set1)(x[s]), sum);
            V(store)(sums, sum);
        }
    }
}

static void PASTE(gemv_columns_, KIND)(const struct gemv_block *g, const IN *m, uint64_t step)
{
    uint64_t p = 0;
    for (; p + 8 <= g->steps; p += 8)
        PASTE(gemv_add_, KIND)(g, m + p * step, step, p, 8);
    for (; p < g->steps; p++)
        PASTE(gemv_add_, KIND)(g, m + p * step, step, p, 1);
}

/* Steps lie next to each other: adds a dot product of each of a few rows with each of a few
 * vectors, which end in zeros up to a whole one. */
static inline __attribute__((always_inline)) void
PASTE(gemv_dot_, KIND)(const struct gemv_block *g, const IN *m, uint64_t row, uint64_t i,
                       uint64_t j, const unsigned rows, const unsigned vectors)
{
    const uint64_t room = g->room, whole = g->steps / V(n) * V(n);
    const V(m) rest = V(mask)(g->steps - whole);
    const REAL *x = (const REAL *)g->x + j * room;
    REAL *sums = (REAL *)g->sums + j * room + i;
    V(t) sum[8][4];
#pragma GCC unroll 8
    for (unsigned r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (unsigned q = 0; q < vectors; q++)
            sum[r][q] = V(zero)();
    for (uint64_t p = 0; p < whole; p += V(n)) {
        V(t) row_of[8];
#pragma GCC unroll 8
        for (unsigned r = 0; r < rows; r++)
            row_of[r] = LOAD(m + r * row + p);
#pragma GCC unroll 4
        for (unsigned q = 0; q < vectors; q++)
#pragma GCC unroll 8
            for (unsigned r = 0; r < rows; r++)
                sum[r][q] = V(fma)(row_of[r], V(load)(x + q * room + p), sum[r][q]);
    }
#pragma GCC unroll 8
    for (unsigned r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (unsigned q = 0; q < vectors; q++) {
            if (whole < g->steps)
                sum[r][q] = V(fma)(LOAD_MASK(m + r * row + whole, rest),
                                   V(load)(x + q * room + whole), sum[r][q]);
            sums[q * room + r] += V(first)(V(all_add)(sum[r][q]));
        }
}

/* Of several vectors four at a time; those beyond the last are zeros. */
static void PASTE(gemv_rows_, KIND)(const struct gemv_block *g, const IN *m, uint64_t row)
{
    enum {
        SOME = GEMM_MV > 2 ? 4 : 2 /* rows whose sums with four vectors fit the registers */
    };
    uint64_t i = 0;
    if (g->n == 1) {
        for (; i + 8 <= g->rows; i += 8)
            PASTE(gemv_dot_, KIND)(g, m + i * row, row, i, 0, 8, 1);
        for (; i < g->rows; i++)
            PASTE(gemv_dot_, KIND)(g, m + i * row, row, i, 0, 1, 1);
        return;
    }
    for (; i + SOME <= g->rows; i += SOME)
        for (uint64_t j = 0; j < g->n; j += 4)
            PASTE(gemv_dot_, KIND)(g, m + i * row, row, i, j, SOME, 4);
    for (; i < g->rows; i++)
        for (uint64_t j = 0; j < g->n; j += 4)
            PASTE(gemv_dot_, KIND)(g, m + i * row, row, i, j, 1, 4);
}

/* A vector in the type that is computed in, and zeros to the end. */
static void PASTE(gemv_widen_, KIND)(REAL *wide, const IN *x, uint64_t n, uint64_t inc)
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
    const IN *m = v->m;
    const REAL alpha = (REAL)v->alpha, beta = (REAL)v->beta;
    REAL sums[GEMV_ROOM], wide[GEMV_ROOM];
    struct gemv_block block = { .rows = v->rows,
                                .n = v->n > 1 && v->step == 1 ? (v->n + 3) / 4 * 4 : v->n,
                                .room = GEMV_ROWS(v->n),
                                .x = wide,
                                .sums = sums };
    for (uint64_t j = 0; j < block.n; j++) {
        memset(sums + j * block.room, 0, (v->rows + V(n) - 1) / V(n) * V(n) * sizeof(REAL));
        if (j >= v->n)
            memset(wide + j * block.room, 0, block.room * sizeof(REAL));
    }
    for (uint64_t p = 0; p < v->k; p += block.room) {
        block.steps = v->k - p < block.room ? v->k - p : block.room;
        for (uint64_t j = 0; j < v->n; j++) {
            const IN *from = (const IN *)v->x + p * v->inc_x + j * v->next_x;
            PASTE(gemv_widen_, KIND)(wide + j * block.room, from, block.steps, v->inc_x);
        }
        if (v->step == 1)
            PASTE(gemv_rows_, KIND)(&block, m + p, v->row);
        else
            PASTE(gemv_columns_, KIND)(&block, m + p * v->step, v->step);
    }
    for (uint64_t j = 0; j < v->n; j++) {
        const REAL *sum = sums + j * block.room;
        REAL *y = (REAL *)v->y + j * v->next_y;
        for (uint64_t i = 0; i < v->rows; i++, y += v->inc_y)
            *y = beta == 0 ? alpha * sum[i] : alpha * sum[i] + beta * *y;
    }
}
