/* SPDX-License-Identifier: Apache-2.0 */
/* Squares of C. C lies by columns, so tiles hold it turned: a row of a tile is a column. */
#include "amx_panel.h"

#include "../simd/vec.h"

#define HALF 16 /* rows or columns of a tile */

/* What LDTILECFG reads: eight tiles of 16 rows of 64 bytes. */
static const struct {
    uint8_t palette, start_row, zero[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} shape = {
    .palette = 1,
    .row_bytes = { 64, 64, 64, 64, 64, 64, 64, 64 },
    .rows = { HALF, HALF, HALF, HALF, HALF, HALF, HALF, HALF },
};

void amx_begin(struct amx_squares *squares)
{
    squares->now = 0;
    squares->columns = 0;
    squares->c.stream = false;
    _tile_loadconfig(&shape);
}

/* ---- sums to C ---- */

VEC_INLINE void write_half(const struct gemm_c *c, float *to, const float *from, unsigned rows)
{
    const f32_t alpha = f32_set1((float)c->alpha), beta = f32_set1((float)c->beta);
    const f32_t sum = f32_load(from);
    const f32_m some = f32_mask(rows);
    f32_t x = f32_mul(alpha, sum);
    if (c->beta != 0)
        x = f32_fma(alpha, sum, f32_mul(beta, f32_load_mask(to, some)));
    if (rows < HALF)
        f32_store_mask(to, some, x);
    else if (c->stream)
        f32_stream(to, x);
    else
        f32_store(to, x);
}

static __attribute__((noinline)) void write_any(struct amx_squares *s, unsigned columns)
{
    for (; columns && s->columns; columns--, s->columns--) {
        write_half(&s->c, s->to, s->from, s->rows < HALF ? s->rows : HALF);
        if (s->rows > HALF)
            write_half(&s->c, s->to + HALF, s->from + HALF, s->rows - HALF);
        s->to += s->c.ld;
        s->from += AMX_LANES;
    }
}

/* Writes a few columns of the square before. */
VEC_INLINE void write_some(struct amx_squares *s, unsigned columns)
{
    const f32_t alpha = f32_set1((float)s->c.alpha);
    if (!s->columns)
        return;
    if (s->rows < AMX_LANES || s->c.beta != 0 || s->c.stream) {
        write_any(s, columns);
        return;
    }
    columns = columns < s->columns ? columns : s->columns;
    s->columns -= columns;
    for (; columns; columns--) {
        f32_store(s->to, f32_mul(alpha, f32_load(s->from)));
        f32_store(s->to + HALF, f32_mul(alpha, f32_load(s->from + HALF)));
        s->to += s->c.ld;
        s->from += AMX_LANES;
    }
}

/* ---- by tiles ---- */

/* A panel that passes leaves L1 to the rest. */
#define LOAD_B(tile, p)                                                                            \
    do {                                                                                           \
        if (stays)                                                                                 \
            _tile_loadd(tile, p, lane);                                                            \
        else                                                                                       \
            _tile_stream_loadd(tile, p, lane);                                                     \
    } while (0)

/* One or two tiles of lanes each way. */
VEC_INLINE void multiply(struct amx_squares *s, const uint16_t *a, const struct amx_lanes *lanes,
                         uint64_t steps, const bool two_a, const bool two_b)
{
    const uint16_t *b = lanes->p;
    const uint64_t lane = lanes->lane * sizeof(*b), tile = lanes->tile, step = lanes->step;
    const unsigned columns = (unsigned)((AMX_LANES + steps - 1) / steps);
    const bool stays = steps <= AMX_STAY_STEPS;
    float *to = s->sums[s->now];
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (; steps; steps--, a += 2 * AMX_TILE, b += step) {
        __asm__ volatile("" : : : "memory"); /* loads of tiles do not tell that they read */
        _tile_stream_loadd(4, a, 64);
        if (two_a)
            _tile_stream_loadd(5, a + AMX_TILE, 64);
        LOAD_B(6, b);
        _tile_dpbf16ps(0, 6, 4);
        if (two_a)
            _tile_dpbf16ps(1, 6, 5);
        if (two_b) {
            LOAD_B(7, b + tile);
            _tile_dpbf16ps(2, 7, 4);
        }
        if (two_a && two_b)
            _tile_dpbf16ps(3, 7, 5);
        write_some(s, columns);
    }
    _tile_stored(0, to, AMX_LANES * sizeof(float));
    if (two_a)
        _tile_stored(1, to + HALF, AMX_LANES * sizeof(float));
    if (two_b)
        _tile_stored(2, to + HALF * AMX_LANES, AMX_LANES * sizeof(float));
    if (two_a && two_b)
        _tile_stored(3, to + HALF * AMX_LANES + HALF, AMX_LANES * sizeof(float));
}

static void by_tiles(struct amx_squares *s, const uint16_t *a, const struct amx_lanes *b,
                     uint64_t k, unsigned rows, unsigned columns)
{
    const uint64_t steps = (k + AMX_STEP - 1) / AMX_STEP;
    if (rows > HALF && columns > HALF)
        multiply(s, a, b, steps, true, true);
    else if (rows > HALF)
        multiply(s, a, b, steps, true, false);
    else if (columns > HALF)
        multiply(s, a, b, steps, false, true);
    else
        multiply(s, a, b, steps, false, false);
}

/* ---- widened ---- */

#define WIDE_COLUMNS 8 /* whose sums are in registers */

/* The elements of pairs. */
VEC_INLINE f32_t low(__m512i pairs)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(pairs, 16));
}

VEC_INLINE f32_t high(__m512i pairs)
{
    return _mm512_castsi512_ps(_mm512_and_si512(pairs, _mm512_set1_epi32((int)0xffff0000u)));
}

VEC_INLINE void widen(const uint16_t *a, const struct amx_lanes *lanes, unsigned column, uint64_t k,
                      float *to)
{
    const uint64_t lane = lanes->lane;
    const uint16_t *b = lanes->p + column / HALF * lanes->tile + column % HALF * lane;
    f32_t sums[WIDE_COLUMNS][2];
    for (int j = 0; j < WIDE_COLUMNS; j++)
        sums[j][0] = sums[j][1] = f32_zero();
    for (uint64_t p = 0; p < k; p += 2) {
        const uint64_t step = p / AMX_STEP * 2 * AMX_TILE, at = p % AMX_STEP;
        const uint16_t *x0 = b + p / AMX_STEP * lanes->step + at;
        const __m512i a0 = _mm512_loadu_si512(a + step + at * HALF);
        const __m512i a1 = _mm512_loadu_si512(a + step + AMX_TILE + at * HALF);
#pragma GCC unroll 8
        for (int j = 0; j < WIDE_COLUMNS; j++) {
            int32_t pair;
            __builtin_memcpy(&pair, x0 + (uint64_t)j * lane, sizeof(pair));
            const __m512i x = _mm512_set1_epi32(pair);
            sums[j][0] = f32_fma(high(a0), high(x), f32_fma(low(a0), low(x), sums[j][0]));
            sums[j][1] = f32_fma(high(a1), high(x), f32_fma(low(a1), low(x), sums[j][1]));
        }
    }
    for (int j = 0; j < WIDE_COLUMNS; j++) {
        f32_store(to + j * AMX_LANES, sums[j][0]);
        f32_store(to + j * AMX_LANES + HALF, sums[j][1]);
    }
}

static void by_widening(const uint16_t *a, const struct amx_lanes *b, uint64_t k, unsigned columns,
                        float *to)
{
    for (unsigned j = 0; j < columns; j += WIDE_COLUMNS)
        widen(a, b, j, k, to + j * AMX_LANES);
}

/* ---- either ---- */

/* Whether tiles may multiply two panels.
 *
 * TDPBF16PS takes subnormal numbers for zero, operands and sums alike, and rounds to nearest. A
 * normal bf16 number of exponent e is a multiple of 2^(e-7), so products are multiples of
 * q = 2^(ea+eb-14). So is each sum of them: it is rounded to a multiple of its last bit only where
 * that is more than q. What is not zero is q at least: with ea + eb >= -112 that is 2^-126, the
 * smallest normal number.
 *
 * A step adds its even and its odd elements each in a chain of fused multiply-adds, then the two,
 * then that to the steps before: a term is rounded k times at most, as in a plain loop. */
static bool exact(const struct amx_panel *a, const struct amx_lanes *b)
{
    return a->exponent && b->exponent && a->exponent + b->exponent >= 2 * 127 - 112;
}

void amx_square(struct amx_squares *s, const struct amx_panel *a, const struct amx_lanes *b,
                uint64_t k, unsigned rows, unsigned columns, const struct gemm_c *c)
{
    if (exact(a, b))
        by_tiles(s, a->steps, b, k, rows, columns);
    else
        by_widening(a->steps, b, k, columns, s->sums[s->now]);
    write_some(s, AMX_LANES);
    s->from = s->sums[s->now];
    s->now = 1 - s->now;
    s->to = c->p;
    s->rows = rows;
    s->columns = columns;
    s->c = *c;
}

void amx_end(struct amx_squares *s)
{
    write_some(s, AMX_LANES);
    if (s->c.stream)
        vec_fence();
    _tile_release();
}
