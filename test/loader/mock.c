/* SPDX-License-Identifier: Apache-2.0 */
/* One source, many plugins. meson.build compiles it once per row of its table, with MOCK_ID and
 * what the row changes: a fact of the manifest or the table, a kind of device, or one fault
 * (MOCK_FAULT_...). What is not changed makes a plugin that works, of class gpu, with one device
 * that has memory of its own, priority 10, and gemm as its only op. */
#include "compute_backend_plugin.h"
#include "deeds.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef MOCK_CLASS
#define MOCK_CLASS "gpu"
#endif
#ifndef MOCK_PRIORITY
#define MOCK_PRIORITY 10
#endif
#ifndef MOCK_DEVICES
#define MOCK_DEVICES 1
#endif
/* Of the last device; those before it have host memory and no features. */
#ifndef MOCK_MEMORY
#define MOCK_MEMORY CB_MEMORY_DEVICE
#endif
#ifndef MOCK_FEATURES
#define MOCK_FEATURES 0
#endif
#ifndef MOCK_TABLE_NAME
#define MOCK_TABLE_NAME CB_TEXT_(MOCK_ID)
#endif
#ifndef MOCK_TABLE_VERSION
#define MOCK_TABLE_VERSION "1.2.3"
#endif
#ifndef MOCK_TABLE_SIZE
#define MOCK_TABLE_SIZE sizeof(compute_backend_v1)
#endif
#ifndef MOCK_TABLE_MAJOR
#define MOCK_TABLE_MAJOR CB_ABI_MAJOR
#endif
#ifndef MOCK_HAS_SUPPORTS
#define MOCK_HAS_SUPPORTS 1
#endif
#ifndef MOCK_HAS_GEMM
#define MOCK_HAS_GEMM 1
#endif
#ifndef MOCK_HELPER
#define MOCK_HELPER 0
#endif
/* What is done there before anything else: a call of deeds.h. */
#ifndef MOCK_IN_ENTRY
#define MOCK_IN_ENTRY (void)0
#endif
#ifndef MOCK_IN_DEVICE_COUNT
#define MOCK_IN_DEVICE_COUNT (void)0
#endif
/* A manifest that speaks of another machine, or of more than the compiler was told. */
#ifdef MOCK_ISA
#undef CB_MANIFEST_ISA
#define CB_MANIFEST_ISA MOCK_ISA
#endif

/* A plugin that is mapped without having been asked for is caught by the file this makes. */
#ifndef CB_PLUGIN_STATIC
__attribute__((constructor)) static void leave_a_mark(void)
{
    const char *path = getenv("MOCK_MARKER");
    FILE *mark = path ? fopen(path, "a") : NULL;
    if (!mark)
        return;
    fputs(MOCK_TABLE_NAME "\n", mark);
    fclose(mark);
}
#endif

/* Of the same name in every mock, and in the host too: each must see its own. */
#ifdef CB_PLUGIN_STATIC
#define EXPORTED static
#else
#define EXPORTED __attribute__((visibility("default")))
#endif
EXPORTED int helper(void);
EXPORTED int helper(void)
{
    return MOCK_HELPER;
}

#ifdef MOCK_FAULT_UNDEFINED_SYMBOL
int a_symbol_that_nobody_has(void);
#endif

struct mock {
    uint32_t device;
    int initialized;
    char options[256];
};

static atomic_int live;

static cb_status refuse_option(cb_error *err, const char *option)
{
    char where[64] = "option ";
    strncat(where, option, strcspn(option, "="));
    return cb_error_set(err, CB_INVALID_ARGUMENT, where, "the mock does not like it");
}

static cb_status mock_create(const cb_create_args *args, void **out, cb_error *err)
{
#ifdef MOCK_FAULT_FAILS_CREATE
    return cb_error_set(err, CB_DEVICE_ERROR, "create", "the driver is too old");
#endif
#ifdef MOCK_TELLS_WHERE_IT_RUNS
    char where[256] = "";
    deed_describe(where, sizeof(where), args->options, args->n_options);
    return cb_error_set(err, CB_DEVICE_ERROR, "create", where);
#endif
    struct mock *mock = calloc(1, sizeof(*mock));
    if (!mock)
        return cb_error_set(err, CB_OUT_OF_MEMORY, "create", "no memory");
    for (uint64_t i = 0; i < args->n_options; i++) {
        if (!strncmp(args->options[i], "bogus", 5)) {
            free(mock);
            return refuse_option(err, args->options[i]);
        }
        if (i)
            cb_text_append(mock->options, sizeof(mock->options), ",");
        cb_text_append(mock->options, sizeof(mock->options), args->options[i]);
    }
    if (args->host && args->host->log)
        args->host->log(args->host->ctx, CB_LOG_INFO, "a mock is made");
    atomic_fetch_add(&live, 1);
    *out = mock;
    return CB_OK;
}

static void mock_destroy(void *self)
{
    if (self)
        atomic_fetch_sub(&live, 1);
    free(self);
}

static cb_status mock_device_count(void *self, uint32_t *count, cb_error *err)
{
    (void)self;
    MOCK_IN_DEVICE_COUNT;
    *count = MOCK_DEVICES;
    if (!MOCK_DEVICES)
        cb_error_set(err, CB_OK, "device_count", "the slot is empty");
    return CB_OK;
}

static cb_status mock_device_info(void *self, uint32_t ordinal, cb_device_info *out, cb_error *err)
{
    (void)self;
    cb_device_info info = { .ordinal = ordinal, .name = "mock device", .id = "mock" };
    info.memory_kind = ordinal + 1 == MOCK_DEVICES ? MOCK_MEMORY : CB_MEMORY_HOST;
    return cb_result_write(out, &info, sizeof(info), CB_DEVICE_INFO_1_0, "device_info", err);
}

static cb_status mock_capabilities(void *self, uint32_t ordinal, cb_capabilities *out,
                                   cb_error *err)
{
    (void)self;
    cb_capabilities caps = { .features = ordinal + 1 == MOCK_DEVICES ? MOCK_FEATURES : 0 };
    return cb_result_write(out, &caps, sizeof(caps), CB_CAPABILITIES_1_0, "capabilities", err);
}

static cb_status mock_init(void *self, uint32_t ordinal, cb_error *err)
{
#ifdef MOCK_FAULT_FAILS_INIT
    return cb_error_set(err, CB_DEVICE_ERROR, "init", "the device fell off the bus");
#endif
    (void)err;
    struct mock *mock = self;
    mock->device = ordinal == CB_DEVICE_AUTO ? 0 : ordinal;
    mock->initialized = 1;
    return CB_OK;
}

static cb_status no_memory(const char *where, cb_error *err)
{
    return cb_error_set(err, CB_UNSUPPORTED, where, "a mock has no memory");
}

static cb_status mock_alloc(void *self, uint64_t bytes, cb_stream *stream, uint64_t *out,
                            cb_error *err)
{
    (void)self, (void)bytes, (void)stream, (void)out;
    return no_memory("alloc", err);
}

static cb_status mock_free(void *self, uint64_t ptr, cb_stream *stream, cb_error *err)
{
    (void)self, (void)ptr, (void)stream;
    return no_memory("free", err);
}

static cb_status mock_copy_htod(void *self, const cb_copy_htod_args *args, cb_error *err)
{
    (void)self, (void)args;
    return no_memory("copy_htod", err);
}

static cb_status mock_copy_dtoh(void *self, const cb_copy_dtoh_args *args, cb_error *err)
{
    (void)self, (void)args;
    return no_memory("copy_dtoh", err);
}

static cb_status mock_copy_dtod(void *self, const cb_copy_dtod_args *args, cb_error *err)
{
    (void)self, (void)args;
    return no_memory("copy_dtod", err);
}

static cb_status mock_synchronize(void *self, cb_error *err)
{
    (void)self, (void)err;
    return CB_OK;
}

static cb_status mock_supports(void *self, uint32_t op, const void *args, cb_support *out,
                               cb_error *err)
{
    (void)self, (void)args;
    cb_support support = { .answer = op == CB_OP_GEMM ? CB_SUPPORT_YES : CB_SUPPORT_NO };
    return cb_result_write(out, &support, sizeof(support), CB_SUPPORT_1_0, "supports", err);
}

static cb_status mock_gemm(void *self, const cb_gemm_args *args, cb_error *err)
{
    (void)self, (void)args, (void)err;
    return CB_OK;
}

/* What a test wants to know of an instance: its options as create got them, its device, how many
 * instances live, and what helper() answers inside the plugin. */
static cb_status mock_info(void *self, const char *key, char *buffer, uint64_t *length,
                           cb_error *err)
{
    const struct mock *mock = self;
    char text[256] = "";
    if (!strcmp(key, "options"))
        snprintf(text, sizeof(text), "%s", mock->options);
    else if (!strcmp(key, "device"))
        snprintf(text, sizeof(text), "%u", mock->device);
    else if (!strcmp(key, "initialized"))
        snprintf(text, sizeof(text), "%d", mock->initialized);
    else if (!strcmp(key, "live"))
        snprintf(text, sizeof(text), "%d", atomic_load(&live));
    else if (!strcmp(key, "helper"))
        snprintf(text, sizeof(text), "%d", helper());
    else if (!strcmp(key, "keys"))
        snprintf(text, sizeof(text), "options\ndevice\ninitialized\nlive\nhelper");
    else
        return cb_error_set(err, CB_NOT_FOUND, "info", "unknown key");

    const uint64_t room = *length;
    *length = strlen(text) + 1;
    if (!buffer)
        return CB_OK;
    if (room < *length)
        return cb_error_set(err, CB_INVALID_ARGUMENT, "info", "the buffer is too short");
    memcpy(buffer, text, *length);
    return CB_OK;
}

#ifdef MOCK_FAULT_SHORTER_TAIL
static cb_status beyond_the_end(void *self, const cb_rows_args *args, cb_error *err)
{
    (void)self, (void)args, (void)err;
    abort();
}
#endif

/* With room after it, so that a table may claim to be longer than this header knows. */
static const struct {
    compute_backend_v1 table;
    char later[64];
} mock = {
    .table = {
        .size = MOCK_TABLE_SIZE,
        .abi_major = MOCK_TABLE_MAJOR,
        .abi_minor = CB_ABI_MINOR,
        .name = MOCK_TABLE_NAME,
        .version = MOCK_TABLE_VERSION,
        .create = mock_create,
        .destroy = mock_destroy,
        .device_count = mock_device_count,
        .device_info = mock_device_info,
        .capabilities = mock_capabilities,
        .init = mock_init,
        .alloc = mock_alloc,
        .free = mock_free,
        .copy_htod = mock_copy_htod,
        .copy_dtoh = mock_copy_dtoh,
        .copy_dtod = mock_copy_dtod,
        .synchronize = mock_synchronize,
        .supports = MOCK_HAS_SUPPORTS ? mock_supports : NULL,
        .gemm = MOCK_HAS_GEMM ? mock_gemm : NULL,
#ifdef MOCK_FAULT_SHORTER_TAIL
        .gather = beyond_the_end,
#endif
        .info = mock_info,
    },
};

#ifdef MOCK_FAULT_WRONG_MAJOR
#undef CB_ABI_MAJOR
#define CB_ABI_MAJOR 2
#endif
#ifdef MOCK_FAULT_WRONG_DRAFT
#undef CB_ABI_DRAFT
#define CB_ABI_DRAFT 99
#endif

#define MANIFEST(id) CB_PLUGIN_MANIFEST(id, "1.2.3", MOCK_CLASS, MOCK_PRIORITY)
#define ENTRY(id)    CB_PLUGIN_ENTRY(id)

#ifndef MOCK_FAULT_NO_NOTE
MANIFEST(MOCK_ID);
#endif
#ifdef MOCK_FAULT_TWO_NOTES
MANIFEST(another);
#endif

#ifdef MOCK_FAULT_NO_ENTRY
const void *mock_table(void);
const void *mock_table(void)
{
    return &mock;
}
#else
ENTRY(MOCK_ID)
{
    MOCK_IN_ENTRY;
#if defined(MOCK_FAULT_REFUSES)
    cb_text_append(negotiation->reason, sizeof(negotiation->reason), "the licence has expired");
    return CB_UNSUPPORTED;
#endif
    const cb_status status = cb_negotiate(negotiation, &mock.table);
#if defined(MOCK_FAULT_OK_WITHOUT_TABLE)
    negotiation->table = NULL;
#elif defined(MOCK_FAULT_CHOOSES_MAJOR_2)
    negotiation->major = 2;
#elif defined(MOCK_FAULT_UNDEFINED_SYMBOL)
    negotiation->minor = (uint32_t)a_symbol_that_nobody_has();
#endif
    return status;
}
#endif
