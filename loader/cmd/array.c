/* SPDX-License-Identifier: Apache-2.0 */
#include "run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

bool array_allocate(struct array *a)
{
    a->memory = calloc(a->npy.bytes ? a->npy.bytes : 1, 1);
    a->elements = a->memory;
    if (!a->memory)
        complain("%s: out of memory", a->path);
    return a->memory != NULL;
}

void array_free(struct array *a)
{
    free(a->memory);
    *a = (struct array){ 0 };
}

/* One byte more than the file has, so that its end is seen without another round. */
static uint64_t first_capacity(FILE *file)
{
    struct stat st;
    const bool known = !fstat(fileno(file), &st) && S_ISREG(st.st_mode) && st.st_size > 0;
    return known ? (uint64_t)st.st_size + 1 : 1 << 16;
}

/* All that is left of a file, to be freed. NULL: errno says why. */
static uint8_t *read_all(FILE *file, uint64_t *size)
{
    uint64_t capacity = first_capacity(file);
    uint8_t *bytes = malloc(capacity);
    *size = 0;
    while (bytes) {
        *size += fread(bytes + *size, 1, capacity - *size, file);
        if (ferror(file))
            break;
        if (*size < capacity)
            return bytes;
        uint8_t *more =
            __builtin_mul_overflow(capacity, 2, &capacity) ? NULL : realloc(bytes, capacity);
        if (!more)
            break;
        bytes = more;
    }
    const int saved = ferror(file) ? errno : ENOMEM;
    free(bytes);
    errno = saved;
    return NULL;
}

bool array_read(const char *path, struct array *out)
{
    char why[NPY_WHY_SIZE];
    uint64_t size;
    const bool standard = !strcmp(path, "-");
    FILE *file = standard ? stdin : fopen(path, "rb");
    *out = (struct array){ .path = path };
    uint8_t *bytes = file ? read_all(file, &size) : NULL;
    if (!bytes)
        complain("%s: %s", path, strerror(errno));
    if (file && !standard)
        fclose(file);
    if (!bytes)
        return false;
    out->memory = bytes;
    if (npy_parse(bytes, size, &out->npy, why)) {
        out->elements = bytes + out->npy.offset;
        return true;
    }
    complain("%s: %s", path, why);
    array_free(out);
    return false;
}

/* From the order in which the first axis is the fastest to that in which the last is. */
static void reverse_order(uint8_t *to, const uint8_t *from, uint32_t rank, const uint64_t *shape,
                          uint64_t item, uint64_t bytes)
{
    uint64_t at[NPY_RANK_MAX] = { 0 }, step[NPY_RANK_MAX], next = item, offset = 0;
    for (uint32_t i = 0; i < rank; i++) {
        step[i] = next;
        next *= shape[i];
    }
    for (const uint8_t *end = to + bytes; to < end; to += item) {
        memcpy(to, from + offset, item);
        for (uint32_t i = rank; i-- > 0;) {
            offset += step[i];
            if (++at[i] < shape[i])
                break;
            offset -= step[i] * at[i];
            at[i] = 0;
        }
    }
}

bool array_lay_out(struct array *a, bool fortran)
{
    struct npy *const n = &a->npy;
    uint64_t shape[NPY_RANK_MAX];
    struct array turned = *a;
    if (n->fortran == fortran)
        return true;
    n->fortran = fortran;
    if (n->rank < 2 || !n->bytes)
        return true;
    if (!array_allocate(&turned))
        return false;
    /* C order of a shape is Fortran order of the shape read backwards. */
    for (uint32_t i = 0; i < n->rank; i++)
        shape[i] = n->shape[fortran ? n->rank - 1 - i : i];
    reverse_order(turned.elements, a->elements, n->rank, shape, npy_item_size(n->type), n->bytes);
    free(a->memory);
    a->memory = turned.memory;
    a->elements = turned.elements;
    return true;
}
