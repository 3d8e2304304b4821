/* SPDX-License-Identifier: Apache-2.0 */
/* conv2d_backward_filter. A task has some gradients of a group by a chunk of taps, and goes over
 * blocks of pixels: it copies what they meet to a sheet, packs the gradients, and adds the products
 * to sums that stay in its L2. Where that makes few tasks, the blocks are divided as well, and
 * their sums are added up in their order. None of it depends on the number of threads. Few pixels
 * go another way, conv2d_filter_direct.c. */
#include "conv2d_set.h"

#include <math.h>

#include "../../dispatch/cache.h"
#include "share.h"

#define THREAD_FLOPS  1e6 /* multiplications that a thread is woken for */
#define FEW_TASKS     8u  /* fewer are divided */
#define PARTS_BYTES   (8u << 20)
#define FEW_LANES     8u /* gradients of a group that do not fill vectors: pixels do */
#define PANELS        4u /* of gradients, in a task */
#define PIXELS        512u
#define PLANE_PIXELS  16384u
#define DOT_PIXELS    2048u
#define JOIN_PIXELS   512u
#define LINE_CHANNELS 16u /* whole lines of the filter, whatever the taps */

struct plan {
    const struct conv2d_set *set;
    struct conv2d_view view;
    struct conv2d_chunks chunks;
    struct conv2d_blocks blocks;
    bool planes;            /* depthwise */
    bool dots;              /* gradients as they lie */
    uint64_t width, piece;  /* gradients of a panel, and of a task */
    uint64_t pieces, parts; /* of a group; of the blocks */
    uint64_t ld;            /* of sums */
    uint64_t sums_bytes, sheet_bytes, offsets_bytes, grad_bytes;
    unsigned threads;
};

static uint64_t bytes_of(uint64_t floats)
{
    return conv2d_ceil(floats * sizeof(float), 64) * 64;
}

/* ---- plan ---- */

static void plan_blocks(struct plan *p)
{
    const struct conv2d_view *v = &p->view;
    const struct conv2d_set *set = p->set;
    const struct conv2d_block all = { 0, 1, 0, v->y.out, 0, v->x.out };
    const struct conv2d_chunk k = conv2d_chunk(v, &p->chunks, 0);
    const struct conv2d_sheet t = conv2d_sheet(v, &all, &k, false);
    const uint64_t each = k.cn * t.x.count * t.y.count + (p->dots ? 0 : p->piece);
    const uint64_t fit = cpu_caches()->l2 / 2 / sizeof(float) / each;
    const uint64_t most = p->planes ? PLANE_PIXELS : p->dots ? DOT_PIXELS : PIXELS;
    const uint64_t least = p->planes ? v->x.out : (uint64_t)set->vector * set->lanes;
    struct conv2d_grain g = { .vector = p->dots ? set->vector : 1,
                              .vectors = 1,
                              .fixed = p->dots ? 2 : 16,
                              .most = conv2d_least(fit, most),
                              .join = p->dots ? 0 : JOIN_PIXELS };
    g.most = g.most > least ? g.most : least;
    p->blocks = conv2d_blocks(v, &g);
}

static struct plan plan_of(const struct conv2d_set *set, const struct cpu_conv2d *g,
                           unsigned threads)
{
    struct plan p = { .set = set, .view = conv2d_view_forward(g), .threads = threads };
    const struct conv2d_view *v = &p.view;
    const double flops = (double)g->n * (double)g->p * (double)g->q * (double)g->k *
                         (double)g->c_group * (double)g->r * (double)g->s;
    const uint64_t room = (uint64_t)set->lanes * set->vector;
    p.dots = v->columns < FEW_LANES;
    p.planes = conv2d_has_planes(v);
    p.width = conv2d_part(v->columns, set->lanes, set->vector);
    p.piece = p.dots ? v->columns : conv2d_part(v->columns, PANELS, p.width);
    p.pieces = conv2d_ceil(v->columns, p.piece);
    p.ld = conv2d_ceil(p.piece, set->vector) * set->vector;
    p.chunks =
        conv2d_chunks(v, cpu_caches()->l1d / 4 / (GEMM_LANES * sizeof(float)), LINE_CHANNELS);
    plan_blocks(&p);

    const struct conv2d_block b = conv2d_block(v, &p.blocks, 0);
    const struct conv2d_chunk k = conv2d_chunk(v, &p.chunks, 0);
    const struct conv2d_sheet t = conv2d_sheet(v, &b, &k, false);
    const uint64_t tasks = v->groups * p.pieces * p.chunks.count,
                   panels = conv2d_ceil(p.piece, p.width);
    p.sums_bytes = bytes_of(conv2d_steps(&k) * p.ld);
    p.parts = 1;
    if (tasks < FEW_TASKS) {
        const uint64_t fit = PARTS_BYTES / (tasks * p.sums_bytes);
        p.parts = conv2d_least(FEW_TASKS / tasks, p.blocks.count);
        p.parts = fit < p.parts ? fit + !fit : p.parts;
    }
    p.sheet_bytes = p.planes ? 0 : bytes_of(k.cn * t.channel + set->vector);
    p.offsets_bytes = bytes_of(conv2d_steps(&k));
    p.grad_bytes = p.dots ? 0 : bytes_of(panels * b.nn * b.pp * b.qq * room);
    if (flops < THREAD_FLOPS * threads)
        p.threads = 1 + (unsigned)(flops / THREAD_FLOPS);
    return p;
}

static uint64_t thread_bytes(const struct plan *p)
{
    return p->sheet_bytes + p->offsets_bytes + p->grad_bytes + (p->parts > 1 ? 0 : p->sums_bytes);
}

/* ---- tasks ---- */

struct job {
    const struct plan *plan;
    char *sums, *own; /* memory: of all parts, where there are several; of each thread */
};

/* What becomes one rectangle of the filter. */
struct cell {
    uint64_t group, j0, jn;
    struct conv2d_chunk k;
};

static uint64_t cells(const struct plan *p)
{
    return p->view.groups * p->pieces * p->chunks.count;
}

static struct cell cell_of(const struct plan *p, uint64_t i)
{
    struct cell c = { .k = conv2d_chunk(&p->view, &p->chunks, i % p->chunks.count) };
    i /= p->chunks.count;
    c.j0 = i % p->pieces * p->piece;
    c.jn = conv2d_least(p->piece, p->view.columns - c.j0);
    c.group = i / p->pieces;
    return c;
}

static const float *gradient_at(const struct conv2d_view *v, const struct cell *c,
                                const struct conv2d_block *b, uint64_t image)
{
    return v->pixels + (((b->n0 + image) * v->groups + c->group) * v->columns + c->j0) * v->plane +
           b->p0 * v->row + b->q0;
}

static void pack_gradients(const struct plan *p, const struct cell *c, const struct conv2d_block *b,
                           float *to)
{
    const struct conv2d_view *v = &p->view;
    const unsigned room = p->set->lanes * p->set->vector;
    const uint64_t pixels = b->pp * b->qq;
    for (uint64_t j = 0; j < c->jn; j += p->width) {
        const uint64_t lanes = conv2d_least(p->width, c->jn - j);
        for (uint64_t i = 0; i < b->nn; i++, to += pixels * room)
            p->set->lay(to, lanes, pixels, gradient_at(v, c, b, i) + j * v->plane, v->plane);
    }
}

/* Finishes a cell: the sum of its parts goes to the filter. */
static void finish(const struct plan *p, const struct cell *c, const float *sums)
{
    const struct conv2d_view *v = &p->view;
    const uint64_t taps = v->y.taps * v->x.taps;
    const struct conv2d_chunk *k = &c->k;
    const uint64_t at = c->group * v->filter_group + c->j0 * v->filter_column +
                        k->c0 * v->filter_source + k->r0 * v->filter_row + k->s0;
    const uint64_t bytes = v->groups * v->filter_group * sizeof(float);
    float *filter = (float *)v->filter + at;
    const struct conv2d_turn x = { .gradients = c->jn,
                                   .taps = conv2d_steps(k),
                                   .parts = p->parts,
                                   .part = p->sums_bytes / sizeof(float),
                                   .sums = sums,
                                   .from = p->ld,
                                   .filter = filter,
                                   .ld = v->filter_column,
                                   .stream = bytes >= STREAM_BYTES };
    if (!p->set->turn(&x) || !conv2d_padded(v))
        return;
    for (uint64_t j = 0; j < c->jn; j++)
        for (uint64_t t = 0; t < x.taps; t++) {
            const uint64_t tap = k->c0 * taps + k->r0 * v->x.taps + k->s0 + t;
            float *sum = filter + j * x.ld + t;
            if (isnan(*sum))
                *sum = conv2d_tap(v, c->group, c->j0 + j, tap / taps, tap / v->x.taps % v->y.taps,
                                  tap % v->x.taps);
        }
}

static void add_planes(const struct plan *p, const struct cell *c, const struct conv2d_block *b,
                       float *sums, bool add)
{
    const struct conv2d_view *v = &p->view;
    const uint64_t source = b->n0 * v->groups + c->group;
    struct conv2d_plane x = {
        .v = v, .source = v->source + source * v->source_plane, .p0 = b->p0, .p1 = b->p0 + b->pp
    };
    for (uint64_t j = 0; j < c->jn; j++) {
        x.pixels = v->pixels + (source * v->columns + c->j0 + j) * v->plane;
        p->set->plane_taps(&x, sums + j, p->ld, add);
    }
}

static void add_block(const struct plan *p, const struct cell *c, uint64_t block, char *memory,
                      float *sums, bool add)
{
    const struct conv2d_view *v = &p->view;
    const struct conv2d_block b = conv2d_block(v, &p->blocks, block);
    const struct conv2d_sheet t = conv2d_sheet(v, &b, &c->k, false);
    float *sheet = (float *)memory;
    uint32_t *offsets = (uint32_t *)(memory + p->sheet_bytes);
    float *grad = (float *)(memory + p->sheet_bytes + p->offsets_bytes);
    struct conv2d_pairs x = { .pixels = b.nn * b.pp * b.qq,
                              .taps = conv2d_steps(&c->k),
                              .gradients = c->jn,
                              .sheet = sheet,
                              .offsets = offsets,
                              .grad = grad,
                              .width = p->width,
                              .grad_ld = v->plane,
                              .sums = sums,
                              .ld = p->ld,
                              .add = add };
    if (p->planes) {
        add_planes(p, c, &b, sums, add);
        return;
    }
    conv2d_offsets(v, &t, &c->k, offsets);
    conv2d_fill(v, c->group, &b, &c->k, &t, sheet, p->set->fill);
    if (p->dots) {
        x.grad = gradient_at(v, c, &b, 0);
        p->set->dot(&x);
    } else {
        pack_gradients(p, c, &b, grad);
        p->set->pair(&x);
    }
}

static void filter_task(void *ctx, uint64_t task, unsigned thread)
{
    const struct job *job = ctx;
    const struct plan *p = job->plan;
    char *memory = job->own + thread * thread_bytes(p);
    const struct cell c = cell_of(p, task / p->parts);
    const uint64_t part = task % p->parts, count = p->blocks.count;
    const uint64_t begin = part * count / p->parts, end = (part + 1) * count / p->parts;
    float *sums =
        (float *)(p->parts > 1 ? job->sums + task * p->sums_bytes
                               : memory + p->sheet_bytes + p->offsets_bytes + p->grad_bytes);
    for (uint64_t i = begin; i < end; i++)
        add_block(p, &c, i, memory, sums, i != begin);
    if (p->parts == 1)
        finish(p, &c, sums);
}

static void finish_task(void *ctx, uint64_t task, unsigned thread)
{
    const struct job *job = ctx;
    const struct cell c = cell_of(job->plan, task);
    (void)thread;
    finish(job->plan, &c,
           (const float *)(job->sums + task * job->plan->parts * job->plan->sums_bytes));
}

/* ---- the door ---- */

static uint64_t parts_bytes(const struct plan *p)
{
    return p->parts > 1 ? cells(p) * p->parts * p->sums_bytes : 0;
}

uint64_t conv2d_backward_filter_bytes(const struct conv2d_set *set, const struct cpu_conv2d *v,
                                      unsigned threads)
{
    const struct conv2d_view view = conv2d_view_forward(v);
    const struct plan p = plan_of(set, v, threads);
    if (conv2d_filter_is_direct(set, &view))
        return conv2d_filter_direct_bytes(set, &view, threads);
    return parts_bytes(&p) + thread_bytes(&p) * p.threads;
}

void conv2d_backward_filter(const struct conv2d_set *set, const struct cpu_conv2d *v,
                            const struct cpu_work *work)
{
    const struct conv2d_view view = conv2d_view_forward(v);
    if (conv2d_filter_is_direct(set, &view)) {
        conv2d_filter_direct(set, &view, work);
        return;
    }
    const struct plan p = plan_of(set, v, cpu_team_size(work->team));
    struct job job = { &p, work->memory, (char *)work->memory + parts_bytes(&p) };
    cpu_team_run(work->team, p.threads, filter_task, &job, cells(&p) * p.parts);
    if (p.parts > 1)
        cpu_team_run(work->team, p.threads, finish_task, &job, cells(&p));
}
