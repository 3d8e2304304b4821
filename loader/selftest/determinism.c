/* SPDX-License-Identifier: Apache-2.0 */
/* Same machine, same kernels, same inputs: same bits, over runs and over the addresses of aligned
 * operands. */
#include "suite.h"

#include <stdlib.h>
#include <string.h>

#define RUNS 3

static const char rule[] = "results do not depend on the run or on the address of an aligned "
                           "operand, to the bit";

static uint64_t region_bytes(const struct st_buffer *b)
{
    return b->count * b->element;
}

static unsigned char *region(const struct st_buffer *b)
{
    return b->after + b->lead * b->element;
}

static void compare(struct st_run *run, const struct st_buffer *b, const unsigned char *first)
{
    for (uint64_t i = 0; i < b->count; i++) {
        if (!memcmp(first + i * b->element, region(b) + i * b->element, b->element))
            continue;
        run->result.operand = b->name;
        run->result.index = i;
        st_fail(run, rule, "%s[%" PRIu64 "] has other bits in a second run", b->name, i);
        return;
    }
}

/* Elsewhere in the same allocation. Where nothing is free behind the operand it moves forward by
 * one element, into the guards. */
static void move(struct st_buffer *b, uint64_t round)
{
    st_buffer_shift(b, b->tail ? b->lead + 1 + round % 3 : b->lead - 1);
}

static bool run_once(struct st_run *run, uint32_t op, const void *args, bool shifted,
                     uint64_t round)
{
    uint64_t room[(CB_ARGS_SIZE_MAX + 8) / sizeof(uint64_t)];
    cb_error err;
    cb_error_init(&err);
    memcpy(room, args, sizeof(room));
    st_buffers_drop(run);
    for (uint32_t i = 0; shifted && i < run->n_buffers; i++)
        move(&run->buffers[i], round + i);
    if (!st_buffers_up(run))
        return false;
    st_point(run, room);
    return st_attempt(run, op, room, CB_OK, NULL, NULL) &&
           st_status(run, "synchronize", cb_synchronize(run->be, &err), CB_OK, &err) &&
           st_buffers_down(run);
}

void st_rerun(struct st_run *run, uint32_t op, const void *args, bool shifted)
{
    unsigned char *first[ST_BUFFERS] = { NULL };
    for (uint32_t i = 0; i < run->n_buffers; i++) {
        const struct st_buffer *b = &run->buffers[i];
        first[i] = st_host(run, b->count, b->element);
        if (!first[i])
            goto out;
        memcpy(first[i], region(b), region_bytes(b));
    }
    for (uint64_t round = 0; round < RUNS && run_once(run, op, args, shifted, round); round++) {
        for (uint32_t i = 0; i < run->n_buffers; i++)
            compare(run, &run->buffers[i], first[i]);
    }
out:
    for (uint32_t i = 0; i < ST_BUFFERS; i++)
        free(first[i]);
}
