/* SPDX-License-Identifier: Apache-2.0 */
/* gather and scatter: rows of bytes, moved one after the other, so that of duplicates the last
 * wins. */
#include "../cpu.h"

#include <string.h>

static void move_rows(const struct cbc_rows *g, bool scatter, const char *input, char *output)
{
    for (uint64_t i = 0; i < g->n_indices; i++) {
        const uint64_t here = i * g->row_bytes, there = g->indices[i] * g->row_bytes;
        if (scatter)
            memcpy(output + there, input + here, g->row_bytes);
        else
            memcpy(output + here, input + there, g->row_bytes);
    }
}

static cb_status rows(uint32_t op, void *self, const cb_rows_args *args, cb_error *err)
{
    struct cpu_call call;
    struct cbc_rows g;
    cb_status st = cpu_call_begin(&call, self, cb_op_name(op), err);
    if (st == CB_OK)
        st = cbc_check_rows(op, args, &g, err);
    if (st == CB_OK)
        st = cbc_check_indices(op, &g, err);
    if (st == CB_OK)
        st = cpu_call_open(&call, g.stream, g.operands, 2, false, err);
    if (st == CB_OK && g.row_bytes)
        move_rows(&g, op == CB_OP_SCATTER, call.host[0], call.host[1]);
    return cpu_call_end(&call, st);
}

cb_status cpu_gather(void *self, const cb_rows_args *args, cb_error *err)
{
    return rows(CB_OP_GATHER, self, args, err);
}

cb_status cpu_scatter(void *self, const cb_rows_args *args, cb_error *err)
{
    return rows(CB_OP_SCATTER, self, args, err);
}
