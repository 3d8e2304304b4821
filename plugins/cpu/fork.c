/* SPDX-License-Identifier: Apache-2.0 */
/* A child of fork has only the thread that called it. Were another thread inside a lock at that
 * moment, the child would wait for it for ever; so fork waits until the locks of all instances are
 * free, and takes them along. It waits for queued work that has begun, too: half a piece could not
 * be done again. */
#include "cpu.h"

static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static struct cpu_backend *all;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int once_failed;

static void before_fork(void)
{
    pthread_mutex_lock(&all_lock);
    for (struct cpu_backend *cpu = all; cpu; cpu = cpu->next) {
        cpu_queues_hold(cpu);
        pthread_mutex_lock(&cpu->lock);
        cbc_addr_table_lock(cpu->table);
    }
}

static void after_fork(void)
{
    for (struct cpu_backend *cpu = all; cpu; cpu = cpu->next) {
        cbc_addr_table_unlock(cpu->table);
        pthread_mutex_unlock(&cpu->lock);
        cpu_queues_release(cpu);
    }
    pthread_mutex_unlock(&all_lock);
}

/* The workers, and the threads of streams, stayed behind. */
static void after_fork_in_child(void)
{
    for (struct cpu_backend *cpu = all; cpu; cpu = cpu->next) {
        if (cpu->team)
            cpu_team_reset_in_child(cpu->team);
        cpu_queues_reset_in_child(cpu);
    }
    after_fork();
}

static void install(void)
{
    once_failed = pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

cb_status cpu_fork_register(struct cpu_backend *cpu, cb_error *err)
{
    pthread_once(&once, install);
    if (once_failed)
        return cbc_fail(err, CB_OUT_OF_MEMORY, "create", "no memory for fork handlers");
    pthread_mutex_lock(&all_lock);
    cpu->next = all;
    all = cpu;
    pthread_mutex_unlock(&all_lock);
    return CB_OK;
}

void cpu_fork_unregister(struct cpu_backend *cpu)
{
    pthread_mutex_lock(&all_lock);
    struct cpu_backend **at = &all;
    while (*at != cpu)
        at = &(*at)->next;
    *at = cpu->next;
    pthread_mutex_unlock(&all_lock);
}
