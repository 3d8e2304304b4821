/* SPDX-License-Identifier: Apache-2.0 */
/* The options of create: device, warmup, gemm_tile. */
#include "opencl.h"

#include <stdio.h>
#include <string.h>

#define TILE_MAX 128

/* Refuses an option; err->where is "option KEY", by which a loader knows which one it was. */
static cb_status refuse(const char *key, size_t key_length, cb_error *err, const char *why,
                        const char *value)
{
    char where[sizeof(err->where)];
    snprintf(where, sizeof(where), "option %.*s", (int)(key_length < 40 ? key_length : 40), key);
    return cbc_invalid(err, where, "'%.80s' %s", value, why);
}

/* Only a machine that has devices can tell that none of them is meant. */
static cb_status read_device(struct ocl_backend *ocl, const char *value, bool *known, cb_error *err)
{
    uint32_t ordinal;
    pthread_mutex_lock(&ocl->setup);
    const cb_status st = ocl_devices_find(ocl, "create", err);
    *known = strlen(value) < sizeof(ocl->wanted) && *value &&
             (!ocl->n_devices || ocl_device_named(ocl, value, &ordinal));
    pthread_mutex_unlock(&ocl->setup);
    if (*known)
        snprintf(ocl->wanted, sizeof(ocl->wanted), "%s", value);
    return st;
}

/* "MxNxK", each in 8..128 and a multiple of 8. */
static bool read_tile(const char *value, struct ocl_tuning *out)
{
    uint32_t n[3] = { 0 };
    for (int i = 0; i < 3; i++) {
        while (*value >= '0' && *value <= '9' && n[i] <= TILE_MAX)
            n[i] = n[i] * 10 + (uint32_t)(*value++ - '0');
        if (n[i] < 8 || n[i] > TILE_MAX || n[i] % 8 || *value != (i < 2 ? 'x' : 0))
            return false;
        value += i < 2;
    }
    *out = (struct ocl_tuning){ n[0], n[1], n[2] };
    return true;
}

static cb_status read_option(struct ocl_backend *ocl, const char *option, cb_error *err)
{
    const char *equals = strchr(option, '=');
    if (!equals)
        return refuse(option, strlen(option), err, "is not KEY=VALUE", option);

    const size_t length = (size_t)(equals - option);
    const char *value = equals + 1;
#define KEY_IS(name) (length == sizeof(name) - 1 && !memcmp(option, name, sizeof(name) - 1))
    if (KEY_IS("device")) {
        bool known;
        const cb_status st = read_device(ocl, value, &known, err);
        if (st != CB_OK || known)
            return st;
        return refuse(option, length, err,
                      "is no device: neither ordinal, nor id, nor a glob on a "
                      "name",
                      value);
    }
    if (KEY_IS("warmup")) {
        if (!ocl_warmup_valid(value) || strlen(value) >= sizeof(ocl->warmup))
            return refuse(option, length, err, "is neither all nor names of ops with commas",
                          value);
        snprintf(ocl->warmup, sizeof(ocl->warmup), "%s", value);
        return CB_OK;
    }
    if (KEY_IS("gemm_tile"))
        return read_tile(value, &ocl->tuning)
                   ? CB_OK
                   : refuse(option, length, err, "is not MxNxK, each a multiple of 8 in 8..128",
                            value);
#undef KEY_IS
    return refuse(option, length, err, "belongs to no option; there are device, warmup, gemm_tile",
                  value);
}

cb_status ocl_options_read(struct ocl_backend *ocl, const char *const *options, uint64_t n,
                           cb_error *err)
{
    cb_status st = CB_OK;
    for (uint64_t i = 0; i < n && st == CB_OK; i++)
        st = read_option(ocl, options[i], err);
    return st;
}
