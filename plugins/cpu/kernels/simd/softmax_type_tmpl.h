/* SPDX-License-Identifier: Apache-2.0 */
/* softmax_tmpl.h for one element type. */

/* A vector of elements i.. of n, `fill` beyond them: -infinity, whose exponential is 0. */
VEC_INLINE VECT M(softmax_load)(const ELEM *x, uint64_t i, uint64_t n, VECT fill)
{
    if (n - i >= V(n))
        return M(load)(x + i);
    const MASK m = V(mask)(n - i);
    return V(select)(m, M(load_mask)(x + i, m), fill);
}

/* Where scale is NaN, so is the result, and it is that NaN, since max gives 0 for another: which of
 * two comes out of a product is the compiler's choice, and no result may depend on its address. */
VEC_INLINE VECT M(softmax_quotient)(VECT e, VECT scale)
{
    return V(mul)(V(max)(e, V(zero)()), scale);
}

VEC_INLINE VECT M(softmax_max)(const ELEM *x, uint64_t n)
{
    const VECT least = V(set1)(-INFINITY);
    VECT max[4] = { least, least, least, least };
    uint64_t i = 0;
    for (; n - i >= 4 * V(n); i += 4 * V(n))
        for (int j = 0; j < 4; j++)
            max[j] = V(max)(max[j], M(load)(x + i + j * V(n)));
    for (; i < n; i += V(n))
        max[0] = V(max)(max[0], M(softmax_load)(x, i, n, least));
    return V(all_max)(V(max)(V(max)(max[0], max[1]), V(max)(max[2], max[3])));
}

/* A line whose exponentials wait to be written past the caches: elements `done`.. of n. */
struct M(softmax_behind) {
    ELEM *out;
    const REAL *kept;
    uint64_t n, done;
    VECT scale;
};

/* Some of them, where there are as many. */
VEC_INLINE void M(softmax_write)(struct M(softmax_behind) * b)
{
    if (b->n - b->done < 4 * V(n))
        return;
    for (int j = 0; j < 4; j++, b->done += V(n))
        M(stream)(b->out + b->done, M(softmax_quotient)(V(load)(b->kept + b->done), b->scale));
}

/* The exponentials of one block: to `kept` when that is not NULL; their sum. Meanwhile what lies
 * `ahead` bytes further comes nearer, the next line, say, and a line behind, or NULL, is written.
 */
VEC_INLINE VECT M(softmax_exp)(const ELEM *x, uint64_t n, VECT max, REAL *kept, uint64_t ahead,
                               struct M(softmax_behind) * behind)
{
    VECT sum[4] = { V(zero)(), V(zero)(), V(zero)(), V(zero)() };
    const VECT least = V(set1)(-INFINITY);
    uint64_t i = 0;
    for (; n - i >= 4 * V(n); i += 4 * V(n)) {
        for (unsigned j = 0; j < 4 * V(n) * sizeof(ELEM); j += 64)
            vec_prefetch((const char *)(x + i) + j + ahead);
        for (int j = 0; j < 4; j++) {
            const VECT e = V(exp_difference)(V(sub)(M(load)(x + i + j * V(n)), max));
            sum[j] = V(add)(sum[j], e);
            if (kept)
                V(store)(kept + i + j * V(n), e);
        }
        if (behind)
            M(softmax_write)(behind);
    }
    for (; i < n; i += V(n)) {
        const VECT e = V(exp_difference)(V(sub)(M(softmax_load)(x, i, n, least), max));
        sum[0] = V(add)(sum[0], e);
        if (kept)
            V(store_mask)(kept + i, V(mask)(n - i < V(n) ? n - i : V(n)), e);
    }
    return V(all_add)(V(add)(V(add)(sum[0], sum[1]), V(add)(sum[2], sum[3])));
}

/* Elements i..end-1 of the result; `kept` as above, or NULL. */
VEC_INLINE void M(softmax_part)(const ELEM *x, ELEM *out, const REAL *kept, uint64_t i,
                                uint64_t end, VECT max, VECT scale)
{
    for (; i < end; i += V(n)) {
        const MASK m = V(mask)(end - i < V(n) ? end - i : V(n));
        const VECT e = kept ? V(load_mask)(kept + i, m)
                            : V(exp_difference)(V(sub)(M(load_mask)(x + i, m), max));
        M(store_mask)(out + i, m, M(softmax_quotient)(e, scale));
    }
}

/* A line of the result. What lies `ahead` bytes further, unless that is 0, comes nearer. */
VEC_INLINE void M(softmax_scale)(const ELEM *x, ELEM *out, const REAL *kept, uint64_t n, VECT max,
                                 VECT scale, bool stream, uint64_t ahead)
{
    uint64_t i = stream ? (64 - (uintptr_t)out % 64) % 64 / sizeof(ELEM) : 0;
    i = i < n ? i : n;
    M(softmax_part)(x, out, kept, 0, i, max, scale);
    for (; n - i >= V(n); i += V(n)) {
        if (ahead)
            vec_prefetch_l2((const char *)(x + i) + ahead);
        const VECT e = kept ? V(load)(kept + i) : V(exp_difference)(V(sub)(M(load)(x + i), max));
        if (stream)
            M(stream)(out + i, M(softmax_quotient)(e, scale));
        else
            M(store)(out + i, M(softmax_quotient)(e, scale));
    }
    M(softmax_part)(x, out, kept, i, n, max, scale);
}

/* A line of so few vectors that they stay in registers; `vectors` is a constant. */
VEC_INLINE void M(softmax_short)(const ELEM *x, ELEM *out, uint64_t n, uint64_t vectors,
                                 bool stream)
{
    const uint64_t rest = n - (vectors - 1) * V(n);
    const MASK m = V(mask)(rest);
    const VECT least = V(set1)(-INFINITY);
    VECT v[SOFTMAX_SHORT], max = least, sum = V(zero)();
    for (uint64_t j = 0; j < vectors; j++) {
        const ELEM *from = x + j * V(n);
        v[j] = j + 1 < vectors ? M(load)(from) : V(select)(m, M(load_mask)(from, m), least);
        max = V(max)(max, v[j]);
    }
    max = V(all_max)(max);
    for (uint64_t j = 0; j < vectors; j++) {
        v[j] = V(exp_difference)(V(sub)(v[j], max));
        sum = V(add)(sum, v[j]);
    }
    const VECT scale = V(div)(V(set1)(1), V(all_add)(sum));
    for (uint64_t j = 0; j < vectors; j++) {
        const VECT y = M(softmax_quotient)(v[j], scale);
        if (j + 1 == vectors && rest < V(n))
            M(store_mask)(out + j * V(n), m, y);
        else if (stream)
            M(stream)(out + j * V(n), y);
        else
            M(store)(out + j * V(n), y);
    }
}

/* Lines of 1 to SOFTMAX_SHORT vectors. */
static void M(softmax_lines)(const ELEM *x, ELEM *out, uint64_t n, uint64_t lines, bool stream)
{
    const bool past = stream && (uintptr_t)out % 64 == 0 && n * sizeof(ELEM) % 64 == 0;
    const uint64_t vectors = (n + V(n) - 1) / V(n);
    for (uint64_t i = 0; i < lines; i++, x += n, out += n) {
        vec_prefetch((const char *)x + PREFETCH_BYTES);
        switch (vectors) {
        case 1: M(softmax_short)(x, out, n, 1, past); break;
        case 2: M(softmax_short)(x, out, n, 2, past); break;
        case 3: M(softmax_short)(x, out, n, 3, past); break;
        default: M(softmax_short)(x, out, n, 4, past); break;
        }
    }
}

static void M(softmax_line)(const ELEM *x, ELEM *out, uint64_t n, bool stream)
{
    REAL kept[SOFTMAX_BYTES / sizeof(REAL)];
    const VECT max = M(softmax_max)(x, n), one = V(set1)(1);
    const uint64_t line = n * sizeof(ELEM);
    const uint64_t ahead = line < PREFETCH_BYTES ? PREFETCH_BYTES : line < 8192 ? line : 8192;
    if (n <= SOFTMAX_BYTES / sizeof(REAL)) {
        const VECT scale = V(div)(one, M(softmax_exp)(x, n, max, kept, ahead, NULL));
        M(softmax_scale)(x, out, kept, n, max, scale, stream, 0);
        return;
    }
    const bool in_l2 = sizeof(ELEM) == sizeof(REAL) && line <= cpu_caches()->l2 / 4;
    REAL *out_kept = in_l2 ? (REAL *)(void *)out : NULL;
    double sum = 0;
    for (uint64_t i = 0; i < n; i += SOFTMAX_BLOCK)
        sum += V(first)(M(softmax_exp)(x + i, n - i < SOFTMAX_BLOCK ? n - i : SOFTMAX_BLOCK, max,
                                       in_l2 ? out_kept + i : NULL, ahead, NULL));
    M(softmax_scale)
    (x, out, out_kept, n, max, V(div)(one, V(set1)((REAL)sum)), stream && !in_l2, in_l2 ? line : 0);
}

/* What is left of the line behind. */
VEC_INLINE void M(softmax_finish)(const struct M(softmax_behind) * b)
{
    M(softmax_scale)
    (NULL, b->out + b->done, b->kept + b->done, b->n - b->done, V(zero)(), b->scale, true, 0);
}

/* Lines of at most SOFTMAX_BEHIND bytes that pass the caches: each is written while the next is
 * computed, so that memory is read and written at the same time. The cache line that two of them
 * share is asked for before. */
static void M(softmax_streamed)(const ELEM *x, ELEM *out, uint64_t n, uint64_t lines)
{
    REAL kept[2][SOFTMAX_BEHIND / sizeof(REAL)];
    const uint64_t line = n * sizeof(ELEM), ahead = line < PREFETCH_BYTES ? PREFETCH_BYTES : line;
    struct M(softmax_behind) behind = { out, kept[1], 0, 0, V(zero)() };
    for (uint64_t i = 0; i < lines; i++, x += n, out += n) {
        const VECT max = M(softmax_max)(x, n);
        const uint64_t head = (64 - (uintptr_t)out % 64) % 64 / sizeof(ELEM);
        vec_prefetch(out + n);
        const VECT sum = M(softmax_exp)(x, n, max, kept[i % 2], ahead, &behind);
        const VECT scale = V(div)(V(set1)(1), sum);
        M(softmax_finish)(&behind);
        M(softmax_part)(x, out, kept[i % 2], 0, head, max, scale);
        behind = (struct M(softmax_behind)){ out, kept[i % 2], n, head, scale };
    }
    M(softmax_finish)(&behind);
}

/* A tile of `vectors` vectors of columns side by side: element (a, column) lies at a*stride +
 * column. Only a tile of one vector needs a mask. `vectors` is constant wherever these are inlined.
 */
VEC_INLINE VECT M(softmax_at)(const ELEM *x, int vectors, MASK m)
{
    return vectors > 1 ? M(load)(x) : M(load_mask)(x, m);
}

VEC_INLINE void M(softmax_tile_max)(const ELEM *x, uint64_t n, uint64_t stride, int vectors, MASK m,
                                    VECT *max)
{
    for (int j = 0; j < vectors; j++)
        max[j] = V(set1)(-INFINITY);
    for (uint64_t a = 0; a < n; a++, x += stride)
        for (int j = 0; j < vectors; j++) {
            vec_prefetch((const char *)(x + j * V(n)) + SOFTMAX_AHEAD * stride * sizeof(ELEM));
            max[j] = V(max)(max[j], M(softmax_at)(x + j * V(n), vectors, m));
        }
}

/* The exponentials of rows begin..end-1, to `kept` when that is not NULL, are added to sum. The
 * next tile comes nearer. */
VEC_INLINE void M(softmax_tile_exp)(const ELEM *x, uint64_t begin, uint64_t end, uint64_t stride,
                                    int vectors, MASK m, const VECT *max, REAL *kept, VECT *sum)
{
    VECT part[SOFTMAX_COLS];
    for (int j = 0; j < vectors; j++)
        part[j] = V(zero)();
    for (uint64_t a = begin; a < end; a++)
        for (int j = 0; j < vectors; j++) {
            const ELEM *from = x + a * stride + j * V(n);
            const VECT at = M(softmax_at)(from, vectors, m);
            vec_prefetch_l2(from + vectors * V(n));
            const VECT e = V(exp_difference)(V(sub)(at, max[j]));
            part[j] = V(add)(part[j], e);
            if (kept)
                V(store)(kept + (a * vectors + j) * V(n), e);
        }
    for (int j = 0; j < vectors; j++)
        sum[j] = V(add)(sum[j], part[j]);
}

VEC_INLINE void M(softmax_tile_scale)(const ELEM *x, ELEM *out, uint64_t n, uint64_t stride,
                                      int vectors, MASK m, const VECT *max, const REAL *kept,
                                      const VECT *scale, bool stream)
{
    for (uint64_t a = 0; a < n; a++)
        for (int j = 0; j < vectors; j++) {
            const uint64_t i = a * stride + j * V(n);
            const VECT e =
                kept ? V(load)(kept + (a * vectors + j) * V(n))
                     : V(exp_difference)(V(sub)(M(softmax_at)(x + i, vectors, m), max[j]));
            if (vectors == 1)
                M(store_mask)(out + i, m, M(softmax_quotient)(e, scale[j]));
            else if (stream)
                M(stream)(out + i, M(softmax_quotient)(e, scale[j]));
            else
                M(store)(out + i, M(softmax_quotient)(e, scale[j]));
        }
}

VEC_INLINE void M(softmax_tile)(const ELEM *x, ELEM *out, uint64_t n, uint64_t stride, int vectors,
                                MASK m, bool stream)
{
    REAL buffer[SOFTMAX_BYTES / sizeof(REAL)];
    REAL *kept = n <= SOFTMAX_BYTES / sizeof(REAL) / (vectors * V(n)) ? buffer : NULL;
    VECT max[SOFTMAX_COLS], sum[SOFTMAX_COLS];
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
static void M(softmax_columns)(const ELEM *x, ELEM *out, uint64_t n, uint64_t stride,
                               uint64_t columns, bool stream)
{
    if (columns == SOFTMAX_COLS * V(n)) {
        const bool aligned = (uintptr_t)out % 64 == 0 && stride * sizeof(ELEM) % 64 == 0;
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
    if (s->inner == 1 && s->len && s->len <= SOFTMAX_SHORT * V(n)) {
        M(softmax_lines)
        ((const ELEM *)s->input + begin * slice, (ELEM *)s->output + begin * slice, s->len,
         end - begin, stream);
        return;
    }
    if (s->inner == 1 && stream && s->len <= SOFTMAX_BEHIND / sizeof(REAL)) {
        M(softmax_streamed)
        ((const ELEM *)s->input + begin * slice, (ELEM *)s->output + begin * slice, s->len,
         end - begin);
        return;
    }
    for (uint64_t unit = begin; unit < end; unit++) {
        const uint64_t column = unit % tiles * width, at = unit / tiles * slice + column;
        const ELEM *x = (const ELEM *)s->input + at;
        ELEM *out = (ELEM *)s->output + at;
        if (s->inner == 1)
            M(softmax_line)(x, out, s->len, stream);
        else
            M(softmax_columns)
        (x, out, s->len, s->inner, s->inner - column < width ? s->inner - column : width, stream);
    }
}
