/* SPDX-License-Identifier: Apache-2.0 */
#include "backend.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const compute_backend_v1 *table;

static void open_plugin(void)
{
    const char *path = getenv("CB_TEST_PLUGIN");
    void *dl = dlopen(path ? path : TEST_CPU_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    if (!dl) {
        fprintf(stderr, "%s\n", dlerror());
        return;
    }
    cb_plugin_entry_fn entry;
    *(void **)&entry = dlsym(dl, CB_PLUGIN_SYMBOL);
    cb_negotiation n;
    cb_negotiation_init(&n);
    if (entry && entry(&n) == CB_OK)
        table = n.table;
    else
        fprintf(stderr, "%s: %s\n", CB_PLUGIN_SYMBOL, entry ? n.reason : "no such symbol");
}

const compute_backend_v1 *test_table(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_plugin);
    assert_non_null(table);
    return table;
}

cb_backend test_open(const char *const *options)
{
    const char *all[32];
    uint64_t n = 0;
    char env[1024];
    const char *more = getenv("CB_TEST_OPTIONS");
    snprintf(env, sizeof(env), "%s", more ? more : "");
    char *save = NULL;
    for (char *o = strtok_r(env, ",", &save); o && n < 16; o = strtok_r(NULL, ",", &save))
        all[n++] = o;
    for (; options && *options && n < 32; options++)
        all[n++] = *options;

    cb_error err = test_error();
    cb_create_args args;
    cb_create_args_init(&args);
    args.options = all;
    args.n_options = n;
    cb_backend be = { test_table(), NULL };
    TEST_OK(be.api->create(&args, &be.self, &err), &err);
    TEST_OK(be.api->init(be.self, CB_DEVICE_AUTO, &err), &err);
    return be;
}

void test_close(cb_backend be)
{
    be.api->destroy(be.self);
}

int test_setup_backend(void **state)
{
    cb_backend *be = malloc(sizeof(*be));
    if (!be)
        return -1;
    *be = test_open(NULL);
    *state = be;
    return 0;
}

int test_teardown_backend(void **state)
{
    test_close(TEST_BE(state));
    free(*state);
    return 0;
}

uint64_t test_alloc(cb_backend be, uint64_t bytes)
{
    cb_error err = test_error();
    uint64_t ptr = 0;
    TEST_OK(cb_alloc(be, bytes, &ptr, &err), &err);
    return ptr;
}

uint64_t test_upload(cb_backend be, const void *data, uint64_t bytes)
{
    cb_error err = test_error();
    const uint64_t ptr = test_alloc(be, bytes ? bytes : 1);
    TEST_OK(cb_upload(be, ptr, data, bytes, &err), &err);
    return ptr;
}

void test_download(cb_backend be, void *data, uint64_t ptr, uint64_t bytes)
{
    cb_error err = test_error();
    TEST_OK(cb_download(be, data, ptr, bytes, &err), &err);
}

void test_release(cb_backend be, uint64_t ptr)
{
    cb_error err = test_error();
    TEST_OK(cb_free(be, ptr, &err), &err);
}

cb_error test_error(void)
{
    cb_error err;
    cb_error_init(&err);
    return err;
}

void test_status_at(cb_status got, cb_status want, const cb_error *err, const char *call,
                    const char *file, int line)
{
    if (got == want)
        return;
    print_error("%s: %s, not %s: %s\n", call, cb_status_name(got), cb_status_name(want),
                err && got != CB_OK ? err->msg : "");
    _fail(file, line);
}

void test_skip(const char *name, const char *reason)
{
    print_message("# skipped %s: %s\n", name, reason);
    skip();
}

int test_big_endian(void)
{
    return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
}
