/* SPDX-License-Identifier: Apache-2.0 */
/* A .npy file. What is understood is written again, and must then read the same. */
#include "fuzz.h"

#include "npy.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct npy a, b;
    char why[NPY_WHY_SIZE] = "", header[NPY_HEADER_MAX];
    if (!npy_parse(bytes, size, &a, why)) {
        if (!*why || !memchr(why, 0, sizeof(why)))
            abort();
        return 0;
    }
    if (a.offset > size || a.bytes != size - a.offset)
        abort();
    const uint64_t length = npy_header(&a, header);
    uint8_t *again = malloc(length + a.bytes);
    if (!again)
        return 0;
    memcpy(again, header, length);
    memcpy(again + length, bytes + a.offset, a.bytes);
    if (!npy_parse(again, length + a.bytes, &b, why) || b.type != a.type || b.rank != a.rank ||
        b.fortran != a.fortran || memcmp(b.shape, a.shape, a.rank * sizeof(*a.shape)) != 0)
        abort();
    free(again);
    return 0;
}
