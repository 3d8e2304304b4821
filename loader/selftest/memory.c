/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations and blocking copies. */
#include "suite.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_ADDRESS (UINT64_C(1) << 62)
#define LEAST_GAP     4096

/* What a copy must not move stays this. */
static const unsigned char untouched[64] = { 0xa5, 0x5a, 0xa5, 0x5a, 0xa5, 0x5a, 0xa5, 0x5a };

static bool up(struct st_run *run, uint64_t dst, const void *src, uint64_t bytes, cb_status want)
{
    cb_error err;
    cb_error_init(&err);
    return st_status(run, "copy_htod", cb_upload(run->be, dst, src, bytes, &err), want, &err);
}

static bool down(struct st_run *run, void *dst, uint64_t src, uint64_t bytes, cb_status want)
{
    cb_error err;
    cb_error_init(&err);
    return st_status(run, "copy_dtoh", cb_download(run->be, dst, src, bytes, &err), want, &err);
}

static bool across(struct st_run *run, uint64_t dst, uint64_t src, uint64_t bytes, cb_status want)
{
    cb_error err;
    cb_error_init(&err);
    cb_copy_dtod_args args;
    cb_copy_dtod_args_init(&args);
    args.dst = dst;
    args.src = src;
    args.bytes = bytes;
    return st_status(run, "copy_dtod", cb_copy_dtod(run->be, &args, &err), want, &err);
}

static void refused_free(struct st_run *run, const char *what, uint64_t ptr)
{
    cb_error err;
    cb_error_init(&err);
    st_status(run, what, cb_free(run->be, ptr, &err), CB_INVALID_ARGUMENT, &err);
    if (!err.msg[0])
        st_fail(run, "an error has a message", "%s: the message is empty", what);
}

static void same(struct st_run *run, const char *rule, const void *got, const void *want,
                 uint64_t bytes)
{
    const unsigned char *g = got, *w = want;
    for (uint64_t i = 0; i < bytes; i++) {
        if (g[i] != w[i]) {
            st_fail(run, rule, "byte %" PRIu64 " is %02x, not %02x", i, g[i], w[i]);
            return;
        }
    }
}

static void alloc_sizes(struct st_run *run)
{
    static const uint64_t huge[] = { UINT64_MAX, UINT64_C(1) << 63, UINT64_C(1) << 60,
                                     UINT64_MAX - 4095 };
    static const char rule[] = "an alloc that fails leaves out as it was, and has a message";
    for (uint64_t i = 0; i <= ST_COUNT(huge); i++) {
        cb_error err;
        cb_error_init(&err);
        uint64_t ptr = 12345;
        const uint64_t bytes = i < ST_COUNT(huge) ? huge[i] : 0;
        st_status(run, bytes ? "alloc of too much" : "alloc of 0 bytes",
                  cb_alloc(run->be, bytes, &ptr, &err),
                  bytes ? CB_OUT_OF_MEMORY : CB_INVALID_ARGUMENT, &err);
        if (ptr != 12345 || !err.msg[0])
            st_fail(run, rule, "alloc of %" PRIu64 ": out %" PRIu64 ", message \"%s\"", bytes, ptr,
                    err.msg);
    }
    uint64_t ptr = 0;
    if (st_alloc(run, 1, &ptr))
        st_free(run, ptr);
}

static void alloc_zero_filled(struct st_run *run)
{
    static const uint64_t sizes[] = { 1, 63, 4096, 4097, 100000, 100000 };
    unsigned char *zeroes = st_host(run, 2, 100000), *got = zeroes ? zeroes + 100000 : NULL;
    for (uint64_t i = 0; zeroes && i < ST_COUNT(sizes) * 3; i++) {
        const uint64_t bytes = sizes[i / 3];
        uint64_t ptr = 0;
        if (!st_alloc(run, bytes, &ptr))
            break;
        memset(got, 0xff, bytes);
        if (down(run, got, ptr, bytes, CB_OK))
            same(run, "memory from alloc is zero-filled", got, zeroes, bytes);
        memset(got, 0xee, bytes);
        up(run, ptr, got, bytes, CB_OK);
        st_free(run, ptr);
    }
    free(zeroes);
}

/* Every other one is freed at once, so that an allocator that reuses addresses has one to reuse. */
static void alloc_addresses(struct st_run *run)
{
    uint64_t ptr[64] = { 0 }, end = FIRST_ADDRESS - LEAST_GAP;
    for (uint64_t i = 0; i < ST_COUNT(ptr); i++) {
        const uint64_t bytes = 1 + i * 37 % 5000;
        if (!st_alloc(run, bytes, &ptr[i]))
            break;
        if (ptr[i] % 64 || ptr[i] < end + LEAST_GAP)
            st_fail(run,
                    "addresses are multiples of 64 from a counter that starts at 2^62, with gaps "
                    "of at least 4096 bytes",
                    "alloc %" PRIu64 " is at %#" PRIx64 ", the one before it ends at %#" PRIx64, i,
                    ptr[i], end);
        end = ptr[i] + bytes;
        if (i % 2) {
            st_free(run, ptr[i]);
            ptr[i] = 0;
        }
    }
    for (uint64_t i = 0; i < ST_COUNT(ptr); i++) {
        if (ptr[i])
            st_free(run, ptr[i]);
    }
}

static void free_faults(struct st_run *run)
{
    uint64_t ptr = 0;
    if (!st_alloc(run, 256, &ptr))
        return;
    refused_free(run, "free of 0", 0);
    refused_free(run, "free of an interior address", ptr + 64);
    refused_free(run, "free of an address beyond", ptr + 256);
    refused_free(run, "free of a host address", (uint64_t)(uintptr_t)run);
    if (st_free(run, ptr))
        refused_free(run, "free of what was freed", ptr);
}

static void use_after_free(struct st_run *run)
{
    static const char rule[] = "a copy that fails moves nothing";
    unsigned char host[64];
    uint64_t freed = 0, live = 0;
    memcpy(host, untouched, sizeof(host));
    if (!st_alloc(run, 64, &freed) || !st_free(run, freed) || !st_alloc(run, 64, &live))
        return;
    up(run, live, untouched, 64, CB_OK);
    down(run, host, freed, 64, CB_INVALID_ARGUMENT);
    same(run, rule, host, untouched, sizeof(host));
    up(run, freed, host, 64, CB_INVALID_ARGUMENT);
    across(run, freed, live, 64, CB_INVALID_ARGUMENT);
    across(run, live, freed, 64, CB_INVALID_ARGUMENT);
    if (down(run, host, live, 64, CB_OK))
        same(run, rule, host, untouched, sizeof(host));
    st_free(run, live);
}

static void copy_too_long(struct st_run *run)
{
    static const char rule[] = "a copy longer than what is left of the buffer moves nothing";
    unsigned char host[64], zeroes[64] = { 0 };
    uint64_t a = 0, b = 0;
    if (!st_alloc(run, 32, &a))
        return;
    if (st_alloc(run, 64, &b)) {
        up(run, a, untouched, 33, CB_INVALID_ARGUMENT);
        up(run, a + 1, untouched, 32, CB_INVALID_ARGUMENT);
        up(run, a + 32, untouched, 1, CB_INVALID_ARGUMENT);
        up(run, a - 1, untouched, 2, CB_INVALID_ARGUMENT);
        up(run, a, untouched, UINT64_MAX, CB_INVALID_ARGUMENT);
        across(run, a, b, 64, CB_INVALID_ARGUMENT);
        if (down(run, host, a, 32, CB_OK))
            same(run, rule, host, zeroes, 32);
        memcpy(host, untouched, sizeof(host));
        down(run, host, a, 33, CB_INVALID_ARGUMENT);
        down(run, host, a + 31, 2, CB_INVALID_ARGUMENT);
        across(run, b, a, 33, CB_INVALID_ARGUMENT);
        same(run, rule, host, untouched, sizeof(host));
        if (down(run, host, b, 64, CB_OK))
            same(run, rule, host, zeroes, 64);
        st_free(run, b);
    }
    st_free(run, a);
}

static void copy_nothing_or_null(struct st_run *run)
{
    uint64_t ptr = 0;
    if (!st_alloc(run, 64, &ptr))
        return;
    up(run, 0, NULL, 0, CB_OK);
    up(run, UINT64_MAX, untouched, 0, CB_OK);
    down(run, NULL, 0, 0, CB_OK);
    down(run, NULL, ptr, 0, CB_OK);
    across(run, 0, 1, 0, CB_OK);
    up(run, ptr, NULL, 8, CB_INVALID_ARGUMENT);
    down(run, NULL, ptr, 8, CB_INVALID_ARGUMENT);
    up(run, 0, untouched, 8, CB_INVALID_ARGUMENT);
    st_free(run, ptr);
}

static void copy_args(struct st_run *run)
{
    cb_error err;
    cb_error_init(&err);
    unsigned char host[64];
    uint64_t ptr = 0;
    if (!st_alloc(run, 64, &ptr))
        return;
    cb_copy_htod_args args = { CB_ARGS(cb_copy_htod_args), .dst = ptr, .src = untouched,
                               .bytes = 64 };
    args.flags = 1u << 31;
    st_status(run, "copy_htod with an unknown flag", cb_copy_htod(run->be, &args, &err),
              CB_UNSUPPORTED, &err);
    args.flags = 0;
    args.size = 8;
    st_status(run, "copy_htod with size 8", cb_copy_htod(run->be, &args, &err), CB_INVALID_ARGUMENT,
              &err);
    st_status(run, "copy_htod with args NULL", cb_copy_htod(run->be, NULL, &err),
              CB_INVALID_ARGUMENT, &err);
    st_status(run, "copy_dtoh with args NULL", cb_copy_dtoh(run->be, NULL, &err),
              CB_INVALID_ARGUMENT, &err);
    st_status(run, "copy_dtod with args NULL", cb_copy_dtod(run->be, NULL, &err),
              CB_INVALID_ARGUMENT, &err);
    if (down(run, host, ptr, 64, CB_OK))
        same(run, "a copy that fails moves nothing", host, (const unsigned char[64]){ 0 }, 64);
    st_free(run, ptr);
}

/* Odd offsets, and ranges that overlap forwards and backwards. */
static void copy_bytes(struct st_run *run)
{
    static const char rule[] = "copies move the bytes, as if through a temporary";
    unsigned char want[257], got[257];
    uint64_t ptr = 0;
    if (!st_alloc(run, sizeof(want), &ptr))
        return;
    for (size_t i = 0; i < sizeof(want); i++)
        want[i] = (unsigned char)st_random(&run->random);
    up(run, ptr, want, sizeof(want), CB_OK);
    up(run, ptr + 3, untouched, 7, CB_OK);
    memcpy(want + 3, untouched, 7);
    across(run, ptr + 33, ptr + 11, 101, CB_OK);
    memmove(want + 33, want + 11, 101);
    across(run, ptr + 120, ptr + 131, 126, CB_OK);
    memmove(want + 120, want + 131, 126);
    across(run, ptr + 5, ptr + 5, 50, CB_OK);
    if (down(run, got, ptr, sizeof(got), CB_OK))
        same(run, rule, got, want, sizeof(got));
    memset(got, 0, sizeof(got));
    if (down(run, got + 1, ptr + 99, 57, CB_OK))
        same(run, rule, got + 1, want + 99, 57);
    st_free(run, ptr);
}

static void memset_bytes(struct st_run *run)
{
    if (!CB_HAS(run->be.api, memset)) {
        st_skip(run, "the table has no memset");
        return;
    }
    cb_error err;
    cb_error_init(&err);
    unsigned char want[100] = { 0 }, got[100];
    uint64_t ptr = 0;
    if (!st_alloc(run, sizeof(want), &ptr))
        return;
    if (!st_offered(run, "memset", cb_memset(run->be, ptr + 3, 0xfe, 55, NULL, &err), &err)) {
        st_free(run, ptr);
        return;
    }
    memset(want + 3, 0xfe, 55);
    st_status(run, "memset of 0 bytes", cb_memset(run->be, 0, 1, 0, NULL, &err), CB_OK, &err);
    st_status(run, "memset to 256", cb_memset(run->be, ptr, 256, 8, NULL, &err),
              CB_INVALID_ARGUMENT, &err);
    st_status(run, "memset too long", cb_memset(run->be, ptr + 50, 1, 51, NULL, &err),
              CB_INVALID_ARGUMENT, &err);
    st_status(run, "memset at 0", cb_memset(run->be, 0, 1, 8, NULL, &err), CB_INVALID_ARGUMENT,
              &err);
    if (down(run, got, ptr, sizeof(got), CB_OK))
        same(run, "memset sets its bytes and no other", got, want, sizeof(got));
    st_free(run, ptr);
}

static void memory_info(struct st_run *run)
{
    if (!CB_HAS(run->be.api, memory_info)) {
        st_skip(run, "the table has no memory_info");
        return;
    }
    cb_error err;
    cb_error_init(&err);
    cb_memory_info before, during, after;
    cb_memory_info_init(&before);
    cb_memory_info_init(&during);
    cb_memory_info_init(&after);
    uint64_t ptr = 0;
    const compute_backend_v1 *api = run->be.api;
    if (!st_offered(run, "memory_info", api->memory_info(run->be.self, &before, &err), &err))
        return;
    if (!st_alloc(run, 12345, &ptr))
        return;
    st_status(run, "memory_info", api->memory_info(run->be.self, &during, &err), CB_OK, &err);
    st_free(run, ptr);
    st_status(run, "memory_info", api->memory_info(run->be.self, &after, &err), CB_OK, &err);
    if (during.live_bytes != before.live_bytes + 12345 ||
        during.live_count != before.live_count + 1 || after.live_bytes != before.live_bytes ||
        after.live_count != before.live_count || during.free > during.total)
        st_fail(run, "memory_info counts live bytes as they were asked for",
                "live bytes %" PRIu64 ", %" PRIu64 ", %" PRIu64 " before, during, after",
                before.live_bytes, during.live_bytes, after.live_bytes);
}

static const struct st_case cases[] = {
    { "alloc_sizes", alloc_sizes },
    { "alloc_zero_filled", alloc_zero_filled },
    { "alloc_addresses", alloc_addresses },
    { "free_faults", free_faults },
    { "use_after_free", use_after_free },
    { "copy_too_long", copy_too_long },
    { "copy_nothing_or_null", copy_nothing_or_null },
    { "copy_args", copy_args },
    { "copy_bytes", copy_bytes },
    { "memset", memset_bytes },
    { "memory_info", memory_info },
};

static void grid(struct st_run *run, uint32_t type)
{
    (void)type;
    for (size_t i = 0; i < ST_COUNT(cases); i++) {
        uint64_t ptr = 0;
        if (!st_begin(run, "memory:%s", cases[i].name))
            continue;
        if (st_alloc(run, 1, &ptr) && st_free(run, ptr))
            cases[i].check(run);
        st_end(run);
    }
}

const struct st_group st_memory = { "memory", NULL, grid, NULL, NULL };
