/* SPDX-License-Identifier: Apache-2.0 */
/* gather and scatter, called directly. */
#include <stdlib.h>
#include <string.h>

#include "kernels_kit.h"

static const uint64_t widths[] = { 1,  2,  3,  4,   7,   8,   12,  16,  31,   32,   33,  63,
                                   64, 65, 96, 100, 128, 511, 512, 513, 1024, 4096, 5000 };
#define WIDTHS (sizeof(widths) / sizeof(widths[0]))

struct problem {
    uint64_t width, n, table_rows;
    uint64_t *indices;
    char *table, *rows, *before; /* before: the table as it was */
};

static struct problem make(uint64_t width, uint64_t n, uint64_t table_rows)
{
    uint64_t seed = width * 31 + n;
    struct problem p = { width,
                         n,
                         table_rows,
                         kit_memory(n * 8, 0, 8),
                         kit_memory(table_rows * width, 0, 8),
                         kit_memory(n * width, 0, 8),
                         kit_memory(table_rows * width, 0, 8) };
    for (uint64_t i = 0; i < table_rows * width; i++)
        p.table[i] = (char)(kit_random(&seed) >> 20);
    for (uint64_t i = 0; i < n * width; i++)
        p.rows[i] = (char)(kit_random(&seed) >> 20);
    for (uint64_t i = 0; i < n; i++)
        p.indices[i] = (kit_random(&seed) >> 20) % table_rows;
    memcpy(p.before, p.table, table_rows * width);
    return p;
}

static void run(const struct cpu_kernels *kernels, bool scatter, const struct problem *p,
                unsigned threads, const char *input, char *output)
{
    struct cpu_work work = kit_work(threads, 0);
    const struct cpu_rows rows = { scatter, p->width, p->n, p->indices, input, output };
    kernels->rows(&rows, &work);
    kit_work_end(&work);
}

static void gather_and_check(const struct cpu_kernels *kernels, const struct problem *p,
                             unsigned threads, uint64_t gap)
{
    char *out = kit_memory(p->n * p->width, gap, 8);
    run(kernels, false, p, threads, p->table, out);
    for (uint64_t i = 0; i < p->n; i++)
        if (memcmp(out + i * p->width, p->table + p->indices[i] * p->width, p->width) != 0)
            fail_msg("row %llu of %llu bytes", (unsigned long long)i, (unsigned long long)p->width);
}

static void gather_copies_the_rows_that_are_named(void **state)
{
    const struct cpu_kernels kernels = kit_kernels(state);
    for (unsigned w = 0; w < WIDTHS; w++)
        for (uint64_t n = 0; n < 50; n += 1 + n / 3) {
            const struct problem p = make(widths[w], n, 37);
            gather_and_check(&kernels, &p, 1, w % 3);
            kit_release();
        }
}

/* More than goes into the caches, from rows of whole lines and others. */
static void large_gathers_on_threads_copy_the_same(void **state)
{
    const struct cpu_kernels kernels = kit_kernels(state);
    static const uint64_t some[] = { 4, 60, 64, 256, 1000, 4096 };
    for (unsigned w = 0; w < 6; w++) {
        const struct problem p = make(some[w], 5000000 / some[w] + 1, 1000);
        gather_and_check(&kernels, &p, 3, (64 - p.n * p.width % 64) % 64);
        gather_and_check(&kernels, &p, 1, 8);
        kit_release();
    }
}

/* Many indices name the same few rows. */
static void of_duplicates_in_scatter_the_last_wins_for_any_threads(void **state)
{
    const struct cpu_kernels kernels = kit_kernels(state);
    for (unsigned threads = 1; threads <= 5; threads += 2)
        for (unsigned w = 0; w < WIDTHS; w++)
            for (unsigned large = 0; large < 2; large++) {
                const uint64_t n = large ? 3000000 / widths[w] : 41;
                const struct problem p = make(widths[w], n, large ? n / 3 + 1 : 23);
                run(&kernels, true, &p, threads, p.rows, p.table);
                for (uint64_t i = 0; i < n; i++)
                    memcpy(p.before + p.indices[i] * p.width, p.rows + i * p.width, p.width);
                assert_true(memcmp(p.table, p.before, p.table_rows * p.width) == 0);
                kit_release();
            }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(gather_copies_the_rows_that_are_named),
        cmocka_unit_test(large_gathers_on_threads_copy_the_same),
        cmocka_unit_test(of_duplicates_in_scatter_the_last_wins_for_any_threads),
    };
    return kit_run("rows", tests, sizeof(tests) / sizeof(tests[0]));
}
