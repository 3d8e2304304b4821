/* SPDX-License-Identifier: Apache-2.0 */
#include "lint.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

/* A real plugin has some; a made-up one must not make this slow. */
#define SEGMENTS_MAX 256
#define DYNAMIC_MAX  4096
#define SYMBOLS_MAX  (1u << 22)

struct view {
    const uint8_t *bytes;
    uint64_t size;
    Elf64_Ehdr header;
    const char *strings; /* of the dynamic section */
    uint64_t strings_size;
};

static bool inside(const struct view *v, uint64_t at, uint64_t size)
{
    return at <= v->size && size <= v->size - at;
}

/* Copies a struct of the file, which may lie at any address. */
static bool take(const struct view *v, uint64_t at, void *out, uint64_t size)
{
    if (!inside(v, at, size))
        return false;
    memcpy(out, v->bytes + at, size);
    return true;
}

static bool segment(const struct view *v, uint32_t i, Elf64_Phdr *out)
{
    uint64_t at;
    return !__builtin_add_overflow(v->header.e_phoff, i * sizeof(*out), &at) &&
           take(v, at, out, sizeof(*out));
}

/* From an address in the loaded library to a place in the file. */
static bool to_offset(const struct view *v, uint64_t address, uint64_t *out)
{
    Elf64_Phdr p;
    for (uint32_t i = 0; i < v->header.e_phnum && segment(v, i, &p); i++) {
        if (p.p_type != PT_LOAD || address < p.p_vaddr || address - p.p_vaddr >= p.p_filesz)
            continue;
        return !__builtin_add_overflow(p.p_offset, address - p.p_vaddr, out) && *out < v->size;
    }
    return false;
}

/* A terminated string of the dynamic string table, or NULL. */
static const char *string_at(const struct view *v, uint64_t at)
{
    if (at >= v->strings_size || !memchr(v->strings + at, 0, v->strings_size - at))
        return NULL;
    return v->strings + at;
}

static bool add_word(struct word_list *list, const char *word)
{
    const char **grown = cbl_grow(list->items, list->count, sizeof(*grown));
    if (!grown)
        return false;
    list->items = grown;
    list->items[list->count++] = word;
    return true;
}

/* What the dynamic section says, before strings are looked up. */
struct dynamic {
    uint64_t strings, strings_size, symbols, hash, gnu_hash;
    uint64_t rpath, runpath; /* in the string table; UINT64_MAX: none */
    uint64_t at, count;      /* the entries themselves, in the file */
};

static void read_flags(const Elf64_Dyn *d, struct library *out)
{
    switch (d->d_tag) {
    case DT_TEXTREL: out->text_relocations = true; break;
    case DT_SYMBOLIC: out->symbolic = true; break;
    case DT_BIND_NOW: out->now = true; break;
    case DT_FLAGS:
        out->text_relocations |= (d->d_un.d_val & DF_TEXTREL) != 0;
        out->symbolic |= (d->d_un.d_val & DF_SYMBOLIC) != 0;
        out->now |= (d->d_un.d_val & DF_BIND_NOW) != 0;
        break;
    case DT_FLAGS_1: out->now |= (d->d_un.d_val & DF_1_NOW) != 0; break;
    default: break;
    }
}

static void read_entry(const Elf64_Dyn *d, struct dynamic *out)
{
    switch (d->d_tag) {
    case DT_STRTAB: out->strings = d->d_un.d_ptr; break;
    case DT_STRSZ: out->strings_size = d->d_un.d_val; break;
    case DT_SYMTAB: out->symbols = d->d_un.d_ptr; break;
    case DT_HASH: out->hash = d->d_un.d_ptr; break;
    case DT_GNU_HASH: out->gnu_hash = d->d_un.d_ptr; break;
    case DT_RPATH: out->rpath = d->d_un.d_val; break;
    case DT_RUNPATH: out->runpath = d->d_un.d_val; break;
    default: break;
    }
}

static bool read_dynamic(const struct view *v, const Elf64_Phdr *p, struct dynamic *dynamic,
                         struct library *out)
{
    Elf64_Dyn d;
    dynamic->at = p->p_offset;
    for (; dynamic->count < DYNAMIC_MAX; dynamic->count++) {
        if ((dynamic->count + 1) * sizeof(d) > p->p_filesz ||
            !take(v, p->p_offset + dynamic->count * sizeof(d), &d, sizeof(d)))
            return false;
        if (d.d_tag == DT_NULL)
            return true;
        read_flags(&d, out);
        read_entry(&d, dynamic);
    }
    return false;
}

static bool read_needed(const struct view *v, const struct dynamic *dynamic, struct library *out)
{
    Elf64_Dyn d;
    for (uint64_t i = 0; i < dynamic->count; i++) {
        if (!take(v, dynamic->at + i * sizeof(d), &d, sizeof(d)))
            return false;
        const char *name = d.d_tag == DT_NEEDED ? string_at(v, d.d_un.d_val) : "";
        if (!name || (*name && !add_word(&out->needed, name)))
            return false;
    }
    return true;
}

/* The number of dynamic symbols, which only the hash tables tell. */
static bool count_symbols(const struct view *v, const struct dynamic *dynamic, uint64_t *count)
{
    uint64_t at;
    uint32_t head[4], last = 0, bucket = 0, chain = 0;
    if (dynamic->hash && to_offset(v, dynamic->hash, &at) && take(v, at, head, 8)) {
        *count = head[1];
        return true;
    }
    if (!dynamic->gnu_hash || !to_offset(v, dynamic->gnu_hash, &at) ||
        !take(v, at, head, sizeof(head)))
        return false;
    const uint64_t buckets = at + sizeof(head) + (uint64_t)head[2] * sizeof(uint64_t);
    const uint64_t chains = buckets + (uint64_t)head[0] * sizeof(bucket);
    if (!inside(v, buckets, (uint64_t)head[0] * sizeof(bucket)))
        return false;
    for (uint32_t i = 0; i < head[0]; i++) {
        take(v, buckets + (uint64_t)i * sizeof(bucket), &bucket, sizeof(bucket));
        last = bucket > last ? bucket : last;
    }
    *count = head[1];
    if (last < head[1])
        return true; /* no bucket is used: nothing is exported */
    do
        if (!take(v, chains + (uint64_t)(last - head[1]) * sizeof(chain), &chain, sizeof(chain)))
            return false;
    while (last++ < UINT32_MAX && !(chain & 1));
    *count = last;
    return true;
}

/* What other libraries would see of it. Linkers of old export marks of their own. */
static bool is_export(const Elf64_Sym *s, const char *name)
{
    static const char *const marks[] = { "_init", "_fini", "_edata", "_end", "__bss_start" };
    const unsigned bind = ELF64_ST_BIND(s->st_info), shown = ELF64_ST_VISIBILITY(s->st_other);
    if (s->st_shndx == SHN_UNDEF || s->st_shndx == SHN_ABS || bind == STB_LOCAL ||
        shown == STV_HIDDEN || shown == STV_INTERNAL)
        return false;
    for (uint64_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
        if (!strcmp(name, marks[i]))
            return false;
    return true;
}

static bool read_exports(const struct view *v, const struct dynamic *dynamic, struct library *out,
                         const char **why)
{
    uint64_t at, count;
    *why = "malformed: its table of symbols cannot be read";
    if (!dynamic->symbols || !to_offset(v, dynamic->symbols, &at) ||
        !count_symbols(v, dynamic, &count) || count > SYMBOLS_MAX)
        return false;
    for (uint64_t i = 1; i < count; i++) {
        Elf64_Sym s;
        if (!take(v, at + i * sizeof(s), &s, sizeof(s)))
            return false;
        const char *name = string_at(v, s.st_name);
        if (!name)
            return false;
        if (is_export(&s, name) && !add_word(&out->exports, name)) {
            *why = "out of memory";
            return false;
        }
    }
    return true;
}

static bool read_segments(const struct view *v, struct dynamic *dynamic, struct library *out,
                          const char **why)
{
    bool has_dynamic = false;
    Elf64_Phdr p;
    *why = "malformed: its program headers cannot be read";
    for (uint32_t i = 0; i < v->header.e_phnum; i++) {
        if (!segment(v, i, &p))
            return false;
        if (p.p_type == PT_LOAD)
            out->code_is_writable |= (p.p_flags & (PF_W | PF_X)) == (PF_W | PF_X);
        if (p.p_type == PT_GNU_STACK) {
            out->stack_is_said = true;
            out->stack_is_code = (p.p_flags & PF_X) != 0;
        }
        if (p.p_type == PT_DYNAMIC && !has_dynamic) {
            has_dynamic = true;
            if (!read_dynamic(v, &p, dynamic, out)) {
                *why = "malformed: its dynamic section has no end";
                return false;
            }
        }
    }
    if (!has_dynamic)
        *why = "it has no dynamic section, so nothing can be looked up in it";
    return has_dynamic;
}

bool library_read(const uint8_t *bytes, uint64_t size, struct library *out, const char **why)
{
    struct view v = { .bytes = bytes, .size = size };
    struct dynamic dynamic = { .rpath = UINT64_MAX, .runpath = UINT64_MAX };
    *out = (struct library){ 0 };
    *why = "malformed: its header cannot be read";
    if (!take(&v, 0, &v.header, sizeof(v.header)) ||
        memcmp(v.header.e_ident, ELFMAG, SELFMAG) != 0 ||
        v.header.e_ident[EI_CLASS] != ELFCLASS64 || v.header.e_phentsize != sizeof(Elf64_Phdr) ||
        v.header.e_phnum > SEGMENTS_MAX)
        return false;
    out->machine = v.header.e_machine;
    if (!read_segments(&v, &dynamic, out, why))
        return false;

    uint64_t at;
    *why = "malformed: its table of strings cannot be read";
    if (!dynamic.strings || !to_offset(&v, dynamic.strings, &at) ||
        !inside(&v, at, dynamic.strings_size))
        return false;
    v.strings = (const char *)bytes + at;
    v.strings_size = dynamic.strings_size;
    if (!read_needed(&v, &dynamic, out))
        return false;
    out->rpath = dynamic.rpath == UINT64_MAX ? NULL : string_at(&v, dynamic.rpath);
    out->runpath = dynamic.runpath == UINT64_MAX ? NULL : string_at(&v, dynamic.runpath);
    return read_exports(&v, &dynamic, out, why);
}

void library_free(struct library *l)
{
    free(l->needed.items);
    free(l->exports.items);
    *l = (struct library){ 0 };
}
