/* SPDX-License-Identifier: Apache-2.0 */
/* create, init, destroy. */
#include "faults.h"
#include "ruin.h"

#include <stdlib.h>
#include <unistd.h>

static void destroy(struct chaos *chaos)
{
    chaos_streams_end(chaos);
    chaos_events_end(chaos);
    cbc_addr_table_destroy(chaos->table);
    chaos_unwrap(chaos);
    pthread_cond_destroy(&chaos->changed);
    pthread_mutex_destroy(&chaos->lock);
    free(chaos);
}

cb_status chaos_create(const cb_create_args *args, void **out, cb_error *err)
{
    cb_create_args l;
    struct chaos_options options = { 0 };
    cb_status st = cbc_check_create(args, out, &l, err);
    if (st != CB_OK)
        return st;

    struct chaos *chaos = calloc(1, sizeof(*chaos));
    if (!chaos)
        return cbc_fail(err, CB_OUT_OF_MEMORY, "create", "no memory for an instance");
    pthread_mutex_init(&chaos->lock, NULL);
    pthread_cond_init(&chaos->changed, NULL);
    chaos->pid = getpid();
    chaos->fails = CHAOS_NEVER;
    for (uint32_t way = 0; way < CHAOS_WAYS; way++)
        chaos->ruin[way] = CHAOS_NEVER;
    chaos->largest = UINT64_MAX;
    st = chaos_options_read(chaos, &l, &options, err);
    if (st != CB_OK)
        goto fail;
    chaos_reach(chaos, CHAOS_IN_CREATE);
    chaos->table = cbc_addr_table_create(chaos_release, chaos);
    if (!chaos->table) {
        st = cbc_fail(err, CB_OUT_OF_MEMORY, "create", "no memory for an instance");
        goto fail;
    }
    l.options = options.rest;
    l.n_options = options.n_rest;
    st = chaos_wrap(chaos, options.wrap, &l, err);
    if (st != CB_OK)
        goto fail;
    chaos_keep(chaos);
    *out = chaos;
fail:
    free(options.rest);
    if (st != CB_OK)
        destroy(chaos);
    return st;
}

/* In a forked child the threads are gone, and with them whoever held a lock: the instance stays
 * as it is. */
void chaos_destroy(void *self)
{
    struct chaos *chaos = self;
    if (chaos && chaos->pid == getpid())
        destroy(chaos);
}

cb_status chaos_init(void *self, uint32_t ordinal, cb_error *err)
{
    struct chaos *chaos = self;
    chaos_reach(chaos, CHAOS_IN_INIT);
    cb_status st = chaos_device_find(chaos, &ordinal, "init", err);
    if (st == CB_OK)
        st = chaos->wrapped.api->init(chaos->wrapped.self, ordinal, err);
    if (st == CB_OK)
        atomic_store_explicit(&chaos->initialized, true, memory_order_release);
    return st;
}
