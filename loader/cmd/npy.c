/* SPDX-License-Identifier: Apache-2.0 */
#include "npy.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define NATIVE  '>'
#define FOREIGN "little"
#else
#define NATIVE  '<'
#define FOREIGN "big"
#endif

#define MAGIC "\x93NUMPY"

static const struct {
    const char *code, *name;
    uint32_t size;
} types[NPY_TYPE_COUNT] = {
    [NPY_F16] = { "f2", "f16", 2 }, [NPY_F32] = { "f4", "f32", 4 }, [NPY_F64] = { "f8", "f64", 8 },
    [NPY_I64] = { "i8", "i64", 8 }, [NPY_U64] = { "u8", "u64", 8 },
};

uint32_t npy_item_size(uint32_t type)
{
    return types[type].size;
}

const char *npy_type_name(uint32_t type)
{
    return types[type].name;
}

bool npy_measure(struct npy *a)
{
    uint64_t bytes = npy_item_size(a->type);
    bool empty = false;
    for (uint32_t i = 0; i < a->rank; i++) {
        empty = empty || !a->shape[i];
        if (__builtin_mul_overflow(bytes, a->shape[i] ? a->shape[i] : 1, &bytes))
            return false;
    }
    a->bytes = empty ? 0 : bytes;
    return true;
}

/* ---- Reading: the header is a Python dictionary of three entries ---- */

struct reader {
    const char *at, *end;
    char *why;
};

__attribute__((format(printf, 2, 3))) static bool fail(char *why, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(why, NPY_WHY_SIZE, format, args);
    va_end(args);
    return false;
}

static void skip_blanks(struct reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\n'))
        r->at++;
}

/* Takes the character if it is the next after blanks. */
static bool accept(struct reader *r, char c)
{
    skip_blanks(r);
    if (r->at == r->end || *r->at != c)
        return false;
    r->at++;
    return true;
}

static bool expect(struct reader *r, char c)
{
    if (accept(r, c))
        return true;
    if (r->at == r->end)
        return fail(r->why, "the header ends where '%c' belongs", c);
    return fail(r->why, "the header has '%c' where '%c' belongs", *r->at, c);
}

/* A string in either kind of quotes. Backslashes have no place in it. */
static bool read_string(struct reader *r, char *out, uint64_t size)
{
    uint64_t n = 0;
    skip_blanks(r);
    const char quote = r->at < r->end && *r->at == '"' ? '"' : '\'';
    if (!expect(r, quote))
        return false;
    while (r->at < r->end && *r->at != quote && n + 1 < size)
        out[n++] = *r->at++;
    out[n] = '\0';
    if (r->at == r->end || *r->at != quote)
        return fail(r->why, "the header has a string that is too long or has no end: %s", out);
    r->at++;
    return true;
}

static bool accept_word(struct reader *r, const char *word)
{
    const uint64_t size = strlen(word);
    skip_blanks(r);
    if ((uint64_t)(r->end - r->at) < size || memcmp(r->at, word, size) != 0)
        return false;
    r->at += size;
    return true;
}

static bool read_order(struct reader *r, struct npy *out)
{
    out->fortran = accept_word(r, "True");
    if (out->fortran || accept_word(r, "False"))
        return true;
    return fail(r->why, "'fortran_order' is neither True nor False");
}

static bool read_type(struct reader *r, struct npy *out)
{
    char text[16];
    skip_blanks(r);
    if (r->at < r->end && *r->at == '[')
        return fail(r->why, "a structured type is not read");
    if (!read_string(r, text, sizeof(text)))
        return false;
    for (uint32_t i = 0; i < NPY_TYPE_COUNT; i++) {
        if (!*text || strcmp(text + 1, types[i].code) != 0)
            continue;
        out->type = i;
        if (*text == NATIVE)
            return true;
        if (*text == '<' || *text == '>')
            return fail(r->why, "type '%s' is " FOREIGN "-endian, which is not read", text);
    }
    return fail(r->why, "type '%s' is not read; f2, f4, f8, i8 and u8 are", text);
}

static bool read_extent(struct reader *r, uint64_t *out)
{
    skip_blanks(r);
    const char *start = r->at;
    *out = 0;
    for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++)
        if (__builtin_mul_overflow(*out, 10, out) ||
            __builtin_add_overflow(*out, (uint64_t)(*r->at - '0'), out))
            return fail(r->why, "an extent of 'shape' is too large");
    if (r->at == start)
        return fail(r->why, "'shape' holds something that is no whole number");
    accept(r, 'L'); /* as Python 2 wrote its long integers */
    return true;
}

static bool read_shape(struct reader *r, struct npy *out)
{
    bool comma = true;
    if (!accept(r, '('))
        return fail(r->why, "'shape' is no tuple");
    out->rank = 0;
    while (!accept(r, ')')) {
        if (!comma)
            return expect(r, ',');
        if (out->rank == NPY_RANK_MAX)
            return fail(r->why, "'shape' has more than %d axes", NPY_RANK_MAX);
        if (!read_extent(r, &out->shape[out->rank]))
            return false;
        out->rank++;
        comma = accept(r, ',');
    }
    if (out->rank == 1 && !comma)
        return fail(r->why, "'shape' is no tuple");
    return true;
}

static const struct {
    const char *name;
    bool (*read)(struct reader *r, struct npy *out);
} entries[] = {
    { "descr", read_type },
    { "fortran_order", read_order },
    { "shape", read_shape },
};
#define ENTRY_COUNT (sizeof(entries) / sizeof(entries[0]))

static bool read_entry(struct reader *r, bool seen[ENTRY_COUNT], struct npy *out)
{
    char name[16];
    if (!read_string(r, name, sizeof(name)) || !expect(r, ':'))
        return false;
    for (uint64_t i = 0; i < ENTRY_COUNT; i++) {
        if (strcmp(name, entries[i].name) != 0)
            continue;
        if (seen[i])
            return fail(r->why, "the header has '%s' twice", name);
        seen[i] = true;
        return entries[i].read(r, out);
    }
    return fail(r->why, "the header has an entry '%s', which is not known", name);
}

static bool read_dictionary(struct reader *r, struct npy *out)
{
    bool seen[ENTRY_COUNT] = { false }, comma = true;
    for (const char *c = r->at; c < r->end; c++)
        if ((*c < ' ' || *c > '~') && *c != '\n' && *c != '\t')
            return fail(r->why, "the header has a byte 0x%02x", (unsigned)(uint8_t)*c);
    if (!expect(r, '{'))
        return false;
    while (!accept(r, '}')) {
        if (!comma)
            return expect(r, ',');
        if (!read_entry(r, seen, out))
            return false;
        comma = accept(r, ',');
    }
    skip_blanks(r);
    if (r->at < r->end)
        return fail(r->why, "the header goes on after its '}'");
    for (uint64_t i = 0; i < ENTRY_COUNT; i++)
        if (!seen[i])
            return fail(r->why, "the header has no '%s'", entries[i].name);
    return true;
}

/* Finds the dictionary behind magic, version and length. */
static bool find_dictionary(const uint8_t *bytes, uint64_t size, struct reader *out)
{
    const uint64_t start = sizeof(MAGIC) - 1 + 2;
    if (size < start || memcmp(bytes, MAGIC, sizeof(MAGIC) - 1) != 0)
        return fail(out->why, "this is no .npy file");
    const uint32_t major = bytes[start - 2], minor = bytes[start - 1];
    if ((major != 1 && major != 2) || minor)
        return fail(out->why, "version %u.%u of .npy is not read; 1.0 and 2.0 are", (unsigned)major,
                    (unsigned)minor);
    const uint64_t width = major == 1 ? 2 : 4;
    uint64_t length = 0;
    if (size < start + width)
        return fail(out->why, "the file ends within its header");
    for (uint64_t i = 0; i < width; i++)
        length |= (uint64_t)bytes[start + i] << 8 * i;
    if (length > NPY_DICTIONARY_MAX)
        return fail(out->why, "a header of %" PRIu64 " bytes is not read; at most %d are", length,
                    NPY_DICTIONARY_MAX);
    if (size - start - width < length)
        return fail(out->why, "the file ends within its header");
    out->at = (const char *)bytes + start + width;
    out->end = out->at + length;
    return true;
}

bool npy_parse(const uint8_t *bytes, uint64_t size, struct npy *out, char why[NPY_WHY_SIZE])
{
    struct npy a = { 0 };
    struct reader r = { .why = why };
    if (!find_dictionary(bytes, size, &r) || !read_dictionary(&r, &a))
        return false;
    if (!npy_measure(&a))
        return fail(why, "'shape' says more bytes than there can be");
    a.offset = (uint64_t)(r.end - (const char *)bytes);
    const uint64_t there = size - a.offset;
    if (there < a.bytes)
        return fail(why, "the file is cut short: %" PRIu64 " bytes of %" PRIu64 " are there", there,
                    a.bytes);
    if (there > a.bytes)
        return fail(why, "%" PRIu64 " bytes follow the last element", there - a.bytes);
    *out = a;
    return true;
}

/* ---- Writing ---- */

uint64_t npy_header(const struct npy *a, char out[NPY_HEADER_MAX])
{
    const uint64_t start = sizeof(MAGIC) - 1 + 4;
    uint64_t n = start;
    n += (uint64_t)sprintf(out + n, "{'descr': '%c%s', 'fortran_order': %s, 'shape': (", NATIVE,
                           types[a->type].code, a->fortran ? "True" : "False");
    for (uint32_t i = 0; i < a->rank; i++)
        n += (uint64_t)sprintf(out + n, "%s%" PRIu64, i ? ", " : "", a->shape[i]);
    n += (uint64_t)sprintf(out + n, "%s), }", a->rank == 1 ? "," : "");
    while (n % 64 != 63)
        out[n++] = ' ';
    out[n++] = '\n';
    memcpy(out, MAGIC "\x01", start - 2); /* version 1, and 0 for what is behind the point */
    out[start - 2] = (char)((n - start) & 0xff);
    out[start - 1] = (char)((n - start) >> 8);
    return n;
}
