/* SPDX-License-Identifier: Apache-2.0 */
/* conv2d_product from the filter as it lies, and conv2d_rest, of one instruction set. */

/* The pixels from `at` on; whether one of them is NaN. Registers: rows*cols sums, `rows` for the
 * pixels of a term and one for an element of the filter. */
static inline __attribute__((always_inline)) bool
direct_tile(const struct conv2d_product *x, uint64_t at, const int rows, const int cols)
{
    const float *sheet = x->sheet + at, *filter = x->panel;
    const uint32_t *offsets = x->offsets, *places = x->places;
    const uint64_t ld = x->ld, lane = x->lane, next = x->next, steps = x->steps;
    const f32_m all = f32_mask(f32_n);
    const f32_m last = f32_mask(product_lanes(x->pixels - at, (uint64_t)(rows - 1)));
    const bool full = x->pixels - at >= (uint64_t)rows * f32_n;
    float *c = x->c + at;
    f32_t nan = f32_zero(), sums[CONV_COLUMNS][CONV_VECTORS + 1];
#pragma GCC unroll 8
    for (int j = 0; j < cols; j++)
#pragma GCC unroll 4
        for (int i = 0; i < rows; i++)
            sums[j][i] =
                x->add ? f32_load_mask(c + (uint64_t)j * ld + i * f32_n, i == rows - 1 ? last : all)
                       : f32_zero();
    for (uint64_t t = 0; t < steps; t++) {
        const float *a = sheet + offsets[t], *ahead = sheet + offsets[t + CONV2D_AHEAD];
        const float *b = filter + places[t], *b5 = b + 5 * lane; /* two bases reach eight lanes */
        f32_t pixels[CONV_VECTORS + 1];
        if (t % CONV2D_FETCH == 0)
            product_fetch(x->fetch);
        vec_prefetch_l2(b + next + t % CONV_COLUMNS * lane);
#pragma GCC unroll 4
        for (int i = 0; i < rows; i++) {
            vec_prefetch(ahead + i * f32_n);
            pixels[i] =
                i == rows - 1 ? f32_load_mask(a + i * f32_n, last) : f32_load(a + i * f32_n);
        }
#pragma GCC unroll 8
        for (int j = 0; j < cols; j++) {
            const float *tap = j < 5 ? b + (uint64_t)j * lane : b5 + (uint64_t)(j - 5) * lane;
            const f32_t each = f32_set1(*tap);
#pragma GCC unroll 4
            for (int i = 0; i < rows; i++)
                sums[j][i] = f32_fma(pixels[i], each, sums[j][i]);
        }
    }
#pragma GCC unroll 8
    for (int j = 0; j < cols; j++)
#pragma GCC unroll 4
        for (int i = 0; i < rows; i++) {
            const f32_m mask = i == rows - 1 ? last : all;
            if (x->stream && (i < rows - 1 || full))
                f32_stream(c + (uint64_t)j * ld + i * f32_n, sums[j][i]);
            else
                f32_store_mask(c + (uint64_t)j * ld + i * f32_n, mask, sums[j][i]);
            nan = f32_add(nan, f32_select(mask, sums[j][i], f32_zero()));
        }
    return f32_any(f32_isnan(nan));
}

#define DIRECT_FN(rows, cols)                                                                      \
    static bool direct_##rows##x##cols(const struct conv2d_product *x, uint64_t at)                \
    {                                                                                              \
        return direct_tile(x, at, rows, cols);                                                     \
    }
CONV_DIRECT(DIRECT_FN)

#define DIRECT_ITEM(rows, cols) [rows][cols] = direct_##rows##x##cols,
static product_fn *const directs[CONV_VECTORS + 2][CONV_COLUMNS + 1] = { CONV_DIRECT(DIRECT_ITEM) };

static bool direct(const struct conv2d_product *x)
{
    uint64_t vectors = (x->pixels + f32_n - 1) / f32_n, rows;
    bool nan = false;
    for (uint64_t at = 0; vectors; at += rows * f32_n, vectors -= rows) {
        const bool high = vectors == CONV_VECTORS + 1 && x->columns <= CONV_DIRECT_COLUMNS;
        rows = high ? vectors : product_rows(vectors);
        nan |= directs[rows][x->columns](x, at);
    }
    if (x->stream)
        vec_fence();
    return nan;
}

/* Lanes are terms, of each column. */
static bool rest_along(const struct conv2d_rest *x)
{
    f32_t sums[CONV_COLUMNS];
    const float *filter[CONV_COLUMNS];
    bool nan = false;
    for (uint64_t j = 0; j < CONV_COLUMNS; j++) {
        sums[j] = f32_zero();
        filter[j] = x->filter + (j < x->columns ? j : x->columns - 1) * x->lane;
    }
    for (uint64_t t = 0; t < x->steps; t += f32_n) {
        const uint64_t left = x->steps - t;
        const f32_m mask = f32_mask(left < f32_n ? left : f32_n);
        const f32_t terms = f32_load_mask(x->terms + t, mask);
#pragma GCC unroll 8
        for (int j = 0; j < CONV_COLUMNS; j++)
            sums[j] = f32_fma(f32_load_mask(filter[j] + t, mask), terms, sums[j]);
    }
    for (uint64_t j = 0; j < x->columns; j++) {
        float *c = x->c + j * x->ld, sum = f32_first(f32_all_add(sums[j]));
        sum += x->add ? *c : 0;
        *c = sum;
        nan |= sum != sum;
    }
    return nan;
}

#define REST_SUMS 8 /* vectors, in registers */

/* Lanes are columns. */
static bool rest_across(const struct conv2d_rest *x)
{
    bool nan = false;
    for (uint64_t at = 0; at < x->columns; at += REST_SUMS * f32_n) {
        const float *filter = x->filter + at;
        const uint64_t left = x->columns - at;
        f32_t sums[REST_SUMS];
        f32_m mask[REST_SUMS];
        float each[REST_SUMS * f32_n];
        for (uint64_t i = 0; i < REST_SUMS; i++) {
            mask[i] = f32_mask(product_lanes(left, i));
            sums[i] = f32_zero();
        }
        for (uint64_t t = 0; t < x->steps; t++, filter += x->lane) {
            const f32_t term = f32_set1(x->terms[t]);
#pragma GCC unroll 8
            for (int i = 0; i < REST_SUMS; i++)
                sums[i] = f32_fma(f32_load_mask(filter + i * f32_n, mask[i]), term, sums[i]);
        }
        for (int i = 0; i < REST_SUMS; i++)
            f32_store(each + i * f32_n, sums[i]);
        for (uint64_t j = 0; j < REST_SUMS * f32_n && j < left; j++) {
            float *c = x->c + (at + j) * x->ld;
            *c = each[j] + (x->add ? *c : 0);
            nan |= *c != *c;
        }
    }
    return nan;
}
