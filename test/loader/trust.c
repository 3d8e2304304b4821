/* SPDX-License-Identifier: Apache-2.0 */
/* Who may write what is run: the file, each directory on its way and each link are looked at, and
 * the refusal names the very path and what to do. */
#include "place.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define SOMEBODY 65534

/* A plugin two folders down, and trust as it is when nobody says anything. */
static int trust_setup(void **state)
{
    if (place_setup(state))
        return -1;
    unsetenv("CB_TRUST");
    make_folder("a");
    make_folder("a/b");
    copy_file(mock_path("good"), "a/b/libcb_good.so", 0755);
    return 0;
}
#define TRUST_TEST(test) cmocka_unit_test_setup_teardown(test, trust_setup, place_teardown)

static void permit(const char *name, unsigned mode)
{
    assert_int_equal(chmod(path_of(name), mode), 0);
}

static void give(const char *name)
{
    assert_int_equal(lchown(path_of(name), SOMEBODY, SOMEBODY), 0);
}

/* Searches a folder that the session names, or that only a configuration does. */
static void search(const char *name, int named)
{
    configure("trust.conf", named ? "" : text_of("[loader]\nplugin_path = %s\n", path_of(name)));
    unsetenv("CB_PLUGINS");
    if (named)
        setenv("CB_PLUGINS", path_of(name), 1);
}

/* What became of the plugin; its reason, state and what was odd, in one text. */
static const char *judged(void)
{
    cb_loader *loader = open_loader();
    const cb_candidate c = candidate(loader, "libcb_good.so");
    const char *text = text_of("%s: %s\n%s", cb_state_name(c.state), c.reason, report(loader));
    close_loader(loader);
    return text;
}

static void a_file_that_only_root_or_the_user_can_write_is_trusted(void **state)
{
    (void)state;
    for (int named = 0; named < 2; named++) {
        search("a/b", named);
        const char *text = judged();
        HAS_TEXT(text, "found: ");
        LACKS_TEXT(text, "problem");
    }
}

static void what_anybody_may_write_is_refused_wherever_it_is_on_the_way(void **state)
{
    (void)state;
    static const char *const paths[] = { "a/b/libcb_good.so", "a/b", "a" };
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        permit(paths[i], 0757);
        for (int named = 0; named < 2; named++) {
            search("a/b", named);
            const char *text = judged();
            HAS_TEXT(text, text_of("refused: anybody may write %s: chmod o-w", path_of(paths[i])));
            HAS_TEXT(text, "trust = off");
        }
        permit(paths[i], 0755);
    }
}

static void a_sticky_directory_is_good_enough_above_a_file(void **state)
{
    (void)state;
    permit("a", 01777);
    search("a/b", 0);
    HAS_TEXT(judged(), "found: ");
    permit("a/b", 03775);
    HAS_TEXT(judged(), "found: ");
}

static void what_a_group_may_write_is_refused_for_root_and_warned_of_otherwise(void **state)
{
    (void)state;
    static const char test[] = "what_a_group_may_write_is_refused_for_root_and_warned_of_otherwise";
    permit("a", 0775);
    search("a/b", 1);
    const char *const argv[] = { path_of("host"), "--report", NULL };
    copy_file(TEST_HOST, "host", 0755);
    if (geteuid() == 0) {
        HAS_TEXT(judged(), text_of("refused: group 0 may write %s: chmod g-w", path_of("a")));
        setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
    }
    const struct outcome outcome = run_unprivileged(test, argv);
    assert_int_equal(outcome.status, 0);
    HAS_TEXT(outcome.out, "good: gemm is OK");
    HAS_TEXT(outcome.out, text_of("may write %s, and so change", path_of("a")));
}

/* ---- Foreign owners -------------------------------------------------------------------------- */

static void need_root(const char *test)
{
    if (geteuid() != 0)
        test_skip(test, "only root can give a file away");
}

static void what_belongs_to_somebody_else_is_refused_unless_the_place_was_named(void **state)
{
    (void)state;
    need_root("what_belongs_to_somebody_else_is_refused_unless_the_place_was_named");
    static const char *const paths[] = { "a/b/libcb_good.so", "a/b", "a" };
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        give(paths[i]);
        search("a/b", 0);
        const char *text = judged();
        HAS_TEXT(text, text_of("refused: %s belongs to uid 65534", path_of(paths[i])));
        HAS_TEXT(text, "uid 0");
        HAS_TEXT(text, "chown");
        search("a/b", 1);
        text = judged();
        HAS_TEXT(text, "found: ");
        HAS_TEXT(text, text_of("problem: %s belongs to uid 65534", path_of(paths[i])));
        assert_int_equal(chown(path_of(paths[i]), 0, 0), 0);
    }
    setenv("CB_PLUGINS_ADD", path_of("a/b"), 1);
    give("a");
    unsetenv("CB_PLUGINS");
    HAS_TEXT(judged(), "found: ");
}

static void the_user_may_own_what_is_run_for_the_user(void **state)
{
    (void)state;
    static const char test[] = "the_user_may_own_what_is_run_for_the_user";
    need_root(test);
    give("a");
    give("a/b");
    search("a/b", 0);
    copy_file(TEST_HOST, "host", 0755);
    setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
    const char *const argv[] = { path_of("host"), "--report", NULL };
    const struct outcome outcome = run_unprivileged(test, argv);
    assert_int_equal(outcome.status, 0);
    LACKS_TEXT(outcome.out, "problem");
}

/* A set-uid program reads no file of whoever started it, and nobody but the system turns its trust
 * off. */
static void a_set_uid_program_listens_to_no_home_and_no_cb_trust(void **state)
{
    (void)state;
    static const char test[] = "a_set_uid_program_listens_to_no_home_and_no_cb_trust";
    struct statvfs fs;
    need_root(test);
    if (statvfs(path_of(""), &fs) || fs.f_flag & ST_NOSUID)
        test_skip(test, "/tmp is mounted nosuid");
    copy_file(TEST_HOST, "host", 04755);
    make_folder("compute-backend");
    make_folder(".config");
    make_folder(".config/compute-backend");
    static const char *const files[] = { "compute-backend/cb.conf",
                                         ".config/compute-backend/cb.conf" };
    for (size_t i = 0; i < 2; i++)
        write_text(files[i], text_of("[loader]\nplugin_path = %s\n", path_of("a/b")));
    unsetenv("CB_PLUGINS");
    unsetenv("CB_CONFIG");
    setenv("HOME", path_of(""), 1);
    setenv("CB_TRUST", "off", 1);
    setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
    const char *const argv[] = { path_of("host"), "--report", NULL };
    HAS_TEXT(run_program(argv).out, "good: gemm is OK");
    for (int xdg = 0; xdg < 2; xdg++) {
        if (xdg)
            setenv("XDG_CONFIG_HOME", path_of(""), 1);
        const struct outcome outcome = run_unprivileged(test, argv);
        LACKS_TEXT(outcome.out, "libcb_good.so");
        HAS_TEXT(outcome.out, "raised privileges: ignored ");
        HAS_TEXT(outcome.out, "CB_TRUST");
        HAS_TEXT(outcome.out, "HOME");
    }
    unsetenv("XDG_CONFIG_HOME");
}

/* A program that runs as somebody else trusts root and that somebody, and is not lenient. */
static void a_set_uid_program_is_not_lenient_in_a_place_that_was_named(void **state)
{
    (void)state;
    static const char test[] = "a_set_uid_program_is_not_lenient_in_a_place_that_was_named";
    struct statvfs fs;
    need_root(test);
    if (statvfs(path_of(""), &fs) || fs.f_flag & ST_NOSUID)
        test_skip(test, "/tmp is mounted nosuid");
    copy_file(TEST_HOST, "host", 0755);
    give("host");
    permit("host", 04755);
    setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
    const char *const argv[] = { path_of("host"), "--path", path_of("a/b"), "--report", NULL };
    HAS_TEXT(run_program(argv).out, "good: gemm is OK");
    give("a");
    HAS_TEXT(run_program(argv).out, "good: gemm is OK");
    permit("a", 0775);
    HAS_TEXT(run_program(argv).out, text_of("group 65534 may write %s: chmod g-w", path_of("a")));
    permit("a", 0755);
    assert_int_equal(chown(path_of("a"), 65533, 65533), 0);
    const struct outcome outcome = run_program(argv);
    assert_int_equal(outcome.status, 1);
    HAS_TEXT(outcome.out, text_of("%s belongs to uid 65533", path_of("a")));
}

/* ---- Links ----------------------------------------------------------------------------------- */

static void a_link_is_followed_as_the_kernel_does_and_all_of_its_way_is_looked_at(void **state)
{
    (void)state;
    make_folder("links");
    make_folder("middle");
    /* links/libcb_good.so -> ../middle/next -> (absolute) a/b/libcb_good.so */
    assert_int_equal(symlink("../middle/next", path_of("links/libcb_good.so")), 0);
    assert_int_equal(symlink(path_of("a/./b/../b/libcb_good.so"), path_of("middle/next")), 0);
    static const char *const ways[] = { "links", "middle", "a", "a/b", "a/b/libcb_good.so" };
    search("links", 0);
    HAS_TEXT(judged(), "found: ");
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        permit(ways[i], 0757);
        HAS_TEXT(judged(), text_of("refused: anybody may write %s:", path_of(ways[i])));
        permit(ways[i], 0755);
    }
}

static void a_file_that_is_refused_by_one_name_may_be_good_by_another(void **state)
{
    (void)state;
    make_folder("open");
    assert_int_equal(symlink(path_of("a/b/libcb_good.so"), path_of("open/libcb_other.so")), 0);
    permit("open", 0777);
    setenv("CB_PLUGINS", text_of("%s:%s", path_of("open"), path_of("a/b")), 1);
    cb_loader *loader = open_loader();
    assert_int_equal(candidate(loader, "libcb_other.so").state, CB_STATE_REFUSED);
    assert_int_equal(candidate(loader, "libcb_good.so").state, CB_STATE_FOUND);
    assert_string_equal(best(loader), "good");
    close_loader(loader);
}

static void somebody_elses_link_in_a_sticky_directory_is_theirs_to_turn(void **state)
{
    (void)state;
    need_root("somebody_elses_link_in_a_sticky_directory_is_theirs_to_turn");
    make_folder("links");
    assert_int_equal(symlink(path_of("a/b/libcb_good.so"), path_of("links/libcb_good.so")), 0);
    permit("links", 01777);
    search("links", 0);
    HAS_TEXT(judged(), "found: ");
    give("links/libcb_good.so");
    /* The kernel may refuse to follow it before anybody else does. */
    const char *text = judged();
    LACKS_TEXT(text, "found: ");
    assert_true(strstr(text, "belongs to uid 65534") || strstr(text, "Permission denied"));
}

/* ---- Turning it off -------------------------------------------------------------------------- */

static void trust_is_turned_off_by_a_variable_or_a_trusted_configuration(void **state)
{
    (void)state;
    permit("a", 0777);
    search("a/b", 1);
    setenv("CB_TRUST", "off", 1);
    cb_loader *loader = open_loader();
    assert_string_equal(best(loader), "good");
    close_loader(loader);

    unsetenv("CB_TRUST");
    configure("off.conf", "[loader]\ntrust = off\n");
    HAS_TEXT(judged(), "found: ");
    setenv("CB_TRUST", "on", 1);
    HAS_TEXT(judged(), "refused: ");
    setenv("CB_TRUST", "maybe", 1);
    HAS_TEXT(judged(), "problem: CB_TRUST is 'maybe'");
    HAS_TEXT(judged(), "found: ");
}

static void a_configuration_that_anybody_may_write_does_not_turn_trust_off(void **state)
{
    (void)state;
    permit("a", 0777);
    search("a/b", 1);
    configure("off.conf", "[loader]\ntrust = off\n");
    permit("off.conf", 0666);
    const char *text = judged();
    HAS_TEXT(text, "refused: ");
    HAS_TEXT(text,
             text_of("%s:2: trust: a file that cannot itself be trusted", path_of("off.conf")));
    HAS_TEXT(text, text_of("anybody may write %s", path_of("off.conf")));
}

static void a_file_that_becomes_writable_after_the_search_is_not_opened(void **state)
{
    (void)state;
    search("a/b", 1);
    cb_loader *loader = open_loader();
    assert_int_equal(candidate(loader, "good").state, CB_STATE_FOUND);
    permit("a/b", 0777);
    setenv("MOCK_MARKER", path_of("marker"), 1);
    HAS_TEXT(select_fails(loader, NULL, CB_NOT_FOUND), "anybody may write");
    assert_int_equal(access(path_of("marker"), F_OK), -1);
    close_loader(loader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TRUST_TEST(a_file_that_only_root_or_the_user_can_write_is_trusted),
        TRUST_TEST(what_anybody_may_write_is_refused_wherever_it_is_on_the_way),
        TRUST_TEST(a_sticky_directory_is_good_enough_above_a_file),
        TRUST_TEST(what_a_group_may_write_is_refused_for_root_and_warned_of_otherwise),
        TRUST_TEST(what_belongs_to_somebody_else_is_refused_unless_the_place_was_named),
        TRUST_TEST(the_user_may_own_what_is_run_for_the_user),
        TRUST_TEST(a_set_uid_program_listens_to_no_home_and_no_cb_trust),
        TRUST_TEST(a_set_uid_program_is_not_lenient_in_a_place_that_was_named),
        TRUST_TEST(a_link_is_followed_as_the_kernel_does_and_all_of_its_way_is_looked_at),
        TRUST_TEST(a_file_that_is_refused_by_one_name_may_be_good_by_another),
        TRUST_TEST(somebody_elses_link_in_a_sticky_directory_is_theirs_to_turn),
        TRUST_TEST(trust_is_turned_off_by_a_variable_or_a_trusted_configuration),
        TRUST_TEST(a_configuration_that_anybody_may_write_does_not_turn_trust_off),
        TRUST_TEST(a_file_that_becomes_writable_after_the_search_is_not_opened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
