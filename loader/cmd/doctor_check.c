/* SPDX-License-Identifier: Apache-2.0 */
/* Runs in children of the command, where a plugin may do what it likes. */
#include "doctor.h"

#include "selftest.h"

#include <stdio.h>
#include <string.h>

static void copy(char *to, uint64_t size, const char *from)
{
    snprintf(to, size, "%s", from);
}

void do_select(struct child *c, void *loader)
{
    struct selection *s = (struct selection *)c;
    cb_error err;
    cb_backend be;
    uint64_t length = sizeof(s->text);
    cb_error_init(&err);
    const cb_status status = cb_loader_select(loader, NULL, &be, &err);
    copy(status == CB_OK ? s->id : s->why, status == CB_OK ? sizeof(s->id) : sizeof(s->why),
         status == CB_OK ? be.api->name : err.msg);
    cb_loader_report_as(loader, CB_FORMAT_TEXT, s->text, &length, NULL);
    length = sizeof(s->json);
    cb_loader_report_as(loader, CB_FORMAT_JSON, s->json, &length, NULL);
    if (status == CB_OK)
        cb_loader_release(loader, be, &err);
}

static void read_devices(struct checkup *c, cb_backend be)
{
    if (be.api->device_count(be.self, &c->n_devices, NULL) != CB_OK)
        c->n_devices = 0;
    for (uint32_t i = 0; i < c->n_devices && i < DEVICES_SHOWN; i++) {
        cb_device_info d;
        cb_device_info_init(&d);
        if (be.api->device_info(be.self, i, &d, NULL) != CB_OK)
            continue;
        copy(c->devices[i].name, sizeof(c->devices[i].name), d.name);
        copy(c->devices[i].id, sizeof(c->devices[i].id), d.id);
        c->devices[i].memory_kind = d.memory_kind;
        c->devices[i].bytes = d.total_memory;
    }
}

static void begin(void *ctx, const char *spec)
{
    struct checkup *c = ctx;
    copy(c->current, sizeof(c->current), spec);
    atomic_fetch_add(&c->child.progress, 1);
}

static void hear(void *ctx, const cb_selftest_result *r)
{
    struct checkup *c = ctx;
    c->current[0] = '\0';
    c->passed += r->outcome == CB_SELFTEST_PASSED;
    c->skipped += r->outcome == CB_SELFTEST_SKIPPED;
    if (r->outcome != CB_SELFTEST_FAILED)
        return;
    if (c->failed < FAILURES_SHOWN) {
        copy(c->failures[c->failed].spec, sizeof(c->failures[0].spec), r->spec);
        copy(c->failures[c->failed].text, sizeof(c->failures[0].text), r->text);
    }
    c->failed++;
}

bool lacks_device(const cb_candidate *c)
{
    static const char words[] = "no device";
    return c->state == CB_STATE_FAILED && !strncmp(c->reason, words, sizeof(words) - 1);
}

static bool backend_lacks_device(cb_loader *loader, const char *id)
{
    cb_candidate c;
    cb_candidate_init(&c);
    for (uint64_t i = 0; cb_loader_candidate(loader, i, &c, NULL) == CB_OK; i++)
        if (!strcmp(c.id, id) && lacks_device(&c))
            return true;
    return false;
}

void do_checkup(struct child *child, void *patient)
{
    const struct patient *p = patient;
    struct checkup *c = (struct checkup *)child;
    cb_error err;
    cb_backend be;
    cb_request request;
    cb_selftest_options options;
    cb_selftest_summary summary;
    cb_error_init(&err);
    cb_request_init(&request);
    cb_selftest_options_init(&options);
    cb_selftest_summary_init(&summary);
    request.id = p->id;
    if (cb_loader_select(p->loader, &request, &be, &err) != CB_OK) {
        copy(c->why, sizeof(c->why), err.msg);
        c->no_device = backend_lacks_device(p->loader, p->id);
        return;
    }
    c->opened = true;
    atomic_fetch_add(&c->child.progress, 1);
    read_devices(c, be);
    options.begin = begin;
    options.report = hear;
    options.ctx = c;
    cb_selftest_run(be, &options, &summary, NULL);
    cb_loader_release(p->loader, be, NULL);
}

#define SEAL(array) ((array)[sizeof(array) - 1] = '\0')

void selection_seal(struct selection *s)
{
    SEAL(s->child.end);
    SEAL(s->id);
    SEAL(s->why);
    SEAL(s->text);
    SEAL(s->json);
}

void checkup_seal(struct checkup *c)
{
    SEAL(c->child.end);
    SEAL(c->why);
    SEAL(c->current);
    for (uint64_t i = 0; i < DEVICES_SHOWN; i++) {
        SEAL(c->devices[i].name);
        SEAL(c->devices[i].id);
    }
    for (uint64_t i = 0; i < FAILURES_SHOWN; i++) {
        SEAL(c->failures[i].spec);
        SEAL(c->failures[i].text);
    }
}
