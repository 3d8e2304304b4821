/* SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"
#include "ini.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CONFIG_MAX (16 * 1024 * 1024)

struct reader {
    struct cb_loader *l;
    const char *path;      /* as it was named */
    const char *directory; /* absolute: what relative paths are below */
    bool unknown;          /* the section's keys are ignored; it was said */
    struct slice id;       /* of [backend.ID], else empty */
};

static bool set_plugin_path(struct reader *r, struct slice value, const char *origin)
{
    cbl_set_places(r->l, &r->l->settings.plugin_path, value, r->directory, origin);
    return true;
}

static bool set_backend(struct reader *r, struct slice value, const char *origin)
{
    cbl_set_names(r->l, &r->l->settings.backend, value, true, origin);
    return true;
}

/* The place of a value in a list of words, which NULL ends. */
static bool find_word(struct slice value, const char *const *words, uint32_t *out)
{
    for (*out = 0; words[*out]; ++*out)
        if (cbl_slice_is(value, words[*out]))
            return true;
    return false;
}

static bool set_policy(struct reader *r, struct slice value, const char *origin)
{
    static const char *const words[] = { "require", "prefer", "any", NULL };
    static const enum policy policies[] = { POLICY_REQUIRE, POLICY_PREFER, POLICY_ANY };
    uint32_t i;
    (void)origin;
    if (!find_word(value, words, &i))
        return false;
    r->l->settings.policy = policies[i];
    return true;
}

static bool set_probe(struct reader *r, struct slice value, const char *origin)
{
    static const char *const words[] = { "never", "always", NULL };
    uint32_t i;
    (void)origin;
    if (!find_word(value, words, &i))
        return false;
    r->l->settings.probe = i == 1;
    return true;
}

static bool set_probe_timeout(struct reader *r, struct slice value, const char *origin)
{
    double seconds;
    (void)origin;
    if (!cbl_real(value, &seconds) || !(seconds >= 1e-3 && seconds <= 3600))
        return false;
    r->l->settings.probe_timeout = (uint64_t)(seconds * 1e9);
    return true;
}

static bool set_probe_helper(struct reader *r, struct slice value, const char *origin)
{
    (void)origin;
    if (!value.size)
        return false;
    r->l->settings.probe_helper = cbl_absolute(r->l, r->directory, value);
    return true;
}

/* A file that others may write must not be what opens the door to them. */
static bool set_trust(struct reader *r, struct slice value, const char *origin)
{
    static const char *const words[] = { "on", "off", NULL };
    struct verdict v = { 0 };
    uint32_t i;
    if (!find_word(value, words, &i))
        return false;
    if (i == 0 || cbl_trust_check(r->l, cbl_absolute(r->l, "", cbl_slice(r->path)), false, &v))
        r->l->settings.trust_off = i == 1;
    else
        cbl_problem(r->l, "%s: a file that cannot itself be trusted does not turn trust off: %s",
                    origin, cbl_text(&v.reason));
    r->l->strings.failed |= v.no_memory;
    cbl_text_free(&v.reason);
    return true;
}

static const struct {
    const char *name;
    bool (*set)(struct reader *r, struct slice value, const char *origin);
    const char *form;      /* what a value is, for who gave another; NULL: all are good */
    const char *otherwise; /* what holds when it is not set */
} loader_keys[] = {
    { "plugin_path", set_plugin_path, NULL, "" },
    { "backend", set_backend, NULL, "" },
    { "policy", set_policy, "require, prefer or any", "prefer" },
    { "trust", set_trust, "on or off", "on" },
    { "probe", set_probe, "never or always", "never" },
    { "probe_timeout", set_probe_timeout, "a number of seconds from 0.001 to 3600", "10" },
    { "probe_helper", set_probe_helper, "a file", CB_PROBE_HELPER },
};
#define LOADER_KEY_COUNT (sizeof(loader_keys) / sizeof(loader_keys[0]))

const char *cbl_loader_key(uint64_t i, const char **otherwise)
{
    if (i >= LOADER_KEY_COUNT)
        return NULL;
    *otherwise = loader_keys[i].otherwise;
    return loader_keys[i].name;
}

static void read_loader_key(struct reader *r, const struct cbl_ini_line *line, const char *origin)
{
    for (uint64_t i = 0; i < LOADER_KEY_COUNT; i++) {
        if (!cbl_slice_is(line->key, loader_keys[i].name))
            continue;
        if (loader_keys[i].set(r, line->value, origin))
            cbl_keep_setting(r->l, cbl_slice(""), line->key, line->value, origin);
        else
            cbl_problem(r->l, "%s is '%.*s', not %s: ignored", origin, SLICE_ARGS(line->value),
                        loader_keys[i].form);
        return;
    }
    cbl_problem(r->l, "%s:%llu: unknown key %.*s in [loader]: ignored", r->path,
                (unsigned long long)line->number, SLICE_ARGS(line->key));
}

static void read_section(struct reader *r, const struct cbl_ini_line *line)
{
    static const char prefix[] = "backend.";
    const struct slice name = line->section;
    const uint64_t cut = sizeof(prefix) - 1;
    r->id = (struct slice){ NULL, 0 };
    r->unknown = false;
    if (cbl_slice_is(name, "loader"))
        return;
    if (name.size > cut && !memcmp(name.at, prefix, cut)) {
        r->id = (struct slice){ name.at + cut, name.size - cut };
        if (cbl_is_id(r->id))
            return;
    }
    r->unknown = true;
    cbl_problem(r->l, "%s:%llu: unknown section [%.*s]: its keys are ignored", r->path,
                (unsigned long long)line->number, SLICE_ARGS(name));
}

static void read_key(struct reader *r, const struct cbl_ini_line *line)
{
    if (!line->in_section) {
        cbl_problem(r->l, "%s:%llu: %.*s is in no section: ignored", r->path,
                    (unsigned long long)line->number, SLICE_ARGS(line->key));
        return;
    }
    if (r->unknown)
        return;
    const char *origin = cbl_keepf(&r->l->strings, "%s:%llu: %.*s", r->path,
                                   (unsigned long long)line->number, SLICE_ARGS(line->key));
    if (r->id.size)
        cbl_set_backend_key(r->l, r->id, line->key, line->value, origin);
    else
        read_loader_key(r, line, origin);
}

static void read_line(void *ctx, const struct cbl_ini_line *line)
{
    struct reader *r = ctx;
    switch (line->kind) {
    case CBL_INI_SECTION: read_section(r, line); break;
    case CBL_INI_KEY: read_key(r, line); break;
    case CBL_INI_BAD:
        cbl_problem(r->l, "%s:%llu: %s: ignored", r->path, (unsigned long long)line->number,
                    line->problem);
        break;
    }
}

static cb_status config_error(cb_error *err, cb_status status, const char *path, const char *why)
{
    struct text t = { 0 };
    cbl_add(&t, "configuration file %s: %s", path, why);
    cb_error_set(err, status, "cb_loader_open", cbl_text(&t));
    cbl_text_free(&t);
    return status;
}

/* Reads until the end of the file. NULL with errno set on failure. */
static char *read_all(int fd, uint64_t *size)
{
    uint64_t room = 4096;
    char *bytes = malloc(room);
    *size = 0;
    while (bytes) {
        const ssize_t n = read(fd, bytes + *size, room - *size);
        if (n == 0)
            return bytes;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            break;
        *size += (uint64_t)n;
        if (*size < room)
            continue;
        if (room >= CONFIG_MAX) {
            errno = EFBIG;
            break;
        }
        char *grown = realloc(bytes, room *= 2);
        if (!grown)
            break;
        bytes = grown;
    }
    const int saved = bytes ? errno : ENOMEM;
    free(bytes);
    errno = saved;
    return NULL;
}

/* Opens a file, or /dev/null and its kind; a FIFO or a terminal could keep the host waiting. */
static int open_config(const char *path)
{
    struct stat st;
    if (stat(path, &st))
        return -1;
    if (!S_ISREG(st.st_mode) && !S_ISCHR(st.st_mode)) {
        errno = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
        return -1;
    }
    return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

cb_status cbl_config_read(struct cb_loader *l, const char *path, cb_error *err)
{
    cb_status status = CB_OK;
    uint64_t size = 0;
    char *bytes = NULL;
    const int fd = open_config(path);
    if (fd >= 0)
        bytes = read_all(fd, &size);
    if (!bytes) {
        const int why = errno;
        status = why == ENOENT || why == ENOTDIR ? CB_NOT_FOUND
                 : why == ENOMEM                 ? CB_OUT_OF_MEMORY
                                                 : CB_INVALID_ARGUMENT;
        config_error(err, status, path,
                     status == CB_NOT_FOUND ? "no such file"
                     : why == EINVAL        ? "not a regular file"
                                            : strerror(why));
        goto out;
    }
    struct reader r = { .l = l, .path = cbl_keep(&l->strings, cbl_slice(path)) };
    struct slice directory = cbl_slice(cbl_absolute(l, "", cbl_slice(path)));
    while (directory.size > 1 && directory.at[directory.size - 1] != '/')
        directory.size--;
    r.directory = cbl_keep(&l->strings, directory);
    cbl_ini_read((struct slice){ bytes, size }, read_line, &r);
out:
    free(bytes);
    if (fd >= 0)
        close(fd);
    return status;
}
