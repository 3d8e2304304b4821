/* SPDX-License-Identifier: Apache-2.0 */
/* Row-major shapes with an axis, for softmax and reduce. A row is what lies along the axis. */
#ifndef SELFTEST_TENSOR_H
#define SELFTEST_TENSOR_H

#include "suite.h"

#define ST_TENSOR_TEXT 96

struct st_tensor {
    uint64_t extent[CB_MAX_RANK];
    uint32_t rank, axis;
};

/* f32, f64, bf16, f16. */
extern const uint32_t st_float_types[];

uint64_t st_tensor_count(const struct st_tensor *t);
uint64_t st_tensor_length(const struct st_tensor *t); /* of a row */
uint64_t st_tensor_step(const struct st_tensor *t);   /* elements between neighbours in a row */
uint64_t st_tensor_rows(const struct st_tensor *t);
uint64_t st_tensor_row(const struct st_tensor *t, uint64_t i); /* its first element */

/* "shape=3x4x5,axis=1". */
const char *st_tensor_text(const struct st_tensor *t, char text[ST_TENSOR_TEXT]);

/* The shapes of the grid; false beyond the last. */
bool st_tensor_try(uint64_t i, bool full, struct st_tensor *out);
/* The shape that variants are done to: 3 x 4 x 5 with axis 1, larger where it is run again. */
struct st_tensor st_tensor_sample(const struct st_run *run, const struct st_variant *variant);

extern const uint64_t st_huge_shape[3];
#define ST_TENSOR_FAULTS(type)                                                                     \
    ST_UNKNOWN("dtype=99", type, dtype, 99, "dtype"), ST_BAD("rank=0", type, rank, 0, "rank"),     \
        ST_BAD("rank=65", type, rank, CB_MAX_RANK + 1, "rank"),                                    \
        ST_BAD("axis=3", type, axis, 3, "axis"),                                                   \
        ST_BAD("axis=2^32-1", type, axis, UINT32_MAX, "axis"),                                     \
        ST_BAD("shape=null", type, shape, 0, "shape"),                                             \
        ST_BAD_POINTER("shape=huge", type, shape, st_huge_shape, "shape")

#endif
