/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin's file: what the loader reads of it, and what cb lint reads. */
#include "fuzz.h"

#include "lint.h"

#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char path[32];
    const int fd = fuzz_file(bytes, size, path);
    struct verdict v = { 0 };
    struct cbl_note note;
    struct manifest m;
    struct library l;
    const char *why;
    if (cbl_elf_read(fd, size, &note, &v) &&
        cbl_manifest_read((struct slice){ note.text, note.size }, &m, &v))
        cbl_isa_check(cbl_isa_of_machine(), m.isa, &v);
    library_read(bytes, size, &l, &why);
    for (uint64_t i = 0; i < l.exports.count; i++)
        (void)!strlen(l.exports.items[i]);
    library_free(&l);
    cbl_text_free(&v.reason);
    close(fd);
    return 0;
}
