/* SPDX-License-Identifier: Apache-2.0 */
/* softmax_tmpl.h for one element type. */

/* A vector of elements i.. of n, `fill` beyond them. */
VEC_INLINE V(t) M(softmax_load)(const M(e) * x, uint64_t i, uint64_t n, V(t) fill)
{
    if (n - i >= V(n))
        return M(load)(x + i);
    const V(m) m = V(mask)(n - i);
    return V(select)(m, M(load_mask)(x + i, m), fill);
}

VEC_INLINE V(t) M(softmax_max)(const M(e) * x, uint64_t n)
{
    const V(t) least = V(set1)(-INFINITY);
    V(t) max[4] = { least, least, least, least };
    uint64_t i = 0;
    for (; n - i >= 4 * V(n); i += 4 * V(n))
        for (int j = 0; j < 4; j++)
            max[j] = V(max)(max[j], M(load)(x + i + j * V(n)));
    for (; i < n; i += V(n))
        max[0] = V(max)(max[0], M(softmax_load)(x, i, n, least));
    return V(all_max)(V(max)(V(max)(max[0], max[1]), V(max)(max[2], max[3])));
}

/* The exponentials of one block: to `kept` when that is not NULL, which has room for whole vectors;
 * their sum. */
VEC_INLINE V(t) M(softmax_exp)(const M(e) * x, uint64_t n, V(t) max, V(e) * kept)
{
    V(t) sum[4] = { V(zero)(), V(zero)(), V(zero)(), V(zero)() };
    const V(t) least = V(set1)(-INFINITY);
    uint64_t i = 0;
    for (; n - i >= 4 * V(n); i += 4 * V(n))
        for (int j = 0; j < 4; j++) {
            const V(t) e = V(exp)(V(sub)(M(load)(x + i + j * V(n)), max));
            sum[j] = V(add)(sum[j], e);
            if (kept)
                V(store)(kept + i + j * V(n), e);
        }
    for (; i < n; i += V(n)) {
        V(t) e = V(exp)(V(sub)(M(softmax_load)(x, i, n, least), max));
        if (n - i < V(n))
            e = V(select)(V(mask)(n - i), e, V(zero)());
        sum[0] = V(add)(sum[0], e);
        if (kept)
            V(store)(kept + i, e);
    }
    return V(all_add)(V(add)(V(add)(sum[0], sum[1]), V(add)(sum[2], sum[3])));
}

/* Elements i..end-1 of the result; `kept` as above, or NULL. */
VEC_INLINE void M(softmax_part)(const M(e) * x, M(e) * out, const V(e) * kept, uint64_t i,
                                uint64_t end, V(t) max, V(t) scale)
{
    for (; i < end; i += V(n)) {
        const V(m) m = V(mask)(end - i < V(n) ? end - i : V(n));
        const V(t) e =
            kept ? V(load_mask)(kept + i, m) : V(exp)(V(sub)(M(load_mask)(x + i, m), max));
        M(store_mask)(out + i, m, V(mul)(e, scale));
    }
}

VEC_INLINE void M(softmax_scale)(const M(e) * x, M(e) * out, const V(e) * kept, uint64_t n,
                                 V(t) max, V(t) scale, bool stream)
{
    uint64_t i = stream ? (64 - (uintptr_t)out % 64) % 64 / sizeof(M(e)) : 0;
    i = i < n ? i : n;
    M(softmax_part)(x, out, kept, 0, i, max, scale);
    for (; n - i >= V(n); i += V(n)) {
        const V(t) e = kept ? V(load)(kept + i) : V(exp)(V(sub)(M(load)(x + i), max));
        if (stream)
            M(stream)(out + i, V(mul)(e, scale));
        else
            M(store)(out + i, V(mul)(e, scale));
    }
    M(softmax_part)(x, out, kept, i, n, max, scale);
}

static void M(softmax_line)(const M(e) * x, M(e) * out, uint64_t n, bool stream)
{
    V(e) kept[SOFTMAX_BYTES / sizeof(V(e))];
    const V(t) max = M(softmax_max)(x, n), one = V(set1)(1);
    if (n <= SOFTMAX_BYTES / sizeof(V(e))) {
        const V(t) scale = V(div)(one, M(softmax_exp)(x, n, max, kept));
        M(softmax_scale)(x, out, kept, n, max, scale, stream);
        return;
    }
    double sum = 0;
    for (uint64_t i = 0; i < n; i += SOFTMAX_BLOCK)
        sum += V(first)(
            M(softmax_exp)(x + i, n - i < SOFTMAX_BLOCK ? n - i : SOFTMAX_BLOCK, max, NULL));
    M(softmax_scale)(x, out, NULL, n, max, V(div)(one, V(set1)((V(e))sum)), stream);
}

/* A tile of `vectors` vectors of columns side by side: element (a, column) lies at a*stride +
 * column. Only a tile of one vector needs a mask. `vectors` is constant wherever these are inlined.
 */
VEC_INLINE V(t) M(softmax_at)(const M(e) * x, int vectors, V(m) m)
{
    return vectors > 1 ? M(load)(x) : M(load_mask)(x, m);
}

VEC_INLINE void M(softmax_tile_max)(const M(e) * x, uint64_t n, uint64_t stride, int vectors,
                                    V(m) m, V(t) * max)
{
    for (int j = 0; j < vectors; j++)
        max[j] = V(set1)(-INFINITY);
    for (uint64_t a = 0; a < n; a++, x += stride)
        for (int j = 0; j < vectors; j++) {
            vec_prefetch((const char *)(x + j * V(n)) + SOFTMAX_AHEAD * stride * sizeof(M(e)));
            max[j] = V(max)(max[j], M(softmax_at)(x + j * V(n), vectors, m));
        }
}

/* The exponentials of rows begin..end-1, to `kept` when that is not NULL, are added to sum. */
VEC_INLINE void M(softmax_tile_exp)(const M(e) * x, uint64_t begin, uint64_t end, uint64_t stride,
                                    int vectors, V(m) m, const V(t) * max, V(e) * kept, V(t) * sum)
{
    V(t) part[SOFTMAX_COLS];
    for (int j = 0; j < vectors; j++)
        part[j] = V(zero)();
    for (uint64_t a = begin; a < end; a++)
        for (int j = 0; j < vectors; j++) {
            const V(t) at = M(softmax_at)(x + a * stride + j * V(n), vectors, m);
            const V(t) e = V(exp)(V(sub)(at, max[j]));
            part[j] = V(add)(part[j], e);
            if (kept)
                V(store)(kept + (a * vectors + j) * V(n), e);
        }
    for (int j = 0; j < vectors; j++)
        sum[j] = V(add)(sum[j], part[j]);
}

VEC_INLINE void M(softmax_tile_scale)(const M(e) * x, M(e) * out, uint64_t n, uint64_t stride,
                                      int vectors, V(m) m, const V(t) * max, const V(e) * kept,
                                      const V(t) * scale, bool stream)
{
    for (uint64_t a = 0; a < n; a++)
        for (int j = 0; j < vectors; j++) {
            const uint64_t i = a * stride + j * V(n);
            const V(t) e = kept ? V(load)(kept + (a * vectors + j) * V(n))
                                : V(exp)(V(sub)(M(softmax_at)(x + i, vectors, m), max[j]));
            if (vectors == 1)
                M(store_mask)(out + i, m, V(mul)(e, scale[j]));
            else if (stream)
                M(stream)(out + i, V(mul)(e, scale[j]));
            else
                M(store)(out + i, V(mul)(e, scale[j]));
        }
}

VEC_INLINE void M(softmax_tile)(const M(e) * x, M(e) * out, uint64_t n, uint64_t stride,
                                int vectors, V(m) m, bool stream)
{
    V(e) buffer[SOFTMAX_BYTES / sizeof(V(e))];
    V(e) *kept = n <= SOFTMAX_BYTES / sizeof(V(e)) / (vectors * V(n)) ? buffer : NULL;
    V(t) max[SOFTMAX_COLS], sum[SOFTMAX_COLS];
    M(softmax_tile_max)(x, n, stride, vectors, m, max);
    for (int j = 0; j < vectors; j++)
        sum[j] = V(zero)();
    for (uint64_t a = 0; a < n; a += SOFTMAX_BLOCK)
        M(softmax_tile_exp)
        (x, a, n - a < SOFTMAX_BLOCK ? n : a + SOFTMAX_BLOCK, stride, vectors, m, max, kept, sum);
    for (int j = 0; j < vectors; j++)
        sum[j] = V(div)(V(set1)(1), sum[j]);
    M(softmax_tile_scale)(x, out, n, stride, vectors, m, max, kept, sum, stream);
}

/* Columns begin..end-1 of one slice, no more than a tile of them. */
static void M(softmax_columns)(const M(e) * x, M(e) * out, uint64_t n, uint64_t stride,
                               uint64_t columns, bool stream)
{
    if (columns == SOFTMAX_COLS * V(n)) {
        const bool aligned = (uintptr_t)out % 64 == 0 && stride * sizeof(M(e)) % 64 == 0;
        if (stream && aligned)
            M(softmax_tile)(x, out, n, stride, SOFTMAX_COLS, V(mask)(V(n)), true);
        else
            M(softmax_tile)(x, out, n, stride, SOFTMAX_COLS, V(mask)(V(n)), false);
        return;
    }
    for (uint64_t i = 0; i < columns; i += V(n))
        M(softmax_tile)
        (x + i, out + i, n, stride, 1, V(mask)(columns - i < V(n) ? columns - i : V(n)), false);
}

/* Units begin..end-1: lines, or tiles of columns. */
static void M(softmax)(const struct cpu_axis *s, uint64_t begin, uint64_t end, bool stream)
{
    const uint64_t slice = s->len * s->inner, width = SOFTMAX_COLS * V(n);
    const uint64_t tiles = (s->inner + width - 1) / width;
    for (uint64_t unit = begin; unit < end; unit++) {
        const uint64_t column = unit % tiles * width, at = unit / tiles * slice + column;
        const M(e) *x = (const M(e) *)s->input + at;
        M(e) *out = (M(e) *)s->output + at;
        if (s->inner == 1)
            M(softmax_line)(x, out, s->len, stream);
        else
            M(softmax_columns)
            (x, out, s->len, s->inner, s->inner - column < width ? s->inner - column : width,
             stream);
    }
}
