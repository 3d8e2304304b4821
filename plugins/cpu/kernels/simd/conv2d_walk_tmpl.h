/* SPDX-License-Identifier: Apache-2.0 */
/* conv2d_plane of 3x3 taps that lie side by side, without stride. A strip of a few vectors walks
 * down the plane: each row of the source is read once, for the three rows of pixels that meet it.
 * Registers: of pixels three rows of sums, nine taps, a vector of the source; of taps nine sums,
 * three rows of gradients, a vector of the source. */

#define WALK_TAPS 3
#if defined(__AVX512F__)
#define WALK_VECTORS 4 /* of pixels */
#define WALK_GRADS   4 /* of gradients */
#define WALK_ROW     UINT64_MAX
#else
#define WALK_VECTORS 2
#define WALK_GRADS   1
#define WALK_ROW     64 /* gradients; of longer rows a vector at a time comes too slowly */
#endif

/* Which elements there are: of the source for the first vector of a strip and for the last, the
 * others meet no padding; of the pixels for the last. */
struct walk_edges {
    f32_m meets[2][WALK_TAPS], mask;
};

struct walk {
    struct walk_edges edges;
    f32_t taps[WALK_TAPS][WALK_TAPS];
    f32_t sums[WALK_TAPS][WALK_VECTORS]; /* of the row of pixels that meets the last taps first */
};

struct walk_pairs {
    struct walk_edges edges;
    f32_t grads[WALK_TAPS][WALK_GRADS]; /* of the row of pixels that meets the first taps first */
    f32_t sums[WALK_TAPS][WALK_TAPS];
};

static bool walks(const struct conv2d_view *v)
{
    return v->y.taps == WALK_TAPS && v->x.taps == WALK_TAPS && v->y.stride == 1 && v->y.step == 1 &&
           v->x.step == 1;
}

/* Vectors of a strip from column q on, at most so many. */
static uint64_t walk_vectors(const struct conv2d_view *v, uint64_t q, uint64_t most)
{
    uint64_t n = conv2d_least(most, conv2d_ceil(v->x.out - q, f32_n));
    while (n > 2 && !plane_inside(v, q + f32_n, n - 2))
        n--;
    return n;
}

static inline __attribute__((always_inline)) void
walk_edges(struct walk_edges *e, const struct conv2d_view *v, uint64_t q, const int n)
{
    const uint64_t left = v->x.out - q, before = (uint64_t)(n - 1) * f32_n;
    const uint64_t lanes = left - before < f32_n ? left - before : f32_n;
    const uint64_t first = n == 1 ? lanes : f32_n;
    e->mask = f32_mask(lanes);
#pragma GCC unroll 3
    for (int s = 0; s < WALK_TAPS; s++) {
        const int64_t at = plane_first(v, q) + s;
        e->meets[0][s] = plane_mask_of(v, at, first);
        e->meets[1][s] = plane_mask_of(v, at + (int64_t)before, lanes);
    }
}

/* What a vector of a strip meets through tap s of a row. */
static inline __attribute__((always_inline)) f32_t
walk_load(const struct walk_edges *e, const float *source, const int i, const int s, const int n)
{
    const float *from = source + i * f32_n + s;
    f32_t x = i == 0 || i == n - 1 ? f32_load_mask(from, e->meets[i != 0][s]) : f32_load(from);
    __asm__("" : "+v"(x)); /* not loaded again for each row */
    return x;
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
            const f32_t e = walk_load(&w->edges, source, i, s, n);
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
    walk_edges(&w.edges, v, q, n);
#pragma GCC unroll 3
    for (int r = 0; r < WALK_TAPS; r++)
#pragma GCC unroll 3
        for (int s = 0; s < WALK_TAPS; s++)
            w.taps[r][s] = f32_set1(x->taps[r * WALK_TAPS + s]);
#pragma GCC unroll 4
    for (int i = 0; i < n; i++)
        w.sums[1][i] = w.sums[2][i] = f32_zero();
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
                f32_store_mask(to, w.edges.mask, w.sums[0][i]);
            else
                f32_store(to, w.sums[0][i]);
            nan = f32_add(nan, i == n - 1 ? f32_select(w.edges.mask, w.sums[0][i], f32_zero())
                                          : w.sums[0][i]);
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
        n = walk_vectors(v, q, strip / f32_n);
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

/* To the next row of gradients, which is not there if it is NULL. */
static inline __attribute__((always_inline)) void walk_next(struct walk_pairs *w,
                                                            const float *grads, const int n)
{
#pragma GCC unroll 4
    for (int i = 0; i < n; i++) {
        w->grads[2][i] = w->grads[1][i];
        w->grads[1][i] = w->grads[0][i];
        if (grads)
            w->grads[0][i] = i == n - 1 ? f32_load_mask(grads + i * f32_n, w->edges.mask)
                                        : f32_load(grads + i * f32_n);
    }
}

/* Adds a row of the source times the gradients that meet it through rows r0 to r1 of taps. */
static inline __attribute__((always_inline)) void
walk_pair(struct walk_pairs *w, const float *source, const int r0, const int r1, const int n)
{
#pragma GCC unroll 3
    for (int s = 0; s < WALK_TAPS; s++)
#pragma GCC unroll 4
        for (int i = 0; i < n; i++) {
            const f32_t e = walk_load(&w->edges, source, i, s, n);
#pragma GCC unroll 3
            for (int r = r0; r < r1; r++)
                w->sums[r][s] = f32_fma(e, w->grads[r][i], w->sums[r][s]);
        }
}

/* n vectors of gradients from column q on. */
static inline __attribute__((always_inline)) void
walk_add(const struct conv2d_plane *x, f32_t (*sums)[WALK_TAPS], uint64_t q, const int n)
{
    const struct conv2d_view *v = x->v;
    const uint64_t first = v->y.at + x->p0 - v->y.pad, rows = x->p1 - x->p0;
    struct walk_pairs w;
    walk_edges(&w.edges, v, q, n);
    memcpy(w.sums, sums, sizeof(w.sums));
#pragma GCC unroll 4
    for (int i = 0; i < n; i++)
        w.grads[0][i] = w.grads[1][i] = f32_zero();
    for (uint64_t k = 0; k < rows + WALK_TAPS - 1; k++) {
        const uint64_t y = first + k; /* wraps around above the source */
        const float *source = y < v->y.in ? x->source + y * v->source_width : NULL;
        const float *grads = x->pixels + (x->p0 + k) * v->row;
        walk_next(&w, k < rows ? grads + q : NULL, n);
        if (!source)
            continue;
        if (q == 0) {
            plane_fetch(source, v->source_width);
            plane_fetch(grads, v->x.out);
        }
        source += plane_first(v, q);
        if (k >= WALK_TAPS - 1 && k < rows) {
            walk_pair(&w, source, 0, WALK_TAPS, n);
            continue;
        }
#pragma GCC unroll 3
        for (int r = 0; r < WALK_TAPS; r++)
            if (k >= (uint64_t)r && k - (uint64_t)r < rows)
                walk_pair(&w, source, r, r + 1, n);
    }
    memcpy(sums, w.sums, sizeof(w.sums));
}

static void walk_taps(const struct conv2d_plane *x, float *sums, uint64_t ld, bool add)
{
    const struct conv2d_view *v = x->v;
    const uint64_t strip = conv2d_part(v->x.out, WALK_GRADS, f32_n);
    f32_t all[WALK_TAPS][WALK_TAPS];
    for (int r = 0; r < WALK_TAPS; r++)
        for (int s = 0; s < WALK_TAPS; s++)
            all[r][s] = f32_zero();
    for (uint64_t q = 0, n; q < v->x.out; q += n * f32_n) {
        n = walk_vectors(v, q, strip / f32_n);
        switch (n) {
        case 1: walk_add(x, all, q, 1); break;
#if WALK_GRADS > 1
        case 2: walk_add(x, all, q, 2); break;
        case 3: walk_add(x, all, q, 3); break;
        default: walk_add(x, all, q, WALK_GRADS);
#endif
        }
    }
    for (int r = 0; r < WALK_TAPS; r++)
        for (int s = 0; s < WALK_TAPS; s++, sums += ld)
            *sums = f32_first(f32_all_add(all[r][s])) + (add ? *sums : 0);
}
