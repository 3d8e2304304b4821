/* SPDX-License-Identifier: Apache-2.0 */
/* What a backend tells about itself and its devices. */
#include "suite.h"

#include <stdlib.h>
#include <string.h>

#define DEVICES_LOOKED_AT 16

/* ---- devices ---- */

static const char device_rule[] = "device_info tells the facts of one device in terminated strings";

static uint32_t count_of(struct st_run *run)
{
    cb_error err;
    uint32_t count = 0;
    cb_error_init(&err);
    st_status(run, "device_count", run->be.api->device_count(run->be.self, &count, &err), CB_OK,
              &err);
    return count < DEVICES_LOOKED_AT ? count : DEVICES_LOOKED_AT;
}

static bool device_at(struct st_run *run, uint32_t i, cb_device_info *out)
{
    cb_error err;
    cb_error_init(&err);
    cb_device_info_init(out);
    return st_status(run, "device_info", run->be.api->device_info(run->be.self, i, out, &err),
                     CB_OK, &err);
}

static void there_is_one(struct st_run *run)
{
    if (!count_of(run))
        st_fail(run, "what is initialized has a device", "device_count is 0");
}

static void each_has_facts(struct st_run *run)
{
    cb_device_info d;
    const uint32_t count = count_of(run);
    for (uint32_t i = 0; i < count && device_at(run, i, &d); i++) {
        if (d.ordinal != i || d.memory_kind > CB_MEMORY_HOST)
            st_fail(run, device_rule,
                    "device %" PRIu32 ": ordinal %" PRIu32 ", memory kind %" PRIu32, i, d.ordinal,
                    d.memory_kind);
        if (!memchr(d.name, 0, sizeof(d.name)) || !d.name[0] || !memchr(d.id, 0, sizeof(d.id)) ||
            !d.id[0])
            st_fail(run, device_rule, "device %" PRIu32 ": name or id is empty or not terminated",
                    i);
    }
}

static void ids_are_stable_and_differ(struct st_run *run)
{
    cb_device_info a, b;
    const uint32_t count = count_of(run);
    for (uint32_t i = 0; i < count * count; i++) {
        const uint32_t x = i / count, y = i % count;
        if (!device_at(run, x, &a) || !device_at(run, y, &b))
            return;
        if ((strncmp(a.id, b.id, sizeof(a.id)) == 0) != (x == y))
            st_fail(run, "a device has an id of its own that stays",
                    "the ids of %" PRIu32 " and %" PRIu32 " are %.63s and %.63s", x, y, a.id, b.id);
    }
}

static void ordinal_that_is_none(struct st_run *run)
{
    cb_error err;
    cb_device_info d;
    cb_capabilities c;
    cb_error_init(&err);
    cb_device_info_init(&d);
    cb_capabilities_init(&c);
    const compute_backend_v1 *api = run->be.api;
    const uint32_t none = UINT32_MAX - 1;
    st_status(run, "device_info of no device", api->device_info(run->be.self, none, &d, &err),
              CB_INVALID_ARGUMENT, &err);
    st_status(run, "capabilities of no device", api->capabilities(run->be.self, none, &c, &err),
              CB_INVALID_ARGUMENT, &err);
    if (!err.msg[0])
        st_fail(run, "an error has a message", "capabilities: the message is empty");
}

/* The struct ends where its size says, whatever lies behind it. */
static void results_end_at_their_size(struct st_run *run)
{
    struct {
        cb_device_info info;
        unsigned char behind[64];
    } d;
    cb_error err;
    cb_error_init(&err);
    memset(&d, 0x5a, sizeof(d));
    d.info.size = sizeof(d.info);
    st_status(run, "device_info", run->be.api->device_info(run->be.self, 0, &d.info, &err), CB_OK,
              &err);
    for (size_t i = 0; i < sizeof(d.behind); i++) {
        if (d.behind[i] != 0x5a)
            st_fail(run, "result structs are written up to the caller's size",
                    "byte %zu behind the struct has changed", i);
    }
    d.info.size = 8;
    st_status(run, "device_info with size 8",
              run->be.api->device_info(run->be.self, 0, &d.info, &err), CB_INVALID_ARGUMENT, &err);
}

static void capabilities_of_auto(struct st_run *run)
{
    cb_error err;
    cb_capabilities chosen, c;
    cb_error_init(&err);
    cb_capabilities_init(&chosen);
    const compute_backend_v1 *api = run->be.api;
    if (!st_status(run, "capabilities",
                   api->capabilities(run->be.self, CB_DEVICE_AUTO, &chosen, &err), CB_OK, &err))
        return;
    const uint32_t count = count_of(run);
    for (uint32_t i = 0; i < count; i++) {
        cb_capabilities_init(&c);
        if (!st_status(run, "capabilities", api->capabilities(run->be.self, i, &c, &err), CB_OK,
                       &err) ||
            !memcmp(&c, &chosen, sizeof(c)))
            return;
    }
    st_fail(run, "capabilities of CB_DEVICE_AUTO are those of a device", "they are those of none");
}

static void the_table_is_named(struct st_run *run)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
    const compute_backend_v1 *api = run->be.api;
    if (!api->name || !api->name[0] || api->name[strspn(api->name, letters)])
        st_fail(run, "the name of a backend is [a-z0-9_]+", "it is \"%.80s\"",
                api->name ? api->name : "");
    if (!api->version || !api->version[0])
        st_fail(run, "a backend has a version", "it is empty");
    if (api->abi_major != CB_ABI_MAJOR)
        st_fail(run, "the table says its major version", "it says %" PRIu32, api->abi_major);
}

static const struct st_case device_cases[] = {
    { "there_is_one", there_is_one },
    { "each_has_facts", each_has_facts },
    { "ids_are_stable_and_differ", ids_are_stable_and_differ },
    { "ordinal_that_is_none", ordinal_that_is_none },
    { "results_end_at_their_size", results_end_at_their_size },
    { "capabilities_of_auto", capabilities_of_auto },
    { "the_table_is_named", the_table_is_named },
};

static void device_grid(struct st_run *run, uint32_t type)
{
    (void)type;
    st_cases(run, "devices", device_cases, ST_COUNT(device_cases));
}

const struct st_group st_devices = { "devices", NULL, device_grid, NULL, NULL };

/* ---- info ---- */

static const char info_rule[] = "info tells a length with the terminator, and a terminated text";

/* The text of a key, to be freed. NULL: the case has failed, or is skipped. */
static char *read_info(struct st_run *run, const char *key)
{
    cb_error err;
    uint64_t length = 0;
    cb_error_init(&err);
    if (!CB_HAS(run->be.api, info)) {
        st_skip(run, "the table has no info");
        return NULL;
    }
    const compute_backend_v1 *api = run->be.api;
    if (!st_offered(run, "info", api->info(run->be.self, key, NULL, &length, &err), &err))
        return NULL;
    const uint64_t asked = length;
    char *text = st_host(run, length + 1, 1);
    if (!text)
        return NULL;
    memset(text, 0x5a, length + 1);
    if (st_status(run, "info", api->info(run->be.self, key, text, &length, &err), CB_OK, &err) &&
        length && length == asked && memchr(text, 0, length) == text + length - 1 &&
        text[asked] == 0x5a)
        return text;
    st_fail(run, info_rule, "%s: the length is %" PRIu64 ", then %" PRIu64, key, asked, length);
    free(text);
    return NULL;
}

static void every_key_has_a_text(struct st_run *run)
{
    char *save = NULL;
    char *keys = read_info(run, "keys");
    for (char *key = keys ? strtok_r(keys, "\n", &save) : NULL; key;
         key = strtok_r(NULL, "\n", &save))
        free(read_info(run, key));
    free(keys);
}

static void initialized_is_1(struct st_run *run)
{
    char *text = read_info(run, "initialized");
    if (text && strcmp(text, "1") != 0)
        st_fail(run, "after init the fact \"initialized\" is 1", "it is \"%.80s\"", text);
    free(text);
}

static void unknown_key(struct st_run *run)
{
    cb_error err;
    char text[8] = "as was";
    uint64_t length = sizeof(text);
    cb_error_init(&err);
    free(read_info(run, "initialized"));
    if (run->outcome != CB_SELFTEST_PASSED)
        return;
    st_status(run, "info of an unknown key",
              run->be.api->info(run->be.self, "no such key", text, &length, &err), CB_NOT_FOUND,
              &err);
    if (strcmp(text, "as was") != 0 || !err.msg[0])
        st_fail(run, "a call that fails leaves its output as it was, and has a message",
                "info of an unknown key wrote its output, or has no message");
}

static void short_buffer(struct st_run *run)
{
    cb_error err;
    char text[2] = { 0x5a, 0x5a };
    uint64_t length = 1;
    cb_error_init(&err);
    free(read_info(run, "initialized"));
    if (run->outcome != CB_SELFTEST_PASSED)
        return;
    st_status(run, "info with a short buffer",
              run->be.api->info(run->be.self, "initialized", text, &length, &err),
              CB_INVALID_ARGUMENT, &err);
    if (length != 2 || text[0] != 0x5a || text[1] != 0x5a)
        st_fail(run, "info with a short buffer sets length and writes nothing",
                "length is %" PRIu64 ", the buffer begins with %02x", length,
                (unsigned)(unsigned char)text[0]);
}

static const struct st_case info_cases[] = {
    { "every_key_has_a_text", every_key_has_a_text },
    { "initialized_is_1", initialized_is_1 },
    { "unknown_key", unknown_key },
    { "short_buffer", short_buffer },
};

static void info_grid(struct st_run *run, uint32_t type)
{
    (void)type;
    st_cases(run, "info", info_cases, ST_COUNT(info_cases));
}

const struct st_group st_info = { "info", NULL, info_grid, NULL, NULL };
