/* SPDX-License-Identifier: Apache-2.0 */
/* How long a look-up with its pin and unpin takes: medians with 100,000 live allocations, on one
 * thread and on two at once. Prints one line for each. */
#include "addr_table.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    LIVE = 100000,
    BATCHES = 2000,
    BATCH = 500,
    THREADS_MAX = 2
};

static struct cbc_addr_table *table;
static uint64_t addresses[LIVE];

struct runner {
    pthread_barrier_t *barrier;
    uint64_t seed;
    unsigned failures;
    double nanoseconds[BATCHES]; /* of one look-up, by batch */
};

static void release(void *ctx, void *memory, void *owner, uint64_t bytes)
{
    (void)ctx;
    (void)memory;
    (void)owner;
    (void)bytes;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Random inner addresses, chosen before the clock starts. */
static void choose(struct runner *r, struct cbc_operand *operands)
{
    for (int i = 0; i < BATCH; i++) {
        r->seed = r->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        const uint64_t at = (r->seed >> 33) % LIVE;
        operands[i] = (struct cbc_operand){ "operand", addresses[at] + 64, 128, 4, false };
    }
}

static void *run(void *arg)
{
    struct runner *r = arg;
    struct cbc_operand operands[BATCH];
    struct cbc_pin pin;
    pthread_barrier_wait(r->barrier);
    for (int b = 0; b < BATCHES; b++) {
        choose(r, operands);
        const double start = now();
        for (int i = 0; i < BATCH; i++) {
            r->failures += cbc_addr_table_pin(table, &operands[i], 1, &pin, "bench", NULL) != CB_OK;
            cbc_addr_table_unpin(table, &pin, 1);
        }
        r->nanoseconds[b] = (now() - start) / BATCH;
    }
    return NULL;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Runs n threads at once and prints the median of each; returns 0 on success. */
static int measure(int n)
{
    static struct runner runners[THREADS_MAX];
    pthread_t threads[THREADS_MAX];
    pthread_barrier_t barrier;
    int failed = pthread_barrier_init(&barrier, NULL, (unsigned)n);
    if (failed)
        return failed;
    for (int i = 0; i < n; i++) {
        runners[i].barrier = &barrier;
        runners[i].seed = (uint64_t)i + 1;
        runners[i].failures = 0;
        if (pthread_create(&threads[i], NULL, run, &runners[i]) != 0)
            exit(1); /* the threads that did start wait at the barrier for good */
    }
    printf("threads %d, live %d, median ns of look-up, pin and unpin:", n, LIVE);
    for (int i = 0; i < n; i++) {
        pthread_join(threads[i], NULL);
        qsort(runners[i].nanoseconds, BATCHES, sizeof(double), ascending);
        printf(" %.1f", runners[i].nanoseconds[BATCHES / 2]);
        failed |= runners[i].failures != 0;
    }
    printf("\n");
    pthread_barrier_destroy(&barrier);
    return failed;
}

int main(void)
{
    int failed = 1;
    table = cbc_addr_table_create(release, NULL);
    if (!table)
        return 1;
    for (int i = 0; i < LIVE; i++)
        if (cbc_addr_table_insert(table, 256, addresses, NULL, &addresses[i], "bench", NULL) !=
            CB_OK)
            goto out;
    failed = measure(1) || measure(2);
out:
    cbc_addr_table_destroy(table);
    return failed;
}
