/* SPDX-License-Identifier: Apache-2.0 */
#include "manifest.h"

#include "cb_loader.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Bounds on what a real library has, so that a made-up one costs little. */
#define PROGRAM_HEADERS_MAX 256
#define NOTE_SEGMENT_MAX    (64 * 1024)

#if defined(__x86_64__)
#define HOST_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define HOST_MACHINE EM_AARCH64
#elif defined(__riscv)
#define HOST_MACHINE EM_RISCV
#elif defined(__powerpc64__)
#define HOST_MACHINE EM_PPC64
#elif defined(__s390x__)
#define HOST_MACHINE EM_S390
#else
#define HOST_MACHINE EM_NONE
#endif

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define HOST_DATA ELFDATA2LSB
#else
#define HOST_DATA ELFDATA2MSB
#endif

static const struct {
    uint16_t code;
    const char *name;
} machines[] = {
    { EM_386, "i386" },        { EM_X86_64, "x86_64" }, { EM_ARM, "arm" },
    { EM_AARCH64, "aarch64" }, { EM_RISCV, "riscv" },   { EM_PPC64, "ppc64" },
    { EM_S390, "s390" },       { EM_MIPS, "mips" },     { EM_LOONGARCH, "loongarch" },
};

static const char *machine_name(uint16_t code)
{
    for (uint64_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++)
        if (machines[i].code == code)
            return machines[i].name;
    return "another machine";
}

bool cbl_blame(struct verdict *v, uint32_t state, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    cbl_text_free(&v->reason);
    v->state = state;
    cbl_addv(&v->reason, format, args);
    cbl_one_line(&v->reason);
    va_end(args);
    return false;
}

bool cbl_no_memory(struct verdict *v)
{
    v->no_memory = true;
    return cbl_blame(v, CB_STATE_FAILED, "out of memory");
}

/* Whether bytes [at, at + size) are inside the file. */
static bool inside(uint64_t at, uint64_t size, uint64_t file_size)
{
    return at <= file_size && size <= file_size - at;
}

static bool read_at(int fd, void *buffer, uint64_t size, uint64_t at, struct verdict *v)
{
    uint64_t done = 0;
    while (done < size) {
        const ssize_t n = pread(fd, (char *)buffer + done, size - done, (off_t)(at + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return cbl_blame(v, CB_STATE_SKIPPED, "cannot be read: %s", strerror(errno));
        if (n == 0)
            return cbl_blame(v, CB_STATE_SKIPPED, "truncated while it was read");
        done += (uint64_t)n;
    }
    return true;
}

/* Whether the dynamic linker of this process could take the file. */
static bool check_header(const Elf64_Ehdr *e, uint64_t size, struct verdict *v)
{
    if (e->e_ident[EI_CLASS] != ELFCLASS64)
        return cbl_blame(v, CB_STATE_SKIPPED, "%s, and this process is 64-bit",
                         e->e_ident[EI_CLASS] == ELFCLASS32 ? "a 32-bit ELF file"
                                                            : "an ELF file of an unknown class");
    if (e->e_ident[EI_DATA] != HOST_DATA)
        return cbl_blame(v, CB_STATE_SKIPPED, "an ELF file of the other byte order");
    if (HOST_MACHINE != EM_NONE && e->e_machine != HOST_MACHINE)
        return cbl_blame(v, CB_STATE_SKIPPED, "built for %s (ELF machine %u), and this is %s",
                         machine_name(e->e_machine), e->e_machine, machine_name(HOST_MACHINE));
    if (e->e_type != ET_DYN)
        return cbl_blame(v, CB_STATE_SKIPPED, "an ELF file, but no shared library");
    if (e->e_phentsize != sizeof(Elf64_Phdr) || e->e_phnum > PROGRAM_HEADERS_MAX)
        return cbl_blame(v, CB_STATE_SKIPPED,
                         "a malformed ELF file: %u program headers of %u bytes", e->e_phnum,
                         e->e_phentsize);
    if (!inside(e->e_phoff, (uint64_t)e->e_phnum * sizeof(Elf64_Phdr), size))
        return cbl_blame(v, CB_STATE_SKIPPED, "truncated: its program headers lie beyond its end");
    return true;
}

static uint64_t align_up(uint64_t value, uint64_t alignment)
{
    return (value + alignment - 1) & ~(alignment - 1);
}

/* Looks for our note in one segment of notes. *found is the file offset of the first one, or 0; the
 * same bytes seen through a second segment are not a second note. */
static bool scan_notes(const char *notes, const Elf64_Phdr *p, uint64_t *found,
                       struct cbl_note *out, struct verdict *v)
{
    const uint64_t alignment = p->p_align == 8 ? 8 : 4;
    for (uint64_t at = 0; inside(at, sizeof(Elf64_Nhdr), p->p_filesz);) {
        Elf64_Nhdr n;
        memcpy(&n, notes + at, sizeof(n));
        const uint64_t owner = at + sizeof(n);
        const uint64_t text = align_up(owner + n.n_namesz, alignment);
        if (!inside(text, n.n_descsz, p->p_filesz))
            return cbl_blame(v, CB_STATE_REFUSED, "a malformed ELF note at byte %llu",
                             (unsigned long long)(p->p_offset + at));
        const bool ours = n.n_type == CB_MANIFEST_TYPE && n.n_namesz == sizeof(CB_MANIFEST_OWNER) &&
                          !memcmp(notes + owner, CB_MANIFEST_OWNER, sizeof(CB_MANIFEST_OWNER));
        if (ours && *found != p->p_offset + at) {
            if (*found)
                return cbl_blame(v, CB_STATE_REFUSED,
                                 "it has two manifests (compute_backend notes)");
            if (n.n_descsz > CB_MANIFEST_MAX)
                return cbl_blame(v, CB_STATE_REFUSED,
                                 "its manifest has %u bytes, at most %u are read", n.n_descsz,
                                 CB_MANIFEST_MAX);
            *found = p->p_offset + at;
            out->size = n.n_descsz;
            memcpy(out->text, notes + text, n.n_descsz);
        }
        at = align_up(text + n.n_descsz, alignment);
    }
    return true;
}

static bool scan_segments(int fd, uint64_t size, const Elf64_Phdr *p, uint64_t count, char *notes,
                          struct cbl_note *out, struct verdict *v)
{
    uint64_t found = 0;
    for (uint64_t i = 0; i < count; i++) {
        const bool used = p[i].p_type == PT_LOAD || p[i].p_type == PT_NOTE;
        if (used && !inside(p[i].p_offset, p[i].p_filesz, size))
            return cbl_blame(
                v, CB_STATE_SKIPPED, "truncated: a segment ends at byte %llu of a file of %llu",
                (unsigned long long)(p[i].p_offset + p[i].p_filesz), (unsigned long long)size);
    }
    for (uint64_t i = 0; i < count; i++) {
        if (p[i].p_type != PT_NOTE)
            continue;
        if (p[i].p_filesz > NOTE_SEGMENT_MAX)
            return cbl_blame(v, CB_STATE_REFUSED, "a segment of notes has %llu bytes",
                             (unsigned long long)p[i].p_filesz);
        if (!read_at(fd, notes, p[i].p_filesz, p[i].p_offset, v) ||
            !scan_notes(notes, &p[i], &found, out, v))
            return false;
    }
    if (!found)
        return cbl_blame(v, CB_STATE_REFUSED,
                         "a library without a manifest (compute_backend note): not a plugin");
    return true;
}

bool cbl_elf_read(int fd, uint64_t size, struct cbl_note *out, struct verdict *v)
{
    Elf64_Ehdr e = { .e_ident = { 0 } };
    if (!size)
        return cbl_blame(v, CB_STATE_SKIPPED, "the file is empty");
    if (!read_at(fd, &e, size < sizeof(e) ? size : sizeof(e), 0, v))
        return false;
    if (memcmp(e.e_ident, ELFMAG, SELFMAG) != 0)
        return cbl_blame(v, CB_STATE_SKIPPED, "not an ELF file");
    if (size < sizeof(e))
        return cbl_blame(v, CB_STATE_SKIPPED, "truncated: %llu bytes of an ELF file",
                         (unsigned long long)size);
    if (!check_header(&e, size, v))
        return false;

    const uint64_t headers = (uint64_t)e.e_phnum * sizeof(Elf64_Phdr);
    bool good = false;
    char *notes = malloc(NOTE_SEGMENT_MAX);
    Elf64_Phdr *p = malloc(headers ? headers : 1);
    if (!notes || !p) {
        cbl_no_memory(v);
        goto out;
    }
    good = read_at(fd, p, headers, e.e_phoff, v) &&
           scan_segments(fd, size, p, e.e_phnum, notes, out, v);
out:
    free(p);
    free(notes);
    return good;
}
