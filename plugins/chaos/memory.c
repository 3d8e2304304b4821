/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers of the wrapped backend behind addresses of this one: so that queued work keeps what it
 * uses, whoever frees it, and so that an address can be wrong. */
#include "faults.h"
#include "ruin.h"

#include <string.h>

#define ROUND         64
#define FIRST_ADDRESS (UINT64_C(1) << 62)

static uint64_t round_up(uint64_t bytes)
{
    return bytes + (ROUND - bytes % ROUND) % ROUND;
}

/* memory is the address that the wrapped backend gave. */
void chaos_release(void *ctx, void *memory, void *owner, uint64_t bytes)
{
    struct chaos *chaos = ctx;
    (void)owner;
    (void)bytes;
    chaos->wrapped.api->free(chaos->wrapped.self, (uint64_t)(uintptr_t)memory, NULL, NULL);
}

static void fill(struct chaos *chaos, uint64_t wrapped, uint64_t bytes, int value)
{
    unsigned char page[4096];
    memset(page, value, sizeof(page));
    for (uint64_t at = 0; at < bytes; at += sizeof(page))
        cb_upload(chaos->wrapped, wrapped + at, page,
                  bytes - at < sizeof(page) ? bytes - at : sizeof(page), NULL);
}

/* The address of the latest allocation, when it was freed and has the size. */
static bool take_spare(struct chaos *chaos, uint64_t bytes, uint64_t *out)
{
    pthread_mutex_lock(&chaos->lock);
    struct chaos_spare *spare = &chaos->spare;
    const bool fits = spare->is_free && spare->bytes == bytes;
    if (fits) {
        *out = spare->address;
        spare->is_free = false;
        fill(chaos, spare->wrapped, spare->bytes, 0);
    }
    pthread_mutex_unlock(&chaos->lock);
    return fits;
}

/* Frees nothing of the latest allocation but its name. */
static bool give_spare(struct chaos *chaos, uint64_t ptr)
{
    pthread_mutex_lock(&chaos->lock);
    const bool is_spare = chaos->spare.address == ptr && !chaos->spare.is_free;
    chaos->spare.is_free |= is_spare;
    pthread_mutex_unlock(&chaos->lock);
    return is_spare;
}

/* Takes the place of the allocation before, which is freed for good if it was to be. */
static void remember_spare(struct chaos *chaos, struct chaos_spare latest)
{
    pthread_mutex_lock(&chaos->lock);
    const struct chaos_spare before = chaos->spare;
    chaos->spare = latest;
    pthread_mutex_unlock(&chaos->lock);
    if (before.is_free)
        cbc_addr_table_remove(chaos->table, before.address, "free", NULL);
}

static cb_status alloc(struct chaos *chaos, uint64_t bytes, uint64_t *out, cb_error *err)
{
    const cb_backend be = chaos->wrapped;
    uint64_t wrapped = 0;
    if (bytes && chaos_has(chaos, CHAOS_ADDRESS_REUSED) && take_spare(chaos, bytes, out))
        return CB_OK;
    if (bytes && bytes <= UINT64_MAX - ROUND && chaos_has(chaos, CHAOS_ALLOC_ROUNDED))
        bytes = round_up(bytes);
    cb_status st = be.api->alloc(be.self, bytes, NULL, &wrapped, err);
    if (st == CB_OUT_OF_MEMORY && chaos_has(chaos, CHAOS_ALLOC_STATUS))
        return cbc_fail(err, CB_DEVICE_ERROR, "alloc", "the device refused %llu bytes",
                        (unsigned long long)bytes);
    if (st != CB_OK)
        return st;
    if (chaos_has(chaos, CHAOS_ALLOC_DIRTY))
        fill(chaos, wrapped, bytes, 0xcd);
    st = cbc_addr_table_insert(chaos->table, bytes, (void *)(uintptr_t)wrapped, NULL, out, "alloc",
                               err);
    if (st != CB_OK)
        be.api->free(be.self, wrapped, NULL, NULL);
    else if (chaos_has(chaos, CHAOS_ADDRESS_REUSED))
        remember_spare(chaos, (struct chaos_spare){ *out, wrapped, bytes, false });
    return st;
}

cb_status chaos_alloc(void *self, uint64_t bytes, cb_stream *stream, uint64_t *out, cb_error *err)
{
    struct chaos *chaos = self;
    cb_status st = chaos_begin(chaos, "alloc", err);
    if (st == CB_OK)
        st = chaos_stream_check(chaos, stream, "alloc", err);
    if (st == CB_OK && !out)
        st = cbc_invalid(err, "alloc", "out is NULL");
    chaos_reach(chaos, CHAOS_IN_ALLOC);
    if (st == CB_OK && bytes > chaos->largest)
        st = cbc_fail(err, CB_OUT_OF_MEMORY, "alloc", "%llu bytes are more than the option largest",
                      (unsigned long long)bytes);
    return st == CB_OK ? alloc(chaos, bytes, out, err) : st;
}

/* How much of an allocation lies before the address, and whether there is one. */
static bool offset_of(struct chaos *chaos, uint64_t ptr, uint64_t *offset)
{
    const struct cbc_operand operand = { "ptr", ptr, 1, 1, false };
    struct cbc_pin pin;
    if (cbc_addr_table_pin(chaos->table, &operand, 1, &pin, "free", NULL) != CB_OK)
        return false;
    *offset = pin.offset;
    cbc_addr_table_unpin(chaos->table, &pin, 1);
    return true;
}

/* Overwrites a byte of what is to be freed, as who gets the memory next might do. */
static void spoil(struct chaos *chaos, uint64_t ptr)
{
    const struct cbc_operand operand = { "ptr", ptr, 1, 1, false };
    struct cbc_pin pin;
    if (cbc_addr_table_pin(chaos->table, &operand, 1, &pin, "free", NULL) != CB_OK)
        return;
    fill(chaos, (uint64_t)(uintptr_t)pin.memory, 1, 0xcd);
    cbc_addr_table_unpin(chaos->table, &pin, 1);
}

cb_status chaos_free(void *self, uint64_t ptr, cb_stream *stream, cb_error *err)
{
    struct chaos *chaos = self;
    uint64_t offset = 0;
    cb_status st = chaos_begin(chaos, "free", err);
    if (st == CB_OK)
        st = chaos_stream_check(chaos, stream, "free", err);
    if (st != CB_OK)
        return st;
    if (chaos_has(chaos, CHAOS_ADDRESS_REUSED) && give_spare(chaos, ptr))
        return CB_OK;
    if (chaos_has(chaos, CHAOS_FREE_AT_ONCE))
        spoil(chaos, ptr);
    if (chaos_has(chaos, CHAOS_FREE_INTERIOR) && offset_of(chaos, ptr, &offset))
        ptr -= offset;
    st = cbc_addr_table_remove(chaos->table, ptr, "free", err);
    const bool beyond = ptr >= FIRST_ADDRESS && !offset_of(chaos, ptr, &offset);
    return chaos_has(chaos, CHAOS_FREE_TWICE) && beyond ? CB_OK : st;
}

cb_status chaos_memory_info(void *self, cb_memory_info *out, cb_error *err)
{
    struct chaos *chaos = self;
    const cb_backend be = chaos->wrapped;
    cb_memory_info info;
    cb_memory_info_init(&info);
    cb_status st = chaos_begin(chaos, "memory_info", err);
    if (st == CB_OK && !CB_HAS(be.api, memory_info))
        st = cbc_unsupported(err, "memory_info", "the wrapped backend %s has no such slot",
                             be.api->name);
    if (st == CB_OK)
        st = be.api->memory_info(be.self, &info, err);
    if (st != CB_OK)
        return st;
    cbc_addr_table_live(chaos->table, &info.live_bytes, &info.live_count);
    if (chaos_has(chaos, CHAOS_LIVE_ROUNDED))
        info.live_bytes = round_up(info.live_bytes);
    return cb_result_write(out, &info, sizeof(info), CB_MEMORY_INFO_1_0, "memory_info", err);
}
