/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_block for one type; included once per type and instruction set, without a guard.
 *
 *   T, REAL  f64, double or f32, float
 *   V(op)    the vector vocabulary of the type: V(t) a vector of V(n) elements, V(m) a mask
 *
 * A tile is `rows` vectors high, at most GEMM_MV, and `cols` columns wide, at most GEMM_NR: its
 * GEMM_MV*GEMM_NR sums stay in registers, beside GEMM_MV for a step of A and one for an element of
 * B. Each size of tile is a function of its own, unrolled, so that an edge costs no more than its
 * own multiplications; only the last vector of a column is masked. */

#define FETCH_A     1024u /* bytes of packed A ahead */
#define FETCH_STEPS 6u    /* steps of A in place */

#define TILE struct PASTE(tile_, T)

TILE
{
    const REAL *a, *b;
    REAL *c;
    uint64_t k, step_a, step_b, lane_b;
    uint64_t ahead;     /* in A, elements */
    const REAL *next_b; /* panel */
    V(m) last;
    bool full; /* last is all of a vector */
};

static inline __attribute__((always_inline)) void PASTE(tile_store_, T)(const TILE *t,
                                                                        const struct gemm_c *out,
                                                                        const int rows, REAL *c,
                                                                        const V(t) sums[GEMM_MV])
{
    const V(t) alpha = V(set1)((REAL)out->alpha), beta = V(set1)((REAL)out->beta);
    REAL *end = c + (rows - 1) * V(n);
    V(t) x[GEMM_MV];
#pragma GCC unroll 4
    for (int i = 0; i < rows; i++)
        x[i] = V(mul)(alpha, sums[i]);
    if (out->beta != 0) {
#pragma GCC unroll 4
        for (int i = 0; i < rows - 1; i++)
            x[i] = V(fma)(alpha, sums[i], V(mul)(beta, V(load)(c + i * V(n))));
        x[rows - 1] = V(fma)(alpha, sums[rows - 1], V(mul)(beta, V(load_mask)(end, t->last)));
    }
    if (out->stream && t->full) {
#pragma GCC unroll 4
        for (int i = 0; i < rows; i++)
            V(stream)(c + i * V(n), x[i]);
        return;
    }
#pragma GCC unroll 4
    for (int i = 0; i < rows - 1; i++)
        V(store)(c + i * V(n), x[i]);
    if (t->full)
        V(store)(end, x[rows - 1]);
    else
        V(store_mask)(end, t->last, x[rows - 1]);
}

static inline __attribute__((always_inline)) void
PASTE(tile_run_, T)(const TILE *t, const struct gemm_c *out, const int rows, const int cols,
                    const int mode)
{
    const bool packed = mode == TILE_PACKED, mask = mode == TILE_MASKED;
    const uint64_t k = t->k, step_a = t->step_a, step_b = packed ? GEMM_LANES : t->step_b;
    const uint64_t lane = packed ? 1 : t->lane_b;
    const uint64_t ahead = packed ? FETCH_A / sizeof(REAL) : t->ahead;
    const REAL *a = t->a, *b = t->b, *b5 = t->b + 5 * lane; /* two bases reach eight lanes */
    const V(m) last = t->last;
    V(t) sums[GEMM_NR][GEMM_MV];

#pragma GCC unroll 8
    for (int j = 0; j < cols; j++)
#pragma GCC unroll 4
        for (int i = 0; i < rows; i++) {
            if (!out->stream) /* such a store would have to drive the line out again */
                __builtin_prefetch(t->c + (uint64_t)j * out->ld + i * V(n), 1);
            sums[j][i] = V(zero)();
        }
    const REAL *next_b = t->next_b;
#pragma GCC unroll 2 /* counting shares its ports with the multiplications */
    for (uint64_t p = 0; p < k; p++) {
        V(t) column[GEMM_MV];
        if (packed)
            __builtin_prefetch(next_b + p * GEMM_LANES, 0, 2);
#pragma GCC unroll 4
        for (int i = 0; i < rows; i++) {
            if (packed || mode == TILE_FAR)
                __builtin_prefetch(a + ahead + i * V(n), 0, 3);
            column[i] =
                mask && i == rows - 1 ? V(load_mask)(a + i * V(n), last) : V(load)(a + i * V(n));
        }
        a += step_a;
#pragma GCC unroll 8
        for (int j = 0; j < cols; j++) {
            const V(t) x = V(set1)(j < 5 ? b[(uint64_t)j * lane] : b5[(uint64_t)(j - 5) * lane]);
#pragma GCC unroll 4
            for (int i = 0; i < rows; i++)
                sums[j][i] = V(fma)(column[i], x, sums[j][i]);
        }
        b += step_b;
        b5 += step_b;
    }
#pragma GCC unroll 8
    for (int j = 0; j < cols; j++)
        PASTE(tile_store_, T)(t, out, rows, t->c + (uint64_t)j * out->ld, sums[j]);
}

typedef void PASTE(tile_fn_, T)(const TILE *t, const struct gemm_c *out);

#define TILE_NAME(rows, cols, mode) PASTE(tile_##mode##_##rows##x##cols##_, T)
#define TILE_FN(rows, cols, mode)                                                                  \
    static void TILE_NAME(rows, cols, mode)(const TILE *t, const struct gemm_c *out)               \
    {                                                                                              \
        PASTE(tile_run_, T)(t, out, rows, cols, mode);                                             \
    }
#define TILE_FN_1_0(cols)    TILE_FN(1, cols, 0)
#define TILE_FN_2_0(cols)    TILE_FN(2, cols, 0)
#define TILE_FN_3_0(cols)    TILE_FN(3, cols, 0)
#define TILE_FN_1_1(cols)    TILE_FN(1, cols, 1)
#define TILE_FN_2_1(cols)    TILE_FN(2, cols, 1)
#define TILE_FN_3_1(cols)    TILE_FN(3, cols, 1)
#define TILE_FN_1_2(cols)    TILE_FN(1, cols, 2)
#define TILE_FN_2_2(cols)    TILE_FN(2, cols, 2)
#define TILE_FN_3_2(cols)    TILE_FN(3, cols, 2)
#define TILE_FN_1_3(cols)    TILE_FN(1, cols, 3)
#define TILE_FN_2_3(cols)    TILE_FN(2, cols, 3)
#define TILE_FN_3_3(cols)    TILE_FN(3, cols, 3)
#define TILE_FNS(rows, mode) GEMM_FOR_COLS(TILE_FN_##rows##_##mode)
GEMM_FOR_ROWS(TILE_FNS, 0)
GEMM_FOR_ROWS(TILE_FNS, 1)
GEMM_FOR_ROWS(TILE_FNS, 2)
GEMM_FOR_ROWS(TILE_FNS, 3)

#define TILE_ITEM_1_0(cols)    TILE_NAME(1, cols, 0),
#define TILE_ITEM_2_0(cols)    TILE_NAME(2, cols, 0),
#define TILE_ITEM_3_0(cols)    TILE_NAME(3, cols, 0),
#define TILE_ITEM_1_1(cols)    TILE_NAME(1, cols, 1),
#define TILE_ITEM_2_1(cols)    TILE_NAME(2, cols, 1),
#define TILE_ITEM_3_1(cols)    TILE_NAME(3, cols, 1),
#define TILE_ITEM_1_2(cols)    TILE_NAME(1, cols, 2),
#define TILE_ITEM_2_2(cols)    TILE_NAME(2, cols, 2),
#define TILE_ITEM_3_2(cols)    TILE_NAME(3, cols, 2),
#define TILE_ITEM_1_3(cols)    TILE_NAME(1, cols, 3),
#define TILE_ITEM_2_3(cols)    TILE_NAME(2, cols, 3),
#define TILE_ITEM_3_3(cols)    TILE_NAME(3, cols, 3),
#define TILE_ITEMS(rows, mode) { GEMM_FOR_COLS(TILE_ITEM_##rows##_##mode) },

/* By mode, vectors of rows and columns, these less one. */
static PASTE(tile_fn_, T) *const PASTE(tiles_, T)[4][GEMM_MV][GEMM_NR] = {
    { GEMM_FOR_ROWS(TILE_ITEMS, 0) },
    { GEMM_FOR_ROWS(TILE_ITEMS, 1) },
    { GEMM_FOR_ROWS(TILE_ITEMS, 2) },
    { GEMM_FOR_ROWS(TILE_ITEMS, 3) },
};

void ISA(PASTE(gemm_block_, T))(uint64_t m, uint64_t n, uint64_t k, const struct gemm_a *a,
                                const struct gemm_b *b, const struct gemm_c *c)
{
    const bool packed = b->lane == 1 && b->step == GEMM_LANES;
    TILE t = { .b = b->p,
               .k = k,
               .step_a = a->step,
               .step_b = b->step,
               .lane_b = b->lane,
               .ahead = FETCH_STEPS * a->step };
    for (uint64_t j = 0; j < n; j += b->width, t.b += b->panel) {
        const uint64_t cols = n - j < b->width ? n - j : b->width;
        t.next_b = t.b + b->panel;
        t.a = a->p;
        for (uint64_t i = 0; i < m; i += a->width, t.a += a->panel) {
            const uint64_t rows = m - i < a->width ? m - i : a->width;
            const uint64_t vectors = (rows + V(n) - 1) / V(n);
            t.last = V(mask)(rows - (vectors - 1) * V(n));
            t.full = rows == vectors * V(n);
            t.c = (REAL *)c->p + i + j * c->ld;
            if (a->fetch)
                gemm_fetch_some(a->fetch);
            const int mode = !t.full && !a->packed ? TILE_MASKED
                             : packed              ? TILE_PACKED
                             : a->far              ? TILE_FAR
                                                   : TILE_PLAIN;
            PASTE(tiles_, T)[mode][vectors - 1][cols - 1](&t, c);
        }
    }
    if (c->stream)
        vec_fence();
}

#undef TILE
#undef FETCH_A
#undef FETCH_STEPS
