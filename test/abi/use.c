/* SPDX-License-Identifier: Apache-2.0 */
/* Every macro of the headers that a plugin or a host expands, in what C and C++ have in common. */
#include "compute_backend_plugin.h"
#include "cb_loader.h"

static const compute_backend_v1 table = CB_ZEROES;

CB_PLUGIN_MANIFEST(sample, "1.0.0", "gpu", 50);
CB_PLUGIN_ENTRY(sample)
{
    return CB_HAS(&table, gemm) ? CB_UNSUPPORTED : cb_negotiate(negotiation, &table);
}

cb_status host_uses_the_inline_callers(cb_backend be, cb_loader **loader, cb_error *err);

cb_status host_uses_the_inline_callers(cb_backend be, cb_loader **loader, cb_error *err)
{
    cb_loader_options options;
    cb_conv2d_args args;
    const uint64_t pads[4] = CB_PADDING(1, 2);
    cb_loader_options_init(&options);
    cb_conv2d_args_init(&args);
    for (int i = 0; i < 4; i++)
        args.padding[i] = pads[i];
    const cb_status status = cb_conv2d_forward(be, &args, err);
    return status == CB_OK ? cb_loader_open(&options, loader, err) : status;
}
