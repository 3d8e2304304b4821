/* SPDX-License-Identifier: Apache-2.0 */
/* The Test Anything Protocol, as prove and Meson read it. */
#include "selftest_cmd.h"

#include <inttypes.h>

struct writer {
    const struct session *session;
    const struct backend *backend;
    uint64_t n;
};

/* A number sign would begin a directive. */
static void print_name(const char *text)
{
    for (; *text; text++)
        putchar((unsigned char)*text < ' ' || *text == '#' ? '?' : *text);
}

static void note(const char *key, const char *text)
{
    printf("# %s: ", key);
    print_text(text);
    putchar('\n');
}

static void visit(void *ctx, const struct point *p)
{
    struct writer *w = ctx;
    const bool bad = p->kind == POINT_FAILED || p->kind == POINT_BROKEN;
    printf("%sok %" PRIu64 " - %s ", bad ? "not " : "", ++w->n, w->backend->id);
    print_name(p->name);
    if (p->kind == POINT_SKIPPED || p->kind == POINT_UNJUDGED) {
        fputs(p->kind == POINT_UNJUDGED ? " # SKIP not judged: " : " # SKIP ", stdout);
        print_text(p->text);
    }
    putchar('\n');
    if (bad)
        note("text", p->text);
    if (p->failure) {
        struct text line = { 0 };
        repeat_line(w->session->plan, w->backend->id, p->failure->spec, &line);
        note("rule", p->failure->rule);
        note("repeat", cbl_text(&line));
        cbl_text_free(&line);
    }
}

static void end(const struct session *s)
{
    struct writer w = { .session = s };
    puts("TAP version 13");
    for (uint64_t i = 0; i < s->n_backends; i++) {
        w.backend = &s->backends[i];
        each_point(w.backend, visit, &w);
    }
    if (!s->n_backends)
        printf("not ok %" PRIu64 " - a backend was found\n", ++w.n);
    printf("1..%" PRIu64 "\n", w.n);
}

const struct format format_tap = { "tap", NULL, end };
