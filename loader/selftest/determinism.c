/* SPDX-License-Identifier: Apache-2.0 */
/* Same machine, same kernels, same inputs: same bits, over runs, over the addresses of aligned
 * operands, over numbers of threads, and whatever floating-point control the caller has set. And
 * how far two backends are apart. */
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUNS 3

static const char rule[] = "results do not depend on the run, on how many threads compute, on the "
                           "caller's floating-point control or on the address of an aligned "
                           "operand, to the bit";

static uint64_t region_bytes(const struct st_buffer *b)
{
    return b->count * b->element;
}

static unsigned char *region(const struct st_buffer *b)
{
    return b->after + b->lead * b->element;
}

bool st_same_bits(struct st_run *run, unsigned char *const *first)
{
    for (uint32_t k = 0; k < run->n_buffers; k++) {
        const struct st_buffer *b = &run->buffers[k];
        for (uint64_t i = 0; i < b->count; i++) {
            const unsigned char *then = first[k] + i * b->element;
            const unsigned char *now = region(b) + i * b->element;
            if (!memcmp(then, now, b->element))
                continue;
            run->result.operand = b->name;
            run->result.index = i;
            run->result.want = b->x ? st_decode(b->type, then) : 0.0;
            run->result.got = b->x ? st_decode(b->type, now) : 0.0;
            st_fail(run, rule, "%s[%" PRIu64 "] has other bits than at first", b->name, i);
            return false;
        }
    }
    return true;
}

/* Elsewhere in the same allocation. Where nothing is free behind the operand it moves forward by
 * one element, into the guards. */
static void move(struct st_buffer *b, uint64_t round)
{
    st_buffer_shift(b, b->tail ? b->lead + 1 + round % 3 : b->lead - 1);
}

static bool run_once(struct st_run *run, uint32_t op, const void *args)
{
    uint64_t room[ST_ARGS_ROOM / sizeof(uint64_t)];
    cb_error err;
    cb_error_init(&err);
    memcpy(room, args, sizeof(room));
    st_buffers_drop(run);
    if (!st_buffers_up(run))
        return false;
    st_point(run, room);
    return st_attempt(run, op, room, CB_OK, NULL, NULL) &&
           st_status(run, "synchronize", cb_synchronize(run->be, &err), CB_OK, &err) &&
           st_buffers_down(run);
}

static bool run_on(struct st_run *run, cb_backend be, uint32_t op, const void *args)
{
    const cb_backend mine = run->be;
    st_buffers_drop(run);
    run->be = be;
    const bool good = run_once(run, op, args);
    st_buffers_drop(run);
    run->be = mine;
    return good;
}

static void repeat(struct st_run *run, uint32_t op, const void *args, bool shifted,
                   unsigned char *const *first)
{
    for (uint64_t round = 0; round < RUNS; round++) {
        for (uint32_t i = 0; shifted && i < run->n_buffers; i++)
            move(&run->buffers[i], round + i);
        if (!run_once(run, op, args) || !st_same_bits(run, first))
            return;
    }
}

static void with_threads(struct st_run *run, uint32_t op, const void *args,
                         unsigned char *const *first)
{
    cb_backend be;
    for (uint64_t i = 0; st_peer(run, i, &be); i++) {
        if (!run_on(run, be, op, args) || !st_same_bits(run, first))
            return;
    }
}

static void with_control(struct st_run *run, uint32_t op, const void *args,
                         unsigned char *const *first)
{
    const uint64_t usual = st_control(), odd = st_control_odd();
    st_control_set(odd);
    const bool taken = st_control() == odd;
    st_control_set(usual);
    if (!taken) { /* under valgrind */
        st_unjudged(run, "rounding and flushing cannot be set on this processor");
        return;
    }
    run->control = odd;
    if (run_once(run, op, args))
        st_same_bits(run, first);
    run->control = 0;
}

/* Copies of what all buffers came back with. False: the case has failed. */
static bool keep(struct st_run *run, unsigned char *first[ST_BUFFERS])
{
    for (uint32_t i = 0; i < run->n_buffers; i++) {
        const struct st_buffer *b = &run->buffers[i];
        first[i] = st_host(run, b->count, b->element);
        if (!first[i])
            return false;
        memcpy(first[i], region(b), region_bytes(b));
    }
    return true;
}

static void drop(unsigned char *first[ST_BUFFERS])
{
    for (uint32_t i = 0; i < ST_BUFFERS; i++)
        free(first[i]);
}

void st_rerun(struct st_run *run, uint32_t op, const void *args, uint32_t how)
{
    unsigned char *first[ST_BUFFERS] = { NULL };
    if (keep(run, first)) {
        switch (how) {
        case ST_CONCURRENT: st_concurrent(run, op, args, first); break;
        case ST_CONTROL: with_control(run, op, args, first); break;
        case ST_THREADS: with_threads(run, op, args, first); break;
        default: repeat(run, op, args, how == ST_SHIFTED, first);
        }
    }
    drop(first);
}

/* How far apart two values are in units of the bound, or infinitely where the bits must be equal.
 */
static double distance(const struct st_want *want, double a, double b)
{
    if (isnan(a) && isnan(b))
        return 0.0;
    if (a == b)
        return signbit(a) == signbit(b) || want->kind == ST_NEAR ? 0.0 : INFINITY;
    const double apart = fabs(a - b) / want->bound;
    return isnan(apart) ? INFINITY : apart;
}

static void note_difference(struct st_run *run, const struct st_buffer *b,
                            const unsigned char *first, double *largest)
{
    for (uint64_t i = 0; i < b->count; i++) {
        const unsigned char *here = first + i * b->element, *there = region(b) + i * b->element;
        const struct st_want *want = &b->want[i];
        if (want->kind == ST_KEEP || !memcmp(here, there, b->element))
            continue;
        const double x = b->x ? st_decode(b->type, here) : NAN;
        const double y = b->x ? st_decode(b->type, there) : NAN;
        const double apart = b->x ? distance(want, x, y) : INFINITY;
        if (apart <= *largest)
            continue;
        *largest = apart;
        run->result.operand = b->name;
        run->result.index = i;
        run->result.got = x;
        run->result.want = y;
        run->result.error = fabs(x - y);
        run->result.bound = want->kind == ST_NEAR ? want->bound : 0.0;
    }
}

void st_compare(struct st_run *run, uint32_t op, const void *args)
{
    unsigned char *first[ST_BUFFERS] = { NULL };
    double largest = 0.0;
    if (!keep(run, first)) {
        drop(first);
        return;
    }
    if (run_on(run, run->options.against, op, args)) {
        run->result.compared = 1;
        for (uint32_t i = 0; i < run->n_buffers; i++) {
            if (run->buffers[i].want)
                note_difference(run, &run->buffers[i], first[i], &largest);
        }
    } else {
        /* The backend under test has passed; what the other one cannot do is no fault of its. */
        char why[sizeof(run->text)];
        snprintf(why, sizeof(why), "%s: %.400s", run->options.against.api->name, run->text);
        run->outcome = CB_SELFTEST_PASSED;
        st_skip(run, why);
    }
    drop(first);
}
