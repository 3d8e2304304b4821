/* SPDX-License-Identifier: Apache-2.0 */
#include "cache.h"

#include <pthread.h>

static struct cpu_caches caches = { 32u << 10, 512u << 10, 8u << 20 };
static pthread_once_t asked = PTHREAD_ONCE_INIT;

#if defined(__x86_64__)
#include <cpuid.h>

#define LEAF_INTEL       4u
#define LEAF_AMD         0x8000001du
#define AMD_HAS_TOPOLOGY (1u << 22) /* 0x80000001 ecx: the leaf for AMD is there */
#define LEVELS_MAX       8u

/* The leaf that lists the caches, or 0. Both makers fill it alike. */
static uint32_t cache_leaf(void)
{
    uint32_t a, b, c, d;
    if (__get_cpuid(0x80000001u, &a, &b, &c, &d) && c & AMD_HAS_TOPOLOGY)
        return LEAF_AMD;
    return (uint32_t)__get_cpuid_max(0, NULL) >= (uint32_t)LEAF_INTEL ? LEAF_INTEL : 0;
}

static void ask(void)
{
    const uint32_t leaf = cache_leaf();
    for (uint32_t i = 0; leaf && i < LEVELS_MAX; i++) {
        uint32_t a, b, c, d;
        __cpuid_count(leaf, i, a, b, c, d);
        const uint32_t type = a & 0x1f, level = a >> 5 & 7; /* type 0: no more; 2: instructions */
        const uint64_t ways = (b >> 22) + 1, parts = (b >> 12 & 0x3ff) + 1;
        const uint64_t bytes = ways * parts * ((b & 0xfff) + 1) * ((uint64_t)c + 1);
        if (!type)
            return;
        if (level == 1 && type != 2)
            caches.l1d = bytes;
        else if (level == 2)
            caches.l2 = bytes;
        else if (level == 3)
            caches.l3 = bytes;
    }
}

#else

static void ask(void)
{
}

#endif

const struct cpu_caches *cpu_caches(void)
{
    pthread_once(&asked, ask);
    return &caches;
}
