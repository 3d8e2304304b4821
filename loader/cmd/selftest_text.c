/* SPDX-License-Identifier: Apache-2.0 */
/* For people: failures as they come, a table, and the failures again. */
#include "selftest_cmd.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

enum colour {
    PLAIN,
    GREEN,
    RED
};

static bool has_colours(void)
{
    const char *no = getenv("NO_COLOR");
    return isatty(STDOUT_FILENO) && !(no && *no);
}

static void print_coloured(enum colour colour, const char *text)
{
    static const char *const begin[] = { "", "\033[32m", "\033[31m" };
    const bool shown = colour != PLAIN && has_colours();
    printf("%s%s%s", shown ? begin[colour] : "", text, shown ? "\033[0m" : "");
}

static void print_line(const char *before, const char *text)
{
    fputs(before, stdout);
    print_text(text);
    putchar('\n');
}

static void print_failure(const struct session *s, const struct backend *b, const struct failure *f)
{
    struct text line = { 0 };
    repeat_line(s->plan, b->id, f->spec, &line);
    print_coloured(RED, f->broken ? "BROKEN " : "FAILED ");
    printf("%s ", b->id);
    print_line("", f->spec);
    print_line("    ", f->text);
    print_line("    rule: ", f->rule);
    print_line("    repeat: ", cbl_text(&line));
    cbl_text_free(&line);
}

/* On a terminal the line of progress is overwritten. */
static void live(const struct session *s, const struct backend *b, const struct failure *f)
{
    if (isatty(STDERR_FILENO))
        fputs("\r\033[K", stderr);
    print_failure(s, b, f);
    fflush(stdout);
}

/* What became of cases; the first number is width wide. */
static void print_counts(const uint64_t counts[OUTCOMES], uint64_t broken, int width)
{
    const struct {
        uint64_t n;
        const char *what;
        enum colour colour;
    } rows[] = {
        { counts[CB_SELFTEST_PASSED], "passed", GREEN },
        { counts[CB_SELFTEST_FAILED], "FAILED", RED },
        { broken, "BROKEN", RED },
        { counts[CB_SELFTEST_SKIPPED], "skipped", PLAIN },
        { counts[CB_SELFTEST_UNJUDGED], "not judged", PLAIN },
    };
    const char *comma = "";
    for (uint64_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (!rows[i].n)
            continue;
        printf("%s%*" PRIu64 " ", comma, *comma ? 0 : width, rows[i].n);
        print_coloured(rows[i].colour, rows[i].what);
        comma = ", ";
    }
    if (!*comma)
        fputs("no case", stdout);
}

static void print_group(const struct group *g)
{
    uint64_t n = g->broken;
    for (int i = 0; i < OUTCOMES; i++)
        n += g->counts[i];
    if (!n)
        return;
    printf("  %-27s ", g->name);
    print_counts(g->counts, g->broken, 7);
    putchar('\n');
    for (uint64_t i = 0; i < g->n_reasons; i++) {
        const struct reason *r = &g->reasons[i];
        printf("      %" PRIu64 " %s: ", r->count,
               r->outcome == CB_SELFTEST_SKIPPED ? "skipped" : "not judged");
        print_line("", r->text);
    }
}

static void print_differences(const struct session *s, const struct backend *b)
{
    printf("  Where it is farthest from %s, in units of the bound:\n", s->plan->against);
    for (uint64_t i = 0; i < b->n_groups; i++) {
        const struct group *g = &b->groups[i];
        const struct failure *f = &g->difference;
        if (!g->compared)
            continue;
        if (!g->differs) {
            printf("  %-27s same bits\n", g->name);
            continue;
        }
        printf("  %-27s %.3g: %s[%" PRIu64 "] is %.9g, there %.9g, in ", g->name,
               f->error / f->bound, f->operand, f->index, f->got, f->want);
        print_line("", f->spec);
    }
}

static void print_backend(const struct session *s, const struct backend *b)
{
    printf("%s %s", b->id, b->version);
    if (*b->device) {
        fputs(" on ", stdout);
        print_text(b->device);
    }
    putchar('\n');
    for (uint64_t i = 0; i < b->n_groups; i++)
        print_group(&b->groups[i]);
    if (s->plan->against && !b->refused)
        print_differences(s, b);
}

static void print_end(const struct backend *b)
{
    printf("%s: ", b->id);
    if (b->refused && !b->opened) {
        fputs("cannot be judged\n", stdout);
        print_line("    ", b->why);
        return;
    }
    print_counts(b->counts, b->broken, 0);
    printf("; %.1f s\n", b->seconds);
    if (*b->why)
        print_line("    ", b->why);
    if (backend_exit_code(b) == EXIT_NOTHING_RAN)
        puts("    nothing ran: no case of an op was judged");
}

static void end(const struct session *s)
{
    uint64_t failures = 0;
    for (uint64_t i = 0; i < s->n_backends; i++) {
        print_backend(s, &s->backends[i]);
        failures += s->backends[i].counts[CB_SELFTEST_FAILED] + s->backends[i].broken;
    }
    if (failures)
        puts("\nFailures, the first of each group:");
    for (uint64_t i = 0; i < s->n_backends; i++) {
        const struct backend *b = &s->backends[i];
        for (uint64_t g = 0; g < b->n_groups; g++)
            for (uint64_t k = 0; k < b->groups[g].n_failures; k++)
                print_failure(s, b, &b->groups[g].failures[k]);
    }
    if (failures)
        putchar('\n');
    for (uint64_t i = 0; i < s->n_backends; i++)
        print_end(&s->backends[i]);
    if (!s->n_backends)
        puts("no backend was found: nothing ran");
}

const struct format format_text = { "text", live, end };
