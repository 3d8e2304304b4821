/* SPDX-License-Identifier: Apache-2.0 */
/* Writes JSON. A key is NULL in an array. */
#ifndef CBL_JSON_H
#define CBL_JSON_H

#include "text.h"

/* Values go to the text, which says when memory ran out. */
struct json {
    struct text *t;
    bool more; /* a comma is due before the next value */
};

void cbl_json_begin(struct json *j);                               /* {"schema": 1 */
void cbl_json_open(struct json *j, const char *key, char bracket); /* { or [ */
void cbl_json_close(struct json *j, char bracket);                 /* } or ] */
void cbl_json_string(struct json *j, const char *key, const char *value);
void cbl_json_strings(struct json *j, const char *key, const char *const *values, uint64_t count);

/* value / scale, where scale is 1 or 1000. */
void cbl_json_number(struct json *j, const char *key, uint64_t value, uint64_t scale);

#endif
