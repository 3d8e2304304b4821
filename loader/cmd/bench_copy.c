/* SPDX-License-Identifier: Apache-2.0 */
/* copy: the three copies, in order on the default stream, none of which waits for the one before.
 * They move bytes; the type says in which numbers the case counts and is judged. */
#include "bench.h"

enum {
    HTOD,
    DTOH,
    DTOD,
};

static const char *const names[] = { "htod", "dtoh", "dtod" };

const struct op bench_copy_op = { .code = BENCH_COPY, .names = names, .n_names = 3 };

bool bench_make_copy(struct bench_case *c)
{
    const uint64_t *n = c->keys[BENCH_N].at, way = c->keys[BENCH_OP].at[0];
    if (!bench_operand(c, c->dtype, n, 1, &c->from) || !bench_operand(c, c->dtype, n, 1, &c->to))
        return false;
    c->operands[0].on_host = way == HTOD;
    c->operands[1].on_host = way == DTOH;
    c->bytes = (double)*n * (double)st_type_size(c->dtype);
    return true;
}

bool bench_want_copy(const struct bench_case *c, uint64_t i, struct st_want *want)
{
    *want = (struct st_want){ .value = { bench_element(c, 0, i), 0.0 }, .kind = ST_EXACT };
    return true;
}

cb_status bench_copy(const struct bench_case *c, cb_backend be, cb_error *err)
{
    const struct operand *from = &c->operands[0], *to = &c->operands[1];
    const uint64_t bytes = from->count * st_type_size(from->type);
    const cb_copy_htod_args put = { CB_ARGS(cb_copy_htod_args), .flags = CB_COPY_ASYNC,
                                    .dst = c->to, .src = from->memory, .bytes = bytes };
    const cb_copy_dtoh_args get = { CB_ARGS(cb_copy_dtoh_args), .flags = CB_COPY_ASYNC,
                                    .dst = to->memory, .src = c->from, .bytes = bytes };
    const cb_copy_dtod_args move = { CB_ARGS(cb_copy_dtod_args), .flags = CB_COPY_ASYNC,
                                     .dst = c->to, .src = c->from, .bytes = bytes };
    return from->on_host ? cb_copy_htod(be, &put, err)
           : to->on_host ? cb_copy_dtoh(be, &get, err)
                         : cb_copy_dtod(be, &move, err);
}
