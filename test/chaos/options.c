/* SPDX-License-Identifier: Apache-2.0 */
/* What the options of chaos do, and that its facts and its page agree. */
#include "backend.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const compute_backend_v1 *beside;

static int load_beside(void **state)
{
    cb_negotiation n;
    cb_plugin_entry_fn entry;
    (void)state;
    cb_negotiation_init(&n);
    void *dl = dlopen(CHAOS_BESIDE, RTLD_NOW | RTLD_LOCAL);
    if (!dl)
        return -1;
    *(void **)&entry = dlsym(dl, CB_PLUGIN_SYMBOL);
    if (!entry || entry(&n) != CB_OK)
        return -1;
    beside = n.table;
    return 0;
}

/* Of the plugin that has libcb_cpu.so beside it; up to two options, NULL for none. */
static cb_status create(const char *first, const char *second, void **self, cb_error *err)
{
    const char *const options[] = { first, second };
    const cb_create_args args = { CB_ARGS(cb_create_args), .options = options,
                                  .n_options = (first != NULL) + (uint64_t)(second != NULL) };
    return beside->create(&args, self, err);
}

static char *info(cb_backend be, const char *key)
{
    cb_error err = test_error();
    uint64_t length = 0;
    TEST_OK(be.api->info(be.self, key, NULL, &length, &err), &err);
    char *text = malloc(length);
    assert_non_null(text);
    TEST_OK(be.api->info(be.self, key, text, &length, &err), &err);
    assert_int_equal(strlen(text) + 1, length);
    return text;
}

static void info_is(cb_backend be, const char *key, const char *want)
{
    char *text = info(be, key);
    assert_string_equal(text, want);
    free(text);
}

static void the_cpu_plugin_beside_it_is_wrapped_unless_another_is_named(void **state)
{
    cb_error err = test_error();
    cb_backend be = { beside, NULL };
    (void)state;
    TEST_OK(create(NULL, NULL, &be.self, &err), &err);
    info_is(be, "wraps", "cpu");
    info_is(be, "fault", "none");
    be.api->destroy(be.self);
}

static void it_wraps_any_backend_itself_among_them(void **state)
{
    cb_error err = test_error();
    cb_backend be = { beside, NULL };
    float x = 2.0f;
    (void)state;
    TEST_OK(create("wrap=" CHAOS_BESIDE, "fault=unary_neg_subtracts", &be.self, &err), &err);
    TEST_OK(be.api->init(be.self, CB_DEVICE_AUTO, &err), &err);
    info_is(be, "wraps", "chaos");
    const uint64_t ptr = test_upload(be, &x, sizeof(x));
    const cb_unary_args args = { CB_ARGS(cb_unary_args), .op = CB_UNARY_NEG, .n = 1, .input = ptr,
                                 .output = ptr };
    TEST_OK(cb_unary(be, &args, &err), &err);
    test_download(be, &x, ptr, sizeof(x));
    assert_true(x == -2.0f);
    be.api->destroy(be.self);
}

static void options_that_it_does_not_know_are_the_wrapped_backends(void **state)
{
    cb_error err = test_error();
    cb_backend be = { beside, NULL };
    (void)state;
    TEST_OK(create("kernels=reference", "threads=3", &be.self, &err), &err);
    info_is(be, "kernels", "reference");
    be.api->destroy(be.self);
    be.self = NULL;
    TEST_STATUS(create("nonsense=1", NULL, &be.self, &err), CB_INVALID_ARGUMENT, &err);
    assert_string_equal(err.where, "option nonsense");
    assert_null(be.self);
}

static void a_wrong_value_is_refused_by_the_name_of_its_option(void **state)
{
    static const char *const wrong[][2] = {
        { "wrap=", "option wrap" },           { "wrap=/nowhere/libcb_none.so", "option wrap" },
        { "wrap=" CHAOS_DOC, "option wrap" }, { "fault=", "option fault" },
        { "fail=nothing", "option fail" },    { "delay=", "option delay" },
        { "delay=1s", "option delay" },       { "delay=10000001", "option delay" },
        { "threads=many", "option threads" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        cb_error err = test_error();
        void *self = NULL;
        TEST_STATUS(create(wrong[i][0], NULL, &self, &err), CB_INVALID_ARGUMENT, &err);
        assert_string_equal(err.where, wrong[i][1]);
        assert_null(self);
    }
}

static void an_unknown_fault_is_refused_with_the_nearest_names(void **state)
{
    cb_error err = test_error();
    void *self = NULL;
    (void)state;
    TEST_STATUS(create("fault=gem_k_shrot", NULL, &self, &err), CB_INVALID_ARGUMENT, &err);
    assert_string_equal(err.where, "option fault");
    assert_non_null(strstr(err.msg, "nearest are gemm_k_short, "));
}

static void info_lists_the_keys_of_both_once(void **state)
{
    static const char *const keys[] = { "summary", "wraps",   "fault",       "fail",
                                        "faults",  "kernels", "initialized", "fault.gemm_k_short" };
    cb_error err = test_error();
    cb_backend be = { beside, NULL };
    (void)state;
    TEST_OK(create("fail=gemm", "fault=last_first", &be.self, &err), &err);
    info_is(be, "fault", "last_first");
    info_is(be, "fail", "gemm");
    char *listed = info(be, "keys"), *padded = malloc(strlen(listed) + 3);
    assert_non_null(padded);
    sprintf(padded, "\n%s\n", listed);
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        char line[64];
        snprintf(line, sizeof(line), "\n%s\n", keys[i]);
        const char *at = strstr(padded, line);
        assert_non_null(at);
        assert_null(strstr(at + 1, line));
    }
    free(padded);
    free(listed);
    be.api->destroy(be.self);
}

/* The row of the page's table for a fault: what info says, "SUBJECT: TEXT", in two columns. */
static void row_of(cb_backend be, const char *name, char *row, size_t size)
{
    char key[128];
    snprintf(key, sizeof(key), "fault.%s", name);
    char *text = info(be, key);
    const size_t subject = strcspn(text, ":");
    assert_int_equal(text[subject], ':');
    snprintf(row, size, "\n| `%s` | %.*s |%s |\n", name, (int)subject, text, text + subject + 1);
    free(text);
}

static void the_page_lists_every_fault_and_no_other(void **state)
{
    static char page[65536];
    cb_error err = test_error();
    cb_backend be = { beside, NULL };
    size_t faults = 0, rows = 0;
    (void)state;
    FILE *f = fopen(CHAOS_DOC, "r");
    assert_non_null(f);
    page[fread(page, 1, sizeof(page) - 1, f)] = 0;
    fclose(f);
    TEST_OK(create(NULL, NULL, &be.self, &err), &err);
    char *names = info(be, "faults"), *save = NULL;
    for (char *name = strtok_r(names, ", ", &save); name; name = strtok_r(NULL, ", ", &save)) {
        char row[512];
        row_of(be, name, row, sizeof(row));
        if (!strstr(page, row))
            print_error("not in the page: %s", row);
        assert_non_null(strstr(page, row));
        faults++;
    }
    for (const char *at = strstr(page, "| fault |"); at; at = strstr(at + 1, "\n| `"))
        rows++;
    assert_true(faults >= 40);
    assert_int_equal(rows - 1, faults);
    free(names);
    be.api->destroy(be.self);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cpu_plugin_beside_it_is_wrapped_unless_another_is_named),
        cmocka_unit_test(it_wraps_any_backend_itself_among_them),
        cmocka_unit_test(options_that_it_does_not_know_are_the_wrapped_backends),
        cmocka_unit_test(a_wrong_value_is_refused_by_the_name_of_its_option),
        cmocka_unit_test(an_unknown_fault_is_refused_with_the_nearest_names),
        cmocka_unit_test(info_lists_the_keys_of_both_once),
        cmocka_unit_test(the_page_lists_every_fault_and_no_other),
    };
    return cmocka_run_group_tests(tests, load_beside, NULL);
}
