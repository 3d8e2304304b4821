/* SPDX-License-Identifier: Apache-2.0 */
/* conv2d_pairs and conv2d_turn of one instruction set. A tile has a few taps at a time, each a
 * pointer that walks along the pixels; at the end the last tap is taken more than once. */

#define PAIR_ROOM  (CONV_LANES * f32_n) /* of a packed pixel */
#define PAIR_AHEAD 4                    /* pixels, from L2 */
#define LAY_AHEAD  32                   /* pixels */

struct pairs_tile {
    const float *grad, *tap[8];
    float *sums[8];
    uint64_t pixels, ld;
    bool add;
};

/* Gradients are the lanes of vectors. */
static inline __attribute__((always_inline)) void pair_tile(const struct pairs_tile *x,
                                                            const int rows)
{
    enum {
        taps = CONV_TAPS
    };
    const float *grad = x->grad, *tap[taps];
    const uint64_t pixels = x->pixels;
    f32_t sums[taps][CONV_LANES];
#pragma GCC unroll 8
    for (int j = 0; j < taps; j++) {
        tap[j] = x->tap[j];
#pragma GCC unroll 4
        for (int i = 0; i < rows; i++)
            sums[j][i] = x->add ? f32_load(x->sums[j] + i * f32_n) : f32_zero();
    }
    for (uint64_t p = 0; p < pixels; p++, grad += PAIR_ROOM) {
        f32_t lanes[CONV_LANES];
#pragma GCC unroll 4
        for (int i = 0; i < rows; i++) {
            vec_prefetch(grad + PAIR_AHEAD * PAIR_ROOM + i * f32_n);
            lanes[i] = f32_load(grad + i * f32_n);
        }
#pragma GCC unroll 8
        for (int j = 0; j < taps; j++) {
            const f32_t pixel = f32_set1(tap[j][p]);
#pragma GCC unroll 4
            for (int i = 0; i < rows; i++)
                sums[j][i] = f32_fma(lanes[i], pixel, sums[j][i]);
        }
    }
#pragma GCC unroll 8
    for (int j = 0; j < taps; j++)
#pragma GCC unroll 4
        for (int i = 0; i < rows; i++)
            f32_store(x->sums[j] + i * f32_n, sums[j][i]);
}

/* Pixels are. Gradient i adds to sums[j][i]; they are x->ld apart. */
static inline __attribute__((always_inline)) void dot_tile(const struct pairs_tile *x,
                                                           const int grads)
{
    enum {
        taps = CONV_DOT_TAPS
    };
    f32_t sums[taps][3];
#pragma GCC unroll 8
    for (int j = 0; j < taps; j++)
#pragma GCC unroll 3
        for (int i = 0; i < grads; i++)
            sums[j][i] = f32_zero();
    for (uint64_t p = 0; p < x->pixels; p += f32_n) {
        const uint64_t left = x->pixels - p;
        const f32_m mask = f32_mask(left < f32_n ? left : f32_n);
        f32_t lanes[3];
#pragma GCC unroll 3
        for (int i = 0; i < grads; i++)
            lanes[i] = f32_load_mask(x->grad + (uint64_t)i * x->ld + p, mask);
#pragma GCC unroll 8
        for (int j = 0; j < taps; j++) {
            const f32_t pixel = f32_load_mask(x->tap[j] + p, mask);
#pragma GCC unroll 3
            for (int i = 0; i < grads; i++)
                sums[j][i] = f32_fma(lanes[i], pixel, sums[j][i]);
        }
    }
    float total[taps][3];
#pragma GCC unroll 8
    for (int j = 0; j < taps; j++)
#pragma GCC unroll 3
        for (int i = 0; i < grads; i++)
            total[j][i] = f32_first(f32_all_add(sums[j][i])) + (x->add ? x->sums[j][i] : 0);
    for (int j = 0; j < taps; j++)
        for (int i = 0; i < grads; i++)
            x->sums[j][i] = total[j][i];
}

/* Packs rows, ld apart or at offsets, as lanes of pixels; the last one again up to a whole vector.
 * Rows of gradients are too many to be streams that the processor sees, so each is fetched a little
 * ahead. */
static inline __attribute__((always_inline)) void lay_rows(float *to, uint64_t lanes,
                                                           uint64_t pixels, const float *from,
                                                           uint64_t ld, const uint32_t *offsets)
{
    const uint64_t whole = (lanes + f32_n - 1) / f32_n * f32_n;
    for (uint64_t p = 0; p < pixels; p += f32_n, to += f32_n * PAIR_ROOM) {
        const uint64_t some = pixels - p < f32_n ? pixels - p : f32_n;
        const f32_m mask = f32_mask(some);
        for (uint64_t i = 0; i < whole; i += TURN_f32) {
            float turned[f32_n * TURN_f32];
            f32_t rows[TURN_f32];
#pragma GCC unroll 8
            for (uint64_t r = 0; r < TURN_f32; r++) {
                const uint64_t lane = i + r < lanes ? i + r : lanes - 1;
                const float *row = from + (offsets ? offsets[lane] : lane * ld) + p;
                if (!offsets)
                    vec_prefetch(row + LAY_AHEAD);
                rows[r] = f32_load_mask(row, mask);
            }
            if (some == f32_n) {
                turn_f32(rows, to + i, PAIR_ROOM);
                continue;
            }
            turn_f32(rows, turned, TURN_f32);
            for (uint64_t s = 0; s < some; s++)
                memcpy(to + s * PAIR_ROOM + i, turned + s * TURN_f32, sizeof(float) * TURN_f32);
        }
    }
}

static void lay(float *to, uint64_t lanes, uint64_t pixels, const float *grad, uint64_t ld)
{
    lay_rows(to, lanes, pixels, grad, ld, NULL);
}

static void lay_taps(float *to, uint64_t lanes, uint64_t pixels, const float *sheet,
                     const uint32_t *offsets)
{
    lay_rows(to, lanes, pixels, sheet, 0, offsets);
}

typedef void pairs_fn(const struct pairs_tile *x);

#define PAIR_FN(rows)                                                                              \
    static void pair_##rows(const struct pairs_tile *x)                                            \
    {                                                                                              \
        pair_tile(x, rows);                                                                        \
    }
#define PAIR_ITEM(rows) [rows] = pair_##rows,
#define DOT_FN(grads)                                                                              \
    static void dot_##grads(const struct pairs_tile *x)                                            \
    {                                                                                              \
        dot_tile(x, grads);                                                                        \
    }
#define DOT_ITEM(grads) [grads] = dot_##grads,
CONV_PAIRS(PAIR_FN)
CONV_DOTS(DOT_FN)
static pairs_fn *const pairs[] = { CONV_PAIRS(PAIR_ITEM) };
static pairs_fn *const dots[] = { CONV_DOTS(DOT_ITEM) };

/* So many taps from t on, and gradient j. */
static struct pairs_tile pairs_tile(const struct conv2d_pairs *x, uint64_t t, uint64_t j,
                                    uint64_t taps)
{
    struct pairs_tile tile = { .pixels = x->pixels, .ld = x->grad_ld, .add = x->add };
    for (uint64_t i = 0; i < taps; i++) {
        const uint64_t tap = t + i < x->taps ? t + i : x->taps - 1;
        tile.tap[i] = x->sheet + x->offsets[tap];
        tile.sums[i] = x->sums + tap * x->ld + j;
    }
    return tile;
}

static void pair(const struct conv2d_pairs *x)
{
    for (uint64_t j = 0, panel = 0; j < x->gradients; j += x->width, panel++) {
        const uint64_t lanes = x->gradients - j < x->width ? x->gradients - j : x->width;
        for (uint64_t t = 0; t < x->taps; t += CONV_TAPS) {
            struct pairs_tile tile = pairs_tile(x, t, j, CONV_TAPS);
            tile.grad = x->grad + panel * x->pixels * PAIR_ROOM;
            pairs[(lanes + f32_n - 1) / f32_n](&tile);
        }
    }
}

static void dot(const struct conv2d_pairs *x)
{
    for (uint64_t t = 0; t < x->taps; t += CONV_DOT_TAPS)
        for (uint64_t j = 0; j < x->gradients; j += 3) {
            struct pairs_tile tile = pairs_tile(x, t, j, CONV_DOT_TAPS);
            tile.grad = x->grad + j * x->grad_ld;
            dots[x->gradients - j < 3 ? x->gradients - j : 3](&tile);
        }
}

#define TURN_TAPS 16 /* a line of the filter */

/* A vector of gradients by 16 taps; whether one of them is NaN. */
static bool turn_some(const struct conv2d_turn *x, uint64_t j, uint64_t t)
{
    const uint64_t gradients = x->gradients - j < f32_n ? x->gradients - j : f32_n;
    const uint64_t taps = x->taps - t < TURN_TAPS ? x->taps - t : TURN_TAPS;
    float turned[f32_n * TURN_TAPS], *to = x->filter + j * x->ld + t;
    f32_t sums[TURN_f32], nan = f32_zero();
    for (uint64_t half = 0; half < TURN_TAPS; half += TURN_f32) {
        for (uint64_t i = 0; i < TURN_f32; i++) {
            const float *from = x->sums + (t + (half + i < taps ? half + i : 0)) * x->from + j;
            sums[i] = f32_load(from);
            for (uint64_t part = 1; part < x->parts; part++)
                sums[i] = f32_add(sums[i], f32_load(from + part * x->part));
            nan = f32_add(nan, f32_select(f32_mask(gradients), sums[i], f32_zero()));
        }
        turn_f32(sums, turned + half, TURN_TAPS);
    }
    const bool line = taps == TURN_TAPS && x->stream;
    for (uint64_t i = 0; i < gradients; i++, to += x->ld)
        if (line && (uintptr_t)to % sizeof(f32_t) == 0)
            for (uint64_t s = 0; s < TURN_TAPS; s += f32_n)
                f32_stream(to + s, f32_load(turned + i * TURN_TAPS + s));
        else
            memcpy(to, turned + i * TURN_TAPS, taps * sizeof(float));
    return f32_any(f32_isnan(nan));
}

static bool turn(const struct conv2d_turn *x)
{
    bool nan = false;
    for (uint64_t j = 0; j < x->gradients; j += f32_n)
        for (uint64_t t = 0; t < x->taps; t += TURN_TAPS)
            nan |= turn_some(x, j, t);
    if (x->stream)
        vec_fence();
    return nan;
}
