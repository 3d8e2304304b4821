/* SPDX-License-Identifier: Apache-2.0 */
/* The INI reader: bytes in, lines out. It knows no section and no key, keeps nothing and asks
 * nobody for memory, so any bytes may be fed to it. */
#ifndef CBL_INI_H
#define CBL_INI_H

#include "text.h"

#define CBL_INI_LINE_MAX (64 * 1024)

enum cbl_ini_kind {
    CBL_INI_SECTION, /* [section] */
    CBL_INI_KEY,     /* key = value, in the section of the last such line */
    CBL_INI_BAD,     /* problem says why; a bad section line ends the section before it */
};

/* The slices point into the bytes that were read. */
struct cbl_ini_line {
    enum cbl_ini_kind kind;
    uint64_t number; /* from 1 */
    struct slice section, key, value;
    const char *problem;
    bool in_section; /* whether a good section line came before */
};

typedef void (*cbl_ini_fn)(void *ctx, const struct cbl_ini_line *line);

/* Calls fn for each line that is neither empty nor a comment. */
void cbl_ini_read(struct slice bytes, cbl_ini_fn fn, void *ctx);

#endif
