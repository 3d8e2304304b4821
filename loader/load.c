/* SPDX-License-Identifier: Apache-2.0 */
#include "load.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static bool find_entry(struct instance *in, cb_plugin_entry_fn *entry, struct verdict *v)
{
    const struct candidate *c = in->candidate;
    *entry = c->entry;
    if (*entry)
        return true;
    if (!cbl_scan_again(in->loader, c, v))
        return false;
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
    return cbl_memory_check((uintptr_t)*entry, c, v);
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

void cbl_seal(cb_error *err)
{
    err->where[sizeof(err->where) - 1] = 0;
    err->msg[sizeof(err->msg) - 1] = 0;
}

bool cbl_blame_call(struct verdict *v, const char *call, cb_status status, cb_error *err)
{
    cbl_seal(err);
    if (!err->msg[0])
        return cbl_blame(v, CB_STATE_FAILED, "%s: %s without a reason", call,
                         cb_status_name(status));
    /* A message that cb_error_set made names the call by itself. */
    const bool named = !strncmp(err->msg, err->where, strlen(err->where)) && err->where[0];
    return cbl_blame(v, CB_STATE_FAILED, "%s%s%s: %s", named ? "" : call, named ? "" : ": ",
                     cb_status_name(status), err->msg);
}

/* An option of the user's that create refuses is dropped, and create is called again. */
static bool create(struct instance *in, struct option_list *list, struct verdict *v)
{
    for (;;) {
        cb_error err;
        cb_create_args args;
        cb_error_init(&err);
        cb_create_args_init(&args);
        for (uint64_t i = 0; i < list->count; i++)
            list->texts[i] = list->items[i].text;
        args.host = &in->host;
        args.options = list->count ? list->texts : NULL;
        args.n_options = list->count;
        const cb_status status = in->table.create(&args, &in->self, &err);
        in->created = status == CB_OK;
        if (in->created)
            return true;
        cbl_seal(&err);
        if (!cbl_options_drop(in, list, &err))
            return cbl_blame_call(v, "create", status, &err);
    }
}

static bool init(struct instance *in, struct verdict *v)
{
    cb_error err;
    cb_error_init(&err);
    const cb_status status = in->table.init(in->self, in->device, &err);
    return status == CB_OK || cbl_blame_call(v, "init", status, &err);
}

static void host_log(void *ctx, int32_t level, const char *text)
{
    const struct instance *in = ctx;
    cbl_log(in->loader, level, "%s: %s", in->candidate->id, text ? text : "");
}

struct instance *cbl_instance_open(struct cb_loader *l, const struct candidate *c,
                                   const struct demand *demand, struct verdict *v)
{
    struct option_list list = { 0 };
    struct instance *in = calloc(1, sizeof(*in));
    if (!in) {
        cbl_no_memory(v);
        return NULL;
    }
    in->loader = l;
    in->candidate = c;
    in->host = (cb_host){ .size = sizeof(in->host), .ctx = in, .log = host_log };
    bool good = cbl_options_collect(in, demand->request, &list) || cbl_no_memory(v);
    good = good && negotiate(in, v) && create(in, &list, v) &&
           cbl_device_choose(in, demand, cbl_option(&list, "device"), v) &&
           (demand->probe || init(in, v));
    cbl_options_free(&list);
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
