/* SPDX-License-Identifier: Apache-2.0 */
/* The INI reader alone: bytes in, lines out. */
#include "backend.h"
#include "ini.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The lines of a text as one string: "2:[section] 3:section.key=value 4:bad". */
struct rendering {
    char text[512];
    struct slice bytes; /* what was read, to check that slices lie inside */
};

static int is_inside(struct slice part, struct slice whole)
{
    return !part.size || (part.at >= whole.at && part.at + part.size <= whole.at + whole.size);
}

static void render(void *ctx, const struct cbl_ini_line *line)
{
    struct rendering *r = ctx;
    char one[256];
    const struct slice s = line->in_section ? line->section : (struct slice){ "-", 1 };
    assert_true(is_inside(line->key, r->bytes) && is_inside(line->value, r->bytes));
    assert_true(!line->in_section || is_inside(line->section, r->bytes));
    if (line->kind == CBL_INI_SECTION)
        snprintf(one, sizeof(one), "%d:[%.*s] ", (int)line->number, SLICE_ARGS(s));
    else if (line->kind == CBL_INI_KEY)
        snprintf(one, sizeof(one), "%d:%.*s.%.*s=%.*s ", (int)line->number, SLICE_ARGS(s),
                 SLICE_ARGS(line->key), SLICE_ARGS(line->value));
    else
        snprintf(one, sizeof(one), "%d:bad ", (int)line->number);
    assert_true(line->kind != CBL_INI_BAD || (line->problem && *line->problem));
    strncat(r->text, one, sizeof(r->text) - strlen(r->text) - 1);
}

static void expect_lines(const char *bytes, size_t size, const char *want)
{
    struct rendering r = { .bytes = { bytes, size } };
    cbl_ini_read(r.bytes, render, &r);
    assert_string_equal(r.text, want);
}

static void lines_are_read_as_the_rules_say(void **state)
{
    (void)state;
    static const struct {
        const char *bytes, *want;
    } rows[] = {
        { "", "" },
        { "\n\n\r\n \t\n", "" },
        { "# c\n; c\n  # c\n", "" },
        { "[a]\nk=v\n", "1:[a] 2:a.k=v " },
        { "[a]\nk=v", "1:[a] 2:a.k=v " },
        { "[a]\r\nk=v\r\n", "1:[a] 2:a.k=v " },
        { "\xef\xbb\xbf[a]\nk=v\n", "1:[a] 2:a.k=v " },
        { "[a]\n\xef\xbb\xbfk=v\n", "1:[a] 2:bad " },
        { "\t[ a ] \t\n  k \t=\t v w \t\r\n", "1:[a] 2:a.k=v w " },
        { "[a]\nk=\n", "1:[a] 2:a.k= " },
        { "[a]\nk=v=w\n", "1:[a] 2:a.k=v=w " },
        { "[a]\nk=v # w ; x\n", "1:[a] 2:a.k=v # w ; x " },
        { "k=v\n", "1:-.k=v " },
        { "[backend.x-1_y]\n", "1:[backend.x-1_y] " },
        { "[a]\nword\nk=v\n", "1:[a] 2:bad 3:a.k=v " },
        { "[a]\n=v\nk k=v\n", "1:[a] 2:bad 3:bad " },
        { "[a]\n[b\nk=v\n", "1:[a] 2:bad 3:-.k=v " },
        { "[a]\n[b] tail\nk=v\n", "1:[a] 2:bad 3:-.k=v " },
        { "[]\n[ ]\n[\n]\n[[a]]\n", "1:bad 2:bad 3:bad 4:bad 5:bad " },
        { "[a]\n\n\nk=v\n", "1:[a] 4:a.k=v " },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        expect_lines(rows[i].bytes, strlen(rows[i].bytes), rows[i].want);
}

static void a_nul_byte_makes_a_bad_line_and_hides_nothing_after_it(void **state)
{
    (void)state;
    static const char bytes[] = "[a]\nk\0=v\nl=w\0\nm=x\n";
    expect_lines(bytes, sizeof(bytes) - 1, "1:[a] 2:bad 3:bad 4:a.m=x ");
}

static void a_line_may_have_64_kib_and_no_more(void **state)
{
    (void)state;
    for (size_t over = 0; over < 2; over++) {
        const size_t size = 4 + CBL_INI_LINE_MAX + over + 5;
        char *bytes = malloc(size);
        assert_non_null(bytes);
        memset(bytes, ' ', size);
        memcpy(bytes, "[a]\nk=v", 7);
        memcpy(bytes + size - 5, "\nl=w\n", 5);
        expect_lines(bytes, size, over ? "1:[a] 2:bad 3:a.l=w " : "1:[a] 2:a.k=v 3:a.l=w ");
        free(bytes);
    }
}

/* A fixed stream of bytes that are likely to mean something to an INI reader. */
static void no_bytes_lead_outside_the_buffer(void **state)
{
    (void)state;
    static const char likely[] = "[]=#;\n\r\t .ak\xef\xbb\xbf\0";
    uint32_t seed = 1;
    for (int round = 0; round < 20000; round++) {
        char *bytes = malloc(24);
        assert_non_null(bytes);
        for (int i = 0; i < 24; i++) {
            seed = seed * 1664525u + 1013904223u;
            bytes[i] = likely[(seed >> 24) % sizeof(likely)];
        }
        struct rendering r = { .bytes = { bytes, 24 } };
        cbl_ini_read(r.bytes, render, &r);
        free(bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_read_as_the_rules_say),
        cmocka_unit_test(a_nul_byte_makes_a_bad_line_and_hides_nothing_after_it),
        cmocka_unit_test(a_line_may_have_64_kib_and_no_more),
        cmocka_unit_test(no_bytes_lead_outside_the_buffer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
