/* SPDX-License-Identifier: Apache-2.0 */
/* Files that change under a loader's feet: between the search and the opening, and after they have
 * been opened once. The dynamic linker goes by names and would hand out what it had before. */
#include "place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Puts a copy of the mock "good" there, under a new inode. edit changes its build id, as a rebuild
 * of the same version does. */
static void install_good(const char *name, int edit)
{
    static const char build_id[] = "\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU";
    copy_file(mock_path("good"), "fresh", 0755);
    if (edit) {
        static char bytes[1 << 20];
        FILE *f = fopen(path_of("fresh"), "r+b");
        assert_non_null(f);
        const size_t size = fread(bytes, 1, sizeof(bytes), f);
        char *at = memmem(bytes, size, build_id, sizeof(build_id));
        assert_non_null(at);
        at[sizeof(build_id)] ^= 0x55;
        rewind(f);
        assert_int_equal(fwrite(bytes, 1, size, f), size);
        assert_int_equal(fclose(f), 0);
    }
    assert_int_equal(rename(path_of("fresh"), path_of(name)), 0);
}

static void a_file_replaced_between_search_and_opening_is_not_opened(void **state)
{
    (void)state;
    install_good("libcb_good.so", 0);
    cb_loader *loader = open_loader();
    install_good("libcb_good.so", 0);
    setenv("MOCK_MARKER", path_of("marker"), 1);
    HAS_TEXT(select_fails(loader, NULL, CB_NOT_FOUND), "replaced since it was looked at");
    assert_int_equal(candidate(loader, "good").state, CB_STATE_FAILED);
    struct stat st;
    assert_int_equal(stat(path_of("marker"), &st), -1);
    close_loader(loader);
    /* A loader that looks again takes what is there now. */
    loader = open_loader();
    assert_string_equal(best(loader), "good");
    close_loader(loader);
}

static void a_file_overwritten_in_place_is_not_opened(void **state)
{
    (void)state;
    install_good("libcb_good.so", 0);
    cb_loader *loader = open_loader();
    copy_file(mock_path("high"), "libcb_good.so", 0755);
    HAS_TEXT(select_fails(loader, NULL, CB_NOT_FOUND), "replaced since it was looked at");
    close_loader(loader);
}

static void a_file_that_is_gone_is_said_to_be(void **state)
{
    (void)state;
    install_good("libcb_good.so", 0);
    cb_loader *loader = open_loader();
    assert_int_equal(remove(path_of("libcb_good.so")), 0);
    HAS_TEXT(select_fails(loader, NULL, CB_NOT_FOUND), "no such file");
    close_loader(loader);
}

/* After the first opening the path means the old code for as long as the process lives. */
static void an_older_copy_that_is_still_loaded_is_refused(void **state)
{
    (void)state;
    static const char old[] = "an older copy of this file is already loaded: restart the program";
    install_good("libcb_good.so", 0);
    cb_loader *loader = open_loader();
    assert_string_equal(best(loader), "good");
    close_loader(loader);

    /* The same bytes under a new inode are the same code. */
    install_good("libcb_good.so", 0);
    loader = open_loader();
    assert_string_equal(best(loader), "good");
    close_loader(loader);

    install_good("libcb_good.so", 1);
    loader = open_loader();
    HAS_TEXT(select_fails(loader, NULL, CB_NOT_FOUND), old);
    assert_int_equal(candidate(loader, "good").state, CB_STATE_REFUSED);
    close_loader(loader);

    /* A file with another manifest. */
    copy_file(mock_path("high"), "fresh", 0755);
    assert_int_equal(rename(path_of("fresh"), path_of("libcb_good.so")), 0);
    loader = open_loader();
    assert_int_equal(candidate(loader, "high").state, CB_STATE_FOUND);
    HAS_TEXT(select_fails(loader, NULL, CB_NOT_FOUND), old);
    close_loader(loader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLACE_TEST(a_file_replaced_between_search_and_opening_is_not_opened),
        PLACE_TEST(a_file_overwritten_in_place_is_not_opened),
        PLACE_TEST(a_file_that_is_gone_is_said_to_be),
        PLACE_TEST(an_older_copy_that_is_still_loaded_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
