/* SPDX-License-Identifier: Apache-2.0 */
/* One good plugin in a folder with every kind of bad one: each is listed with a true reason,
 * nothing takes longer than the deadline, and the good one is selected. */
#include "place.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void plain_copy(const char *mock, const char *name)
{
    copy_file(mock_path(mock), name, 0755);
}

static void change_byte(const char *name, long at, int value)
{
    plain_copy("alpha", name);
    FILE *f = fopen(path_of(name), "r+b");
    assert_non_null(f);
    assert_int_equal(fseek(f, at, SEEK_SET), 0);
    fputc(value, f);
    assert_int_equal(fclose(f), 0);
}

static void make_wrong_class(const char *name)
{
    change_byte(name, EI_CLASS, ELFCLASS32);
}

static void make_wrong_machine(const char *name)
{
    change_byte(name, offsetof(Elf64_Ehdr, e_machine), EM_68K);
}

static void make_truncated(const char *name)
{
    plain_copy("alpha", name);
    assert_int_equal(truncate(path_of(name), 5000), 0);
}

static void make_empty(const char *name)
{
    write_text(name, "");
}

static void make_text(const char *name)
{
    write_text(name, "GROUP ( /lib/libm.so.6 )\n");
}

static void make_fifo(const char *name)
{
    assert_int_equal(mkfifo(path_of(name), 0644), 0);
}

static void make_dangling(const char *name)
{
    assert_int_equal(symlink(path_of("nowhere"), path_of(name)), 0);
}

static void make_loop(const char *name)
{
    assert_int_equal(symlink(name, path_of(name)), 0);
}

static void make_unreadable(const char *name)
{
    copy_file(mock_path("alpha"), name, 0);
}

static void make_writable(const char *name)
{
    copy_file(mock_path("alpha"), name, 0757);
}

static void make_same_id(const char *name)
{
    plain_copy("good", name);
}

static void make_same_file(const char *name)
{
    assert_int_equal(link(path_of("libcb_good.so"), path_of(name)), 0);
}

/* A file is made by a function, or is a copy of a mock. The state and the reason are what has to be
 * said of it after the selection. */
static const struct kind {
    const char *name;
    void (*make)(const char *name);
    const char *mock;
    uint32_t state;
    const char *reason;
} kinds[] = {
    { "wrong_class", make_wrong_class, NULL, CB_STATE_SKIPPED, "a 32-bit ELF file" },
    { "wrong_machine", make_wrong_machine, NULL, CB_STATE_SKIPPED, "ELF machine 4" },
    { "truncated", make_truncated, NULL, CB_STATE_SKIPPED, "truncated" },
    { "empty", make_empty, NULL, CB_STATE_SKIPPED, "the file is empty" },
    { "text", make_text, NULL, CB_STATE_SKIPPED, "not an ELF file" },
    { "directory", make_folder, NULL, CB_STATE_SKIPPED, "a directory" },
    { "fifo", make_fifo, NULL, CB_STATE_SKIPPED, "a FIFO" },
    { "dangling", make_dangling, NULL, CB_STATE_SKIPPED, "a dangling symbolic link" },
    { "loop", make_loop, NULL, CB_STATE_SKIPPED, "Too many levels of symbolic links" },
    { "unreadable", make_unreadable, NULL, CB_STATE_SKIPPED, "Permission denied" },
    { "writable", make_writable, NULL, CB_STATE_REFUSED, "anybody may write" },
    { "no_note", NULL, "no_note", CB_STATE_REFUSED, "without a manifest" },
    { "two_notes", NULL, "two_notes", CB_STATE_REFUSED, "two manifests" },
    { "no_entry", NULL, "no_entry", CB_STATE_REFUSED, "no symbol cb_plugin_entry" },
    { "lying_id", NULL, "lying_id", CB_STATE_REFUSED, "differs from the table" },
    { "lying_version", NULL, "lying_version", CB_STATE_REFUSED, "differs from the table" },
    { "wrong_major", NULL, "wrong_major", CB_STATE_REFUSED, "says ABI 2.0" },
    { "wrong_draft", NULL, "wrong_draft", CB_STATE_REFUSED, "draft 99" },
    { "short_table", NULL, "short_table", CB_STATE_REFUSED, "128 bytes" },
    { "null_required", NULL, "null_required", CB_STATE_REFUSED, "supports is NULL" },
    { "missing_library", NULL, "missing_dependency", CB_STATE_FAILED, "libnot-there.so" },
    { "undefined", NULL, "undefined_symbol", CB_STATE_FAILED, "a_symbol_that_nobody_has" },
    { "crashing", NULL, "crashes", CB_STATE_PROBED_BAD, "signal 11" },
    { "aborting", NULL, "aborts", CB_STATE_PROBED_BAD, "signal 6" },
    { "hanging", NULL, "hangs", CB_STATE_PROBED_BAD, "hung in a probe" },
    { "exiting", NULL, "exits", CB_STATE_PROBED_BAD, "with code 3" },
    { "scribbling", NULL, "scribbles", CB_STATE_PROBED_BAD, "garbage" },
    { "refusing", NULL, "refuses", CB_STATE_FAILED, "the licence has expired" },
    { "without_device", NULL, "no_device", CB_STATE_FAILED, "no device: device_count: the slot" },
    { "other_isa", NULL, "for_the_pdp11", CB_STATE_REFUSED, "needs pdp11" },
    { "same_id", make_same_id, NULL, CB_STATE_HIDDEN, "good was found earlier" },
    { "same_file", make_same_file, NULL, CB_STATE_HIDDEN, "the same file as" },
};
#define KIND_COUNT (sizeof(kinds) / sizeof(kinds[0]))

/* The good one is found first only by those that share its id or file, and ranks last of all. */
static const char *file_of(const struct kind *kind)
{
    return text_of("libcb_%s%s.so", kind->state == CB_STATE_HIDDEN ? "z_" : "a_", kind->name);
}

static void make_the_crowd(void)
{
    plain_copy("good", "libcb_good.so");
    for (size_t i = 0; i < KIND_COUNT; i++) {
        if (kinds[i].make)
            kinds[i].make(file_of(&kinds[i]));
        else
            plain_copy(kinds[i].mock, file_of(&kinds[i]));
    }
    /* Each of them is tried before the good one, even those that a probe has found out. */
    configure("crowd.conf", text_of("[loader]\nprobe = always\nprobe_timeout = 3\n"
                                    "probe_helper = %s\n[backend.good]\npriority = 1\n",
                                    TEST_PROBE));
    unsetenv("CB_TRUST");
}

static double seconds_since(const struct timespec *start)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - start->tv_sec) + (double)(now.tv_nsec - start->tv_nsec) / 1e9;
}

static void each_bad_plugin_is_listed_with_its_reason_and_the_good_one_is_selected(void **state)
{
    (void)state;
    struct timespec start;
    make_the_crowd();
    /* Nobody can keep root from reading a file. */
    const int is_root = geteuid() == 0;
    if (is_root)
        assert_int_equal(unlink(path_of("libcb_a_unreadable.so")), 0);
    clock_gettime(CLOCK_MONOTONIC, &start);
    cb_loader *loader = open_loader();
    const cb_backend be = select_id(loader, NULL);
    print_message("# %d bad plugins in %.2f s\n", (int)KIND_COUNT, seconds_since(&start));
    assert_true(seconds_since(&start) < 30);
    assert_string_equal(be.api->name, "good");
    assert_int_equal(candidate(loader, "libcb_good.so").state, CB_STATE_SELECTED);
    assert_int_equal(cb_loader_candidate_count(loader), KIND_COUNT + 1 - (unsigned)is_root);
    for (size_t i = 0; i < KIND_COUNT; i++) {
        const struct kind *kind = &kinds[i];
        if (kind->make == make_unreadable && is_root)
            continue;
        const cb_candidate c = candidate(loader, file_of(kind));
        print_message("# %s: %s: %s\n", kind->name, cb_state_name(c.state), c.reason);
        assert_int_equal(c.state, kind->state);
        HAS_TEXT(c.reason, kind->reason);
        HAS_TEXT(c.origin, "CB_PLUGINS");
        HAS_TEXT(report(loader), c.reason);
    }
    release(loader, be);
    close_loader(loader);
}

/* The same, as a person sees it who is not root, and whom a file's mode keeps out. */
static void cb_list_why_tells_an_unprivileged_user_of_all_of_them(void **state)
{
    (void)state;
    static const char test[] = "cb_list_why_tells_an_unprivileged_user_of_all_of_them";
    make_the_crowd();
    const char *const argv[] = { TEST_COMMAND, "list", "--why", NULL };
    const char *const there[] = { TEST_COMMAND, "--version", NULL };
    setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
    if (run_unprivileged(test, there).status != 0)
        test_skip(test, "another user cannot run the command where it was built");
    const struct outcome outcome = run_unprivileged(test, argv);
    assert_int_equal(outcome.status, 0);
    HAS_TEXT(outcome.out, "good 1.2.3: selected");
    for (size_t i = 0; i < KIND_COUNT; i++) {
        HAS_TEXT(outcome.out, path_of(file_of(&kinds[i])));
        HAS_TEXT(outcome.out, kinds[i].reason);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLACE_TEST(each_bad_plugin_is_listed_with_its_reason_and_the_good_one_is_selected),
        PLACE_TEST(cb_list_why_tells_an_unprivileged_user_of_all_of_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
