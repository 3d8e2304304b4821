/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_tmpl.h for one element type. */

/* A whole vector, or its first n elements and what changes no result. */
VEC_INLINE VECT M(reduce_load)(uint32_t op, const ELEM *x, uint64_t n)
{
    if (n >= V(n))
        return M(load)(x);
    return V(select)(V(mask)(n), M(load_mask)(x, V(mask)(n)), V(set1)(REDUCE_NONE(op)));
}

VEC_INLINE struct wide_sum M(reduce_line_of)(uint32_t op, const ELEM *x, uint64_t n)
{
    enum {
        STEP = 4 * V(n)
    };
    struct V(acc) acc = V(acc_start)(op);
    uint64_t i = 0;
    for (; n - i >= STEP; i += STEP) {
        VECT v[4];
        for (int j = 0; j < 4; j++)
            v[j] = M(load)(x + i + j * V(n));
        for (unsigned j = 0; j < STEP * sizeof(ELEM); j += 64)
            vec_prefetch((const char *)(x + i) + j + PREFETCH_BYTES);
        V(acc_add4)(op, &acc, v);
    }
    for (; i < n; i += V(n))
        V(acc_add)(op, &acc, M(reduce_load)(op, x + i, n - i));
    return V(acc_total)(op, &acc);
}

/* Adds rows, `stride` apart, to a table. */
VEC_INLINE void M(reduce_rows_of)(uint32_t op, const ELEM *x, uint64_t rows, uint64_t stride,
                                  uint64_t columns, struct V(table) * table)
{
    for (; rows >= 4; rows -= 4, x += 4 * stride)
        for (uint64_t c = 0; c < columns; c += V(n)) {
            struct V(acc) acc = V(acc_load)(op, table, c);
            VECT v[4];
            for (int j = 0; j < 4; j++) {
                vec_prefetch((const char *)(x + c) + (j + 4) * stride * sizeof(ELEM));
                v[j] = M(reduce_load)(op, x + j * stride + c, columns - c);
            }
            V(acc_add4)(op, &acc, v);
            V(acc_store)(op, &acc, table, c);
        }
    for (; rows; rows--, x += stride)
        for (uint64_t c = 0; c < columns; c += V(n)) {
            struct V(acc) acc = V(acc_load)(op, table, c);
            V(acc_add)(op, &acc, M(reduce_load)(op, x + c, columns - c));
            V(acc_store)(op, &acc, table, c);
        }
}

VEC_INLINE void M(reduce_clear_of)(uint32_t op, uint64_t columns, struct V(table) * table)
{
    const struct V(acc) start = V(acc_start)(op);
    for (uint64_t c = 0; c < columns; c += V(n))
        V(acc_store)(op, &start, table, c);
}

/* Rows begin..begin+rows-1 of a narrow slice: one result a column. The folded rows that are whole
 * come first, then the rest, as a shorter one. */
VEC_INLINE void M(reduce_chunk_of)(uint32_t op, const struct cpu_axis *r, uint64_t slice,
                                   uint64_t begin, uint64_t rows, struct wide_sum *parts)
{
    const uint64_t inner = r->inner;
    const ELEM *x = (const ELEM *)r->input + (slice * r->len + begin) * inner;
    if (inner == 1) {
        parts[0] = M(reduce_line_of)(op, x, rows);
        return;
    }
    struct V(table) table;
    const uint64_t fold = REDUCE_FOLDED / inner, columns = fold * inner;
    M(reduce_clear_of)(op, columns, &table);
    M(reduce_rows_of)(op, x, rows / fold, columns, columns, &table);
    M(reduce_rows_of)(op, x + rows / fold * columns, 1, 0, rows % fold * inner, &table);
    for (uint64_t c = 0; c < columns; c++) {
        const struct wide_sum column = V(table_at)(op, &table, c);
        if (c < inner)
            parts[c] = column;
        else
            reduce_merge(op, &parts[c % inner], column);
    }
}

static void M(reduce_store)(ELEM *out, const REAL *x, uint64_t n)
{
    for (uint64_t i = 0; i < n; i += V(n)) {
        const MASK m = V(mask)(n - i < V(n) ? n - i : V(n));
        M(store_mask)(out + i, m, V(load_mask)(x + i, m));
    }
}

static void M(reduce_finish)(const struct cpu_axis *r, uint64_t slice, const struct wide_sum *parts)
{
    REAL row[REDUCE_NARROW];
    for (uint64_t c = 0; c < r->inner; c++)
        row[c] = (REAL)reduce_result(r, &parts[c]);
    M(reduce_store)((ELEM *)r->output + slice * r->inner, row, r->inner);
}

/* Strips begin..end-1 of REDUCE_NARROW columns each, or less at the end of a slice; those of one
 * slice are taken together as far as a table goes. */
VEC_INLINE void M(reduce_strips_of)(uint32_t op, const struct cpu_axis *r, uint64_t begin,
                                    uint64_t end)
{
    const uint64_t strips = (r->inner + REDUCE_NARROW - 1) / REDUCE_NARROW;
    struct V(table) table;
    REAL row[REDUCE_COLUMNS];
    for (uint64_t strip = begin, n; strip < end; strip += n) {
        const uint64_t slice = strip / strips, column = strip % strips * REDUCE_NARROW;
        n = REDUCE_COLUMNS / REDUCE_NARROW;
        n = n < end - strip ? n : end - strip;
        n = n < strips - strip % strips ? n : strips - strip % strips;
        const uint64_t left = r->inner - column;
        const uint64_t columns = left < n * REDUCE_NARROW ? left : n * REDUCE_NARROW;
        M(reduce_clear_of)(op, columns, &table);
        M(reduce_rows_of)
        (op, (const ELEM *)r->input + slice * r->len * r->inner + column, r->len, r->inner, columns,
         &table);
        for (uint64_t c = 0; c < columns; c++) {
            const struct wide_sum x = V(table_at)(op, &table, c);
            row[c] = (REAL)reduce_result(r, &x);
        }
        M(reduce_store)((ELEM *)r->output + slice * r->inner + column, row, columns);
    }
}

static void M(reduce_chunk)(uint32_t op, const struct cpu_axis *r, uint64_t slice, uint64_t begin,
                            uint64_t rows, struct wide_sum *parts)
{
    switch (op) {
    case CB_REDUCE_SUM: M(reduce_chunk_of)(CB_REDUCE_SUM, r, slice, begin, rows, parts); break;
    case CB_REDUCE_MAX: M(reduce_chunk_of)(CB_REDUCE_MAX, r, slice, begin, rows, parts); break;
    default: M(reduce_chunk_of)(CB_REDUCE_MIN, r, slice, begin, rows, parts); break;
    }
}

static void M(reduce_strips)(uint32_t op, const struct cpu_axis *r, uint64_t begin, uint64_t end)
{
    switch (op) {
    case CB_REDUCE_SUM: M(reduce_strips_of)(CB_REDUCE_SUM, r, begin, end); break;
    case CB_REDUCE_MAX: M(reduce_strips_of)(CB_REDUCE_MAX, r, begin, end); break;
    default: M(reduce_strips_of)(CB_REDUCE_MIN, r, begin, end); break;
    }
}
