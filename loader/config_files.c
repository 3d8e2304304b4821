/* SPDX-License-Identifier: Apache-2.0 */
/* Which configuration files there are. Each has drop-ins, FILE.d with NAME.conf in it, which are
 * read after it: a package adds what it has to say without touching a file of somebody else's. */
#include "internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_drop_in(const char *name)
{
    return cbl_is_between(name, "", ".conf") && name[0] != '.';
}

/* A file that nobody named by itself: what is wrong with it is a problem and no error. */
static void read_one(struct cb_loader *l, const char *path)
{
    static const char prefix[] = "cb_loader_open: ";
    cb_error err;
    cb_error_init(&err);
    const cb_status status = cbl_config_read(l, path, &err);
    l->strings.failed |= status == CB_OUT_OF_MEMORY;
    if (status != CB_OK && status != CB_NOT_FOUND)
        cbl_problem(l, "%s", err.msg + sizeof(prefix) - 1);
    cbl_add_place(l, &l->settings.files, path,
                  status == CB_OK          ? "read"
                  : status == CB_NOT_FOUND ? "not there"
                                           : "cannot be read");
}

static void read_drop_ins(struct cb_loader *l, const char *file)
{
    const char *path = cbl_keepf(&l->strings, "%s.d", file);
    const struct place place = { path, path };
    struct places found = { 0 };
    if (!cbl_list_directory(l, &place, is_drop_in, &found) && errno != ENOENT && errno != ENOTDIR)
        cbl_problem(l, "configuration directory %s: %s", path, strerror(errno));
    for (uint64_t i = 0; i < found.count; i++)
        read_one(l, found.items[i].path);
    free(found.items);
}

static void read_default(struct cb_loader *l, const char *directory)
{
    const char *file = cbl_keepf(&l->strings, "%s/cb.conf", directory);
    read_one(l, file);
    read_drop_ins(l, file);
}

/* The user's directory of configuration; "" when there is none. By the XDG base directory
 * specification a relative one does not count. */
static const char *user_directory(struct cb_loader *l)
{
    const char *base = cbl_environment("XDG_CONFIG_HOME");
    const char *home = cbl_environment("HOME");
    if (base && base[0] == '/')
        return cbl_keepf(&l->strings, "%s/compute-backend", cbl_absolute(l, "", cbl_slice(base)));
    if (home && home[0] == '/')
        return cbl_keepf(&l->strings, "%s/.config/compute-backend",
                         cbl_absolute(l, "", cbl_slice(home)));
    return "";
}

static cb_status read_files(struct cb_loader *l, const char *named, cb_error *err)
{
    if (named) {
        const cb_status status = cbl_config_read(l, named, err);
        if (status != CB_OK)
            return status;
        const char *path = cbl_absolute(l, "", cbl_slice(named));
        cbl_add_place(l, &l->settings.files, path, "read");
        read_drop_ins(l, path);
        return CB_OK;
    }
    const char *user = user_directory(l);
    read_default(l, cbl_system_directory());
    if (*user)
        read_default(l, user);
    return CB_OK;
}

/* What only all files together can say. */
static void check_policy(struct cb_loader *l)
{
    const struct settings *s = &l->settings;
    const struct setting *policy = cbl_setting(s, "", "policy");
    if (s->policy != POLICY_REQUIRE || !policy)
        return;
    if (s->backend.any)
        cbl_problem(l, "%s: require, but the list of %s ends in 'any': prefer is what counts",
                    policy->origin, s->backend.origin);
    else if (!s->backend.count)
        cbl_problem(l, "%s: require, and no backend is named: ignored", policy->origin);
}

cb_status cbl_config_files_read(struct cb_loader *l, const char *named, cb_error *err)
{
    const cb_status status = read_files(l, named, err);
    if (status == CB_OK)
        check_policy(l);
    return status;
}
