/* SPDX-License-Identifier: Apache-2.0 */
#include "conv2d_view.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#define LINE 16u /* elements; planes of a sheet begin with one */

static uint64_t greatest_divisor(uint64_t a, uint64_t b)
{
    while (b) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* ---- views ---- */

/* 1x1 without stride or padding: the image is one row. */
static void flatten(struct conv2d_view *v)
{
    const struct conv2d_axis *y = &v->y, *x = &v->x;
    if (y->taps != 1 || x->taps != 1 || y->stride != 1 || x->stride != 1 || y->out != y->in ||
        x->out != x->in || y->at != y->pad || x->at != x->pad || v->column != 1 || v->row != x->out)
        return;
    v->x.out = v->x.in = v->source_width = v->row = y->out * x->out;
    v->y.out = v->y.in = 1;
}

struct conv2d_view conv2d_view_forward(const struct cpu_conv2d *v)
{
    struct conv2d_view view = {
        .y = { v->p, v->h, v->stride_h, v->r, 0, v->dilation_h, v->pad_top, 0, 1 },
        .x = { v->q, v->w, v->stride_w, v->s, 0, v->dilation_w, v->pad_left, 0, 1 },
        .images = v->n,
        .groups = v->groups,
        .sources = v->c_group,
        .columns = v->k / v->groups,
        .source = v->input,
        .filter = v->filter,
        .pixels = v->output,
        .source_width = v->w,
        .source_plane = v->h * v->w,
        .row = v->q,
        .column = 1,
        .plane = v->p * v->q,
        .filter_source = v->r * v->s,
        .filter_column = v->c_group * v->r * v->s,
        .filter_row = v->s,
    };
    view.filter_group = view.columns * view.filter_column;
    flatten(&view);
    return view;
}

/* Input f + j*stride meets output (f + pad - tap*dilation) / stride + j, through the taps for which
 * that is a whole number: every period-th, of which the last comes first. */
static bool backward_axis(struct conv2d_axis *a, uint64_t f, uint64_t in, uint64_t out,
                          uint64_t stride, uint64_t dilation, uint64_t pad, uint64_t taps)
{
    const uint64_t divisor = greatest_divisor(stride, dilation), period = stride / divisor;
    const uint64_t place = f + pad;
    uint64_t tap = 0;
    while (tap < taps && tap < period && tap * dilation % stride != place % stride)
        tap++;
    if (tap >= taps || tap >= period)
        return false;
    a->out = (in - f - 1) / stride + 1;
    a->in = out;
    a->stride = 1;
    a->taps = (taps - 1 - tap) / period + 1;
    a->step = dilation / divisor;
    a->pad = (a->taps - 1) * a->step;
    a->at = 0;
    if (place >= tap * dilation)
        a->at = (place - tap * dilation) / stride;
    else
        a->pad += (tap * dilation - place) / stride;
    a->first = tap + (a->taps - 1) * period;
    a->by = 0 - period;
    return true;
}

bool conv2d_view_backward(const struct cpu_conv2d *v, uint64_t fy, uint64_t fx,
                          struct conv2d_view *view)
{
    *view = (struct conv2d_view){
        .images = v->n,
        .groups = v->groups,
        .sources = v->k / v->groups,
        .columns = v->c_group,
        .source = v->output,
        .filter = v->filter,
        .pixels = v->input + fy * v->w + fx,
        .source_width = v->q,
        .source_plane = v->p * v->q,
        .row = v->stride_h * v->w,
        .column = v->stride_w,
        .plane = v->h * v->w,
        .filter_source = v->c_group * v->r * v->s,
        .filter_column = v->r * v->s,
        .filter_row = v->s,
    };
    view->filter_group = view->sources * view->filter_source;
    if (!backward_axis(&view->y, fy, v->h, v->p, v->stride_h, v->dilation_h, v->pad_top, v->r) ||
        !backward_axis(&view->x, fx, v->w, v->q, v->stride_w, v->dilation_w, v->pad_left, v->s))
        return false;
    flatten(view);
    return true;
}

static bool axis_padded(const struct conv2d_axis *a)
{
    const uint64_t last = a->at + (a->out - 1) * a->stride + (a->taps - 1) * a->step;
    return a->at < a->pad || last - a->pad >= a->in;
}

bool conv2d_padded(const struct conv2d_view *v)
{
    return axis_padded(&v->y) || axis_padded(&v->x);
}

/* ---- blocks ---- */

/* What so many pixels cost, in half vectors: tiles that are not full cost more than their part. */
static uint64_t cost(uint64_t pixels, const struct conv2d_grain *g)
{
    const uint64_t all = conv2d_ceil(pixels, g->vector);
    return 2 * (all + g->fixed) + (all % g->vectors != 0);
}

/* Rows of a block, of which the pixels cost least in all. */
static uint64_t rows_of(const struct conv2d_view *v, const struct conv2d_grain *g, uint64_t *least)
{
    const uint64_t p = v->y.out, q = v->x.out;
    uint64_t best = 1;
    *least = UINT64_MAX;
    for (uint64_t rows = 1; rows <= p && rows * q <= g->most; rows++) {
        const uint64_t rest = p % rows;
        const uint64_t all = p / rows * cost(rows * q, g) + (rest ? cost(rest * q, g) : 0);
        if (all <= *least) {
            *least = all;
            best = rows;
        }
    }
    return best;
}

struct conv2d_blocks conv2d_blocks(const struct conv2d_view *v, const struct conv2d_grain *g)
{
    const uint64_t p = v->y.out, q = v->x.out;
    struct conv2d_blocks b = { .nn = 1, .pp = 1, .qq = q };
    if (q > g->most) {
        const uint64_t tile = g->vector * g->vectors;
        b.qq = conv2d_part(q, g->most / tile, tile);
    } else {
        uint64_t least; /* of b.nn images */
        b.pp = rows_of(v, g, &least);
        if (p <= g->join / q / 4)
            for (uint64_t n = 2; n <= v->images && n <= g->join / q / p; n++) {
                const uint64_t all = cost(n * p * q, g) * 17 / 16;
                if (all * b.nn < least * n) {
                    least = all;
                    b.nn = n;
                    b.pp = p;
                }
            }
    }
    b.images = conv2d_ceil(v->images, b.nn);
    b.rows = conv2d_ceil(p, b.pp);
    b.columns = conv2d_ceil(q, b.qq);
    b.count = b.images * b.rows * b.columns;
    return b;
}

struct conv2d_block conv2d_block(const struct conv2d_view *v, const struct conv2d_blocks *b,
                                 uint64_t i)
{
    struct conv2d_block block = { .q0 = i % b->columns * b->qq };
    block.p0 = i / b->columns % b->rows * b->pp;
    block.n0 = i / b->columns / b->rows * b->nn;
    block.nn = conv2d_least(b->nn, v->images - block.n0);
    block.pp = conv2d_least(b->pp, v->y.out - block.p0);
    block.qq = conv2d_least(b->qq, v->x.out - block.q0);
    return block;
}

/* ---- chunks ---- */

struct conv2d_chunks conv2d_chunks(const struct conv2d_view *v, uint64_t most, uint64_t unit)
{
    const uint64_t r = v->y.taps, s = v->x.taps;
    struct conv2d_chunks k = { 1, 1, 1, v->sources, r, s, 0 };
    if (s > most) {
        k.sn = conv2d_part(s, most, 1);
    } else if (r > most / s) {
        k.sn = s;
        k.rn = conv2d_part(r, most / s, 1);
    } else {
        k.sn = s;
        k.rn = r;
        most /= r * s;
        unit = most < unit ? 1 : unit;
        k.cn = conv2d_part(v->sources, most / unit, unit);
    }
    k.c = conv2d_ceil(v->sources, k.cn);
    k.r = conv2d_ceil(r, k.rn);
    k.s = conv2d_ceil(s, k.sn);
    k.count = k.c * k.r * k.s;
    return k;
}

struct conv2d_chunk conv2d_chunk(const struct conv2d_view *v, const struct conv2d_chunks *k,
                                 uint64_t i)
{
    struct conv2d_chunk chunk = { .s0 = i % k->s * k->sn };
    chunk.r0 = i / k->s % k->r * k->rn;
    chunk.c0 = i / k->s / k->r * k->cn;
    chunk.cn = conv2d_least(k->cn, v->sources - chunk.c0);
    chunk.rn = conv2d_least(k->rn, v->y.taps - chunk.r0);
    chunk.sn = conv2d_least(k->sn, v->x.taps - chunk.s0);
    return chunk;
}

uint64_t conv2d_steps(const struct conv2d_chunk *k)
{
    return k->cn * k->rn * k->sn;
}

/* ---- sheets ---- */

static struct conv2d_slots slots(const struct conv2d_axis *a, uint64_t out, uint64_t taps,
                                 bool share)
{
    struct conv2d_slots t = { taps, taps, 0, out };
    if (!share)
        return t;
    const uint64_t divisor = greatest_divisor(a->stride, a->step);
    const uint64_t period = a->stride / divisor, hop = a->step / divisor;
    if (period >= taps || hop * ((taps - 1) / period) / out >= taps / period)
        return t; /* nothing is shared, or the taps are too far apart */
    t.count = t.period = period;
    t.hop = hop;
    t.length = out + hop * ((taps - 1) / period);
    return t;
}

struct conv2d_sheet conv2d_sheet(const struct conv2d_view *v, const struct conv2d_block *b,
                                 const struct conv2d_chunk *k, bool share_x)
{
    struct conv2d_sheet t = { slots(&v->y, b->pp, k->rn, b->nn == 1),
                              slots(&v->x, b->qq, k->sn, share_x), 0, 0 };
    t.plane = conv2d_ceil(b->nn * t.y.length * t.x.length, LINE) * LINE;
    t.channel = t.plane * t.y.count * t.x.count;
    return t;
}

void conv2d_offsets(const struct conv2d_view *v, const struct conv2d_sheet *t,
                    const struct conv2d_chunk *k, uint32_t *offsets)
{
    const uint64_t taps = k->rn * k->sn;
    const bool backwards = conv2d_backwards(v);
    for (uint64_t r = 0; r < k->rn; r++)
        for (uint64_t s = 0; s < k->sn; s++) {
            const uint64_t plane = r % t->y.period * t->x.count + s % t->x.period;
            const uint64_t row = r / t->y.period * t->y.hop, i = r * k->sn + s;
            offsets[backwards ? taps - 1 - i : i] =
                (uint32_t)(plane * t->plane + row * t->x.length + s / t->x.period * t->x.hop);
        }
    for (uint64_t i = taps; i < k->cn * taps; i++)
        offsets[i] = offsets[i - taps] + (uint32_t)t->channel;
}

/* Of `count` sources, stride apart from `at` on, those that are no padding: count of them. */
struct span {
    uint64_t zeros, count, first; /* zeros before them; where the first lies */
};

static struct span span(const struct conv2d_axis *a, uint64_t at, uint64_t count)
{
    struct span t = { 0, 0, 0 };
    if (at < a->pad)
        t.zeros = conv2d_least(conv2d_ceil(a->pad - at, a->stride), count);
    if (t.zeros == count)
        return t;
    t.first = at + t.zeros * a->stride - a->pad;
    if (t.first < a->in)
        t.count = conv2d_least(conv2d_ceil(a->in - t.first, a->stride), count - t.zeros);
    return t;
}

static uint64_t place(const struct conv2d_axis *a, uint64_t pixel, uint64_t tap)
{
    return a->at + pixel * a->stride + tap * a->step;
}

/* One plane, of the rows y and columns x. */
static void fill_plane(const struct conv2d_view *v, const struct conv2d_sheet *t, struct span y,
                       struct span x, const float *source, uint64_t ahead, float *to,
                       conv2d_fill_fn *fill)
{
    const uint64_t length = t->x.length, rest = t->y.length - y.zeros - y.count;
    const bool empty = !x.count || !y.count;
    if (empty)
        y.zeros = t->y.length;
    if (y.zeros)
        fill(to, 1, y.zeros * length, y.zeros * length, 0, source, 0, 1, 0);
    if (empty)
        return;
    to += y.zeros * length;
    source += y.first * v->source_width + x.first;
    fill(to, y.count, length, x.zeros, x.count, source, v->y.stride * v->source_width, v->x.stride,
         ahead);
    if (rest)
        fill(to + y.count * length, 1, rest * length, rest * length, 0, source, 0, 1, 0);
}

void conv2d_fill(const struct conv2d_view *v, uint64_t group, const struct conv2d_block *b,
                 const struct conv2d_chunk *k, const struct conv2d_sheet *t, float *sheet,
                 conv2d_fill_fn *fill)
{
    const uint64_t rows = t->y.length * v->y.stride * v->source_width;
    const uint64_t ahead = k->cn > 1 ? v->source_plane : rows;
    const uint64_t rest = t->plane - b->nn * t->y.length * t->x.length;
    for (uint64_t sx = 0; sx < t->x.count; sx++) {
        const struct span x = span(&v->x, place(&v->x, b->q0, k->s0 + sx), t->x.length);
        for (uint64_t sy = 0; sy < t->y.count; sy++) {
            const struct span y = span(&v->y, place(&v->y, b->p0, k->r0 + sy), t->y.length);
            for (uint64_t c = 0; c < k->cn; c++) {
                float *to = sheet + c * t->channel + (sy * t->x.count + sx) * t->plane;
                for (uint64_t i = 0; i < b->nn; i++, to += t->y.length * t->x.length) {
                    const uint64_t channel =
                        ((b->n0 + i) * v->groups + group) * v->sources + k->c0 + c;
                    fill_plane(v, t, y, x, v->source + channel * v->source_plane, ahead, to, fill);
                }
                memset(to, 0, rest * sizeof(*to));
            }
        }
    }
}

/* The sources that pixels from `pixel` on meet through taps from `tap` on. */
static struct span sources(const struct conv2d_axis *a, uint64_t pixel, uint64_t pixels,
                           uint64_t tap, uint64_t taps)
{
    const uint64_t begin = place(a, pixel, tap);
    const uint64_t end = place(a, pixel + pixels - 1, tap + taps - 1) + 1;
    const uint64_t first = begin < a->pad ? 0 : begin - a->pad;
    const uint64_t last = end < a->pad ? 0 : conv2d_least(end - a->pad, a->in);
    return (struct span){ 0, first < last ? last - first : 0, first };
}

struct conv2d_region conv2d_region(const struct conv2d_view *v, uint64_t group,
                                   const struct conv2d_block *b, const struct conv2d_chunk *k)
{
    const struct span y = sources(&v->y, b->p0, b->pp, k->r0, k->rn);
    const struct span x = sources(&v->x, b->q0, b->qq, k->s0, k->sn);
    const uint64_t channel = (b->n0 * v->groups + group) * v->sources + k->c0;
    struct conv2d_region region = { v->source + channel * v->source_plane, 0, v->source_plane, 0 };
    if (!x.count || !y.count)
        return region;
    if (b->nn > 1) { /* whole images */
        region.columns = b->nn;
        region.step *= v->groups * v->sources;
        region.length = k->cn * v->source_plane;
        return region;
    }
    region.p += y.first * v->source_width + x.first;
    region.columns = k->cn;
    region.length = (y.count - 1) * v->source_width + x.count;
    return region;
}

/* ---- sums without padding ---- */

/* What pixel (p, q) meets through tap (r, s) of source channel c of the group, or NULL. */
static const float *met(const struct conv2d_view *v, uint64_t channel, uint64_t p, uint64_t q,
                        uint64_t r, uint64_t s)
{
    const uint64_t y = place(&v->y, p, r), x = place(&v->x, q, s);
    if (y < v->y.pad || x < v->x.pad || y - v->y.pad >= v->y.in || x - v->x.pad >= v->x.in)
        return NULL;
    return v->source + channel * v->source_plane + (y - v->y.pad) * v->source_width + x - v->x.pad;
}

float conv2d_pixel(const struct conv2d_view *v, uint64_t n, uint64_t group, uint64_t j, uint64_t p,
                   uint64_t q)
{
    float sum = 0;
    for (uint64_t c = 0; c < v->sources; c++)
        for (uint64_t r = 0; r < v->y.taps; r++)
            for (uint64_t s = 0; s < v->x.taps; s++) {
                const float *x = met(v, (n * v->groups + group) * v->sources + c, p, q, r, s);
                if (!x)
                    continue;
                sum += *x * *conv2d_filter_at(v, group, j, c, r, s);
                if (isnan(sum))
                    return sum;
            }
    return sum;
}

float conv2d_tap(const struct conv2d_view *v, uint64_t group, uint64_t j, uint64_t c, uint64_t r,
                 uint64_t s)
{
    float sum = 0;
    for (uint64_t n = 0; n < v->images; n++)
        for (uint64_t p = 0; p < v->y.out; p++)
            for (uint64_t q = 0; q < v->x.out; q++) {
                const uint64_t pixel = (n * v->groups + group) * v->columns + j;
                const float *x = met(v, (n * v->groups + group) * v->sources + c, p, q, r, s);
                if (!x)
                    continue;
                sum += *x * v->pixels[pixel * v->plane + p * v->row + q * v->column];
                if (isnan(sum))
                    return sum;
            }
    return sum;
}
