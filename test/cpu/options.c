/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU plugin's options: kernels, threads, device. */
#include "backend.h"

#include <stdio.h>
#include <string.h>

static cb_status create(const char *option, void **self, cb_error *err)
{
    cb_create_args args;
    cb_create_args_init(&args);
    args.options = &option;
    args.n_options = 1;
    return test_table()->create(&args, self, err);
}

static void takes(const char *option)
{
    cb_error err = test_error();
    void *self = NULL;
    TEST_OK(create(option, &self, &err), &err);
    TEST_OK(test_table()->init(self, CB_DEVICE_AUTO, &err), &err);
    test_table()->destroy(self);
}

/* The error names the option as a loader looks for it, and quotes the value. */
static void refuses(const char *key, const char *value)
{
    char option[128], where[64];
    cb_error err = test_error();
    void *self = &err;
    snprintf(option, sizeof(option), "%s=%s", key, value);
    snprintf(where, sizeof(where), "option %s", key);
    TEST_STATUS(create(option, &self, &err), CB_INVALID_ARGUMENT, &err);
    assert_ptr_equal(self, &err);
    assert_string_equal(err.where, where);
    assert_int_equal(err.code, CB_INVALID_ARGUMENT);
    if (!strstr(err.msg, value))
        fail_msg("no \"%s\" in \"%s\"", value, err.msg);
}

static void a_bad_number_of_threads_is_refused_by_name(void **state)
{
    static const char *const values[] = {
        "-1",  "abc", "99999999999",         "", " 2", "2 ", "0x2", "+2",
        "1.5", "1e1", "18446744073709551617"
    };
    (void)state;
    for (unsigned i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        refuses("threads", values[i]);
}

static void unknown_kernels_are_refused_by_name(void **state)
{
    static const char *const values[] = { "", "fast", "REFERENCE", "reference2", "auto " };
    (void)state;
    for (unsigned i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        refuses("kernels", values[i]);
}

static void a_device_that_is_none_is_refused_by_name(void **state)
{
    static const char *const values[] = { "7", "no such device", "4294967296" };
    (void)state;
    for (unsigned i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        refuses("device", values[i]);
}

static void an_unknown_option_is_refused_by_name(void **state)
{
    (void)state;
    refuses("colour", "blue");
    refuses("Threads", "2");
    refuses("thread", "2");
    refuses("threads2", "2");
}

static void an_option_without_an_equals_sign_is_refused(void **state)
{
    static const char *const options[] = { "threads", "", "=", "=2", " threads=2" };
    (void)state;
    for (unsigned i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        cb_error err = test_error();
        void *self = NULL;
        TEST_STATUS(create(options[i], &self, &err), CB_INVALID_ARGUMENT, &err);
        assert_non_null(strstr(err.where, "option"));
        assert_null(self);
    }
}

static void an_option_that_is_null_is_refused(void **state)
{
    cb_error err = test_error();
    void *self = NULL;
    (void)state;
    TEST_STATUS(create(NULL, &self, &err), CB_INVALID_ARGUMENT, &err);
    cb_create_args args;
    cb_create_args_init(&args);
    args.n_options = 1;
    TEST_STATUS(test_table()->create(&args, &self, &err), CB_INVALID_ARGUMENT, &err);
    assert_null(self);
}

static void a_key_longer_than_the_error_struct_is_cut(void **state)
{
    char option[4096];
    cb_error err = test_error();
    void *self = NULL;
    (void)state;
    memset(option, 'k', sizeof(option));
    strcpy(option + sizeof(option) - 3, "=v");
    TEST_STATUS(create(option, &self, &err), CB_INVALID_ARGUMENT, &err);
    assert_non_null(memchr(err.where, 0, sizeof(err.where)));
    assert_non_null(memchr(err.msg, 0, sizeof(err.msg)));
}

static void good_values_are_taken(void **state)
{
    static const char *const options[] = { "threads=0",    "threads=1",         "threads=2",
                                           "kernels=auto", "kernels=reference", "device=0",
                                           "device=cpu",   "device=*" };
    (void)state;
    for (unsigned i = 0; i < sizeof(options) / sizeof(options[0]); i++)
        takes(options[i]);
}

static void info_of(cb_backend be, const char *key, char *text, uint64_t length)
{
    cb_error err = test_error();
    TEST_OK(be.api->info(be.self, key, text, &length, &err), &err);
}

static void the_kernels_option_decides_what_info_says(void **state)
{
    char text[64];
    (void)state;
    const cb_backend be = test_open((const char *const[]){ "kernels=reference", NULL });
    info_of(be, "kernels", text, sizeof(text));
    assert_string_equal(text, "reference");
    test_close(be);
}

static void zero_threads_means_the_default(void **state)
{
    char zero[64], unset[64];
    (void)state;
    cb_backend be = test_open((const char *const[]){ "threads=0", NULL });
    info_of(be, "threads", zero, sizeof(zero));
    test_close(be);
    be = test_open(NULL);
    info_of(be, "threads", unset, sizeof(unset));
    test_close(be);
    assert_string_equal(zero, unset);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bad_number_of_threads_is_refused_by_name),
        cmocka_unit_test(unknown_kernels_are_refused_by_name),
        cmocka_unit_test(a_device_that_is_none_is_refused_by_name),
        cmocka_unit_test(an_unknown_option_is_refused_by_name),
        cmocka_unit_test(an_option_without_an_equals_sign_is_refused),
        cmocka_unit_test(an_option_that_is_null_is_refused),
        cmocka_unit_test(a_key_longer_than_the_error_struct_is_cut),
        cmocka_unit_test(good_values_are_taken),
        cmocka_unit_test(the_kernels_option_decides_what_info_says),
        cmocka_unit_test(zero_threads_means_the_default),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
