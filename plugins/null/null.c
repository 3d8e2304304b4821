/* SPDX-License-Identifier: Apache-2.0 */
/* The null backend: a device that opens and does nothing, for tests of hosts. Every op, every
 * allocation and every copy is CB_UNSUPPORTED by name. Its priority is 0: it is taken only when
 * somebody asks for it. */
#include "check.h"
#include "error.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEVICE_NAME "null device"

struct null_backend {
    atomic_int initialized;
};

static cb_status check_init(void *self, const char *where, cb_error *err)
{
    struct null_backend *null = self;
    if (atomic_load(&null->initialized))
        return CB_OK;
    return cbc_fail(err, CB_NOT_INITIALIZED, where, "called before init");
}

static cb_status unsupported(void *self, const char *where, cb_error *err)
{
    const cb_status status = check_init(self, where, err);
    if (status != CB_OK)
        return status;
    return cbc_unsupported(err, where, "the null backend computes nothing and has no memory");
}

/* Every slot that is refused, with what lies between self and err in its signature. */
#define UNUSED __attribute__((unused))
#define REFUSED_SLOTS(X)                                                                           \
    X(alloc, UNUSED uint64_t bytes, UNUSED cb_stream *stream, UNUSED uint64_t *out)                \
    X(copy_htod, UNUSED const cb_copy_htod_args *args)                                             \
    X(copy_dtoh, UNUSED const cb_copy_dtoh_args *args)                                             \
    X(copy_dtod, UNUSED const cb_copy_dtod_args *args)                                             \
    X(memset, UNUSED uint64_t dst, UNUSED uint32_t value, UNUSED uint64_t bytes,                   \
      UNUSED cb_stream *stream)                                                                    \
    X(gemm, UNUSED const cb_gemm_args *args)                                                       \
    X(gemm_mixed_precision, UNUSED const cb_gemm_mixed_precision_args *args)                       \
    X(batched_gemm, UNUSED const cb_batched_gemm_args *args)                                       \
    X(conv2d_forward, UNUSED const cb_conv2d_args *args)                                           \
    X(conv2d_backward_data, UNUSED const cb_conv2d_args *args)                                     \
    X(conv2d_backward_filter, UNUSED const cb_conv2d_args *args)                                   \
    X(attention, UNUSED const cb_attention_args *args)                                             \
    X(softmax, UNUSED const cb_softmax_args *args)                                                 \
    X(reduce, UNUSED const cb_reduce_args *args)                                                   \
    X(unary, UNUSED const cb_unary_args *args)                                                     \
    X(binary, UNUSED const cb_binary_args *args)                                                   \
    X(gather, UNUSED const cb_rows_args *args)                                                     \
    X(scatter, UNUSED const cb_rows_args *args)                                                    \
    X(stream_create, UNUSED uint32_t flags, UNUSED cb_stream **out)                                \
    X(stream_destroy, UNUSED cb_stream *stream)                                                    \
    X(stream_synchronize, UNUSED cb_stream *stream)                                                \
    X(event_create, UNUSED uint32_t flags, UNUSED cb_event **out)                                  \
    X(event_destroy, UNUSED cb_event *event)                                                       \
    X(event_record, UNUSED cb_event *event, UNUSED cb_stream *stream)                              \
    X(stream_wait_event, UNUSED cb_stream *stream, UNUSED cb_event *event)                         \
    X(event_query, UNUSED cb_event *event, UNUSED uint32_t *done)                                  \
    X(event_synchronize, UNUSED cb_event *event)

#define DEFINE_REFUSED(slot, ...)                                                                  \
    static cb_status null_##slot(void *self, __VA_ARGS__, cb_error *err)                           \
    {                                                                                              \
        return unsupported(self, #slot, err);                                                      \
    }
REFUSED_SLOTS(DEFINE_REFUSED)

static cb_status check_option(const char *option, cb_error *err)
{
    static const char key[] = "device=";
    if (!strncmp(option, key, sizeof(key) - 1)) {
        const char *value = option + sizeof(key) - 1;
        if (!strcmp(value, "0") || !strcmp(value, "null") || !fnmatch(value, DEVICE_NAME, 0))
            return CB_OK;
        return cbc_invalid(err, "option device", "no such device: %s", value);
    }
    char where[sizeof(err->where)];
    snprintf(where, sizeof(where), "option %.*s", (int)strcspn(option, "="), option);
    return cbc_invalid(err, where, "unknown: %s", option);
}

static cb_status null_create(const cb_create_args *caller, void **out, cb_error *err)
{
    cb_create_args args;
    cb_status status = cbc_check_create(caller, out, &args, err);
    for (uint64_t i = 0; status == CB_OK && i < args.n_options; i++)
        status = check_option(args.options[i], err);
    if (status != CB_OK)
        return status;
    struct null_backend *null = calloc(1, sizeof(*null));
    if (!null)
        return cbc_fail(err, CB_OUT_OF_MEMORY, "create", "out of host memory");
    *out = null;
    return CB_OK;
}

static void null_destroy(void *self)
{
    free(self);
}

static cb_status null_device_count(UNUSED void *self, uint32_t *count, cb_error *err)
{
    if (!count)
        return cbc_invalid(err, "device_count", "count is NULL");
    *count = 1;
    return CB_OK;
}

static cb_status check_ordinal(uint32_t ordinal, const char *where, cb_error *err)
{
    return ordinal ? cbc_invalid(err, where, "device %u: there is device 0 alone", ordinal) : CB_OK;
}

static cb_status null_device_info(UNUSED void *self, uint32_t ordinal, cb_device_info *out,
                                  cb_error *err)
{
    static const cb_device_info device = { .memory_kind = CB_MEMORY_HOST,
                                           .name = DEVICE_NAME,
                                           .id = "null" };
    const cb_status status = check_ordinal(ordinal, "device_info", err);
    if (status != CB_OK)
        return status;
    return cb_result_write(out, &device, sizeof(device), CB_DEVICE_INFO_1_0, "device_info", err);
}

static cb_status null_capabilities(UNUSED void *self, uint32_t ordinal, cb_capabilities *out,
                                   cb_error *err)
{
    static const cb_capabilities none = { .features = 0 };
    const cb_status status =
        check_ordinal(ordinal == CB_DEVICE_AUTO ? 0 : ordinal, "capabilities", err);
    if (status != CB_OK)
        return status;
    return cb_result_write(out, &none, sizeof(none), CB_CAPABILITIES_1_0, "capabilities", err);
}

static cb_status null_init(void *self, uint32_t ordinal, cb_error *err)
{
    struct null_backend *null = self;
    const cb_status status = check_ordinal(ordinal == CB_DEVICE_AUTO ? 0 : ordinal, "init", err);
    if (status == CB_OK)
        atomic_store(&null->initialized, 1);
    return status;
}

static cb_status null_free(void *self, uint64_t ptr, UNUSED cb_stream *stream, cb_error *err)
{
    const cb_status status = check_init(self, "free", err);
    return status == CB_OK ? cbc_invalid(err, "free", "ptr %" PRIu64 " is not an allocation", ptr)
                           : status;
}

static cb_status null_synchronize(void *self, cb_error *err)
{
    return check_init(self, "synchronize", err);
}

static cb_status null_supports(void *self, uint32_t op, const void *args, cb_support *out,
                               cb_error *err)
{
    cb_status status = check_init(self, "supports", err);
    if (status != CB_OK)
        return status;
    if (!args)
        return cbc_invalid(err, "supports", "args is NULL");
    cb_support no = { .answer = CB_SUPPORT_NO };
    snprintf(no.reason, sizeof(no.reason), "%s: the null backend computes nothing", cb_op_name(op));
    return cb_result_write(out, &no, sizeof(no), CB_SUPPORT_1_0, "supports", err);
}

static const char *info_value(struct null_backend *null, const char *key)
{
    static const char *const facts[][2] = {
        { "summary", "null: a device that does nothing" },
        { "device", DEVICE_NAME },
        { "kernels", "none" },
        { "threads", "0" },
        { "isa", CB_MANIFEST_ISA },
        { "keys", "initialized\nsummary\ndevice\nkernels\nthreads\nisa" },
    };
    if (!strcmp(key, "initialized"))
        return atomic_load(&null->initialized) ? "1" : "0";
    for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
        if (!strcmp(key, facts[i][0]))
            return facts[i][1];
    }
    return NULL;
}

static cb_status null_info(void *self, const char *key, char *buffer, uint64_t *length,
                           cb_error *err)
{
    const cb_status status = cbc_check_info(key, length, err);
    return status == CB_OK ? cbc_info_write(key, info_value(self, key), buffer, length, err)
                           : status;
}

static cb_status null_memory_info(void *self, cb_memory_info *out, cb_error *err)
{
    static const cb_memory_info none = { .total = 0 };
    const cb_status status = check_init(self, "memory_info", err);
    if (status != CB_OK)
        return status;
    return cb_result_write(out, &none, sizeof(none), CB_MEMORY_INFO_1_0, "memory_info", err);
}

static cb_status null_get_extension(UNUSED void *self, UNUSED const char *id,
                                    UNUSED cb_extension *out, cb_error *err)
{
    return cbc_fail(err, CB_NOT_FOUND, "get_extension", "the null backend has no extension");
}

/* clang-format off */
#define REFUSED_ROW(slot, ...) .slot = null_##slot,
static const compute_backend_v1 table = {
    .size = sizeof(table),
    .abi_major = CB_ABI_MAJOR,
    .abi_minor = CB_ABI_MINOR,
    .name = "null",
    .version = CB_PLUGIN_VERSION,
    .create = null_create,
    .destroy = null_destroy,
    .device_count = null_device_count,
    .device_info = null_device_info,
    .capabilities = null_capabilities,
    .init = null_init,
    .free = null_free,
    .synchronize = null_synchronize,
    .supports = null_supports,
    .info = null_info,
    .memory_info = null_memory_info,
    .get_extension = null_get_extension,
    REFUSED_SLOTS(REFUSED_ROW)
};
/* clang-format on */

CB_PLUGIN_MANIFEST(null, CB_PLUGIN_VERSION, "cpu", 0);
CB_PLUGIN_ENTRY(null)
{
    return cb_negotiate(negotiation, &table);
}
