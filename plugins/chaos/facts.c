/* SPDX-License-Identifier: Apache-2.0 */
/* Devices and what they support are the wrapped backend's, unless the option devices asks for
 * something else; info adds keys of its own. */
#include "faults.h"
#include "ruin.h"

#include <stdlib.h>
#include <string.h>

cb_status chaos_device_count(void *self, uint32_t *count, cb_error *err)
{
    const struct chaos *chaos = self;
    chaos_reach(chaos, CHAOS_IN_DEVICE_COUNT);
    const cb_status st = chaos->wrapped.api->device_count(chaos->wrapped.self, count, err);
    if (st != CB_OK || !chaos->devices)
        return st;
    if (chaos->devices == CHAOS_DEVICES_NONE) {
        *count = 0;
        return cbc_fail(err, CB_OK, "device_count", "there is none, as the option devices asks");
    }
    *count *= 2;
    return CB_OK;
}

cb_status chaos_device_find(const struct chaos *chaos, uint32_t *ordinal, const char *where,
                            cb_error *err)
{
    uint32_t count = 0;
    if (!chaos->devices)
        return CB_OK;
    if (chaos->devices == CHAOS_DEVICES_NONE)
        return cbc_invalid(err, where, "ordinal %u: there is no device", (unsigned)*ordinal);
    const cb_status st = chaos->wrapped.api->device_count(chaos->wrapped.self, &count, err);
    if (st == CB_OK && *ordinal >= count && *ordinal - count < count)
        *ordinal -= count;
    return st;
}

cb_status chaos_device_info(void *self, uint32_t ordinal, cb_device_info *out, cb_error *err)
{
    const struct chaos *chaos = self;
    const uint32_t asked = ordinal;
    cb_status st = chaos_device_find(chaos, &ordinal, "device_info", err);
    if (st == CB_OK)
        st = chaos->wrapped.api->device_info(chaos->wrapped.self, ordinal, out, err);
    if (st == CB_OK)
        out->ordinal = asked;
    return st;
}

cb_status chaos_capabilities(void *self, uint32_t ordinal, cb_capabilities *out, cb_error *err)
{
    const struct chaos *chaos = self;
    cb_status st = chaos_device_find(chaos, &ordinal, "capabilities", err);
    if (st == CB_OK)
        st = chaos->wrapped.api->capabilities(chaos->wrapped.self, ordinal, out, err);
    return st;
}

cb_status chaos_supports(void *self, uint32_t op, const void *args, cb_support *out, cb_error *err)
{
    struct chaos *chaos = self;
    cb_status st = chaos_begin(chaos, "supports", err);
    if (st == CB_OK)
        st = chaos->wrapped.api->supports(chaos->wrapped.self, op, args, out, err);
    const struct chaos_fault *fault = op < CB_OP_COUNT ? chaos_fault_of(chaos, op) : NULL;
    if (st == CB_OK && fault && fault->support)
        fault->support(out);
    return st;
}

/* ---- info ---- */

/* A text that grows; failed once memory was short. */
struct text {
    char *at;
    uint64_t length, room;
    bool failed;
};

static void add(struct text *t, const char *piece)
{
    const uint64_t n = strlen(piece);
    if (!t->failed && t->length + n + 1 > t->room) {
        const uint64_t room = 2 * (t->length + n + 1);
        char *more = realloc(t->at, room);
        t->failed = !more;
        if (more) {
            t->at = more;
            t->room = room;
        }
    }
    if (t->failed)
        return;
    memcpy(t->at + t->length, piece, n + 1);
    t->length += n;
}

/* A fact of the wrapped backend. */
static void add_wrapped(struct text *t, const struct chaos *chaos, const char *key)
{
    const cb_backend be = chaos->wrapped;
    uint64_t length = 0;
    if (!CB_HAS(be.api, info) || be.api->info(be.self, key, NULL, &length, NULL) != CB_OK)
        return;
    char *value = malloc(length);
    t->failed |= !value;
    if (value && be.api->info(be.self, key, value, &length, NULL) == CB_OK)
        add(t, value);
    free(value);
}

static void add_summary(struct text *t, const struct chaos *chaos)
{
    add(t, "chaos ");
    add(t, chaos->fault ? chaos->fault->name : "without a fault");
    add(t, " around ");
    add(t, chaos->wrapped.api->name);
    add(t, ": ");
    add_wrapped(t, chaos, "summary");
}

static void add_fault(struct text *t, const struct chaos *chaos)
{
    add(t, chaos->fault ? chaos->fault->name : "none");
}

static void add_fail(struct text *t, const struct chaos *chaos)
{
    add(t, chaos->fails == CHAOS_NEVER ? "none" : chaos_code_name(chaos->fails));
}

static void add_wraps(struct text *t, const struct chaos *chaos)
{
    add(t, chaos->wrapped.api->name);
}

static void add_faults(struct text *t, const struct chaos *chaos)
{
    (void)chaos;
    for (uint64_t i = 0; i < chaos_faults_count; i++) {
        add(t, i ? ", " : "");
        add(t, chaos_faults[i].name);
    }
}

static void add_keys(struct text *t, const struct chaos *chaos);

#define ONE_FAULT "fault." /* a key for each fault begins so */

/* A key of the wrapped backend with the same name is not seen. */
static const struct {
    const char *key;
    void (*add)(struct text *t, const struct chaos *chaos);
} facts[] = {
    { "summary", add_summary }, { "wraps", add_wraps },   { "fault", add_fault },
    { "fail", add_fail },       { "faults", add_faults }, { "keys", add_keys },
};
#define FACTS (sizeof(facts) / sizeof(facts[0]))

static size_t find_fact(const char *key, size_t length)
{
    size_t i = 0;
    while (i < FACTS && (strncmp(facts[i].key, key, length) || facts[i].key[length]))
        i++;
    return i;
}

/* The wrapped backend's keys that are not hidden, then those of its own but for "keys". */
static void add_keys(struct text *t, const struct chaos *chaos)
{
    struct text all = { 0 };
    add_wrapped(&all, chaos, "keys");
    for (char *key = all.at, *end; key && *key; key = end) {
        const size_t n = strcspn(key, "\n");
        end = key + n + (key[n] == '\n');
        key[n] = 0;
        if (find_fact(key, n) < FACTS)
            continue;
        add(t, key);
        add(t, "\n");
    }
    for (size_t i = 0; i + 1 < FACTS; i++) {
        add(t, i ? "\n" : "");
        add(t, facts[i].key);
    }
    for (uint64_t i = 0; i < chaos_faults_count; i++) {
        add(t, "\n" ONE_FAULT);
        add(t, chaos_faults[i].name);
    }
    t->failed |= all.failed;
    free(all.at);
}

/* False: the key is not one of its own. */
static bool add_fact(struct text *t, const struct chaos *chaos, const char *key)
{
    const size_t at = find_fact(key, strlen(key)), prefix = strlen(ONE_FAULT);
    if (at < FACTS) {
        facts[at].add(t, chaos);
        return true;
    }
    const struct chaos_fault *fault =
        strncmp(key, ONE_FAULT, prefix) ? NULL : chaos_fault_find(key + prefix);
    if (!fault)
        return false;
    add(t, fault->subject);
    add(t, ": ");
    add(t, fault->text);
    return true;
}

cb_status chaos_info(void *self, const char *key, char *buffer, uint64_t *length, cb_error *err)
{
    const struct chaos *chaos = self;
    const cb_backend be = chaos->wrapped;
    struct text t = { 0 };
    cb_status st = cbc_check_info(key, length, err);
    if (st != CB_OK)
        return st;
    const bool mine = add_fact(&t, chaos, key);
    if (t.failed)
        st = cbc_fail(err, CB_OUT_OF_MEMORY, "info", "no memory for %s", key);
    else if (!mine && CB_HAS(be.api, info))
        st = be.api->info(be.self, key, buffer, length, err);
    else
        st = cbc_info_write(key, t.at, buffer, length, err);
    free(t.at);
    return st;
}
