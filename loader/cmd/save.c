/* SPDX-License-Identifier: Apache-2.0 */
#include "run.h"

#include <errno.h>
#include <stdio.h>
#include <stdio_ext.h>
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

/* Opens a file that was not there, beside the target. name: for target and 32 bytes more. */
static FILE *open_beside(const char *target, char *name)
{
    FILE *file = NULL;
    errno = EEXIST;
    for (int i = 0; !file && i < 100 && errno == EEXIST; i++) {
        sprintf(name, "%s.%ld.%d.tmp", target, (long)getpid(), i);
        file = fopen(name, "wbx");
    }
    return file;
}

/* old: what is at the target, whose permissions the new file gets; NULL: nothing. */
static bool replace(const struct array *a, const char *target, const struct stat *old)
{
    char *name = malloc(strlen(target) + 32);
    FILE *file = name ? open_beside(target, name) : NULL;
    bool good = file != NULL;
    if (file && old)
        good = !fchmod(fileno(file), old->st_mode & 07777);
    if (file)
        good = put_and_close(a, file) && good && !rename(name, target);
    const int saved = errno;
    if (file && !good)
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

/* What fails is said here once, and is not left for the end of the program to find again. */
static bool write_standard(const struct array *a)
{
    if (put(a, stdout))
        return true;
    say("standard output");
    __fpurge(stdout);
    clearerr(stdout);
    return false;
}

bool array_save(const struct array *a, const char *path)
{
    struct stat st;
    if (!strcmp(path, "-"))
        return write_standard(a);
    if (stat(path, &st))
        return (errno == ENOENT && replace(a, path, NULL)) || say(path);
    if (!S_ISREG(st.st_mode))
        return write_directly(a, path) || say(path);
    /* Behind a link it is the file that is replaced, not the link. */
    char *target = realpath(path, NULL);
    const bool good = target && replace(a, target, &st);
    if (!good)
        say(path);
    free(target);
    return good;
}
