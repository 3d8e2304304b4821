/* SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"

#include <dlfcn.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

/* ---- The library and its table ---- */

static bool find_entry(struct instance *in, cb_plugin_entry_fn *entry, struct verdict *v)
{
    const struct candidate *c = in->candidate;
    *entry = c->entry;
    if (*entry)
        return true;
    /* Code stays mapped: a plugin's threads, exit handlers and tables outlive its last use. */
    in->library = dlopen(c->path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!in->library) {
        const char *why = dlerror();
        return cbl_blame(v, CB_STATE_FAILED, "dlopen(%s): %s", c->path, why ? why : "no reason");
    }
    *(void **)entry = dlsym(in->library, CB_PLUGIN_SYMBOL);
    if (!*entry) {
        const char *why = dlerror();
        return cbl_blame(v, CB_STATE_REFUSED, "no symbol %s: %s", CB_PLUGIN_SYMBOL,
                         why ? why : "it is NULL");
    }
    return true;
}

static bool negotiate(struct instance *in, struct verdict *v)
{
    cb_plugin_entry_fn entry;
    cb_negotiation n;
    if (!find_entry(in, &entry, v))
        return false;
    cb_negotiation_init(&n);
    const cb_status status = entry(&n);
    n.reason[sizeof(n.reason) - 1] = 0;
    if (status == CB_ABI_MISMATCH)
        return cbl_blame(v, CB_STATE_REFUSED,
                         "%s: ABI_MISMATCH: %s (plugin %u.%u draft %u, loader %u.%u draft %u)",
                         CB_PLUGIN_SYMBOL, n.reason, n.major, n.minor, n.draft, CB_ABI_MAJOR,
                         CB_ABI_MINOR, CB_ABI_DRAFT);
    if (status != CB_OK)
        return cbl_blame(v, CB_STATE_FAILED, "%s: %s: %s", CB_PLUGIN_SYMBOL, cb_status_name(status),
                         n.reason[0] ? n.reason : "no reason given");
    if (!cbl_abi_check(n.major, n.minor, n.draft, CB_PLUGIN_SYMBOL, v))
        return false;
    if (!n.table)
        return cbl_blame(v, CB_STATE_REFUSED, "%s said OK and gave no table", CB_PLUGIN_SYMBOL);
    return cbl_table_complete(n.table, in->candidate, &in->table, v);
}

/* ---- create, with options from three places ---- */

struct option {
    char *text; /* "key=value" */
    uint64_t key_size;
    const char *origin; /* NULL: given by API */
};

struct option_list {
    struct option *items;
    const char **texts; /* what create gets */
    uint64_t count;
};

static void free_options(struct option_list *list)
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

static bool collect_options(const struct instance *in, const cb_request *r,
                            struct option_list *list)
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
        if (strcmp(o->id, in->candidate->id) != 0 || !strcmp(o->key, CBL_PRIORITY_KEY) ||
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

/* The option that create named in err->where, when the program did not ask for it: the index, or
 * UINT64_MAX. A long key is cut there, and so here. */
static uint64_t find_refused(const struct option_list *list, const cb_error *err)
{
    for (uint64_t i = 0; i < list->count; i++) {
        const struct option *o = &list->items[i];
        char key[sizeof(err->where)] = "", where[sizeof(err->where)] = "";
        memcpy(key, o->text, o->key_size < sizeof(key) ? o->key_size : sizeof(key) - 1);
        cb_text_append(where, sizeof(where), "option ");
        cb_text_append(where, sizeof(where), key);
        if (!strcmp(where, err->where))
            return o->origin ? i : UINT64_MAX;
    }
    return UINT64_MAX;
}

static void drop_option(struct cb_loader *l, const char *id, struct option_list *list, uint64_t i,
                        const cb_error *err)
{
    cbl_problem(l, "%s: option %s of %s is refused and dropped: %s", list->items[i].origin,
                list->items[i].text, id, err->msg);
    free(list->items[i].text);
    list->count--;
    memmove(&list->items[i], &list->items[i + 1], (list->count - i) * sizeof(*list->items));
}

/* What a plugin wrote may lack its terminators. */
static void seal(cb_error *err)
{
    err->where[sizeof(err->where) - 1] = 0;
    err->msg[sizeof(err->msg) - 1] = 0;
}

static bool blame_call(struct verdict *v, const char *call, cb_status status, cb_error *err)
{
    seal(err);
    if (!err->msg[0])
        return cbl_blame(v, CB_STATE_FAILED, "%s: %s without a reason", call,
                         cb_status_name(status));
    /* A message that cb_error_set made names the call by itself. */
    const bool named = !strncmp(err->msg, err->where, strlen(err->where)) && err->where[0];
    return cbl_blame(v, CB_STATE_FAILED, "%s%s%s: %s", named ? "" : call, named ? "" : ": ",
                     cb_status_name(status), err->msg);
}

/* *device receives the value of the option `device` that counted, to be freed, or NULL. */
static bool create(struct instance *in, const cb_request *r, char **device, struct verdict *v)
{
    struct option_list list = { 0 };
    bool good = false;
    if (!collect_options(in, r, &list)) {
        cbl_no_memory(v);
        goto out;
    }
    for (;;) {
        cb_error err;
        cb_create_args args;
        cb_error_init(&err);
        cb_create_args_init(&args);
        for (uint64_t i = 0; i < list.count; i++)
            list.texts[i] = list.items[i].text;
        args.host = &in->host;
        args.options = list.count ? list.texts : NULL;
        args.n_options = list.count;
        const cb_status status = in->table.create(&args, &in->self, &err);
        if (status == CB_OK)
            break;
        seal(&err);
        const uint64_t refused = find_refused(&list, &err);
        if (refused == UINT64_MAX) {
            blame_call(v, "create", status, &err);
            goto out;
        }
        drop_option(in->loader, in->candidate->id, &list, refused, &err);
    }
    in->created = true;
    good = true;
    for (uint64_t i = 0; i < list.count && good; i++) {
        const struct slice key = key_of(list.items[i].text);
        if (!cbl_slice_is(key, "device"))
            continue;
        free(*device);
        *device = strdup(list.items[i].text + key.size + 1);
        good = *device || cbl_no_memory(v);
    }
out:
    free_options(&list);
    return good;
}

/* ---- Devices ---- */

static const struct {
    uint32_t want, feature;
    const char *name;
} wants[] = {
    { CB_WANT_FP16, CB_FEATURE_FP16, "fp16" },
    { CB_WANT_BF16, CB_FEATURE_BF16, "bf16" },
    { CB_WANT_FP8, CB_FEATURE_FP8, "fp8" },
    { CB_WANT_TENSOR_CORES, CB_FEATURE_TENSOR_CORES, "tensor cores" },
    { CB_WANT_UNIFIED_MEMORY, CB_FEATURE_UNIFIED_MEMORY, "unified memory" },
    { CB_WANT_PEER_ACCESS, CB_FEATURE_PEER_ACCESS, "peer access" },
};

/* The rule of the option `device`: an ordinal, an id, or a glob on the name. */
static bool is_device(const char *option, const cb_device_info *info)
{
    uint64_t ordinal;
    if (cbl_number(cbl_slice(option), UINT32_MAX, &ordinal))
        return ordinal == info->ordinal;
    return !strcmp(option, info->id) || !fnmatch(option, info->name, FNM_NOESCAPE);
}

/* Adds a reason against a device. */
static void add_against(struct text *against, const char *what, const char *name)
{
    cbl_add(against, "%s%s%s", against->size ? ", " : "", what, name);
}

static void compare(const struct instance *in, const struct demand *demand,
                    const cb_device_info *info, uint32_t features, struct text *against)
{
    const uint32_t want = demand->request->want;
    const char *device_class = in->candidate->device_class;
    for (uint64_t i = 0; i < sizeof(wants) / sizeof(wants[0]); i++)
        if ((want & wants[i].want) && !(features & wants[i].feature))
            add_against(against, "no ", wants[i].name);
    if (info->memory_kind != CB_MEMORY_HOST)
        return;
    if (want & CB_WANT_GPU)
        add_against(against, "its memory is the host's", "");
    else if (!demand->named && strcmp(device_class, "cpu") != 0)
        add_against(against, "its memory is the host's: taken only when named, as of class ",
                    device_class);
}

/* Looks at one device. *against is empty afterwards when it fits. */
static bool look_at(struct instance *in, const struct demand *demand, uint32_t ordinal,
                    const char *option, cb_device_info *info, struct text *against,
                    struct verdict *v)
{
    cb_capabilities capabilities;
    cb_error err;
    cb_error_init(&err);
    cb_device_info_init(info);
    cb_capabilities_init(&capabilities);
    cb_status status = in->table.device_info(in->self, ordinal, info, &err);
    if (status != CB_OK)
        return blame_call(v, "device_info", status, &err);
    info->name[sizeof(info->name) - 1] = 0;
    info->id[sizeof(info->id) - 1] = 0;
    if (option && !is_device(option, info)) {
        add_against(against, "not what the option asks for: device=", option);
        return true;
    }
    status = in->table.capabilities(in->self, ordinal, &capabilities, &err);
    if (status != CB_OK)
        return blame_call(v, "capabilities", status, &err);
    compare(in, demand, info, capabilities.features, against);
    return true;
}

/* Takes the first device that fits, or says of each what it lacks. */
static bool choose_device(struct instance *in, const struct demand *demand, const char *option,
                          struct verdict *v)
{
    uint32_t count = 0;
    cb_error err;
    cb_error_init(&err);
    const cb_status status = in->table.device_count(in->self, &count, &err);
    seal(&err);
    if (status != CB_OK)
        return blame_call(v, "device_count", status, &err);
    if (!count)
        return cbl_blame(v, CB_STATE_FAILED, "no device: %s",
                         err.msg[0] ? err.msg : "no reason given");

    struct text all = { 0 };
    bool good = true, fits = false;
    for (uint32_t i = 0; i < count && good && !fits; i++) {
        cb_device_info info;
        struct text against = { 0 };
        good = look_at(in, demand, i, option, &info, &against, v);
        fits = good && !against.size && !against.failed;
        if (fits)
            in->device = i;
        else if (good)
            cbl_add(&all, "%sdevice %u (%s): %s", all.size ? "; " : "", i, info.name,
                    cbl_text(&against));
        all.failed |= against.failed;
        cbl_text_free(&against);
    }
    if (all.failed && !fits)
        cbl_no_memory(v);
    else if (good && !fits)
        cbl_blame(v, CB_STATE_UNFIT, "%s", cbl_text(&all));
    cbl_text_free(&all);
    return fits;
}

static bool init(struct instance *in, struct verdict *v)
{
    cb_error err;
    cb_error_init(&err);
    const cb_status status = in->table.init(in->self, in->device, &err);
    return status == CB_OK || blame_call(v, "init", status, &err);
}

/* ---- The way ---- */

static void host_log(void *ctx, int32_t level, const char *text)
{
    const struct instance *in = ctx;
    cbl_log(in->loader, level, "%s: %s", in->candidate->id, text ? text : "");
}

struct instance *cbl_instance_open(struct cb_loader *l, const struct candidate *c,
                                   const struct demand *demand, struct verdict *v)
{
    char *device = NULL;
    struct instance *in = calloc(1, sizeof(*in));
    if (!in) {
        cbl_no_memory(v);
        return NULL;
    }
    in->loader = l;
    in->candidate = c;
    in->host = (cb_host){ .size = sizeof(in->host), .ctx = in, .log = host_log };
    const bool good = negotiate(in, v) && create(in, demand->request, &device, v) &&
                      choose_device(in, demand, device, v) && init(in, v);
    free(device);
    if (good)
        return in;
    cbl_instance_stop(in);
    cbl_instance_free(in);
    return NULL;
}

void cbl_instance_stop(struct instance *in)
{
    if (in->created)
        in->table.destroy(in->self);
}

void cbl_instance_free(struct instance *in)
{
    if (in->library)
        dlclose(in->library);
    free(in);
}
