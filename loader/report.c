/* SPDX-License-Identifier: Apache-2.0 */
#include "describe.h"

#include <string.h>

const char *cb_state_name(uint32_t state)
{
    static const char *const names[] = {
        [CB_STATE_FOUND] = "found",           [CB_STATE_HIDDEN] = "hidden",
        [CB_STATE_SKIPPED] = "skipped",       [CB_STATE_REFUSED] = "refused",
        [CB_STATE_FAILED] = "failed",         [CB_STATE_UNFIT] = "unfit",
        [CB_STATE_OUTRANKED] = "outranked",   [CB_STATE_SELECTED] = "selected",
        [CB_STATE_PROBED_BAD] = "probed bad",
    };
    return state < sizeof(names) / sizeof(names[0]) ? names[state] : "unknown state";
}

static const char *or_dash(const char *text)
{
    return *text ? text : "-";
}

void cbl_json_places(struct json *j, const char *key, const struct places *places,
                     const char *origin)
{
    cbl_json_open(j, key, '[');
    for (uint64_t i = 0; i < places->count; i++) {
        cbl_json_open(j, NULL, '{');
        cbl_json_string(j, "path", places->items[i].path);
        cbl_json_string(j, origin, places->items[i].origin);
        cbl_json_close(j, '}');
    }
    cbl_json_close(j, ']');
}

static void report_candidate(struct text *t, const struct candidate *c)
{
    cbl_line(t, "%s %s: %s", or_dash(c->id), or_dash(c->version), cb_state_name(c->state));
    cbl_line(t, "    reason:   %s", c->reason);
    cbl_line(t, "    path:     %s", *c->path ? c->path : "built in");
    cbl_line(t, "    origin:   %s", c->origin);
    cbl_line(t, "    class:    %s", or_dash(c->device_class));
    cbl_line(t, "    priority: %d", c->priority);
    cbl_line(t, "    isa:      %s", or_dash(c->isa));
    /* No floating point: its decimal point would be the locale's. */
    cbl_line(t, "    time:     %llu.%03llu ms", (unsigned long long)(c->nanoseconds / 1000000),
             (unsigned long long)(c->nanoseconds / 1000 % 1000));
}

static void write_text(const struct cb_loader *l, struct text *t)
{
    for (uint64_t i = 0; i < l->n_candidates; i++)
        report_candidate(t, &l->candidates[i]);
    if (!l->n_candidates)
        cbl_line(t, "no plugin was found");
    for (uint64_t i = 0; i < l->searched.count; i++)
        cbl_line(t, "searched: %s (%s)", l->searched.items[i].path, l->searched.items[i].origin);
    for (uint64_t i = 0; i < l->n_problems; i++)
        cbl_line(t, "problem: %s", l->problems[i]);
}

static void write_candidate(const struct candidate *c, struct json *j)
{
    cbl_json_open(j, NULL, '{');
    cbl_json_string(j, "id", c->id);
    cbl_json_string(j, "version", c->version);
    cbl_json_string(j, "class", c->device_class);
    cbl_json_number(j, "priority", (uint64_t)c->priority, 1);
    cbl_json_string(j, "state", cb_state_name(c->state));
    cbl_json_string(j, "reason", c->reason);
    cbl_json_string(j, "path", c->path);
    cbl_json_string(j, "origin", c->origin);
    cbl_json_string(j, "isa", c->isa);
    cbl_json_string(j, "build_id", c->build_id);
    cbl_json_number(j, "milliseconds", c->nanoseconds / 1000, 1000);
    cbl_json_close(j, '}');
}

static void write_json(const struct cb_loader *l, struct text *t)
{
    struct json j = { .t = t };
    struct text abi = { 0 }, isa = { 0 };
    cbl_isa_add(&isa, l->isa);
    cbl_json_begin(&j);
    cbl_json_string(&j, "version", cb_loader_version());
    cbl_add(&abi, "%u.%u draft %u", CB_ABI_MAJOR, CB_ABI_MINOR, CB_ABI_DRAFT);
    cbl_json_string(&j, "abi", cbl_text(&abi));
    cbl_json_string(&j, "isa", cbl_text(&isa));
    cbl_json_open(&j, "candidates", '[');
    for (uint64_t i = 0; i < l->n_candidates; i++)
        write_candidate(&l->candidates[i], &j);
    cbl_json_close(&j, ']');
    cbl_json_places(&j, "searched", &l->searched, "origin");
    cbl_json_strings(&j, "problems", l->problems, l->n_problems);
    cbl_json_close(&j, '}');
    t->failed |= abi.failed || isa.failed;
    cbl_text_free(&abi);
    cbl_text_free(&isa);
}

static cb_status hand_out(const struct text *t, char *buffer, uint64_t *length, const char *where,
                          cb_error *err)
{
    if (t->failed)
        return cb_error_set(err, CB_OUT_OF_MEMORY, where, "out of memory");
    const uint64_t room = *length;
    *length = t->size + 1;
    if (buffer && room < *length)
        return cb_error_set(err, CB_INVALID_ARGUMENT, where,
                            "the buffer is too short; *length says what it takes");
    if (buffer)
        memcpy(buffer, cbl_text(t), *length);
    return CB_OK;
}

cb_status cbl_describe(struct cb_loader *l, const struct description *d, uint32_t format,
                       char *buffer, uint64_t *length, cb_error *err)
{
    struct text t = { 0 };
    cb_status status = cbl_enter(l, d->where, err);
    if (status != CB_OK)
        return status;
    if (!length)
        return cb_error_set(err, CB_INVALID_ARGUMENT, d->where, "length is NULL");
    if (format > CB_FORMAT_JSON)
        return cb_error_set(err, CB_INVALID_ARGUMENT, d->where, "format is no CB_FORMAT_*");
    pthread_mutex_lock(&l->lock);
    (format == CB_FORMAT_JSON ? d->json : d->text)(l, &t);
    pthread_mutex_unlock(&l->lock);
    status = hand_out(&t, buffer, length, d->where, err);
    cbl_text_free(&t);
    return status;
}

cb_status cb_loader_report_as(cb_loader *loader, uint32_t format, char *buffer, uint64_t *length,
                              cb_error *err)
{
    static const struct description report = { "cb_loader_report", write_text, write_json };
    return cbl_describe(loader, &report, format, buffer, length, err);
}

cb_status cb_loader_report(cb_loader *loader, char *buffer, uint64_t *length, cb_error *err)
{
    return cb_loader_report_as(loader, CB_FORMAT_TEXT, buffer, length, err);
}
