/* SPDX-License-Identifier: Apache-2.0 */
/* usage: on_device PLUGIN PROGRAM ARGUMENT... - becomes the program, or, where the plugin has no
 * device, says in TAP that it is skipped, and why. */
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

#include "compute_backend.h"

/* The number of devices; -1: the plugin does not work at all. */
static int count_devices(const char *path, cb_error *err)
{
    cb_negotiation n;
    cb_create_args args;
    cb_plugin_entry_fn entry;
    void *self;
    uint32_t count = 0;
    cb_negotiation_init(&n);
    cb_create_args_init(&args);
    void *dl = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!dl) {
        fprintf(stderr, "%s\n", dlerror());
        return -1;
    }
    *(void **)&entry = dlsym(dl, CB_PLUGIN_SYMBOL);
    if (!entry || entry(&n) != CB_OK)
        return -1;
    const compute_backend_v1 *api = n.table;
    if (api->create(&args, &self, err) != CB_OK)
        return -1;
    const cb_status st = api->device_count(self, &count, err);
    api->destroy(self);
    return st == CB_OK ? (int)count : -1;
}

int main(int argc, char **argv)
{
    cb_error err;
    cb_error_init(&err);
    if (argc < 3)
        return 2;
    const int count = count_devices(argv[1], &err);
    if (count < 0) {
        fprintf(stderr, "%s: %s\n", argv[1], err.msg);
        return 1;
    }
    if (!count) {
        printf("1..0 # SKIP no device: %s\n", err.msg);
        return 0;
    }
    execv(argv[2], argv + 2);
    perror(argv[2]);
    return 1;
}
