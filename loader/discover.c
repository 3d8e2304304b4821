/* SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct candidate *add_candidate(struct cb_loader *l, const char *path, const char *origin)
{
    struct candidate *grown = cbl_grow(l->candidates, l->n_candidates, sizeof(*grown));
    if (!grown) {
        l->strings.failed = true;
        return NULL;
    }
    l->candidates = grown;
    struct candidate *c = &l->candidates[l->n_candidates++];
    *c = (struct candidate){
        .id = "",
        .path = path,
        .origin = origin,
        .version = "",
        .device_class = "",
        .isa = "",
        .manifest = "",
        .build_id = "",
    };
    return c;
}

void cbl_settle(struct cb_loader *l, struct candidate *c, const struct verdict *v)
{
    c->state = v->state;
    c->reason = cbl_keep(&l->strings, cbl_slice(cbl_text(&v->reason)));
    cbl_log(l, CB_LOG_INFO, "%s (%s): %s: %s", *c->path ? c->path : c->id, c->origin,
            cb_state_name(c->state), c->reason);
}

bool cbl_blame_twin(struct verdict *v, const struct candidate *earlier)
{
    return cbl_blame(v, CB_STATE_HIDDEN, "%s was found earlier: %s (%s)", earlier->id,
                     *earlier->path ? earlier->path : "built in", earlier->origin);
}

static bool blame_nothing(struct verdict *v)
{
    return cbl_blame(v, CB_STATE_FOUND, "no selection has looked at it yet");
}

static void settle_found(struct cb_loader *l, struct candidate *c)
{
    struct verdict v = { 0 };
    blame_nothing(&v);
    cbl_settle(l, c, &v);
    cbl_text_free(&v.reason);
}

/* What makes a sound candidate step back: CB_DISABLE, or an earlier one that is the same file or
 * has the same id. The last may still be tried, when the earlier one turns out to be bad. */
static bool check_hidden(struct cb_loader *l, struct candidate *c, struct verdict *v)
{
    bool named;
    for (const struct candidate *e = l->candidates; c->is_file && e < c; e++)
        if (e->usable && e->is_file && e->device == c->device && e->inode == c->inode)
            return cbl_blame(v, CB_STATE_HIDDEN, "the same file as %s (%s)", e->path, e->origin);
    if (cbl_match(&l->settings.disable, c->id, &named) != UINT64_MAX)
        return cbl_blame(v, CB_STATE_HIDDEN, "%s names it", l->settings.disable.origin);
    c->usable = true;
    for (const struct candidate *e = l->candidates; e < c; e++)
        if (e->usable && !strcmp(e->id, c->id))
            return cbl_blame_twin(v, e);
    return blame_nothing(v);
}

static void scan(struct cb_loader *l, struct candidate *c, const char *manifest)
{
    struct verdict v = { 0 };
    const uint64_t start = cbl_now();
    const bool good =
        manifest ? cbl_scan_text(l, c, cbl_slice(manifest), &v) : cbl_scan_file(l, c, &v);
    if (good)
        check_hidden(l, c, &v);
    c->nanoseconds = cbl_now() - start;
    l->strings.failed |= v.no_memory;
    cbl_settle(l, c, &v);
    cbl_text_free(&v.reason);
}

/* Once the array no longer moves, a later candidate points at the first one with its id. */
static void tie_twins(struct cb_loader *l)
{
    for (uint64_t i = 0; i < l->n_candidates; i++) {
        struct candidate *c = &l->candidates[i];
        for (const struct candidate *e = l->candidates; c->usable && !c->twin && e < c; e++)
            if (e->usable && !strcmp(e->id, c->id))
                c->twin = e;
        /* What it was hidden behind may have turned out to be unusable since. */
        if (c->usable && !c->twin && c->state == CB_STATE_HIDDEN)
            settle_found(l, c);
    }
}

/* An id that no file has is a typing error more often than not. A configuration file may speak of
 * what is not installed; a variable was set for now. */
static void check_option_ids(struct cb_loader *l)
{
    for (uint64_t i = 0; i < l->settings.count; i++) {
        const struct setting *s = &l->settings.items[i];
        uint64_t j = 0;
        while (j < l->n_candidates && strcmp(l->candidates[j].id, s->id) != 0)
            j++;
        if (j == l->n_candidates && *s->id && !strcmp(s->origin, "CB_OPTIONS"))
            cbl_problem(l, "%s: no plugin has the id %s: its options count for nothing", s->origin,
                        s->id);
    }
}

static void add_file(struct cb_loader *l, const char *path, const char *origin, bool named)
{
    for (uint64_t i = 0; i < l->n_candidates; i++)
        if (!strcmp(l->candidates[i].path, path))
            return;
    struct candidate *c = add_candidate(l, path, origin);
    if (!c)
        return;
    c->named_place = named;
    scan(l, c, NULL);
}

static bool is_plugin_name(const char *name)
{
    return cbl_is_between(name, "libcb_", ".so");
}

static bool was_searched(const struct cb_loader *l, const struct stat *st)
{
    struct stat other;
    for (uint64_t i = 0; i < l->searched.count; i++)
        if (!stat(l->searched.items[i].path, &other) && other.st_dev == st->st_dev &&
            other.st_ino == st->st_ino)
            return true;
    return false;
}

/* A place that was named and cannot be searched is listed as a candidate, with the reason. */
static void add_unsearchable(struct cb_loader *l, const struct place *place, int why)
{
    struct candidate *c = add_candidate(l, place->path, place->origin);
    struct verdict v = { 0 };
    if (!c)
        return;
    cbl_blame(&v, CB_STATE_SKIPPED, "the directory cannot be read: %s", strerror(why));
    cbl_settle(l, c, &v);
    cbl_text_free(&v.reason);
}

static void add_directory(struct cb_loader *l, const struct place *place, bool named,
                          const struct stat *st)
{
    if (was_searched(l, st))
        return;
    struct places found = { 0 };
    cbl_add_place(l, &l->searched, place->path, place->origin);
    if (!cbl_list_directory(l, place, is_plugin_name, &found))
        add_unsearchable(l, place, errno);
    for (uint64_t i = 0; i < found.count; i++)
        add_file(l, found.items[i].path, found.items[i].origin, named);
    free(found.items);
}

/* named: by this program or in this session, so that a foreign owner may be meant. */
static void add_place(struct cb_loader *l, const struct place *place, bool named)
{
    struct stat st;
    if (!stat(place->path, &st) && S_ISDIR(st.st_mode))
        add_directory(l, place, named, &st);
    else
        add_file(l, place->path, place->origin, named);
}

static void add_places(struct cb_loader *l, const struct places *places, bool named)
{
    for (uint64_t i = 0; i < places->count; i++)
        add_place(l, &places->items[i], named);
}

/* Nobody named it, so it is no complaint when it is not there. */
static void add_default(struct cb_loader *l, const char *path)
{
    const struct place place = { path, "default directory" };
    struct stat st;
    if (!*path)
        return;
    if (!stat(path, &st))
        add_place(l, &place, false);
    else if (errno == ENOENT || errno == ENOTDIR)
        cbl_add_place(l, &l->searched, path, "default directory, not there");
    else
        add_unsearchable(l, &place, errno);
}

static cb_status add_api_paths(struct cb_loader *l, const cb_loader_options *o, cb_error *err)
{
    for (uint64_t i = 0; i < o->n_paths; i++) {
        if (!o->paths[i])
            return cb_error_set(err, CB_INVALID_ARGUMENT, "cb_loader_open", "a path is NULL");
        if (!o->paths[i][0])
            continue;
        const struct place place = { cbl_absolute(l, "", cbl_slice(o->paths[i])), "API" };
        struct stat st;
        if (!l->strings.failed && lstat(place.path, &st) && (errno == ENOENT || errno == ENOTDIR)) {
            struct text t = { 0 };
            cbl_add(&t, "%s: no such file", place.path);
            cb_error_set(err, CB_NOT_FOUND, "cb_loader_open", cbl_text(&t));
            cbl_text_free(&t);
            return CB_NOT_FOUND;
        }
        add_place(l, &place, true);
    }
    return CB_OK;
}

static cb_status add_builtins(struct cb_loader *l, const cb_loader_options *o, cb_error *err)
{
    for (uint64_t i = 0; i < o->n_builtins; i++) {
        const cb_builtin *b = o->builtins[i];
        if (!b || b->size < CBL_BUILTIN_1_0 || !b->entry || !b->manifest)
            return cb_error_set(err, CB_INVALID_ARGUMENT, "cb_loader_open",
                                "a built-in is NULL, too small, or lacks entry or manifest");
        struct candidate *c = add_candidate(l, "", "built in");
        if (!c)
            return CB_OUT_OF_MEMORY;
        c->entry = b->entry;
        scan(l, c, b->manifest);
    }
    return CB_OK;
}

cb_status cbl_discover(struct cb_loader *l, const cb_loader_options *options, cb_error *err)
{
    const struct settings *s = &l->settings;
    cb_status status = add_api_paths(l, options, err);
    if (status == CB_OK)
        status = add_builtins(l, options, err);
    if (status != CB_OK)
        return status;
    add_places(l, &s->plugins, true);
    add_places(l, &s->plugins_add, true);
    if (!s->plugins.count) {
        add_places(l, &s->plugin_path, false);
        add_default(l, cbl_own_directory(l));
        add_default(l, cbl_fixed_directory());
    }
    if (s->probe)
        cbl_probe_all(l);
    tie_twins(l);
    check_option_ids(l);
    return CB_OK;
}
