/* SPDX-License-Identifier: Apache-2.0 */
/* The contract's device addresses: numbers from a counter, never reused, with gaps, and any address
 * inside an allocation is valid. The table maps them to whatever the backend allocates, and keeps
 * an allocation alive while an op has it pinned.
 *
 * Any thread may call any function at any time. A pin takes one lock of several, chosen by the
 * thread, so that threads do not wait for each other; insert and remove take all of them. */
#ifndef CBC_ADDR_TABLE_H
#define CBC_ADDR_TABLE_H

#include "check.h"

struct cbc_addr_table;
struct cbc_allocation;

/* Gives back what insert took, once the allocation is removed and no longer pinned. Called without
 * a lock of the table, from whichever thread lets go last. */
typedef void (*cbc_release_fn)(void *ctx, void *memory, void *owner, uint64_t bytes);

/* One operand, found. */
struct cbc_pin {
    struct cbc_allocation *allocation; /* NULL: the operand touches nothing */
    void *memory;                      /* as given to insert */
    uint64_t offset;                   /* of the operand in it, bytes */
};

/* NULL when out of memory. */
struct cbc_addr_table *cbc_addr_table_create(cbc_release_fn release, void *ctx);

/* Releases what is still in the table. Nothing may be pinned. NULL is accepted. */
void cbc_addr_table_destroy(struct cbc_addr_table *table);

/**
 * Adds an allocation under a new address.
 *
 * @bytes:         at least 1.
 * @memory, @owner: the backend's own, for pins and for release; owned by the table on CB_OK only.
 * Errors:          CB_OUT_OF_MEMORY.
 */
cb_status cbc_addr_table_insert(struct cbc_addr_table *table, uint64_t bytes, void *memory,
                                void *owner, uint64_t *address, const char *where, cb_error *err);

/* Removes by base address. CB_INVALID_ARGUMENT: not a live base, or mapped. */
cb_status cbc_addr_table_remove(struct cbc_addr_table *table, uint64_t address, const char *where,
                                cb_error *err);

/**
 * Finds the allocations of n operands and keeps them alive.
 *
 * On error none is pinned, and the message names the operand: no live allocation, misaligned, or
 * reaching beyond the end.
 */
cb_status cbc_addr_table_pin(struct cbc_addr_table *table, const struct cbc_operand *operands,
                             unsigned n, struct cbc_pin *pins, const char *where, cb_error *err);
void cbc_addr_table_unpin(struct cbc_addr_table *table, const struct cbc_pin *pins, unsigned n);

/* A mapped allocation cannot be removed. map finds an operand as pin does, adds one to the count of
 * its allocation, and fills *found, which is valid until the unmap but holds no pin. unmap takes
 * one away from an allocation that the caller has pinned; CB_INVALID_ARGUMENT when there is none.
 */
cb_status cbc_addr_table_map(struct cbc_addr_table *table, const struct cbc_operand *operand,
                             struct cbc_pin *found, const char *where, cb_error *err);
cb_status cbc_addr_table_unmap(struct cbc_addr_table *table, const struct cbc_pin *pin,
                               const char *where, cb_error *err);

/* What is in the table, as asked for; what is removed but still pinned does not count. */
void cbc_addr_table_live(struct cbc_addr_table *table, uint64_t *bytes, uint64_t *count);

/* Around fork: with every lock held by the forking thread, the child finds a whole table. */
void cbc_addr_table_lock(struct cbc_addr_table *table);
void cbc_addr_table_unlock(struct cbc_addr_table *table);

#endif
