/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses only grow, so a list to which allocations are appended is sorted by construction; one
 * that is removed leaves a hole. The list is made of chunks, which stay where they are, so that a
 * pin is a pointer; chunks that are all holes are dropped when they are the majority.
 *
 * The address space from the first allocation on is cut into equal granules, about two for each,
 * and a granule remembers where in the list its allocations begin. Finding the allocation of any
 * inner address is then a look into that, and a binary search among those few: two cache misses. */
#include "addr_table.h"
#include "error.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ADDRESS (1ull << 62) /* no process can map memory there */
#define GAP           4096ull      /* at least so much between two allocations */
#define SHARDS        16
#define CHUNK         64u

struct cbc_allocation {
    uint64_t base, bytes;
    void *memory;
    atomic_uint references; /* one while it is in the list, and one for each pin */
    uint32_t live;          /* 0: a hole, though perhaps still pinned */
    void *owner;
    uint32_t maps;
    uint32_t place; /* in its chunk */
};

struct chunk {
    struct cbc_allocation allocations[CHUNK];
    atomic_uint users; /* the list, and each allocation with references */
    uint32_t live;
};

struct shard {
    pthread_mutex_t lock;
    char apart[128 - sizeof(pthread_mutex_t)]; /* two threads must not share a cache line */
};

/* Reading takes one lock, writing all of them; references and users are atomic. */
struct cbc_addr_table {
    struct shard shards[SHARDS];
    cbc_release_fn release;
    void *ctx;
    uint64_t next;
    struct chunk **chunks;
    uint32_t length; /* allocations and holes in the chunks */
    uint32_t n_chunks, dead_chunks, chunk_room;
    uint32_t *granules; /* [g]: how many in the list have a base below origin + (g << shift) */
    uint64_t n_granules, granule_room;
    uint64_t origin; /* base of the first in the list */
    unsigned shift;
    uint64_t live_bytes, live_count;
};

struct cbc_addr_table *cbc_addr_table_create(cbc_release_fn release, void *ctx)
{
    struct cbc_addr_table *table = calloc(1, sizeof(*table));
    if (!table)
        return NULL;
    for (int i = 0; i < SHARDS; i++)
        pthread_mutex_init(&table->shards[i].lock, NULL);
    table->release = release;
    table->ctx = ctx;
    table->next = FIRST_ADDRESS;
    return table;
}

static void chunk_let_go(struct chunk *chunk)
{
    if (atomic_fetch_sub_explicit(&chunk->users, 1, memory_order_acq_rel) == 1)
        free(chunk);
}

static void let_go(struct cbc_addr_table *table, struct cbc_allocation *a)
{
    if (atomic_fetch_sub_explicit(&a->references, 1, memory_order_acq_rel) != 1)
        return;
    table->release(table->ctx, a->memory, a->owner, a->bytes);
    chunk_let_go((struct chunk *)(void *)(a - a->place));
}
_Static_assert(offsetof(struct chunk, allocations) == 0, "let_go finds the chunk by it");

static struct cbc_allocation *at(const struct cbc_addr_table *table, uint32_t i)
{
    return &table->chunks[i / CHUNK]->allocations[i % CHUNK];
}

void cbc_addr_table_destroy(struct cbc_addr_table *table)
{
    if (!table)
        return;
    for (uint32_t i = 0; i < table->length; i++)
        if (at(table, i)->live)
            let_go(table, at(table, i));
    for (uint32_t i = 0; i < table->n_chunks; i++)
        chunk_let_go(table->chunks[i]);
    for (int i = 0; i < SHARDS; i++)
        pthread_mutex_destroy(&table->shards[i].lock);
    free(table->chunks);
    free(table->granules);
    free(table);
}

void cbc_addr_table_lock(struct cbc_addr_table *table)
{
    for (int i = 0; i < SHARDS; i++)
        pthread_mutex_lock(&table->shards[i].lock);
}

void cbc_addr_table_unlock(struct cbc_addr_table *table)
{
    for (int i = SHARDS - 1; i >= 0; i--)
        pthread_mutex_unlock(&table->shards[i].lock);
}

/* The shard of the calling thread: its thread pointer, scattered, since those of several threads
 * differ by the size of a stack. */
static pthread_mutex_t *my_lock(struct cbc_addr_table *table)
{
    uint64_t self = 0;
    const pthread_t thread = pthread_self();
    memcpy(&self, &thread, sizeof(thread) < sizeof(self) ? sizeof(thread) : sizeof(self));
    return &table->shards[self * 0x9e3779b97f4a7c15ull >> 60].lock;
}
_Static_assert(SHARDS == 16, "my_lock takes four bits");

/* Lets the granules know of allocation i; those before it they know. */
static void note(struct cbc_addr_table *table, uint32_t i)
{
    const uint64_t g = (at(table, i)->base - table->origin) >> table->shift;
    while (table->n_granules <= g)
        table->granules[table->n_granules++] = i;
}

/* Cuts the address space anew, into granules that fit the room. */
static void cut_granules(struct cbc_addr_table *table)
{
    table->n_granules = 0;
    table->shift = 12;
    if (!table->length)
        return;
    table->origin = at(table, 0)->base;
    const uint64_t span = at(table, table->length - 1)->base - table->origin;
    while (span >> table->shift >= table->granule_room)
        table->shift++;
    for (uint32_t i = 0; i < table->length; i++)
        note(table, i);
}

/* Makes room in the two arrays for one more chunk. */
static bool grow_arrays(struct cbc_addr_table *table)
{
    if (table->n_chunks < table->chunk_room)
        return true;
    const uint32_t room = table->chunk_room ? table->chunk_room * 2 : 4;
    if (room > UINT32_MAX / CHUNK)
        return false;
    struct chunk **chunks = realloc(table->chunks, room * sizeof(struct chunk *));
    if (!chunks)
        return false;
    table->chunks = chunks;
    const uint64_t granule_room = 2ull * CHUNK * room;
    uint32_t *granules = realloc(table->granules, granule_room * sizeof(*granules));
    if (!granules)
        return false;
    table->granules = granules;
    table->granule_room = granule_room;
    table->chunk_room = room;
    cut_granules(table);
    return true;
}

/* Makes room for one more allocation. A failure leaves what there is. */
static bool grow(struct cbc_addr_table *table)
{
    if (table->length < table->n_chunks * CHUNK)
        return true;
    if (!grow_arrays(table))
        return false;
    struct chunk *chunk = calloc(1, sizeof(*chunk));
    if (!chunk)
        return false;
    chunk->users = 1;
    table->chunks[table->n_chunks++] = chunk;
    return true;
}

static void append(struct cbc_addr_table *table, uint64_t bytes, void *memory, void *owner)
{
    const uint32_t i = table->length++;
    struct chunk *chunk = table->chunks[i / CHUNK];
    struct cbc_allocation *a = at(table, i);
    a->base = table->next;
    a->bytes = bytes;
    a->memory = memory;
    a->owner = owner;
    a->references = 1;
    a->live = 1;
    a->place = i % CHUNK;
    if (a->place && !chunk->live) /* it was counted dead while it was still filling */
        table->dead_chunks--;
    chunk->live++;
    atomic_fetch_add_explicit(&chunk->users, 1, memory_order_relaxed);
    table->live_bytes += bytes;
    table->live_count++;
    if (i == 0 || (a->base - table->origin) >> table->shift >= table->granule_room)
        cut_granules(table);
    else
        note(table, i);
}

/* Drops the chunks that are all holes, but for the last, which still fills. */
static void squeeze(struct cbc_addr_table *table)
{
    uint32_t to = 0;
    for (uint32_t from = 0; from < table->n_chunks; from++) {
        struct chunk *chunk = table->chunks[from];
        if (chunk->live || from == table->n_chunks - 1)
            table->chunks[to++] = chunk;
        else
            chunk_let_go(chunk);
    }
    table->length -= (table->n_chunks - to) * CHUNK;
    table->n_chunks = to;
    table->dead_chunks = !table->chunks[to - 1]->live;
    cut_granules(table);
}

/* Makes a hole of a live allocation; its memory goes with the last reference. */
static void punch(struct cbc_addr_table *table, struct cbc_allocation *a)
{
    struct chunk *chunk = (struct chunk *)(void *)(a - a->place);
    a->live = 0;
    table->live_bytes -= a->bytes;
    table->live_count--;
    if (--chunk->live)
        return;
    table->dead_chunks++;
    if (table->dead_chunks > 4 && table->dead_chunks > table->n_chunks / 2)
        squeeze(table);
}

cb_status cbc_addr_table_insert(struct cbc_addr_table *table, uint64_t bytes, void *memory,
                                void *owner, uint64_t *address, const char *where, cb_error *err)
{
    uint64_t span, next;
    cbc_addr_table_lock(table);
    const bool ok = !__builtin_add_overflow(bytes, 2 * GAP - 1, &span) &&
                    !__builtin_add_overflow(table->next, span & ~(GAP - 1), &next) && grow(table);
    if (ok) {
        *address = table->next;
        append(table, bytes, memory, owner);
        table->next = next;
    }
    cbc_addr_table_unlock(table);
    return ok ? CB_OK
              : cbc_fail(err, CB_OUT_OF_MEMORY, where,
                         "no room in the address table for %llu bytes", (unsigned long long)bytes);
}

/* The live allocation that an address lies in, or NULL. */
static struct cbc_allocation *find(const struct cbc_addr_table *table, uint64_t address)
{
    if (!table->length || address < table->origin)
        return NULL;
    const uint64_t g = (address - table->origin) >> table->shift, last = table->n_granules - 1;
    uint32_t i = table->granules[g < last ? g : last];
    const uint32_t end = g < last ? table->granules[g + 1] : table->length;
    i -= i > 0; /* the one that reaches into this granule from before */
    for (uint32_t n = end - i; n > 1;) {
        const uint32_t half = n / 2;
        i += at(table, i + half)->base <= address ? half : 0;
        n -= half;
    }
    struct cbc_allocation *a = at(table, i);
    return a->live && address - a->base < a->bytes ? a : NULL;
}

cb_status cbc_addr_table_remove(struct cbc_addr_table *table, uint64_t address, const char *where,
                                cb_error *err)
{
    uint64_t base = 0;
    uint32_t maps = 0;
    cbc_addr_table_lock(table);
    struct cbc_allocation *a = find(table, address);
    if (a) {
        base = a->base;
        maps = a->maps;
    }
    const bool gone = a && base == address && !maps;
    if (gone)
        punch(table, a);
    cbc_addr_table_unlock(table);

    if (gone) {
        let_go(table, a);
        return CB_OK;
    }
    if (!a)
        return cbc_invalid(err, where, "ptr 0x%llx is no live allocation: never made, or freed",
                           (unsigned long long)address);
    if (base != address)
        return cbc_invalid(err, where, "ptr 0x%llx is inside an allocation; its base is 0x%llx",
                           (unsigned long long)address, (unsigned long long)base);
    return cbc_invalid(err, where, "ptr 0x%llx is mapped %u times; unmap it first",
                       (unsigned long long)address, (unsigned)maps);
}

/* Under one lock: finds and pins one operand; left says how many bytes are behind ptr. */
static bool pin_one(struct cbc_addr_table *table, const struct cbc_operand *op, struct cbc_pin *pin,
                    uint64_t *left)
{
    *pin = (struct cbc_pin){ 0 };
    if (!op->bytes)
        return true;
    struct cbc_allocation *a = find(table, op->ptr);
    *left = a ? a->bytes - (op->ptr - a->base) : 0;
    if (op->bytes > *left || op->ptr & (op->align - 1))
        return false;
    atomic_fetch_add_explicit(&a->references, 1, memory_order_relaxed);
    *pin = (struct cbc_pin){ a, a->memory, op->ptr - a->base };
    return true;
}

static cb_status bad_operand(const struct cbc_operand *op, uint64_t left, const char *where,
                             cb_error *err)
{
    const unsigned long long ptr = op->ptr;
    if (!left)
        return cbc_invalid(err, where, "%s 0x%llx is in no live allocation: never made, or freed",
                           op->name, ptr);
    if (op->ptr % op->align)
        return cbc_invalid(err, where, "%s 0x%llx is not a multiple of the %u-byte element",
                           op->name, ptr, (unsigned)op->align);
    return cbc_invalid(err, where, "%s 0x%llx needs %llu bytes, and its allocation has %llu left",
                       op->name, ptr, (unsigned long long)op->bytes, (unsigned long long)left);
}

cb_status cbc_addr_table_pin(struct cbc_addr_table *table, const struct cbc_operand *operands,
                             unsigned n, struct cbc_pin *pins, const char *where, cb_error *err)
{
    uint64_t left = 0;
    unsigned i = 0;
    pthread_mutex_t *lock = my_lock(table);

    pthread_mutex_lock(lock);
    while (i < n && pin_one(table, &operands[i], &pins[i], &left))
        i++;
    pthread_mutex_unlock(lock);
    if (i == n)
        return CB_OK;
    cbc_addr_table_unpin(table, pins, i);
    return bad_operand(&operands[i], left, where, err);
}

void cbc_addr_table_unpin(struct cbc_addr_table *table, const struct cbc_pin *pins, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (pins[i].allocation)
            let_go(table, pins[i].allocation);
}

cb_status cbc_addr_table_map(struct cbc_addr_table *table, const struct cbc_operand *operand,
                             struct cbc_pin *found, const char *where, cb_error *err)
{
    uint64_t left = 0;
    cbc_addr_table_lock(table);
    const bool ok = pin_one(table, operand, found, &left);
    if (ok)
        found->allocation->maps++;
    cbc_addr_table_unlock(table);
    if (!ok)
        return bad_operand(operand, left, where, err);
    cbc_addr_table_unpin(table, found, 1); /* the map keeps it from being removed */
    return CB_OK;
}

cb_status cbc_addr_table_unmap(struct cbc_addr_table *table, const struct cbc_pin *pin,
                               const char *where, cb_error *err)
{
    cbc_addr_table_lock(table);
    const bool mapped = pin->allocation->maps > 0;
    pin->allocation->maps -= mapped;
    cbc_addr_table_unlock(table);
    return mapped ? CB_OK : cbc_invalid(err, where, "the allocation is not mapped");
}

void cbc_addr_table_live(struct cbc_addr_table *table, uint64_t *bytes, uint64_t *count)
{
    pthread_mutex_t *lock = my_lock(table);
    pthread_mutex_lock(lock);
    *bytes = table->live_bytes;
    *count = table->live_count;
    pthread_mutex_unlock(lock);
}
