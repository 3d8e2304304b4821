/* SPDX-License-Identifier: Apache-2.0 */
/* The options of create: wrap, fault, fail, delay. All others are for the wrapped backend. */
#include "faults.h"

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
        st = args->options[i]
                 ? read_option(chaos, args->options[i], out, err)
                 : cbc_invalid(err, "create", "options[%llu] is NULL", (unsigned long long)i);
    return st;
}
