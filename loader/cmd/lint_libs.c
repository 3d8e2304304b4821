/* SPDX-License-Identifier: Apache-2.0 */
/* The search of the dynamic linker, without asking it: it would run the libraries. */
#include "lint.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#define CACHE_PATH  "/etc/ld.so.cache"
#define CACHE_MAGIC "glibc-ld.so.cache1.1"

/* After the cache. A library of another machine in one of them is passed over. */
static const char *const default_directories[] = {
    "/lib64",
    "/usr/lib64",
    "/lib",
    "/usr/lib",
};

/* Whether a path is an ELF file for the machine. */
static bool is_library(const char *path, uint16_t machine)
{
    struct mapping m;
    const char *why;
    Elf64_Ehdr e;
    if (!mapping_open(path, &m, NULL, &why))
        return false;
    const bool whole = m.size >= sizeof(e);
    if (whole)
        memcpy(&e, m.bytes, sizeof(e));
    mapping_close(&m);
    return whole && !memcmp(e.e_ident, ELFMAG, SELFMAG) && e.e_ident[EI_CLASS] == ELFCLASS64 &&
           e.e_machine == machine;
}

/* The path if there is such a library, to be freed. */
static char *take_if_good(struct text *path, uint16_t machine)
{
    if (!path->failed && is_library(cbl_text(path), machine))
        return path->at;
    cbl_text_free(path);
    return NULL;
}

/* Adds a directory with $ORIGIN replaced by the plugin's own. */
static void add_directory(struct text *t, struct slice directory, const char *plugin)
{
    static const char *const words[] = { "$ORIGIN", "${ORIGIN}" };
    for (uint64_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        const uint64_t size = strlen(words[i]);
        if (directory.size < size || memcmp(directory.at, words[i], size) != 0)
            continue;
        const char *slash = strrchr(plugin, '/');
        cbl_add(t, "%.*s", slash ? (int)(slash - plugin) : 1, slash ? plugin : ".");
        directory.at += size;
        directory.size -= size;
    }
    cbl_add(t, "%.*s", SLICE_ARGS(directory));
}

static char *find_in_list(const char *list, const char *plugin, uint16_t machine, const char *name)
{
    struct slice rest = cbl_slice(list ? list : ""), directory;
    char *found = NULL;
    while (!found && cbl_split(&rest, ':', &directory)) {
        struct text path = { 0 };
        add_directory(&path, directory, plugin);
        cbl_add(&path, "/%s", name);
        found = take_if_good(&path, machine);
    }
    return found;
}

struct cache_header {
    char magic[sizeof(CACHE_MAGIC) - 1];
    uint32_t count, strings_size, unused[5];
};

struct cache_entry {
    int32_t flags;
    uint32_t name, path; /* from the header */
    uint32_t os_version;
    uint64_t hardware;
};

static const char *cache_string(const char *cache, uint64_t size, uint32_t at)
{
    return at < size && memchr(cache + at, 0, size - at) ? cache + at : NULL;
}

static char *find_in_cache_at(const char *cache, uint64_t size, uint16_t machine, const char *name)
{
    struct cache_header h;
    memcpy(&h, cache, sizeof(h));
    for (uint64_t i = 0; i < h.count && (i + 1) * sizeof(struct cache_entry) <= size - sizeof(h);
         i++) {
        struct cache_entry e;
        memcpy(&e, cache + sizeof(h) + i * sizeof(e), sizeof(e));
        const char *known = cache_string(cache, size, e.name);
        const char *where = cache_string(cache, size, e.path);
        if (!known || !where || strcmp(known, name) != 0)
            continue;
        struct text path = { 0 };
        cbl_add(&path, "%s", where);
        char *found = take_if_good(&path, machine);
        if (found)
            return found;
    }
    return NULL;
}

/* The C library's list of the libraries in its directories; other C libraries have none. */
static char *find_in_cache(uint16_t machine, const char *name)
{
    struct mapping m;
    const char *why;
    char *found = NULL;
    if (!mapping_open(CACHE_PATH, &m, NULL, &why))
        return NULL;
    /* An old one has a table in an older format before it. */
    const char *cache = m.size ? memmem(m.bytes, m.size, CACHE_MAGIC, strlen(CACHE_MAGIC)) : NULL;
    const uint64_t size = cache ? m.size - (uint64_t)(cache - (const char *)m.bytes) : 0;
    if (size > sizeof(struct cache_header))
        found = find_in_cache_at(cache, size, machine, name);
    mapping_close(&m);
    return found;
}

char *find_library(const char *plugin, const struct library *l, const char *name)
{
    char *found = NULL;
    if (strchr(name, '/')) {
        struct text path = { 0 };
        cbl_add(&path, "%s", name);
        return take_if_good(&path, l->machine);
    }
    if (!l->runpath)
        found = find_in_list(l->rpath, plugin, l->machine, name);
    if (!found)
        found = find_in_list(getenv("LD_LIBRARY_PATH"), plugin, l->machine, name);
    if (!found)
        found = find_in_list(l->runpath, plugin, l->machine, name);
    if (!found)
        found = find_in_cache(l->machine, name);
    for (uint64_t i = 0; !found && i < sizeof(default_directories) / sizeof(char *); i++)
        found = find_in_list(default_directories[i], plugin, l->machine, name);
    return found;
}
