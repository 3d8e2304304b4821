/* SPDX-License-Identifier: Apache-2.0 */
#include "selftest_cmd.h"

#include "describe.h"

#include <math.h>

static void number(struct json *j, const char *key, uint64_t value)
{
    cbl_json_number(j, key, value, 1);
}

/* The digits of a number take the place of a bracket. */
static void real(struct json *j, const char *key, double value)
{
    char text[40];
    if (!isfinite(value)) {
        cbl_json_string(j, key, isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
        return;
    }
    snprintf(text, sizeof(text), "%.17g", value);
    cbl_json_open(j, key, text[0]);
    cbl_add(j->t, "%s", text + 1);
    j->more = true;
}

static void add_counts(struct json *j, const uint64_t counts[OUTCOMES])
{
    number(j, "passed", counts[CB_SELFTEST_PASSED]);
    number(j, "failed", counts[CB_SELFTEST_FAILED]);
    number(j, "skipped", counts[CB_SELFTEST_SKIPPED]);
    number(j, "unjudged", counts[CB_SELFTEST_UNJUDGED]);
}

static void add_element(struct json *j, const struct failure *f)
{
    cbl_json_string(j, "case", f->spec);
    cbl_json_string(j, "operand", f->operand);
    number(j, "index", f->index);
    real(j, "got", f->got);
    real(j, "want", f->want);
    real(j, "error", f->error);
    real(j, "bound", f->bound);
}

static void add_failure(struct json *j, const struct session *s, const struct backend *b,
                        const struct failure *f)
{
    struct text line = { 0 };
    repeat_line(s->plan, b->id, f->spec, &line);
    cbl_json_open(j, NULL, '{');
    cbl_json_string(j, "kind", f->broken ? "broken" : "failed");
    add_element(j, f);
    cbl_json_string(j, "text", f->text);
    cbl_json_string(j, "rule", f->rule);
    cbl_json_string(j, "repeat", cbl_text(&line));
    cbl_json_close(j, '}');
    cbl_text_free(&line);
}

static void add_group(struct json *j, const struct session *s, const struct backend *b,
                      const struct group *g)
{
    cbl_json_open(j, NULL, '{');
    cbl_json_string(j, "name", g->name);
    add_counts(j, g->counts);
    number(j, "broken", g->broken);
    real(j, "seconds", g->seconds);
    cbl_json_open(j, "failures", '[');
    for (uint64_t i = 0; i < g->n_failures; i++)
        add_failure(j, s, b, &g->failures[i]);
    cbl_json_close(j, ']');
    cbl_json_open(j, "reasons", '[');
    for (uint64_t i = 0; i < g->n_reasons; i++) {
        cbl_json_open(j, NULL, '{');
        cbl_json_string(j, "kind",
                        g->reasons[i].outcome == CB_SELFTEST_SKIPPED ? "skipped" : "unjudged");
        cbl_json_string(j, "text", g->reasons[i].text);
        number(j, "cases", g->reasons[i].count);
        cbl_json_close(j, '}');
    }
    cbl_json_close(j, ']');
    if (s->plan->against)
        number(j, "compared", g->compared);
    if (g->differs) {
        cbl_json_open(j, "difference", '{');
        add_element(j, &g->difference);
        cbl_json_close(j, '}');
    }
    cbl_json_close(j, '}');
}

static bool is_empty(const struct group *g)
{
    uint64_t n = g->broken;
    for (int i = 0; i < OUTCOMES; i++)
        n += g->counts[i];
    return !n;
}

static void add_backend(struct json *j, const struct session *s, const struct backend *b)
{
    cbl_json_open(j, NULL, '{');
    cbl_json_string(j, "id", b->id);
    cbl_json_string(j, "version", b->version);
    cbl_json_string(j, "device", b->device);
    number(j, "exit_code", (uint64_t)backend_exit_code(b));
    cbl_json_string(j, "reason", b->why);
    add_counts(j, b->counts);
    number(j, "broken", b->broken);
    real(j, "seconds", b->seconds);
    cbl_json_open(j, "groups", '[');
    for (uint64_t i = 0; i < b->n_groups; i++)
        if (!is_empty(&b->groups[i]))
            add_group(j, s, b, &b->groups[i]);
    cbl_json_close(j, ']');
    cbl_json_close(j, '}');
}

static void end(const struct session *s)
{
    struct text out = { 0 };
    struct json j = { .t = &out };
    cbl_json_begin(&j);
    cbl_json_string(&j, "mode", s->plan->mode == CB_SELFTEST_FULL ? "full" : "quick");
    number(&j, "seed", s->plan->seed);
    number(&j, "exit_code", (uint64_t)session_exit_code(s));
    if (s->plan->against)
        cbl_json_string(&j, "against", s->plan->against);
    cbl_json_open(&j, "backends", '[');
    for (uint64_t i = 0; i < s->n_backends; i++)
        add_backend(&j, s, &s->backends[i]);
    cbl_json_close(&j, ']');
    cbl_json_close(&j, '}');
    if (out.failed)
        complain("out of memory");
    else
        puts(cbl_text(&out));
    cbl_text_free(&out);
}

const struct format format_json = { "json", NULL, end };
