/* SPDX-License-Identifier: Apache-2.0 */
#include "load.h"

#include <stdlib.h>
#include <string.h>

void cbl_options_free(struct option_list *list)
{
    for (uint64_t i = 0; i < list->count; i++)
        free(list->items[i].text);
    free(list->items);
    free(list->texts);
}

static bool add_option(struct option_list *list, struct slice key, const char *value,
                       const char *origin)
{
    struct text t = { 0 };
    cbl_add(&t, "%.*s=%s", SLICE_ARGS(key), value);
    if (t.failed) {
        cbl_text_free(&t);
        return false;
    }
    list->items[list->count++] = (struct option){ t.at, key.size, origin };
    return true;
}

static struct slice key_of(const char *option)
{
    return (struct slice){ option, strcspn(option, "=") };
}

/* Whether the program itself sets the key. */
static bool is_requested(const cb_request *r, const char *key)
{
    for (uint64_t i = 0; i < r->n_options; i++)
        if (cbl_slice_is(key_of(r->options[i]), key))
            return true;
    return false;
}

bool cbl_options_collect(const struct instance *in, const cb_request *r, struct option_list *list)
{
    const struct settings *s = &in->loader->settings;
    const uint64_t most = s->count + r->n_options + 1;
    if (most < r->n_options || most > UINT32_MAX)
        return false;
    list->items = calloc(most, sizeof(*list->items));
    list->texts = calloc(most, sizeof(*list->texts));
    if (!list->items || !list->texts)
        return false;
    for (uint64_t i = 0; i < s->count; i++) {
        const struct setting *o = &s->items[i];
        if (strcmp(o->id, in->candidate->id) != 0 || cbl_is_own_key(o->key) ||
            is_requested(r, o->key))
            continue;
        if (!add_option(list, cbl_slice(o->key), o->value, o->origin))
            return false;
    }
    for (uint64_t i = 0; i < r->n_options; i++) {
        const struct slice key = key_of(r->options[i]);
        if (!add_option(list, key, r->options[i] + key.size + 1, NULL))
            return false;
    }
    return true;
}

/* err->where cuts a long key, and so does this. */
static bool is_named(const struct option *o, const cb_error *err)
{
    char key[sizeof(err->where)] = "", where[sizeof(err->where)] = "";
    memcpy(key, o->text, o->key_size < sizeof(key) ? o->key_size : sizeof(key) - 1);
    cb_text_append(where, sizeof(where), "option ");
    cb_text_append(where, sizeof(where), key);
    return !strcmp(where, err->where);
}

bool cbl_options_drop(const struct instance *in, struct option_list *list, const cb_error *err)
{
    uint64_t i = 0;
    while (i < list->count && !is_named(&list->items[i], err))
        i++;
    if (i == list->count || !list->items[i].origin)
        return false;
    cbl_problem(in->loader, "%s: option %s of %s is refused and dropped: %s", list->items[i].origin,
                list->items[i].text, in->candidate->id, err->msg);
    free(list->items[i].text);
    list->count--;
    memmove(&list->items[i], &list->items[i + 1], (list->count - i) * sizeof(*list->items));
    return true;
}

const char *cbl_option(const struct option_list *list, const char *key)
{
    for (uint64_t i = list->count; i-- > 0;) {
        const struct option *o = &list->items[i];
        if (cbl_slice_is((struct slice){ o->text, o->key_size }, key))
            return o->text + o->key_size + 1;
    }
    return NULL;
}
