/* SPDX-License-Identifier: Apache-2.0 */
/* JUnit's XML, with what both of its usual schemas ask for: a suite for each backend. */
#include "selftest_cmd.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Of a suite; and whether it is being counted or written. */
struct writer {
    const struct session *session;
    const struct backend *backend;
    uint64_t tests, failures, errors, skipped;
    struct text *out;
};

/* What XML does not allow, and what is not ASCII, becomes a question mark. */
static void add_escaped(struct text *out, const char *text)
{
    static const char special[] = "&<>\"";
    static const char *const entities[] = { "&amp;", "&lt;", "&gt;", "&quot;" };
    for (; *text; text++) {
        const char *at = strchr(special, *text);
        if (at)
            cbl_add(out, "%s", entities[at - special]);
        else
            cbl_add(out, "%c", *text < ' ' || *text > '~' ? '?' : *text);
    }
}

static void add_attribute(struct text *out, const char *name, const char *value)
{
    cbl_add(out, " %s=\"", name);
    add_escaped(out, value);
    cbl_add(out, "\"");
}

static void count(void *ctx, const struct point *p)
{
    struct writer *w = ctx;
    w->tests++;
    w->failures += p->kind == POINT_FAILED;
    w->errors += p->kind == POINT_BROKEN;
    w->skipped += p->kind == POINT_SKIPPED || p->kind == POINT_UNJUDGED;
}

static void add_failure(struct writer *w, const struct failure *f)
{
    struct text line = { 0 };
    repeat_line(w->session->plan, w->backend->id, f->spec, &line);
    add_escaped(w->out, f->text);
    cbl_add(w->out, "\nrule: ");
    add_escaped(w->out, f->rule);
    cbl_add(w->out, "\nrepeat: ");
    add_escaped(w->out, cbl_text(&line));
    cbl_add(w->out, "\n");
    cbl_text_free(&line);
}

static void add_case(void *ctx, const struct point *p)
{
    static const char *const elements[] = {
        [POINT_PASSED] = NULL,       [POINT_FAILED] = "failure",   [POINT_BROKEN] = "error",
        [POINT_SKIPPED] = "skipped", [POINT_UNJUDGED] = "skipped",
    };
    struct writer *w = ctx;
    struct text *out = w->out;
    const char *element = elements[p->kind];
    cbl_add(out, "    <testcase");
    add_attribute(out, "classname", w->backend->id);
    add_attribute(out, "name", p->name);
    cbl_add(out, " time=\"%" PRIu64 ".%03" PRIu64 "\"", (uint64_t)p->seconds,
            (uint64_t)(p->seconds * 1000) % 1000);
    if (!element) {
        cbl_add(out, "/>\n");
        return;
    }
    cbl_add(out, "><%s", element);
    if (p->kind == POINT_SKIPPED || p->kind == POINT_UNJUDGED) {
        struct text why = { 0 };
        cbl_add(&why, "%s%s", p->kind == POINT_UNJUDGED ? "not judged: " : "", p->text);
        add_attribute(out, "message", cbl_text(&why));
        cbl_text_free(&why);
    } else {
        add_attribute(out, "message", p->text);
        add_attribute(out, "type", p->failure ? p->failure->rule : element);
        cbl_add(out, ">");
        if (p->failure)
            add_failure(w, p->failure);
        cbl_add(out, "</%s></testcase>\n", element);
        return;
    }
    cbl_add(out, "/></testcase>\n");
}

static void add_suite(const struct session *s, uint64_t i, struct text *out)
{
    struct writer w = { .session = s, .backend = &s->backends[i], .out = out };
    char host[128] = "localhost", when[32] = "";
    struct tm tm;
    const time_t now = time(NULL);
    each_point(w.backend, count, &w);
    if (gethostname(host, sizeof(host) - 1))
        host[0] = '\0';
    if (gmtime_r(&now, &tm))
        strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", &tm);
    cbl_add(out, "  <testsuite");
    add_attribute(out, "name", w.backend->id);
    add_attribute(out, "package", "compute-backend");
    add_attribute(out, "hostname", host);
    add_attribute(out, "timestamp", when);
    cbl_add(out,
            " id=\"%" PRIu64 "\" tests=\"%" PRIu64 "\" failures=\"%" PRIu64 "\" errors=\"%" PRIu64
            "\" skipped=\"%" PRIu64 "\" time=\"%" PRIu64 ".%03" PRIu64 "\">\n    <properties>\n",
            i, w.tests, w.failures, w.errors, w.skipped, (uint64_t)w.backend->seconds,
            (uint64_t)(w.backend->seconds * 1000) % 1000);
    const struct {
        const char *name, *value;
    } properties[] = {
        { "version", w.backend->version },
        { "device", w.backend->device },
        { "mode", s->plan->mode == CB_SELFTEST_FULL ? "full" : "quick" },
    };
    for (uint64_t k = 0; k < sizeof(properties) / sizeof(properties[0]); k++) {
        cbl_add(out, "      <property");
        add_attribute(out, "name", properties[k].name);
        add_attribute(out, "value", properties[k].value);
        cbl_add(out, "/>\n");
    }
    cbl_add(out, "    </properties>\n");
    each_point(w.backend, add_case, &w);
    cbl_add(out, "    <system-out/>\n    <system-err/>\n  </testsuite>\n");
}

static void end(const struct session *s)
{
    struct text out = { 0 };
    cbl_add(&out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    for (uint64_t i = 0; i < s->n_backends; i++)
        add_suite(s, i, &out);
    cbl_add(&out, "</testsuites>\n");
    if (out.failed)
        complain("out of memory");
    else
        fputs(cbl_text(&out), stdout);
    cbl_text_free(&out);
}

const struct format format_junit = { "junit", NULL, end };
