/* SPDX-License-Identifier: Apache-2.0 */
/* What takes the process with it, on command. */
#ifndef CHAOS_RUIN_H
#define CHAOS_RUIN_H

#include "chaos.h"

/* Beside the codes of what can be queued, the calls in which an instance may end the process. */
enum chaos_place {
    CHAOS_IN_CREATE = CHAOS_NEVER + 1,
    CHAOS_IN_DEVICE_COUNT,
    CHAOS_IN_INIT,
    CHAOS_IN_ALLOC,
};

/* A way by the name of its option, CHAOS_WAYS when there is none; a place by that of its slot,
 * CHAOS_NEVER when there is none. */
uint32_t chaos_way_find(const char *name);
uint32_t chaos_place_find(const char *name);

/* Crashes, hangs or exits. */
void chaos_go(uint32_t way);

/* Does so when an option names the place. */
void chaos_reach(const struct chaos *chaos, uint32_t place);

#endif
