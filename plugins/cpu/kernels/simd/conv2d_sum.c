/* SPDX-License-Identifier: Apache-2.0 */
/* conv2d_forward and conv2d_backward_data. A task is a block of pixels by some columns: chunk by
 * chunk, it copies what the block meets to a sheet in its L2, unless it lies like one, and
 * multiplies it with panels of the filter. These are packed before all tasks, by all threads; or,
 * when few blocks use them or there is no room, by the task; for few pixels, not at all. */
#include "conv2d_set.h"

#include <math.h>
#include <string.h>

#include "../../dispatch/cache.h"

#define THREAD_FLOPS 1e6        /* multiplications that a thread is woken for */
#define PANELS_BYTES (4u << 20) /* of the packed filter */
#define WIDE_PIXELS  512u       /* of a block, at most */
#define HIGH_PIXELS  2048u      /* of a block of a narrow sum */
#define JOIN_PIXELS  512u       /* of a block of several images */
#define TILE_COLUMNS 512u       /* of a block that is not computed in place */
#define PACK_PANELS  4u         /* that are packed together: a line or two of a row of the filter */
#define PHASES       4u
#define FEW_BLOCKS   2u    /* to pack panels for each of them */
#define COVER_DEPTH  2048u /* channels of sums that have a sheet together */
#define COVER_STEPS  8192u /* these by all the taps that it has room for */

/* Panels j0.. of the groups g0.. */
struct round {
    uint64_t g0, gn, j0, jn;
};

struct plan {
    const struct conv2d_set *set;
    struct conv2d_view view;
    struct conv2d_view cover; /* what the sheet holds: all that this and other phases meet */
    struct conv2d_chunks chunks;
    struct conv2d_blocks blocks;
    bool covered;       /* there are such */
    bool narrow, aside; /* aside: pixels are computed elsewhere and copied */
    bool packed;        /* by all threads */
    bool direct;        /* the filter is read as it lies */
    bool padded;
    bool in_place;          /* nothing is copied to a sheet */
    uint64_t width, panels; /* columns of a panel, panels of a group */
    uint64_t steps;         /* terms of a sum */
    uint64_t gn, jn;        /* of a round */
    uint64_t panels_bytes, sheet_bytes, offsets_bytes, panel_bytes, aside_bytes;
    unsigned threads;
};

static uint64_t bytes_of(uint64_t floats)
{
    return conv2d_ceil(floats * sizeof(float), 64) * 64;
}

/* Elements of C from one column to the next, where a block is computed aside. */
static uint64_t aside_ld(const struct plan *p, uint64_t pixels)
{
    return (conv2d_ceil(pixels, p->set->vector) + 1) * p->set->vector;
}

static uint64_t pixels_of(const struct conv2d_block *b, const struct conv2d_sheet *t)
{
    return (b->nn * b->pp - 1) * t->x.length + b->qq;
}

/* Elements behind a sheet that a tile may read. */
static uint64_t behind(const struct plan *p)
{
    return (uint64_t)p->set->vector * p->set->high;
}

/* ---- plan ---- */

static bool shares_x(const struct plan *p)
{
    return p->narrow && p->chunks.s == 1;
}

/* What a sheet holds for a chunk. */
static struct conv2d_chunk cover_of(const struct plan *p, const struct conv2d_chunk *k)
{
    struct conv2d_chunk all = *k;
    if (p->covered) {
        all.rn = p->cover.y.taps;
        all.sn = p->cover.x.taps;
    }
    return all;
}

/* The sheet of a block and a chunk; covered sums have one chunk. */
static struct conv2d_sheet sheet_of(const struct plan *p, const struct conv2d_block *b,
                                    const struct conv2d_chunk *k)
{
    const struct conv2d_chunk all = cover_of(p, k);
    return conv2d_sheet(&p->cover, b, &all, shares_x(p));
}

static void plan_blocks(struct plan *p)
{
    const struct conv2d_view *v = &p->view;
    const struct conv2d_set *set = p->set;
    const struct conv2d_block all = { 0, 1, 0, v->y.out, 0, v->x.out };
    const struct conv2d_chunk k = conv2d_chunk(v, &p->chunks, 0);
    const struct conv2d_sheet t = sheet_of(p, &all, &k);
    const uint64_t source = k.cn * t.x.count * t.y.count;
    const uint64_t most =
        cpu_caches()->l2 / 2 / sizeof(float) / (source + conv2d_least(v->columns, TILE_COLUMNS));
    const uint64_t limit = conv2d_least(most, p->narrow ? HIGH_PIXELS : WIDE_PIXELS);
    struct conv2d_grain g = { .vector = set->vector,
                              .vectors = p->narrow ? set->high / 2 : set->vectors,
                              .fixed = 2,
                              .join = p->narrow ? 0 : JOIN_PIXELS };
    g.most = limit > g.vector * g.vectors ? limit : g.vector * g.vectors;
    p->blocks = conv2d_blocks(v, &g);
}

static void plan_bytes(struct plan *p)
{
    const struct conv2d_view *v = &p->view;
    const struct conv2d_block b = conv2d_block(v, &p->blocks, 0);
    const struct conv2d_chunk k = conv2d_chunk(v, &p->chunks, 0);
    const struct conv2d_sheet t = sheet_of(p, &b, &k);
    const uint64_t columns = conv2d_least(p->panels * p->width, TILE_COLUMNS);
    p->aside = b.nn > 1 || t.x.length != b.qq || v->column != 1 || (b.pp > 1 && v->row != b.qq);
    p->sheet_bytes = bytes_of(k.cn * t.channel + behind(p));
    p->offsets_bytes = bytes_of(conv2d_steps(&k) + CONV2D_AHEAD);
    p->panel_bytes = p->packed   ? 0
                     : p->direct ? bytes_of(conv2d_direct_floats(p->set, v, &k))
                                 : bytes_of(PACK_PANELS * conv2d_steps(&k) * GEMM_LANES);
    p->aside_bytes = p->aside ? bytes_of(aside_ld(p, pixels_of(&b, &t)) * columns) : 0;
}

/* Whether the sources are a sheet as they lie: 1x1; whole vectors, aligned, where many columns read
 * them and what lies behind them. */
static bool may_be_in_place(const struct plan *p)
{
    const struct conv2d_view *v = &p->view;
    const uint64_t line = GEMM_LINE / sizeof(float);
    const bool aligned = v->source_plane % line == 0 && (uintptr_t)v->source % GEMM_LINE == 0;
    return !p->narrow && v->y.taps == 1 && v->x.taps == 1 && v->y.out == 1 && v->y.in == 1 &&
           v->x.stride == 1 && v->x.out == v->x.in && !p->padded && p->blocks.nn == 1 &&
           (p->direct || aligned) && v->source_plane <= UINT32_MAX / 2 / p->chunks.cn;
}

static void plan_rounds(struct plan *p, uint64_t phases)
{
    const struct conv2d_view *v = &p->view;
    const uint64_t panel = p->steps * GEMM_LANES * sizeof(float),
                   fit = PANELS_BYTES / phases / panel;
    p->packed = !p->direct && p->blocks.count > FEW_BLOCKS && fit;
    p->gn = v->groups;
    p->jn = p->panels;
    if (!p->packed)
        return;
    if (fit < p->panels) {
        p->gn = 1;
        p->jn = conv2d_part(p->panels, fit, 1);
    } else if (fit / p->panels < p->gn) {
        p->gn = conv2d_part(p->gn, fit / p->panels, 1);
    }
    p->panels_bytes = bytes_of(p->gn * p->jn * p->steps * GEMM_LANES);
}

static void plan_panels(struct plan *p)
{
    const struct conv2d_view *v = &p->view;
    const uint64_t pixels = v->y.out * v->x.out, all = v->images * pixels;
    const uint64_t steps = cpu_caches()->l1d / 2 / (GEMM_LANES * sizeof(float));
    p->narrow = v->columns < CONV2D_WIDE;
    p->direct = !p->narrow && conv2d_is_direct(p->set, v, all);
    p->width = v->columns;
    if (!p->narrow)
        p->width = conv2d_part(
            v->columns, p->direct ? conv2d_direct_columns(p->set, v, all) : p->set->columns, 1);
    p->panels = conv2d_ceil(v->columns, p->width);
    p->steps = v->sources * v->y.taps * v->x.taps;
    if (p->direct)
        p->chunks = conv2d_direct_chunks(v);
    else if (p->covered)
        p->chunks = conv2d_chunks(v, COVER_STEPS, 1);
    else
        p->chunks =
            conv2d_chunks(v, !p->narrow && pixels <= JOIN_PIXELS / 4 ? steps / 2 : steps, 1);
}

/* cover: of all phases, or NULL. */
static struct plan plan_of(const struct conv2d_set *set, const struct conv2d_view *v,
                           unsigned threads, uint64_t phases, const struct conv2d_view *cover)
{
    struct plan p = { .set = set, .view = *v, .cover = *v, .threads = threads };
    if (cover) {
        p.covered = true;
        p.cover = *cover;
    }
    const double each = (double)v->images * (double)v->y.out * (double)v->x.out;
    p.padded = conv2d_padded(v);
    plan_panels(&p);
    const double flops = each * (double)p.steps * (double)v->columns * (double)v->groups;
    if (flops < THREAD_FLOPS * threads)
        p.threads = 1 + (unsigned)(flops / THREAD_FLOPS);
    plan_blocks(&p);
    plan_rounds(&p, phases);
    plan_bytes(&p);
    p.in_place = may_be_in_place(&p);
    return p;
}

static uint64_t thread_bytes(const struct plan *p)
{
    return p->sheet_bytes + p->offsets_bytes + p->panel_bytes + p->aside_bytes;
}

static uint64_t plan_total(const struct plan *p)
{
    return conv2d_has_planes(&p->view) ? 0 : p->panels_bytes + thread_bytes(p) * p->threads;
}

/* ---- the filter ---- */

/* Panel j of a group, the terms of a chunk. */
static void pack_panel(const struct plan *p, uint64_t group, uint64_t j,
                       const struct conv2d_chunk *k, float *to)
{
    const struct conv2d_view *v = &p->view;
    const uint64_t column = j * p->width, taps = v->y.taps * v->x.taps;
    const unsigned columns = (unsigned)conv2d_least(p->width, v->columns - column);
    const float *from =
        v->filter + group * v->filter_group + column * v->filter_column + k->c0 * v->filter_source;
    const bool rows_in_order = v->filter_source == taps && v->filter_row == v->x.taps;
    if (rows_in_order && v->y.by == 1 && v->x.by == 1) {
        p->set->pack(to, GEMM_LANES, columns, columns, conv2d_steps(k),
                     from + k->r0 * v->filter_row + k->s0, v->filter_column, 1);
        return;
    }
    if (v->filter_column == taps && conv2d_backwards(v)) {
        const uint64_t all = k->rn * k->sn,
                       last = (k->r0 + k->rn - 1) * v->x.taps + k->s0 + k->sn - 1;
        p->set->pack_taps(to, columns, k->cn, all, from + taps - 1 - last, v->filter_source, taps);
        return;
    }
    for (uint64_t c = 0; c < k->cn; c++, from += v->filter_source)
        for (uint64_t r = k->r0; r < k->r0 + k->rn; r++)
            for (uint64_t s = k->s0; s < k->s0 + k->sn; s++, to += GEMM_LANES) {
                const float *tap =
                    from + (v->y.first + r * v->y.by) * v->filter_row + v->x.first + s * v->x.by;
                for (unsigned i = 0; i < columns; i++)
                    to[i] = tap[i * v->filter_column];
            }
}

/* Panels j to j + n of a group, the terms of a chunk. */
static void pack(const struct plan *p, uint64_t group, uint64_t j, uint64_t n,
                 const struct conv2d_chunk *k, float *to)
{
    const struct conv2d_view *v = &p->view;
    const uint64_t column = j * p->width, columns = conv2d_least(n * p->width, v->columns - column);
    if (v->y.taps == 1 && v->x.taps == 1 && v->filter_column == 1) {
        p->set->pack(to, GEMM_LANES, (unsigned)p->width, columns, k->cn,
                     conv2d_filter_at(v, group, column, k->c0, 0, 0), 1, v->filter_source);
        return;
    }
    for (uint64_t i = 0; i < n; i++, to += conv2d_steps(k) * GEMM_LANES)
        pack_panel(p, group, j + i, k, to);
}

/* Where the terms of a chunk begin, among all. */
static uint64_t first_step(const struct conv2d_view *v, const struct conv2d_chunk *k)
{
    return (k->c0 * v->y.taps + k->r0) * v->x.taps + k->s0;
}

struct job {
    const struct plan *plan;
    struct round round;
    uint64_t piece, pieces; /* panels of a task; pieces of a round */
    uint64_t packs;         /* tasks that pack a group */
    uint64_t tasks;
    char *panels, *own;   /* memory: of all, of each thread */
    uint64_t own_bytes;   /* of one thread */
    uint64_t part, parts; /* of what is fetched for the next task */
    bool filled;          /* the sheet is there */
};

/* Where a panel of the round lies. */
static float *panel_at(const struct job *job, uint64_t group, uint64_t j,
                       const struct conv2d_chunk *k)
{
    const struct plan *p = job->plan;
    const uint64_t before = (group - job->round.g0) * job->round.jn * p->steps +
                            job->round.jn * first_step(&p->view, k) +
                            (j - job->round.j0) * conv2d_steps(k);
    return (float *)job->panels + before * GEMM_LANES;
}

static void pack_task(void *ctx, uint64_t task, unsigned thread)
{
    const struct job *job = ctx;
    const struct plan *p = job->plan;
    const uint64_t group = job->round.g0 + task / job->packs;
    const uint64_t first = task % job->packs * PACK_PANELS, j = job->round.j0 + first;
    const uint64_t n = conv2d_least(PACK_PANELS, job->round.jn - first);
    (void)thread;
    for (uint64_t i = 0; i < p->chunks.count; i++) {
        const struct conv2d_chunk k = conv2d_chunk(&p->view, &p->chunks, i);
        pack(p, group, j, n, &k, panel_at(job, group, j, &k));
    }
}

/* ---- the sums ---- */

/* A block by the panels j0 to j1 of a group, in the memory of a thread. */
struct task {
    uint64_t number;
    struct conv2d_block block;
    uint64_t group, j0, j1;
    float *sheet, *panel, *c;
    uint32_t *offsets;
    uint64_t ld;     /* of c */
    uint64_t length; /* of its rows */
};

static uint64_t group_of(const struct job *job, uint64_t task)
{
    return job->round.g0 + task / job->pieces % job->round.gn;
}

static struct conv2d_block block_of(const struct job *job, uint64_t task)
{
    return conv2d_block(&job->plan->view, &job->plan->blocks, task / job->pieces / job->round.gn);
}

static float *pixel_at(const struct conv2d_view *v, uint64_t n, uint64_t group, uint64_t column,
                       uint64_t p, uint64_t q)
{
    return v->pixels + ((n * v->groups + group) * v->columns + column) * v->plane + p * v->row +
           q * v->column;
}

/* What follows chunk i: the next one, or the first one of the block that this thread may get. */
static struct conv2d_fetch next_of(const struct job *job, const struct task *t, uint64_t i,
                                   const struct conv2d_product *x)
{
    const struct plan *p = job->plan;
    const struct conv2d_view *v = &p->view;
    const uint64_t next = t->number + (i + 1 < p->chunks.count ? 0 : p->threads);
    const struct conv2d_chunk k = conv2d_chunk(v, &p->chunks, (i + 1) % p->chunks.count);
    struct conv2d_fetch fetch = { .done = 0 };
    if (next >= job->tasks)
        return fetch;
    const struct conv2d_block block = block_of(job, next);
    const uint64_t tile = p->set->vector * p->set->vectors;
    const uint64_t rows = conv2d_ceil(x->pixels, tile) * (t->j1 - t->j0);
    const struct conv2d_chunk all = cover_of(p, &k);
    fetch.region = conv2d_region(&p->cover, group_of(job, next), &block, &all);
    if (job->parts) {
        const uint64_t first = fetch.region.columns * job->part / job->parts;
        fetch.region.columns = fetch.region.columns * (job->part + 1) / job->parts - first;
        fetch.region.p += first * fetch.region.step;
    }
    const uint64_t line = GEMM_LINE / sizeof(float);
    fetch.lines = conv2d_ceil(fetch.region.columns * conv2d_ceil(fetch.region.length, line),
                              rows * conv2d_ceil(x->steps, CONV2D_FETCH));
    return fetch;
}

/* The source that an axis meets first, from where its cover begins. */
static uint64_t first_of(const struct conv2d_axis *a, const struct conv2d_axis *cover)
{
    return a->at - a->pad - (cover->at - cover->pad);
}

/* What the block meets through a chunk, and where each term and the next tile begin in it. */
static const float *meet(const struct job *job, const struct task *t, const struct conv2d_chunk *k,
                         const struct conv2d_sheet *sheet)
{
    const struct plan *p = job->plan;
    const struct conv2d_view *v = &p->view;
    const uint64_t steps = conv2d_steps(k);
    const float *from = t->sheet;
    if (p->in_place) {
        from = conv2d_region(v, t->group, &t->block, k).p;
        for (uint64_t c = 0; c < steps; c++)
            t->offsets[c] = (uint32_t)(c * v->source_plane);
    } else {
        const struct conv2d_chunk all = cover_of(p, k);
        conv2d_offsets(v, sheet, k, t->offsets);
        from += first_of(&v->y, &p->cover.y) * sheet->x.length + first_of(&v->x, &p->cover.x);
        if (!job->filled) {
            conv2d_fill(&p->cover, t->group, &t->block, &all, sheet, t->sheet, p->set->fill);
            memset(t->sheet + k->cn * sheet->channel, 0, behind(p) * sizeof(*t->sheet));
        }
    }
    for (uint64_t i = 0; i < CONV2D_AHEAD; i++)
        t->offsets[steps + i] = t->offsets[i % steps] + p->set->vector * p->set->vectors;
    return from;
}

/* True: some of it is NaN. */
static bool add_chunk(const struct job *job, struct task *t, uint64_t i)
{
    const struct plan *p = job->plan;
    const struct conv2d_view *v = &p->view;
    const struct conv2d_chunk k = conv2d_chunk(v, &p->chunks, i);
    const struct conv2d_sheet sheet = sheet_of(p, &t->block, &k);
    struct conv2d_product x = { .pixels = pixels_of(&t->block, &sheet),
                                .steps = conv2d_steps(&k),
                                .offsets = t->offsets,
                                .add = i != 0 };
    struct conv2d_fetch fetch = next_of(job, t, i, &x);
    bool nan = false;
    x.fetch = &fetch;
    t->length = sheet.x.length;
    t->ld = x.ld = p->aside ? aside_ld(p, x.pixels) : v->plane;
    x.sheet = meet(job, t, &k, &sheet);
    if (p->direct) {
        const uint64_t j0 = t->j0 * p->width, j1 = conv2d_least(t->j1 * p->width, v->columns);
        const struct conv2d_columns columns = { t->group, j0, j1 - j0, p->width };
        x.c = t->c;
        return conv2d_direct(p->set, v, &k, &columns, x, t->panel);
    }
    for (uint64_t j = t->j0; j < t->j1; j++) {
        const uint64_t i = (j - t->j0) % PACK_PANELS;
        float *panel =
            p->packed ? panel_at(job, t->group, j, &k) : t->panel + i * x.steps * GEMM_LANES;
        if (!p->packed && i == 0)
            pack(p, t->group, j, conv2d_least(PACK_PANELS, t->j1 - j), &k, panel);
        x.panel = panel;
        x.columns = (unsigned)conv2d_least(p->width, v->columns - j * p->width);
        x.c = t->c + (j - t->j0) * p->width * x.ld;
        nan |= p->set->multiply(&x);
    }
    return nan;
}

/* Applies a function to each row of pixels of a task. */
typedef void row_fn(const struct plan *p, const struct task *t, uint64_t image, uint64_t column,
                    uint64_t row);

static void for_rows(const struct plan *p, const struct task *t, row_fn *run)
{
    const uint64_t end = conv2d_least(t->j1 * p->width, p->view.columns);
    for (uint64_t column = t->j0 * p->width; column < end; column++)
        for (uint64_t i = 0; i < t->block.nn; i++)
            for (uint64_t row = 0; row < t->block.pp; row++)
                run(p, t, i, column, row);
}

static void copy_row(const struct plan *p, const struct task *t, uint64_t image, uint64_t column,
                     uint64_t row)
{
    const struct conv2d_block *b = &t->block;
    const float *from =
        t->c + (column - t->j0 * p->width) * t->ld + (image * b->pp + row) * t->length;
    float *to = pixel_at(&p->view, b->n0 + image, t->group, column, b->p0 + row, b->q0);
    if (p->view.column == 1)
        memcpy(to, from, b->qq * sizeof(*to));
    else
        for (uint64_t q = 0; q < b->qq; q++)
            to[q * p->view.column] = from[q];
}

static void mend_row(const struct plan *p, const struct task *t, uint64_t image, uint64_t column,
                     uint64_t row)
{
    const struct conv2d_block *b = &t->block;
    for (uint64_t q = b->q0; q < b->q0 + b->qq; q++) {
        float *pixel = pixel_at(&p->view, b->n0 + image, t->group, column, b->p0 + row, q);
        if (isnan(*pixel))
            *pixel = conv2d_pixel(&p->view, b->n0 + image, t->group, column, b->p0 + row, q);
    }
}

static void sum_task(void *ctx, uint64_t task, unsigned thread)
{
    const struct job *job = ctx;
    const struct plan *p = job->plan;
    char *memory = job->own + thread * job->own_bytes;
    struct task t = { .number = task,
                      .group = group_of(job, task),
                      .block = block_of(job, task),
                      .j0 = job->round.j0 + task % job->pieces * job->piece };
    bool nan = false;
    t.j1 = conv2d_least(t.j0 + job->piece, job->round.j0 + job->round.jn);
    t.sheet = (float *)memory;
    t.offsets = (uint32_t *)(memory += p->sheet_bytes);
    t.panel = (float *)(memory += p->offsets_bytes);
    t.c = (float *)(memory + p->panel_bytes);
    if (!p->aside)
        t.c = pixel_at(&p->view, t.block.n0, t.group, t.j0 * p->width, t.block.p0, t.block.q0);
    for (uint64_t i = 0; i < p->chunks.count; i++)
        nan = add_chunk(job, &t, i);
    if (p->aside)
        for_rows(p, &t, copy_row);
    if (nan && p->padded)
        for_rows(p, &t, mend_row);
}

/* Cuts a round into tasks, and packs its panels. */
static void begin_round(struct job *job, struct cpu_team *team)
{
    const struct plan *p = job->plan;
    const uint64_t most = p->aside && TILE_COLUMNS / p->width < job->round.jn
                              ? TILE_COLUMNS / p->width
                              : job->round.jn;
    const uint64_t tasks = p->blocks.count * job->round.gn;
    job->piece = conv2d_part(job->round.jn, most, 1);
    if (p->threads > 1 && tasks < 2 * (uint64_t)p->threads) {
        const uint64_t parts = conv2d_ceil(2 * (uint64_t)p->threads, tasks);
        job->piece = conv2d_least(job->piece, conv2d_ceil(job->round.jn, parts));
    }
    job->pieces = conv2d_ceil(job->round.jn, job->piece);
    job->packs = conv2d_ceil(job->round.jn, PACK_PANELS);
    if (p->packed)
        cpu_team_run(team, p->threads, pack_task, job, job->round.gn * job->packs);
    job->tasks = tasks * job->pieces;
}

static void sum(const struct plan *p, const struct cpu_work *work)
{
    if (conv2d_has_planes(&p->view)) {
        conv2d_planes(p->set, &p->view, work);
        return;
    }
    struct job job = { .plan = p,
                       .panels = work->memory,
                       .own = (char *)work->memory + p->panels_bytes,
                       .own_bytes = thread_bytes(p) };
    struct round *r = &job.round;
    for (r->g0 = 0; r->g0 < p->view.groups; r->g0 += p->gn)
        for (r->j0 = 0; r->j0 < p->panels; r->j0 += p->jn) {
            r->gn = conv2d_least(p->gn, p->view.groups - r->g0);
            r->jn = conv2d_least(p->jn, p->panels - r->j0);
            begin_round(&job, work->team);
            cpu_team_run(work->team, p->threads, sum_task, &job, job.tasks);
        }
}

/* ---- forward ---- */

uint64_t conv2d_forward_bytes(const struct conv2d_set *set, const struct cpu_conv2d *v,
                              unsigned threads)
{
    const struct conv2d_view view = conv2d_view_forward(v);
    const struct plan p = plan_of(set, &view, threads, 1, NULL);
    return plan_total(&p);
}

void conv2d_forward(const struct conv2d_set *set, const struct cpu_conv2d *v,
                    const struct cpu_work *work)
{
    const struct conv2d_view view = conv2d_view_forward(v);
    const struct plan p = plan_of(set, &view, cpu_team_size(work->team), 1, NULL);
    sum(&p, work);
}

/* ---- backward_data ---- */

/* Phases that are computed together: they meet the same sources, which stay in the cache. */
struct phases {
    struct plan plans[PHASES];
    struct job jobs[PHASES];
    unsigned count;
};

/* What all of them need at once, of each thread. */
static uint64_t phases_own(const struct phases *f)
{
    uint64_t most = 0;
    for (unsigned i = 0; i < f->count; i++)
        if (thread_bytes(&f->plans[i]) > most)
            most = thread_bytes(&f->plans[i]);
    return most;
}

static bool may_be_together(const struct phases *f)
{
    for (unsigned i = 0; i < f->count; i++) {
        const struct plan *p = &f->plans[i];
        if (conv2d_has_planes(&p->view) || !p->packed || p->gn != p->view.groups ||
            p->jn != p->panels)
            return false;
    }
    return true;
}

static uint64_t phases_bytes(const struct phases *f)
{
    uint64_t panels = 0, most = 0;
    unsigned threads = 1;
    for (unsigned i = 0; i < f->count; i++) {
        const struct plan *p = &f->plans[i];
        panels += p->panels_bytes;
        threads = p->threads > threads ? p->threads : threads;
        most = plan_total(p) > most ? plan_total(p) : most;
    }
    return may_be_together(f) ? panels + phases_own(f) * threads : most;
}

static void phases_task(void *ctx, uint64_t task, unsigned thread)
{
    struct phases *f = ctx;
    for (unsigned i = 0; i < f->count; i++)
        if (task < f->jobs[i].tasks)
            sum_task(&f->jobs[i], task, thread);
}

static void sum_phases(struct phases *f, const struct cpu_work *work)
{
    uint64_t tasks = 0;
    unsigned threads = 1;
    char *memory = work->memory;
    if (!may_be_together(f)) {
        for (unsigned i = 0; i < f->count; i++)
            sum(&f->plans[i], work);
        return;
    }
    for (unsigned i = 0; i < f->count; i++) {
        const struct plan *p = &f->plans[i];
        f->jobs[i] = (struct job){
            .plan = p, .round = { 0, p->gn, 0, p->jn }, .panels = memory, .own_bytes = phases_own(f)
        };
        if (p->covered) {
            f->jobs[i].part = i;
            f->jobs[i].parts = f->count;
            f->jobs[i].filled = i > 0;
        }
        memory += p->panels_bytes;
        begin_round(&f->jobs[i], work->team);
        tasks = f->jobs[i].tasks > tasks ? f->jobs[i].tasks : tasks;
        threads = p->threads > threads ? p->threads : threads;
    }
    for (unsigned i = 0; i < f->count; i++)
        f->jobs[i].own = memory;
    cpu_team_run(work->team, threads, phases_task, f, tasks);
}

/* Widens an axis to what another one meets, too. */
static bool cover_axis(struct conv2d_axis *a, const struct conv2d_axis *b)
{
    const int64_t first = (int64_t)(a->at - a->pad), other = (int64_t)(b->at - b->pad);
    const int64_t last = first + (int64_t)a->taps, end = other + (int64_t)b->taps;
    const int64_t least = first < other ? first : other;
    a->taps = (uint64_t)((last > end ? last : end) - least);
    a->at = least < 0 ? 0 : (uint64_t)least;
    a->pad = least < 0 ? 0 - (uint64_t)least : 0;
    return a->out == b->out && a->step == 1 && b->step == 1;
}

/* Whether narrow phases have one sheet together; cover: what it holds. */
static bool may_be_covered(const struct conv2d_view *views, unsigned count,
                           struct conv2d_view *cover)
{
    if (count < 2 || views[0].columns >= CONV2D_WIDE)
        return false;
    *cover = views[0];
    for (unsigned i = 1; i < count; i++)
        if (!cover_axis(&cover->y, &views[i].y) || !cover_axis(&cover->x, &views[i].x))
            return false;
    return cover->sources <= COVER_DEPTH &&
           cover->y.taps <= COVER_STEPS / cover->sources / cover->x.taps;
}

/* Some phases from number `at` on; the number of the next, or 0. */
static uint64_t next_phases(const struct conv2d_set *set, const struct cpu_conv2d *v, uint64_t at,
                            unsigned threads, struct phases *f)
{
    const uint64_t columns = conv2d_least(v->stride_w, v->w);
    const uint64_t all = conv2d_least(v->stride_h, v->h) * columns;
    struct conv2d_view views[PHASES], cover;
    for (f->count = 0; at < all && f->count < PHASES; at++)
        f->count += conv2d_view_backward(v, at / columns, at % columns, &views[f->count]);
    const uint64_t phases = conv2d_least(all, PHASES);
    const bool covered = may_be_covered(views, f->count, &cover);
    for (unsigned i = 0; i < f->count; i++)
        f->plans[i] = plan_of(set, &views[i], threads, phases, covered ? &cover : NULL);
    if (covered && !may_be_together(f))
        for (unsigned i = 0; i < f->count; i++)
            f->plans[i] = plan_of(set, &views[i], threads, phases, NULL);
    return at < all ? at : 0;
}

uint64_t conv2d_backward_data_bytes(const struct conv2d_set *set, const struct cpu_conv2d *v,
                                    unsigned threads)
{
    struct phases f;
    uint64_t most = 0, at = 0;
    do {
        at = next_phases(set, v, at, threads, &f);
        most = phases_bytes(&f) > most ? phases_bytes(&f) : most;
    } while (at);
    return most;
}

static bool phase_without_taps(const struct cpu_conv2d *v)
{
    struct conv2d_view view;
    for (uint64_t y = 0; y < conv2d_least(v->stride_h, v->h); y++)
        for (uint64_t x = 0; x < conv2d_least(v->stride_w, v->w); x++)
            if (!conv2d_view_backward(v, y, x, &view))
                return true;
    return false;
}

void conv2d_backward_data(const struct conv2d_set *set, const struct cpu_conv2d *v,
                          const struct cpu_work *work)
{
    struct phases f;
    uint64_t at = 0;
    if (phase_without_taps(v))
        memset(v->input, 0, v->n * v->c * v->h * v->w * sizeof(*v->input));
    do {
        at = next_phases(set, v, at, cpu_team_size(work->team), &f);
        sum_phases(&f, work);
    } while (at);
}
