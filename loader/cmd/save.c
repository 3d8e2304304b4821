/* SPDX-License-Identifier: Apache-2.0 */
#include "run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool say(const char *path)
{
    complain("%s: cannot write: %s", path, strerror(errno));
    return false;
}

static bool put(const struct array *a, FILE *file)
{
    char header[NPY_HEADER_MAX];
    const uint64_t size = npy_header(&a->npy, header);
    return fwrite(header, 1, size, file) == size &&
           fwrite(a->elements, 1, a->npy.bytes, file) == a->npy.bytes && !fflush(file);
}

/* Closes the file whatever happened. */
static bool put_and_close(const struct array *a, FILE *file)
{
    const bool good = put(a, file);
    const int saved = errno;
    const bool closed = !fclose(file);
    if (!good)
        errno = saved;
    return good && closed;
}

/* Opens a new file beside the target; its name, to be freed, is in *name. NULL: errno says why. */
static FILE *open_beside(const char *target, char **name)
{
    FILE *file = NULL;
    for (int i = 0; !file && i < 100; i++) {
        if (asprintf(name, "%s.%ld.%d.tmp", target, (long)getpid(), i) < 0) {
            *name = NULL;
            return NULL;
        }
        file = fopen(*name, "wbx");
        if (file)
            break;
        const int saved = errno;
        free(*name);
        *name = NULL;
        errno = saved;
        if (errno != EEXIST)
            break;
    }
    return file;
}

/* old: what is at the target, whose permissions the new file gets; NULL: nothing. */
static bool replace(const struct array *a, const char *target, const struct stat *old)
{
    char *name = NULL;
    FILE *file = open_beside(target, &name);
    if (!file)
        return false;
    if (old)
        (void)!fchmod(fileno(file), old->st_mode & 07777);
    const bool good = put_and_close(a, file) && !rename(name, target);
    const int saved = errno;
    if (!good)
        unlink(name);
    free(name);
    errno = saved;
    return good;
}

static bool write_directly(const struct array *a, const char *target)
{
    FILE *file = fopen(target, "wb");
    return file && put_and_close(a, file);
}

bool array_save(const struct array *a, const char *path)
{
    struct stat st;
    if (!strcmp(path, "-"))
        return put(a, stdout) || say("standard output");
    /* Behind a link it is the file that is replaced, not the link. */
    char *target = realpath(path, NULL);
    if (!target && errno != ENOENT)
        return say(path);
    const bool there = target && !stat(target, &st);
    const char *name = target ? target : path;
    const bool good = there && !S_ISREG(st.st_mode) ? write_directly(a, name)
                                                     : replace(a, name, there ? &st : NULL);
    if (!good)
        say(path);
    free(target);
    return good;
}
