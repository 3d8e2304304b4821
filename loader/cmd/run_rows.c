/* SPDX-License-Identifier: Apache-2.0 */
/* A table's rows are what its first axis counts, whatever the shape of one. */
#include "run.h"

#include <inttypes.h>
#include <string.h>

/* The indices stay in host memory, as the ABI wants them. */
static bool check_indices(struct run *run, struct array *a)
{
    if (a->npy.type != NPY_I64 && a->npy.type != NPY_U64)
        return refuse(run, a, "it holds %s, not 64-bit integers", npy_type_name(a->npy.type));
    if (!array_lay_out(a, false))
        return false;
    for (uint64_t i = 0; a->npy.type == NPY_I64 && i < a->npy.bytes / sizeof(int64_t); i++) {
        int64_t index;
        memcpy(&index, a->elements + i * sizeof(index), sizeof(index));
        if (index < 0)
            return refuse(run, a, "index %" PRId64 " at place %" PRIu64 " is negative", index, i);
    }
    return true;
}

/* The shape of the rows that the indices name: that of the indices, then that of a row. Room for
 * two ranks, of which make_output takes only one. */
static uint32_t rows_shape(const struct array *table, const struct array *indices,
                           uint64_t shape[2 * NPY_RANK_MAX])
{
    const uint32_t n = indices->npy.rank, row = table->npy.rank - 1;
    memcpy(shape, indices->npy.shape, n * sizeof(*shape));
    memcpy(shape + n, table->npy.shape + 1, row * sizeof(*shape));
    return n + row;
}

static bool fill(struct run *run)
{
    struct array *table = &run->in[0], *indices = &run->in[1];
    cb_rows_args *r = &run->args.rows;
    cb_rows_args_init(r);
    if (!table->npy.rank)
        return refuse(run, table, "it has no axis, so no rows");
    if (!check_indices(run, indices) || !array_lay_out(table, false))
        return false;
    r->element_size = npy_item_size(table->npy.type);
    r->rows = table->npy.shape[0];
    r->cols = 1;
    for (uint32_t i = 1; i < table->npy.rank; i++)
        r->cols *= table->npy.shape[i];
    r->n_indices = indices->npy.bytes / sizeof(uint64_t);
    return true;
}

/* After the arrays have their final places: the elements behind a header may not be aligned. */
static bool set_indices(struct run *run)
{
    struct array *indices = &run->in[1];
    memmove(indices->memory, indices->elements, indices->npy.bytes);
    indices->elements = indices->memory;
    run->args.rows.indices = indices->memory;
    return true;
}

bool prepare_gather(struct run *run)
{
    uint64_t shape[2 * NPY_RANK_MAX];
    if (!fill(run))
        return false;
    const uint32_t rank = rows_shape(&run->in[0], &run->in[1], shape);
    run->in[0].address = &run->args.rows.input;
    return make_output(run, run->in[0].npy.type, rank, shape, false, &run->args.rows.output) &&
           set_indices(run);
}

bool prepare_scatter(struct run *run)
{
    struct array *table = &run->in[0], *rows = &run->in[2];
    uint64_t shape[2 * NPY_RANK_MAX];
    if (!fill(run))
        return false;
    const uint32_t rank = rows_shape(table, &run->in[1], shape);
    if (!has_type(run, rows, table->npy.type) || !has_rank(run, rows, rank))
        return false;
    for (uint32_t i = 0; i < rank; i++) {
        const uint32_t n = run->in[1].npy.rank;
        const bool index = i < n;
        if (!fits(run, rows, i, index ? &run->in[1] : table, index ? i : i - n + 1))
            return false;
    }
    if (!array_lay_out(rows, false))
        return false;
    rows->address = &run->args.rows.input;
    make_output_of(run, table, &run->args.rows.output);
    return set_indices(run);
}
