/* SPDX-License-Identifier: Apache-2.0 */
/* conv2d_product of one instruction set. Each size of tile is a function of its own, unrolled. */

/* The taps of each column are turned a vector at a time. What is written behind them is overwritten
 * by the next ones; behind the last, nothing is written. */
static void pack_taps(float *panel, uint64_t columns, uint64_t channels, uint64_t taps,
                      const float *filter, uint64_t channel, uint64_t column)
{
    _Static_assert((int)TURN_f32 == (int)GEMM_LANES, "a panel is as wide as what is turned");
    const float *end = panel + channels * taps * GEMM_LANES;
    for (uint64_t c = 0; c < channels; c++, filter += channel)
        for (uint64_t t = 0, steps; t < taps; t += steps, panel += steps * GEMM_LANES) {
            f32_t rows[GEMM_LANES];
            float turned[f32_n * GEMM_LANES];
            steps = taps - t < f32_n ? taps - t : f32_n;
#pragma GCC unroll 8
            for (uint64_t j = 0; j < GEMM_LANES; j++) {
                const float *row = filter + (j < columns ? j : columns - 1) * column + t;
                vec_prefetch(row + columns * column);
                rows[j] = f32_load_mask(row, f32_mask(steps));
            }
            if (end - panel >= f32_n * GEMM_LANES) {
                turn_f32(rows, panel, GEMM_LANES);
                continue;
            }
            turn_f32(rows, turned, GEMM_LANES);
            memcpy(panel, turned, steps * GEMM_LANES * sizeof(*panel));
        }
}

/* A few lines: the processor has room for them, and what a tile reads does not wait. */
static inline void product_fetch(struct conv2d_fetch *f)
{
    struct conv2d_region *region = &f->region;
    for (uint64_t left = f->lines; left && region->columns; left--) {
        vec_prefetch_l2(region->p + f->done);
        f->done += GEMM_LINE / sizeof(float);
        if (f->done >= region->length) {
            f->done = 0;
            region->p += region->step;
            region->columns--;
        }
    }
}

/* How many of n pixels vector i has. */
static inline uint64_t product_lanes(uint64_t n, uint64_t i)
{
    const uint64_t before = i * f32_n;
    return n <= before ? 0 : n - before < f32_n ? n - before : f32_n;
}

/* One term: the pixels in registers, and each tap in turn; or the other way round. */
static inline __attribute__((always_inline)) void product_wide(const float *a, const float *b,
                                                               const int rows, const int cols,
                                                               f32_t sums[CONV_COLUMNS][CONV_HIGH])
{
    f32_t pixels[CONV_HIGH];
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++)
        pixels[i] = f32_load(a + i * f32_n);
#pragma GCC unroll 8
    for (int j = 0; j < cols; j++) {
        const f32_t tap = f32_set1(b[j]);
#pragma GCC unroll 8
        for (int i = 0; i < rows; i++)
            sums[j][i] = f32_fma(pixels[i], tap, sums[j][i]);
    }
}

static inline __attribute__((always_inline)) void product_high(const float *a, const float *b,
                                                               const int rows, const int cols,
                                                               f32_t sums[CONV_COLUMNS][CONV_HIGH])
{
    f32_t taps[CONV_COLUMNS];
#pragma GCC unroll 8
    for (int j = 0; j < cols; j++)
        taps[j] = f32_set1(b[j]);
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++) {
        f32_t pixels = f32_load(a + i * f32_n);
        __asm__("" : "+v"(pixels)); /* not loaded again for each tap */
#pragma GCC unroll 8
        for (int j = 0; j < cols; j++)
            sums[j][i] = f32_fma(pixels, taps[j], sums[j][i]);
    }
}

/* The pixels from `at` on; whether one of them is NaN. */
static inline __attribute__((always_inline)) bool
product_tile(const struct conv2d_product *x, uint64_t at, const int rows, const int cols)
{
    const float *sheet = x->sheet + at, *b = x->panel;
    const uint32_t *offsets = x->offsets;
    const uint64_t ld = x->ld, steps = x->steps;
    float *c = x->c + at;
    const uint64_t next = steps * GEMM_LANES; /* panel */
    f32_t nan = f32_zero();
    f32_t sums[CONV_COLUMNS][CONV_HIGH];
    f32_m mask[CONV_HIGH];
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++)
        mask[i] = f32_mask(product_lanes(x->pixels - at, (uint64_t)i));
#pragma GCC unroll 8
    for (int j = 0; j < cols; j++)
#pragma GCC unroll 8
        for (int i = 0; i < rows; i++)
            sums[j][i] =
                x->add ? f32_load_mask(c + (uint64_t)j * ld + i * f32_n, mask[i]) : f32_zero();
    for (uint64_t t = 0; t < steps; t++, b += GEMM_LANES) {
        const float *a = sheet + offsets[t];
        if (t % CONV2D_FETCH == 0)
            product_fetch(x->fetch);
        vec_prefetch_l2(b + next);
        const float *ahead = sheet + offsets[t + CONV2D_AHEAD];
#pragma GCC unroll 8
        for (int i = 0; i < rows; i++)
            vec_prefetch(ahead + i * f32_n);
        if (rows > cols)
            product_high(a, b, rows, cols, sums);
        else
            product_wide(a, b, rows, cols, sums);
    }
#pragma GCC unroll 8
    for (int j = 0; j < cols; j++)
#pragma GCC unroll 8
        for (int i = 0; i < rows; i++) {
            f32_store_mask(c + (uint64_t)j * ld + i * f32_n, mask[i], sums[j][i]);
            nan = f32_add(nan, f32_select(mask[i], sums[j][i], f32_zero()));
        }
    return f32_any(f32_isnan(nan));
}

typedef bool product_fn(const struct conv2d_product *x, uint64_t at);

#define PRODUCT_FN(rows, cols)                                                                     \
    static bool product_##rows##x##cols(const struct conv2d_product *x, uint64_t at)               \
    {                                                                                              \
        return product_tile(x, at, rows, cols);                                                    \
    }
CONV_TILES(PRODUCT_FN)

#define PRODUCT_ITEM(rows, cols) [rows][cols] = product_##rows##x##cols,
static product_fn *const products[CONV_HIGH + 1][CONV_COLUMNS + 1] = { CONV_TILES(PRODUCT_ITEM) };

/* Of a wide tile, with so many to come: a tile of one vector would wait for its multiplications. */
static inline uint64_t product_rows(uint64_t vectors)
{
    if (CONV_VECTORS > 2 && vectors > 1 && vectors % CONV_VECTORS == 1)
        return CONV_VECTORS - 1;
    return vectors < CONV_VECTORS ? vectors : CONV_VECTORS;
}

static bool multiply(const struct conv2d_product *x)
{
    bool nan = false;
    uint64_t vectors = (x->pixels + f32_n - 1) / f32_n, rows;
    for (uint64_t at = 0; vectors; at += rows * f32_n, vectors -= vectors < rows ? vectors : rows) {
        if (x->columns < CONV2D_WIDE)
            rows = vectors > CONV_HIGH / 2 ? CONV_HIGH : CONV_HIGH / 2;
        else
            rows = product_rows(vectors);
        nan |= products[rows][x->columns](x, at);
    }
    return nan;
}
