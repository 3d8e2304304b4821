/* SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"

#include <string.h>

const char *cb_state_name(uint32_t state)
{
    static const char *const names[] = {
        [CB_STATE_FOUND] = "found",         [CB_STATE_HIDDEN] = "hidden",
        [CB_STATE_SKIPPED] = "skipped",     [CB_STATE_REFUSED] = "refused",
        [CB_STATE_FAILED] = "failed",       [CB_STATE_UNFIT] = "unfit",
        [CB_STATE_OUTRANKED] = "outranked", [CB_STATE_SELECTED] = "selected",
    };
    return state < sizeof(names) / sizeof(names[0]) ? names[state] : "unknown state";
}

static const char *or_dash(const char *text)
{
    return *text ? text : "-";
}

/* A line of the report. */
__attribute__((format(printf, 2, 3))) static void line(struct text *report, const char *format, ...)
{
    struct text t = { 0 };
    va_list args;
    va_start(args, format);
    cbl_addv(&t, format, args);
    va_end(args);
    cbl_one_line(&t);
    cbl_add(report, "%s\n", cbl_text(&t));
    cbl_text_free(&t);
}

static void report_candidate(struct text *t, const struct candidate *c)
{
    line(t, "%s %s: %s", or_dash(c->id), or_dash(c->version), cb_state_name(c->state));
    line(t, "    reason:   %s", c->reason);
    line(t, "    path:     %s", *c->path ? c->path : "built in");
    line(t, "    origin:   %s", c->origin);
    line(t, "    class:    %s", or_dash(c->device_class));
    line(t, "    priority: %d", c->priority);
    line(t, "    isa:      %s", or_dash(c->isa));
    /* No floating point: its decimal point would be the locale's. */
    line(t, "    time:     %llu.%03llu ms", (unsigned long long)(c->nanoseconds / 1000000),
         (unsigned long long)(c->nanoseconds / 1000 % 1000));
}

static void write_report(const struct cb_loader *l, struct text *t)
{
    for (uint64_t i = 0; i < l->n_candidates; i++)
        report_candidate(t, &l->candidates[i]);
    if (!l->n_candidates)
        line(t, "no plugin was found");
    for (uint64_t i = 0; i < l->searched.count; i++)
        line(t, "searched: %s (%s)", l->searched.items[i].path, l->searched.items[i].origin);
    for (uint64_t i = 0; i < l->n_problems; i++)
        line(t, "problem: %s", l->problems[i]);
}

cb_status cb_loader_report(cb_loader *loader, char *buffer, uint64_t *length, cb_error *err)
{
    static const char where[] = "cb_loader_report";
    struct text t = { 0 };
    cb_status status = CB_OK;
    if (!loader || !length)
        return cb_error_set(err, CB_INVALID_ARGUMENT, where,
                            loader ? "length is NULL" : "loader is NULL");
    pthread_mutex_lock(&loader->lock);
    write_report(loader, &t);
    pthread_mutex_unlock(&loader->lock);
    if (t.failed) {
        status = cb_error_set(err, CB_OUT_OF_MEMORY, where, "out of memory");
        goto out;
    }
    const uint64_t room = *length;
    *length = t.size + 1;
    if (buffer && room < *length)
        status = cb_error_set(err, CB_INVALID_ARGUMENT, where,
                              "the buffer is too short; *length says what it takes");
    else if (buffer)
        memcpy(buffer, cbl_text(&t), t.size + 1);
out:
    cbl_text_free(&t);
    return status;
}
