/* SPDX-License-Identifier: Apache-2.0 */
/* conv2d_plane of 3x3 taps that lie side by side, without stride. A strip of a few vectors walks
 * down the plane: each row of the source is read once, and added to the three rows of pixels that
 * meet it. Registers: three rows of sums, nine taps, a vector of the source. */

#define WALK_TAPS 3
#if defined(__AVX512F__)
#define WALK_VECTORS 4
#else
#define WALK_VECTORS 2
#endif

/* A strip. Only its first and last vectors may meet padding. */
struct walk {
    f32_t taps[WALK_TAPS][WALK_TAPS];
    f32_t sums[WALK_TAPS][WALK_VECTORS]; /* of the row of pixels that meets the last taps first */
    f32_m meets[2][WALK_TAPS], mask;     /* of the first vector and the last; pixels of the last */
};

static bool walks(const struct conv2d_view *v)
{
    return v->y.taps == WALK_TAPS && v->x.taps == WALK_TAPS && v->y.stride == 1 && v->y.step == 1 &&
           v->x.step == 1;
}

static inline __attribute__((always_inline)) void
walk_begin(struct walk *w, const struct conv2d_plane *x, uint64_t q, const int n)
{
    const struct conv2d_view *v = x->v;
    const int64_t at = plane_first(v, q);
    const uint64_t left = v->x.out - q, before = (uint64_t)(n - 1) * f32_n;
    w->mask = f32_mask(left - before < f32_n ? left - before : f32_n);
#pragma GCC unroll 3
    for (int s = 0; s < WALK_TAPS; s++) {
        w->meets[0][s] = plane_mask(at + s, v->x.in);
        w->meets[1][s] = plane_mask(at + s + (int64_t)before, v->x.in);
#pragma GCC unroll 3
        for (int r = 0; r < WALK_TAPS; r++)
            w->taps[r][s] = f32_set1(x->taps[r * WALK_TAPS + s]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < n; i++)
        w->sums[1][i] = w->sums[2][i] = f32_zero();
}

/* To the next row of the source, which is not there if it is NULL. */
static inline __attribute__((always_inline)) void walk_step(struct walk *w, const float *source,
                                                            const int n)
{
#pragma GCC unroll 4
    for (int i = 0; i < n; i++) {
        w->sums[0][i] = w->sums[1][i];
        w->sums[1][i] = w->sums[2][i];
        w->sums[2][i] = f32_zero();
    }
    if (!source)
        return;
#pragma GCC unroll 3
    for (int s = 0; s < WALK_TAPS; s++)
#pragma GCC unroll 4
        for (int i = 0; i < n; i++) {
            const float *from = source + i * f32_n + s;
            const bool edge = i == 0 || i == n - 1;
            f32_t e = edge ? f32_load_mask(from, w->meets[i != 0][s]) : f32_load(from);
            __asm__("" : "+v"(e)); /* not loaded again for each row */
#pragma GCC unroll 3
            for (int r = 0; r < WALK_TAPS; r++)
                w->sums[r][i] = f32_fma(e, w->taps[WALK_TAPS - 1 - r][s], w->sums[r][i]);
        }
}

/* n vectors of pixels from column q on; whether one of them is NaN. */
static inline __attribute__((always_inline)) bool walk_strip(const struct conv2d_plane *x,
                                                             uint64_t q, const int n, bool stream)
{
    const struct conv2d_view *v = x->v;
    const int64_t at = plane_first(v, q);
    const uint64_t first = v->y.at + x->p0 - v->y.pad, rows = x->p1 - x->p0 + WALK_TAPS - 1;
    f32_t nan = f32_zero();
    struct walk w;
    walk_begin(&w, x, q, n);
    for (uint64_t k = 0; k < rows; k++) {
        const uint64_t y = first + k; /* wraps around above the source */
        const float *source = y < v->y.in ? x->source + y * v->source_width : NULL;
        if (q == 0 && source)
            plane_fetch(source, v->source_width);
        walk_step(&w, source ? source + at : NULL, n);
        if (k < WALK_TAPS - 1)
            continue;
        float *to = x->pixels + (x->p0 + k - (WALK_TAPS - 1)) * v->row + q;
#pragma GCC unroll 4
        for (int i = 0; i < n; i++, to += f32_n) {
            if (stream)
                f32_stream(to, w.sums[0][i]);
            else if (i == n - 1)
                f32_store_mask(to, w.mask, w.sums[0][i]);
            else
                f32_store(to, w.sums[0][i]);
            nan = f32_add(nan,
                          i == n - 1 ? f32_select(w.mask, w.sums[0][i], f32_zero()) : w.sums[0][i]);
        }
    }
    return f32_any(f32_isnan(nan));
}

static bool walk(const struct conv2d_plane *x)
{
    const struct conv2d_view *v = x->v;
    const uint64_t strip = conv2d_part(v->x.out, WALK_VECTORS, f32_n);
    const uint64_t line = GEMM_LINE / sizeof(float);
    /* what passes the caches in parts of a line is slow */
    const bool stream = x->stream && v->row % line == 0 && v->x.out % line == 0 &&
                        (uintptr_t)x->pixels % GEMM_LINE == 0 && strip % line == 0;
    bool nan = false;
    for (uint64_t q = 0, n; q < v->x.out; q += n * f32_n) {
        n = conv2d_ceil(conv2d_least(strip, v->x.out - q), f32_n);
        while (n > 2 && !plane_inside(v, q + f32_n, n - 2))
            n--;
        switch (n) {
        case 1: nan |= walk_strip(x, q, 1, stream); break;
        case 2: nan |= walk_strip(x, q, 2, stream); break;
#if WALK_VECTORS > 2
        case 3: nan |= walk_strip(x, q, 3, stream); break;
        default: nan |= walk_strip(x, q, WALK_VECTORS, stream);
#endif
        }
    }
    if (stream)
        vec_fence();
    return nan;
}
