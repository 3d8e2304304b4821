/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a file may be believed. Whoever can write a file, or put another in its place, decides
 * what it says; so the file, each directory on its way and each symbolic link are looked at, the
 * way the kernel walks: link by link. */
#include "internal.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LINKS_MAX 40 /* as the kernel's */

struct walk {
    struct cb_loader *l;
    bool named;
    uint32_t links;
    char at[PATH_MAX];   /* where the walk is: no link leads here; "" is the root */
    char left[PATH_MAX]; /* what is still to go */
    struct verdict *v;
};

static bool is_foreign(uid_t owner)
{
    return owner != 0 && owner != geteuid();
}

static bool check_owner(struct walk *w, const char *path, const struct stat *st)
{
    if (!is_foreign(st->st_uid))
        return true;
    if (w->named && !cbl_is_privileged()) {
        cbl_problem(w->l, "%s belongs to uid %u, who can change what is run from it", path,
                    (unsigned)st->st_uid);
        return true;
    }
    return cbl_blame(w->v, CB_STATE_REFUSED,
                     "%s belongs to uid %u, neither root nor this process's user (uid %u): chown "
                     "it, or name the place in CB_PLUGINS, or set trust = off",
                     path, (unsigned)st->st_uid, (unsigned)geteuid());
}

/* In a sticky directory nobody but an entry's owner can replace it, and that one is looked at. */
static bool check_writers(struct walk *w, const char *path, const struct stat *st)
{
    if (S_ISLNK(st->st_mode) || (S_ISDIR(st->st_mode) && (st->st_mode & S_ISVTX)))
        return true;
    if (st->st_mode & S_IWOTH)
        return cbl_blame(w->v, CB_STATE_REFUSED,
                         "anybody may write %s: chmod o-w it, or set trust = off", path);
    if (!(st->st_mode & S_IWGRP))
        return true;
    if (geteuid() == 0 || cbl_is_privileged())
        return cbl_blame(w->v, CB_STATE_REFUSED,
                         "group %u may write %s: chmod g-w it, or set trust = off",
                         (unsigned)st->st_gid, path);
    cbl_problem(w->l, "group %u may write %s, and so change what is run from it",
                (unsigned)st->st_gid, path);
    return true;
}

static bool check_one(struct walk *w, const char *path, struct stat *st)
{
    if (lstat(path, st))
        return cbl_blame(w->v, CB_STATE_SKIPPED, "%s: %s", path, strerror(errno));
    return check_owner(w, path, st) && check_writers(w, path, st);
}

static bool is_too_long(struct walk *w)
{
    return cbl_blame(w->v, CB_STATE_SKIPPED, "%s/%.64s...: %s", w->at, w->left,
                     strerror(ENAMETOOLONG));
}

/* Puts a link's target in front of what is left. */
static bool follow(struct walk *w, const char *link)
{
    char target[PATH_MAX], left[PATH_MAX];
    const ssize_t size = readlink(link, target, sizeof(target));
    if (size < 0 || ++w->links > LINKS_MAX)
        return cbl_blame(w->v, CB_STATE_SKIPPED, "%s: %s", link,
                         strerror(size < 0 ? errno : ELOOP));
    const int both = snprintf(left, sizeof(left), "%.*s/%s", (int)size, target, w->left);
    if (both < 0 || both >= (int)sizeof(left))
        return is_too_long(w);
    strcpy(w->left, left);
    if (target[0] == '/')
        w->at[0] = 0;
    return true;
}

/* Goes to the entry of that name. */
static bool step(struct walk *w, const char *name)
{
    char next[PATH_MAX];
    struct stat st;
    if (!strcmp(name, "."))
        return true;
    if (!strcmp(name, "..")) {
        char *slash = strrchr(w->at, '/');
        if (slash)
            *slash = 0;
        return true;
    }
    const int size = snprintf(next, sizeof(next), "%s/%s", w->at, name);
    if (size < 0 || size >= (int)sizeof(next))
        return is_too_long(w);
    if (!check_one(w, next, &st))
        return false;
    if (S_ISLNK(st.st_mode))
        return follow(w, next);
    strcpy(w->at, next);
    return true;
}

/* Takes the first name off what is left; false: there is none. */
static bool take_name(struct walk *w, char name[PATH_MAX])
{
    const uint64_t slashes = strspn(w->left, "/"), size = strcspn(w->left + slashes, "/");
    memcpy(name, w->left + slashes, size);
    name[size] = 0;
    memmove(w->left, w->left + slashes + size, strlen(w->left + slashes + size) + 1);
    return size != 0;
}

bool cbl_trust_check(struct cb_loader *l, const char *path, bool named, struct verdict *v)
{
    struct walk w = { .l = l, .named = named, .v = v };
    char name[PATH_MAX];
    struct stat root;
    if (!check_one(&w, "/", &root))
        return false;
    if (strlen(path) >= sizeof(w.left))
        return is_too_long(&w);
    strcpy(w.left, path);
    while (take_name(&w, name))
        if (!step(&w, name))
            return false;
    return true;
}
