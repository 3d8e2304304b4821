/* SPDX-License-Identifier: Apache-2.0 */
/* conv2d_backward_filter of few pixels. Each sum is short, and there are many of them: taps are the
 * lanes of vectors, in the order of the filter, so that a tile writes its rows where they belong.
 * Only what pixels meet is turned around; the gradients are read as they lie. A task has a chunk of
 * taps and some gradients. */
#include "conv2d_set.h"

#include <math.h>

#include "share.h"

#define THREAD_FLOPS 1e6 /* multiplications that a thread is woken for */
#define TILES        4u  /* of taps, in a chunk */
#define FEW_TASKS    4u  /* for a thread; fewer are divided, which no sum depends on */

struct plan {
    const struct conv2d_set *set;
    struct conv2d_view view;
    struct conv2d_chunks chunks;
    struct conv2d_block block;
    uint64_t pixels;
    uint64_t lanes, room;   /* taps of a tile; from one pixel of it to the next */
    uint64_t piece, pieces; /* gradients of a task; tasks of a chunk */
    bool in_place;          /* the source is a sheet as it lies */
    uint64_t sheet_bytes, offsets_bytes, tiles_bytes, steps_bytes; /* of each thread */
    unsigned threads;
};

static uint64_t bytes_of(uint64_t floats)
{
    return conv2d_ceil(floats * sizeof(float), 64) * 64;
}

bool conv2d_filter_is_direct(const struct conv2d_set *set, const struct conv2d_view *v)
{
    return v->columns >= set->columns && v->images * v->y.out * v->x.out <= set->direct_pixels &&
           v->images * v->groups * v->columns * v->plane <= UINT32_MAX;
}

/* ---- plan ---- */

/* Channels of which the taps are whole tiles. */
static uint64_t unit(uint64_t lanes, uint64_t taps)
{
    uint64_t n = 1;
    while (n * taps % lanes)
        n++;
    return n;
}

static struct plan plan_of(const struct conv2d_set *set, const struct conv2d_view *v,
                           unsigned threads)
{
    struct plan p = { .set = set, .view = *v, .threads = threads };
    const uint64_t taps = v->y.taps * v->x.taps;
    p.block = (struct conv2d_block){ 0, v->images, 0, v->y.out, 0, v->x.out };
    p.pixels = v->images * v->y.out * v->x.out;
    p.lanes = set->vector * set->vectors;
    p.room = set->vector * set->lanes;
    p.chunks = conv2d_chunks(v, TILES * p.lanes, unit(p.lanes, taps));
    const struct conv2d_chunk k = conv2d_chunk(v, &p.chunks, 0);
    const struct conv2d_sheet t = conv2d_sheet(v, &p.block, &k, false);
    const uint64_t steps = conv2d_steps(&k), tasks = v->groups * p.chunks.count;
    const double flops = (double)p.pixels * (double)v->groups * (double)v->columns *
                         (double)v->sources * (double)taps;
    if (flops < THREAD_FLOPS * threads)
        p.threads = 1 + (unsigned)(flops / THREAD_FLOPS);
    const uint64_t parts = p.threads > 1 ? conv2d_ceil(FEW_TASKS * p.threads, tasks) : 1;
    p.piece = conv2d_part(v->columns, conv2d_ceil(v->columns, parts * set->columns), set->columns);
    p.pieces = conv2d_ceil(v->columns, p.piece);
    p.in_place = taps == 1 && v->y.out == 1 && v->y.in == 1 && v->x.stride == 1 &&
                 v->x.out == v->x.in && v->images == 1 && !conv2d_padded(v) &&
                 v->source_plane <= UINT32_MAX / k.cn;
    p.sheet_bytes = p.in_place ? 0 : bytes_of(k.cn * t.channel);
    p.offsets_bytes = bytes_of(steps);
    p.tiles_bytes = bytes_of(conv2d_ceil(steps, p.lanes) * p.pixels * p.room);
    p.steps_bytes = bytes_of(2 * p.pixels + CONV2D_AHEAD);
    return p;
}

static uint64_t thread_bytes(const struct plan *p)
{
    return p->sheet_bytes + p->offsets_bytes + p->tiles_bytes + p->steps_bytes;
}

uint64_t conv2d_filter_direct_bytes(const struct conv2d_set *set, const struct conv2d_view *v,
                                    unsigned threads)
{
    const struct plan p = plan_of(set, v, threads);
    return thread_bytes(&p) * p.threads;
}

/* ---- tasks ---- */

struct job {
    const struct plan *plan;
    char *own;   /* memory of each thread */
    bool stream; /* the filter passes the caches */
};

/* What pixels meet through the taps of a chunk, in tiles. */
static void turn_source(const struct plan *p, uint64_t group, const struct conv2d_chunk *k,
                        float *sheet, uint32_t *offsets, float *tiles)
{
    const struct conv2d_view *v = &p->view;
    const struct conv2d_sheet t = conv2d_sheet(v, &p->block, k, false);
    const uint64_t steps = conv2d_steps(k);
    const float *from = sheet;
    if (p->in_place) {
        from = conv2d_region(v, group, &p->block, k).p;
        for (uint64_t c = 0; c < steps; c++)
            offsets[c] = (uint32_t)(c * v->source_plane);
    } else {
        conv2d_offsets(v, &t, k, offsets);
        conv2d_fill(v, group, &p->block, k, &t, sheet, p->set->fill);
    }
    for (uint64_t i = 0; i < steps; i += p->lanes, tiles += p->pixels * p->room)
        p->set->lay_taps(tiles, conv2d_least(p->lanes, steps - i), p->pixels, from, offsets + i);
}

/* Sums that are NaN again, without padding. */
static void mend(const struct conv2d_view *v, uint64_t group, const struct conv2d_chunk *k,
                 uint64_t j0, uint64_t j1, float *filter)
{
    const uint64_t taps = conv2d_steps(k);
    for (uint64_t j = j0; j < j1; j++, filter += v->filter_column)
        for (uint64_t t = 0; t < taps; t++)
            if (isnan(filter[t]))
                filter[t] = conv2d_tap(v, group, j, k->c0 + t / (k->rn * k->sn),
                                       k->r0 + t / k->sn % k->rn, k->s0 + t % k->sn);
}

/* Where the steps of a tile lie: pixels in it, and in the gradients of a channel. */
static void find(const struct plan *p, uint32_t *offsets, uint32_t *places)
{
    const struct conv2d_view *v = &p->view;
    const uint64_t image = v->y.out * v->x.out, next = v->groups * v->columns * v->plane;
    for (uint64_t i = 0; i < p->pixels + CONV2D_AHEAD; i++)
        offsets[i] = (uint32_t)(i * p->room);
    for (uint64_t i = 0; i < p->pixels; i++)
        places[i] = (uint32_t)(i / image * next + i % image);
}

static void filter_task(void *ctx, uint64_t task, unsigned thread)
{
    const struct job *job = ctx;
    const struct plan *p = job->plan;
    const struct conv2d_view *v = &p->view;
    const uint64_t cell = task / p->pieces, group = cell / p->chunks.count;
    const struct conv2d_chunk k = conv2d_chunk(v, &p->chunks, cell % p->chunks.count);
    const uint64_t j0 = task % p->pieces * p->piece, j1 = conv2d_least(j0 + p->piece, v->columns);
    const uint64_t taps = conv2d_steps(&k), columns = p->set->columns;
    char *memory = job->own + thread * thread_bytes(p);
    float *sheet = (float *)memory, *tiles = (float *)(memory + p->sheet_bytes + p->offsets_bytes);
    uint32_t *offsets = (uint32_t *)((char *)tiles + p->tiles_bytes);
    float *filter = (float *)conv2d_filter_at(v, group, j0, k.c0, k.r0, k.s0);
    struct conv2d_fetch none = { .lines = 0 };
    struct conv2d_product x = { .steps = p->pixels,
                                .offsets = offsets,
                                .places = offsets + p->pixels + CONV2D_AHEAD,
                                .lane = v->plane,
                                .next = v->plane * columns,
                                .ld = v->filter_column,
                                .stream = job->stream,
                                .fetch = &none };
    bool nan = false;
    turn_source(p, group, &k, sheet, (uint32_t *)(memory + p->sheet_bytes), tiles);
    find(p, offsets, offsets + p->pixels + CONV2D_AHEAD);
    for (uint64_t t = 0; t < taps; t += p->lanes, tiles += p->pixels * p->room)
        for (uint64_t j = j0; j < j1; j += columns) {
            x.pixels = conv2d_least(p->lanes, taps - t);
            x.columns = (unsigned)conv2d_least(columns, j1 - j);
            x.sheet = tiles;
            x.panel = v->pixels + (group * v->columns + j) * v->plane;
            x.c = filter + (j - j0) * v->filter_column + t;
            nan |= p->set->direct(&x);
        }
    if (nan && conv2d_padded(v))
        mend(v, group, &k, j0, j1, filter);
}

/* Whether the filter is large, and all vectors of its rows and chunks are aligned. */
static bool may_stream(const struct plan *p)
{
    const struct conv2d_view *v = &p->view;
    const uint64_t bytes = v->groups * v->filter_group * sizeof(float);
    const uint64_t chunk = p->chunks.cn * v->y.taps * v->x.taps, vector = p->set->vector;
    return bytes >= STREAM_BYTES && (uintptr_t)v->filter % (vector * sizeof(float)) == 0 &&
           v->filter_column % vector == 0 && p->chunks.r == 1 && p->chunks.s == 1 &&
           (chunk % vector == 0 || p->chunks.c == 1);
}

void conv2d_filter_direct(const struct conv2d_set *set, const struct conv2d_view *v,
                          const struct cpu_work *work)
{
    const struct plan p = plan_of(set, v, cpu_team_size(work->team));
    struct job job = { &p, work->memory, may_stream(&p) };
    cpu_team_run(work->team, p.threads, filter_task, &job, v->groups * p.chunks.count * p.pieces);
}
