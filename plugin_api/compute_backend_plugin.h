/* SPDX-License-Identifier: Apache-2.0 */
/**
 * compute_backend_plugin.h - what a plugin needs beside the ABI: entry, manifest, reading
 * arguments.
 *
 * Header-only, and nothing here crosses the boundary: a plugin may do without it, but there is no
 * reason to. A whole plugin is a table and four lines:
 *
 *     #include "compute_backend_plugin.h"
 *     static const compute_backend_v1 table = { .size = sizeof(table), ... };
 *     CB_PLUGIN_MANIFEST(mine, "1.0.0", "gpu", 50);
 *     CB_PLUGIN_ENTRY(mine) { return cb_negotiate(negotiation, &table); }
 *
 * Since: 1.0.
 */
#ifndef COMPUTE_BACKEND_PLUGIN_H
#define COMPUTE_BACKEND_PLUGIN_H

#include "compute_backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Text without a C library ---------------------------------------------------------------- */

/* Appends text to a terminated buffer of the given capacity; a cut text ends in " [cut]". */
static inline void cb_text_append(char *buffer, uint64_t capacity, const char *text)
{
    static const char mark[] = " [cut]";
    uint64_t at = 0;
    while (at < capacity && buffer[at])
        at++;
    if (at == capacity)
        return;
    while (*text && at + 1 < capacity)
        buffer[at++] = *text++;
    buffer[at] = 0;
    if (!*text || capacity < sizeof(mark))
        return;
    for (uint64_t i = 0; i < sizeof(mark); i++)
        buffer[capacity - sizeof(mark) + i] = mark[i];
}

static inline void cb_text_append_u64(char *buffer, uint64_t capacity, uint64_t value)
{
    char digits[21] = CB_ZEROES;
    char *at = digits + 20;
    do
        *--at = (char)('0' + value % 10);
    while ((value /= 10) != 0);
    cb_text_append(buffer, capacity, at);
}

/**
 * cb_error_set - fills *err (nullable, and never beyond its size) and returns code.
 *
 * @where, @msg: copied; err->msg becomes "where: msg".
 */
static inline cb_status cb_error_set(cb_error *err, cb_status code, const char *where,
                                     const char *msg)
{
    if (!err || err->size < CB_ERROR_1_0)
        return code;
    err->code = code;
    err->native_code = 0;
    err->where[0] = 0;
    err->msg[0] = 0;
    cb_text_append(err->where, sizeof(err->where), where);
    cb_text_append(err->msg, sizeof(err->msg), where);
    cb_text_append(err->msg, sizeof(err->msg), ": ");
    cb_text_append(err->msg, sizeof(err->msg), msg);
    return code;
}

/* cb_args_read, where the struct is of another version, or bad. */
static inline cb_status cb_args_read_other(void *local, uint64_t local_size, uint64_t size_1_0,
                                           const void *args, const char *where, cb_error *err)
{
    char msg[160] = CB_ZEROES;
    if (!args)
        return cb_error_set(err, CB_INVALID_ARGUMENT, where, "args is NULL");

    const unsigned char *bytes = (const unsigned char *)args;
    uint64_t size;
    __builtin_memcpy(&size, bytes, sizeof(size));
    if (size < size_1_0 || size > CB_ARGS_SIZE_MAX) {
        cb_text_append(msg, sizeof(msg), "args->size is ");
        cb_text_append_u64(msg, sizeof(msg), size);
        cb_text_append(msg, sizeof(msg), ", not in ");
        cb_text_append_u64(msg, sizeof(msg), size_1_0);
        cb_text_append(msg, sizeof(msg), "..4096; use CB_ARGS or the struct's _init");
        return cb_error_set(err, CB_INVALID_ARGUMENT, where, msg);
    }
    for (uint64_t i = local_size; i < size; i++) {
        if (!bytes[i])
            continue;
        cb_text_append(msg, sizeof(msg), "a field at byte ");
        cb_text_append_u64(msg, sizeof(msg), i);
        cb_text_append(msg, sizeof(msg), " of args is set, which this backend does not know");
        return cb_error_set(err, CB_UNSUPPORTED, where, msg);
    }
    const uint64_t known = size < local_size ? size : local_size;
    __builtin_memset(local, 0, local_size);
    __builtin_memcpy(local, bytes, known);
    __builtin_memcpy(local, &local_size, sizeof(local_size));
    return CB_OK;
}

/**
 * cb_args_read - copies an argument struct of any version into a local one.
 *
 * @local:      receives min(args->size, local_size) bytes and zeroes after them.
 * @local_size: sizeof of the struct as this plugin knows it.
 * @size_1_0:   the smallest size that is valid, CB_..._ARGS_1_0.
 * @args:       what the caller passed.
 * @where:      the op, for the message.
 *
 * Errors: CB_INVALID_ARGUMENT (NULL, or a size that cannot be), CB_UNSUPPORTED (a field that this
 *         plugin does not know is set).
 */
static inline cb_status cb_args_read(void *local, uint64_t local_size, uint64_t size_1_0,
                                     const void *args, const char *where, cb_error *err)
{
    uint64_t size = 0;
    if (args)
        __builtin_memcpy(&size, args, sizeof(size));
    if (size != local_size)
        return cb_args_read_other(local, local_size, size_1_0, args, where, err);
    __builtin_memcpy(local, args, local_size);
    return CB_OK;
}

/**
 * cb_result_write - copies a result struct out, up to the size that the caller gave.
 *
 * @out:        the caller's struct, its size set.
 * @result:     what to write; its size field is ignored.
 * @size_1_0:   the smallest size that is valid.
 */
static inline cb_status cb_result_write(void *out, const void *result, uint64_t result_size,
                                        uint64_t size_1_0, const char *where, cb_error *err)
{
    if (!out)
        return cb_error_set(err, CB_INVALID_ARGUMENT, where, "out is NULL");
    uint64_t size;
    __builtin_memcpy(&size, out, sizeof(size));
    if (size < size_1_0)
        return cb_error_set(err, CB_INVALID_ARGUMENT, where,
                            "out->size is too small; use the struct's _init");
    const uint64_t known = size < result_size ? size : result_size;
    __builtin_memcpy((unsigned char *)out + sizeof(size),
                     (const unsigned char *)result + sizeof(size), known - sizeof(size));
    return CB_OK;
}

/**
 * cb_negotiate - the whole negotiation, for the body of an entry:
 *
 *     CB_PLUGIN_ENTRY(cpu)
 *     {
 *         return cb_negotiate(negotiation, &table);
 *     }
 */
static inline cb_status cb_negotiate(cb_negotiation *n, const compute_backend_v1 *table)
{
    if (!n || n->size < CB_NEGOTIATION_1_0)
        return CB_INVALID_ARGUMENT;
    n->major = CB_ABI_MAJOR;
    n->minor = CB_ABI_MINOR;
    n->draft = CB_ABI_DRAFT;
    n->table = NULL;
    n->reason[0] = 0;
    if (!(n->host_majors & (1u << CB_ABI_MAJOR))) {
        cb_text_append(n->reason, sizeof(n->reason),
                       "the plugin speaks ABI major 1, which the host does not");
        return CB_ABI_MISMATCH;
    }
    if (n->host_draft != CB_ABI_DRAFT) {
        cb_text_append(n->reason, sizeof(n->reason), "the plugin was built for draft ");
        cb_text_append_u64(n->reason, sizeof(n->reason), CB_ABI_DRAFT);
        cb_text_append(n->reason, sizeof(n->reason), " of ABI 1.0, the host for draft ");
        cb_text_append_u64(n->reason, sizeof(n->reason), n->host_draft);
        return CB_ABI_MISMATCH;
    }
    n->table = table;
    return CB_OK;
}

/* Begins the definition of the plugin's entry. A plugin that is linked into its host instead of
 * loaded is compiled with CB_PLUGIN_STATIC; its entry is then cb_plugin_entry_ID, and its manifest
 * the string cb_plugin_manifest_ID. */
#ifdef CB_PLUGIN_STATIC
#define CB_PLUGIN_ENTRY(id)                                                                        \
    CB_LINKAGE cb_status cb_plugin_entry_##id(cb_negotiation *negotiation);                        \
    cb_status cb_plugin_entry_##id(cb_negotiation *negotiation)
#else
#define CB_PLUGIN_ENTRY(id)                                                                        \
    CB_LINKAGE __attribute__((visibility("default"))) cb_status cb_plugin_entry(                   \
        cb_negotiation *negotiation);                                                              \
    cb_status cb_plugin_entry(cb_negotiation *negotiation)
#endif

/**
 * CB_PLUGIN_MANIFEST - facts of the plugin that a loader reads without running it.
 *
 * @id:        the table's name, a plain token: cpu
 * @version:   a string: "1.2.0"
 * @dev_class: a string: "cpu", "gpu" or "accelerator"
 * @priority:  a number from 0 (taken only when named) to 1000. The usual ones: cuda 100, rocm 90,
 *             metal 85, level_zero 80, vulkan 60, opencl 55, webgpu 50, cpu 1.
 *
 * At file scope, once per plugin. It makes an ELF note, owner compute_backend, type 1, of
 * key=value lines, with the ABI version and the instruction set that this file was compiled for:
 * compile it with the flags that the whole plugin needs to start.
 */
#define CB_MANIFEST_TEXT(id, version, dev_class, priority)                                         \
    "abi=" CB_TEXT_(CB_ABI_MAJOR) "." CB_TEXT_(                                                    \
        CB_ABI_MINOR) "\n"                                                                         \
                      "draft=" CB_TEXT_(CB_ABI_DRAFT) "\n"                                         \
                                                      "id=" #id "\n"                               \
                                                      "version=" version "\n"                      \
                                                      "class=" dev_class "\n"                      \
                                                      "priority=" CB_TEXT_(                        \
                                                          priority) "\n"                           \
                                                                    "isa=" CB_MANIFEST_ISA "\n"
#define CB_MANIFEST_OWNER "compute_backend"
#define CB_MANIFEST_TYPE  1
#define CB_MANIFEST_MAX   4096
#define CB_TEXT_(x)       CB_TEXT2_(x)
#define CB_TEXT2_(x)      #x

/* clang's AddressSanitizer would put red zones into the section, which are no notes. */
#ifdef __clang__
#define CB_NOTE_ALONE_ __attribute__((no_sanitize("address")))
#else
#define CB_NOTE_ALONE_
#endif

#ifdef CB_PLUGIN_STATIC
#define CB_PLUGIN_MANIFEST(id, version, dev_class, priority)                                       \
    CB_LINKAGE const char cb_plugin_manifest_##id[];                                               \
    const char cb_plugin_manifest_##id[] = CB_MANIFEST_TEXT(id, version, dev_class, priority)
#else
#define CB_PLUGIN_MANIFEST(id, version, dev_class, priority)                                       \
    CB_STATIC_ASSERT(sizeof(CB_MANIFEST_TEXT(id, version, dev_class, priority)) <=                 \
                         CB_MANIFEST_MAX,                                                          \
                     "the manifest is at most 4 KiB");                                             \
    static const struct {                                                                          \
        uint32_t owner_size, text_size, type;                                                      \
        char owner[sizeof(CB_MANIFEST_OWNER)];                                                     \
        char text[sizeof(CB_MANIFEST_TEXT(id, version, dev_class, priority))];                     \
    } cb_plugin_manifest_##id CB_NOTE_ALONE_                                                       \
        __attribute__((section(".note.compute_backend"), used, aligned(4))) = {                    \
            sizeof(CB_MANIFEST_OWNER),                                                             \
            sizeof(CB_MANIFEST_TEXT(id, version, dev_class, priority)),                            \
            CB_MANIFEST_TYPE,                                                                      \
            CB_MANIFEST_OWNER,                                                                     \
            CB_MANIFEST_TEXT(id, version, dev_class, priority),                                    \
        }
#endif
CB_STATIC_ASSERT(sizeof(CB_MANIFEST_OWNER) % 4 == 0, "an ELF note pads its owner to 4 bytes");

/* The instruction set of the translation unit: an architecture, then what was added to its base,
 * in the spelling of Linux's /proc/cpuinfo. */
#if defined(__x86_64__)
#ifdef __SSE3__
#define CB_ISA_SSE3_ ",pni"
#else
#define CB_ISA_SSE3_ ""
#endif
#ifdef __SSSE3__
#define CB_ISA_SSSE3_ ",ssse3"
#else
#define CB_ISA_SSSE3_ ""
#endif
#ifdef __SSE4_1__
#define CB_ISA_SSE4_1_ ",sse4_1"
#else
#define CB_ISA_SSE4_1_ ""
#endif
#ifdef __SSE4_2__
#define CB_ISA_SSE4_2_ ",sse4_2"
#else
#define CB_ISA_SSE4_2_ ""
#endif
#ifdef __POPCNT__
#define CB_ISA_POPCNT_ ",popcnt"
#else
#define CB_ISA_POPCNT_ ""
#endif
#ifdef __AVX__
#define CB_ISA_AVX_ ",avx"
#else
#define CB_ISA_AVX_ ""
#endif
#ifdef __F16C__
#define CB_ISA_F16C_ ",f16c"
#else
#define CB_ISA_F16C_ ""
#endif
#ifdef __FMA__
#define CB_ISA_FMA_ ",fma"
#else
#define CB_ISA_FMA_ ""
#endif
#ifdef __BMI__
#define CB_ISA_BMI1_ ",bmi1"
#else
#define CB_ISA_BMI1_ ""
#endif
#ifdef __BMI2__
#define CB_ISA_BMI2_ ",bmi2"
#else
#define CB_ISA_BMI2_ ""
#endif
#ifdef __LZCNT__
#define CB_ISA_ABM_ ",abm"
#else
#define CB_ISA_ABM_ ""
#endif
#ifdef __MOVBE__
#define CB_ISA_MOVBE_ ",movbe"
#else
#define CB_ISA_MOVBE_ ""
#endif
#ifdef __AVX2__
#define CB_ISA_AVX2_ ",avx2"
#else
#define CB_ISA_AVX2_ ""
#endif
#ifdef __AVX512F__
#define CB_ISA_AVX512F_ ",avx512f"
#else
#define CB_ISA_AVX512F_ ""
#endif
#ifdef __AVX512CD__
#define CB_ISA_AVX512CD_ ",avx512cd"
#else
#define CB_ISA_AVX512CD_ ""
#endif
#ifdef __AVX512BW__
#define CB_ISA_AVX512BW_ ",avx512bw"
#else
#define CB_ISA_AVX512BW_ ""
#endif
#ifdef __AVX512DQ__
#define CB_ISA_AVX512DQ_ ",avx512dq"
#else
#define CB_ISA_AVX512DQ_ ""
#endif
#ifdef __AVX512VL__
#define CB_ISA_AVX512VL_ ",avx512vl"
#else
#define CB_ISA_AVX512VL_ ""
#endif
#ifdef __AVX512BF16__
#define CB_ISA_AVX512BF16_ ",avx512_bf16"
#else
#define CB_ISA_AVX512BF16_ ""
#endif
#ifdef __AMX_TILE__
#define CB_ISA_AMX_ ",amx_tile"
#else
#define CB_ISA_AMX_ ""
#endif
#define CB_MANIFEST_ISA                                                                            \
    "x86_64" CB_ISA_SSE3_ CB_ISA_SSSE3_ CB_ISA_SSE4_1_ CB_ISA_SSE4_2_ CB_ISA_POPCNT_ CB_ISA_AVX_   \
        CB_ISA_F16C_ CB_ISA_FMA_ CB_ISA_BMI1_ CB_ISA_BMI2_ CB_ISA_ABM_ CB_ISA_MOVBE_ CB_ISA_AVX2_  \
            CB_ISA_AVX512F_ CB_ISA_AVX512CD_ CB_ISA_AVX512BW_ CB_ISA_AVX512DQ_ CB_ISA_AVX512VL_    \
                CB_ISA_AVX512BF16_ CB_ISA_AMX_
#elif defined(__aarch64__)
#ifdef __ARM_FEATURE_SVE
#define CB_ISA_SVE_ ",sve"
#else
#define CB_ISA_SVE_ ""
#endif
#ifdef __ARM_FEATURE_BF16
#define CB_ISA_BF16_ ",bf16"
#else
#define CB_ISA_BF16_ ""
#endif
#define CB_MANIFEST_ISA "aarch64" CB_ISA_SVE_ CB_ISA_BF16_
#elif defined(__riscv)
#define CB_MANIFEST_ISA "riscv64"
#elif defined(__powerpc64__)
#define CB_MANIFEST_ISA "ppc64"
#elif defined(__s390x__)
#define CB_MANIFEST_ISA "s390x"
#else
#define CB_MANIFEST_ISA "any"
#endif

#ifdef __cplusplus
}
#endif

#endif
