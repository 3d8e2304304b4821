/* SPDX-License-Identifier: Apache-2.0 */
/* usage: judge PLUGIN [FILTER]
 * Judges a plugin file by the contract, with the suite of loader/selftest. Without the loader: the
 * suite sees the table as the plugin wrote it, and skips what is not there. Exits with 0 when cases
 * passed and none failed. */
#include "selftest.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>

static void report(void *ctx, const cb_selftest_result *result)
{
    (void)ctx;
    if (result->outcome == CB_SELFTEST_FAILED)
        printf("%s\n    %s\n    rule: %s\n", result->spec, result->text, result->rule);
}

/* The way of any plugin: entry, create, init. */
static cb_status open_plugin(void *library, cb_backend *be, cb_error *err)
{
    cb_plugin_entry_fn entry;
    cb_negotiation negotiation;
    cb_create_args args;
    cb_negotiation_init(&negotiation);
    cb_create_args_init(&args);
    *(void **)&entry = dlsym(library, CB_PLUGIN_SYMBOL);
    cb_status status = entry ? entry(&negotiation) : CB_NOT_FOUND;
    if (status != CB_OK) {
        fprintf(stderr, "%s: %s %s\n", CB_PLUGIN_SYMBOL, cb_status_name(status),
                negotiation.reason);
        return status;
    }
    be->api = negotiation.table;
    status = be->api->create(&args, &be->self, err);
    if (status == CB_OK)
        status = be->api->init(be->self, CB_DEVICE_AUTO, err);
    if (status != CB_OK)
        fprintf(stderr, "%s\n", err->msg);
    return status;
}

int main(int argc, char **argv)
{
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    cb_backend be = { NULL, NULL };
    cb_selftest_options options;
    cb_selftest_summary sum;
    cb_error err;
    cb_error_init(&err);
    cb_selftest_options_init(&options);
    cb_selftest_summary_init(&sum);
    options.report = report;
    options.filter = argc > 2 ? argv[2] : NULL;
    if (!library) {
        fprintf(stderr, "%s\n", argc > 1 ? dlerror() : "usage: judge PLUGIN [FILTER]");
        return 2;
    }

    cb_status status = open_plugin(library, &be, &err);
    if (status == CB_OK) {
        status = cb_selftest_run(be, &options, &sum, &err);
        printf("%" PRIu64 " passed, %" PRIu64 " failed, %" PRIu64 " skipped\n", sum.passed,
               sum.failed, sum.skipped);
    }
    if (be.self)
        be.api->destroy(be.self);
    return status != CB_OK || sum.failed || !sum.passed;
}
