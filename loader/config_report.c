/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration as it counts, and where each part of it was given. */
#include "describe.h"

#include <string.h>

/* Whether a setting is the first of its backend's; the loader's own do not count. */
static bool is_first_of_id(const struct settings *s, uint64_t i)
{
    for (uint64_t j = 0; j < i; j++)
        if (!strcmp(s->items[j].id, s->items[i].id))
            return false;
    return *s->items[i].id != 0;
}

static void write_section(const struct settings *s, const char *id, struct text *t)
{
    cbl_line(t, "[backend.%s]", id);
    for (uint64_t i = 0; i < s->count; i++) {
        if (strcmp(s->items[i].id, id) != 0)
            continue;
        cbl_line(t, "# %s", s->items[i].origin);
        cbl_line(t, "%s = %s", s->items[i].key, s->items[i].value);
    }
}

/* Origins are comments of their own: within a line a # belongs to the value. */
static void write_text(const struct cb_loader *l, struct text *t)
{
    const struct settings *s = &l->settings;
    const char *key, *otherwise, *name;
    for (uint64_t i = 0; i < s->files.count; i++)
        cbl_line(t, "# file: %s: %s", s->files.items[i].path, s->files.items[i].origin);
    for (uint64_t i = 0; (name = cbl_variable_name(i)) != NULL; i++)
        if (cbl_environment(name))
            cbl_line(t, "# variable: %s=%s", name, cbl_environment(name));
    for (uint64_t i = 0; i < l->n_problems; i++)
        cbl_line(t, "# problem: %s", l->problems[i]);
    cbl_line(t, "[loader]");
    for (uint64_t i = 0; (key = cbl_loader_key(i, &otherwise)) != NULL; i++) {
        const struct setting *set = cbl_setting(s, "", key);
        cbl_line(t, "# %s", set ? set->origin : "default");
        cbl_line(t, "%s = %s", key, set ? set->value : otherwise);
    }
    for (uint64_t i = 0; i < s->count; i++)
        if (is_first_of_id(s, i))
            write_section(s, s->items[i].id, t);
}

static void write_setting(struct json *j, const char *id, const char *key, const char *value,
                          const char *origin)
{
    struct text section = { 0 };
    cbl_add(&section, "%s%s", *id ? "backend." : "loader", id);
    cbl_json_open(j, NULL, '{');
    cbl_json_string(j, "section", cbl_text(&section));
    cbl_json_string(j, "key", key);
    cbl_json_string(j, "value", value);
    cbl_json_string(j, "origin", origin);
    cbl_json_close(j, '}');
    j->t->failed |= section.failed;
    cbl_text_free(&section);
}

static void write_json(const struct cb_loader *l, struct text *t)
{
    const struct settings *s = &l->settings;
    struct json j = { .t = t };
    const char *key, *otherwise, *name;
    cbl_json_begin(&j);
    cbl_json_places(&j, "files", &s->files, "result");
    cbl_json_open(&j, "variables", '{');
    for (uint64_t i = 0; (name = cbl_variable_name(i)) != NULL; i++)
        if (cbl_environment(name))
            cbl_json_string(&j, name, cbl_environment(name));
    cbl_json_close(&j, '}');
    cbl_json_open(&j, "settings", '[');
    for (uint64_t i = 0; (key = cbl_loader_key(i, &otherwise)) != NULL; i++) {
        const struct setting *set = cbl_setting(s, "", key);
        write_setting(&j, "", key, set ? set->value : otherwise, set ? set->origin : "default");
    }
    for (uint64_t i = 0; i < s->count; i++)
        if (*s->items[i].id)
            write_setting(&j, s->items[i].id, s->items[i].key, s->items[i].value,
                          s->items[i].origin);
    cbl_json_close(&j, ']');
    cbl_json_strings(&j, "problems", l->problems, l->n_problems);
    cbl_json_close(&j, '}');
}

cb_status cb_loader_config(cb_loader *loader, uint32_t format, char *buffer, uint64_t *length,
                           cb_error *err)
{
    static const struct description config = { "cb_loader_config", write_text, write_json };
    return cbl_describe(loader, &config, format, buffer, length, err);
}
