/* SPDX-License-Identifier: Apache-2.0 */
/* The table of contents: every slot, by the file it is in. */
#include "opencl.h"

static const compute_backend_v1 table = {
    .size = sizeof(compute_backend_v1),
    .abi_major = CB_ABI_MAJOR,
    .abi_minor = CB_ABI_MINOR,
    .name = "opencl",
    .version = OCL_VERSION,

    /* instance.c */
    .create = ocl_create,
    .destroy = ocl_destroy,
    .init = ocl_init,

    /* facts.c */
    .device_count = ocl_device_count,
    .device_info = ocl_device_info,
    .capabilities = ocl_capabilities,
    .info = ocl_info,

    /* memory.c */
    .alloc = ocl_alloc,
    .free = ocl_free,
    .memory_info = ocl_memory_info,

    /* copy.c */
    .copy_htod = ocl_copy_htod,
    .copy_dtoh = ocl_copy_dtoh,
    .copy_dtod = ocl_copy_dtod,
    .memset = ocl_memset,

    /* stream.c */
    .synchronize = ocl_synchronize,
    .stream_create = ocl_stream_create,
    .stream_destroy = ocl_stream_destroy,
    .stream_synchronize = ocl_stream_synchronize,

    /* event.c */
    .event_create = ocl_event_create,
    .event_destroy = ocl_event_destroy,
    .event_record = ocl_event_record,
    .stream_wait_event = ocl_stream_wait_event,
    .event_query = ocl_event_query,
    .event_synchronize = ocl_event_synchronize,
    .get_extension = ocl_get_extension,

    /* ops/ */
    .supports = ocl_supports,                             /* supports.c */
    .gemm = ocl_gemm,                                     /* gemm.c */
    .gemm_mixed_precision = ocl_gemm_mixed_precision,     /* gemm.c */
    .batched_gemm = ocl_batched_gemm,                     /* gemm.c */
    .conv2d_forward = ocl_conv2d_forward,                 /* conv2d.c */
    .conv2d_backward_data = ocl_conv2d_backward_data,     /* conv2d.c */
    .conv2d_backward_filter = ocl_conv2d_backward_filter, /* conv2d.c */
    .attention = ocl_attention,                           /* attention.c */
    .softmax = ocl_softmax,                               /* tensor.c */
    .reduce = ocl_reduce,                                 /* tensor.c */
    .unary = ocl_unary,                                   /* tensor.c */
    .binary = ocl_binary,                                 /* tensor.c */
    .gather = ocl_gather,                                 /* rows.c */
    .scatter = ocl_scatter,                               /* rows.c */
};

CB_PLUGIN_MANIFEST(opencl, OCL_VERSION, "gpu", 55);

CB_PLUGIN_ENTRY(opencl)
{
    return cb_negotiate(negotiation, &table);
}
