/* SPDX-License-Identifier: Apache-2.0 */
/* cb.profile/1: every mark knows when it was made. */
#include "queue.h"

/* The time of an event's last record. The instance is locked. */
static cb_status time_of(const struct chaos *chaos, const cb_event *event, const char *name,
                         uint64_t *time, cb_error *err)
{
    if (!chaos_event_known(chaos, event))
        return cbc_invalid(err, "elapsed", "%s %p is none of this instance", name,
                           (const void *)event);
    const struct chaos_mark *mark = event->mark;
    if (!mark && chaos_has(chaos, CHAOS_TIME_OF_NOTHING))
        return CB_OK;
    if (!mark)
        return cbc_invalid(err, "elapsed", "%s was never recorded", name);
    if (!mark->done && !chaos_has(chaos, CHAOS_TIME_UNFINISHED))
        return cbc_fail(err, CB_BUSY, "elapsed", "%s is not done yet", name);
    if (mark->done && !mark->time)
        return cbc_invalid(err, "elapsed", "%s has no time, since work before it has failed", name);
    *time = mark->time;
    return CB_OK;
}

static cb_status elapsed(void *self, cb_event *start, cb_event *end, int64_t *ns, cb_error *err)
{
    struct chaos *chaos = self;
    uint64_t from = 0, to = 0;
    cb_status st = chaos_begin(chaos, "elapsed", err);
    if (st == CB_OK && !ns)
        st = cbc_invalid(err, "elapsed", "ns is NULL");
    if (st != CB_OK)
        return st;
    pthread_mutex_lock(&chaos->lock);
    st = time_of(chaos, start, "start", &from, err);
    if (st == CB_OK)
        st = time_of(chaos, end, "end", &to, err);
    pthread_mutex_unlock(&chaos->lock);
    if (st != CB_OK)
        return st;
    *ns = (int64_t)(chaos_has(chaos, CHAOS_TIME_SWAPPED) ? from - to : to - from);
    if (chaos_has(chaos, CHAOS_TIME_COARSE))
        *ns /= 1000;
    return CB_OK;
}

const cb_profile_v1 chaos_profile = { CB_ARGS(cb_profile_v1), .elapsed = elapsed };
