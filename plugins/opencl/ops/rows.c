/* SPDX-License-Identifier: Apache-2.0 */
/* gather and scatter. */
#include "ops.h"

#include <stdlib.h>

/* The largest unit that rows can be moved in, from and to where they are. */
static uint32_t unit_of(const struct ocl_call *call, const struct cbc_rows *g)
{
    uint32_t unit = 16;
    while ((g->row_bytes | call->buffers[0].offset | call->buffers[1].offset) % unit)
        unit /= 2;
    return unit;
}

static const char *unit_type(uint32_t unit)
{
    switch (unit) {
    case 16: return "ulong2";
    case 8: return "ulong";
    case 4: return "uint";
    case 2: return "ushort";
    default: return "uchar";
    }
}

static cb_status launch(struct ocl_call *call, uint32_t op, const struct cbc_rows *g,
                        const uint64_t *rows, uint64_t n)
{
    const uint32_t unit = unit_of(call, g);
    const uint64_t units = g->row_bytes / unit;
    struct ocl_buffer map;
    struct ocl_launch run;
    const cb_status st =
        ocl_call_upload(call, rows, (op == CB_OP_SCATTER ? 2 : 1) * n * sizeof(*rows), &map);
    if (st != CB_OK)
        return st;
    ocl_launch_begin(&run, call, "rows", "move_rows", "-DUNIT=%s -DSCATTER=%d -DIN_A_ROW=%d",
                     unit_type(unit), op == CB_OP_SCATTER, ocl_in_a_row(call->ocl->device));
    ocl_arg_buffer(&run, &call->buffers[0], unit);
    ocl_arg_buffer(&run, &call->buffers[1], unit);
    ocl_arg_buffer(&run, &map, sizeof(*rows));
    ocl_arg_u64(&run, n);
    ocl_arg_u64(&run, units);
    return ocl_launch_vector(&run, n * units, ocl_per_item(call->ocl->device, n * units));
}

/* ---- scatter: work-items run in any order, so of equal indices only the last is given to them ---
 */

/* A set of rows, by open addressing; a free place holds UINT64_MAX, which is no row. */
static bool set_add(uint64_t *set, uint64_t room, uint64_t row)
{
    uint64_t at = row * UINT64_C(0x9e3779b97f4a7c15) >> 32 & (room - 1);
    while (set[at] != UINT64_MAX && set[at] != row)
        at = (at + 1) & (room - 1);
    if (set[at] == row)
        return false;
    set[at] = row;
    return true;
}

/* Writes pairs, source and destination, and returns how many. */
static uint64_t last_of_each(const struct cbc_rows *g, uint64_t *set, uint64_t room,
                             uint64_t *pairs)
{
    uint64_t n = 0;
    for (uint64_t i = 0; i < room; i++)
        set[i] = UINT64_MAX;
    for (uint64_t i = g->n_indices; i-- > 0;)
        if (set_add(set, room, g->indices[i])) {
            pairs[2 * n] = i;
            pairs[2 * n + 1] = g->indices[i];
            n++;
        }
    return n;
}

static cb_status scatter(struct ocl_call *call, const struct cbc_rows *g)
{
    uint64_t room = 2, *set = NULL, *pairs = NULL;
    cb_status st = CB_OK;
    while (room < 2 * g->n_indices)
        room *= 2;
    set = malloc(room * sizeof(*set));
    pairs = malloc(2 * g->n_indices * sizeof(*pairs));
    if (set && pairs)
        st = launch(call, CB_OP_SCATTER, g, pairs, last_of_each(g, set, room, pairs));
    else
        st = cbc_fail(call->err, CB_OUT_OF_MEMORY, call->where, "no memory for %llu indices",
                      (unsigned long long)g->n_indices);
    free(set);
    free(pairs);
    return st;
}

static cb_status rows(uint32_t op, void *self, const cb_rows_args *args, cb_error *err)
{
    struct ocl_call call;
    struct cbc_rows g;
    cb_status st = ocl_call_begin(&call, self, cb_op_name(op), err);
    if (st == CB_OK)
        st = cbc_check_rows(op, args, &g, err);
    if (st == CB_OK)
        st = cbc_check_indices(op, &g, err);
    if (st == CB_OK)
        st = ocl_can(call.ocl, op, &g, err);
    if (st == CB_OK)
        st = ocl_call_open(&call, g.stream, g.operands, 2, false, err);
    if (st == CB_OK && call.buffers[1].mem)
        st = op == CB_OP_SCATTER ? scatter(&call, &g)
                                 : launch(&call, op, &g, g.indices, g.n_indices);
    return ocl_call_end(&call, st);
}

cb_status ocl_gather(void *self, const cb_rows_args *args, cb_error *err)
{
    return rows(CB_OP_GATHER, self, args, err);
}

cb_status ocl_scatter(void *self, const cb_rows_args *args, cb_error *err)
{
    return rows(CB_OP_SCATTER, self, args, err);
}
