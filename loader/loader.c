/* SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROBE_TIMEOUT UINT64_C(10000000000) /* nanoseconds */

void cbl_loader_free(struct cb_loader *l)
{
    cbl_settings_free(&l->settings);
    free(l->candidates);
    free(l->searched.items);
    free(l->problems);
    cbl_strings_free(&l->strings);
    pthread_mutex_destroy(&l->log_lock);
    pthread_mutex_destroy(&l->lock);
    free(l);
}

struct cb_loader *cbl_loader_new(void)
{
    struct cb_loader *l = calloc(1, sizeof(*l));
    if (!l)
        return NULL;
    if (pthread_mutex_init(&l->lock, NULL)) {
        free(l);
        return NULL;
    }
    if (pthread_mutex_init(&l->log_lock, NULL)) {
        pthread_mutex_destroy(&l->lock);
        free(l);
        return NULL;
    }
    l->owner = getpid();
    l->isa = cbl_isa_of_machine();
    l->settings.probe_timeout = PROBE_TIMEOUT;
    return l;
}

static cb_status check_options(const cb_loader_options *options, cb_loader_options *o,
                               cb_error *err)
{
    static const char where[] = "cb_loader_open";
    const cb_status status = cb_args_read(o, sizeof(*o), CBL_OPTIONS_1_0, options, where, err);
    if (status != CB_OK)
        return status;
    if (o->table_size > sizeof(compute_backend_v1) || o->abi_draft != CB_ABI_DRAFT) {
        struct text t = { 0 };
        cbl_add(&t,
                "the program was built for ABI %u.%u draft %u (a table of %llu bytes), this "
                "loader for %u.%u draft %u (%u bytes)",
                CB_ABI_MAJOR, o->abi_minor, o->abi_draft, (unsigned long long)o->table_size,
                CB_ABI_MAJOR, CB_ABI_MINOR, CB_ABI_DRAFT, (unsigned)sizeof(compute_backend_v1));
        cb_error_set(err, CB_ABI_MISMATCH, where, cbl_text(&t));
        cbl_text_free(&t);
        return CB_ABI_MISMATCH;
    }
    if (o->flags & ~CB_LOADER_PROBE || o->reserved)
        return cb_error_set(err, CB_INVALID_ARGUMENT, where,
                            "options->flags has a bit that this loader does not know");
    if ((o->n_paths && !o->paths) || (o->n_builtins && !o->builtins))
        return cb_error_set(err, CB_INVALID_ARGUMENT, where, "a list in options is NULL");
    return CB_OK;
}

/* Weakest first: what comes later replaces what came earlier. */
static cb_status read_settings(struct cb_loader *l, const cb_loader_options *o, cb_error *err)
{
    const char *named =
        o->config_file && *o->config_file ? o->config_file : cbl_environment("CB_CONFIG");
    const cb_status status = cbl_config_files_read(l, named, err);
    if (status != CB_OK)
        return status;
    cbl_environment_read(l);
    l->settings.probe |= (o->flags & CB_LOADER_PROBE) != 0;
    /* Where the program has the installed one; the user may want another. */
    if (o->probe_helper && *o->probe_helper && !l->settings.probe_helper) {
        l->settings.probe_helper = cbl_absolute(l, "", cbl_slice(o->probe_helper));
        cbl_keep_setting(l, cbl_slice(""), cbl_slice("probe_helper"),
                         cbl_slice(l->settings.probe_helper), "the program");
    }
    return CB_OK;
}

cb_status cb_loader_open_sized(const cb_loader_options *options, cb_loader **out, cb_error *err)
{
    static const char where[] = "cb_loader_open";
    cb_loader_options o;
    if (!out)
        return cb_error_set(err, CB_INVALID_ARGUMENT, where, "out is NULL");
    cb_status status = check_options(options, &o, err);
    if (status != CB_OK)
        return status;
    struct cb_loader *l = cbl_loader_new();
    if (!l)
        return cb_error_set(err, CB_OUT_OF_MEMORY, where, "out of memory");
    if (o.log)
        cb_loader_set_log(l, CB_LOG_DEBUG, o.log, o.log_ctx);
    else
        cbl_log_from_environment(l);
    status = read_settings(l, &o, err);
    if (status == CB_OK)
        status = cbl_discover(l, &o, err);
    if (l->strings.failed)
        status = cb_error_set(err, CB_OUT_OF_MEMORY, where, "out of memory");
    if (status != CB_OK) {
        cbl_loader_free(l);
        return status;
    }
    *out = l;
    return CB_OK;
}

cb_status cb_loader_close(cb_loader *loader, cb_error *err)
{
    static const char where[] = "cb_loader_close";
    if (!loader)
        return CB_OK;
    const cb_status status = cbl_enter(loader, where, err);
    if (status != CB_OK)
        return status;
    pthread_mutex_lock(&loader->lock);
    const struct instance *in = loader->instances;
    const char *id = in ? in->candidate->id : NULL;
    pthread_mutex_unlock(&loader->lock);
    if (id) {
        char msg[160] = "";
        cb_text_append(msg, sizeof(msg), "a selected backend has not been released: ");
        cb_text_append(msg, sizeof(msg), id);
        return cb_error_set(err, CB_BUSY, where, msg);
    }
    cbl_loader_free(loader);
    return CB_OK;
}

uint64_t cb_loader_candidate_count(cb_loader *loader)
{
    return loader ? loader->n_candidates : 0;
}

cb_status cb_loader_candidate(cb_loader *loader, uint64_t i, cb_candidate *out, cb_error *err)
{
    static const char where[] = "cb_loader_candidate";
    const cb_status status = cbl_enter(loader, where, err);
    if (status != CB_OK)
        return status;
    if (i >= loader->n_candidates)
        return cb_error_set(err, CB_INVALID_ARGUMENT, where, "i is not below the count");
    const struct candidate *c = &loader->candidates[i];
    pthread_mutex_lock(&loader->lock);
    const cb_candidate result = {
        .state = c->state,
        .priority = c->priority,
        .id = c->id,
        .path = c->path,
        .origin = c->origin,
        .reason = c->reason,
        .version = c->version,
        .device_class = c->device_class,
        .isa = c->isa,
        .milliseconds = (double)c->nanoseconds / 1e6,
    };
    pthread_mutex_unlock(&loader->lock);
    return cb_result_write(out, &result, sizeof(result), CBL_CANDIDATE_1_0, where, err);
}

/* Takes the instance out of circulation, but not off the list: until destroy has returned it may
 * log, and the loader must not be closed. */
static struct instance *claim(struct cb_loader *l, cb_backend be)
{
    struct instance *in;
    pthread_mutex_lock(&l->lock);
    for (in = l->instances; in; in = in->next)
        if (&in->table == be.api && in->self == be.self && !in->releasing)
            break;
    if (in)
        in->releasing = true;
    pthread_mutex_unlock(&l->lock);
    return in;
}

static void forget(struct cb_loader *l, const struct instance *in)
{
    pthread_mutex_lock(&l->lock);
    struct instance **at = &l->instances;
    while (*at != in)
        at = &(*at)->next;
    *at = in->next;
    pthread_mutex_unlock(&l->lock);
}

cb_status cb_loader_release(cb_loader *loader, cb_backend be, cb_error *err)
{
    static const char where[] = "cb_loader_release";
    const cb_status status = cbl_enter(loader, where, err);
    if (status != CB_OK)
        return status;
    struct instance *in = claim(loader, be);
    if (!in)
        return cb_error_set(err, CB_INVALID_ARGUMENT, where,
                            "not a backend that this loader selected and still has");
    cbl_instance_stop(in);
    forget(loader, in);
    cbl_instance_free(in);
    return CB_OK;
}

const char *cb_loader_version(void)
{
    return CB_LOADER_VERSION;
}
