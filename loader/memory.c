/* SPDX-License-Identifier: Apache-2.0 */
/* The dynamic linker goes by names: asked for a path that it has loaded before, it hands back what
 * it has, whatever the file is by now. So the notes are read once more, from memory. */
#include "internal.h"

#include <link.h>

struct search {
    uintptr_t address;          /* in the object that is looked for */
    const ElfW(Phdr) * headers; /* stay mapped with it */
    uint64_t count;
    ElfW(Addr) base;
};

static int find_object(struct dl_phdr_info *info, size_t size, void *ctx)
{
    struct search *s = ctx;
    (void)size;
    for (uint64_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_LOAD || s->address - info->dlpi_addr - p->p_vaddr >= p->p_memsz)
            continue;
        s->headers = info->dlpi_phdr;
        s->count = info->dlpi_phnum;
        s->base = info->dlpi_addr;
        return 1;
    }
    return 0;
}

/* Whether a segment of notes is in memory: nobody promises it. */
static bool is_loaded(const struct search *s, const ElfW(Phdr) * note)
{
    for (uint64_t i = 0; i < s->count; i++) {
        const ElfW(Phdr) *p = &s->headers[i];
        if (p->p_type == PT_LOAD && (p->p_flags & PF_R) && note->p_vaddr >= p->p_vaddr &&
            note->p_filesz <= p->p_filesz &&
            note->p_vaddr - p->p_vaddr <= p->p_filesz - note->p_filesz)
            return true;
    }
    return false;
}

static bool read_memory(uintptr_t address, struct cbl_note *out, struct verdict *v)
{
    struct search s = { .address = address };
    uint64_t found = 0;
    if (!dl_iterate_phdr(find_object, &s))
        return cbl_blame(v, CB_STATE_FAILED, "the dynamic linker does not know what it has loaded");
    for (uint64_t i = 0; i < s.count; i++) {
        const ElfW(Phdr) *p = &s.headers[i];
        if (p->p_type != PT_NOTE || !is_loaded(&s, p))
            continue;
        const uint64_t at = s.base + p->p_vaddr;
        const struct cbl_notes n = { (const char *)(uintptr_t)at, p->p_filesz,
                                     p->p_align == 8 ? 8 : 4, at };
        if (!cbl_notes_scan(&n, &found, out, v))
            return false;
    }
    return found || cbl_blame(v, CB_STATE_REFUSED, "its manifest is not where it can be loaded");
}

bool cbl_memory_check(uintptr_t address, const struct candidate *c, struct verdict *v)
{
    struct cbl_note note = { .size = 0 };
    if (!read_memory(address, &note, v))
        return false;
    return cbl_note_is(&note, c) ||
           cbl_blame(v, CB_STATE_REFUSED,
                     "an older copy of this file is already loaded: restart the program");
}
