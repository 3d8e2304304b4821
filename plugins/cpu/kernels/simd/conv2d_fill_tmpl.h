/* SPDX-License-Identifier: Apache-2.0 */
/* conv2d_fill_fn of one instruction set. */

/* Elements 0, 2, 4... of a and then b. */
static inline f32_t even(f32_t a, f32_t b)
{
#if defined(__AVX512F__)
    const __m512i each =
        _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    return _mm512_permutex2var_ps(a, each, b);
#else
    const __m256d pairs = _mm256_castps_pd(_mm256_shuffle_ps(a, b, 0x88));
    return _mm256_castpd_ps(_mm256_permute4x64_pd(pairs, 0xd8));
#endif
}

static inline void fill_zeros(float *to, uint64_t n)
{
    for (; n >= f32_n; n -= f32_n, to += f32_n)
        f32_store(to, f32_zero());
    f32_store_mask(to, f32_mask(n), f32_zero());
}

static inline void fill_next(float *to, uint64_t n, const float *src, uint64_t ahead)
{
    for (; n >= f32_n; n -= f32_n, to += f32_n, src += f32_n) {
        vec_prefetch(src + ahead);
        f32_store(to, f32_load(src));
    }
    vec_prefetch(src + ahead);
    if (n)
        f32_store_mask(to, f32_mask(n), f32_load_mask(src, f32_mask(n)));
}

static inline void fill_second(float *to, uint64_t n, const float *src, uint64_t ahead)
{
    for (; n > f32_n; n -= f32_n, to += f32_n, src += 2 * f32_n) {
        vec_prefetch(src + ahead);
        vec_prefetch(src + ahead + f32_n);
        f32_store(to, even(f32_load(src), f32_load(src + f32_n)));
    }
    const uint64_t all = 2 * n - 1, low = all < f32_n ? all : f32_n;
    f32_t high = f32_zero();
    if (all > low)
        high = f32_load_mask(src + f32_n, f32_mask(all - low));
    f32_store_mask(to, f32_mask(n), even(f32_load_mask(src, f32_mask(low)), high));
}

/* The ends of rows, of which the middle is there. */
static inline void fill_ends(float *row, uint64_t rows, uint64_t length, uint64_t zeros,
                             uint64_t count)
{
    for (uint64_t i = 0; i < rows; i++, row += length) {
        for (uint64_t x = 0; x < zeros; x++)
            row[x] = 0;
        for (uint64_t x = zeros + count; x < length; x++)
            row[x] = 0;
    }
}

static void fill(float *row, uint64_t rows, uint64_t length, uint64_t zeros, uint64_t count,
                 const float *src, uint64_t src_row, uint64_t stride, uint64_t ahead)
{
    if (stride == 1 && src_row == length && count && count >= length / 2) {
        fill_next(row + zeros, (rows - 1) * length + count, src, ahead);
        if (count < length)
            fill_ends(row, rows, length, zeros, count);
        return;
    }
    if (!count) {
        fill_zeros(row, rows * length);
        return;
    }
    for (uint64_t i = 0; i < rows; i++, row += length, src += src_row) {
        if (stride == 1)
            fill_next(row + zeros, count, src, ahead);
        else if (stride == 2)
            fill_second(row + zeros, count, src, ahead);
        else
            for (uint64_t x = 0; x < count; x++)
                row[zeros + x] = src[x * stride];
        fill_ends(row, 1, length, zeros, count);
    }
}
