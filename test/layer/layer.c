/* SPDX-License-Identifier: Apache-2.0 */
#include "layer.h"

#include "compute_backend_plugin.h"

#include <stdatomic.h>
#include <stdlib.h>

struct layer {
    compute_backend_v1 table; /* a name and version of its own would go here */
    cb_backend below;
    atomic_ullong calls;
};

/* Every slot that takes an instance and returns a status: its parameters between self and err, and
 * the same as arguments. */
#define SLOTS(X)                                                                                   \
    X(device_count, (uint32_t * count), (count))                                                   \
    X(device_info, (uint32_t ordinal, cb_device_info * out), (ordinal, out))                       \
    X(capabilities, (uint32_t ordinal, cb_capabilities * out), (ordinal, out))                     \
    X(init, (uint32_t ordinal), (ordinal))                                                         \
    X(alloc, (uint64_t bytes, cb_stream * stream, uint64_t * out), (bytes, stream, out))           \
    X(free, (uint64_t ptr, cb_stream * stream), (ptr, stream))                                     \
    X(copy_htod, (const cb_copy_htod_args *args), (args))                                          \
    X(copy_dtoh, (const cb_copy_dtoh_args *args), (args))                                          \
    X(copy_dtod, (const cb_copy_dtod_args *args), (args))                                          \
    X(supports, (uint32_t op, const void *args, cb_support *out), (op, args, out))                 \
    X(memset, (uint64_t dst, uint32_t value, uint64_t bytes, cb_stream * stream),                  \
      (dst, value, bytes, stream))                                                                 \
    X(gemm, (const cb_gemm_args *args), (args))                                                    \
    X(gemm_mixed_precision, (const cb_gemm_mixed_precision_args *args), (args))                    \
    X(batched_gemm, (const cb_batched_gemm_args *args), (args))                                    \
    X(conv2d_forward, (const cb_conv2d_args *args), (args))                                        \
    X(conv2d_backward_data, (const cb_conv2d_args *args), (args))                                  \
    X(conv2d_backward_filter, (const cb_conv2d_args *args), (args))                                \
    X(attention, (const cb_attention_args *args), (args))                                          \
    X(softmax, (const cb_softmax_args *args), (args))                                              \
    X(reduce, (const cb_reduce_args *args), (args))                                                \
    X(unary, (const cb_unary_args *args), (args))                                                  \
    X(binary, (const cb_binary_args *args), (args))                                                \
    X(gather, (const cb_rows_args *args), (args))                                                  \
    X(scatter, (const cb_rows_args *args), (args))                                                 \
    X(stream_create, (uint32_t flags, cb_stream * *out), (flags, out))                             \
    X(stream_destroy, (cb_stream * stream), (stream))                                              \
    X(stream_synchronize, (cb_stream * stream), (stream))                                          \
    X(event_create, (uint32_t flags, cb_event * *out), (flags, out))                               \
    X(event_destroy, (cb_event * event), (event))                                                  \
    X(event_record, (cb_event * event, cb_stream * stream), (event, stream))                       \
    X(stream_wait_event, (cb_stream * stream, cb_event * event), (stream, event))                  \
    X(event_query, (cb_event * event, uint32_t * done), (event, done))                             \
    X(event_synchronize, (cb_event * event), (event))                                              \
    X(info, (const char *key, char *buffer, uint64_t *length), (key, buffer, length))              \
    X(memory_info, (cb_memory_info * out), (out))                                                  \
    X(get_extension, (const char *id, cb_extension *out), (id, out))

/* Takes the brackets off. */
#define BARE(...) __VA_ARGS__

#define PASS_DOWN(slot, params, args)                                                              \
    static cb_status layer_##slot(void *self, BARE params, cb_error *err)                          \
    {                                                                                              \
        struct layer *layer = self;                                                                \
        atomic_fetch_add(&layer->calls, 1);                                                        \
        return layer->below.api->slot(layer->below.self, BARE args, err);                          \
    }
SLOTS(PASS_DOWN)

static cb_status layer_synchronize(void *self, cb_error *err)
{
    struct layer *layer = self;
    atomic_fetch_add(&layer->calls, 1);
    return layer->below.api->synchronize(layer->below.self, err);
}

static cb_status layer_create(const cb_create_args *args, void **out, cb_error *err)
{
    (void)args, (void)out;
    return cb_error_set(err, CB_UNSUPPORTED, "create", "a layer lies on a backend that there is");
}

static void layer_destroy(void *self)
{
    free(self);
}

cb_backend layer_over(cb_backend below)
{
    struct layer *layer = calloc(1, sizeof(*layer));
    if (!layer)
        return (cb_backend){ NULL, NULL };
    layer->below = below;
    layer->table = (compute_backend_v1){ .size = sizeof(layer->table),
                                         .abi_major = CB_ABI_MAJOR,
                                         .abi_minor = CB_ABI_MINOR,
                                         .name = below.api->name,
                                         .version = below.api->version,
                                         .create = layer_create,
                                         .destroy = layer_destroy,
                                         .synchronize = layer_synchronize,
#define PUT(slot, params, args) .slot = layer_##slot,
                                         SLOTS(PUT) };
    return (cb_backend){ &layer->table, layer };
}

void layer_remove(cb_backend layer)
{
    if (layer.api)
        layer.api->destroy(layer.self);
}

uint64_t layer_calls(cb_backend layer)
{
    struct layer *l = layer.self;
    return atomic_load(&l->calls);
}
