/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor.h"

#include <stdio.h>

const uint32_t st_float_types[] = { CB_F32, CB_F64, CB_BF16, CB_F16, 0 };

/* Overflows, although an extent is 0: that one counts as 1. */
const uint64_t st_huge_shape[3] = { UINT64_C(1) << 33, UINT64_C(1) << 33, 0 };

static uint64_t product(const struct st_tensor *t, uint32_t from, uint32_t to)
{
    uint64_t n = 1;
    for (uint32_t i = from; i < to; i++)
        n *= t->extent[i];
    return n;
}

uint64_t st_tensor_count(const struct st_tensor *t)
{
    return product(t, 0, t->rank);
}

uint64_t st_tensor_length(const struct st_tensor *t)
{
    return t->extent[t->axis];
}

uint64_t st_tensor_step(const struct st_tensor *t)
{
    return product(t, t->axis + 1, t->rank);
}

uint64_t st_tensor_rows(const struct st_tensor *t)
{
    return product(t, 0, t->axis) * st_tensor_step(t);
}

uint64_t st_tensor_row(const struct st_tensor *t, uint64_t i)
{
    const uint64_t step = st_tensor_step(t);
    return i / step * step * st_tensor_length(t) + i % step;
}

const char *st_tensor_text(const struct st_tensor *t, char text[ST_TENSOR_TEXT])
{
    int n = 0;
    for (uint32_t i = 0; i < t->rank && i < 8; i++)
        n += snprintf(text + n, (size_t)(ST_TENSOR_TEXT - n), "%s%" PRIu64,
                      i ? "x" : "shape=", t->extent[i]);
    if (t->rank > 8)
        n += snprintf(text + n, (size_t)(ST_TENSOR_TEXT - n), "x...rank=%" PRIu32, t->rank);
    snprintf(text + n, (size_t)(ST_TENSOR_TEXT - n), ",axis=%" PRIu32, t->axis);
    return text;
}

bool st_tensor_try(uint64_t i, bool full, struct st_tensor *out)
{
    static const struct st_tensor shapes[] = {
        { { 7 }, 1, 0 },          { { 0 }, 1, 0 },         { { 3, 0, 2 }, 3, 1 },
        { { 0, 3, 2 }, 3, 1 },    { { 3, 4, 5 }, 3, 0 },   { { 3, 4, 5 }, 3, 1 },
        { { 3, 4, 5 }, 3, 2 },    { { 9, 8 }, 2, 0 },      { { 9, 8 }, 2, 1 },
        { { 1, 1, 1, 1 }, 4, 2 }, { { 65, 3 }, 2, 0 },     { { 3, 65 }, 2, 1 },
        { { 2, 3, 2, 3 }, 4, 2 }, { { 33, 1, 31 }, 3, 0 }, { { 1, 300 }, 2, 1 },
        { { 300, 1 }, 2, 0 },     { { 1, 300 }, 2, 0 },    { { 4095 }, 1, 0 },
        { { 4096 }, 1, 0 },       { { 4097 }, 1, 0 },      { { 2, 4097 }, 2, 1 },
        { { 4097, 2 }, 2, 0 },    { { 20000 }, 1, 0 },     { { 2, 2, 2, 2, 2, 2, 2 }, 7, 3 },
    };
    if (i < ST_COUNT(shapes)) {
        *out = shapes[i];
        return true;
    }
    i -= ST_COUNT(shapes);
    if (i == 0) { /* as deep as it goes */
        *out = (struct st_tensor){ .rank = CB_MAX_RANK, .axis = CB_MAX_RANK - 2 };
        for (uint32_t e = 0; e < CB_MAX_RANK; e++)
            out->extent[e] = e >= CB_MAX_RANK - 2 ? 3 : 1;
        return true;
    }
    if (i <= 65) { /* every length around every vector */
        *out = (struct st_tensor){ { 2, i }, 2, 1 };
        return true;
    }
    *out = (struct st_tensor){ { 3, 1 + i % 70, 1 + i / 70 }, 3, 1 };
    return full && i / 70 < 20;
}

struct st_tensor st_tensor_sample(const struct st_run *run, const struct st_variant *v)
{
    return (
        struct st_tensor){ { st_size(run, v, 3, 7, 31), st_size(run, v, 4, 300, 900), 5 }, 3, 1 };
}
