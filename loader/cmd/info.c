/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fact(const char *key, const char *value)
{
    printf("%s: ", key);
    print_text(value);
    putchar('\n');
}

static bool failed(cb_status status, const char *call, const cb_error *err)
{
    if (status != CB_OK)
        complain("%s: %s (%s)", call, err->msg, cb_status_name(status));
    return status != CB_OK;
}

static bool print_candidate(cb_loader *loader)
{
    cb_error err;
    cb_error_init(&err);
    for (uint64_t i = 0; i < cb_loader_candidate_count(loader); i++) {
        cb_candidate c;
        cb_candidate_init(&c);
        if (failed(cb_loader_candidate(loader, i, &c, &err), "candidate", &err))
            return false;
        if (c.state != CB_STATE_SELECTED)
            continue;
        fact("id", c.id);
        fact("version", c.version);
        fact("class", c.device_class);
        printf("priority: %d\n", c.priority);
        fact("isa", c.isa);
        fact("path", *c.path ? c.path : "built in");
        fact("origin", c.origin);
        fact("reason", c.reason);
    }
    return true;
}

static const struct {
    uint32_t bit;
    const char *name;
} features[] = {
    { CB_FEATURE_FP16, "fp16" },
    { CB_FEATURE_BF16, "bf16" },
    { CB_FEATURE_FP8, "fp8" },
    { CB_FEATURE_TENSOR_CORES, "tensor_cores" },
    { CB_FEATURE_PEER_ACCESS, "peer_access" },
    { CB_FEATURE_UNIFIED_MEMORY, "unified_memory" },
    { CB_FEATURE_CLUSTER_LAUNCH, "cluster_launch" },
    { CB_FEATURE_ASYNC_COPY, "async_copy" },
};

const char *memory_kind_name(uint32_t kind)
{
    switch (kind) {
    case CB_MEMORY_DEVICE: return "device";
    case CB_MEMORY_HOST_PINNED: return "host_pinned";
    case CB_MEMORY_UNIFIED: return "unified";
    case CB_MEMORY_HOST: return "host";
    default: return "unknown";
    }
}

static bool print_device(cb_backend be, uint32_t i)
{
    cb_error err;
    cb_device_info d;
    cb_capabilities c;
    cb_error_init(&err);
    cb_device_info_init(&d);
    cb_capabilities_init(&c);
    if (failed(be.api->device_info(be.self, i, &d, &err), "device_info", &err) ||
        failed(be.api->capabilities(be.self, i, &c, &err), "capabilities", &err))
        return false;
    printf("device.%" PRIu32 ".name: ", i);
    print_text(d.name);
    printf("\ndevice.%" PRIu32 ".id: ", i);
    print_text(d.id);
    printf("\ndevice.%" PRIu32 ".memory_kind: %s\n", i, memory_kind_name(d.memory_kind));
    printf("device.%" PRIu32 ".total_memory: %" PRIu64 "\n", i, d.total_memory);
    printf("device.%" PRIu32 ".compute: %" PRIu32 ".%" PRIu32 "\n", i, d.compute_major,
           d.compute_minor);
    printf("device.%" PRIu32 ".features:", i);
    for (uint64_t k = 0; k < sizeof(features) / sizeof(features[0]); k++)
        if (c.features & features[k].bit)
            printf(" %s", features[k].name);
    printf("\ndevice.%" PRIu32 ".warp_size: %" PRIu32 "\n", i, c.warp_size);
    printf("device.%" PRIu32 ".max_threads_per_block: %" PRIu64 "\n", i, c.max_threads_per_block);
    printf("device.%" PRIu32 ".shared_memory_per_block: %" PRIu64 "\n", i,
           c.shared_memory_per_block);
    return true;
}

static bool print_devices(cb_backend be)
{
    cb_error err;
    uint32_t count = 0;
    cb_error_init(&err);
    if (failed(be.api->device_count(be.self, &count, &err), "device_count", &err))
        return false;
    printf("devices: %" PRIu32 "\n", count);
    for (uint32_t i = 0; i < count; i++)
        if (!print_device(be, i))
            return false;
    return true;
}

/* An optional slot: a backend without it has nothing to say here, and that is no failure. */
static bool print_memory(cb_backend be)
{
    cb_error err;
    cb_memory_info m = { .size = sizeof(m) };
    cb_error_init(&err);
    const cb_status status = be.api->memory_info(be.self, &m, &err);
    if (status == CB_UNSUPPORTED)
        return true;
    if (failed(status, "memory_info", &err))
        return false;
    printf("memory.total: %" PRIu64 "\nmemory.free: %" PRIu64 "\n", m.total, m.free);
    printf("memory.live_bytes: %" PRIu64 "\nmemory.live_count: %" PRIu64 "\n", m.live_bytes,
           m.live_count);
    return true;
}

/* The value of an info key, to be freed. NULL: it was said why, but for a backend without info,
 * which has nothing to say here, and that is no failure. */
static char *read_info(cb_backend be, const char *key, bool *supported)
{
    uint64_t length = 0;
    cb_error err;
    cb_error_init(&err);
    cb_status status = be.api->info(be.self, key, NULL, &length, &err);
    *supported = status != CB_UNSUPPORTED;
    if (!*supported || failed(status, key, &err))
        return NULL;
    char *text = calloc(length + 1, 1);
    if (!text) {
        complain("out of memory");
        return NULL;
    }
    if (!failed(be.api->info(be.self, key, text, &length, &err), key, &err))
        return text;
    free(text);
    return NULL;
}

static bool print_info(cb_backend be)
{
    bool supported;
    char *save = NULL;
    char *keys = read_info(be, "keys", &supported);
    bool good = keys || !supported;
    char *key = keys ? strtok_r(keys, "\n", &save) : NULL;
    for (; key && good; key = strtok_r(NULL, "\n", &save)) {
        char *value = read_info(be, key, &supported);
        good = value != NULL;
        if (good) {
            printf("info.");
            fact(key, value);
        }
        free(value);
    }
    free(keys);
    return good;
}

int cmd_info(const struct arguments *a)
{
    cb_error err;
    cb_backend be;
    cb_request request;
    int code = EXIT_USAGE;
    cb_error_init(&err);
    cb_request_init(&request);
    request.id = a->operands[1];
    cb_loader *loader = open_loader(a);
    if (!loader)
        return EXIT_TROUBLE;
    if (!backend_is_known(loader, request.id))
        goto out;
    code = EXIT_TROUBLE;
    if (cb_loader_select(loader, &request, &be, &err) != CB_OK) {
        complain("%s", err.msg);
        goto out;
    }
    if (print_candidate(loader) && print_devices(be) && print_memory(be) && print_info(be))
        code = EXIT_OK;
    cb_loader_release(loader, be, &err);
out:
    cb_loader_close(loader, &err);
    return code;
}
