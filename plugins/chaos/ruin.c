/* SPDX-License-Identifier: Apache-2.0 */
/* What takes the process with it, on command: a crash, a hang, an exit. */
#include "ruin.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const ways[CHAOS_WAYS] = { "crash", "hang", "exit" };

static const char *const places[] = { "create", "device_count", "init", "alloc" };

uint32_t chaos_way_find(const char *name)
{
    uint32_t way = 0;
    while (way < CHAOS_WAYS && strcmp(ways[way], name) != 0)
        way++;
    return way;
}

uint32_t chaos_place_find(const char *name)
{
    for (uint32_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
        if (!strcmp(places[i], name))
            return CHAOS_IN_CREATE + i;
    return chaos_code_find(name);
}

void chaos_go(uint32_t way)
{
    switch (way) {
    case CHAOS_CRASH:
        signal(SIGSEGV, SIG_DFL);
        raise(SIGSEGV);
        break;
    case CHAOS_HANG:
        for (;;)
            pause();
    case CHAOS_EXIT: exit(3);
    default: break;
    }
}

void chaos_reach(const struct chaos *chaos, uint32_t place)
{
    for (uint32_t way = 0; way < CHAOS_WAYS; way++)
        if (chaos->ruin[way] == place)
            chaos_go(way);
}
