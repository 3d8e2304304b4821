/* SPDX-License-Identifier: Apache-2.0 */
/* C := alpha * op(A) * op(B) + beta * C for each matrix of a batch, column-major.
 *
 * Options: TYPE of A and B in memory; ROUND, a 16-bit type that f32 operands are rounded to first,
 * or 0; TRANS_A, TRANS_B; the tile. */
#if ROUND == CB_BF16
#define FACTOR(x) bf16_to_f32(f32_to_bf16(x))
#elif ROUND == CB_F16
#define FACTOR(x) f16_to_f32(f32_to_f16(x))
#else
#define FACTOR(x) LOAD(x)
#endif

#define MOVE_FACTORS(TILE, LINES, LENGTH, LINE, STEP_, from, stride, lines, length)                \
    MOVE(TILE, LINES, LENGTH, LINE, STEP_, from, stride, lines, length, FACTOR)

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void
gemm(__global const ELEM *a, ulong a_at, ulong lda, ulong stride_a, __global const ELEM *b,
     ulong b_at, ulong ldb, ulong stride_b, __global REAL *c, ulong c_at, ulong ldc, ulong stride_c,
     ulong m, ulong n, ulong k, REAL alpha, REAL beta)
{
    __local REAL tile_a[BK * BM], tile_b[BK * BN];
    const ulong tiles_m = (m + BM - 1) / BM, tiles_n = (n + BN - 1) / BN;
    const ulong batch = GROUP / (tiles_m * tiles_n), tile = GROUP % (tiles_m * tiles_n);
    const ulong i0 = tile % tiles_m * BM, j0 = tile / tiles_m * BN;
    const uint rows = min(m - i0, (ulong)BM), cols = min(n - j0, (ulong)BN);
    REALV acc[WN][MV];

    a += a_at + batch * stride_a + (TRANS_A ? i0 * lda : i0);
    b += b_at + batch * stride_b + (TRANS_B ? j0 : j0 * ldb);
    c += c_at + batch * stride_c + i0 + j0 * ldc;
    FOR_ACC(x, y) acc[x][y] = 0;

    for (ulong p0 = 0; p0 < k; p0 += BK) {
        const uint depth = min(k - p0, (ulong)BK);
#if TRANS_A
        MOVE_FACTORS(tile_a, BM, BK, 1, BM, a + p0, lda, rows, depth)
#else
        MOVE_FACTORS(tile_a, BK, BM, BM, 1, a + p0 * lda, lda, depth, rows)
#endif
#if TRANS_B
        MOVE_FACTORS(tile_b, BK, BN, BN, 1, b + p0 * ldb, ldb, depth, cols)
#else
        MOVE_FACTORS(tile_b, BN, BK, BK, 1, b + p0, ldb, cols, depth)
#endif
        barrier(CLK_LOCAL_MEM_FENCE);
        if (ITEM_I < rows && ITEM_J < cols)
            MULTIPLY(acc, tile_a, tile_b, TRANS_B ? BN : 1, TRANS_B ? 1 : BK)
        barrier(CLK_LOCAL_MEM_FENCE);
    }

    for (uint x = 0; x < WN && ITEM_J + x < cols; x++)
        for (uint y = 0; y < MV; y++) {
            const uint i = ITEM_I + y * V;
            __global REAL *to = c + (ITEM_J + x) * ldc + i;
            REAL parts[V];
            VSTORE(acc[x][y], 0, parts);
            for (uint v = 0; v < V && i + v < rows; v++) {
                const REAL rest = beta == 0 ? 0 : beta * to[v];
                to[v] = !k ? rest : beta == 0 ? alpha * parts[v] : alpha * parts[v] + rest;
            }
        }
}
