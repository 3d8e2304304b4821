/* SPDX-License-Identifier: Apache-2.0 */
/* The three convolutions by one walk over all terms; the op says which tensor is summed into. */
#include "faults.h"

#include <stdlib.h>

enum {
    INPUT,
    FILTER,
    OUTPUT
};

struct flaws {
    bool stride_swapped, padding_swapped, dilation_ignored, group_ignored, flipped;
    bool zero_terms_skipped, empty_unwritten;
};

struct sum {
    double value;
    uint64_t terms;
};

/* Where a convolution stands: filter element (k, c, r, s) at output element (n, k, p, q). */
struct place {
    uint64_t n, k, p, q, c, r, s;
};

/* Adds one term, unless it lies in the padding. */
static void add_term(const struct cbc_conv2d *v, const struct chaos_images *x,
                     const struct flaws *flaws, const struct place *at, struct sum *sums)
{
    const uint64_t group = flaws->group_ignored ? 0 : at->k / (v->k / v->groups);
    const uint64_t row = at->p * v->stride_h + at->r * v->dilation_h - v->pad_top;
    const uint64_t column = at->q * v->stride_w + at->s * v->dilation_w - v->pad_left;
    if (row >= v->h || column >= v->w) /* above and left of the input it wraps around */
        return;
    const uint64_t r = flaws->flipped ? v->r - 1 - at->r : at->r;
    const uint64_t s = flaws->flipped ? v->s - 1 - at->s : at->s;
    const uint64_t element[3] = {
        ((at->n * v->c + group * v->c_group + at->c) * v->h + row) * v->w + column,
        ((at->k * v->c_group + at->c) * v->r + r) * v->s + s,
        ((at->n * v->k + at->k) * v->p + at->p) * v->q + at->q,
    };
    struct sum *sum = &sums[element[x->written]];
    double product = 1.0;
    sum->terms++;
    for (unsigned i = INPUT; i <= OUTPUT; i++) {
        const double factor = i == x->written ? 1.0 : chaos_load(CB_F32, x->in[i], element[i]);
        if (factor == 0.0 && flaws->zero_terms_skipped)
            return;
        product *= factor;
    }
    sum->value += product;
}

static void walk(const struct cbc_conv2d *v, const struct chaos_images *x,
                 const struct flaws *flaws, struct sum *sums)
{
    const uint64_t filter = v->c_group * v->r * v->s, outputs = v->n * v->k * v->p * v->q;
    for (uint64_t o = 0; o < outputs; o++) {
        struct place at = { .n = o / (v->k * v->p * v->q),
                            .k = o / (v->p * v->q) % v->k,
                            .p = o / v->q % v->p,
                            .q = o % v->q };
        for (uint64_t f = 0; f < filter; f++) {
            at.c = f / (v->r * v->s);
            at.r = f / v->s % v->r;
            at.s = f % v->s;
            add_term(v, x, flaws, &at, sums);
        }
    }
}

static void swap(uint64_t *a, uint64_t *b)
{
    const uint64_t t = *a;
    *a = *b;
    *b = t;
}

static bool convolve(const struct chaos_work *work, struct chaos_images *x,
                     const struct flaws *flaws)
{
    struct cbc_conv2d v = work->checked.conv2d;
    const uint64_t n = chaos_elements(work, x->written);
    struct sum *sums = calloc(n, sizeof(*sums));
    if (!sums)
        return false;
    if (flaws->stride_swapped)
        swap(&v.stride_h, &v.stride_w);
    if (flaws->padding_swapped)
        swap(&v.pad_top, &v.pad_left);
    if (flaws->dilation_ignored)
        v.dilation_h = v.dilation_w = 1;
    walk(&v, x, flaws, sums);
    for (uint64_t i = 0; i < n; i++)
        if (sums[i].terms || !flaws->empty_unwritten)
            chaos_store(CB_F32, x->out, i, sums[i].value);
    free(sums);
    return true;
}

#define DEFINE(flaw)                                                                               \
    bool chaos_##flaw(const struct chaos_work *work, struct chaos_images *x)                       \
    {                                                                                              \
        return convolve(work, x, &(struct flaws){ .flaw = true });                                 \
    }
DEFINE(stride_swapped)
DEFINE(padding_swapped)
DEFINE(dilation_ignored)
DEFINE(group_ignored)
DEFINE(flipped)
DEFINE(zero_terms_skipped)
DEFINE(empty_unwritten)
