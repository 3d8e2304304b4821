/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor.h"

#include "json.h"

#include <string.h>

/* An object that is JSON already. */
static void embed(struct json *j, const char *key, const char *object)
{
    uint64_t size = strlen(object);
    while (size && (object[size - 1] == '\n' || object[size - 1] == '}') && size > 1)
        if (object[--size] == '}')
            break;
    cbl_json_open(j, key, '{');
    if (size)
        cbl_add(j->t, "%.*s", (int)size - 1, object + 1);
    cbl_json_close(j, '}');
}

static void number(struct json *j, const char *key, uint64_t value)
{
    cbl_json_number(j, key, value, 1);
}

static void add_facts(struct json *j, const struct facts *f)
{
    cbl_json_open(j, "versions", '{');
    cbl_json_string(j, "cb", CB_VERSION);
    cbl_json_string(j, "loader", cb_loader_version());
    cbl_json_string(j, "system", f->system);
    cbl_json_string(j, "library", f->library);
    cbl_json_close(j, '}');
    cbl_json_open(j, "processor", '{');
    cbl_json_string(j, "name", f->processor);
    cbl_json_string(j, "isa", cbl_text(&f->isa));
    number(j, "online", f->online);
    number(j, "usable", f->usable);
    cbl_json_close(j, '}');
}

static void add_devices(struct json *j, const struct checkup *c)
{
    cbl_json_open(j, "devices", '[');
    for (uint32_t i = 0; i < c->n_devices && i < DEVICES_SHOWN; i++) {
        cbl_json_open(j, NULL, '{');
        cbl_json_string(j, "name", c->devices[i].name);
        cbl_json_string(j, "id", c->devices[i].id);
        cbl_json_string(j, "memory_kind", memory_kind_name(c->devices[i].memory_kind));
        number(j, "total_memory", c->devices[i].bytes);
        cbl_json_close(j, '}');
    }
    cbl_json_close(j, ']');
}

static void add_selftest(struct json *j, const struct checkup *c)
{
    cbl_json_open(j, "selftest", '{');
    number(j, "passed", c->passed);
    number(j, "failed", c->failed);
    number(j, "skipped", c->skipped);
    number(j, "milliseconds", c->child.milliseconds);
    cbl_json_string(j, "current", c->current);
    cbl_json_open(j, "failures", '[');
    for (uint64_t i = 0; i < c->failed && i < FAILURES_SHOWN; i++) {
        cbl_json_open(j, NULL, '{');
        cbl_json_string(j, "case", c->failures[i].spec);
        cbl_json_string(j, "text", c->failures[i].text);
        cbl_json_close(j, '}');
    }
    cbl_json_close(j, ']');
    cbl_json_close(j, '}');
}

static void add_backend(struct json *j, const struct backend_page *b)
{
    const struct checkup *c = b->checkup;
    cbl_json_open(j, NULL, '{');
    cbl_json_string(j, "id", b->candidate.id);
    cbl_json_string(j, "path", b->candidate.path);
    cbl_json_string(j, "result",
                    !c               ? "not tried"
                    : !c->child.done ? c->child.end
                    : !c->opened     ? c->why
                    : c->failed      ? "failed"
                                     : "passed");
    if (c && c->opened) {
        add_devices(j, c);
        add_selftest(j, c);
    }
    cbl_json_close(j, '}');
}

void page_to_json(const struct page *p, struct text *out)
{
    struct json j = { .t = out };
    cbl_json_begin(&j);
    number(&j, "problem_count", p->n_problems);
    cbl_json_string(&j, "selected", p->selection->id);
    add_facts(&j, &p->facts);
    embed(&j, "configuration", p->config_json);
    embed(&j, "report", p->report_json);
    cbl_json_open(&j, "backends", '[');
    for (uint64_t i = 0; i < p->n_backends; i++)
        add_backend(&j, &p->backends[i]);
    cbl_json_close(&j, ']');
    cbl_json_open(&j, "problems", '[');
    for (uint64_t i = 0; i < p->n_problems; i++) {
        cbl_json_open(&j, NULL, '{');
        cbl_json_string(&j, "what", p->problems[i].what);
        cbl_json_string(&j, "to_do", p->problems[i].remedy);
        cbl_json_close(&j, '}');
    }
    cbl_json_close(&j, ']');
    cbl_json_close(&j, '}');
    cbl_add(out, "\n");
}
