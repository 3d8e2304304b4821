/* SPDX-License-Identifier: Apache-2.0 */
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct slice cbl_slice(const char *text)
{
    return (struct slice){ text, strlen(text) };
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

struct slice cbl_trim(struct slice s)
{
    while (s.size && is_blank(s.at[0])) {
        s.at++;
        s.size--;
    }
    while (s.size && is_blank(s.at[s.size - 1]))
        s.size--;
    return s;
}

bool cbl_slice_is(struct slice s, const char *text)
{
    return s.size == strlen(text) && !memcmp(s.at, text, s.size);
}

bool cbl_split(struct slice *rest, char separator, struct slice *part)
{
    while (rest->size) {
        const char *end = memchr(rest->at, separator, rest->size);
        const uint64_t size = end ? (uint64_t)(end - rest->at) : rest->size;
        *part = cbl_trim((struct slice){ rest->at, size });
        rest->at += end ? size + 1 : size;
        rest->size -= end ? size + 1 : size;
        if (part->size)
            return true;
    }
    return false;
}

bool cbl_cut(struct slice s, char separator, struct slice *left, struct slice *right)
{
    const char *at = s.size ? memchr(s.at, separator, s.size) : NULL;
    if (!at)
        return false;
    const uint64_t size = (uint64_t)(at - s.at);
    *left = cbl_trim((struct slice){ s.at, size });
    *right = cbl_trim((struct slice){ at + 1, s.size - size - 1 });
    return true;
}

bool cbl_number(struct slice s, uint64_t max, uint64_t *out)
{
    uint64_t value = 0;
    for (uint64_t i = 0; i < s.size; i++) {
        const uint64_t digit = (uint64_t)(unsigned char)s.at[i] - '0';
        if (digit > 9 || value > (UINT64_MAX - 9) / 10)
            return false;
        value = value * 10 + digit;
    }
    if (!s.size || value > max)
        return false;
    *out = value;
    return true;
}

/* Takes decimal digits off the front. What a double cannot hold of them counts as zeroes. */
static uint64_t take_digits(struct slice *s, double *value)
{
    uint64_t n = 0;
    for (; n < s->size && s->at[n] >= '0' && s->at[n] <= '9'; n++)
        *value = *value * 10 + (s->at[n] - '0');
    s->at += n;
    s->size -= n;
    return n;
}

static bool take_char(struct slice *s, const char *set)
{
    if (!s->size || !s->at[0] || !strchr(set, s->at[0]))
        return false;
    s->at++;
    s->size--;
    return true;
}

bool cbl_real(struct slice s, double *out)
{
    double value = 0, exponent = 0;
    uint64_t digits = take_digits(&s, &value), fraction = 0;
    if (take_char(&s, "."))
        fraction = take_digits(&s, &value);
    if (!digits && !fraction)
        return false;
    if (take_char(&s, "eE")) {
        const bool negative = s.size && s.at[0] == '-';
        take_char(&s, "+-");
        if (!take_digits(&s, &exponent))
            return false;
        exponent = negative ? -exponent : exponent;
    }
    exponent -= (double)fraction;
    for (; exponent > 0 && value > 0 && value <= 1e300; exponent--)
        value *= 10;
    if (exponent > 0 && value > 0)
        return false;
    for (; exponent < 0 && value > 0; exponent++)
        value /= 10;
    *out = value;
    return s.size == 0;
}

static bool is_id_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

static bool is_key_char(char c)
{
    return is_id_char(c) || (c >= 'A' && c <= 'Z') || c == '.' || c == '-';
}

static bool is_printable_char(char c)
{
    return c >= ' ' && c <= '~';
}

static bool all(struct slice s, bool (*is)(char))
{
    for (uint64_t i = 0; i < s.size; i++)
        if (!is(s.at[i]))
            return false;
    return s.size != 0;
}

bool cbl_is_id(struct slice s)
{
    return all(s, is_id_char);
}

bool cbl_is_key(struct slice s)
{
    return all(s, is_key_char);
}

bool cbl_is_printable(struct slice s)
{
    return all(s, is_printable_char);
}

void cbl_hex(char *out, const void *bytes, uint64_t size)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *at = bytes;
    for (uint64_t i = 0; i < size; i++) {
        *out++ = digits[at[i] >> 4];
        *out++ = digits[at[i] & 15];
    }
    *out = 0;
}

/* Makes room for size more bytes and a terminator. */
static bool text_reserve(struct text *t, uint64_t size)
{
    if (t->failed)
        return false;
    if (size < t->room - t->size)
        return true;
    uint64_t room = t->room ? t->room : 128;
    while (room - t->size <= size && room <= UINT64_MAX / 4)
        room *= 2;
    char *at = room - t->size > size ? realloc(t->at, room) : NULL;
    if (!at) {
        t->failed = true;
        return false;
    }
    t->at = at;
    t->room = room;
    return true;
}

void cbl_addv(struct text *t, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    const int size = vsnprintf(NULL, 0, format, args);
    if (size < 0)
        t->failed = true;
    else if (text_reserve(t, (uint64_t)size)) {
        vsnprintf(t->at + t->size, (uint64_t)size + 1, format, again);
        t->size += (uint64_t)size;
    }
    va_end(again);
}

void cbl_add(struct text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    cbl_addv(t, format, args);
    va_end(args);
}

const char *cbl_text(const struct text *t)
{
    if (t->failed)
        return "out of memory";
    return t->at ? t->at : "";
}

void cbl_text_free(struct text *t)
{
    free(t->at);
    *t = (struct text){ 0 };
}

void cbl_one_line(struct text *t)
{
    for (uint64_t i = 0; i < t->size; i++)
        if ((unsigned char)t->at[i] < ' ' || t->at[i] == 0x7f)
            t->at[i] = t->at[i] == '\n' || t->at[i] == '\t' ? ' ' : '?';
}

void cbl_line(struct text *t, const char *format, ...)
{
    struct text whole = { 0 };
    va_list args;
    va_start(args, format);
    cbl_addv(&whole, format, args);
    va_end(args);
    cbl_one_line(&whole);
    cbl_add(t, "%s\n", cbl_text(&whole));
    t->failed |= whole.failed;
    cbl_text_free(&whole);
}

struct string {
    struct string *next;
    uint64_t size;
    char text[];
};

static struct string **bucket_of(struct strings *strings, struct slice text)
{
    uint64_t hash = 0xcbf29ce484222325;
    for (uint64_t i = 0; i < text.size; i++)
        hash = (hash ^ (unsigned char)text.at[i]) * 0x100000001b3;
    return &strings->buckets[(hash >> 32) % 64];
}

const char *cbl_keep(struct strings *strings, struct slice text)
{
    struct string **bucket = bucket_of(strings, text);
    for (struct string *s = *bucket; s; s = s->next)
        if (s->size == text.size && !memcmp(s->text, text.at, text.size))
            return s->text;

    struct string *s = malloc(sizeof(*s) + text.size + 1);
    if (!s) {
        strings->failed = true;
        return "";
    }
    s->next = *bucket;
    s->size = text.size;
    memcpy(s->text, text.at, text.size);
    s->text[text.size] = 0;
    *bucket = s;
    return s->text;
}

const char *cbl_keepf(struct strings *strings, const char *format, ...)
{
    struct text t = { 0 };
    va_list args;
    va_start(args, format);
    cbl_addv(&t, format, args);
    va_end(args);
    const char *kept = "";
    if (t.failed)
        strings->failed = true;
    else
        kept = cbl_keep(strings, cbl_slice(cbl_text(&t)));
    cbl_text_free(&t);
    return kept;
}

void cbl_strings_free(struct strings *strings)
{
    for (uint64_t i = 0; i < 64; i++) {
        for (struct string *s = strings->buckets[i], *next; s; s = next) {
            next = s->next;
            free(s);
        }
        strings->buckets[i] = NULL;
    }
}

void *cbl_grow(void *items, uint64_t count, uint64_t item_size)
{
    if (count & (count - 1))
        return items;
    const uint64_t room = count ? count * 2 : 1;
    if (room < count || room > UINT64_MAX / item_size)
        return NULL;
    return realloc(items, room * item_size);
}
