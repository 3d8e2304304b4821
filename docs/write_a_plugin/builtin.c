/* SPDX-License-Identifier: Apache-2.0 */
/* A host with a plugin linked into it: minimal.c, compiled with CB_PLUGIN_STATIC. */
#include <cb_loader.h>
#include <stdio.h>

extern cb_status cb_plugin_entry_minimal(cb_negotiation *negotiation);
extern const char cb_plugin_manifest_minimal[];

int main(void)
{
    const cb_builtin minimal = { sizeof(minimal), cb_plugin_entry_minimal,
                                 cb_plugin_manifest_minimal };
    const cb_builtin *const builtins[] = { &minimal };
    cb_loader_options options;
    cb_loader *loader = NULL;
    cb_backend be;
    cb_error err;
    cb_error_init(&err);
    cb_loader_options_init(&options);
    options.builtins = builtins;
    options.n_builtins = 1;

    const int failed =
        cb_loader_open(&options, &loader, &err) || cb_loader_select(loader, NULL, &be, &err);
    if (failed)
        fprintf(stderr, "%s\n", err.msg);
    else
        printf("%s %s\n", be.api->name, be.api->version);
    if (!failed)
        cb_loader_release(loader, be, NULL);
    cb_loader_close(loader, NULL);
    return failed;
}
