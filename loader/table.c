/* SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"

#include <string.h>

/* The functions that no table may lack. */
#define REQUIRED_SLOTS(X)                                                                          \
    X(create)                                                                                      \
    X(destroy)                                                                                     \
    X(device_count)                                                                                \
    X(device_info)                                                                                 \
    X(capabilities)                                                                                \
    X(init)                                                                                        \
    X(alloc)                                                                                       \
    X(free)                                                                                        \
    X(copy_htod)                                                                                   \
    X(copy_dtoh)                                                                                   \
    X(copy_dtod)                                                                                   \
    X(synchronize)                                                                                 \
    X(supports)

/* The optional slots, in the table's order, with what lies between self and err. */
#define OPTIONAL_SLOTS(X)                                                                          \
    X(memset, uint64_t dst, uint32_t value, uint64_t bytes, cb_stream *stream)                     \
    X(gemm, const cb_gemm_args *args)                                                              \
    X(gemm_mixed_precision, const cb_gemm_mixed_precision_args *args)                              \
    X(batched_gemm, const cb_batched_gemm_args *args)                                              \
    X(conv2d_forward, const cb_conv2d_args *args)                                                  \
    X(conv2d_backward_data, const cb_conv2d_args *args)                                            \
    X(conv2d_backward_filter, const cb_conv2d_args *args)                                          \
    X(attention, const cb_attention_args *args)                                                    \
    X(softmax, const cb_softmax_args *args)                                                        \
    X(reduce, const cb_reduce_args *args)                                                          \
    X(unary, const cb_unary_args *args)                                                            \
    X(binary, const cb_binary_args *args)                                                          \
    X(gather, const cb_rows_args *args)                                                            \
    X(scatter, const cb_rows_args *args)                                                           \
    X(stream_create, uint32_t flags, cb_stream **out)                                              \
    X(stream_destroy, cb_stream *stream)                                                           \
    X(stream_synchronize, cb_stream *stream)                                                       \
    X(event_create, uint32_t flags, cb_event **out)                                                \
    X(event_destroy, cb_event *event)                                                              \
    X(event_record, cb_event *event, cb_stream *stream)                                            \
    X(stream_wait_event, cb_stream *stream, cb_event *event)                                       \
    X(event_query, cb_event *event, uint32_t *done)                                                \
    X(event_synchronize, cb_event *event)                                                          \
    X(info, const char *key, char *buffer, uint64_t *length)                                       \
    X(memory_info, cb_memory_info *out)                                                            \
    X(get_extension, const char *id, cb_extension *out)

/* A stub looks at nothing but err. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define STUB(slot, ...)                                                                            \
    static cb_status stub_##slot(void *self, __VA_ARGS__, cb_error *err)                           \
    {                                                                                              \
        return cb_error_set(err, CB_UNSUPPORTED, #slot, "this backend does not have it");          \
    }
OPTIONAL_SLOTS(STUB)
#pragma GCC diagnostic pop

#define SLOT_OFFSET(slot) { #slot, offsetof(compute_backend_v1, slot) },
static const struct {
    const char *name;
    uint64_t offset;
} required[] = { REQUIRED_SLOTS(SLOT_OFFSET) };

/* Every slot is a pointer to a function, so one of them can be judged by its bytes. */
static bool has_slot(const compute_backend_v1 *table, uint64_t offset)
{
    static const unsigned char null[sizeof(void (*)(void))];
    return memcmp((const unsigned char *)table + offset, null, sizeof(null)) != 0;
}

static bool check_name(const char *what, const char *said, const char *manifest, struct verdict *v)
{
    if (!said)
        return cbl_blame(v, CB_STATE_REFUSED, "the table's %s is NULL", what);
    if (strcmp(said, manifest) != 0)
        return cbl_blame(v, CB_STATE_REFUSED,
                         "the manifest differs from the table: %s is '%s' there and '%s' here",
                         what, manifest, said);
    return true;
}

static bool check_table(const compute_backend_v1 *from, const struct candidate *c,
                        struct verdict *v)
{
    for (uint64_t i = 0; i < sizeof(required) / sizeof(required[0]); i++) {
        if (from->size < required[i].offset + sizeof(void (*)(void)))
            return cbl_blame(v, CB_STATE_REFUSED,
                             "the required slot %s is beyond the table: it has %llu bytes, not "
                             "at least %u",
                             required[i].name, (unsigned long long)from->size,
                             CB_TABLE_REQUIRED_1_0);
        if (!has_slot(from, required[i].offset))
            return cbl_blame(v, CB_STATE_REFUSED, "the required slot %s is NULL", required[i].name);
    }
    if (from->abi_major != CB_ABI_MAJOR)
        return cbl_blame(v, CB_STATE_REFUSED, "the table says ABI %u.%u, this loader is %u.%u",
                         from->abi_major, from->abi_minor, CB_ABI_MAJOR, CB_ABI_MINOR);
    return check_name("name", from->name, c->id, v) &&
           check_name("version", from->version, c->version, v);
}

bool cbl_table_complete(const compute_backend_v1 *from, const struct candidate *c,
                        compute_backend_v1 *to, struct verdict *v)
{
    if (!check_table(from, c, v))
        return false;
    *to = (compute_backend_v1){ 0 };
    memcpy(to, from, from->size < sizeof(*to) ? from->size : sizeof(*to));
#define COMPLETE(slot, ...)                                                                        \
    if (!CB_HAS(from, slot))                                                                       \
        to->slot = stub_##slot;
    OPTIONAL_SLOTS(COMPLETE)
    to->size = sizeof(*to);
    return true;
}
