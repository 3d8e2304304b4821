/* SPDX-License-Identifier: Apache-2.0 */
#include "suite.h"

#include <stdlib.h>

#define FIRST_ROOM 1024 /* a power of two */

/* The place of a hash, or the free one where it would stand. */
static uint64_t place_of(const struct st_seen *seen, uint64_t hash)
{
    uint64_t i = hash;
    while (seen->hashes[i & (seen->room - 1)] && seen->hashes[i & (seen->room - 1)] != hash)
        i++;
    return i & (seen->room - 1);
}

static bool grow(struct st_seen *seen)
{
    struct st_seen larger = { .n = seen->n, .room = seen->room ? 2 * seen->room : FIRST_ROOM };
    larger.hashes = calloc(larger.room, sizeof(*larger.hashes));
    if (!larger.hashes)
        return false;
    for (uint64_t i = 0; i < seen->room; i++) {
        if (seen->hashes[i])
            larger.hashes[place_of(&larger, seen->hashes[i])] = seen->hashes[i];
    }
    free(seen->hashes);
    *seen = larger;
    return true;
}

/* Without memory a case may run twice, which does no harm. */
bool st_seen_add(struct st_seen *seen, uint64_t hash)
{
    hash = hash ? hash : 1;
    if (2 * seen->n >= seen->room && !grow(seen))
        return true;
    const uint64_t i = place_of(seen, hash);
    if (seen->hashes[i])
        return false;
    seen->hashes[i] = hash;
    seen->n++;
    return true;
}

void st_seen_free(struct st_seen *seen)
{
    free(seen->hashes);
    *seen = (struct st_seen){ NULL, 0, 0 };
}
