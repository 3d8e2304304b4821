/* SPDX-License-Identifier: Apache-2.0 */
/* Calls by several threads of the host at once. */
#include "suite.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct gate {
    pthread_mutex_t lock; /* held until all threads have been started */
    bool open;
};

struct worker {
    struct gate *gate;
    void (*work)(void *item);
    void *item;
};

static void *begin(void *ctx)
{
    struct worker *w = ctx;
    pthread_mutex_lock(&w->gate->lock);
    const bool open = w->gate->open;
    pthread_mutex_unlock(&w->gate->lock);
    if (open)
        w->work(w->item);
    return NULL;
}

bool st_at_once(struct st_run *run, void (*work)(void *item), void *items, uint64_t size)
{
    struct gate gate = { PTHREAD_MUTEX_INITIALIZER, false };
    struct worker workers[ST_AT_ONCE];
    pthread_t threads[ST_AT_ONCE];
    uint64_t started = 0;
    pthread_mutex_lock(&gate.lock);
    for (; started < ST_AT_ONCE; started++) {
        workers[started] = (struct worker){ &gate, work, (char *)items + started * size };
        if (pthread_create(&threads[started], NULL, begin, &workers[started]))
            break;
    }
    gate.open = started == ST_AT_ONCE;
    pthread_mutex_unlock(&gate.lock);
    for (uint64_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    if (!gate.open)
        st_fail(run, "", "the self-test cannot start %d threads", ST_AT_ONCE);
    return gate.open;
}

/* One op, on operands of its own. */
struct lane {
    cb_backend be;
    uint32_t op;
    uint64_t args[ST_ARGS_ROOM / sizeof(uint64_t)];
    uint64_t base[ST_BUFFERS]; /* of the run's buffers, in this lane */
    cb_status status;
    cb_error err;
};

static void call(void *item)
{
    struct lane *lane = item;
    cb_error_init(&lane->err);
    lane->status = st_slot(lane->be, lane->op, lane->args, &lane->err);
}

/* Uploads the operands once more, and remembers where. */
static bool prepare(struct st_run *run, struct lane *lane, uint32_t op, const void *args)
{
    lane->be = run->be;
    lane->op = op;
    const bool up = st_buffers_up(run);
    memcpy(lane->args, args, sizeof(lane->args));
    st_point(run, lane->args);
    for (uint32_t i = 0; i < run->n_buffers; i++) {
        lane->base[i] = run->buffers[i].base;
        run->buffers[i].base = 0;
    }
    return up;
}

/* Downloads and frees them again. */
static void judge(struct st_run *run, const struct lane *lane, unsigned char *const *first)
{
    for (uint32_t i = 0; i < run->n_buffers; i++)
        run->buffers[i].base = lane->base[i];
    if (st_status(run, cb_op_name(lane->op), lane->status, CB_OK, &lane->err) &&
        st_buffers_down(run))
        st_same_bits(run, first);
    st_buffers_drop(run);
}

void st_concurrent(struct st_run *run, uint32_t op, const void *args, unsigned char *const *first)
{
    struct lane *lanes = st_host(run, ST_AT_ONCE, sizeof(*lanes));
    cb_error err;
    cb_error_init(&err);
    st_buffers_drop(run);
    bool good = lanes != NULL;
    for (uint64_t i = 0; good && i < ST_AT_ONCE; i++)
        good = prepare(run, &lanes[i], op, args);
    if (good && st_at_once(run, call, lanes, sizeof(*lanes)))
        st_status(run, "synchronize", cb_synchronize(run->be, &err), CB_OK, &err);
    for (uint64_t i = 0; lanes && i < ST_AT_ONCE; i++)
        judge(run, &lanes[i], first);
    free(lanes);
}
