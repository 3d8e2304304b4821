/* SPDX-License-Identifier: Apache-2.0 */
/* What the slots tell of devices and of the instance. All of it works before init. */
#include "opencl.h"

#include <stdio.h>
#include <string.h>

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

cb_status ocl_device_count(void *self, uint32_t *count, cb_error *err)
{
    struct ocl_backend *ocl = self;
    if (!count)
        return cbc_invalid(err, "device_count", "count is NULL");
    pthread_mutex_lock(&ocl->setup);
    const cb_status st = ocl_devices_find(ocl, "device_count", err);
    if (st == CB_OK) {
        *count = ocl->n_devices;
        if (!ocl->n_devices)
            cb_error_set(err, CB_OK, "device_count", ocl->no_device);
    }
    pthread_mutex_unlock(&ocl->setup);
    return st;
}

/* The device of an ordinal; the list never changes once it is there. */
static cb_status find(struct ocl_backend *ocl, uint32_t *ordinal, const struct ocl_device **out,
                      const char *where, cb_error *err)
{
    pthread_mutex_lock(&ocl->setup);
    cb_status st = ocl_devices_find(ocl, where, err);
    if (st == CB_OK)
        st = ocl_device_resolve(ocl, ordinal, where, err);
    if (st == CB_OK)
        *out = &ocl->devices[*ordinal];
    pthread_mutex_unlock(&ocl->setup);
    return st;
}

cb_status ocl_device_info(void *self, uint32_t ordinal, cb_device_info *out, cb_error *err)
{
    const struct ocl_device *d;
    if (ordinal == CB_DEVICE_AUTO)
        return cbc_invalid(err, "device_info", "ordinal %u is no device", (unsigned)ordinal);
    const cb_status st = find(self, &ordinal, &d, "device_info", err);
    if (st != CB_OK)
        return st;
    cb_device_info info = {
        CB_ARGS(cb_device_info),           .ordinal = ordinal,
        .memory_kind = d->memory_kind,     .compute_major = d->compute_major,
        .compute_minor = d->compute_minor, .total_memory = d->memory,
    };
    snprintf(info.name, sizeof(info.name), "%s", d->name);
    snprintf(info.id, sizeof(info.id), "%s", d->stable_id);
    return cb_result_write(out, &info, sizeof(info), CB_DEVICE_INFO_1_0, "device_info", err);
}

cb_status ocl_capabilities(void *self, uint32_t ordinal, cb_capabilities *out, cb_error *err)
{
    const struct ocl_device *d;
    const cb_status st = find(self, &ordinal, &d, "capabilities", err);
    if (st != CB_OK)
        return st;
    const cb_capabilities capabilities = {
        CB_ARGS(cb_capabilities),
        .features = d->features,
        .warp_size = d->warp_size,
        .max_threads_per_block = d->group_size,
        .shared_memory_per_block = d->local_memory,
    };
    return cb_result_write(out, &capabilities, sizeof(capabilities), CB_CAPABILITIES_1_0,
                           "capabilities", err);
}

/* ---- info: a writer per key; d is NULL where there is no device ---- */

static void info_initialized(const struct ocl_backend *ocl, const struct ocl_device *d, char *text,
                             size_t size)
{
    (void)d;
    snprintf(text, size, "%d", atomic_load(&ocl->initialized) ? 1 : 0);
}

static void info_summary(const struct ocl_backend *ocl, const struct ocl_device *d, char *text,
                         size_t size)
{
    if (d)
        snprintf(text, size, "OpenCL backend " OCL_VERSION ", %s, driver %s", d->name, d->driver);
    else
        snprintf(text, size, "OpenCL backend " OCL_VERSION ", no device: %s", ocl->no_device);
}

static void info_kernels(const struct ocl_backend *ocl, const struct ocl_device *d, char *text,
                         size_t size)
{
    (void)ocl;
    (void)d;
    snprintf(text, size, "OpenCL C 1.2");
}

/* Compute units, which run work at once. */
static void info_threads(const struct ocl_backend *ocl, const struct ocl_device *d, char *text,
                         size_t size)
{
    (void)ocl;
    snprintf(text, size, "%u", d ? (unsigned)d->compute_units : 0);
}

static void info_isa(const struct ocl_backend *ocl, const struct ocl_device *d, char *text,
                     size_t size)
{
    (void)ocl;
    (void)d;
    snprintf(text, size, "%s", CB_MANIFEST_ISA);
}

static void info_device(const struct ocl_backend *ocl, const struct ocl_device *d, char *text,
                        size_t size)
{
    (void)ocl;
    snprintf(text, size, "%s", d ? d->name : "none");
}

static void info_driver(const struct ocl_backend *ocl, const struct ocl_device *d, char *text,
                        size_t size)
{
    (void)ocl;
    snprintf(text, size, "%s", d ? d->driver : "none");
}

static void info_f64(const struct ocl_backend *ocl, const struct ocl_device *d, char *text,
                     size_t size)
{
    (void)ocl;
    snprintf(text, size, "%s", d && d->f64 ? "yes" : "no");
}

static const struct {
    const char *key;
    void (*write)(const struct ocl_backend *ocl, const struct ocl_device *d, char *text,
                  size_t size);
} facts[] = {
    { "initialized", info_initialized }, { "summary", info_summary }, { "kernels", info_kernels },
    { "threads", info_threads },         { "isa", info_isa },         { "device", info_device },
    { "driver", info_driver },           { "f64", info_f64 },
};

static bool write_fact(const struct ocl_backend *ocl, const struct ocl_device *d, const char *key,
                       char *text, size_t size)
{
    text[0] = 0;
    if (!strcmp(key, "keys")) {
        for (size_t i = 0; i < COUNT_OF(facts); i++) {
            cb_text_append(text, size, i ? "\n" : "");
            cb_text_append(text, size, facts[i].key);
        }
        return true;
    }
    for (size_t i = 0; i < COUNT_OF(facts); i++)
        if (!strcmp(key, facts[i].key)) {
            facts[i].write(ocl, d, text, size);
            return true;
        }
    return false;
}

/* The device that init took, or would take. */
static const struct ocl_device *device_of(struct ocl_backend *ocl)
{
    uint32_t ordinal = CB_DEVICE_AUTO;
    const struct ocl_device *d = NULL;
    if (atomic_load_explicit(&ocl->initialized, memory_order_acquire))
        return ocl->device;
    return find(ocl, &ordinal, &d, "info", NULL) == CB_OK ? d : NULL;
}

cb_status ocl_info(void *self, const char *key, char *buffer, uint64_t *length, cb_error *err)
{
    char text[512];
    struct ocl_backend *ocl = self;
    cb_status st = cbc_check_info(key, length, err);
    if (st == CB_OK)
        st = ocl_fork_check(ocl, "info", err);
    if (st != CB_OK)
        return st;
    const bool known = write_fact(ocl, device_of(ocl), key, text, sizeof(text));
    return cbc_info_write(key, known ? text : NULL, buffer, length, err);
}
