/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of cb lint share: lint_elf.c reads a plugin's bytes, lint_libs.c finds the
 * libraries that it needs, lint_rules.c judges, lint.c prints. Nothing of the plugin is run. */
#ifndef CMD_LINT_H
#define CMD_LINT_H

#include "manifest.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* ---- map.c ---- */

struct mapping {
    const uint8_t *bytes; /* NULL when the file is empty */
    uint64_t size;
};

/* Maps a regular file read-only. fd: receives the open file, to be closed by the caller; nullable.
 * False: *why is the reason in words. */
bool mapping_open(const char *path, struct mapping *out, int *fd, const char **why);
void mapping_close(struct mapping *m);

/* ---- lint_elf.c ---- */

/* Names that lie in the mapped file. */
struct word_list {
    const char **items;
    uint64_t count;
};

/* What the headers of a shared library say that the loader does not ask. */
struct library {
    uint16_t machine;      /* EM_* */
    bool stack_is_said;    /* there is a PT_GNU_STACK */
    bool stack_is_code;    /* and it asks for an executable stack */
    bool code_is_writable; /* a segment is both */
    bool text_relocations, symbolic, now;
    const char *rpath, *runpath; /* nullable */
    struct word_list needed, exports;
};

/* Reads a little-endian or big-endian ELF64 file of this machine's byte order. On false *why is
 * the reason; either way the library ends with library_free. */
bool library_read(const uint8_t *bytes, uint64_t size, struct library *out, const char **why);
void library_free(struct library *l);

/* ---- lint_libs.c ---- */

/* Where the dynamic linker would find a library that a file needs: a path to be freed, or NULL. */
char *find_library(const char *plugin, const struct library *l, const char *name);

/* ---- lint_rules.c ---- */

enum lint_level {
    LINT_WARNING,
    LINT_ERROR
};

const char *lint_level_name(enum lint_level level);

struct finding {
    enum lint_level level;
    const char *rule, *advice; /* of the table of rules */
    char *text;
};

struct lint {
    const char *path;
    int fd;
    struct mapping file;
    bool unreadable;      /* no library for this machine: nothing else is judged */
    bool has_manifest;    /* the manifest was read whole */
    struct cbl_note note; /* what the manifest's slices point into */
    struct manifest manifest;
    struct library library;
    char **found; /* the path of each needed library, or NULL */
    struct finding *findings;
    uint64_t n_findings, errors, warnings;
    bool no_memory;
};

/* Fills the lint of one file; it ends with lint_free. */
void lint_file(const char *path, struct lint *out);
void lint_free(struct lint *l);

/* Prints the rules, a line each. */
void lint_help(void);

#endif
