/* SPDX-License-Identifier: Apache-2.0 */
/* `sha256 = ...` of a backend: the digest itself, and what it keeps out. */
#include "place.h"

#include "sha256.h"
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *digest_of(const char *bytes, size_t size, size_t step)
{
    struct cbl_sha256 s;
    uint8_t digest[CBL_SHA256_SIZE];
    char text[2 * CBL_SHA256_SIZE + 1];
    cbl_sha256_begin(&s);
    for (size_t at = 0; at < size; at += step)
        cbl_sha256_add(&s, bytes + at, step < size - at ? step : size - at);
    cbl_sha256_end(&s, digest);
    cbl_hex(text, digest, sizeof(digest));
    return text_of("%s", text);
}

/* The examples of FIPS 180-4's appendix, and lengths around the block of 64 bytes. */
static void sha256_gives_the_published_digests(void **state)
{
    (void)state;
    static char many_a[1000000];
    memset(many_a, 'a', sizeof(many_a));
    static const char *const two_blocks =
        "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    const struct {
        const char *bytes;
        size_t size;
        const char *digest;
    } rows[] = {
        { "", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
        { "abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
        { two_blocks, 56, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
        { many_a, 55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318" },
        { many_a, 63, "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34" },
        { many_a, 64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb" },
        { many_a, 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        for (size_t step = 1; step < 300; step += 37)
            assert_string_equal(digest_of(rows[i].bytes, rows[i].size, step), rows[i].digest);
}

static const char *digest_of_file(const char *path)
{
    static char bytes[1 << 22];
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    const size_t size = fread(bytes, 1, sizeof(bytes), f);
    assert_true(size < sizeof(bytes));
    fclose(f);
    return digest_of(bytes, size, size);
}

static const char *in_capitals(const char *text)
{
    char *copy = (char *)text_of("%s", text);
    for (char *at = copy; *at; at++)
        *at = (char)(*at >= 'a' ? *at - 32 : *at);
    return copy;
}

static void the_file_that_is_pinned_is_taken_and_another_is_refused(void **state)
{
    (void)state;
    plant("high");
    plant("good");
    const char *high = digest_of_file(mock_path("high")), *good = digest_of_file(mock_path("good"));
    configure("pin.conf", text_of("[backend.high]\nsha256 = %s\n", in_capitals(high)));
    cb_loader *loader = open_loader();
    const cb_backend be = select_id(loader, NULL);
    assert_string_equal(be.api->name, "high");
    assert_string_equal(fact(be, "options"), "");
    release(loader, be);
    close_loader(loader);

    configure("pin.conf", text_of("[backend.high]\nsha256 = %s\n", good));
    setenv("MOCK_MARKER", path_of("marker"), 1);
    loader = open_loader();
    assert_string_equal(best(loader), "good");
    const cb_candidate c = candidate(loader, "high");
    assert_int_equal(c.state, CB_STATE_REFUSED);
    HAS_TEXT(c.reason, path_of("pin.conf:2"));
    HAS_TEXT(c.reason, high);
    assert_string_equal(text_in("marker"), "good\n");
    close_loader(loader);
}

static void a_pin_that_is_no_digest_is_reported_and_pins_nothing(void **state)
{
    (void)state;
    static const char *const values[] = { "", "abc", "g", "0x" };
    plant("good");
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        configure("pin.conf", text_of("[backend.good]\nsha256 = %s%060d\n", values[i], 0));
        cb_loader *loader = open_loader();
        assert_string_equal(best(loader), "good");
        HAS_TEXT(report(loader), path_of("pin.conf:2"));
        HAS_TEXT(report(loader), "not 64 hexadecimal digits");
        close_loader(loader);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLACE_TEST(sha256_gives_the_published_digests),
        PLACE_TEST(the_file_that_is_pinned_is_taken_and_another_is_refused),
        PLACE_TEST(a_pin_that_is_no_digest_is_reported_and_pins_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
