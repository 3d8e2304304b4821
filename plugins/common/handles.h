/* SPDX-License-Identifier: Apache-2.0 */
/* Handles of streams, events and the like: numbers that are no address of this process, from a
 * counter, never used twice. So a handle that is stale, of another instance, or of another kind is
 * found and never read through, whatever memory was freed and taken again meanwhile.
 *
 * The caller locks. */
#ifndef CBC_HANDLES_H
#define CBC_HANDLES_H

#include <stdbool.h>
#include <stdint.h>

struct cbc_handle {
    uint64_t number;
    void *object;
};

/* Zeroed, it is empty. In the order in which they were added. */
struct cbc_handles {
    struct cbc_handle *list;
    uint64_t n, room;
};

/* Adds an object and returns its new handle; NULL when out of memory. */
void *cbc_handles_add(struct cbc_handles *handles, void *object);

/* The object of a handle; NULL when it is none of these. */
void *cbc_handles_find(const struct cbc_handles *handles, const void *handle);

/* Takes a handle off the list, and returns its object as find does. */
void *cbc_handles_remove(struct cbc_handles *handles, const void *handle);

/* Frees the list, not the objects. */
void cbc_handles_free(struct cbc_handles *handles);

#endif
