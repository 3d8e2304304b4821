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
    return good && cbl_isa_check(l->isa, m.isa, v);
}

/* Without the terminator that the macro of the plugin's header leaves in the note. */
static struct slice text_of(const struct cbl_note *note)
{
    const bool ended = note->size && !note->text[note->size - 1];
    return (struct slice){ note->text, note->size - ended };
}

/* What is known of a file: whether it may be believed, and its notes. */
static bool read_notes(struct cb_loader *l, const struct candidate *c, int fd,
                       const struct stat *st, struct cbl_note *note, struct verdict *v)
{
    return (l->settings.trust_off || cbl_trust_check(l, c->path, c->named_place, v)) &&
           cbl_elf_read(fd, (uint64_t)st->st_size, note, v);
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
    bool good = read_notes(l, c, fd, &st, &note, v);
    if (good) {
        const struct slice text = text_of(&note);
        char hex[2 * CBL_BUILD_ID_MAX + 1];
        cbl_hex(hex, note.build_id, note.build_id_size);
        c->manifest = cbl_keep(&l->strings, text);
        c->build_id = cbl_keep(&l->strings, cbl_slice(hex));
        good = cbl_scan_text(l, c, text, v) && cbl_pin_check(l, c->id, fd, v);
    }
    close(fd);
    return good;
}

bool cbl_note_is(const struct cbl_note *note, const struct candidate *c)
{
    char hex[2 * CBL_BUILD_ID_MAX + 1];
    cbl_hex(hex, note->build_id, note->build_id_size);
    return cbl_slice_is(text_of(note), c->manifest) && !strcmp(hex, c->build_id);
}

bool cbl_scan_again(struct cb_loader *l, const struct candidate *c, struct verdict *v)
{
    struct stat st, now;
    struct cbl_note note;
    const int fd = open_regular(c->path, &st, v);
    if (fd < 0)
        return false;
    bool good = read_notes(l, c, fd, &st, &note, v) && cbl_pin_check(l, c->id, fd, v);
    if (good && (st.st_dev != c->device || st.st_ino != c->inode || !cbl_note_is(&note, c) ||
                 stat(c->path, &now) || now.st_dev != st.st_dev || now.st_ino != st.st_ino))
        good = cbl_blame(v, CB_STATE_FAILED,
                         "the file has been replaced since it was looked at: open the loader "
                         "again, or restart the program");
    close(fd);
    return good;
}
