/* SPDX-License-Identifier: Apache-2.0 */
/* The options of create: kernels, threads, device. */
#include "cpu.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#define THREADS_MAX 1024

/* Refuses an option; err->where is "option KEY", by which a loader knows which one it was. */
static cb_status refuse(const char *key, size_t key_length, cb_error *err, const char *why,
                        const char *value)
{
    char where[sizeof(err->where)];
    snprintf(where, sizeof(where), "option %.*s", (int)(key_length < 40 ? key_length : 40), key);
    return cbc_invalid(err, where, "'%.80s' %s", value, why);
}

/* A decimal number without sign or blanks, at most max; false when it is anything else. */
static bool read_number(const char *text, uint32_t max, uint32_t *out)
{
    uint64_t value = 0;
    if (!*text)
        return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9')
            return false;
        value = value * 10 + (uint64_t)(*text - '0');
        if (value > max)
            return false;
    }
    *out = (uint32_t)value;
    return true;
}

/* Whether `device` names the one device there is: by ordinal, id, or a glob on its name. */
static bool names_device(const char *value)
{
    uint32_t ordinal;
    char name[128];
    if (read_number(value, UINT32_MAX, &ordinal))
        return ordinal == 0;
    cpu_device_name(name, sizeof(name));
    return !strcmp(value, "cpu") || !fnmatch(value, name, 0);
}

static cb_status read_option(struct cpu_backend *cpu, const char *option, cb_error *err)
{
    const char *equals = strchr(option, '=');
    if (!equals)
        return refuse(option, strlen(option), err, "is not KEY=VALUE", option);

    const size_t length = (size_t)(equals - option);
    const char *value = equals + 1;
#define KEY_IS(name) (length == sizeof(name) - 1 && !memcmp(option, name, sizeof(name) - 1))
    if (KEY_IS("kernels"))
        return cpu_kernels_select(&cpu->kernels, value)
                   ? CB_OK
                   : refuse(option, length, err, "is none of " CPU_KERNELS_NAMES, value);
    if (KEY_IS("threads"))
        return read_number(value, THREADS_MAX, &cpu->threads)
                   ? CB_OK
                   : refuse(option, length, err, "is no number in 0..1024 (0: the default)", value);
    if (KEY_IS("device"))
        return names_device(value)
                   ? CB_OK
                   : refuse(option, length, err,
                            "is not device 0, its id cpu, or a glob on its name", value);
#undef KEY_IS
    return refuse(option, length, err, "belongs to no option; there are kernels, threads, device",
                  value);
}

cb_status cpu_options_read(struct cpu_backend *cpu, const char *const *options, uint64_t n,
                           cb_error *err)
{
    cb_status st = CB_OK;
    for (uint64_t i = 0; i < n && st == CB_OK; i++)
        st = read_option(cpu, options[i], err);
    return st;
}
