/* SPDX-License-Identifier: Apache-2.0 */
/* A host that loads a plugin, computes, and ends in the way that it is told to:
 *
 *     exiter PLUGIN whole|abandoned|unloaded|busy|quick
 *
 * whole: destroy, dlclose, return from main. abandoned: return at once. unloaded: dlclose without
 * destroy. busy: exit() while another thread computes. quick: quick_exit() while one does. The exit
 * status is 0 unless something failed before the end. */
#include "job.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_int rounds;

static void *compute_forever(void *arg)
{
    const cb_backend *be = arg;
    while (job_run(*be, NULL) == CB_OK)
        atomic_fetch_add(&rounds, 1);
    return NULL;
}

static int start_computing(cb_backend *be)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, compute_forever, be) != 0)
        return -1;
    while (atomic_load(&rounds) == 0)
        usleep(1000);
    return 0;
}

static void *open_plugin(const char *path, cb_backend *be)
{
    cb_negotiation n;
    cb_create_args args;
    cb_plugin_entry_fn entry;
    void *dl = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!dl) {
        fprintf(stderr, "%s\n", dlerror());
        return NULL;
    }
    cb_negotiation_init(&n);
    cb_create_args_init(&args);
    *(void **)&entry = dlsym(dl, CB_PLUGIN_SYMBOL);
    if (!entry || entry(&n) != CB_OK)
        return NULL;
    be->api = n.table;
    if (be->api->create(&args, &be->self, NULL) != CB_OK)
        return NULL;
    return be->api->init(be->self, CB_DEVICE_AUTO, NULL) == CB_OK ? dl : NULL;
}

int main(int argc, char **argv)
{
    static cb_backend be; /* outlives main, for the thread */
    alarm(10);
    if (argc != 3)
        return 2;
    const char *way = argv[2];
    void *dl = open_plugin(argv[1], &be);
    if (!dl || job_run(be, NULL) != CB_OK)
        return 1;
    if (!strcmp(way, "busy") || !strcmp(way, "quick")) {
        if (start_computing(&be) != 0)
            return 1;
        if (!strcmp(way, "quick"))
            quick_exit(0);
        exit(0);
    }
    if (!strcmp(way, "whole"))
        be.api->destroy(be.self);
    if (!strcmp(way, "whole") || !strcmp(way, "unloaded"))
        return dlclose(dl) != 0;
    return 0;
}
