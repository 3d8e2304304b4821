/* SPDX-License-Identifier: Apache-2.0 */
/* conv2d_plane of one instruction set: rows of pixels straight from rows of the source. Only the
 * vectors at both ends of a row meet padding; masks keep it out. */

#define PLANE_VECTORS 4 /* of pixels at a time */
#define PLANE_TAPS    3 /* of a row of taps at a time, for backward_filter */

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

static bool plane(const struct conv2d_plane *x)
{
    const struct conv2d_view *v = x->v;
    struct plane_row row = { .v = v, .stream = x->stream };
    bool nan = false;
    for (uint64_t p = x->p0; p < x->p1; p++) {
        row.pixels = x->pixels + p * v->row;
        row.rows = 0;
        for (uint64_t r = 0; r < v->y.taps; r++) {
            row.source[row.rows] = plane_source(x, p, r);
            row.taps[row.rows] = x->taps + r * v->x.taps;
            row.rows += row.source[row.rows] != NULL;
        }
        for (uint64_t q = 0; q < v->x.out;) {
            if (plane_inside(v, q, PLANE_VECTORS)) {
                nan |= plane_tile(&row, q, PLANE_VECTORS, false);
                q += PLANE_VECTORS * f32_n;
                continue;
            }
            nan |= plane_inside(v, q, 1) ? plane_tile(&row, q, 1, false)
                                         : plane_tile(&row, q, 1, true);
            q += f32_n;
        }
    }
    if (x->stream)
        vec_fence();
    return nan;
}

/* Adds the products of the gradients, a vector of each row from column q on, with what they meet
 * through a few taps of row r. */
static inline void plane_edge(const struct conv2d_plane *x, uint64_t r, uint64_t q,
                              const uint64_t tap[PLANE_TAPS], f32_t sums[PLANE_TAPS])
{
    const struct conv2d_view *v = x->v;
    const uint64_t left = v->x.out - q, lanes = left < f32_n ? left : f32_n;
    const f32_m mask = f32_mask(lanes);
    f32_m meets[PLANE_TAPS];
    int64_t at[PLANE_TAPS];
    for (int i = 0; i < PLANE_TAPS; i++) {
        at[i] = plane_first(v, q) + (int64_t)(tap[i] * v->x.step);
        /* beyond the last pixel the source may go on, and be infinite */
        const int64_t end = at[i] + (int64_t)lanes;
        meets[i] = plane_mask(at[i], end < 0 ? 0 : conv2d_least((uint64_t)end, v->x.in));
    }
    for (uint64_t p = x->p0; p < x->p1; p++) {
        const float *source = plane_source(x, p, r);
        const f32_t grad = f32_load_mask(x->pixels + p * v->row + q, mask);
        for (int i = 0; i < PLANE_TAPS && source; i++)
            sums[i] = f32_fma(grad, f32_load_mask(source + at[i], meets[i]), sums[i]);
    }
}

/* The same for all vectors that meet no padding. */
static inline void plane_inner(const struct conv2d_plane *x, uint64_t r, uint64_t begin,
                               uint64_t end, const uint64_t tap[PLANE_TAPS], f32_t sums[PLANE_TAPS])
{
    const struct conv2d_view *v = x->v;
    int64_t at[PLANE_TAPS];
    for (int i = 0; i < PLANE_TAPS; i++)
        at[i] = plane_first(v, 0) + (int64_t)(tap[i] * v->x.step);
    for (uint64_t p = x->p0; p < x->p1; p++) {
        const float *source = plane_source(x, p, r), *grads = x->pixels + p * v->row;
        for (uint64_t q = begin; q < end && source; q += f32_n) {
            const f32_t grad = f32_load(grads + q);
#pragma GCC unroll 3
            for (int i = 0; i < PLANE_TAPS; i++)
                sums[i] = f32_fma(grad, f32_load(source + (int64_t)q + at[i]), sums[i]);
        }
    }
}

static void plane_taps(const struct conv2d_plane *x, float *sums, uint64_t ld, bool add)
{
    const struct conv2d_view *v = x->v;
    uint64_t begin = 0, end;
    while (begin < v->x.out && !plane_inside(v, begin, 1))
        begin += f32_n;
    for (end = begin; end < v->x.out && plane_inside(v, end, 1);)
        end += f32_n;
    for (uint64_t r = 0; r < v->y.taps; r++)
        for (uint64_t s = 0; s < v->x.taps; s += PLANE_TAPS) {
            f32_t some[PLANE_TAPS];
            uint64_t tap[PLANE_TAPS];
            for (uint64_t i = 0; i < PLANE_TAPS; i++) {
                some[i] = f32_zero();
                tap[i] = s + i < v->x.taps ? s + i : v->x.taps - 1;
            }
            plane_inner(x, r, begin, end, tap, some);
            for (uint64_t q = 0; q < v->x.out; q += f32_n)
                if (q < begin || q >= end)
                    plane_edge(x, r, q, tap, some);
            for (uint64_t i = 0; i < PLANE_TAPS && s + i < v->x.taps; i++) {
                float *sum = sums + (r * v->x.taps + s + i) * ld;
                *sum = f32_first(f32_all_add(some[i])) + (add ? *sum : 0);
            }
        }
}
