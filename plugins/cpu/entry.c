/* SPDX-License-Identifier: Apache-2.0 */
/* The table of contents: every slot, by the file it is in. */
#include "cpu.h"

static const compute_backend_v1 table = {
    .size = sizeof(compute_backend_v1),
    .abi_major = CB_ABI_MAJOR,
    .abi_minor = CB_ABI_MINOR,
    .name = "cpu",
    .version = CPU_VERSION,

    /* instance.c */
    .create = cpu_create,
    .destroy = cpu_destroy,
    .init = cpu_init,

    /* device.c */
    .device_count = cpu_device_count,
    .device_info = cpu_device_info,
    .capabilities = cpu_capabilities,
    .info = cpu_info,

    /* memory.c */
    .alloc = cpu_alloc,
    .free = cpu_free,
    .copy_htod = cpu_copy_htod,
    .copy_dtoh = cpu_copy_dtoh,
    .copy_dtod = cpu_copy_dtod,
    .memset = cpu_memset,
    .memory_info = cpu_memory_info,

    /* stream.c */
    .synchronize = cpu_synchronize,
    .stream_create = cpu_stream_create,
    .stream_destroy = cpu_stream_destroy,
    .stream_synchronize = cpu_stream_synchronize,

    /* event.c */
    .event_create = cpu_event_create,
    .event_destroy = cpu_event_destroy,
    .event_record = cpu_event_record,
    .stream_wait_event = cpu_stream_wait_event,
    .event_query = cpu_event_query,
    .event_synchronize = cpu_event_synchronize,

    /* extension.c */
    .get_extension = cpu_get_extension,

    /* ops/ */
    .supports = cpu_supports,                             /* supports.c */
    .gemm = cpu_gemm,                                     /* gemm.c */
    .gemm_mixed_precision = cpu_gemm_mixed_precision,     /* gemm.c */
    .batched_gemm = cpu_batched_gemm,                     /* gemm.c */
    .conv2d_forward = cpu_conv2d_forward,                 /* conv2d.c */
    .conv2d_backward_data = cpu_conv2d_backward_data,     /* conv2d.c */
    .conv2d_backward_filter = cpu_conv2d_backward_filter, /* conv2d.c */
    .attention = cpu_attention,                           /* attention.c */
    .softmax = cpu_softmax,                               /* tensor.c */
    .reduce = cpu_reduce,                                 /* tensor.c */
    .unary = cpu_unary,                                   /* tensor.c */
    .binary = cpu_binary,                                 /* tensor.c */
    .gather = cpu_gather,                                 /* rows.c */
    .scatter = cpu_scatter,                               /* rows.c */
};

CB_PLUGIN_MANIFEST(cpu, CPU_VERSION, "cpu", 1);

CB_PLUGIN_ENTRY(cpu)
{
    return cb_negotiate(negotiation, &table);
}
