/* SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const level_names[] = {
    [CB_LOG_ERROR] = "error",
    [CB_LOG_WARNING] = "warning",
    [CB_LOG_INFO] = "info",
    [CB_LOG_DEBUG] = "debug",
};

static void log_to_stderr(void *ctx, int32_t level, const char *text)
{
    (void)ctx;
    const bool known = level >= CB_LOG_ERROR && level <= CB_LOG_DEBUG;
    fprintf(stderr, "compute-backend: %s: %s\n", level_names[known ? level : CB_LOG_DEBUG], text);
}

/* The listener is called without the lock, so that it may call the loader; one that was replaced
 * meanwhile may thus hear a last message. */
static void emit(struct cb_loader *l, int32_t level, const char *text)
{
    if (!cbl_is_whole(l))
        return;
    pthread_mutex_lock(&l->log_lock);
    const cb_log_fn log = level <= l->log_level ? l->log : NULL;
    void *const ctx = l->log_ctx;
    pthread_mutex_unlock(&l->log_lock);
    if (log)
        log(ctx, level, text);
}

void cbl_log(struct cb_loader *l, int32_t level, const char *format, ...)
{
    struct text t = { 0 };
    va_list args;
    va_start(args, format);
    cbl_addv(&t, format, args);
    va_end(args);
    cbl_one_line(&t);
    emit(l, level, cbl_text(&t));
    cbl_text_free(&t);
}

/* false: it is known already. */
static bool remember(struct cb_loader *l, const char *text)
{
    const char *kept = cbl_keep(&l->strings, cbl_slice(text));
    for (uint64_t i = 0; i < l->n_problems; i++)
        if (l->problems[i] == kept)
            return false;
    const char **grown = *kept ? cbl_grow(l->problems, l->n_problems, sizeof(*grown)) : NULL;
    if (!grown) {
        l->strings.failed = true;
        return true;
    }
    l->problems = grown;
    l->problems[l->n_problems++] = kept;
    return true;
}

void cbl_problem(struct cb_loader *l, const char *format, ...)
{
    struct text t = { 0 };
    va_list args;
    va_start(args, format);
    cbl_addv(&t, format, args);
    va_end(args);
    cbl_one_line(&t);
    bool is_new = false;
    if (cbl_is_whole(l)) {
        pthread_mutex_lock(&l->lock);
        is_new = remember(l, cbl_text(&t));
        pthread_mutex_unlock(&l->lock);
    }
    if (is_new)
        emit(l, CB_LOG_WARNING, cbl_text(&t));
    cbl_text_free(&t);
}

void cb_loader_set_log(cb_loader *loader, int32_t level, cb_log_fn log, void *ctx)
{
    if (!loader || !cbl_is_whole(loader))
        return;
    pthread_mutex_lock(&loader->log_lock);
    loader->log_level = level;
    loader->log = log;
    loader->log_ctx = ctx;
    pthread_mutex_unlock(&loader->log_lock);
}

void cbl_log_from_environment(struct cb_loader *l)
{
    /* The one variable that counts in a set-uid program too: it names no file. */
    const char *value = getenv("CB_LOG");
    if (!value || !*value)
        return;
    for (int32_t level = CB_LOG_ERROR; level <= CB_LOG_DEBUG; level++) {
        if (!strcmp(value, level_names[level])) {
            cb_loader_set_log(l, level, log_to_stderr, NULL);
            return;
        }
    }
    /* Ignored, but whoever set it wanted to hear something: so much is said. */
    cb_loader_set_log(l, CB_LOG_WARNING, log_to_stderr, NULL);
    cbl_problem(l, "CB_LOG is '%s', not error, warning, info or debug: ignored", value);
    cb_loader_set_log(l, 0, NULL, NULL);
}
