/* SPDX-License-Identifier: Apache-2.0 */
/* gemm for one pair of types; included once per pair, without a guard.
 *
 *   GEMM         the function's name
 *   GEMM_IN      type of A and B in memory
 *   GEMM_C       type of C, products and sums
 *   GEMM_LOAD(x) from memory to GEMM_C
 *
 * Each element of C is one sum over p ascending, every rounding by itself. ROWS of them run side by
 * side, which changes no bit and lets the compiler vectorize over i. */
static void GEMM(const struct cpu_gemm *g)
{
    const GEMM_IN *a = g->a, *b = g->b;
    const GEMM_C alpha = (GEMM_C)g->alpha, beta = (GEMM_C)g->beta;

    for (uint64_t j = 0; j < g->n; j++) {
        GEMM_C *c = (GEMM_C *)g->c + j * g->ldc;
        for (uint64_t i0 = 0; i0 < g->m; i0 += ROWS) {
            const uint64_t rows = g->m - i0 < ROWS ? g->m - i0 : ROWS;
            GEMM_C acc[ROWS] = { 0 };
            for (uint64_t p = 0; p < g->k; p++) {
                const GEMM_IN *column = a + i0 * g->rs_a + p * g->cs_a;
                const GEMM_C scalar = GEMM_LOAD(b[p * g->rs_b + j * g->cs_b]);
                if (rows == ROWS && g->rs_a == 1)
                    for (int i = 0; i < ROWS; i++)
                        acc[i] += GEMM_LOAD(column[i]) * scalar;
                else
                    for (uint64_t i = 0; i < rows; i++)
                        acc[i] += GEMM_LOAD(column[i * g->rs_a]) * scalar;
            }
            for (uint64_t i = 0; i < rows; i++) {
                GEMM_C *dst = &c[i0 + i];
                if (!g->k)
                    *dst = beta == 0 ? 0 : beta * *dst;
                else
                    *dst = beta == 0 ? alpha * acc[i] : alpha * acc[i] + beta * *dst;
            }
        }
    }
}

#undef GEMM
#undef GEMM_IN
#undef GEMM_C
#undef GEMM_LOAD
