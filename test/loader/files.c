/* SPDX-License-Identifier: Apache-2.0 */
/* Finding plugins: which files count, in which order, and what is said of those that do not.
 * Names begin with the row of field_reports.md that they answer. */
#include "place.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void l01_a_folder_is_listed_in_the_order_of_bytes(void **state)
{
    (void)state;
    plant_as("good", "libcb_c.so");
    plant_as("alpha", "libcb_a.so");
    plant_as("high", "libcb_b.so");
    plant_as("gpu_on_host", "libcb_B.so");
    static const char *const want[] = { "libcb_B.so", "libcb_a.so", "libcb_b.so", "libcb_c.so" };
    cb_loader *loader = open_loader();
    assert_int_equal(cb_loader_candidate_count(loader), 4);
    for (uint64_t i = 0; i < 4; i++) {
        cb_error err = test_error();
        cb_candidate c = { .size = sizeof(c) };
        TEST_OK(cb_loader_candidate(loader, i, &c, &err), &err);
        assert_string_equal(strrchr(c.path, '/') + 1, want[i]);
    }
    close_loader(loader);
}

static void l01_equal_scores_are_decided_by_the_id(void **state)
{
    (void)state;
    plant_as("alpha", "libcb_z.so");
    plant_as("good", "libcb_a.so");
    cb_loader *loader = open_loader();
    assert_string_equal(best(loader), "alpha");
    close_loader(loader);
}

static void l02_a_folder_spelled_in_many_ways_gives_each_plugin_once(void **state)
{
    (void)state;
    const char *dir = path_of("");
    plant("good");
    plant("alpha");
    const char *const forms[] = {
        text_of("%s:%s/:%s//:%s/.", dir, dir, dir, dir),
        text_of("%s/", dir),
        text_of(":%s//.//::%s/libcb_good.so:%s//libcb_alpha.so:", dir, dir, dir),
        text_of("/tmp/../%s/../%s", dir, strrchr(dir, '/')),
    };
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        setenv("CB_PLUGINS", forms[i], 1);
        cb_loader *loader = open_loader();
        const cb_backend be = select_id(loader, "good");
        assert_int_equal(count_candidates(loader, "good"), 1);
        assert_int_equal(count_candidates(loader, "alpha"), 1);
        release(loader, be);
        close_loader(loader);
    }
}

static void l02_a_file_by_two_names_is_one_candidate(void **state)
{
    (void)state;
    plant("good");
    plant_as("good", "libcb_other_name.so");
    cb_loader *loader = open_loader();
    const cb_backend be = select_id(loader, "good");
    assert_int_equal(candidate(loader, "libcb_good.so").state, CB_STATE_SELECTED);
    const cb_candidate other = candidate(loader, "libcb_other_name.so");
    assert_int_equal(other.state, CB_STATE_HIDDEN);
    HAS_TEXT(other.reason, "the same file");
    HAS_TEXT(other.reason, path_of("libcb_good.so"));
    release(loader, be);
    close_loader(loader);
}

static void only_files_named_like_plugins_are_looked_at(void **state)
{
    (void)state;
    plant_as("good", "cb_good.so");
    plant_as("good", "libcb_good.so.1");
    plant_as("good", "libother.so");
    cb_loader *loader = open_loader();
    assert_int_equal(cb_loader_candidate_count(loader), 0);
    select_fails(loader, NULL, CB_NOT_FOUND);
    close_loader(loader);
}

/* Writes a copy of the good mock with one field of its ELF header changed. */
static void write_elf_with(const char *name, size_t field, unsigned char value)
{
    copy_file(mock_path("good"), name, 0755);
    FILE *f = fopen(path_of(name), "r+b");
    assert_non_null(f);
    assert_int_equal(fseek(f, (long)field, SEEK_SET), 0);
    fputc(value, f);
    assert_int_equal(fclose(f), 0);
}

static void write_truncated(const char *name, off_t size)
{
    copy_file(mock_path("good"), name, 0755);
    assert_int_equal(truncate(path_of(name), size), 0);
}

static void make_bad_files(void)
{
    write_elf_with("libcb_class32.so", EI_CLASS, ELFCLASS32);
    write_elf_with("libcb_machine.so", offsetof(Elf64_Ehdr, e_machine), 0xEF);
    write_elf_with("libcb_order.so", EI_DATA, 0x7F);
    write_elf_with("libcb_program.so", offsetof(Elf64_Ehdr, e_type), ET_REL);
    write_truncated("libcb_magic_only.so", 4);
    write_truncated("libcb_header_only.so", sizeof(Elf64_Ehdr));
    write_text("libcb_text.so", "INPUT(libm.so.6)\n");
    write_text("libcb_empty.so", "");
    make_folder("libcb_folder.so");
    assert_int_equal(mkfifo(path_of("libcb_fifo.so"), 0644), 0);
    assert_int_equal(symlink(path_of("nowhere"), path_of("libcb_dangling.so")), 0);
    assert_int_equal(symlink("libcb_loop.so", path_of("libcb_loop.so")), 0);
}

/* What the reason has to speak of. */
static const struct {
    const char *file, *cause;
} bad_files[] = {
    { "libcb_class32.so", "32-bit" },
    { "libcb_machine.so", "machine" },
    { "libcb_order.so", "byte order" },
    { "libcb_program.so", "shared" },
    { "libcb_magic_only.so", "truncated" },
    { "libcb_header_only.so", "truncated" },
    { "libcb_text.so", "ELF" },
    { "libcb_empty.so", "empty" },
    { "libcb_folder.so", "directory" },
    { "libcb_fifo.so", "FIFO" },
    { "libcb_dangling.so", "no such file" },
    { "libcb_loop.so", "symbolic link" },
};

static void l04_each_wrong_file_has_a_reason_and_the_good_one_loads(void **state)
{
    (void)state;
    make_bad_files();
    plant("good");
    alarm(20);
    cb_loader *loader = open_loader();
    const cb_backend be = select_id(loader, NULL);
    alarm(0);
    assert_string_equal(be.api->name, "good");
    for (size_t i = 0; i < sizeof(bad_files) / sizeof(bad_files[0]); i++) {
        const cb_candidate c = candidate(loader, bad_files[i].file);
        print_message("# %s: %s: %s\n", bad_files[i].file, cb_state_name(c.state), c.reason);
        assert_true(c.state == CB_STATE_SKIPPED || c.state == CB_STATE_REFUSED);
        HAS_TEXT(c.reason, bad_files[i].cause);
        HAS_TEXT(report(loader), bad_files[i].file);
    }
    release(loader, be);
    close_loader(loader);
}

static void plant_libm(void)
{
    struct link_map *map = NULL;
    void *libm = dlopen("libm.so.6", RTLD_LAZY);
    assert_non_null(libm);
    assert_int_equal(dlinfo(libm, RTLD_DI_LINKMAP, &map), 0);
    assert_int_equal(symlink(map->l_name, path_of("libcb_m.so")), 0);
    dlclose(libm);
}

static void l04_a_library_that_is_no_plugin_is_refused_by_name(void **state)
{
    (void)state;
    plant_libm();
    plant("no_note");
    plant("two_notes");
    plant("no_entry");
    cb_loader *loader = open_loader();
    const char *message = select_fails(loader, NULL, CB_NOT_FOUND);
    HAS_TEXT(message, "no_entry");
    static const struct {
        const char *file, *cause;
    } rows[] = {
        { "libcb_m.so", "manifest" },
        { "libcb_no_note.so", "manifest" },
        { "libcb_two_notes.so", "two manifests" },
        { "libcb_no_entry.so", CB_PLUGIN_SYMBOL },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const cb_candidate c = candidate(loader, rows[i].file);
        assert_int_equal(c.state, CB_STATE_REFUSED);
        HAS_TEXT(c.reason, rows[i].cause);
    }
    close_loader(loader);
}

static void l04_bytes_of_a_plugin_cut_anywhere_never_hurt(void **state)
{
    (void)state;
    static const off_t sizes[] = { 1, 15, 16, 63, 65, 119, 120, 200, 511, 777, 1000 };
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        write_truncated(text_of("libcb_cut%d.so", (int)i), sizes[i]);
    cb_loader *loader = open_loader();
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        const cb_candidate c = candidate(loader, text_of("libcb_cut%d.so", (int)i));
        assert_true(c.state == CB_STATE_SKIPPED || c.state == CB_STATE_REFUSED);
        assert_string_not_equal(c.reason, "");
    }
    close_loader(loader);
}

static void l05_a_missing_dependency_is_named_with_the_plugin(void **state)
{
    (void)state;
    plant("missing_dependency");
    cb_loader *loader = open_loader();
    const cb_request request = { .size = sizeof(request), .id = "missing_dependency" };
    const char *message = select_fails(loader, &request, CB_NOT_FOUND);
    HAS_TEXT(message, "libnot-there.so");
    HAS_TEXT(message, "missing_dependency");
    const cb_candidate c = candidate(loader, "missing_dependency");
    assert_int_equal(c.state, CB_STATE_FAILED);
    HAS_TEXT(c.reason, "libnot-there.so");
    HAS_TEXT(c.reason, path_of("libcb_missing_dependency.so"));
    HAS_TEXT(report(loader), "libcb_missing_dependency.so");
    close_loader(loader);
}

static void l05_an_undefined_symbol_is_named_with_the_plugin(void **state)
{
    (void)state;
    plant("undefined_symbol");
    plant("good");
    cb_loader *loader = open_loader();
    const cb_request request = { .size = sizeof(request), .id = "undefined_symbol" };
    HAS_TEXT(select_fails(loader, &request, CB_NOT_FOUND), "a_symbol_that_nobody_has");
    HAS_TEXT(candidate(loader, "undefined_symbol").reason, "a_symbol_that_nobody_has");
    assert_string_equal(best(loader), "good");
    close_loader(loader);
}

static void l05_a_path_that_is_not_there_is_no_such_file(void **state)
{
    (void)state;
    plant("good");
    setenv("CB_PLUGINS", text_of("%s:%s", path_of("libcb_gone.so"), path_of("")), 1);
    cb_loader *loader = open_loader();
    assert_string_equal(best(loader), "good");
    HAS_TEXT(report(loader), "libcb_gone.so");
    HAS_TEXT(report(loader), "no such file");
    LACKS_TEXT(report(loader), "dependenc");
    close_loader(loader);
}

static void l05_a_path_given_by_the_api_that_is_not_there_is_an_error(void **state)
{
    (void)state;
    cb_error err = test_error();
    cb_loader *loader = NULL;
    const char *const paths[] = { path_of("libcb_gone.so") };
    const cb_loader_options options = { .size = sizeof(options), .paths = paths, .n_paths = 1 };
    TEST_STATUS(cb_loader_open(&options, &loader, &err), CB_NOT_FOUND, &err);
    assert_null(loader);
    HAS_TEXT(err.msg, "libcb_gone.so");
    HAS_TEXT(err.msg, "no such file");
}

static void l11_bad_entries_of_a_list_do_not_hide_the_good_ones(void **state)
{
    (void)state;
    assert_int_equal(symlink(path_of("nowhere"), path_of("dangling.so")), 0);
    write_text("secret.so", "");
    assert_int_equal(chmod(path_of("secret.so"), 0), 0);
    make_folder("closed");
    assert_int_equal(chmod(path_of("closed"), 0), 0);
    make_folder("empty");
    make_folder("open");
    copy_file(mock_path("good"), "open/libcb_good.so", 0755);
    copy_file(TEST_HOST, "host", 0755);
    configure("cb.conf", "[loader]\nplugin_path = missing.so : dangling.so : secret.so : closed :"
                         " empty : open\n");
    unsetenv("CB_PLUGINS");
    const char *const argv[] = { path_of("host"), "--report", NULL };
    const struct outcome outcome =
        run_unprivileged("l11_bad_entries_of_a_list_do_not_hide_the_good_ones", argv);
    assert_int_equal(outcome.status, 0);
    HAS_TEXT(outcome.out, "good: gemm is OK");
    static const char *const reasons[][2] = { { "missing.so", "no such file" },
                                              { "dangling.so", "no such file" },
                                              { "secret.so", "permission denied" },
                                              { "closed", "permission denied" } };
    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
        HAS_TEXT(outcome.out, path_of(reasons[i][0]));
        HAS_TEXT(outcome.out, reasons[i][1]);
    }
}

static void nothing_of_a_plugin_runs_until_it_is_selected(void **state)
{
    (void)state;
    make_bad_files();
    plant("good");
    plant("high");
    plant("no_note");
    plant("wrong_major");
    setenv("MOCK_MARKER", path_of("marker"), 1);
    cb_loader *loader = open_loader();
    report(loader);
    assert_int_not_equal(access(path_of("marker"), F_OK), 0);
    close_loader(loader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLACE_TEST(nothing_of_a_plugin_runs_until_it_is_selected),
        PLACE_TEST(l01_a_folder_is_listed_in_the_order_of_bytes),
        PLACE_TEST(l01_equal_scores_are_decided_by_the_id),
        PLACE_TEST(l02_a_folder_spelled_in_many_ways_gives_each_plugin_once),
        PLACE_TEST(l02_a_file_by_two_names_is_one_candidate),
        PLACE_TEST(only_files_named_like_plugins_are_looked_at),
        PLACE_TEST(l04_each_wrong_file_has_a_reason_and_the_good_one_loads),
        PLACE_TEST(l04_a_library_that_is_no_plugin_is_refused_by_name),
        PLACE_TEST(l04_bytes_of_a_plugin_cut_anywhere_never_hurt),
        PLACE_TEST(l05_a_missing_dependency_is_named_with_the_plugin),
        PLACE_TEST(l05_an_undefined_symbol_is_named_with_the_plugin),
        PLACE_TEST(l05_a_path_that_is_not_there_is_no_such_file),
        PLACE_TEST(l05_a_path_given_by_the_api_that_is_not_there_is_an_error),
        PLACE_TEST(l11_bad_entries_of_a_list_do_not_hide_the_good_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
