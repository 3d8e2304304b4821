/* SPDX-License-Identifier: Apache-2.0 */
/* The table of contents: every slot, by the file it is in. */
#include "ruin.h"

#include <stdlib.h>
#include <string.h>

#define OP(slot, code, type)                                                                       \
    static cb_status slot(void *self, const type *args, cb_error *err)                             \
    {                                                                                              \
        return chaos_call(self, code, args, err);                                                  \
    }
OP(gemm, CB_OP_GEMM, cb_gemm_args)
OP(gemm_mixed_precision, CB_OP_GEMM_MIXED_PRECISION, cb_gemm_mixed_precision_args)
OP(batched_gemm, CB_OP_BATCHED_GEMM, cb_batched_gemm_args)
OP(conv2d_forward, CB_OP_CONV2D_FORWARD, cb_conv2d_args)
OP(conv2d_backward_data, CB_OP_CONV2D_BACKWARD_DATA, cb_conv2d_args)
OP(conv2d_backward_filter, CB_OP_CONV2D_BACKWARD_FILTER, cb_conv2d_args)
OP(attention, CB_OP_ATTENTION, cb_attention_args)
OP(softmax, CB_OP_SOFTMAX, cb_softmax_args)
OP(reduce, CB_OP_REDUCE, cb_reduce_args)
OP(unary, CB_OP_UNARY, cb_unary_args)
OP(binary, CB_OP_BINARY, cb_binary_args)
OP(gather, CB_OP_GATHER, cb_rows_args)
OP(scatter, CB_OP_SCATTER, cb_rows_args)
OP(copy_htod, CHAOS_COPY_HTOD, cb_copy_htod_args)
OP(copy_dtoh, CHAOS_COPY_DTOH, cb_copy_dtoh_args)
OP(copy_dtod, CHAOS_COPY_DTOD, cb_copy_dtod_args)

static cb_status set(void *self, uint64_t dst, uint32_t value, uint64_t bytes, cb_stream *stream,
                     cb_error *err)
{
    const struct chaos_memset_args args = {
        .size = sizeof(args), .value = value, .dst = dst, .bytes = bytes, .stream = stream
    };
    return chaos_call(self, CHAOS_MEMSET, &args, err);
}

static const compute_backend_v1 table = {
    .size = sizeof(compute_backend_v1),
    .abi_major = CB_ABI_MAJOR,
    .abi_minor = CB_ABI_MINOR,
    .name = "chaos",
    .version = CHAOS_VERSION,

    /* instance.c */
    .create = chaos_create,
    .destroy = chaos_destroy,
    .init = chaos_init,

    /* facts.c */
    .device_count = chaos_device_count,
    .device_info = chaos_device_info,
    .capabilities = chaos_capabilities,
    .supports = chaos_supports,
    .info = chaos_info,

    /* memory.c */
    .alloc = chaos_alloc,
    .free = chaos_free,
    .memory_info = chaos_memory_info,

    /* extension.c */
    .get_extension = chaos_get_extension,

    /* stream.c */
    .stream_create = chaos_stream_create,
    .stream_destroy = chaos_stream_destroy,
    .stream_synchronize = chaos_stream_synchronize,
    .synchronize = chaos_synchronize,

    /* event.c */
    .event_create = chaos_event_create,
    .event_destroy = chaos_event_destroy,
    .event_record = chaos_event_record,
    .stream_wait_event = chaos_stream_wait_event,
    .event_query = chaos_event_query,
    .event_synchronize = chaos_event_synchronize,

    /* here, by way of call.c and slots.c */
    .copy_htod = copy_htod,
    .copy_dtoh = copy_dtoh,
    .copy_dtod = copy_dtod,
    .memset = set,
    .gemm = gemm,
    .gemm_mixed_precision = gemm_mixed_precision,
    .batched_gemm = batched_gemm,
    .conv2d_forward = conv2d_forward,
    .conv2d_backward_data = conv2d_backward_data,
    .conv2d_backward_filter = conv2d_backward_filter,
    .attention = attention,
    .softmax = softmax,
    .reduce = reduce,
    .unary = unary,
    .binary = binary,
    .gather = gather,
    .scatter = scatter,
};

/* ---- An entry gets no options: what it breaks stands in CHAOS_ENTRY ---- */

static compute_backend_v1 short_table, without_supports, without_gemm;

static void make_tables(void)
{
    short_table = without_supports = without_gemm = table;
    short_table.size = offsetof(compute_backend_v1, supports);
    without_supports.supports = NULL;
    without_gemm.gemm = NULL;
}

static const compute_backend_v1 *choose_table(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const char *how = secure_getenv("CHAOS_ENTRY");
    if (!how)
        return &table;
    chaos_go(chaos_way_find(how));
    pthread_once(&once, make_tables);
    return !strcmp(how, "short_table")        ? &short_table
           : !strcmp(how, "without_supports") ? &without_supports
           : !strcmp(how, "without_gemm")     ? &without_gemm
                                              : &table;
}

CB_PLUGIN_MANIFEST(chaos, CHAOS_VERSION, "cpu", 0);

CB_PLUGIN_ENTRY(chaos)
{
    return cb_negotiate(negotiation, choose_table());
}
