/* SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool check_kind(mode_t mode, struct verdict *v)
{
    if (S_ISREG(mode))
        return true;
    const char *kind = S_ISDIR(mode)    ? "a directory"
                       : S_ISFIFO(mode) ? "a FIFO"
                       : S_ISSOCK(mode) ? "a socket"
                                        : "a device";
    return cbl_blame(v, CB_STATE_SKIPPED, "%s, not a regular file", kind);
}

static bool check_exists(const char *path, struct stat *st, struct verdict *v)
{
    if (!stat(path, st))
        return true;
    const int why = errno;
    struct stat link;
    if (why == ENOENT && !lstat(path, &link))
        return cbl_blame(v, CB_STATE_SKIPPED, "a dangling symbolic link: no such file");
    if (why == ENOENT || why == ENOTDIR)
        return cbl_blame(v, CB_STATE_SKIPPED, "no such file");
    return cbl_blame(v, CB_STATE_SKIPPED, "cannot be read: %s", strerror(why));
}

/* Opens a regular file without ever waiting: what the path names may change after the first look.
 */
static int open_regular(const char *path, struct stat *st, struct verdict *v)
{
    if (!check_exists(path, st, v) || !check_kind(st->st_mode, v))
        return -1;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, st)) {
        cbl_blame(v, CB_STATE_SKIPPED, "cannot be read: %s", strerror(errno));
        goto fail;
    }
    if (!check_kind(st->st_mode, v))
        goto fail;
    return fd;
fail:
    if (fd >= 0)
        close(fd);
    return -1;
}

bool cbl_scan_text(struct cb_loader *l, struct candidate *c, struct slice text, struct verdict *v)
{
    struct manifest m;
    const bool good = cbl_manifest_read(text, &m, v);
    c->id = cbl_keep(&l->strings, m.id);
    c->version = cbl_keep(&l->strings, m.version);
    c->device_class = cbl_keep(&l->strings, m.device_class);
    c->isa = cbl_keep(&l->strings, m.isa);
    c->priority = m.priority;
    const struct setting *configured = cbl_setting(&l->settings, c->id, CBL_PRIORITY_KEY);
    uint64_t number;
    if (configured && cbl_number(cbl_slice(configured->value), CBL_PRIORITY_MAX, &number))
        c->priority = (int32_t)number;
    return good;
}

bool cbl_scan_file(struct cb_loader *l, struct candidate *c, struct verdict *v)
{
    struct stat st;
    const int fd = open_regular(c->path, &st, v);
    if (fd < 0)
        return false;
    c->is_file = true;
    c->device = st.st_dev;
    c->inode = st.st_ino;
    struct cbl_note note;
    const bool good = cbl_elf_read(fd, (uint64_t)st.st_size, &note, v) &&
                      cbl_scan_text(l, c, (struct slice){ note.text, note.size }, v);
    close(fd);
    return good;
}
