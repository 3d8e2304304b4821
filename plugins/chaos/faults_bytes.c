/* SPDX-License-Identifier: Apache-2.0 */
/* gather, scatter, copies and memset, and what an op of any kind can get wrong. */
#include "faults.h"

#include <stdlib.h>
#include <string.h>

#define INDICES_MAX 1000000 /* more than that, and an index is not worth spoiling */

/* ---- any op ---- */

/* Where the last element that the work writes begins. A scatter may end before the table does. */
static uint64_t last_written(const struct chaos_work *work, unsigned written)
{
    const struct cbc_rows *rows = &work->checked.rows;
    const uint32_t element = work->operands[written].align;
    if (work->code == CB_OP_SCATTER)
        return (work->list[rows->n_indices - 1] + 1) * rows->row_bytes - element;
    return work->operands[written].bytes - element;
}

bool chaos_last_skipped(const struct chaos_work *work, struct chaos_images *x)
{
    const uint64_t at = last_written(work, x->written);
    memcpy(x->out + at, x->in[x->written] + at, work->operands[x->written].align);
    return true;
}

/* Spoils one bit of the first input that the output does not overlap. */
bool chaos_input_modified(const struct chaos_work *work, struct chaos_images *x)
{
    for (unsigned i = 0; i < work->n_operands; i++) {
        if (!x->in[i] || cbc_overlap(&work->operands[i], &work->operands[x->written]))
            continue;
        x->in[i][0] ^= 1;
        break;
    }
    return true;
}

/* ---- gather and scatter ---- */

void chaos_index_wrapped(struct chaos_work *work)
{
    cb_rows_args *r = &work->args.gather;
    if (!r->rows || !r->indices || r->n_indices > INDICES_MAX)
        return;
    work->list = calloc(r->n_indices + 1, sizeof(*work->list));
    for (uint64_t i = 0; work->list && i < r->n_indices; i++)
        work->list[i] = r->indices[i] % r->rows;
    if (work->list)
        r->indices = work->list;
}

/* Reads the indices where the caller had them when the call was made. That is a race, and meant to
 * be. */
__attribute__((no_sanitize("thread"))) void chaos_indices_late(struct chaos_work *work)
{
    const volatile uint64_t *caller = work->checked.rows.indices;
    for (uint64_t i = 0; work->stream && i < work->checked.rows.n_indices; i++)
        work->list[i] = caller[i];
}

/* Each row but the last that is named is taken for the one after it. */
void chaos_rows_shifted(struct chaos_work *work)
{
    const uint64_t n = work->args.gather.n_indices;
    uint64_t last = 0;
    for (uint64_t i = 0; i < n; i++)
        last = work->list[i] > last ? work->list[i] : last;
    for (uint64_t i = 0; i < n; i++)
        work->list[i] = work->list[i] < last ? work->list[i] + 1 : last;
}

/* The rows before the first bad index are moved although the call fails. */
void chaos_rows_written_early(struct chaos_work *work)
{
    cb_rows_args good = work->args.gather;
    uint64_t n = 0;
    if (!good.indices || good.n_indices > INDICES_MAX)
        return;
    while (n < good.n_indices && good.indices[n] < good.rows)
        n++;
    if (!n || n == good.n_indices)
        return;
    good.n_indices = n;
    chaos_call(work->chaos, work->code, &good, NULL);
}

bool chaos_first_wins(const struct chaos_work *work, struct chaos_images *x)
{
    const struct cbc_rows *rows = &work->checked.rows;
    for (uint64_t i = rows->n_indices; i-- > 0;)
        memcpy(x->out + work->list[i] * rows->row_bytes, x->in[0] + i * rows->row_bytes,
               rows->row_bytes);
    return true;
}

/* ---- copies and memset ---- */

void chaos_copy_short(struct chaos_work *work)
{
    uint64_t *bytes = &work->args.copy_htod.bytes;
    if (*bytes)
        --*bytes;
}

_Static_assert(offsetof(cb_copy_htod_args, bytes) == offsetof(cb_copy_dtoh_args, bytes) &&
                   offsetof(cb_copy_htod_args, bytes) == offsetof(cb_copy_dtod_args, bytes),
               "the three copies have their bytes in one place");

/* Byte by byte forwards, so that what is written is read again where the ranges overlap. */
bool chaos_copy_forward(const struct chaos_work *work, struct chaos_images *x)
{
    const struct cbc_operand *dst = &work->operands[0], *src = &work->operands[1];
    const uint64_t ahead = dst->ptr - src->ptr;
    for (uint64_t i = 0; i < dst->bytes; i++)
        x->out[i] = ahead && ahead <= i ? x->out[i - ahead] : x->in[1][i];
    return true;
}

void chaos_value_cut(struct chaos_work *work)
{
    work->args.memset.value &= 255;
}
