/* SPDX-License-Identifier: Apache-2.0 */
/* What a backend did as a list of verdicts. A case that passed is one of its group's; else reports
 * would have tens of thousands of lines that nobody reads. */
#include "selftest_cmd.h"

#include <inttypes.h>

/* A count and its noun. */
static const char *cases(uint64_t n, char text[48])
{
    snprintf(text, 48, "%" PRIu64 " case%s", n, n == 1 ? "" : "s");
    return text;
}

static void visit_failures(const struct group *g, point_fn visit, void *ctx)
{
    const uint64_t failed = g->counts[CB_SELFTEST_FAILED];
    uint64_t told = 0;
    for (uint64_t i = 0; i < g->n_failures; i++) {
        const struct failure *f = &g->failures[i];
        struct point p = { .kind = f->broken ? POINT_BROKEN : POINT_FAILED,
                           .text = f->text,
                           .failure = f };
        snprintf(p.name, sizeof(p.name), "%s", f->spec);
        told += !f->broken;
        visit(ctx, &p);
    }
    if (told < failed) {
        char text[48];
        struct point p = { .kind = POINT_FAILED, .text = "only the first are told" };
        snprintf(p.name, sizeof(p.name), "%s (%s more)", g->name, cases(failed - told, text));
        visit(ctx, &p);
    }
}

static void visit_group(const struct group *g, point_fn visit, void *ctx)
{
    char text[48];
    if (g->counts[CB_SELFTEST_PASSED]) {
        struct point p = { .kind = POINT_PASSED, .seconds = g->seconds, .text = "" };
        snprintf(p.name, sizeof(p.name), "%s (%s)", g->name,
                 cases(g->counts[CB_SELFTEST_PASSED], text));
        visit(ctx, &p);
    }
    visit_failures(g, visit, ctx);
    for (uint64_t i = 0; i < g->n_reasons; i++) {
        const struct reason *r = &g->reasons[i];
        struct point p = { .kind =
                               r->outcome == CB_SELFTEST_SKIPPED ? POINT_SKIPPED : POINT_UNJUDGED,
                           .text = r->text };
        snprintf(p.name, sizeof(p.name), "%s (%s)", g->name, cases(r->count, text));
        visit(ctx, &p);
    }
}

void each_point(const struct backend *b, point_fn visit, void *ctx)
{
    if (*b->why) {
        const struct point p = { .kind = POINT_BROKEN, .name = "process", .text = b->why };
        visit(ctx, &p);
    }
    for (uint64_t i = 0; i < b->n_groups; i++)
        visit_group(&b->groups[i], visit, ctx);
    if (backend_exit_code(b) == EXIT_NOTHING_RAN) {
        const struct point p = { .kind = POINT_FAILED,
                                 .name = "nothing ran",
                                 .text = "no case of an op was judged" };
        visit(ctx, &p);
    }
}
