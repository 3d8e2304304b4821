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

static bool is_note(const Elf64_Nhdr *n, const char *owner, uint32_t type, const char *name,
                    uint32_t name_size)
{
    return n->n_type == type && n->n_namesz == name_size && !memcmp(owner, name, name_size);
}

static bool keep_manifest(const char *text, uint64_t size, uint64_t at, uint64_t *found,
                          struct cbl_note *out, struct verdict *v)
{
    if (*found == at)
        return true;
    if (*found)
        return cbl_blame(v, CB_STATE_REFUSED, "it has two manifests (compute_backend notes)");
    if (size > CB_MANIFEST_MAX)
        return cbl_blame(v, CB_STATE_REFUSED, "its manifest has %llu bytes, at most %u are read",
                         (unsigned long long)size, CB_MANIFEST_MAX);
    *found = at;
    out->size = size;
    memcpy(out->text, text, size);
    return true;
}

static void keep_build_id(const char *bytes, uint64_t size, struct cbl_note *out)
{
    out->build_id_size = size < CBL_BUILD_ID_MAX ? size : CBL_BUILD_ID_MAX;
    memcpy(out->build_id, bytes, out->build_id_size);
}

bool cbl_notes_scan(const struct cbl_notes *notes, uint64_t *found, struct cbl_note *out,
                    struct verdict *v)
{
    for (uint64_t at = 0; inside(at, sizeof(Elf64_Nhdr), notes->size);) {
        Elf64_Nhdr n;
        memcpy(&n, notes->bytes + at, sizeof(n));
        const char *owner = notes->bytes + at + sizeof(n);
        const uint64_t text = align_up(at + sizeof(n) + n.n_namesz, notes->alignment);
        if (!inside(text, n.n_descsz, notes->size))
            return cbl_blame(v, CB_STATE_REFUSED, "a malformed ELF note at byte %llu",
                             (unsigned long long)(notes->at + at));
        if (is_note(&n, owner, CB_MANIFEST_TYPE, CB_MANIFEST_OWNER, sizeof(CB_MANIFEST_OWNER)) &&
            !keep_manifest(notes->bytes + text, n.n_descsz, notes->at + at, found, out, v))
            return false;
        if (is_note(&n, owner, NT_GNU_BUILD_ID, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)))
            keep_build_id(notes->bytes + text, n.n_descsz, out);
        at = align_up(text + n.n_descsz, notes->alignment);
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
        const struct cbl_notes n = { notes, p[i].p_filesz, p[i].p_align == 8 ? 8 : 4,
                                     p[i].p_offset };
        if (!read_at(fd, notes, p[i].p_filesz, p[i].p_offset, v) ||
            !cbl_notes_scan(&n, &found, out, v))
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
    out->size = out->build_id_size = 0;
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
