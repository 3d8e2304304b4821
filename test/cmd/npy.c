/* SPDX-License-Identifier: Apache-2.0 */
/* The reader and the writer of .npy headers, byte by byte. A file lies in memory of just its size,
 * so that a sanitizer or valgrind sees a read beyond its end. */
#include "backend.h"
#include "npy.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define OWN     ">"
#define OTHER   "<"
#define FOREIGN "little-endian"
#else
#define OWN     "<"
#define OTHER   ">"
#define FOREIGN "big-endian"
#endif

#define TYPE(code)   "'descr': '" code "'"
#define F4           TYPE(OWN "f4")
#define ORDER        "'fortran_order': False"
#define SHAPE(shape) "'shape': " shape

struct file {
    uint8_t *bytes;
    uint64_t size;
};

/* A whole file, to be freed: magic, version, length and text of the header, and zeroes. */
static struct file build(uint32_t major, const char *text, uint64_t elements)
{
    const uint64_t width = major == 1 ? 2 : 4, length = strlen(text);
    struct file f = { .size = 8 + width + length + elements };
    f.bytes = calloc(f.size, 1);
    assert_non_null(f.bytes);
    memcpy(f.bytes, "\x93NUMPY", 6);
    f.bytes[6] = (uint8_t)major;
    for (uint64_t i = 0; i < width; i++)
        f.bytes[8 + i] = (uint8_t)(length >> 8 * i);
    memcpy(f.bytes + 8 + width, text, length);
    return f;
}

static void reads(uint32_t major, const char *text, uint64_t elements, struct npy *out)
{
    char why[NPY_WHY_SIZE] = "";
    struct file f = build(major, text, elements);
    if (!npy_parse(f.bytes, f.size, out, why))
        fail_msg("%s: %s", text, why);
    assert_int_equal(out->offset, f.size - elements);
    assert_int_equal(out->bytes, elements);
    free(f.bytes);
}

/* Refused for that reason, with the description as it was. Frees the file. */
static void refuses_file(struct file f, const char *reason)
{
    char why[NPY_WHY_SIZE] = "";
    struct npy out, before;
    memset(&before, 0x5a, sizeof(before));
    out = before;
    assert_false(npy_parse(f.bytes, f.size, &out, why));
    assert_memory_equal(&out, &before, sizeof(out));
    if (!strstr(why, reason))
        fail_msg("said '%s', not '%s'", why, reason);
    free(f.bytes);
}

static void refuses(const char *text, const char *reason)
{
    refuses_file(build(1, text, 4), reason);
}

static void a_header_that_was_written_is_read_back(void **state)
{
    static const uint64_t extents[][4] = { { 2, 3, 4, 5 }, { 1, 1, 1, 1 }, { 0, 7, 0, 1 } };
    (void)state;
    for (uint32_t i = 0; i < 3 * NPY_TYPE_COUNT * 5 * 2; i++) {
        struct npy a = { .type = i % NPY_TYPE_COUNT,
                         .rank = i / NPY_TYPE_COUNT % 5,
                         .fortran = i / NPY_TYPE_COUNT / 5 % 2 },
                   b;
        char header[NPY_HEADER_MAX], why[NPY_WHY_SIZE];
        memcpy(a.shape, extents[i / NPY_TYPE_COUNT / 10], a.rank * sizeof(a.shape[0]));
        assert_true(npy_measure(&a));
        a.offset = npy_header(&a, header);
        assert_int_equal(a.offset % 64, 0);
        struct file f = { calloc(a.offset + a.bytes, 1), a.offset + a.bytes };
        assert_non_null(f.bytes);
        memcpy(f.bytes, header, a.offset);
        assert_true(npy_parse(f.bytes, f.size, &b, why));
        assert_memory_equal(&a, &b, sizeof(a));
        free(f.bytes);
    }
}

static void version_2_is_read_as_version_1(void **state)
{
    struct npy a, b;
    (void)state;
    reads(1, "{" F4 ", " ORDER ", " SHAPE("(2, 3)") ", }\n", 24, &a);
    reads(2, "{" F4 ", " ORDER ", " SHAPE("(2, 3)") ", }\n", 24, &b);
    assert_int_equal(b.offset, a.offset + 2);
    b.offset = a.offset;
    assert_memory_equal(&a, &b, sizeof(a));
}

static void entries_may_come_in_any_order_and_either_quotes(void **state)
{
    static const char *const same[] = {
        "{" SHAPE("(2,3)") "," ORDER "," F4 "}",
        "{" ORDER "," F4 "," SHAPE("(2,3,)") ",}",
        "  {  \"descr\"  :  \"" OWN
        "f4\" , \"shape\" : ( 2 , 3 ) , \"fortran_order\" : False , } \n",
        "{" F4 "," ORDER "," SHAPE("(2L, 3L)") "}   ",
    };
    (void)state;
    for (uint64_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
        struct npy a;
        reads(1, same[i], 24, &a);
        assert_int_equal(a.type, NPY_F32);
        assert_false(a.fortran);
        assert_int_equal(a.rank, 2);
        assert_int_equal(a.shape[0], 2);
        assert_int_equal(a.shape[1], 3);
    }
}

static void the_order_is_read(void **state)
{
    struct npy a;
    (void)state;
    reads(1, "{" F4 ", 'fortran_order': True, " SHAPE("(2, 3)") "}", 24, &a);
    assert_true(a.fortran);
}

/* "(1, 1, ..., )" of a rank. */
static void ones(char *out, uint32_t rank)
{
    out += sprintf(out, "{" F4 ", " ORDER ", 'shape': (");
    for (uint32_t i = 0; i < rank; i++)
        out += sprintf(out, "1, ");
    sprintf(out, ")}");
}

static void ranks_from_0_to_64_are_read_and_65_is_refused(void **state)
{
    char text[512];
    struct npy a;
    (void)state;
    for (uint32_t rank = 0; rank <= NPY_RANK_MAX; rank++) {
        ones(text, rank);
        reads(1, text, 4, &a);
        assert_int_equal(a.rank, rank);
    }
    ones(text, NPY_RANK_MAX + 1);
    refuses(text, "more than 64 axes");
}

static void the_longest_header_has_room(void **state)
{
    struct npy a = { .type = NPY_F64, .rank = NPY_RANK_MAX };
    char header[NPY_HEADER_MAX];
    (void)state;
    for (uint32_t i = 0; i < a.rank; i++)
        a.shape[i] = UINT64_MAX;
    assert_true(npy_header(&a, header) <= sizeof(header));
}

static void an_array_without_elements_has_no_bytes(void **state)
{
    struct npy a;
    (void)state;
    reads(1, "{" F4 ", " ORDER ", " SHAPE("(0, 2305843009213693951)") "}", 0, &a);
    assert_int_equal(a.shape[1], 2305843009213693951);
}

static void every_type_is_told_by_its_code(void **state)
{
    static const struct {
        const char *text, *name;
        uint32_t type, size;
    } rows[] = {
        { "{" TYPE(OWN "f2") "," ORDER "," SHAPE("()") "}", "f16", NPY_F16, 2 },
        { "{" TYPE(OWN "f4") "," ORDER "," SHAPE("()") "}", "f32", NPY_F32, 4 },
        { "{" TYPE(OWN "f8") "," ORDER "," SHAPE("()") "}", "f64", NPY_F64, 8 },
        { "{" TYPE(OWN "i8") "," ORDER "," SHAPE("()") "}", "i64", NPY_I64, 8 },
        { "{" TYPE(OWN "u8") "," ORDER "," SHAPE("()") "}", "u64", NPY_U64, 8 },
    };
    (void)state;
    for (uint64_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct npy a;
        reads(1, rows[i].text, rows[i].size, &a);
        assert_int_equal(a.type, rows[i].type);
        assert_int_equal(npy_item_size(a.type), rows[i].size);
        assert_string_equal(npy_type_name(a.type), rows[i].name);
    }
}

static void other_types_are_refused_by_name(void **state)
{
    (void)state;
    refuses("{" TYPE(OTHER "f4") "," ORDER "," SHAPE("()") "}", OTHER "f4' is " FOREIGN);
    refuses("{" TYPE(OTHER "i8") "," ORDER "," SHAPE("()") "}", OTHER "i8' is " FOREIGN);
    refuses("{" TYPE("|f4") "," ORDER "," SHAPE("()") "}", "'|f4' is not read");
    refuses("{" TYPE(OWN "i4") "," ORDER "," SHAPE("()") "}", OWN "i4' is not read");
    refuses("{" TYPE("|b1") "," ORDER "," SHAPE("()") "}", "'|b1' is not read");
    refuses("{" TYPE("") "," ORDER "," SHAPE("()") "}", "'' is not read");
    refuses("{'descr': [('a', '" OWN "f4')]," ORDER "," SHAPE("()") "}", "structured type");
}

static void headers_that_are_not_whole_are_refused(void **state)
{
    (void)state;
    refuses("", "ends where '{' belongs");
    refuses("[" F4 "," ORDER "," SHAPE("()") "]", "'[' where '{' belongs");
    refuses("{", "ends where");
    refuses("{}", "no 'descr'");
    refuses("{" ORDER "," SHAPE("()") "}", "no 'descr'");
    refuses("{" F4 "," SHAPE("()") "}", "no 'fortran_order'");
    refuses("{" F4 "," ORDER "}", "no 'shape'");
    refuses("{" F4 "," F4 "," ORDER "," SHAPE("()") "}", "'descr' twice");
    refuses("{" F4 "," ORDER "," SHAPE("()") ",'x': 1}", "an entry 'x'");
    refuses("{" F4 " " ORDER "," SHAPE("()") "}", "where ',' belongs");
    refuses("{'descr' '" OWN "f4'}", "where ':' belongs");
    refuses("{'descr': '" OWN "f4 and more than a type'", "too long or has no end");
    refuses("{'a_name_that_is_far_too_long': 1}", "too long or has no end");
    refuses("{'descr': '" OWN "f4", "too long or has no end");
    refuses("{" F4 ",'fortran_order': 0," SHAPE("()") "}", "neither True nor False");
    refuses("{" F4 "," ORDER "," SHAPE("()") "} x", "goes on after its '}'");
    refuses("{" F4 "," ORDER "," SHAPE("()") "}\x01", "byte 0x01");
    refuses("{" F4 "," ORDER "," SHAPE("()") "}\x7f", "byte 0x7f");
    refuses("{" F4 "," ORDER "," SHAPE("()") "}\xff", "byte 0xff");
}

static void shapes_that_are_none_are_refused(void **state)
{
    (void)state;
    refuses("{" F4 "," ORDER "," SHAPE("1") "}", "no tuple");
    refuses("{" F4 "," ORDER "," SHAPE("(1)") "}", "no tuple");
    refuses("{" F4 "," ORDER "," SHAPE("[1]") "}", "no tuple");
    refuses("{" F4 "," ORDER "," SHAPE("(,)") "}", "no whole number");
    refuses("{" F4 "," ORDER "," SHAPE("(-1,)") "}", "no whole number");
    refuses("{" F4 "," ORDER "," SHAPE("(1.0,)") "}", "where ',' belongs");
    refuses("{" F4 "," ORDER "," SHAPE("(1 1)") "}", "where ',' belongs");
    refuses("{" F4 "," ORDER "," SHAPE("(1,"), "no whole number");
}

static void sizes_that_overflow_are_refused(void **state)
{
    (void)state;
    refuses("{" F4 "," ORDER "," SHAPE("(18446744073709551616,)") "}", "too large");
    refuses("{" F4 "," ORDER "," SHAPE("(99999999999999999999,)") "}", "too large");
    refuses("{" F4 "," ORDER "," SHAPE("(4611686018427387904,)") "}", "more bytes than");
    refuses("{" F4 "," ORDER "," SHAPE("(4294967296, 1073741824)") "}", "more bytes than");
    refuses("{" F4 "," ORDER "," SHAPE("(0, 4294967296, 1073741824)") "}", "more bytes than");
    refuses("{" F4 "," ORDER "," SHAPE("(4611686018427387903,)") "}", "cut short");
}

static void magic_and_version_are_checked(void **state)
{
    static const uint8_t versions[][2] = { { 0, 0 }, { 1, 1 }, { 2, 1 }, { 3, 0 }, { 255, 255 } };
    char reason[64];
    (void)state;
    for (uint64_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
        struct file f = build(2, "{" F4 "," ORDER "," SHAPE("()") "}", 4);
        memcpy(f.bytes + 6, versions[i], 2);
        sprintf(reason, "version %d.%d of .npy is not read", versions[i][0], versions[i][1]);
        refuses_file(f, reason);
    }
    for (uint64_t i = 0; i < 6; i++) {
        struct file f = build(1, "{" F4 "," ORDER "," SHAPE("()") "}", 4);
        f.bytes[i] ^= 1;
        refuses_file(f, "no .npy file");
    }
}

static void a_header_of_more_than_65535_bytes_is_refused(void **state)
{
    char *text = malloc(65537);
    struct npy a;
    (void)state;
    assert_non_null(text);
    memset(text, ' ', 65536);
    text[65536] = '\0';
    memcpy(text, "{" F4 "," ORDER "," SHAPE("()") "}",
           strlen("{" F4 "," ORDER "," SHAPE("()") "}"));
    refuses_file(build(2, text, 4), "header of 65536 bytes");
    text[65535] = '\0';
    reads(2, text, 4, &a);
    free(text);
}

static void a_file_that_is_cut_anywhere_is_refused(void **state)
{
    (void)state;
    for (uint32_t major = 1; major <= 2; major++) {
        struct file whole = build(major, "{" F4 ", " ORDER ", " SHAPE("(2, 3)") ", }\n", 24);
        for (uint64_t size = 0; size < whole.size; size++) {
            struct file f = { malloc(size ? size : 1), size };
            assert_non_null(f.bytes);
            memcpy(f.bytes, whole.bytes, size);
            refuses_file(f, size < 8                 ? "no .npy file"
                            : size < whole.size - 24 ? "ends within its header"
                                                     : "cut short");
        }
        free(whole.bytes);
    }
}

static void bytes_after_the_last_element_are_refused(void **state)
{
    (void)state;
    refuses_file(build(1, "{" F4 "," ORDER "," SHAPE("(2,)") "}", 9), "1 bytes follow");
    refuses_file(build(1, "{" F4 "," ORDER "," SHAPE("(0,)") "}", 3), "3 bytes follow");
}

/* Whatever is read must describe the file as it is; the sanitizers judge the rest. */
static void a_file_with_any_byte_changed_is_judged_within_its_bounds(void **state)
{
    static const uint8_t values[] = { 0, 1, ' ', '\'', ',', '(', ')', '9', '{', '}', 0x7f, 0xff };
    struct file f = build(1, "{" F4 ", " ORDER ", " SHAPE("(2, 3)") ", }\n", 24);
    uint64_t read = 0;
    (void)state;
    for (uint64_t at = 0; at < f.size; at++)
        for (uint64_t v = 0; v < sizeof(values); v++) {
            char why[NPY_WHY_SIZE] = "";
            struct npy a;
            const uint8_t old = f.bytes[at];
            f.bytes[at] = values[v];
            if (npy_parse(f.bytes, f.size, &a, why)) {
                assert_int_equal(a.offset + a.bytes, f.size);
                read++;
            } else {
                assert_true(*why && strlen(why) < sizeof(why));
            }
            f.bytes[at] = old;
        }
    assert_in_range(read, 24 * sizeof(values), f.size * sizeof(values) / 2);
    free(f.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_header_that_was_written_is_read_back),
        cmocka_unit_test(version_2_is_read_as_version_1),
        cmocka_unit_test(entries_may_come_in_any_order_and_either_quotes),
        cmocka_unit_test(the_order_is_read),
        cmocka_unit_test(ranks_from_0_to_64_are_read_and_65_is_refused),
        cmocka_unit_test(the_longest_header_has_room),
        cmocka_unit_test(an_array_without_elements_has_no_bytes),
        cmocka_unit_test(every_type_is_told_by_its_code),
        cmocka_unit_test(other_types_are_refused_by_name),
        cmocka_unit_test(headers_that_are_not_whole_are_refused),
        cmocka_unit_test(shapes_that_are_none_are_refused),
        cmocka_unit_test(sizes_that_overflow_are_refused),
        cmocka_unit_test(magic_and_version_are_checked),
        cmocka_unit_test(a_header_of_more_than_65535_bytes_is_refused),
        cmocka_unit_test(a_file_that_is_cut_anywhere_is_refused),
        cmocka_unit_test(bytes_after_the_last_element_are_refused),
        cmocka_unit_test(a_file_with_any_byte_changed_is_judged_within_its_bounds),
    };
    return cmocka_run_group_tests_name("npy", tests, NULL, NULL);
}
