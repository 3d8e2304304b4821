/* SPDX-License-Identifier: Apache-2.0 */
/* create, init, destroy. */
#include "opencl.h"

#include <stdlib.h>

static void free_instance(struct ocl_backend *ocl)
{
    if (!ocl)
        return;
    cbc_addr_table_destroy(ocl->table);
    free(ocl->devices);
    pthread_mutex_destroy(&ocl->lock);
    pthread_mutex_destroy(&ocl->setup);
    pthread_mutex_destroy(&ocl->building);
    pthread_cond_destroy(&ocl->built);
    free(ocl);
}

cb_status ocl_create(const cb_create_args *args, void **out, cb_error *err)
{
    cb_create_args l;
    cb_status st = cbc_check_create(args, out, &l, err);
    if (st != CB_OK)
        return st;

    struct ocl_backend *ocl = calloc(1, sizeof(*ocl));
    if (!ocl)
        goto no_memory;
    pthread_mutex_init(&ocl->lock, NULL);
    pthread_mutex_init(&ocl->setup, NULL);
    pthread_mutex_init(&ocl->building, NULL);
    pthread_cond_init(&ocl->built, NULL);
    ocl->host = l.host;
    ocl->table = cbc_addr_table_create(ocl_release, ocl);
    if (!ocl->table)
        goto no_memory;
    st = ocl_options_read(ocl, l.options, l.n_options, err);
    if (st == CB_OK)
        st = ocl_fork_register(ocl, err);
    if (st != CB_OK)
        goto fail;
    *out = ocl;
    return CB_OK;

no_memory:
    st = cbc_fail(err, CB_OUT_OF_MEMORY, "create", "no memory for an instance");
fail:
    free_instance(ocl);
    return st;
}

/* Gives back what init has made, as far as it came. In the child of a fork that is the host's
 * memory alone. */
static void close_device(struct ocl_backend *ocl)
{
    ocl_events_free(ocl);
    ocl_streams_free(ocl);
    ocl_spares_drop(ocl, NULL);
    ocl_programs_free(ocl);
    if (ocl->context && !atomic_load(&ocl->forked))
        ocl_cl.clReleaseContext(ocl->context);
    ocl->context = NULL;
    ocl->default_stream = ocl->clearing = NULL;
}

void ocl_destroy(void *self)
{
    struct ocl_backend *ocl = self;
    if (!ocl)
        return;
    ocl_fork_unregister(ocl);
    ocl_events_free(ocl);
    ocl_streams_free(ocl); /* waits for what still uses the buffers */
    cbc_addr_table_destroy(ocl->table);
    ocl->table = NULL;
    close_device(ocl);
    free_instance(ocl);
}

/* ---- init; setup is locked ---- */

static cb_status open_device(struct ocl_backend *ocl, cb_error *err)
{
    const struct ocl_device *d = ocl->device;
    const cl_context_properties properties[] = { CL_CONTEXT_PLATFORM,
                                                 (cl_context_properties)d->platform, 0 };
    cl_int code;
    ocl->memory_limit = d->memory;
    ocl->context = ocl_cl.clCreateContext(properties, 1, &d->id, NULL, NULL, &code);
    if (!ocl->context)
        return ocl_fail(err, "init", "clCreateContext", code);
    cb_status st = ocl_stream_make(ocl, &ocl->clearing, "init", err);
    if (st == CB_OK)
        st = ocl_stream_make(ocl, &ocl->default_stream, "init", err);
    return st;
}

static cb_status init(struct ocl_backend *ocl, uint32_t ordinal, cb_error *err)
{
    struct ocl_quiet quiet;
    cb_status st = ocl_devices_find(ocl, "init", err);
    if (st == CB_OK)
        st = ocl_device_resolve(ocl, &ordinal, "init", err);
    if (st != CB_OK)
        return st;
    if (atomic_load(&ocl->initialized))
        return ordinal == ocl->ordinal ? CB_OK
                                       : cbc_invalid(err, "init", "ordinal %u: device %u is open",
                                                     (unsigned)ordinal, (unsigned)ocl->ordinal);
    const struct ocl_device *d = &ocl->devices[ordinal];
    if (d->lacks[0])
        return cbc_unsupported(err, "init", "%.100s: %s", d->name, d->lacks);
    ocl->device = d;
    ocl->ordinal = ordinal;
    const cbc_fpenv fpenv = cbc_fpenv_enter();
    ocl_quiet_begin(&quiet);
    st = open_device(ocl, err);
    ocl_quiet_end(&quiet);
    cbc_fpenv_leave(fpenv);
    if (st != CB_OK) {
        close_device(ocl);
        return st;
    }
    atomic_store_explicit(&ocl->initialized, true, memory_order_release);
    if (ocl->warmup[0])
        ocl_warmup(ocl);
    return CB_OK;
}

cb_status ocl_init(void *self, uint32_t ordinal, cb_error *err)
{
    struct ocl_backend *ocl = self;
    cb_status st = ocl_fork_check(ocl, "init", err);
    if (st != CB_OK)
        return st;
    pthread_mutex_lock(&ocl->setup);
    st = init(ocl, ordinal, err);
    pthread_mutex_unlock(&ocl->setup);
    return st;
}
