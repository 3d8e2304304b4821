/* SPDX-License-Identifier: Apache-2.0 */
/* The geometry of the convolutions: which pixels meet through which taps, the blocks that pixels
 * are taken in, and the sheets that they are copied to so that every tap reads them front to back.
 *
 * A backward_data of stride s is s*s convolutions of stride 1, one for each phase of the pixels it
 * writes: only the taps of that phase reach them. So forward and backward_data are one kind of sum,
 * and backward_filter goes over the pairs of forward. */
#ifndef CPU_CONV2D_VIEW_H
#define CPU_CONV2D_VIEW_H

#include <stdbool.h>

#include "../../dispatch/kernels.h"

/* Pixel j meets, through tap i, the source at + j*stride + i*step - pad, where that is below `in`;
 * the rest is padding. No sum of these overflows before pad is taken off. Tap i is row or column
 * first + i*by of the filter. */
struct conv2d_axis {
    uint64_t out, in, stride, taps, at, step, pad;
    uint64_t first, by; /* by: modulo 2^64 */
};

/* pixel(n, g*columns + j, p, q) := the sum over c, r and s of source(n, g*sources + c, ...) times
 * filter[g*sources*columns*y.taps... + c*filter_source + j*filter_column + r*filter_row + s]. */
struct conv2d_view {
    struct conv2d_axis y, x;
    uint64_t images, groups;
    uint64_t sources, columns; /* channels of a group that are summed, and that are written */
    const float *source, *filter;
    float *pixels;
    uint64_t source_width, source_plane;
    uint64_t row, column, plane; /* of pixels: from one to the next */
    uint64_t filter_group, filter_source, filter_column, filter_row;
};

struct conv2d_view conv2d_view_forward(const struct cpu_conv2d *v);

/* Phase (fy, fx) of the input's gradient, fy below min(stride_h, h). False when no tap reaches it.
 */
bool conv2d_view_backward(const struct cpu_conv2d *v, uint64_t fy, uint64_t fx,
                          struct conv2d_view *view);

/* Tap (r, s) of the view between source channel c and column j of a group. */
static inline const float *conv2d_filter_at(const struct conv2d_view *v, uint64_t group, uint64_t j,
                                            uint64_t c, uint64_t r, uint64_t s)
{
    return v->filter + group * v->filter_group + c * v->filter_source + j * v->filter_column +
           (v->y.first + r * v->y.by) * v->filter_row + v->x.first + s * v->x.by;
}

/* Whether some pixel meets padding. */
bool conv2d_padded(const struct conv2d_view *v);

/* Images n0.., rows p0.., columns q0.. of pixels. More than one image or row: all columns. */
struct conv2d_block {
    uint64_t n0, nn, p0, pp, q0, qq;
};

/* The pixels of all images in blocks: nn images and pp rows of qq columns, or less at an end. */
struct conv2d_blocks {
    uint64_t nn, pp, qq;
    uint64_t images, rows, columns, count; /* blocks along each, and in all */
};

/* What pixels are best taken in. */
struct conv2d_grain {
    uint64_t vector, vectors; /* pixels of a vector, vectors of a tile */
    uint64_t fixed;           /* what a block costs by itself, in vectors */
    uint64_t most, join;      /* pixels of a block; of one of several images, 0: none */
};

struct conv2d_blocks conv2d_blocks(const struct conv2d_view *v, const struct conv2d_grain *g);
struct conv2d_block conv2d_block(const struct conv2d_view *v, const struct conv2d_blocks *b,
                                 uint64_t i);

/* Terms of a sum that are taken together: whole channels; rows of taps of one; taps of one row. */
struct conv2d_chunks {
    uint64_t cn, rn, sn;
    uint64_t c, r, s, count; /* chunks along each, and in all */
};
struct conv2d_chunk {
    uint64_t c0, cn, r0, rn, s0, sn;
};

/* Channels of a chunk are whole units, where there is room for one. */
struct conv2d_chunks conv2d_chunks(const struct conv2d_view *v, uint64_t most, uint64_t unit);
struct conv2d_chunk conv2d_chunk(const struct conv2d_view *v, const struct conv2d_chunks *k,
                                 uint64_t i);
uint64_t conv2d_steps(const struct conv2d_chunk *k); /* terms of it */

/* How an axis lies in a sheet. Tap i reads slot i % period, from i / period * hop on. Taps that are
 * a multiple of the stride apart share a slot; or each has its own, as long as the pixels. */
struct conv2d_slots {
    uint64_t count, period, hop, length;
};

/* A copy of what a block meets through a chunk, with zeros for padding and for what a vector reads
 * behind the pixels, since a subnormal number there would cost hundreds of cycles: for each
 * channel, slot of rows and slot of columns a plane. Pixel (i, p, q) of the block is element
 * (i*y.length + p) * x.length + q of the part of a plane that its tap reads. */
struct conv2d_sheet {
    struct conv2d_slots y, x;
    uint64_t plane, channel; /* elements */
};

/* share_x: whether slots of columns are shared, which leaves gaps between the rows of pixels. Rows
 * are shared where there is one image. */
struct conv2d_sheet conv2d_sheet(const struct conv2d_view *v, const struct conv2d_block *b,
                                 const struct conv2d_chunk *k, bool share_x);

/* Whether the taps lie backwards in the filter, one after the other. Then the terms of a channel
 * are taken backwards too, so that they are read in order. */
static inline bool conv2d_backwards(const struct conv2d_view *v)
{
    return v->y.by == UINT64_MAX && v->x.by == UINT64_MAX && v->filter_row == v->x.taps;
}

/* Where the tap of each term of a chunk begins to read. */
void conv2d_offsets(const struct conv2d_view *v, const struct conv2d_sheet *t,
                    const struct conv2d_chunk *k, uint32_t *offsets);

/* Fills rows: `zeros` zeros, `count` elements from src, `stride` apart, zeros up to length. What
 * lies `ahead` elements behind a source will be wanted next. */
typedef void conv2d_fill_fn(float *row, uint64_t rows, uint64_t length, uint64_t zeros,
                            uint64_t count, const float *src, uint64_t src_row, uint64_t stride,
                            uint64_t ahead);
void conv2d_fill(const struct conv2d_view *v, uint64_t group, const struct conv2d_block *b,
                 const struct conv2d_chunk *k, const struct conv2d_sheet *t, float *sheet,
                 conv2d_fill_fn *fill);

/* What a block meets through a chunk, as it lies: columns of `length` elements, `step` apart. */
struct conv2d_region {
    const float *p;
    uint64_t columns, step, length;
};
struct conv2d_region conv2d_region(const struct conv2d_view *v, uint64_t group,
                                   const struct conv2d_block *b, const struct conv2d_chunk *k);

/* The sums again, where padding is left out and not multiplied by 0: element by element, for those
 * that are NaN, since 0 * infinity may have made them so. A sum that becomes NaN is done. */
float conv2d_pixel(const struct conv2d_view *v, uint64_t n, uint64_t group, uint64_t j, uint64_t p,
                   uint64_t q);
float conv2d_tap(const struct conv2d_view *v, uint64_t group, uint64_t j, uint64_t c, uint64_t r,
                 uint64_t s);

static inline uint64_t conv2d_least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t conv2d_ceil(uint64_t x, uint64_t unit)
{
    return x / unit + (x % unit != 0);
}

/* The length of equal parts of x, in units, none longer than `most` units; at least one unit. */
static inline uint64_t conv2d_part(uint64_t x, uint64_t most, uint64_t unit)
{
    const uint64_t units = conv2d_ceil(x, unit), parts = conv2d_ceil(units, most ? most : 1);
    return conv2d_ceil(units, parts) * unit;
}

#endif
