/* SPDX-License-Identifier: Apache-2.0 */
/* A child of fork has only the thread that called it, and a lock that another thread held is held
 * for ever. There is no list of loaders that a fork handler could go through, so each loader
 * remembers the process that its locks are good in, and a child looks at them once: when both are
 * free, nothing was half done and it goes on; else what they guard cannot be believed. */
#include "internal.h"

#include <sched.h>
#include <unistd.h>

static bool is_free(pthread_mutex_t *lock)
{
    if (pthread_mutex_trylock(lock))
        return false;
    pthread_mutex_unlock(lock);
    return true;
}

bool cbl_is_whole(struct cb_loader *l)
{
    const pid_t me = getpid();
    /* Negative: one of this process's threads is looking. */
    for (pid_t owner = atomic_load(&l->owner); owner != me; owner = atomic_load(&l->owner)) {
        if (owner == -me) {
            sched_yield();
        } else if (atomic_compare_exchange_strong(&l->owner, &owner, -me)) {
            if (!is_free(&l->lock) || !is_free(&l->log_lock))
                atomic_store(&l->broken, true);
            atomic_store(&l->owner, me);
        }
    }
    return !atomic_load(&l->broken);
}

cb_status cbl_enter(struct cb_loader *l, const char *where, cb_error *err)
{
    if (!l)
        return cb_error_set(err, CB_INVALID_ARGUMENT, where, "loader is NULL");
    if (!cbl_is_whole(l))
        return cb_error_set(err, CB_DEVICE_ERROR, where,
                            "used after fork, while another thread was at work in it: open "
                            "another loader");
    return CB_OK;
}
