/* SPDX-License-Identifier: Apache-2.0 */
#include "json.h"

#include <stddef.h>

/* How many bytes the UTF-8 character at s takes; 0: it is none. */
static uint64_t utf8_size(const unsigned char *s)
{
    static const struct {
        unsigned char mask, lead;
        uint32_t least; /* a longer form of a smaller number is no character */
    } forms[] = {
        { 0x80, 0, 0 }, { 0xe0, 0xc0, 0x80 }, { 0xf0, 0xe0, 0x800 }, { 0xf8, 0xf0, 0x10000 }
    };
    for (uint64_t n = 0; n < sizeof(forms) / sizeof(forms[0]); n++) {
        if ((s[0] & forms[n].mask) != forms[n].lead)
            continue;
        uint32_t code = s[0] & (unsigned char)~forms[n].mask;
        for (uint64_t i = 1; i <= n; i++) {
            if ((s[i] & 0xc0) != 0x80)
                return 0;
            code = code << 6 | (s[i] & 0x3f);
        }
        const bool bad = code < forms[n].least || code > 0x10ffff || (code >> 11) == 0x1b;
        return bad ? 0 : n + 1;
    }
    return 0;
}

/* A path may hold any bytes; JSON may not. */
static void add_quoted(struct text *t, const char *value)
{
    const unsigned char *s = (const unsigned char *)value;
    cbl_add(t, "\"");
    while (*s) {
        const uint64_t size = utf8_size(s);
        if (!size)
            cbl_add(t, "\\ufffd");
        else if (*s == '"' || *s == '\\')
            cbl_add(t, "\\%c", *s);
        else if (*s < ' ' || *s == 0x7f)
            cbl_add(t, "\\u%04x", *s);
        else
            cbl_add(t, "%.*s", (int)size, (const char *)s);
        s += size ? size : 1;
    }
    cbl_add(t, "\"");
}

static void add_key(struct json *j, const char *key)
{
    if (j->more)
        cbl_add(j->t, ", ");
    j->more = true;
    if (!key)
        return;
    add_quoted(j->t, key);
    cbl_add(j->t, ": ");
}

void cbl_json_begin(struct json *j)
{
    cbl_json_open(j, NULL, '{');
    cbl_json_number(j, "schema", 1, 1);
}

void cbl_json_open(struct json *j, const char *key, char bracket)
{
    add_key(j, key);
    cbl_add(j->t, "%c", bracket);
    j->more = false;
}

void cbl_json_close(struct json *j, char bracket)
{
    cbl_add(j->t, "%c", bracket);
    j->more = true;
}

void cbl_json_string(struct json *j, const char *key, const char *value)
{
    add_key(j, key);
    add_quoted(j->t, value);
}

void cbl_json_strings(struct json *j, const char *key, const char *const *values, uint64_t count)
{
    cbl_json_open(j, key, '[');
    for (uint64_t i = 0; i < count; i++)
        cbl_json_string(j, NULL, values[i]);
    cbl_json_close(j, ']');
}

/* Without floating point: its decimal point would be the locale's. */
void cbl_json_number(struct json *j, const char *key, uint64_t value, uint64_t scale)
{
    add_key(j, key);
    if (scale == 1)
        cbl_add(j->t, "%llu", (unsigned long long)value);
    else
        cbl_add(j->t, "%llu.%03llu", (unsigned long long)(value / scale),
                (unsigned long long)(value % scale));
}
