/* SPDX-License-Identifier: Apache-2.0 */
/* Strings: parts of them, ones that grow, and ones that are kept until the loader is closed. */
#ifndef CBL_TEXT_H
#define CBL_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

/* ---- Slices: a part of a string that belongs to someone else ---- */

struct slice {
    const char *at;
    uint64_t size;
};
#define SLICE_ARGS(s) (int)(s).size, (s).at /* for "%.*s" */

struct slice cbl_slice(const char *text);
struct slice cbl_trim(struct slice s); /* without blanks, tabs and CR at both ends */
bool cbl_slice_is(struct slice s, const char *text);

/* Takes the next part that is not empty off a separated list, trimmed. */
bool cbl_split(struct slice *rest, char separator, struct slice *part);

/* Cuts at the first separator: *left and *right get what is around it, trimmed. */
bool cbl_cut(struct slice s, char separator, struct slice *left, struct slice *right);

bool cbl_number(struct slice s, uint64_t max, uint64_t *out); /* digits only, at most max */
bool cbl_real(struct slice s, double *out); /* 1.5, 2e-1: as in the C locale; never negative */
bool cbl_is_id(struct slice s);             /* [a-z0-9_]+ */
bool cbl_is_key(struct slice s);            /* [A-Za-z0-9_.-]+ */
bool cbl_is_printable(struct slice s);      /* ASCII, not empty */

/* Writes two lower-case digits a byte, and a terminator. */
void cbl_hex(char *out, const void *bytes, uint64_t size);

/* ---- Texts that grow ---- */

/* Zeroes are an empty text. When memory runs out the text says so, and nothing else. */
struct text {
    char *at;
    uint64_t size, room;
    bool failed;
};

__attribute__((format(printf, 2, 3))) void cbl_add(struct text *t, const char *format, ...);
void cbl_addv(struct text *t, const char *format, va_list args);
const char *cbl_text(const struct text *t); /* terminated; lives as long as t is unchanged */
void cbl_text_free(struct text *t);

/* Replaces control characters, so that what a file says cannot forge lines or drive a terminal. */
void cbl_one_line(struct text *t);

/* Adds a line, whatever is in it. */
__attribute__((format(printf, 2, 3))) void cbl_line(struct text *t, const char *format, ...);

/* ---- Strings that are kept ---- */

/* Equal texts are kept once, so that a loader which selects a thousand times does not grow. When
 * memory runs out "" is handed out and failed is set, for the caller to look at once. */
struct string;
struct strings {
    struct string *buckets[64];
    bool failed;
};

const char *cbl_keep(struct strings *strings, struct slice text);
__attribute__((format(printf, 2, 3))) const char *cbl_keepf(struct strings *strings,
                                                            const char *format, ...);
void cbl_strings_free(struct strings *strings);

/* ---- Arrays ---- */

/* Room for one more item in an array of count items: the array, perhaps moved, or NULL and the
 * old one is as it was. The capacity is the power of two that count has reached. */
void *cbl_grow(void *items, uint64_t count, uint64_t item_size);

#endif
