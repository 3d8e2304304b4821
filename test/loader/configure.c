/* SPDX-License-Identifier: Apache-2.0 */
/* Where settings come from: the system's files and the user's, drop-ins, variables; that a number
 * is one in any locale; and that the loader tells where each value was given. The system's
 * directory is one of the test's own, so the static loader is used. */
#include "place.h"

#include "internal.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

const char *__wrap_cbl_system_directory(void);
const char *__wrap_cbl_system_directory(void)
{
    return path_of("etc");
}

/* Makes the folders of a system and a user, and lets nobody name a file. */
static void use_default_files(void)
{
    static const char *const folders[] = {
        "etc", "etc/cb.conf.d",       "home", "home/.config", "home/.config/compute-backend",
        "xdg", "xdg/compute-backend",
    };
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
        make_folder(folders[i]);
    unsetenv("CB_CONFIG");
    unsetenv("XDG_CONFIG_HOME");
    setenv("HOME", path_of("home"), 1);
}

static const char *config(cb_loader *loader, uint32_t format)
{
    cb_error err = test_error();
    uint64_t length = 0;
    TEST_OK(cb_loader_config(loader, format, NULL, &length, &err), &err);
    char *text = malloc(length);
    assert_non_null(text);
    TEST_OK(cb_loader_config(loader, format, text, &length, &err), &err);
    const char *kept = text_of("%s", text);
    free(text);
    return kept;
}

static const char *options_of_good(void)
{
    cb_loader *loader = open_loader();
    const cb_backend be = select_id(loader, "good");
    const char *options = fact(be, "options");
    release(loader, be);
    close_loader(loader);
    return options;
}

static void the_users_file_and_drop_ins_win_key_by_key(void **state)
{
    (void)state;
    use_default_files();
    plant("good");
    plant("high");
    write_text("etc/cb.conf", "[loader]\nbackend = high\nplugin_path = /nowhere\n"
                              "[backend.good]\na = etc\nb = etc\nc = etc\nd = etc\n");
    write_text("etc/cb.conf.d/20-late.conf", "[backend.good]\nb = late\nc = late\nd = late\n");
    write_text("etc/cb.conf.d/10-early.conf", "[backend.good]\nb = early\nc = early\nx = early\n");
    write_text("etc/cb.conf.d/note.txt", "[backend.good]\nz = text\n");
    write_text("etc/cb.conf.d/.hidden.conf", "[backend.good]\ny = hidden\n");
    write_text("home/.config/compute-backend/cb.conf",
               "[loader]\nbackend = good\n[backend.good]\nc = user\nd = user\n");
    make_folder("home/.config/compute-backend/cb.conf.d");
    write_text("home/.config/compute-backend/cb.conf.d/a.conf", "[backend.good]\nd = drop\n");
    assert_string_equal(options_of_good(), "a=etc,b=late,c=user,d=drop,x=early");

    cb_loader *loader = open_loader();
    assert_string_equal(best(loader), "good");
    const char *text = config(loader, CB_FORMAT_TEXT);
    HAS_TEXT(text, text_of("# %s:2: backend\nbackend = good\n",
                           path_of("home/.config/compute-backend/cb.conf")));
    HAS_TEXT(text,
             text_of("# %s:3: plugin_path\nplugin_path = /nowhere\n", path_of("etc/cb.conf")));
    HAS_TEXT(text, text_of("# %s:2: b\nb = late\n", path_of("etc/cb.conf.d/20-late.conf")));
    HAS_TEXT(text, "# default\nprobe_timeout = 10\n");
    HAS_TEXT(text, text_of("# file: %s: read\n", path_of("etc/cb.conf.d/10-early.conf")));
    close_loader(loader);
}

static void xdg_config_home_is_asked_first_and_only_when_it_is_absolute(void **state)
{
    (void)state;
    use_default_files();
    plant("good");
    write_text("xdg/compute-backend/cb.conf", "[backend.good]\nfrom = xdg\n");
    write_text("home/.config/compute-backend/cb.conf", "[backend.good]\nfrom = home\n");
    assert_string_equal(options_of_good(), "from=home");
    setenv("XDG_CONFIG_HOME", path_of("xdg"), 1);
    assert_string_equal(options_of_good(), "from=xdg");
    setenv("XDG_CONFIG_HOME", "xdg", 1);
    assert_string_equal(options_of_good(), "from=home");
    setenv("XDG_CONFIG_HOME", "", 1);
    assert_string_equal(options_of_good(), "from=home");
    unsetenv("HOME");
    assert_string_equal(options_of_good(), "");
}

static void a_file_that_was_named_is_read_alone_with_its_own_drop_ins(void **state)
{
    (void)state;
    use_default_files();
    plant("good");
    write_text("etc/cb.conf", "[backend.good]\nfrom = etc\nonly = etc\n");
    write_text("home/.config/compute-backend/cb.conf", "[backend.good]\nfrom = home\n");
    configure("mine.conf", "[backend.good]\nfrom = mine\n");
    make_folder("mine.conf.d");
    write_text("mine.conf.d/1.conf", "[backend.good]\nmore = drop\n");
    assert_string_equal(options_of_good(), "from=mine,more=drop");
}

static void default_files_that_are_not_there_or_cannot_be_read_are_no_error(void **state)
{
    (void)state;
    use_default_files();
    plant("good");
    assert_string_equal(options_of_good(), "");
    make_folder("etc/cb.conf");
    write_text("etc/cb.conf.d/1.conf", "[backend.good]\nfrom = drop\n");
    assert_string_equal(options_of_good(), "from=drop");
    cb_loader *loader = open_loader();
    HAS_TEXT(report(loader), text_of("problem: configuration file %s", path_of("etc/cb.conf")));
    HAS_TEXT(report(loader), "Is a directory");
    HAS_TEXT(config(loader, CB_FORMAT_TEXT),
             text_of("# file: %s: cannot be read\n", path_of("etc/cb.conf")));
    HAS_TEXT(config(loader, CB_FORMAT_TEXT),
             text_of("# file: %s: not there\n", path_of("home/.config/compute-backend/cb.conf")));
    close_loader(loader);
}

/* ---- What the configuration says of itself -------------------------------------------------- */

static void what_is_told_of_the_configuration_can_be_read_again(void **state)
{
    (void)state;
    plant("good");
    configure("first.conf", "[loader]\nbackend = good, any\npolicy = prefer\nprobe_timeout = 2.5\n"
                            "[backend.good]\ndepth = 3\nname = a # b\npriority = 7\n"
                            "[backend.high]\ndepth = 4\n");
    setenv("CB_OPTIONS", "good.extra=1", 1);
    cb_loader *loader = open_loader();
    const char *first = config(loader, CB_FORMAT_TEXT);
    HAS_TEXT(first, "# CB_OPTIONS\nextra = 1\n");
    HAS_TEXT(first, "# variable: CB_OPTIONS=good.extra=1\n");
    close_loader(loader);

    configure("second.conf", first);
    unsetenv("CB_OPTIONS");
    assert_string_equal(options_of_good(), "depth=3,name=a # b,extra=1");
    loader = open_loader();
    LACKS_TEXT(report(loader), "problem");
    assert_int_equal(candidate(loader, "good").priority, 7);
    HAS_TEXT(config(loader, CB_FORMAT_TEXT), "probe_timeout = 2.5\n");
    close_loader(loader);
}

/* Asserts that Python reads the text as JSON, and that an expression of it holds. */
static void json_holds(const char *test, const char *text, const char *expression)
{
    const char *const there[] = { "python3", "-c", "import json", NULL };
    if (run_program(there).status != 0)
        test_skip(test, "there is no python3");
    write_text("out.json", text);
    const char *const argv[] = {
        "python3",
        "-c",
        text_of("import json\nd = json.load(open('%s', encoding='utf-8'))\nassert %s, d",
                path_of("out.json"), expression),
        NULL,
    };
    const struct outcome outcome = run_program(argv);
    if (outcome.status)
        fail_msg("%s does not hold: %s\n%s", expression, outcome.err, text);
}

static const char *report_as_json(cb_loader *loader)
{
    static char text[1 << 16];
    cb_error err = test_error();
    uint64_t length = sizeof(text);
    TEST_OK(cb_loader_report_as(loader, CB_FORMAT_JSON, text, &length, &err), &err);
    return text;
}

static void configuration_and_report_as_json_are_json_whatever_is_in_them(void **state)
{
    (void)state;
    static const char test[] = "configuration_and_report_as_json_are_json_whatever_is_in_them";
    plant("good");
    write_text("libcb_odd\"\\\xff\xc3\xa9\xed\xa0\x80.so", "not a library");
    configure("odd.conf", "[loader]\npolicy = \"\nbackend = good\n[backend.good]\n"
                          "name = quote \" slash \\ tab \t e \xc3\xa9 bad \xc3\n");
    cb_loader *loader = open_loader();
    best(loader);
    json_holds(test, config(loader, CB_FORMAT_JSON),
               "d['schema'] == 1 and d['settings'][1] == {'section': 'loader', 'key': 'backend', "
               "'value': 'good', 'origin': d['files'][0]['path'] + ':3: backend'} and "
               "d['settings'][2]['origin'] == 'default' and d['settings'][-1]['section'] == "
               "'backend.good' and '\\xe9 bad \\ufffd' in d['settings'][-1]['value'] and "
               "len(d['problems']) == 1 and d['variables']['CB_TRUST'] == 'off'");
    json_holds(test, report_as_json(loader),
               "d['schema'] == 1 and d['abi'].startswith('1.0 draft') and d['isa'] and "
               "[c['state'] for c in d['candidates']] == ['selected', 'skipped'] and "
               "d['candidates'][0]['id'] == 'good' and d['candidates'][0]['priority'] == 10 and "
               "d['candidates'][0]['milliseconds'] > 0 and len(d['candidates'][0]['build_id']) == "
               "40 and d['candidates'][1]['path'].endswith('\"\\\\\\ufffd\\xe9\\ufffd\\ufffd\\ufffd"
               ".so') and d['searched'][0]['origin'] == 'CB_PLUGINS'");
    cb_error err = test_error();
    uint64_t length = 0;
    TEST_STATUS(cb_loader_report_as(loader, 2, NULL, &length, &err), CB_INVALID_ARGUMENT, &err);
    TEST_STATUS(cb_loader_config(loader, CB_FORMAT_TEXT, NULL, NULL, &err), CB_INVALID_ARGUMENT,
                &err);
    close_loader(loader);
}

/* ---- Values ---------------------------------------------------------------------------------- */

static void an_id_of_cb_options_that_no_plugin_has_is_warned_of(void **state)
{
    (void)state;
    plant("good");
    configure("cb.conf", "[backend.opencl]\ndevice = 1\n");
    setenv("CB_OPTIONS", "good.depth=1,godo.depth=2,godo.name=x", 1);
    cb_loader *loader = open_loader();
    HAS_TEXT(report(loader), "problem: CB_OPTIONS: no plugin has the id godo");
    LACKS_TEXT(report(loader), "opencl");
    LACKS_TEXT(report(loader), "the id good");
    close_loader(loader);
}

static void what_is_odd_is_said_once(void **state)
{
    (void)state;
    static struct said said;
    plant("good");
    configure("odd.conf", "[backend.good]\nbogus = 1\n");
    memset(&said, 0, sizeof(said));
    cb_loader *loader = open_loader();
    cb_loader_set_log(loader, CB_LOG_WARNING, keep_said, &said);
    for (int i = 0; i < 3; i++)
        best(loader);
    assert_int_equal(said.lines, 1);
    HAS_TEXT(said.text, path_of("odd.conf:2"));
    close_loader(loader);
}

/* What a value of probe_timeout becomes, in nanoseconds; 0: it was refused with its line. */
static uint64_t timeout_of(const char *value)
{
    configure("time.conf", text_of("[loader]\nprobe_timeout = %s\n", value));
    cb_loader *loader = open_loader();
    const uint64_t timeout = loader->settings.probe_timeout;
    const char *problem =
        text_of("problem: %s:2: probe_timeout is '%s', not a number", path_of("time.conf"), value);
    const int refused = strstr(report(loader), problem) != NULL;
    if (refused)
        assert_int_equal(timeout, 10000000000);
    close_loader(loader);
    return refused ? 0 : timeout;
}

static void check_numbers(void)
{
    static const char *const bad[] = {
        "1,5",
        "1.5x",
        "1e999",
        "nan",
        "inf",
        "-1",
        "+1",
        "0x1p1",
        "",
        ".",
        "e1",
        "1e",
        "1.5.5",
        "0",
        "1e-9",
        "3601",
        "1e400",
        "1 5",
        "99999999999999999999999999",
    };
    static const struct {
        const char *text;
        uint64_t nanoseconds;
    } good[] = {
        { "1.5", 1500000000 },      { "10", 10000000000 },     { "0.25", 250000000 },
        { ".5", 500000000 },        { "3.", 3000000000 },      { "1e1", 10000000000 },
        { "25E-1", 2500000000 },    { "3600", 3600000000000 }, { "0.001", 1000000 },
        { "1.5e+2", 150000000000 },
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        print_message("# '%s'\n", bad[i]);
        assert_int_equal(timeout_of(bad[i]), 0);
    }
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        print_message("# '%s'\n", good[i].text);
        assert_int_equal(timeout_of(good[i].text), good[i].nanoseconds);
    }
}

static void l10_a_number_is_a_number_of_the_c_locale(void **state)
{
    (void)state;
    plant("good");
    check_numbers();
}

/* Sets a locale with a decimal comma, made in the test's folder where the machine lacks it. */
static int set_comma_locale(void)
{
    if (!setlocale(LC_ALL, "de_DE.UTF-8")) {
        const char *const argv[] = {
            "localedef", "-i", "de_DE", "-f", "UTF-8", path_of("de_DE.UTF-8"), NULL,
        };
        run_program(argv);
        setenv("LOCPATH", path_of(""), 1);
        if (!setlocale(LC_ALL, "de_DE.UTF-8"))
            return 0;
    }
    return localeconv()->decimal_point[0] == ',';
}

static void l10_the_hosts_decimal_comma_changes_nothing(void **state)
{
    (void)state;
    static const char test[] = "l10_the_hosts_decimal_comma_changes_nothing";
    plant("good");
    const int has_comma = set_comma_locale();
    unsetenv("LOCPATH");
    if (!has_comma) {
        setlocale(LC_ALL, "C");
        test_skip(test, "there is no de_DE.UTF-8, and localedef cannot make it");
    }
    assert_string_equal(text_of("%.1f", 1.5), "1,5");
    check_numbers();
    cb_loader *loader = open_loader();
    best(loader);
    const char *text = report(loader), *json = text_of("%s", report_as_json(loader));
    close_loader(loader);
    setlocale(LC_ALL, "C");
    const char *time = strstr(text, "time:");
    assert_non_null(time);
    assert_int_equal(time[strspn(time, "time: 0123456789")], '.');
    json_holds(test, json, "d['candidates'][0]['milliseconds'] > 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLACE_TEST(the_users_file_and_drop_ins_win_key_by_key),
        PLACE_TEST(xdg_config_home_is_asked_first_and_only_when_it_is_absolute),
        PLACE_TEST(a_file_that_was_named_is_read_alone_with_its_own_drop_ins),
        PLACE_TEST(default_files_that_are_not_there_or_cannot_be_read_are_no_error),
        PLACE_TEST(what_is_told_of_the_configuration_can_be_read_again),
        PLACE_TEST(configuration_and_report_as_json_are_json_whatever_is_in_them),
        PLACE_TEST(an_id_of_cb_options_that_no_plugin_has_is_warned_of),
        PLACE_TEST(what_is_odd_is_said_once),
        PLACE_TEST(l10_a_number_is_a_number_of_the_c_locale),
        PLACE_TEST(l10_the_hosts_decimal_comma_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
