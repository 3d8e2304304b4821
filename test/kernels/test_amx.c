/* SPDX-License-Identifier: Apache-2.0 */
/* What the amx rung owes beside its results, which test_gemm.c judges: the tiles of every thread
 * are as it found them. */
#include "kernels_kit.h"

#include <stdatomic.h>
#include <time.h>

#define RUNG    "amx"
#define THREADS 3

#if defined(__x86_64__)
#include <cpuid.h>

/* The parts of this thread's registers that are not in their initial state. */
static uint32_t registers_in_use(void)
{
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
    return low;
}

static bool can_tell(void)
{
    uint32_t a = 0, b, c, d;
    return __get_cpuid_count(0xd, 1, &a, &b, &c, &d) && a & 1u << 2;
}

#else

static uint32_t registers_in_use(void)
{
    return 0;
}

static bool can_tell(void)
{
    return false;
}

#endif

/* Both shape and content. */
static bool tiles_in_use(void)
{
    return registers_in_use() & (3u << 17);
}

struct look {
    atomic_bool seen[THREADS], in_use[THREADS];
};

/* Each thread takes one task, and keeps it until all have one. */
static void look_at_tiles(void *ctx, uint64_t task, unsigned thread)
{
    struct look *look = ctx;
    const time_t end = time(NULL) + 20;
    (void)task;
    atomic_store(&look->in_use[thread], tiles_in_use());
    atomic_store(&look->seen[thread], true);
    for (unsigned i = 0; i < THREADS; i++)
        while (!atomic_load(&look->seen[i]) && time(NULL) < end)
            ;
}

static void a_call_leaves_no_tile_in_use_on_any_thread(void **state)
{
    static const uint64_t shapes[][4] = { { 300, 290, 500, 1 }, { 64, 64, 64, 200 } };
    const struct cpu_kernels kernels = kit_kernels(state);
    if (!can_tell())
        test_skip(RUNG, "this processor does not tell which registers are in use");
    for (unsigned s = 0; s < 2; s++) {
        const uint64_t m = shapes[s][0], n = shapes[s][1], k = shapes[s][2], batch = shapes[s][3];
        struct look look = { 0 };
        struct cpu_gemm g = { .dtype = CB_BF16, .m = m, .n = n, .k = k, .batch = batch };
        g.alpha = 1, g.rs_a = 1, g.cs_a = m, g.rs_b = 1, g.cs_b = k, g.ldc = m;
        g.stride_a = m * k, g.stride_b = k * n, g.stride_c = m * n;
        g.a = kit_memory(m * k * batch * 2, 0, 2);
        g.b = kit_memory(k * n * batch * 2, 0, 2);
        g.c = kit_memory(m * n * batch * 4, 0, 4);
        struct cpu_work work = kit_work(THREADS, kernels.gemm.workspace(&g, THREADS));
        assert_false(tiles_in_use());
        for (unsigned i = 0; i < 20; i++) {
            kernels.gemm.run(&g, &work);
            assert_false(tiles_in_use());
        }
        cpu_team_run(work.team, THREADS, look_at_tiles, &look, THREADS);
        for (unsigned i = 0; i < THREADS; i++) {
            assert_true(look.seen[i]);
            assert_false(look.in_use[i]);
        }
        kit_work_end(&work);
        kit_release();
    }
}

int main(void)
{
    static char rung[] = RUNG;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate_setup_teardown(a_call_leaves_no_tile_in_use_on_any_thread, NULL,
                                                 kit_teardown, rung),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
