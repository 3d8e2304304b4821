/* SPDX-License-Identifier: Apache-2.0 */
/* conv2d_plane of one instruction set: rows of pixels straight from rows of the source. Only the
 * vectors at both ends of a row meet padding; masks keep it out. */

#define PLANE_VECTORS 4    /* of pixels at a time */
#define PLANE_ROWS    4    /* of a narrow column at a time */
#define PLANE_AHEAD   1024 /* elements; a page */
#define PLANE_TAPS    3    /* of a row of taps at a time, for backward_filter */

/* Asks for so many elements, from a page behind p on. */
static inline void plane_fetch(const float *p, uint64_t elements)
{
    for (uint64_t i = 0; i < elements; i += GEMM_LINE / sizeof(float))
        vec_prefetch(p + PLANE_AHEAD + i);
}

/* Which of the elements at, at + 1... there are, of n. */
static inline f32_m plane_mask(int64_t at, uint64_t n)
{
    const uint64_t before = at >= 0 ? 0 : -at < f32_n ? (uint64_t)-at : f32_n;
    const uint64_t end = at >= (int64_t)n ? 0 : (uint64_t)((int64_t)n - at);
    const f32_m low = f32_mask(before), high = f32_mask(end < f32_n ? end : f32_n);
#if defined(__AVX512F__)
    return (f32_m)(high & ~low);
#else
    return _mm256_andnot_si256(low, high);
#endif
}

/* Which of those that so many pixels meet there are. Beyond the last one the source may go on, and
 * be infinite. */
static inline f32_m plane_mask_of(const struct conv2d_view *v, int64_t at, uint64_t pixels)
{
    const int64_t end = at + (int64_t)pixels;
    return plane_mask(at, end < 0 ? 0 : conv2d_least((uint64_t)end, v->x.in));
}

/* What column q of the pixels meets through the first tap of a row. */
static inline int64_t plane_first(const struct conv2d_view *v, uint64_t q)
{
    return (int64_t)(q + v->x.at - v->x.pad);
}

/* Whether n vectors of pixels from q on meet no padding. */
static inline bool plane_inside(const struct conv2d_view *v, uint64_t q, uint64_t n)
{
    const int64_t first = plane_first(v, q);
    const int64_t end = first + (int64_t)((v->x.taps - 1) * v->x.step + n * f32_n);
    return q + n * f32_n <= v->x.out && first >= 0 && end <= (int64_t)v->x.in;
}

/* The row that row p of the pixels meets through row r of the taps, or NULL. */
static inline const float *plane_source(const struct conv2d_plane *x, uint64_t p, uint64_t r)
{
    const struct conv2d_axis *y = &x->v->y;
    const uint64_t at = y->at + p * y->stride + r * y->step;
    if (at < y->pad || at - y->pad >= y->in)
        return NULL;
    return x->source + (at - y->pad) * x->v->source_width;
}

/* A row of pixels, and the rows that it meets. */
struct plane_row {
    const struct conv2d_view *v;
    const float *source[CONV2D_PLANE_TAPS], *taps[CONV2D_PLANE_TAPS];
    uint64_t rows;
    float *pixels;
    bool stream;
};

/* n vectors from column q on; whether one of them is NaN. */
static inline __attribute__((always_inline)) bool
plane_tile(const struct plane_row *row, uint64_t q, const int n, const bool edge)
{
    const struct conv2d_view *v = row->v;
    const uint64_t left = v->x.out - q;
    const f32_m mask = f32_mask(left < f32_n ? left : f32_n);
    f32_t sums[PLANE_VECTORS], nan = f32_zero();
#pragma GCC unroll 4
    for (int i = 0; i < n; i++)
        sums[i] = f32_zero();
    int64_t at = plane_first(v, q);
    for (uint64_t s = 0; s < v->x.taps; s++, at += (int64_t)v->x.step) {
        const f32_m meets = edge ? plane_mask(at, v->x.in) : f32_mask(f32_n);
        for (uint64_t r = 0; r < row->rows; r++) {
            const float *from = row->source[r] + at;
            const f32_t tap = f32_set1(row->taps[r][s]);
#pragma GCC unroll 4
            for (int i = 0; i < n; i++)
                sums[i] = f32_fma(edge ? f32_load_mask(from, meets) : f32_load(from + i * f32_n),
                                  tap, sums[i]);
        }
    }
    float *to = row->pixels + q;
#pragma GCC unroll 4
    for (int i = 0; i < n; i++, to += f32_n) {
        if (row->stream)
            f32_stream(to, sums[i]);
        else if (edge)
            f32_store_mask(to, mask, sums[i]);
        else
            f32_store(to, sums[i]);
        nan = f32_add(nan, edge ? f32_select(mask, sums[i], f32_zero()) : sums[i]);
    }
    return f32_any(f32_isnan(nan));
}

/* One vector from column q on of PLANE_ROWS rows that meet as many each: a single one would wait
 * for its multiplications. */
static inline bool plane_column(const struct plane_row *rows, uint64_t q)
{
    const struct conv2d_view *v = rows->v;
    const uint64_t left = v->x.out - q;
    const f32_m mask = f32_mask(left < f32_n ? left : f32_n);
    f32_t sums[PLANE_ROWS], nan = f32_zero();
#pragma GCC unroll 4
    for (int i = 0; i < PLANE_ROWS; i++)
        sums[i] = f32_zero();
    int64_t at = plane_first(v, q);
    for (uint64_t s = 0; s < v->x.taps; s++, at += (int64_t)v->x.step) {
        const f32_m meets = plane_mask(at, v->x.in);
        for (uint64_t r = 0; r < rows->rows; r++) {
            const f32_t tap = f32_set1(rows->taps[r][s]);
#pragma GCC unroll 4
            for (int i = 0; i < PLANE_ROWS; i++)
                sums[i] = f32_fma(f32_load_mask(rows[i].source[r] + at, meets), tap, sums[i]);
        }
    }
#pragma GCC unroll 4
    for (int i = 0; i < PLANE_ROWS; i++) {
        if (rows->stream)
            f32_stream(rows[i].pixels + q, sums[i]);
        else
            f32_store_mask(rows[i].pixels + q, mask, sums[i]);
        nan = f32_add(nan, f32_select(mask, sums[i], f32_zero()));
    }
    return f32_any(f32_isnan(nan));
}

static void plane_row(const struct conv2d_plane *x, uint64_t p, struct plane_row *row)
{
    const struct conv2d_view *v = x->v;
    row->v = v;
    row->stream = x->stream;
    row->pixels = x->pixels + p * v->row;
    row->rows = 0;
    for (uint64_t r = 0; r < v->y.taps; r++) {
        row->source[row->rows] = plane_source(x, p, r);
        row->taps[row->rows] = x->taps + r * v->x.taps;
        row->rows += row->source[row->rows] != NULL;
    }
}

#include "conv2d_walk_tmpl.h"

static bool plane(const struct conv2d_plane *x)
{
    const struct conv2d_view *v = x->v;
    struct plane_row rows[PLANE_ROWS];
    bool nan = false;
    if (walks(v))
        return walk(x);
    for (uint64_t p = x->p0, n; p < x->p1; p += n) {
        uint64_t full = 0;
        for (n = 0; n < PLANE_ROWS && p + n < x->p1; n++) {
            plane_row(x, p + n, &rows[n]);
            full += rows[n].rows == v->y.taps;
        }
        plane_fetch(x->source + p * v->y.stride * v->source_width,
                    n * v->y.stride * v->source_width);
        for (uint64_t q = 0; q < v->x.out;) {
            const bool inside = plane_inside(v, q, 1), wide = plane_inside(v, q, PLANE_VECTORS);
            if (!wide && full == PLANE_ROWS)
                nan |= plane_column(rows, q);
            else
                for (uint64_t i = 0; i < n; i++)
                    nan |= wide     ? plane_tile(&rows[i], q, PLANE_VECTORS, false)
                           : inside ? plane_tile(&rows[i], q, 1, false)
                                    : plane_tile(&rows[i], q, 1, true);
            q += (wide ? PLANE_VECTORS : 1) * f32_n;
        }
    }
    if (x->stream)
        vec_fence();
    return nan;
}

/* A few taps, and the sums of their products with gradients. */
struct plane_sums {
    const struct conv2d_plane *x;
    uint64_t row[PLANE_TAPS], tap[PLANE_TAPS]; /* the last ones may be taken again */
    f32_t sums[PLANE_TAPS][PLANE_TAPS];
};

/* Adds the products of the gradients, a vector of each row from column q on. */
static inline void plane_edge(struct plane_sums *t, uint64_t q, const int rows)
{
    const struct conv2d_plane *x = t->x;
    const struct conv2d_view *v = x->v;
    const uint64_t left = v->x.out - q, lanes = left < f32_n ? left : f32_n;
    const f32_m mask = f32_mask(lanes);
    f32_m meets[PLANE_TAPS];
    int64_t at[PLANE_TAPS];
    for (int j = 0; j < PLANE_TAPS; j++) {
        at[j] = plane_first(v, q) + (int64_t)(t->tap[j] * v->x.step);
        meets[j] = plane_mask_of(v, at[j], lanes);
    }
    for (uint64_t p = x->p0; p < x->p1; p++) {
        const f32_t grad = f32_load_mask(x->pixels + p * v->row + q, mask);
#pragma GCC unroll 3
        for (int i = 0; i < rows; i++) {
            const float *source = plane_source(x, p, t->row[i]);
#pragma GCC unroll 3
            for (int j = 0; j < PLANE_TAPS && source; j++)
                t->sums[i][j] =
                    f32_fma(grad, f32_load_mask(source + at[j], meets[j]), t->sums[i][j]);
        }
    }
}

/* The same for the vectors of a row of gradients that meet no padding. */
static inline void plane_inner(const struct plane_sums *t, f32_t (*to)[PLANE_TAPS],
                               const float *grads, const float *const *source, uint64_t begin,
                               uint64_t end, const int rows)
{
    const struct conv2d_view *v = t->x->v;
    f32_t sums[PLANE_TAPS][PLANE_TAPS];
    int64_t at[PLANE_TAPS];
#pragma GCC unroll 3
    for (int j = 0; j < PLANE_TAPS; j++) {
        at[j] = plane_first(v, 0) + (int64_t)(t->tap[j] * v->x.step);
#pragma GCC unroll 3
        for (int i = 0; i < rows; i++)
            sums[i][j] = to[i][j];
    }
    for (uint64_t q = begin; q < end; q += f32_n) {
        const f32_t grad = f32_load(grads + q);
#pragma GCC unroll 3
        for (int i = 0; i < rows; i++)
#pragma GCC unroll 3
            for (int j = 0; j < PLANE_TAPS; j++)
                sums[i][j] = f32_fma(grad, f32_load(source[i] + (int64_t)q + at[j]), sums[i][j]);
    }
#pragma GCC unroll 3
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 3
        for (int j = 0; j < PLANE_TAPS; j++)
            to[i][j] = sums[i][j];
}

/* All gradients by so many rows of taps. */
static inline __attribute__((always_inline)) void plane_add(struct plane_sums *t, uint64_t begin,
                                                            uint64_t end, const int rows)
{
    const struct conv2d_plane *x = t->x;
    const struct conv2d_view *v = x->v;
    for (uint64_t p = x->p0; p < x->p1; p++) {
        const float *source[PLANE_TAPS], *grads = x->pixels + p * v->row;
        bool all = true;
        for (int i = 0; i < rows; i++) {
            source[i] = plane_source(x, p, t->row[i]);
            all &= source[i] != NULL;
        }
        plane_fetch(grads, v->x.out);
        plane_fetch(x->source + p * v->y.stride * v->source_width, v->y.stride * v->source_width);
        if (all)
            plane_inner(t, t->sums, grads, source, begin, end, rows);
        for (int i = 0; i < rows && !all; i++)
            if (source[i])
                plane_inner(t, t->sums + i, grads, source + i, begin, end, 1);
    }
    for (uint64_t q = 0; q < v->x.out; q += f32_n)
        if (q < begin || q >= end)
            plane_edge(t, q, rows);
}

static void plane_taps(const struct conv2d_plane *x, float *sums, uint64_t ld, bool add)
{
    const struct conv2d_view *v = x->v;
    const uint64_t rows = v->y.taps, taps = v->x.taps;
    uint64_t begin = 0, end;
    if (walks(v) && v->x.out <= WALK_ROW) {
        walk_taps(x, sums, ld, add);
        return;
    }
    while (begin < v->x.out && !plane_inside(v, begin, 1))
        begin += f32_n;
    for (end = begin; end < v->x.out && plane_inside(v, end, 1);)
        end += f32_n;
    for (uint64_t r = 0; r < rows; r += PLANE_TAPS)
        for (uint64_t s = 0; s < taps; s += PLANE_TAPS) {
            struct plane_sums t = { .x = x };
            for (uint64_t i = 0; i < PLANE_TAPS; i++) {
                t.row[i] = conv2d_least(r + i, rows - 1);
                t.tap[i] = conv2d_least(s + i, taps - 1);
                for (uint64_t j = 0; j < PLANE_TAPS; j++)
                    t.sums[i][j] = f32_zero();
            }
            switch (rows - r) {
            case 1: plane_add(&t, begin, end, 1); break;
            case 2: plane_add(&t, begin, end, 2); break;
            default: plane_add(&t, begin, end, PLANE_TAPS);
            }
            for (uint64_t i = 0; i < PLANE_TAPS && r + i < rows; i++)
                for (uint64_t j = 0; j < PLANE_TAPS && s + j < taps; j++) {
                    float *sum = sums + ((r + i) * taps + s + j) * ld;
                    *sum = f32_first(f32_all_add(t.sums[i][j])) + (add ? *sum : 0);
                }
        }
}
