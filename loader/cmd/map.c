/* SPDX-License-Identifier: Apache-2.0 */
#include "lint.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

bool mapping_open(const char *path, struct mapping *out, int *fd, const char **why)
{
    struct stat st;
    void *bytes = NULL;
    *out = (struct mapping){ NULL, 0 };
    /* Without O_NONBLOCK a FIFO would keep us waiting for somebody to write. */
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file < 0 || fstat(file, &st)) {
        *why = strerror(errno);
        goto fail;
    }
    if (!S_ISREG(st.st_mode)) {
        *why = "not a regular file";
        goto fail;
    }
    if (st.st_size)
        bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    if (bytes == MAP_FAILED) {
        *why = strerror(errno);
        goto fail;
    }
    *out = (struct mapping){ bytes, (uint64_t)st.st_size };
    if (fd)
        *fd = file;
    else
        close(file);
    return true;
fail:
    if (file >= 0)
        close(file);
    return false;
}

void mapping_close(struct mapping *m)
{
    if (m->bytes)
        munmap((void *)(uintptr_t)m->bytes, m->size);
    *m = (struct mapping){ NULL, 0 };
}
