/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of few pixels, with the filter as it lies: packing it would cost as much as multiplying.
 * Pixels are the lanes of vectors. What they leave over, a few pixels, is not worth a vector: for
 * these the filter's elements are lanes, those that lie one after the other. */
#include "conv2d_set.h"

#define STEPS      1024u /* of a chunk, where the terms of a column are neighbours */
#define CHANNELS   128u  /* where they are not, and each has pages of its own */
#define REST_LANES 128u  /* columns that are taken together, of pixels that are left over */

/* Whether the terms of a column lie one after the other; or the columns of a channel. */
static bool along(const struct conv2d_view *v)
{
    return v->filter_source < v->filter_column;
}

static bool across(const struct conv2d_view *v)
{
    return v->y.taps == 1 && v->x.taps == 1 && v->filter_column == 1;
}

/* By rows of the filter, eight pixels cost as much as their vector; by its columns, two. */
static uint64_t rest_of(const struct conv2d_set *set, const struct conv2d_view *v, uint64_t pixels)
{
    const uint64_t most = along(v) ? set->vector / 2 : across(v) ? set->vector / 8 : 0;
    return pixels % set->vector <= most ? pixels % set->vector : 0;
}

/* ---- the plan ---- */

bool conv2d_is_direct(const struct conv2d_set *set, const struct conv2d_view *v, uint64_t pixels)
{
    return pixels <= set->direct_pixels && v->filter_source <= UINT32_MAX / CHANNELS;
}

unsigned conv2d_direct_columns(const struct conv2d_set *set, const struct conv2d_view *v,
                               uint64_t pixels)
{
    const uint64_t vectors = conv2d_ceil(pixels - rest_of(set, v, pixels), set->vector);
    return vectors == set->vectors + 1 ? set->direct_columns : set->columns;
}

struct conv2d_chunks conv2d_direct_chunks(const struct conv2d_view *v)
{
    return conv2d_chunks(v, along(v) ? STEPS : CHANNELS * v->y.taps * v->x.taps, 1);
}

uint64_t conv2d_direct_floats(const struct conv2d_set *set, const struct conv2d_view *v,
                              const struct conv2d_chunk *k)
{
    const bool rest = along(v) || across(v);
    return conv2d_steps(k) * (rest ? 1 + set->vector / 2 : 1);
}

/* ---- a chunk ---- */

/* Where the terms lie in a column of the filter. */
static void find(const struct conv2d_view *v, const struct conv2d_chunk *k, uint32_t *places)
{
    const uint64_t taps = k->rn * k->sn;
    const bool backwards = conv2d_backwards(v);
    for (uint64_t i = 0; i < taps; i++) {
        const float *tap = conv2d_filter_at(v, 0, 0, 0, k->r0 + i / k->sn, k->s0 + i % k->sn);
        places[backwards ? taps - 1 - i : i] = (uint32_t)(tap - v->filter);
    }
    for (uint64_t i = taps; i < k->cn * taps; i++)
        places[i] = places[i - taps] + (uint32_t)v->filter_source;
}

/* The pixels behind those of x, whose terms are there, of n columns. */
static bool add_rest(const struct conv2d_set *set, const struct conv2d_view *v,
                     const struct conv2d_product *x, uint64_t pixels, const float *terms,
                     const float *filter, uint64_t n, float *c)
{
    struct conv2d_rest r = { .columns = n,
                             .steps = x->steps,
                             .filter = filter + x->places[0],
                             .lane = along(v) ? v->filter_column : v->filter_source,
                             .ld = x->ld,
                             .add = x->add };
    bool nan = false;
    for (uint64_t i = 0; i < pixels; i++) {
        r.terms = terms + i * x->steps;
        r.c = c + x->pixels + i;
        nan |= along(v) ? set->rest_along(&r) : set->rest_across(&r);
    }
    return nan;
}

bool conv2d_direct(const struct conv2d_set *set, const struct conv2d_view *v,
                   const struct conv2d_chunk *k, const struct conv2d_columns *columns,
                   struct conv2d_product x, float *memory)
{
    const uint64_t rest = rest_of(set, v, x.pixels), line = GEMM_LINE / sizeof(float);
    const uint64_t tile = columns->tile, end = columns->j0 + columns->jn;
    const uint64_t some = along(v) ? tile : REST_LANES / tile * tile;
    const float *filter = v->filter + columns->group * v->filter_group + k->c0 * v->filter_source;
    uint32_t *places = (uint32_t *)memory;
    float *terms = memory + x.steps, *c = x.c;
    bool nan = false;
    x.pixels -= rest;
    x.places = places;
    x.lane = v->filter_column;
    x.next = x.lane * (across(v) ? line : tile);
    find(v, k, places);
    for (uint64_t i = 0; i < rest; i++)
        for (uint64_t t = 0; t < x.steps; t++)
            terms[i * x.steps + t] = x.sheet[x.offsets[t] + x.pixels + i];
    for (uint64_t j = columns->j0; j < end; j += some, c += some * x.ld) {
        const uint64_t n = conv2d_least(some, end - j);
        for (uint64_t i = 0; i < n && x.pixels; i += tile) {
            x.panel = filter + (j + i) * x.lane;
            x.columns = (unsigned)conv2d_least(tile, n - i);
            x.c = c + i * x.ld;
            nan |= set->direct(&x);
        }
        nan |= add_rest(set, v, &x, rest, terms, filter + j * x.lane, n, c);
    }
    return nan;
}
