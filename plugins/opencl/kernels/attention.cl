/* SPDX-License-Identifier: Apache-2.0 */
/* O := softmax(scale * Q K^T) V. A group has BN queries of one head and BM elements of head_dim,
 * and sees BM keys at a time: their scores become weights relative to the largest score so far, and
 * what was summed before is scaled to it. Options: TYPE and the tile. */

/* Weights relative to an infinite or NaN largest score come out as NaN by themselves. One of
 * -infinity, when all scores so far are that, gives 0. */
REAL base_of(REAL max)
{
    return max == -INFINITY ? 0 : max;
}

/* Turns the scores of one query into weights, and gives their sum; those from `seen` on are 0. */
REAL weigh(__local REAL *row, uint seen, REAL *max)
{
    REALV most = *max, sum = 0;
    REAL parts[V];
    for (uint key = seen; key < BM; key++)
        row[key] = -INFINITY;
    for (uint key = 0; key < BM; key += V) {
        const REALV x = VLOAD(0, row + key);
        most = x > most ? x : most;
    }
    VSTORE(most, 0, parts);
    for (uint v = 0; v < V; v++)
        *max = parts[v] > *max ? parts[v] : *max;
    const REAL base = base_of(*max);
    for (uint key = 0; key < BM; key++)
        row[key] = exp_of(row[key] - base);
    for (uint key = 0; key < BM; key += V)
        sum += VLOAD(0, row + key);
    VSTORE(sum, 0, parts);
    for (uint v = 1; v < V; v++)
        parts[0] += parts[v];
    return parts[0];
}

/* Keys that a query sees, aligned to the lower right. */
long keys_seen(long query, long seq_q, long seq_kv, uint causal)
{
    return causal ? max(query + 1 + seq_kv - seq_q, 0L) : seq_kv;
}

/* Of those, the ones of a tile of so many keys, counted from its first one on. */
uint seen_of_tile(long seen, long first, uint keys)
{
    return clamp(seen - first, 0L, (long)keys);
}

#define SEEN(j) keys_seen(q0 + (j), seq_q, seq_kv, causal)

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void
attention(__global const REAL *q, ulong q_at, __global const REAL *k, ulong k_at,
          __global const REAL *v, ulong v_at, __global REAL *o, ulong o_at, ulong heads,
          ulong kv_heads, ulong seq_q, ulong seq_kv, ulong dim, REAL scale, uint causal)
{
    __local REAL tile[BK * BM], tile_q[BN * BK], weights[BN * BM];
    __local REAL max_of[BN], sum_of[BN], factor_of[BN];
    const ulong tiles_d = (dim + BM - 1) / BM, tiles_q = (seq_q + BN - 1) / BN;
    const ulong d0 = GROUP % tiles_d * BM, q0 = GROUP / tiles_d % tiles_q * BN;
    const ulong head = GROUP / tiles_d / tiles_q;
    const ulong kv_head = head / heads * kv_heads + head % heads / (heads / kv_heads);
    const uint width = min(dim - d0, (ulong)BM), queries = min(seq_q - q0, (ulong)BN);
    const long end = SEEN(queries - 1);
    REALV acc[WN][MV], score[WN][MV];

    q += q_at + (head * seq_q + q0) * dim;
    k += k_at + kv_head * seq_kv * dim;
    v += v_at + kv_head * seq_kv * dim + d0;
    o += o_at + (head * seq_q + q0) * dim + d0;
    FOR_ACC(x, y)
        acc[x][y] = 0;
    for (uint j = get_local_id(0); j < BN; j += ITEMS) {
        max_of[j] = -INFINITY;
        sum_of[j] = 0;
    }

    for (long first = 0; first < end; first += BM) {
        const uint keys = min(end - first, (long)BM);
        FOR_ACC(x, y)
            score[x][y] = 0;
        for (ulong p0 = 0; p0 < dim; p0 += BK) {
            const uint depth = min(dim - p0, (ulong)BK);
            MOVE(tile, BM, BK, 1, BM, k + first * dim + p0, dim, keys, depth, LOAD)
            MOVE(tile_q, BN, BK, BK, 1, q + p0, dim, queries, depth, LOAD)
            barrier(CLK_LOCAL_MEM_FENCE);
            if (ITEM_I < keys && ITEM_J < queries)
                MULTIPLY(score, tile, tile_q, 1, BK)
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        FOR_ACC(x, y)
            VSTORE(score[x][y] * scale, 0, weights + (ITEM_J + x) * BM + ITEM_I + y * V);
        barrier(CLK_LOCAL_MEM_FENCE);

        for (uint j = get_local_id(0); j < queries; j += ITEMS) {
            REAL max = max_of[j];
            const REAL sum = weigh(weights + j * BM, seen_of_tile(SEEN(j), first, keys), &max);
            factor_of[j] = exp_of(max_of[j] - base_of(max));
            sum_of[j] = sum_of[j] * factor_of[j] + sum;
            max_of[j] = max;
        }
        barrier(CLK_LOCAL_MEM_FENCE);

        FOR_ACC(x, y)
            if (ITEM_J + x < queries)
                acc[x][y] *= factor_of[ITEM_J + x];
        for (uint p0 = 0; p0 < keys; p0 += BK) {
            MOVE(tile, BK, BM, BM, 1, v + (first + p0) * dim, dim, min(keys - p0, (uint)BK), width,
                 LOAD)
            barrier(CLK_LOCAL_MEM_FENCE);
            if (ITEM_I < width && ITEM_J < queries && SEEN(0) >= first + p0 + BK)
                MULTIPLY(acc, tile, weights + p0, 1, BM)
            else if (ITEM_I < width)
                for (uint x = 0; x < WN && ITEM_J + x < queries; x++) {
                    const uint seen = seen_of_tile(SEEN(ITEM_J + x), first + p0, BK);
                    for (uint p = 0; p < seen; p++)
                        for (uint y = 0; y < MV; y++)
                            acc[x][y] += VLOAD(0, tile + p * BM + ITEM_I + y * V) *
                                         weights[(ITEM_J + x) * BM + p0 + p];
                }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    }

    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint x = 0; x < WN && ITEM_J + x < queries; x++) {
        const REAL part = SEEN(ITEM_J + x) ? 1 / sum_of[ITEM_J + x] : 0;
        for (uint y = 0; y < MV; y++) {
            const uint i = ITEM_I + y * V;
            REAL parts[V];
            VSTORE(acc[x][y] * part, 0, parts);
            for (uint v = 0; v < V && i + v < width; v++)
                o[(ITEM_J + x) * dim + i + v] = parts[v];
        }
    }
}
