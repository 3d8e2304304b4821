/* SPDX-License-Identifier: Apache-2.0 */
/* Finding, loading and leaving the wrapped plugin. */
#include "chaos.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define DEFAULT_FILE "libcb_cpu.so"

static cb_status refuse(const char *path, const char *why, cb_error *err)
{
    return cbc_invalid(err, "option wrap", "%s: %s", path, why);
}

/* The file that lies beside this plugin. */
static bool default_path(char path[PATH_MAX])
{
    static const char here;
    Dl_info info;
    if (!dladdr(&here, &info) || !info.dli_fname)
        return false;
    const char *slash = strrchr(info.dli_fname, '/');
    const int directory = slash ? (int)(slash - info.dli_fname) + 1 : 0;
    const int n = snprintf(path, PATH_MAX, "%.*s" DEFAULT_FILE, directory, info.dli_fname);
    return n > 0 && n < PATH_MAX;
}

/* The table of a plugin, when it has all that a backend must have. */
static cb_status negotiate(struct chaos *chaos, const char *path, cb_error *err)
{
    cb_plugin_entry_fn entry;
    cb_negotiation n;
    *(void **)&entry = dlsym(chaos->library, CB_PLUGIN_SYMBOL);
    if (!entry)
        return refuse(path, "exports no " CB_PLUGIN_SYMBOL, err);
    cb_negotiation_init(&n);
    if (entry(&n) != CB_OK)
        return refuse(path, n.reason, err);
    const compute_backend_v1 *api = n.table;
    if (!api || api->size < CB_TABLE_REQUIRED_1_0 || !api->name || !api->create || !api->destroy ||
        !api->device_count || !api->device_info || !api->capabilities || !api->init ||
        !api->alloc || !api->free || !api->copy_htod || !api->copy_dtoh || !api->copy_dtod ||
        !api->synchronize || !api->supports)
        return refuse(path, "its table lacks a required slot", err);
    chaos->wrapped.api = api;
    return CB_OK;
}

cb_status chaos_wrap(struct chaos *chaos, const char *path, const cb_create_args *args,
                     cb_error *err)
{
    char beside[PATH_MAX];
    if (!path) {
        if (!default_path(beside))
            return refuse(DEFAULT_FILE, "the place of this plugin is not known; name a file", err);
        path = beside;
    }
    chaos->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!chaos->library)
        return cbc_invalid(err, "option wrap", "%s", dlerror());
    cb_status st = negotiate(chaos, path, err);
    if (st == CB_OK)
        st = chaos->wrapped.api->create(args, &chaos->wrapped.self, err);
    return st;
}

void chaos_unwrap(struct chaos *chaos)
{
    if (chaos->wrapped.self)
        chaos->wrapped.api->destroy(chaos->wrapped.self);
    if (chaos->library)
        dlclose(chaos->library);
}
