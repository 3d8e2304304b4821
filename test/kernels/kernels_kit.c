/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels_kit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char *const rungs[] = { "reference", "avx2", "avx512", "amx" };
#define RUNGS (sizeof(rungs) / sizeof(rungs[0]))

struct block {
    char *pages, *memory;
    uint64_t mapped, bytes;
    unsigned element;
    struct block *next;
};
static struct block *blocks;

int kit_run(const char *family, const struct CMUnitTest *tests, uint64_t n)
{
    struct CMUnitTest *all = calloc(RUNGS * n, sizeof(*all));
    char(*names)[128] = calloc(RUNGS * n, sizeof(*names));
    int failed = 1;
    if (!all || !names)
        goto out;
    for (uint64_t i = 0; i < RUNGS * n; i++) {
        all[i] = tests[i % n];
        snprintf(names[i], sizeof(names[i]), "%s_%s", rungs[i / n], tests[i % n].name);
        all[i].name = names[i];
        all[i].initial_state = (void *)rungs[i / n];
        all[i].teardown_func = kit_teardown;
    }
    failed = _cmocka_run_group_tests(family, all, RUNGS * n, NULL, NULL);
out:
    free(names);
    free(all);
    return failed != 0;
}

struct cpu_kernels kit_kernels(void **state)
{
    struct cpu_kernels kernels = { 0 };
    const char *rung = *state;
    if (!cpu_kernels_select(&kernels, rung) || strcmp(kernels.name, rung))
        test_skip(rung, kernels.above_why ? kernels.above_why : "this build does not have it");
    return kernels;
}

struct cpu_work kit_work(unsigned threads, uint64_t bytes)
{
    struct cpu_work work = { cpu_team_create(threads), NULL };
    assert_non_null(work.team);
    if (bytes)
        work.memory = kit_memory((bytes + 63) / 64 * 64, 0, 8);
    return work;
}

void kit_work_end(struct cpu_work *work)
{
    cpu_team_destroy(work->team);
}

/* The guard's byte at an address. */
static unsigned char guard(const void *p, unsigned element)
{
    static const uint64_t f64 = 0x7ff4a1a1a1a1a1a1u;
    static const uint32_t f32 = 0x7fa1a1a1u;
    static const uint16_t bf16 = 0x7fa1u;
    const void *cell = element == 8   ? (const void *)&f64
                       : element == 4 ? (const void *)&f32
                                      : &bf16;
    return ((const unsigned char *)cell)[(uintptr_t)p % element];
}

void *kit_memory(uint64_t bytes, uint64_t gap, unsigned element)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    const char *edge = getenv("CB_TEST_EDGE");
    gap += edge && !strcmp(edge, "0") ? 64 : 0;
    const uint64_t usable = (bytes + gap + page) / page * page;
    struct block *block = malloc(sizeof(*block));
    assert_non_null(block);
    char *pages =
        mmap(NULL, usable + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(pages != MAP_FAILED);
    assert_int_equal(mprotect(pages + usable, page, PROT_NONE), 0);
    for (uint64_t i = 0; i < usable; i++)
        pages[i] = (char)guard(pages + i, element);
    *block = (struct block){ pages, pages + usable - gap - bytes, usable + page, bytes, element,
                             blocks };
    blocks = block;
    return block->memory;
}

bool kit_is_guard(const void *memory, uint64_t bytes, unsigned element)
{
    const unsigned char *p = memory;
    for (uint64_t i = 0; i < bytes; i++)
        if (p[i] != guard(p + i, element))
            return false;
    return true;
}

static bool release_one(void)
{
    struct block *block = blocks;
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    char *end = block->memory + block->bytes, *wall = block->pages + block->mapped - page;
    const bool whole =
        kit_is_guard(block->pages, (uint64_t)(block->memory - block->pages), block->element) &&
        kit_is_guard(end, (uint64_t)(wall - end), block->element);
    blocks = block->next;
    munmap(block->pages, block->mapped);
    free(block);
    return whole;
}

void kit_release(void)
{
    bool whole = true;
    while (blocks)
        whole &= release_one();
    assert_true(whole);
}

int kit_teardown(void **state)
{
    (void)state;
    while (blocks)
        release_one();
    return 0;
}

uint64_t kit_random(uint64_t *seed)
{
    uint64_t x = *seed ? *seed : 88172645463325252ull;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return *seed = x;
}
