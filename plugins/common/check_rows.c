/* SPDX-License-Identifier: Apache-2.0 */
/* gather and scatter: a table of rows on one side, the named rows on the other. */
#include "check.h"
#include "error.h"

cb_status cbc_check_rows(uint32_t op, const cb_rows_args *args, struct cbc_rows *out, cb_error *err)
{
    const char *where = cb_op_name(op);
    const bool scatter = op == CB_OP_SCATTER;
    cb_rows_args l;
    cb_status st = cb_args_read(&l, sizeof(l), CB_ROWS_ARGS_1_0, args, where, err);
    if (st == CB_OK)
        st = cbc_check_flags(l.flags, 0, where, err);
    if (st != CB_OK)
        return st;

    const uint32_t element = l.element_size ? l.element_size : 4;
    if (element > 16 || (element & (element - 1)))
        return cbc_invalid(err, where, "element_size %u is none of 1, 2, 4, 8, 16",
                           (unsigned)l.element_size);
    uint64_t row = l.cols, table = element, moved = element;
    if (!cbc_mul(&table, l.cols) || !cbc_mul(&table, l.rows))
        return cbc_invalid(err, where, "rows %llu of cols %llu overflows",
                           (unsigned long long)l.rows, (unsigned long long)l.cols);
    if (!cbc_mul(&moved, l.cols) || !cbc_mul(&moved, l.n_indices))
        return cbc_invalid(err, where, "n_indices %llu of cols %llu overflows",
                           (unsigned long long)l.n_indices, (unsigned long long)l.cols);
    if (l.n_indices && !l.indices)
        return cbc_invalid(err, where, "indices is NULL with n_indices %llu",
                           (unsigned long long)l.n_indices);

    row *= element;
    *out = (struct cbc_rows){
        .rows = l.rows,
        .row_bytes = row,
        .indices = l.indices,
        .n_indices = l.n_indices,
        .stream = l.stream,
        .operands = { { "input", l.input, 0, element, false },
                      { "output", l.output, 0, element, true } },
    };
    out->operands[scatter ? 0 : 1].bytes = row * l.n_indices;
    return CB_OK;
}

cb_status cbc_check_indices(uint32_t op, struct cbc_rows *rows, cb_error *err)
{
    uint64_t end = 0;
    for (uint64_t i = 0; i < rows->n_indices; i++) {
        const uint64_t index = rows->indices[i];
        if (index >= rows->rows)
            return cbc_invalid(err, cb_op_name(op), "indices[%llu] is %llu, not below rows %llu",
                               (unsigned long long)i, (unsigned long long)index,
                               (unsigned long long)rows->rows);
        if (index >= end)
            end = index + 1;
    }
    rows->operands[op == CB_OP_SCATTER ? 1 : 0].bytes = end * rows->row_bytes;
    return CB_OK;
}
