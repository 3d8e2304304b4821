/* SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *cbl_absolute(struct cb_loader *l, const char *base, struct slice path)
{
    struct text whole = { 0 }, clean = { 0 };
    if (path.at[0] != '/') {
        /* A working directory without a name can still be reached. */
        char *cwd = *base ? NULL : getcwd(NULL, 0);
        cbl_add(&whole, "%s/", *base ? base : cwd ? cwd : "/proc/self/cwd");
        l->strings.failed |= !*base && !cwd && errno == ENOMEM;
        free(cwd);
    }
    cbl_add(&whole, "%.*s", SLICE_ARGS(path));

    struct slice rest = cbl_slice(cbl_text(&whole)), part;
    for (const char *end; rest.size; rest.at += part.size, rest.size -= part.size) {
        while (rest.size && rest.at[0] == '/') {
            rest.at++;
            rest.size--;
        }
        end = memchr(rest.at, '/', rest.size);
        part = (struct slice){ rest.at, end ? (uint64_t)(end - rest.at) : rest.size };
        if (part.size && !cbl_slice_is(part, "."))
            cbl_add(&clean, "/%.*s", SLICE_ARGS(part));
    }
    const char *kept = cbl_keepf(&l->strings, "%s", clean.size ? cbl_text(&clean) : "/");
    l->strings.failed |= whole.failed || clean.failed;
    cbl_text_free(&whole);
    cbl_text_free(&clean);
    return kept;
}

void cbl_add_place(struct cb_loader *l, struct places *places, const char *path, const char *origin)
{
    struct place *grown = cbl_grow(places->items, places->count, sizeof(*grown));
    if (!grown) {
        l->strings.failed = true;
        return;
    }
    places->items = grown;
    places->items[places->count++] = (struct place){ path, origin };
}

void cbl_set_places(struct cb_loader *l, struct places *places, struct slice list, const char *base,
                    const char *origin)
{
    struct slice part;
    places->count = 0;
    while (cbl_split(&list, ':', &part))
        cbl_add_place(l, places, cbl_absolute(l, base, part), origin);
}

static void add_name(struct cb_loader *l, struct names *names, struct slice name)
{
    const char **grown = cbl_grow(names->items, names->count, sizeof(*grown));
    if (!grown) {
        l->strings.failed = true;
        return;
    }
    names->items = grown;
    names->items[names->count++] = cbl_keep(&l->strings, name);
}

void cbl_set_names(struct cb_loader *l, struct names *names, struct slice list, bool takes_any,
                   const char *origin)
{
    struct slice part;
    names->count = 0;
    names->any = false;
    while (cbl_split(&list, ',', &part)) {
        if (names->any) {
            cbl_problem(l, "%s: what follows 'any' is ignored", origin);
            break;
        }
        if (takes_any && cbl_slice_is(part, "any"))
            names->any = true;
        else
            add_name(l, names, part);
    }
    names->origin = names->count || names->any ? origin : NULL;
}

uint64_t cbl_match(const struct names *names, const char *id, bool *named)
{
    uint64_t first = UINT64_MAX;
    *named = false;
    for (uint64_t i = 0; i < names->count; i++) {
        const bool same = !strcmp(names->items[i], id);
        *named |= same;
        if (first == UINT64_MAX && (same || !fnmatch(names->items[i], id, FNM_NOESCAPE)))
            first = i;
    }
    return first;
}

struct setting *cbl_setting(const struct settings *s, const char *id, const char *key)
{
    for (uint64_t i = 0; i < s->count; i++)
        if (!strcmp(s->items[i].id, id) && !strcmp(s->items[i].key, key))
            return &s->items[i];
    return NULL;
}

void cbl_keep_setting(struct cb_loader *l, struct slice id, struct slice key, struct slice value,
                      const char *origin)
{
    const struct setting s = {
        .id = cbl_keep(&l->strings, id),
        .key = cbl_keep(&l->strings, key),
        .value = cbl_keep(&l->strings, value),
        .origin = origin,
    };
    struct settings *all = &l->settings;
    struct setting *old = cbl_setting(all, s.id, s.key);
    if (old) {
        *old = s;
        return;
    }
    struct setting *grown = cbl_grow(all->items, all->count, sizeof(*grown));
    if (!grown) {
        l->strings.failed = true;
        return;
    }
    all->items = grown;
    all->items[all->count++] = s;
}

static bool is_priority(struct slice value)
{
    uint64_t number;
    return cbl_number(value, CBL_PRIORITY_MAX, &number);
}

/* The keys of [backend.ID] that are no options of the backend. */
static const struct {
    const char *name;
    bool (*is)(struct slice value);
    const char *form;
} own_keys[] = {
    { CBL_PRIORITY_KEY, is_priority, "a number from 0 to " CB_TEXT_(CBL_PRIORITY_MAX) },
    { CBL_PIN_KEY, cbl_is_sha256, "64 hexadecimal digits" },
};

bool cbl_is_own_key(const char *key)
{
    for (uint64_t i = 0; i < sizeof(own_keys) / sizeof(own_keys[0]); i++)
        if (!strcmp(own_keys[i].name, key))
            return true;
    return false;
}

void cbl_set_backend_key(struct cb_loader *l, struct slice id, struct slice key, struct slice value,
                         const char *origin)
{
    static const char prefix[] = "loader_";
    for (uint64_t i = 0; i < sizeof(own_keys) / sizeof(own_keys[0]); i++) {
        if (!cbl_slice_is(key, own_keys[i].name) || own_keys[i].is(value))
            continue;
        cbl_problem(l, "%s: %.*s of %.*s is '%.*s', not %s: ignored", origin, SLICE_ARGS(key),
                    SLICE_ARGS(id), SLICE_ARGS(value), own_keys[i].form);
        return;
    }
    if (key.size >= sizeof(prefix) - 1 && !memcmp(key.at, prefix, sizeof(prefix) - 1)) {
        cbl_problem(l, "%s: this loader knows no %.*s: ignored", origin, SLICE_ARGS(key));
        return;
    }
    cbl_keep_setting(l, id, key, value, origin);
}

void cbl_settings_free(struct settings *s)
{
    free(s->plugins.items);
    free(s->plugins_add.items);
    free(s->plugin_path.items);
    free(s->backend.items);
    free(s->env_backend.items);
    free(s->disable.items);
    free(s->items);
    free(s->files.items);
    *s = (struct settings){ 0 };
}
