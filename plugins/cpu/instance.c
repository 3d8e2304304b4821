/* SPDX-License-Identifier: Apache-2.0 */
/* create, init, destroy. */
#include "cpu.h"

#include <stdlib.h>

cb_status cpu_create(const cb_create_args *args, void **out, cb_error *err)
{
    cb_create_args l;
    cb_status st = cbc_check_create(args, out, &l, err);
    if (st != CB_OK)
        return st;

    struct cpu_backend *cpu = calloc(1, sizeof(*cpu));
    if (!cpu)
        goto no_memory;
    pthread_mutex_init(&cpu->lock, NULL);
    cpu_queues_init(&cpu->queues);
    cpu->table = cbc_addr_table_create(cpu_release, cpu);
    if (!cpu->table)
        goto no_memory;
    cpu->memory_limit = cpu_memory_limit();
    st = cpu_options_read(cpu, l.options, l.n_options, err);
    if (st == CB_OK && !cpu->kernels.name)
        cpu_kernels_select(&cpu->kernels, "auto");
    if (st == CB_OK)
        st = cpu_fork_register(cpu, err);
    if (st != CB_OK)
        goto fail;
    *out = cpu;
    return CB_OK;

no_memory:
    st = cbc_fail(err, CB_OUT_OF_MEMORY, "create", "no memory for an instance");
fail:
    if (cpu) {
        cpu_queues_end(cpu);
        cbc_addr_table_destroy(cpu->table);
        pthread_mutex_destroy(&cpu->lock);
        free(cpu);
    }
    return st;
}

void cpu_destroy(void *self)
{
    struct cpu_backend *cpu = self;
    if (!cpu)
        return;
    cpu_fork_unregister(cpu);
    cpu_queues_end(cpu);
    cpu_events_end(cpu);
    cpu_team_destroy(cpu->team);
    cpu_mappings_free(cpu);
    cpu_spares_free(cpu);
    cbc_addr_table_destroy(cpu->table);
    pthread_mutex_destroy(&cpu->lock);
    free(cpu);
}

cb_status cpu_init(void *self, uint32_t ordinal, cb_error *err)
{
    struct cpu_backend *cpu = self;
    cb_status st = cpu_check_ordinal(ordinal, "init", err);
    if (st != CB_OK)
        return st;
    pthread_mutex_lock(&cpu->lock);
    if (!cpu->team)
        cpu->team = cpu_team_create(cpu->threads ? cpu->threads : cpu_threads_available());
    if (!cpu->team)
        st = cbc_fail(err, CB_OUT_OF_MEMORY, "init", "no memory for a team of threads");
    pthread_mutex_unlock(&cpu->lock);
    if (st == CB_OK)
        atomic_store_explicit(&cpu->initialized, true, memory_order_release);
    return st;
}
