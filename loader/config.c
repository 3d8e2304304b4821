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

static void set_plugin_path(struct reader *r, struct slice value, const char *origin)
{
    cbl_set_places(r->l, &r->l->settings.plugin_path, value, r->directory, origin);
}

static void set_backend(struct reader *r, struct slice value, const char *origin)
{
    cbl_set_names(r->l, &r->l->settings.backend, value, true, origin);
}

static const struct {
    const char *name;
    void (*set)(struct reader *r, struct slice value, const char *origin);
} loader_keys[] = {
    { "plugin_path", set_plugin_path },
    { "backend", set_backend },
};

static void read_loader_key(struct reader *r, const struct cbl_ini_line *line, const char *origin)
{
    for (uint64_t i = 0; i < sizeof(loader_keys) / sizeof(loader_keys[0]); i++) {
        if (cbl_slice_is(line->key, loader_keys[i].name)) {
            loader_keys[i].set(r, line->value, origin);
            return;
        }
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
