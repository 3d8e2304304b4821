/* SPDX-License-Identifier: Apache-2.0 */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

#define REPS_DEFAULT     15
#define MIN_TIME_DEFAULT 10.0 /* milliseconds */
#define MIN_TIME_MOST    60000.0

/* ---- the command line ---- */

static bool read_numbers(const struct arguments *a, struct bench *b)
{
    const char *reps = option_value(a, OPTION_REPS), *ms = option_value(a, OPTION_MIN_TIME);
    const char *threads = option_value(a, OPTION_THREADS);
    uint64_t n = REPS_DEFAULT, ignored;
    double time = MIN_TIME_DEFAULT;
    if (reps && (!cbl_number(cbl_slice(reps), REPS_MAX, &n) || !n)) {
        complain("--reps is a number from 1 to %d", REPS_MAX);
        return false;
    }
    if (ms && (!cbl_real(cbl_slice(ms), &time) || time > MIN_TIME_MOST)) {
        complain("--min-time is a number of milliseconds, at most %.0f", MIN_TIME_MOST);
        return false;
    }
    if (threads && !cbl_number(cbl_slice(threads), UINT32_MAX, &ignored)) {
        complain("--threads is a number");
        return false;
    }
    b->reps = (uint32_t)n;
    b->min_time = time * 1e-3;
    b->threads = threads;
    return true;
}

/* Whether each backend of the list was found, before any is opened. */
static bool are_known(cb_loader *loader, const char *list)
{
    char *copy = strdup(list), *rest = copy;
    bool known = copy != NULL;
    if (!copy)
        complain("out of memory");
    for (char *spec; known && (spec = column_next_spec(&rest)) != NULL;) {
        spec[strcspn(spec, ":")] = '\0';
        known = backend_is_known(loader, spec);
    }
    free(copy);
    return known;
}

/* ---- columns ---- */

/* Room for the next one, with its times; the caller counts it once it is open. */
static struct column *next_column(struct bench *b)
{
    if (b->n_columns == COLUMNS_MAX) {
        complain("more than %d columns", COLUMNS_MAX);
        return NULL;
    }
    return &b->columns[b->n_columns];
}

static bool allocate_times(struct bench *b)
{
    struct column *col = &b->columns[b->n_columns++];
    col->times = calloc(b->reps, sizeof(*col->times));
    if (!col->times)
        complain("out of memory");
    return col->times != NULL;
}

/* list: cut at its commas, and kept. */
static bool open_columns(struct bench *b, cb_loader *loader, const struct arguments *a, char *list)
{
    do {
        const char *spec = column_next_spec(&list);
        struct column *col = next_column(b);
        if (!col || !column_open_backend(col, loader, spec, b->threads) || !allocate_times(b))
            return false;
    } while (list);
    for (uint32_t i = 0; i < a->n_peers; i++) {
        struct column *col = next_column(b);
        if (!col || !column_open_peer(col, a->peers[i], b->threads) || !allocate_times(b))
            return false;
    }
    b->pause = b->n_columns > 1 && !(b->threads && !strcmp(b->threads, "1"));
    return true;
}

static void close_columns(struct bench *b)
{
    for (struct column *col = b->columns; col < b->columns + b->n_columns; col++) {
        col->kind->close(col);
        free(col->times);
    }
}

/* ---- cases ---- */

/* A library that is compared with owes the contract nothing. */
static bool is_good(const struct column *col)
{
    return col->state == BENCH_UNSUPPORTED || col->library ||
           (col->state == BENCH_MEASURED && col->error <= 1.0);
}

static int measure_all(struct bench *b, const struct bench_plan *plan, const struct arguments *a)
{
    const struct bench_printer *printer = bench_printer_of(a);
    int code = EXIT_OK;
    b->cases = bench_plan_count(plan);
    printer->begin(b);
    for (b->done = 0; b->done < b->cases && code != EXIT_USAGE; b->done++) {
        struct bench_case c = { 0 };
        if (bench_plan_at(plan, b->done, &c) && bench_measure(b, &c)) {
            printer->one(b, &c);
            for (uint32_t i = 0; i < b->n_columns; i++)
                code = is_good(&b->columns[i]) ? code : EXIT_TROUBLE;
        } else {
            code = EXIT_USAGE;
        }
        bench_case_free(&c);
    }
    if (printer->end(b))
        return code;
    complain("out of memory");
    return EXIT_TROUBLE;
}

int cmd_bench(const struct arguments *a)
{
    struct bench b = { 0 };
    struct bench_plan plan;
    int code = EXIT_USAGE;
    char *list = NULL;
    if (!bench_plan_read(a->operands + 1, a->n_operands - 1, &plan) || !read_numbers(a, &b))
        return EXIT_USAGE;
    cb_loader *loader = open_loader(a);
    if (!loader)
        return EXIT_TROUBLE;
    if (a->backend && !are_known(loader, a->backend))
        goto out;
    code = EXIT_TROUBLE;
    if (a->backend && !(list = strdup(a->backend))) {
        complain("out of memory");
        goto out;
    }
    if (open_columns(&b, loader, a, list))
        code = measure_all(&b, &plan, a);
    close_columns(&b);
out:
    cb_loader_close(loader, NULL);
    free(list);
    return code;
}
