/* SPDX-License-Identifier: Apache-2.0 */
/* The options of create, but for those that are for the wrapped backend. */
#include "faults.h"
#include "ruin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DELAY_MAX   10000000u /* ten seconds */
#define THREADS_MAX 1024u

/* A decimal number without sign or blanks, at most max; false when it is anything else. */
static bool read_number(const char *text, uint64_t max, uint64_t *out)
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
    *out = value;
    return true;
}

static cb_status read_fault(struct chaos *chaos, const char *value, cb_error *err)
{
    char near[160];
    chaos->fault = chaos_fault_find(value);
    if (chaos->fault) {
        if (!chaos->delay)
            chaos->delay = chaos->fault->delay;
        return CB_OK;
    }
    chaos_fault_nearest(value, near, sizeof(near));
    return cbc_invalid(err, "option fault", "'%.40s' is no fault; the nearest are %s", value, near);
}

static cb_status read_fail(struct chaos *chaos, const char *value, cb_error *err)
{
    chaos->fails = chaos_code_find(value);
    return chaos->fails != CHAOS_NEVER
               ? CB_OK
               : cbc_invalid(err, "option fail", "'%.40s' is no op, copy or memset", value);
}

static cb_status read_devices(struct chaos *chaos, const char *value, cb_error *err)
{
    chaos->devices = !strcmp(value, "twice")  ? CHAOS_DEVICES_TWICE
                     : !strcmp(value, "none") ? CHAOS_DEVICES_NONE
                                              : CHAOS_DEVICES_AS_THEY_ARE;
    return chaos->devices
               ? CB_OK
               : cbc_invalid(err, "option devices", "'%.40s' is none of none, twice", value);
}

/* crash, hang and exit. False: the option is another. */
static bool read_ruin(struct chaos *chaos, const char *option, cb_error *err, cb_status *st)
{
    char way[8] = "", where[24];
    const size_t n = strcspn(option, "=");
    if (n >= sizeof(way) || option[n] != '=')
        return false;
    memcpy(way, option, n);
    const uint32_t i = chaos_way_find(way);
    if (i == CHAOS_WAYS)
        return false;
    chaos->ruin[i] = chaos_place_find(option + n + 1);
    snprintf(where, sizeof(where), "option %s", way);
    *st = chaos->ruin[i] != CHAOS_NEVER
              ? CB_OK
              : cbc_invalid(err, where,
                            "'%.40s' is no op or copy, nor create, device_count, init, alloc",
                            option + n + 1);
    return true;
}

/* Whether the option is KEY=..., and where its value begins. */
static bool key_is(const char *option, const char *key, const char **value)
{
    const size_t n = strlen(key);
    if (strncmp(option, key, n) || option[n] != '=')
        return false;
    *value = option + n + 1;
    return true;
}

static cb_status read_option(struct chaos *chaos, const char *option, struct chaos_options *out,
                             cb_error *err)
{
    const char *value;
    uint64_t threads = 0;
    cb_status st;
    if (read_ruin(chaos, option, err, &st))
        return st;
    if (key_is(option, "wrap", &out->wrap))
        return *out->wrap ? CB_OK : cbc_invalid(err, "option wrap", "names no file");
    if (key_is(option, "fault", &value))
        return read_fault(chaos, value, err);
    if (key_is(option, "fail", &value))
        return read_fail(chaos, value, err);
    if (key_is(option, "delay", &value))
        return read_number(value, DELAY_MAX, &chaos->delay)
                   ? CB_OK
                   : cbc_invalid(err, "option delay",
                                 "'%.40s' is no number of microseconds in 0..10000000", value);
    if (key_is(option, "devices", &value))
        return read_devices(chaos, value, err);
    if (key_is(option, "largest", &value))
        return read_number(value, UINT64_MAX / 10 - 1, &chaos->largest)
                   ? CB_OK
                   : cbc_invalid(err, "option largest", "'%.40s' is no number of bytes", value);
    if (key_is(option, "threads", &value) && read_number(value, THREADS_MAX, &threads))
        chaos->threads = (uint32_t)threads;
    out->rest[out->n_rest++] = option;
    return CB_OK;
}

cb_status chaos_options_read(struct chaos *chaos, const cb_create_args *args,
                             struct chaos_options *out, cb_error *err)
{
    cb_status st = CB_OK;
    if (args->n_options > SIZE_MAX / sizeof(*out->rest) - 1)
        return cbc_invalid(err, "create", "n_options %llu is too large",
                           (unsigned long long)args->n_options);
    out->rest = calloc(args->n_options + 1, sizeof(*out->rest));
    if (!out->rest)
        return cbc_fail(err, CB_OUT_OF_MEMORY, "create", "no memory for %llu options",
                        (unsigned long long)args->n_options);
    for (uint64_t i = 0; i < args->n_options && st == CB_OK; i++)
        st = read_option(chaos, args->options[i], out, err);
    return st;
}
