/* SPDX-License-Identifier: Apache-2.0 */
/* Whole processes: one host binary that gets what its user says, a set-uid host that does not
 * listen to its user's variables (row L06 of field_reports.md), and the command. */
#include "place.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static struct outcome run_host(void)
{
    const char *const argv[] = { TEST_HOST, NULL };
    return run_program(argv);
}

/* ---- Swapping the backend ------------------------------------------------------------------ */

static void plant_ours(void)
{
    assert_int_equal(symlink(TEST_CPU_PLUGIN, path_of("libcb_cpu.so")), 0);
    assert_int_equal(symlink(TEST_NULL_PLUGIN, path_of("libcb_null.so")), 0);
}

static void the_host_gets_the_cpu_when_nobody_says_otherwise(void **state)
{
    (void)state;
    plant_ours();
    const struct outcome outcome = run_host();
    assert_int_equal(outcome.status, 0);
    assert_memory_equal(outcome.out, "cpu: gemm is ", 13);
    LACKS_TEXT(outcome.out, "UNSUPPORTED");
    assert_string_equal(outcome.err, "");
}

static void one_variable_swaps_the_backend_of_the_same_binary(void **state)
{
    (void)state;
    plant_ours();
    setenv("CB_BACKEND", "null", 1);
    const struct outcome outcome = run_host();
    assert_int_equal(outcome.status, 0);
    assert_string_equal(outcome.out, "null: gemm is UNSUPPORTED\n");
}

static void one_line_of_configuration_swaps_the_backend_of_the_same_binary(void **state)
{
    (void)state;
    plant_ours();
    configure("cb.conf", "[loader]\nbackend = null\n");
    const struct outcome outcome = run_host();
    assert_int_equal(outcome.status, 0);
    assert_string_equal(outcome.out, "null: gemm is UNSUPPORTED\n");
}

static void one_file_dropped_into_the_folder_swaps_the_backend_of_the_same_binary(void **state)
{
    (void)state;
    plant_ours();
    plant("high");
    const struct outcome outcome = run_host();
    assert_int_equal(outcome.status, 0);
    assert_string_equal(outcome.out, "high: gemm is OK\n");
}

static void the_library_is_silent_until_cb_log_asks(void **state)
{
    (void)state;
    plant("good");
    plant("fails_init");
    configure("cb.conf", "[loader]\nbackend = fails_init\nnonsense\n");
    assert_string_equal(run_host().err, "");
    setenv("CB_LOG", "error", 1);
    assert_string_equal(run_host().err, "");
    setenv("CB_LOG", "warning", 1);
    const struct outcome warned = run_host();
    HAS_TEXT(warned.err, "fails_init");
    HAS_TEXT(warned.err, "cb.conf:3");
    LACKS_TEXT(warned.err, "a mock is made");
    assert_string_equal(warned.out, "good: gemm is OK\n");
    setenv("CB_LOG", "info", 1);
    HAS_TEXT(run_host().err, "a mock is made");
    setenv("CB_LOG", "loud", 1);
    const struct outcome odd = run_host();
    assert_string_equal(odd.out, "good: gemm is OK\n");
    HAS_TEXT(odd.err, "loud");
}

/* ---- L06 ----------------------------------------------------------------------------------- */

/* A host and a plugin that any user may run and read. */
static void copy_host_and_plugin(unsigned mode)
{
    make_folder("theirs");
    copy_file(mock_path("good"), "theirs/libcb_good.so", 0755);
    copy_file(TEST_HOST, "host", mode);
    make_folder("marks");
    assert_int_equal(chmod(path_of("marks"), 0777), 0);
    setenv("MOCK_MARKER", path_of("marks/marker"), 1);
    setenv("CB_PLUGINS", path_of("theirs"), 1);
    /* A leak is looked for by tracing oneself, which a set-uid process may not do. */
    setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
}

static int marked(void)
{
    return access(path_of("marks/marker"), F_OK) == 0;
}

static void l06_a_plain_process_listens_to_the_variables(void **state)
{
    (void)state;
    copy_host_and_plugin(0755);
    const char *const argv[] = { path_of("host"), NULL };
    const struct outcome mine = run_program(argv);
    assert_int_equal(mine.status, 0);
    HAS_TEXT(mine.out, "good: gemm is OK");
    assert_true(marked());
    assert_int_equal(unlink(path_of("marks/marker")), 0);

    const struct outcome theirs =
        run_unprivileged("l06_a_plain_process_listens_to_the_variables", argv);
    assert_int_equal(theirs.status, 0);
    assert_true(marked());
}

static void l06_a_set_uid_process_takes_no_library_from_the_environment(void **state)
{
    (void)state;
    static const char name[] = "l06_a_set_uid_process_takes_no_library_from_the_environment";
    struct statvfs fs;
    if (geteuid() != 0)
        test_skip(name, "only root can make a set-uid root program");
    if (statvfs(path_of(""), &fs) || fs.f_flag & ST_NOSUID)
        test_skip(name, "/tmp is mounted nosuid");
    copy_host_and_plugin(04755);
    write_text("their.conf", text_of("[loader]\nplugin_path = %s\n", path_of("theirs")));
    const char *const argv[] = { path_of("host"), "--report", NULL };
    static const char *const variables[] = { "CB_PLUGINS", "CB_PLUGINS_ADD", "CB_CONFIG" };
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        for (size_t j = 0; j < sizeof(variables) / sizeof(variables[0]); j++)
            unsetenv(variables[j]);
        setenv(variables[i], path_of(i == 2 ? "their.conf" : "theirs"), 1);
        setenv("CB_BACKEND", "good", 1);
        setenv("CB_LOG", "warning", 1);
        const struct outcome outcome = run_unprivileged(name, argv);
        assert_false(marked());
        LACKS_TEXT(outcome.out, "good: gemm is OK");
        LACKS_TEXT(outcome.out, "libcb_good.so");
        HAS_TEXT(outcome.out, variables[i]);
        HAS_TEXT(outcome.err, variables[i]);
    }
}

/* ---- The command --------------------------------------------------------------------------- */

static struct outcome run_command(const char *const *words)
{
    const char *argv[8] = { TEST_COMMAND };
    for (int i = 0; words[i]; i++)
        argv[i + 1] = words[i];
    return run_program(argv);
}
#define COMMAND(...) run_command((const char *const[]){ __VA_ARGS__, NULL })

static void cb_list_shows_a_line_per_plugin_and_nothing_else(void **state)
{
    (void)state;
    plant("good");
    plant("high");
    const struct outcome outcome = COMMAND("list");
    assert_int_equal(outcome.status, 0);
    assert_string_equal(outcome.err, "");
    HAS_TEXT(outcome.out, "good");
    HAS_TEXT(outcome.out, "high");
    HAS_TEXT(outcome.out, "1.2.3");
    HAS_TEXT(outcome.out, path_of("libcb_high.so"));
    int lines = 0;
    for (const char *at = outcome.out; (at = strchr(at, '\n')) != NULL; at++)
        lines++;
    assert_in_range(lines, 2, 3);
}

static void cb_list_why_says_why_and_what_is_odd_in_the_configuration(void **state)
{
    (void)state;
    plant("good");
    plant("no_note");
    write_text("libcb_text.so", "text");
    configure("odd.conf", "[loader]\nnonsense\n");
    const struct outcome outcome = COMMAND("list", "--why");
    assert_int_equal(outcome.status, 0);
    HAS_TEXT(outcome.out, path_of("libcb_no_note.so"));
    HAS_TEXT(outcome.out, "refused");
    HAS_TEXT(outcome.out, "libcb_text.so");
    HAS_TEXT(outcome.out, "skipped");
    HAS_TEXT(outcome.out, "ELF");
    HAS_TEXT(outcome.out, "CB_PLUGINS");
    HAS_TEXT(outcome.out, "odd.conf:2");
}

static void cb_info_shows_the_facts_of_one_backend(void **state)
{
    (void)state;
    plant_ours();
    const struct outcome cpu = COMMAND("info", "cpu");
    assert_int_equal(cpu.status, 0);
    assert_string_equal(cpu.err, "");
    HAS_TEXT(cpu.out, "cpu");
    HAS_TEXT(cpu.out, "kernels");
    HAS_TEXT(cpu.out, "threads");
    assert_int_equal(COMMAND("info", "null").status, 0);
}

static void cb_info_of_what_cannot_be_had_exits_1_and_says_why_on_stderr(void **state)
{
    (void)state;
    plant("fails_init");
    const struct outcome outcome = COMMAND("info", "fails_init");
    assert_int_equal(outcome.status, 1);
    assert_string_equal(outcome.out, "");
    HAS_TEXT(outcome.err, "the device fell off the bus");
}

static void cb_takes_a_configuration_by_option(void **state)
{
    (void)state;
    make_folder("plugins");
    plant_as("good", "plugins/libcb_good.so");
    write_text("mine.conf", "[loader]\nplugin_path = plugins\n");
    unsetenv("CB_PLUGINS");
    const struct outcome outcome = COMMAND("--config", path_of("mine.conf"), "list");
    assert_int_equal(outcome.status, 0);
    HAS_TEXT(outcome.out, "libcb_good.so");
    const struct outcome gone = COMMAND("--config", path_of("gone.conf"), "list");
    assert_int_equal(gone.status, 1);
    assert_string_equal(gone.out, "");
    HAS_TEXT(gone.err, "gone.conf");
}

static void cb_misused_exits_2_with_nothing_on_stdout(void **state)
{
    (void)state;
    static const char *const rows[][3] = {
        { "lsit" }, { "--nonsense" },     { "list", "--nonsense" }, { "list", "extra" },
        { "info" }, { "info", "a", "b" }, { "--config" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct outcome outcome = COMMAND(rows[i][0], rows[i][1], rows[i][2]);
        print_message("# %s: %s", rows[i][0], outcome.err);
        assert_int_equal(outcome.status, 2);
        assert_string_equal(outcome.out, "");
        assert_string_not_equal(outcome.err, "");
    }
    HAS_TEXT(COMMAND("lsit").err, "list");
}

static void cb_help_documents_the_exit_codes_and_version_is_the_librarys(void **state)
{
    (void)state;
    const char *const *const helps[] = {
        (const char *const[]){ "--help", NULL },
        (const char *const[]){ "help", NULL },
        (const char *const[]){ "list", "--help", NULL },
        (const char *const[]){ "info", "--help", NULL },
    };
    for (size_t i = 0; i < sizeof(helps) / sizeof(helps[0]); i++) {
        const struct outcome outcome = run_command(helps[i]);
        assert_int_equal(outcome.status, 0);
        assert_string_equal(outcome.err, "");
        HAS_TEXT(outcome.out, "usage");
    }
    HAS_TEXT(COMMAND("--help").out, "exit");
    const struct outcome version = COMMAND("--version");
    assert_int_equal(version.status, 0);
    HAS_TEXT(version.out, TEST_VERSION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLACE_TEST(the_host_gets_the_cpu_when_nobody_says_otherwise),
        PLACE_TEST(one_variable_swaps_the_backend_of_the_same_binary),
        PLACE_TEST(one_line_of_configuration_swaps_the_backend_of_the_same_binary),
        PLACE_TEST(one_file_dropped_into_the_folder_swaps_the_backend_of_the_same_binary),
        PLACE_TEST(the_library_is_silent_until_cb_log_asks),
        PLACE_TEST(l06_a_plain_process_listens_to_the_variables),
        PLACE_TEST(l06_a_set_uid_process_takes_no_library_from_the_environment),
        PLACE_TEST(cb_list_shows_a_line_per_plugin_and_nothing_else),
        PLACE_TEST(cb_list_why_says_why_and_what_is_odd_in_the_configuration),
        PLACE_TEST(cb_info_shows_the_facts_of_one_backend),
        PLACE_TEST(cb_info_of_what_cannot_be_had_exits_1_and_says_why_on_stderr),
        PLACE_TEST(cb_takes_a_configuration_by_option),
        PLACE_TEST(cb_misused_exits_2_with_nothing_on_stdout),
        PLACE_TEST(cb_help_documents_the_exit_codes_and_version_is_the_librarys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
