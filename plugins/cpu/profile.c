/* SPDX-License-Identifier: Apache-2.0 */
/* cb.profile/1: every mark knows when it was made. */
#include "queue.h"

/* The time of an event's last record. The queues are locked. */
static cb_status time_of(struct cpu_backend *cpu, const cb_event *handle, const char *name,
                         uint64_t *time, cb_error *err)
{
    struct cpu_event *event;
    const cb_status st = cpu_event_find(cpu, handle, &event, name, "elapsed", err);
    if (st != CB_OK)
        return st;
    const struct cpu_mark *mark = event->mark;
    if (!mark)
        return cbc_invalid(err, "elapsed", "%s was never recorded", name);
    if (!mark->done)
        return cbc_fail(err, CB_BUSY, "elapsed", "%s is not done yet", name);
    if (mark->failed.code != CB_OK)
        return cbc_invalid(err, "elapsed", "%s has no time, since work before it has failed", name);
    *time = mark->time;
    return CB_OK;
}

static cb_status elapsed(void *self, cb_event *start, cb_event *end, int64_t *ns, cb_error *err)
{
    struct cpu_call call;
    uint64_t from = 0, to = 0;
    cb_status st = cpu_call_begin(&call, self, "elapsed", err);
    if (st == CB_OK && !ns)
        st = cbc_invalid(err, "elapsed", "ns is NULL");
    if (st == CB_OK)
        st = cpu_queues_lock(call.cpu, "elapsed", err);
    if (st == CB_OK) {
        st = time_of(call.cpu, start, "start", &from, err);
        if (st == CB_OK)
            st = time_of(call.cpu, end, "end", &to, err);
        cpu_queues_unlock(call.cpu);
    }
    if (st == CB_OK)
        *ns = (int64_t)(to - from);
    return cpu_call_end(&call, st);
}

const cb_profile_v1 cpu_profile = { CB_ARGS(cb_profile_v1), elapsed };
