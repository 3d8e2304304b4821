/* SPDX-License-Identifier: Apache-2.0 */
#include "handles.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define STEP 16u /* as if each were the address of something */

/* Of all instances of this plugin. Plugins that share this file have a counter each, and begin as
 * far apart as their counters lie in memory, and between all memory and the device addresses. */
static atomic_uint_fast64_t counter;

static uint64_t next_number(void)
{
    const uint64_t place = (uint64_t)(uintptr_t)&counter & ((UINT64_C(1) << 47) - 1);
    const uint64_t count = atomic_fetch_add_explicit(&counter, 1, memory_order_relaxed);
    return (UINT64_C(1) << 61) + place * 4096 + count * STEP;
}

/* How many handles have a smaller number. */
static uint64_t place_of(const struct cbc_handles *handles, uint64_t number)
{
    uint64_t low = 0, high = handles->n;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (handles->list[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void *cbc_handles_add(struct cbc_handles *handles, void *object)
{
    if (handles->n == handles->room) {
        const uint64_t room = handles->room ? handles->room * 2 : 16;
        struct cbc_handle *list = realloc(handles->list, room * sizeof(*list));
        if (!list)
            return NULL;
        handles->list = list;
        handles->room = room;
    }
    const uint64_t number = next_number();
    handles->list[handles->n++] = (struct cbc_handle){ number, object };
    return (void *)(uintptr_t)number;
}

static struct cbc_handle *find(const struct cbc_handles *handles, const void *handle)
{
    const uint64_t number = (uintptr_t)handle, i = place_of(handles, number);
    return i < handles->n && handles->list[i].number == number ? &handles->list[i] : NULL;
}

void *cbc_handles_find(const struct cbc_handles *handles, const void *handle)
{
    const struct cbc_handle *found = find(handles, handle);
    return found ? found->object : NULL;
}

void *cbc_handles_remove(struct cbc_handles *handles, const void *handle)
{
    struct cbc_handle *found = find(handles, handle);
    if (!found)
        return NULL;
    void *object = found->object;
    const uint64_t behind = handles->n - 1 - (uint64_t)(found - handles->list);
    memmove(found, found + 1, behind * sizeof(*found));
    handles->n--;
    return object;
}

void cbc_handles_free(struct cbc_handles *handles)
{
    free(handles->list);
    *handles = (struct cbc_handles){ 0 };
}
