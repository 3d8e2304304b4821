/* SPDX-License-Identifier: Apache-2.0 */
/* A driver's threads do not follow a fork, and what waits for them would wait for ever. So the
 * child's instances refuse every call before it comes to the driver. Fork takes the short locks
 * along, so that destroy finds whole lists in the child. */
#include "opencl.h"

static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static struct ocl_backend *all;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int once_failed;

static void before_fork(void)
{
    pthread_mutex_lock(&all_lock);
    for (struct ocl_backend *ocl = all; ocl; ocl = ocl->next) {
        pthread_mutex_lock(&ocl->lock);
        cbc_addr_table_lock(ocl->table);
    }
}

static void after_fork(void)
{
    for (struct ocl_backend *ocl = all; ocl; ocl = ocl->next) {
        cbc_addr_table_unlock(ocl->table);
        pthread_mutex_unlock(&ocl->lock);
    }
    pthread_mutex_unlock(&all_lock);
}

static void after_fork_in_child(void)
{
    const bool lost = ocl_library_fork();
    for (struct ocl_backend *ocl = all; ocl; ocl = ocl->next)
        if (lost)
            atomic_store(&ocl->forked, true);
    after_fork();
}

static void install(void)
{
    once_failed = pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

cb_status ocl_fork_register(struct ocl_backend *ocl, cb_error *err)
{
    pthread_once(&once, install);
    if (once_failed)
        return cbc_fail(err, CB_OUT_OF_MEMORY, "create", "no memory for fork handlers");
    pthread_mutex_lock(&all_lock);
    ocl->next = all;
    all = ocl;
    pthread_mutex_unlock(&all_lock);
    return CB_OK;
}

void ocl_fork_unregister(struct ocl_backend *ocl)
{
    pthread_mutex_lock(&all_lock);
    struct ocl_backend **at = &all;
    while (*at != ocl)
        at = &(*at)->next;
    *at = ocl->next;
    pthread_mutex_unlock(&all_lock);
}

cb_status ocl_fork_check(const struct ocl_backend *ocl, const char *where, cb_error *err)
{
    if (atomic_load_explicit(&ocl->forked, memory_order_relaxed))
        return cbc_fail(err, CB_DEVICE_ERROR, where, "used after fork");
    return CB_OK;
}
