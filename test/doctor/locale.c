/* SPDX-License-Identifier: Apache-2.0 */
/* Row L10 of the field reports: in a program whose locale writes a decimal comma, numbers are read
 * and printed as in C. */
#include "backend.h"
#include "cb_loader.h"
#include "selftest.h"

#include <ctype.h>
#include <ftw.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];
static int has_locale;

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status, (void)kind, (void)walk;
    return remove(path);
}

/* Makes the locale where the machine may lack it. */
static int make_folder(void **state)
{
    char command[256];
    (void)state;
    strcpy(folder, "/tmp/cb-locale-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(command, sizeof(command), "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >/dev/null 2>&1",
             folder);
    has_locale = system(command) == 0;
    setenv("LOCPATH", folder, 1);
    setenv("CB_PLUGINS", TEST_CPU_PLUGIN, 1);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void write_with_commas(const char *test)
{
    if (!has_locale)
        test_skip(test, "localedef cannot make de_DE.UTF-8 (package locales)");
    assert_non_null(setlocale(LC_ALL, "de_DE.UTF-8"));
    assert_string_equal(localeconv()->decimal_point, ",");
}

static int write_with_points(void **state)
{
    (void)state;
    setlocale(LC_ALL, "C");
    return 0;
}

static cb_loader *open_with(const char *line)
{
    char path[96];
    cb_error err = test_error();
    cb_loader *loader = NULL;
    cb_loader_options options;
    snprintf(path, sizeof(path), "%s/cb.conf", folder);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "[loader]\n%s\n", line);
    assert_int_equal(fclose(f), 0);
    cb_loader_options_init(&options);
    options.config_file = path;
    TEST_OK(cb_loader_open(&options, &loader, &err), &err);
    return loader;
}

typedef cb_status (*words_fn)(cb_loader *loader, uint32_t format, char *buffer, uint64_t *length,
                              cb_error *err);

/* To be freed. */
static char *words_of(cb_loader *loader, words_fn ask, uint32_t format)
{
    cb_error err = test_error();
    uint64_t length = 0;
    TEST_OK(ask(loader, format, NULL, &length, &err), &err);
    char *text = malloc(length);
    assert_non_null(text);
    TEST_OK(ask(loader, format, text, &length, &err), &err);
    return text;
}

static void l10_a_number_of_the_configuration_is_read_with_a_point(void **state)
{
    (void)state;
    write_with_commas(__func__);
    cb_loader *loader = open_with("probe_timeout = 1.5");
    char *text = words_of(loader, cb_loader_config, CB_FORMAT_JSON);
    assert_non_null(strstr(text, "\"value\": \"1.5\""));
    assert_non_null(strstr(text, "\"problems\": []"));
    free(text);
    cb_loader_close(loader, NULL);
}

static void l10_what_is_no_number_of_c_is_an_error_with_its_line(void **state)
{
    (void)state;
    static const char *const bad[] = { "1,5", "1.5x", "1e999", "nan" };
    write_with_commas(__func__);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char line[64];
        snprintf(line, sizeof(line), "probe_timeout = %s", bad[i]);
        cb_loader *loader = open_with(line);
        char *text = words_of(loader, cb_loader_report_as, CB_FORMAT_TEXT);
        const char *problem = strstr(text, "problem: ");
        if (!problem || !strstr(problem, "cb.conf:2: probe_timeout") || !strstr(problem, bad[i]))
            fail_msg("%s is not complained of: %s", bad[i], text);
        free(text);
        cb_loader_close(loader, NULL);
    }
}

/* Lists in our texts have a blank behind the comma; a number with a comma has a digit there. */
static void has_no_comma_within_a_number(const char *text)
{
    for (const char *at = text; (at = strchr(at, ',')) != NULL; at++)
        if (at > text && isdigit((unsigned char)at[-1]) && isdigit((unsigned char)at[1]))
            fail_msg("a comma within a number: %s", at - 1);
}

static void l10_what_the_loader_prints_has_no_comma_within_a_number(void **state)
{
    (void)state;
    static const words_fn asks[] = { cb_loader_report_as, cb_loader_config };
    write_with_commas(__func__);
    cb_loader *loader = open_with("probe_timeout = 0.25");
    cb_error err = test_error();
    cb_backend be;
    TEST_OK(cb_loader_select(loader, NULL, &be, &err), &err);
    for (size_t i = 0; i < 2; i++) {
        for (uint32_t format = CB_FORMAT_TEXT; format <= CB_FORMAT_JSON; format++) {
            char *text = words_of(loader, asks[i], format);
            has_no_comma_within_a_number(text);
            free(text);
        }
    }
    char *json = words_of(loader, cb_loader_report_as, CB_FORMAT_JSON);
    const char *at = strstr(json, "\"milliseconds\": ");
    assert_non_null(at);
    at += strlen("\"milliseconds\": ");
    assert_int_equal(at[strspn(at, "0123456789")], '.');
    free(json);
    cb_loader_release(loader, be, NULL);
    cb_loader_close(loader, NULL);
}

/* All cases, one after the other; numbers of a spec are part of its name. */
static void add_case(void *ctx, const cb_selftest_result *r)
{
    uint64_t *sum = ctx;
    for (const char *c = r->spec; *c; c++)
        *sum = (*sum ^ (unsigned char)*c) * 0x100000001b3;
}

static uint64_t sum_of_cases(cb_backend be)
{
    uint64_t sum = 1;
    cb_error err = test_error();
    cb_selftest_options options;
    cb_selftest_summary summary;
    cb_selftest_options_init(&options);
    cb_selftest_summary_init(&summary);
    options.filter = "gemm:f32*";
    options.report = add_case;
    options.ctx = &sum;
    TEST_OK(cb_selftest_run(be, &options, &summary, &err), &err);
    assert_true(summary.passed > 0 && !summary.failed);
    return sum;
}

static void l10_a_self_test_has_the_same_cases_with_the_same_names(void **state)
{
    (void)state;
    const cb_backend be = test_open(NULL);
    const uint64_t plain = sum_of_cases(be);
    write_with_commas(__func__);
    assert_true(sum_of_cases(be) == plain);
    test_close(be);
}

int main(void)
{
#define L10(test) cmocka_unit_test_teardown(test, write_with_points)
    const struct CMUnitTest tests[] = {
        L10(l10_a_number_of_the_configuration_is_read_with_a_point),
        L10(l10_what_is_no_number_of_c_is_an_error_with_its_line),
        L10(l10_what_the_loader_prints_has_no_comma_within_a_number),
        L10(l10_a_self_test_has_the_same_cases_with_the_same_names),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
