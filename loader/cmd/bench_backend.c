/* SPDX-License-Identifier: Apache-2.0 */
/* A column that is a compute backend. */
#include "bench.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define ID_LETTERS "abcdefghijklmnopqrstuvwxyz0123456789_"

void column_stop(struct column *col, enum bench_state state, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(col->why, sizeof(col->why), format, args);
    va_end(args);
    col->state = state;
}

/* ---- opening ---- */

char *column_next_spec(char **list)
{
    char *spec = *list;
    for (char *at = spec; at; at = strchr(at, ',')) {
        at += *at == ',';
        const char after = at[strspn(at, ID_LETTERS)];
        if (at == spec || after == '=')
            continue; /* an option belongs to the backend before it */
        at[-1] = '\0';
        *list = at;
        return spec;
    }
    *list = NULL;
    return spec;
}

/* Cuts "ID:KEY=VALUE,KEY=VALUE" into the id and its options. */
static bool read_spec(char *spec, cb_request *request, const char **options)
{
    char *at = strchr(spec, ':');
    request->id = spec;
    while (at) {
        *at++ = '\0';
        if (request->n_options == BACKEND_OPTIONS_MAX) {
            complain("%s: more than %d options", spec, BACKEND_OPTIONS_MAX);
            return false;
        }
        options[request->n_options++] = at;
        at = strchr(at, ',');
    }
    return true;
}

/* What a program would get. */
static bool choose(struct column *col)
{
    cb_error err;
    cb_error_init(&err);
    if (cb_loader_select(col->loader, NULL, &col->be, &err) != CB_OK) {
        complain("%s", err.msg);
        return false;
    }
    col->name = col->be.api->name; /* code stays, and what is static in it */
    cb_loader_release(col->loader, col->be, &err);
    return true;
}

static void read_facts(struct column *col)
{
    char text[BENCH_TEXT_MAX] = "";
    uint64_t length = sizeof(text);
    cb_error err;
    cb_error_init(&err);
    if (!CB_HAS(col->be.api, info) ||
        col->be.api->info(col->be.self, "summary", text, &length, &err) != CB_OK)
        text[0] = '\0';
    snprintf(col->facts, sizeof(col->facts), "%.20s %.20s%s%.110s", col->be.api->name,
             col->be.api->version, *text ? ", " : "", text);
}

static void close_backend(struct column *col)
{
    cb_error err;
    cb_error_init(&err);
    cb_loader_release(col->loader, col->be, &err);
}

/* ---- a case ---- */

static void drop(struct column *col, struct bench_case *c)
{
    cb_error err;
    cb_error_init(&err);
    for (uint32_t i = 0; i < c->n_operands; i++) {
        if (col->addresses[i])
            cb_free(col->be, col->addresses[i], &err);
        col->addresses[i] = 0;
    }
}

/* supports knows ops only; of a copy, one of no bytes tells. */
static void ask_copy(struct column *col, struct bench_case *c)
{
    cb_error err;
    struct bench_case nothing = *c;
    cb_error_init(&err);
    nothing.operands[0].count = 0;
    const cb_status status = bench_copy(&nothing, col->be, &err);
    col->state = BENCH_MEASURED;
    if (status != CB_OK)
        column_stop(col, status == CB_UNSUPPORTED ? BENCH_UNSUPPORTED : BENCH_FAILED, "%s",
                    err.msg);
}

static void ask(struct column *col, struct bench_case *c)
{
    cb_error err;
    cb_support support;
    if (c->op->code == BENCH_COPY) {
        ask_copy(col, c);
        return;
    }
    cb_error_init(&err);
    cb_support_init(&support);
    col->state = BENCH_MEASURED;
    if (cb_supports(col->be, c->op->code, &c->call.args, &support, &err) != CB_OK)
        column_stop(col, BENCH_FAILED, "%s", err.msg);
    else if (support.answer == CB_SUPPORT_NO)
        column_stop(col, BENCH_UNSUPPORTED, "%s", support.reason);
}

static void prepare(struct column *col, struct bench_case *c)
{
    cb_status status = CB_OK;
    cb_error err;
    cb_error_init(&err);
    for (uint32_t i = 0; status == CB_OK && i < c->n_operands; i++) {
        const struct operand *o = &c->operands[i];
        const uint64_t bytes = o->count * st_type_size(o->type);
        if (o->on_host)
            continue;
        status = cb_alloc(col->be, bytes, &col->addresses[i], &err);
        if (status == CB_OK && i + 1 < c->n_operands)
            status = cb_upload(col->be, col->addresses[i], o->memory, bytes, &err);
    }
    if (status != CB_OK)
        column_stop(col, BENCH_FAILED, "%s", err.msg);
}

static void run(struct column *col, struct bench_case *c, uint64_t calls)
{
    cb_error err;
    cb_status status = CB_OK;
    cb_error_init(&err);
    for (uint32_t i = 0; i < c->n_operands; i++)
        *c->operands[i].address = col->addresses[i];
    for (uint64_t i = 0; status == CB_OK && i < calls; i++)
        status = c->op->code == BENCH_COPY ? bench_copy(c, col->be, &err)
                                           : op_call(&c->call, col->be, &err);
    if (status == CB_OK)
        status = cb_synchronize(col->be, &err);
    if (status != CB_OK)
        column_stop(col, BENCH_FAILED, "%s", err.msg);
}

static void fetch(struct column *col, struct bench_case *c)
{
    cb_error err;
    const struct operand *o = bench_output(c);
    cb_error_init(&err);
    if (o->on_host)
        return;
    if (cb_download(col->be, o->memory, col->addresses[c->n_operands - 1],
                    o->count * st_type_size(o->type), &err) != CB_OK)
        column_stop(col, BENCH_FAILED, "%s", err.msg);
}

static const struct column_kind backend = { ask, prepare, run, fetch, drop, close_backend };

bool column_open_backend(struct column *col, cb_loader *loader, const char *spec,
                         const char *threads)
{
    char text[BENCH_TEXT_MAX], option[64];
    const char *options[BACKEND_OPTIONS_MAX + 1];
    cb_error err;
    cb_request request;
    cb_error_init(&err);
    cb_request_init(&request);
    *col = (struct column){ .loader = loader, .name = spec };
    if (!spec && !choose(col))
        return false;
    if (strlen(col->name) >= sizeof(text)) {
        complain("'%s' is too long", col->name);
        return false;
    }
    strcpy(text, col->name);
    if (!read_spec(text, &request, options))
        return false;
    request.options = options;
    if (threads) {
        snprintf(option, sizeof(option), "threads=%s", threads);
        options[request.n_options++] = option;
    }
    if (cb_loader_select(loader, &request, &col->be, &err) != CB_OK) {
        complain("%s", err.msg);
        return false;
    }
    col->kind = &backend;
    read_facts(col);
    return true;
}
