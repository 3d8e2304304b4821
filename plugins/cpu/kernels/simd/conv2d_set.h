/* SPDX-License-Identifier: Apache-2.0 */
/* What an instruction set brings to the convolutions, and the part that all of them share: blocks,
 * chunks, threads and memory. */
#ifndef CPU_CONV2D_SET_H
#define CPU_CONV2D_SET_H

#include "conv2d_view.h"
#include "gemm_block.h"

/* Fewer columns than this leave registers of a tile idle. Such a group is narrow: its tile is
 * higher instead. */
#define CONV2D_WIDE 4u

/* Memory that will be wanted after a product, a few lines of it at a time. */
struct conv2d_fetch {
    struct conv2d_region region; /* what is left of it */
    uint64_t lines;              /* at a time */
    uint64_t done;               /* elements of the first column */
};

/* From one fetch to the next, terms. */
#define CONV2D_FETCH 8u

/* So many terms before it is read, a pixel is fetched from L2. */
#define CONV2D_AHEAD 8u

/* pixels x columns of C := or += a chunk of a sum. Term t reads the pixels from
 * sheet + offsets[t] on, and GEMM_LANES columns, of which only those that exist matter, from
 * panel + t*GEMM_LANES. The sum of each element is one chain of fused multiply-adds. What lies
 * behind the pixels, up to a tile, is read but does not matter. CONV2D_AHEAD offsets behind those
 * of the terms tell where the next tile begins.
 *
 * Direct, the filter is read as it lies: term t of column j is panel[places[t] + j*lane], and what
 * lies `next` elements behind it is fetched. */
struct conv2d_product {
    uint64_t pixels, steps;
    unsigned columns; /* at most the set's */
    const float *sheet;
    const uint32_t *offsets;
    const float *panel;
    const uint32_t *places;
    uint64_t lane, next;
    float *c;
    uint64_t ld;
    bool add;
    bool stream; /* direct: whole vectors pass the caches; c and ld are aligned to them */
    struct conv2d_fetch *fetch;
};

/* columns of C, ld apart, := or += a chunk of the sum of one pixel. Along: the terms of a column
 * lie one after the other, lane elements from one column to the next. Across: the columns do, lane
 * elements from one term to the next. */
struct conv2d_rest {
    uint64_t columns, steps;
    const float *filter, *terms;
    uint64_t lane;
    float *c;
    uint64_t ld;
    bool add;
};

/* sums[t*ld + j] := or += the sum over pixels of tap t, as above, times gradient j: in packed
 * panels of `width` lanes with room for conv2d_set.lanes vectors; or as they lie, grad_ld apart.
 * Sums of the lanes up to a whole vector may be written. */
struct conv2d_pairs {
    uint64_t pixels, taps, gradients;
    const float *sheet;
    const uint32_t *offsets;
    const float *grad;
    uint64_t width, grad_ld; /* whole vectors; not packed */
    float *sums;
    uint64_t ld; /* whole vectors */
    bool add;
};

/* filter[j*ld + t] := the sum of sums[t*from + j] over `parts` of them, `part` apart. */
struct conv2d_turn {
    uint64_t gradients, taps, parts, part;
    const float *sums;
    uint64_t from;
    float *filter;
    uint64_t ld;
    bool stream; /* whole lines pass the caches */
};

/* Rows p0 to p1 of one plane of pixels, from one plane of the source. */
#define CONV2D_PLANE_TAPS 64u /* at most */
struct conv2d_plane {
    const struct conv2d_view *v;
    const float *source, *taps; /* taps: in the order of the view */
    float *pixels;
    uint64_t p0, p1;
    bool stream; /* stores pass the caches: rows are whole vectors, and aligned */
};

struct conv2d_set {
    unsigned vector;           /* floats */
    unsigned vectors, columns; /* of a wide tile */
    unsigned high;             /* vectors of a narrow tile */
    unsigned direct_pixels;    /* so few that the filter is read as it lies */
    unsigned direct_columns;   /* of a tile that is a vector higher than a wide one */
    unsigned lanes;            /* vectors of packed gradients */
    conv2d_fill_fn *fill;
    gemm_pack_fn *pack;
    /* A panel from columns of `taps` elements each, of which the filter has more per column. */
    void (*pack_taps)(float *panel, uint64_t columns, uint64_t channels, uint64_t taps,
                      const float *filter, uint64_t channel, uint64_t column);
    bool (*multiply)(const struct conv2d_product *); /* true: some of it is NaN */
    bool (*direct)(const struct conv2d_product *);
    bool (*rest_along)(const struct conv2d_rest *); /* columns: at most those of a tile */
    bool (*rest_across)(const struct conv2d_rest *);
    /* Gradients, or what pixels meet through taps, as lanes of pixels, with room for lanes vectors.
     */
    void (*lay)(float *to, uint64_t lanes, uint64_t pixels, const float *grad, uint64_t ld);
    void (*lay_taps)(float *to, uint64_t lanes, uint64_t pixels, const float *sheet,
                     const uint32_t *offsets);
    void (*pair)(const struct conv2d_pairs *);  /* packed gradients */
    void (*dot)(const struct conv2d_pairs *);   /* gradients as they lie */
    bool (*plane)(const struct conv2d_plane *); /* true: some of it is NaN */
    /* sums[t*ld] := or += that of tap t, of which pixels are the gradients. */
    void (*plane_taps)(const struct conv2d_plane *, float *sums, uint64_t ld, bool add);
    bool (*turn)(const struct conv2d_turn *); /* true: some of it is NaN */
};

/* Depthwise: whether there are such planes; and the sums of all. */
bool conv2d_has_planes(const struct conv2d_view *v);
void conv2d_planes(const struct conv2d_set *set, const struct conv2d_view *v,
                   const struct cpu_work *work);

/* Whether the filter of a sum of so many pixels in all is better read as it lies; the columns of a
 * tile then, the chunks, and the memory that a chunk needs. */
bool conv2d_is_direct(const struct conv2d_set *set, const struct conv2d_view *v, uint64_t pixels);
unsigned conv2d_direct_columns(const struct conv2d_set *set, const struct conv2d_view *v,
                               uint64_t pixels);
struct conv2d_chunks conv2d_direct_chunks(const struct conv2d_view *v);
uint64_t conv2d_direct_floats(const struct conv2d_set *set, const struct conv2d_view *v,
                              const struct conv2d_chunk *k);

/* Columns j0 to j0 + jn of a group, so many of them in a tile. */
struct conv2d_columns {
    uint64_t group, j0, jn, tile;
};

/* Adds a chunk; x lacks its panel, and memory is as said above. True: some of it is NaN. */
bool conv2d_direct(const struct conv2d_set *set, const struct conv2d_view *v,
                   const struct conv2d_chunk *k, const struct conv2d_columns *columns,
                   struct conv2d_product x, float *memory);

/* backward_filter of few pixels. */
bool conv2d_filter_is_direct(const struct conv2d_set *set, const struct conv2d_view *v);
void conv2d_filter_direct(const struct conv2d_set *set, const struct conv2d_view *v,
                          const struct cpu_work *work);
uint64_t conv2d_filter_direct_bytes(const struct conv2d_set *set, const struct conv2d_view *v,
                                    unsigned threads);

void conv2d_forward(const struct conv2d_set *set, const struct cpu_conv2d *v,
                    const struct cpu_work *work);
uint64_t conv2d_forward_bytes(const struct conv2d_set *set, const struct cpu_conv2d *v,
                              unsigned threads);

void conv2d_backward_data(const struct conv2d_set *set, const struct cpu_conv2d *v,
                          const struct cpu_work *work);
uint64_t conv2d_backward_data_bytes(const struct conv2d_set *set, const struct cpu_conv2d *v,
                                    unsigned threads);

void conv2d_backward_filter(const struct conv2d_set *set, const struct cpu_conv2d *v,
                            const struct cpu_work *work);
uint64_t conv2d_backward_filter_bytes(const struct conv2d_set *set, const struct cpu_conv2d *v,
                                      unsigned threads);

#endif
