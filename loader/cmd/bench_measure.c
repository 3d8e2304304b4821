/* SPDX-License-Identifier: Apache-2.0 */
/* Times of one case. Repetitions go column by column, so that what disturbs the machine for a while
 * disturbs all columns alike. */
#include "bench.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Libraries let their threads spin for some ten milliseconds after a call. */
#define PAUSE_NS 40000000L

/* A column that is very slow is not waited for to the end of all repetitions. */
#define PATIENCE   5.0 /* seconds in all */
#define REPS_LEAST 3

/* From here on a call is not worth a warming one before it. */
#define LONG_CALL 0.3

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double timed(struct column *col, struct bench_case *c, uint64_t calls)
{
    const double start = now();
    col->kind->run(col, c, calls);
    return (now() - start) / (double)calls;
}

/* Of two, the one that less came in the way of. */
static double timed_undisturbed(struct column *col, struct bench_case *c, uint64_t calls)
{
    const double first = timed(col, c, calls);
    if (col->state != BENCH_MEASURED || first * (double)calls > LONG_CALL)
        return first;
    const double second = timed(col, c, calls);
    return first < second ? first : second;
}

/* How many calls fill a repetition, and how many repetitions there are time for. */
static void plan(struct column *col, struct bench_case *c, const struct bench *b)
{
    uint64_t calls = 1;
    double one = timed_undisturbed(col, c, calls);
    while (col->state == BENCH_MEASURED && one * (double)calls < b->min_time / 4.0) {
        calls *= 4;
        one = timed_undisturbed(col, c, calls);
    }
    const double room = one > 0.0 ? b->min_time / one : 1.0;
    col->calls = room > 1.0 ? (uint64_t)room : 1;
    col->reps = b->reps;
    if (one * b->reps > PATIENCE && b->reps > REPS_LEAST) {
        const double fit = PATIENCE / one;
        col->reps = fit > REPS_LEAST ? (uint32_t)fit : REPS_LEAST;
    }
}

/* The first call, which may be slow for reasons of its own, is the one that is judged. What the
 * column before left must not pass for this one's. */
static void begin(struct column *col, struct bench_case *c, const struct bench *b)
{
    const struct operand *out = bench_output(c);
    memset(out->memory, 0, out->count * st_type_size(out->type));
    if (col->state == BENCH_MEASURED)
        col->kind->prepare(col, c);
    if (col->state == BENCH_MEASURED)
        col->kind->run(col, c, 1);
    if (col->state == BENCH_MEASURED)
        col->kind->fetch(col, c);
    if (col->state == BENCH_MEASURED) {
        col->error = bench_judge(c);
        if (col->error < 0.0)
            column_stop(col, BENCH_FAILED, "out of memory for what is right");
    }
    if (col->state == BENCH_MEASURED)
        plan(col, c, b);
}

static void repeat(struct column *col, struct bench_case *c, const struct bench *b, uint32_t rep)
{
    const struct timespec pause = { 0, PAUSE_NS };
    if (b->pause)
        nanosleep(&pause, NULL);
    if (!rep || col->times[0] < LONG_CALL)
        col->kind->run(col, c, 1);
    col->times[rep] = timed(col, c, col->calls);
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void summarize(struct column *col)
{
    const uint32_t n = col->reps;
    qsort(col->times, n, sizeof(*col->times), compare);
    col->median = (col->times[(n - 1) / 2] + col->times[n / 2]) / 2.0;
    col->quartile = col->times[(n - 1) / 4];
}

/* Whether a column computes it at all; if not, no array is needed. */
static bool ask_all(struct bench *b, struct bench_case *c)
{
    bool any = false;
    for (struct column *col = b->columns; col < b->columns + b->n_columns; col++) {
        col->kind->ask(col, c);
        any = any || col->state == BENCH_MEASURED;
    }
    return any;
}

static void repeat_all(struct bench *b, struct bench_case *c)
{
    for (uint32_t rep = 0; rep < b->reps; rep++) {
        bench_progress(b, c, rep + 1);
        for (struct column *col = b->columns; col < b->columns + b->n_columns; col++)
            if (col->state == BENCH_MEASURED && rep < col->reps)
                repeat(col, c, b, rep);
    }
}

bool bench_measure(struct bench *b, struct bench_case *c)
{
    if (!ask_all(b, c))
        return true;
    bench_progress(b, c, 0);
    if (!bench_case_fill(c))
        return false;
    for (struct column *col = b->columns; col < b->columns + b->n_columns; col++)
        begin(col, c, b);
    repeat_all(b, c);
    for (struct column *col = b->columns; col < b->columns + b->n_columns; col++) {
        if (col->state == BENCH_MEASURED)
            summarize(col);
        col->kind->drop(col, c);
    }
    bench_progress(b, NULL, 0);
    return true;
}
