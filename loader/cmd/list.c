/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    COLUMN_COUNT = 6
};

static const char *const headings[COLUMN_COUNT] = { "ID",       "VERSION", "CLASS",
                                                    "PRIORITY", "STATE",   "PATH" };

struct row {
    const char *cells[COLUMN_COUNT];
    char priority[16];
};

static const char *or_dash(const char *text)
{
    return *text ? text : "-";
}

static bool read_row(cb_loader *loader, uint64_t i, struct row *row)
{
    cb_candidate c;
    cb_error err;
    cb_error_init(&err);
    cb_candidate_init(&c);
    if (cb_loader_candidate(loader, i, &c, &err) != CB_OK) {
        complain("%s", err.msg);
        return false;
    }
    snprintf(row->priority, sizeof(row->priority), "%d", c.priority);
    const char *const cells[COLUMN_COUNT] = {
        or_dash(c.id),           or_dash(c.version),
        or_dash(c.device_class), *c.id ? row->priority : "-",
        cb_state_name(c.state),  *c.path ? c.path : "built in",
    };
    memcpy(row->cells, cells, sizeof(cells));
    return true;
}

/* For people: a heading, and columns as wide as their widest cell. */
static void print_aligned(const struct row *rows, uint64_t count)
{
    int width[COLUMN_COUNT] = { 0 };
    for (uint64_t k = 0; k + 1 < COLUMN_COUNT; k++) {
        width[k] = (int)strlen(headings[k]);
        for (uint64_t i = 0; i < count; i++)
            if ((int)strlen(rows[i].cells[k]) > width[k])
                width[k] = (int)strlen(rows[i].cells[k]);
    }
    for (uint64_t k = 0; k < COLUMN_COUNT; k++)
        printf("%-*s%s", width[k], headings[k], k + 1 < COLUMN_COUNT ? "  " : "\n");
    for (uint64_t i = 0; i < count; i++) {
        for (uint64_t k = 0; k < COLUMN_COUNT; k++) {
            print_text(rows[i].cells[k]);
            if (k + 1 < COLUMN_COUNT)
                printf("%*s", width[k] - (int)strlen(rows[i].cells[k]) + 2, "");
        }
        putchar('\n');
    }
}

/* For programs: no heading, one tab between two cells. */
static void print_tabbed(const struct row *rows, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        for (uint64_t k = 0; k < COLUMN_COUNT; k++) {
            print_text(rows[i].cells[k]);
            putchar(k + 1 < COLUMN_COUNT ? '\t' : '\n');
        }
    }
}

static bool print_table(cb_loader *loader)
{
    const uint64_t count = cb_loader_candidate_count(loader);
    bool good = true;
    struct row *rows = calloc(count + 1, sizeof(*rows));
    if (!rows) {
        complain("out of memory");
        return false;
    }
    for (uint64_t i = 0; i < count && good; i++)
        good = read_row(loader, i, &rows[i]);
    if (good && count)
        (isatty(STDOUT_FILENO) ? print_aligned : print_tabbed)(rows, count);
    free(rows);
    return good;
}

int cmd_list(const struct arguments *a)
{
    cb_error err, ignored;
    cb_backend be;
    cb_error_init(&err);
    cb_error_init(&ignored);
    cb_loader *loader = open_loader(a);
    if (!loader)
        return EXIT_TROUBLE;

    /* A selection gives every candidate its last state: the list says what a program would get. */
    const cb_status status = cb_loader_select(loader, NULL, &be, &err);
    const bool as_json = a->options & OPTION_JSON;
    const bool good = as_json || (a->options & OPTION_WHY)
                          ? print_loader_words(loader, cb_loader_report_as, as_json)
                          : print_table(loader);
    if (status == CB_OK)
        cb_loader_release(loader, be, &ignored);
    else
        complain("%s", err.msg);
    cb_loader_close(loader, &ignored);
    return status == CB_OK && good ? EXIT_OK : EXIT_TROUBLE;
}
