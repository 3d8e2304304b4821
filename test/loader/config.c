/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration file and the options of backends: what counts, what is refused, and that every
 * complaint says where it comes from. */
#include "place.h"

#include <stdlib.h>
#include <string.h>

/* The options that create gets on the mock "good", under the present configuration. */
static const char *options_of_good(void)
{
    cb_loader *loader = open_loader();
    const cb_backend be = select_id(loader, "good");
    const char *options = fact(be, "options");
    release(loader, be);
    close_loader(loader);
    return options;
}

/* What the loader says of the present configuration after a selection. */
static const char *report_after_selection(void)
{
    cb_loader *loader = open_loader();
    best(loader);
    const char *text = report(loader);
    close_loader(loader);
    return text;
}

static const char plain[] = "[loader]\n"
                            "backend = good\n"
                            "plugin_path = plugins\n"
                            "[backend.good]\n"
                            "depth = 3\n"
                            "name = two words\n"
                            "[backend.high]\n"
                            "depth = 4\n";

static void the_example_of_the_design_is_read_whole(void **state)
{
    (void)state;
    make_folder("plugins");
    copy_file(mock_path("good"), "plugins/libcb_good.so", 0755);
    plant("plain_cpu");
    configure("cb.conf", "[loader]\n"
                         "plugin_path = /opt/gpu/plugins : plugins\n"
                         "backend     = opencl, good\n"
                         "[backend.good]\n"
                         "threads     = 2\n"
                         "kernels     = auto\n");
    unsetenv("CB_PLUGINS");
    setenv("CB_PLUGINS_ADD", path_of(""), 1);
    cb_loader *loader = open_loader();
    const cb_backend be = select_id(loader, NULL);
    assert_string_equal(be.api->name, "good");
    HAS_TEXT(fact(be, "options"), "threads=2");
    HAS_TEXT(fact(be, "options"), "kernels=auto");
    HAS_TEXT(candidate(loader, "good").origin, "cb.conf:2");
    release(loader, be);
    close_loader(loader);
}

static void l08_the_same_file_in_any_dress_means_the_same(void **state)
{
    (void)state;
    static const char *const dresses[] = {
        plain,
        "\xef\xbb\xbf[loader]\nbackend = good\nplugin_path = plugins\n[backend.good]\ndepth = 3\n"
        "name = two words\n[backend.high]\ndepth = 4\n",
        "[loader]\r\nbackend = good\r\nplugin_path = plugins\r\n[backend.good]\r\ndepth = 3\r\n"
        "name = two words\r\n[backend.high]\r\ndepth = 4\r\n",
        "[loader]  \nbackend=good\t \n\tplugin_path\t=\tplugins \t\n  [backend.good]\t\n"
        "depth=3   \n\t name =  two words\t\n[ backend.high ]\ndepth  =4",
        "# first\n;second\n[loader]\n\n# backend = high\nbackend = good\nplugin_path = plugins\n"
        ";depth = 9\n[backend.good]\n\n\ndepth = 3\nname = two words\n[backend.high]\ndepth = 4",
        "\xef\xbb\xbf# note\r\n[loader]\r\nbackend = good \t\r\nplugin_path = plugins\r\n"
        "; note\r\n[backend.good]\r\ndepth = 3\r\nname = two words\r\n[backend.high]\r\ndepth = 4",
        "[backend.good]\ndepth = 3\nname = two words\n[backend.high]\ndepth = 4\n[loader]\n"
        "plugin_path = plugins\nbackend = high\nbackend = good\n",
    };
    make_folder("plugins");
    copy_file(mock_path("good"), "plugins/libcb_good.so", 0755);
    copy_file(mock_path("high"), "plugins/libcb_high.so", 0755);
    unsetenv("CB_PLUGINS");
    for (size_t i = 0; i < sizeof(dresses) / sizeof(dresses[0]); i++) {
        configure("cb.conf", dresses[i]);
        cb_loader *loader = open_loader();
        const cb_backend be = select_id(loader, NULL);
        print_message("# dress %d\n", (int)i);
        assert_string_equal(be.api->name, "good");
        assert_string_equal(fact(be, "options"), "depth=3,name=two words");
        LACKS_TEXT(report(loader), "cb.conf:5: ");
        release(loader, be);
        close_loader(loader);
    }
}

static void a_comment_sign_within_a_line_belongs_to_the_value(void **state)
{
    (void)state;
    plant("good");
    configure("cb.conf", "[backend.good]\nname = a#b ; c = d\n");
    assert_string_equal(options_of_good(), "name=a#b ; c = d");
}

/* Each bad line costs only itself, and is named with its file and line. */
static void a_bad_line_is_reported_with_its_place_and_costs_only_itself(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "no equals sign", "= value without key", "[unclosed",         "[]", "[loader] tail",
        "k ey = 1",       "[backend.]\nx=1",     "[nonsense]\nx = 1",
    };
    plant("good");
    plant("high");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        configure("odd.conf",
                  text_of("[loader]\nbackend = good\n%s\n[backend.good]\ndepth = 3\n", bad[i]));
        assert_string_equal(options_of_good(), "depth=3");
        const char *text = report_after_selection();
        HAS_TEXT(text, path_of("odd.conf:3"));
        setenv("CB_BACKEND", "", 1);
        cb_loader *loader = open_loader();
        assert_string_equal(best(loader), "good");
        close_loader(loader);
    }
}

static void a_key_that_nobody_knows_and_a_value_out_of_range_are_warned_of(void **state)
{
    (void)state;
    static const struct {
        const char *line, *name;
    } rows[] = {
        { "[loader]\nplugin_paths = x", "plugin_paths" },
        { "[loader]\nlayers = x", "layers" },
        { "[loader]\npolicy = sometimes", "policy" },
        { "[backend.high]\npriority = 1.5", "priority" },
        { "[backend.high]\npriority = 1,5", "priority" },
        { "[backend.high]\npriority = 1e999", "priority" },
        { "[backend.high]\npriority = nan", "priority" },
        { "[backend.high]\npriority = -1", "priority" },
        { "[backend.high]\npriority = 1001", "priority" },
        { "[backend.high]\npriority = 99999999999999999999", "priority" },
        { "[backend.high]\npriority =", "priority" },
        { "[backend.high]\nloader_trust = 1", "loader_trust" },
    };
    plant("high");
    plant("good");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        configure("odd.conf", text_of("%s\n", rows[i].line));
        cb_loader *loader = open_loader();
        const cb_backend be = select_id(loader, NULL);
        assert_string_equal(be.api->name, "high");
        assert_string_equal(fact(be, "options"), "");
        HAS_TEXT(report(loader), path_of("odd.conf:2"));
        HAS_TEXT(report(loader), rows[i].name);
        release(loader, be);
        close_loader(loader);
    }
}

static void a_line_of_64_kib_is_read_and_a_longer_one_is_reported(void **state)
{
    (void)state;
    static char line[(1 << 16) + 64];
    plant("good");
    memset(line, 'x', sizeof(line));
    memcpy(line, "name = ", 7);

    line[(1 << 16)] = 0;
    configure("long.conf", text_of("[backend.good]\n%s\n", line));
    HAS_TEXT(options_of_good(), "name=xxxx");

    line[(1 << 16)] = 'x';
    line[(1 << 16) + 1] = 0;
    configure("long.conf", text_of("[backend.good]\n%s\ndepth = 3\n", line));
    assert_string_equal(options_of_good(), "depth=3");
    HAS_TEXT(report_after_selection(), "long.conf:2");
}

static void a_named_configuration_that_is_missing_is_an_error(void **state)
{
    (void)state;
    cb_error err = test_error();
    cb_loader *loader = NULL;
    setenv("CB_CONFIG", path_of("gone.conf"), 1);
    TEST_STATUS(cb_loader_open(NULL, &loader, &err), CB_NOT_FOUND, &err);
    assert_null(loader);
    HAS_TEXT(err.msg, path_of("gone.conf"));

    const cb_loader_options options = { .size = sizeof(options),
                                        .config_file = path_of("also_gone.conf") };
    TEST_STATUS(cb_loader_open(&options, &loader, &err), CB_NOT_FOUND, &err);
    HAS_TEXT(err.msg, "also_gone.conf");
}

static void the_apis_configuration_is_read_instead_of_cb_config(void **state)
{
    (void)state;
    plant("good");
    plant("high");
    write_text("api.conf", "[loader]\nbackend = good\n");
    setenv("CB_CONFIG", path_of("gone.conf"), 1);
    cb_error err = test_error();
    cb_loader *loader = NULL;
    const cb_loader_options options = { .size = sizeof(options),
                                        .config_file = path_of("api.conf") };
    TEST_OK(cb_loader_open(&options, &loader, &err), &err);
    assert_string_equal(best(loader), "good");
    close_loader(loader);
}

/* ---- Options of backends ------------------------------------------------------------------- */

static void cb_options_add_to_the_files_and_win_key_by_key(void **state)
{
    (void)state;
    plant("good");
    configure("cb.conf", "[backend.good]\ndepth = 3\nname = file\n");
    setenv("CB_OPTIONS", "good.name=env,high.depth=9, good.extra = 1 ,", 1);
    const char *options = options_of_good();
    HAS_TEXT(options, "depth=3");
    HAS_TEXT(options, "name=env");
    HAS_TEXT(options, "extra=1");
    LACKS_TEXT(options, "name=file");
    LACKS_TEXT(options, "depth=9");
}

static void the_requests_options_win_over_all_others(void **state)
{
    (void)state;
    static const char *const options[] = { "depth=7" };
    plant("good");
    configure("cb.conf", "[backend.good]\ndepth = 3\nname = file\n");
    setenv("CB_OPTIONS", "good.depth=5", 1);
    const cb_request request = {
        .size = sizeof(request), .id = "good", .options = options, .n_options = 1
    };
    cb_loader *loader = open_loader();
    const cb_backend be = select_request(loader, &request);
    assert_string_equal(fact(be, "options"), "name=file,depth=7");
    release(loader, be);
    close_loader(loader);
}

static void options_of_cb_options_that_cannot_be_read_are_reported(void **state)
{
    (void)state;
    plant("good");
    setenv("CB_OPTIONS", "depth=3,good.name,good.depth=4", 1);
    assert_string_equal(options_of_good(), "depth=4");
    const char *text = report_after_selection();
    HAS_TEXT(text, "CB_OPTIONS");
    HAS_TEXT(text, "good.name");
}

static void an_option_that_create_refuses_is_dropped_with_its_origin(void **state)
{
    (void)state;
    static struct said said;
    plant("good");
    configure("cb.conf", "[backend.good]\ndepth = 3\nbogus = 1\n");
    setenv("CB_OPTIONS", "good.bogus2=1,good.name=x", 1);
    cb_loader *loader = open_loader();
    memset(&said, 0, sizeof(said));
    cb_loader_set_log(loader, CB_LOG_WARNING, keep_said, &said);
    const cb_backend be = select_id(loader, NULL);
    assert_string_equal(fact(be, "options"), "depth=3,name=x");
    assert_string_equal(fact(be, "live"), "1");
    const char *const texts[] = { said.text, report(loader) };
    for (size_t i = 0; i < 2; i++) {
        HAS_TEXT(texts[i], "bogus");
        HAS_TEXT(texts[i], path_of("cb.conf:3"));
        HAS_TEXT(texts[i], "bogus2");
        HAS_TEXT(texts[i], "CB_OPTIONS");
    }
    assert_int_equal(said.lines, 2);
    release(loader, be);
    close_loader(loader);
}

static void an_option_of_the_request_that_create_refuses_fails(void **state)
{
    (void)state;
    static const char *const options[] = { "depth=1", "bogus=1" };
    plant("good");
    const cb_request request = {
        .size = sizeof(request), .id = "good", .options = options, .n_options = 2
    };
    cb_error err = test_error();
    cb_backend be = { NULL, NULL };
    cb_loader *loader = open_loader();
    assert_int_not_equal(cb_loader_select(loader, &request, &be, &err), CB_OK);
    assert_null(be.api);
    HAS_TEXT(err.msg, "option bogus");
    close_loader(loader);
}

/* ---- P05: the number of threads of the CPU backend ----------------------------------------- */

static const char *const bad_threads[] = { "-1", "abc", "99999999999", "" };

static void p05_bad_threads_of_a_request_are_refused_by_name(void **state)
{
    (void)state;
    setenv("CB_PLUGINS", TEST_CPU_PLUGIN, 1);
    for (size_t i = 0; i < sizeof(bad_threads) / sizeof(bad_threads[0]); i++) {
        const char *const options[] = { text_of("threads=%s", bad_threads[i]) };
        const cb_request request = {
            .size = sizeof(request), .id = "cpu", .options = options, .n_options = 1
        };
        cb_error err = test_error();
        cb_backend be = { NULL, NULL };
        cb_loader *loader = open_loader();
        assert_int_not_equal(cb_loader_select(loader, &request, &be, &err), CB_OK);
        HAS_TEXT(err.msg, "option threads");
        HAS_TEXT(err.msg, bad_threads[i]);
        close_loader(loader);
    }
}

static void p05_bad_threads_of_a_file_or_a_variable_are_dropped_with_their_origin(void **state)
{
    (void)state;
    setenv("CB_PLUGINS", TEST_CPU_PLUGIN, 1);
    for (size_t i = 0; i < 2 * (sizeof(bad_threads) / sizeof(bad_threads[0]) - 1); i++) {
        const char *value = bad_threads[i / 2];
        if (i % 2) {
            unsetenv("CB_OPTIONS");
            configure("cb.conf", text_of("[backend.cpu]\nthreads = %s\n", value));
        } else {
            configure("cb.conf", "");
            setenv("CB_OPTIONS", text_of("cpu.threads=%s", value), 1);
        }
        cb_loader *loader = open_loader();
        assert_string_equal(best(loader), "cpu");
        HAS_TEXT(report(loader), "threads");
        HAS_TEXT(report(loader), value);
        HAS_TEXT(report(loader), i % 2 ? path_of("cb.conf:2") : "CB_OPTIONS");
        close_loader(loader);
    }
}

static void p05_zero_threads_mean_the_default(void **state)
{
    (void)state;
    setenv("CB_PLUGINS", TEST_CPU_PLUGIN, 1);
    cb_loader *loader = open_loader();
    const cb_backend plain_be = select_id(loader, "cpu");
    setenv("CB_OPTIONS", "cpu.threads=0", 1);
    cb_loader *other = open_loader();
    const cb_backend zero = select_id(other, "cpu");
    assert_string_equal(fact(zero, "threads"), fact(plain_be, "threads"));
    LACKS_TEXT(report(other), "dropped");
    release(loader, plain_be);
    release(other, zero);
    close_loader(loader);
    close_loader(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLACE_TEST(the_example_of_the_design_is_read_whole),
        PLACE_TEST(l08_the_same_file_in_any_dress_means_the_same),
        PLACE_TEST(a_comment_sign_within_a_line_belongs_to_the_value),
        PLACE_TEST(a_bad_line_is_reported_with_its_place_and_costs_only_itself),
        PLACE_TEST(a_key_that_nobody_knows_and_a_value_out_of_range_are_warned_of),
        PLACE_TEST(a_line_of_64_kib_is_read_and_a_longer_one_is_reported),
        PLACE_TEST(a_named_configuration_that_is_missing_is_an_error),
        PLACE_TEST(the_apis_configuration_is_read_instead_of_cb_config),
        PLACE_TEST(cb_options_add_to_the_files_and_win_key_by_key),
        PLACE_TEST(the_requests_options_win_over_all_others),
        PLACE_TEST(options_of_cb_options_that_cannot_be_read_are_reported),
        PLACE_TEST(an_option_that_create_refuses_is_dropped_with_its_origin),
        PLACE_TEST(an_option_of_the_request_that_create_refuses_fails),
        PLACE_TEST(p05_bad_threads_of_a_request_are_refused_by_name),
        PLACE_TEST(p05_bad_threads_of_a_file_or_a_variable_are_dropped_with_their_origin),
        PLACE_TEST(p05_zero_threads_mean_the_default),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
