/* SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

static void read_plugins(struct cb_loader *l, const char *value, const char *name)
{
    cbl_set_places(l, &l->settings.plugins, cbl_slice(value), "", name);
}

static void read_plugins_add(struct cb_loader *l, const char *value, const char *name)
{
    cbl_set_places(l, &l->settings.plugins_add, cbl_slice(value), "", name);
}

static void read_backend(struct cb_loader *l, const char *value, const char *name)
{
    cbl_set_names(l, &l->settings.env_backend, cbl_slice(value), true, name);
}

static void read_options(struct cb_loader *l, const char *value, const char *name)
{
    struct slice list = cbl_slice(value), part, left, right, id, key;
    while (cbl_split(&list, ',', &part)) {
        if (cbl_cut(part, '=', &left, &right) && cbl_cut(left, '.', &id, &key) && cbl_is_id(id) &&
            cbl_is_key(key))
            cbl_set_backend_key(l, id, key, right, name);
        else
            cbl_problem(l, "%s: '%.*s' is not id.key=value: ignored", name, SLICE_ARGS(part));
    }
}

static void read_disable(struct cb_loader *l, const char *value, const char *name)
{
    cbl_set_names(l, &l->settings.disable, cbl_slice(value), false, name);
}

static void read_trust(struct cb_loader *l, const char *value, const char *name)
{
    if (!strcmp(value, "off") || !strcmp(value, "on"))
        l->settings.trust_off = !strcmp(value, "off");
    else
        cbl_problem(l, "%s is '%s', not on or off: ignored", name, value);
}

/* CB_LOG apart, which is read first and even in a set-uid program. */
static const struct {
    const char *name;
    void (*read)(struct cb_loader *l, const char *value, const char *name);
} variables[] = {
    { "CB_PLUGINS", read_plugins }, { "CB_PLUGINS_ADD", read_plugins_add },
    { "CB_CONFIG", NULL }, /* read by loader.c: a file that is not there is an error */
    { "CB_BACKEND", read_backend }, { "CB_OPTIONS", read_options },
    { "CB_DISABLE", read_disable }, { "CB_TRUST", read_trust },
};
#define VARIABLE_COUNT (sizeof(variables) / sizeof(variables[0]))

bool cbl_is_privileged(void)
{
    return getauxval(AT_SECURE) != 0;
}

const char *cbl_variable_name(uint64_t i)
{
    return i < VARIABLE_COUNT ? variables[i].name : NULL;
}

const char *cbl_environment(const char *name)
{
    const char *value = secure_getenv(name);
    return value && *value ? value : NULL;
}

/* Adds a variable that somebody set and that is not listened to. */
static void add_ignored(struct text *ignored, const char *name)
{
    const char *insecure = getenv(name);
    if (insecure && *insecure && !cbl_environment(name))
        cbl_add(ignored, "%s%s", ignored->size ? ", " : "", name);
}

void cbl_environment_read(struct cb_loader *l)
{
    static const char *const of_files[] = { "XDG_CONFIG_HOME", "HOME" }; /* config_files.c */
    struct text ignored = { 0 };
    for (uint64_t i = 0; i < VARIABLE_COUNT; i++) {
        const char *value = cbl_environment(variables[i].name);
        if (value && variables[i].read)
            variables[i].read(l, value, variables[i].name);
        add_ignored(&ignored, variables[i].name);
    }
    for (uint64_t i = 0; i < sizeof(of_files) / sizeof(of_files[0]); i++)
        add_ignored(&ignored, of_files[i]);
    if (ignored.size || ignored.failed)
        cbl_problem(l, "this program runs with raised privileges: ignored %s", cbl_text(&ignored));
    cbl_text_free(&ignored);
}
