/* SPDX-License-Identifier: Apache-2.0 */
/* A host of the usual kind, for tests that need a process of their own: takes what the user's
 * environment and configuration say, and prints the backend's name and what its gemm answers.
 * With --report the loader's report follows; --path PATH names a place through the API. Exits with
 * 1 and the message when it gets none. */
#include "cb_loader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

/* A leak is looked for by tracing oneself, which a set-uid process may not do; and its sanitizer
 * does not read ASAN_OPTIONS. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return getauxval(AT_SECURE) ? "detect_leaks=0" : "";
}

static void print_report(cb_loader *loader)
{
    uint64_t length = 0;
    if (cb_loader_report(loader, NULL, &length, NULL) != CB_OK)
        return;
    char *text = malloc(length);
    if (text && cb_loader_report(loader, text, &length, NULL) == CB_OK)
        puts(text);
    free(text);
}

int main(int argc, char **argv)
{
    cb_error err;
    cb_loader *loader = NULL;
    cb_backend be;
    cb_gemm_args args;
    cb_loader_options options;
    int with_report = 0;
    cb_error_init(&err);
    cb_gemm_args_init(&args);
    cb_loader_options_init(&options);
    for (int i = 1; i < argc; i++) {
        with_report |= !strcmp(argv[i], "--report");
        if (!strcmp(argv[i], "--path") && i + 1 < argc) {
            options.paths = (const char *const *)&argv[i + 1];
            options.n_paths = 1;
        }
    }
    if (cb_loader_open(&options, &loader, &err) != CB_OK) {
        fprintf(stderr, "open: %s\n", err.msg);
        return 1;
    }
    const cb_status selected = cb_loader_select(loader, NULL, &be, &err);
    if (selected == CB_OK) {
        printf("%s: gemm is %s\n", be.api->name, cb_status_name(cb_gemm(be, &args, NULL)));
        cb_loader_release(loader, be, NULL);
    } else {
        fprintf(stderr, "select: %s\n", err.msg);
    }
    if (with_report)
        print_report(loader);
    cb_loader_close(loader, NULL);
    return selected == CB_OK ? 0 : 1;
}
