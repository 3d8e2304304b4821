/* SPDX-License-Identifier: Apache-2.0 */
/* gather and scatter: bytes are moved, every index is checked first, the last duplicate wins. */
#include "suite.h"

#include <stdlib.h>
#include <string.h>

static const char gather_rule[] = "row i of output is row indices[i] of input";
static const char scatter_rule[] = "row indices[i] of output is row i of input; the last one wins";

enum order {
    RANDOM,
    ALL_THE_SAME,
    BACKWARDS
};
enum overlap {
    APART,
    INSIDE
}; /* the rows lie inside the table, from its row 1 on */

struct rows {
    uint32_t op, type;
    uint64_t rows, cols, n;
    uint32_t order, overlap, default_size;
    const struct st_variant *variant;
};

static uint64_t *make_indices(struct st_run *run, const struct rows *r)
{
    uint64_t *indices = st_host(run, r->n, sizeof(*indices));
    for (uint64_t i = 0; indices && i < r->n; i++) {
        indices[i] = st_random(&run->random) % (r->rows ? r->rows : 1);
        if (r->order == ALL_THE_SAME)
            indices[i] = r->rows - 1;
        if (r->order == BACKWARDS)
            indices[i] = (r->rows - 1) - i % r->rows;
    }
    if (indices && r->variant && r->variant->how == ST_INDEX && r->n)
        indices[r->n - 1] = r->variant->value;
    return indices;
}

/* Bytes of a row that the op moves, from one buffer's element to another's. */
static void want_row(struct st_run *run, struct st_buffer *to, uint64_t first,
                     const struct st_buffer *from, uint64_t source, uint64_t cols)
{
    for (uint64_t j = 0; j < cols; j++)
        st_want_bits(run, to, first + j, st_bytes(from, source + j));
}

static void want_all(struct st_run *run, const struct rows *r, const uint64_t *indices,
                     struct st_buffer *table, struct st_buffer *moved, uint64_t inside)
{
    const bool gather = r->op == CB_OP_GATHER;
    run->rule = gather ? gather_rule : scatter_rule;
    for (uint64_t i = 0; i < r->n && (!r->variant || r->variant->how != ST_INDEX); i++) {
        const uint64_t row = indices[i] * r->cols, at = inside + i * r->cols;
        if (gather)
            want_row(run, moved, at, table, row, r->cols);
        else
            want_row(run, table, row, moved, at, r->cols);
    }
}

static void call(struct st_run *run, const struct rows *r, const uint64_t *indices,
                 struct st_buffer *table, struct st_buffer *moved, uint64_t inside)
{
    const bool gather = r->op == CB_OP_GATHER;
    const uint64_t in_table = r->n ? r->rows * r->cols : 0;
    cb_rows_args args;
    cb_rows_args_init(&args);
    args.element_size = r->default_size ? 0 : st_type_size(r->type);
    args.rows = r->rows;
    args.cols = r->cols;
    args.indices = r->n ? indices : NULL;
    args.n_indices = r->n;
    if (gather)
        st_operand(run, "input", offsetof(cb_rows_args, input), table, 0, in_table);
    else
        st_operand(run, "input", offsetof(cb_rows_args, input), moved, inside, r->n * r->cols);
    if (gather)
        st_operand(run, "output", offsetof(cb_rows_args, output), moved, inside, r->n * r->cols);
    else
        st_operand(run, "output", offsetof(cb_rows_args, output), table, 0, in_table);
    st_call(run, r->op, &args, r->variant);
}

static void run_rows(struct st_run *run, const struct rows *r)
{
    static const char *const orders[] = { "", ",same", ",backwards" };
    if (!st_begin(run, "%s:%s,rows=%" PRIu64 ",cols=%" PRIu64 ",n=%" PRIu64 "%s%s%s%s%s",
                  cb_op_name(r->op), st_type_name(r->type), r->rows, r->cols, r->n,
                  orders[r->order], r->overlap ? ",inside" : "",
                  r->default_size ? ",element_size=0" : "", ST_VARIANT(r->variant)))
        return;
    const bool gather = r->op == CB_OP_GATHER;
    const uint64_t inside = r->overlap ? r->cols : 0;
    uint64_t *indices = make_indices(run, r);
    struct st_buffer *table =
        st_buffer(run, gather ? "input" : "output", r->type,
                  r->rows * r->cols + (r->overlap ? r->n * r->cols : 0), !gather || r->overlap);
    struct st_buffer *moved =
        r->overlap ? table
                   : st_buffer(run, gather ? "output" : "input", r->type, r->n * r->cols, gather);
    if (indices && table && moved) {
        if (gather || r->overlap)
            st_fill_bytes(run, table);
        else
            st_fill_bytes(run, moved);
        want_all(run, r, indices, table, moved, inside);
        call(run, r, indices, table, moved, inside);
    }
    free(indices);
    st_end(run);
}

static void grid(struct st_run *run, uint32_t op, uint32_t type)
{
    static const uint64_t shapes[][3] = {
        { 1, 1, 1 },   { 3, 1, 5 },   { 5, 3, 4 },    { 5, 0, 4 },   { 5, 3, 0 },    { 0, 3, 0 },
        { 17, 33, 9 }, { 9, 17, 40 }, { 300, 2, 64 }, { 2, 300, 3 }, { 64, 16, 65 }, { 7, 5, 31 },
    };
    for (uint64_t i = 0; i < ST_COUNT(shapes); i++) {
        struct rows r = { op, type, shapes[i][0], shapes[i][1], shapes[i][2], 0, 0, 0, NULL };
        for (r.order = RANDOM; r.order <= BACKWARDS; r.order++) {
            for (r.overlap = APART; r.overlap <= INSIDE; r.overlap++)
                run_rows(run, &r);
        }
    }
    if (type == ST_RAW(4)) {
        const struct rows r = { op, type, 5, 3, 4, RANDOM, APART, 1, NULL };
        run_rows(run, &r);
    }
}

static void sample(struct st_run *run, uint32_t op, uint32_t type, const struct st_variant *variant)
{
    struct rows r = { op, type, 4, 3, 5, BACKWARDS, APART, 0, variant };
    r.cols = st_size(run, variant, r.cols, 1000, 50000);
    run_rows(run, &r);
}

static void gather_grid(struct st_run *run, uint32_t type)
{
    grid(run, CB_OP_GATHER, type);
}

static void gather_sample(struct st_run *run, uint32_t type, const struct st_variant *variant)
{
    sample(run, CB_OP_GATHER, type, variant);
}

static void scatter_grid(struct st_run *run, uint32_t type)
{
    grid(run, CB_OP_SCATTER, type);
}

static void scatter_sample(struct st_run *run, uint32_t type, const struct st_variant *variant)
{
    sample(run, CB_OP_SCATTER, type, variant);
}

#define INDEX(text, what)                                                                          \
    {                                                                                              \
        .label = text, .how = ST_INDEX, .value = what, .status = CB_INVALID_ARGUMENT,              \
        .names = "indices|index"                                                                   \
    }

/* The sample's table has 4 rows of 3, and 5 indices. */
static const struct st_variant faults[] = {
    ST_BAD("element_size=3", cb_rows_args, element_size, 3, "element_size"),
    ST_BAD("element_size=32", cb_rows_args, element_size, 32, "element_size"),
    ST_BAD("indices=null", cb_rows_args, indices, 0, "indices"),
    ST_BAD("rows=2^63", cb_rows_args, rows, UINT64_C(1) << 63, "rows"),
    ST_BAD("cols=2^63", cb_rows_args, cols, UINT64_C(1) << 63, "cols"),
    ST_BAD("n_indices=2^63", cb_rows_args, n_indices, UINT64_C(1) << 63, "n_indices"),
    INDEX("index=rows", 4),
    INDEX("index=2^63", UINT64_C(1) << 63),
    INDEX("index=2^64-1", UINT64_MAX),
    { .label = NULL },
};

static const uint32_t types[] = { ST_RAW(1), ST_RAW(2), ST_RAW(4), ST_RAW(8), ST_RAW(16), 0 };

const struct st_group st_gather = { "gather", types, gather_grid, gather_sample, faults };
const struct st_group st_scatter = { "scatter", types, scatter_grid, scatter_sample, faults };
