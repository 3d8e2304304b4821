/* SPDX-License-Identifier: Apache-2.0 */
/* A machine without OpenCL, or without a platform of it: no error, and the reason, which is the
 * argument. */
#include "backend.h"

#include <string.h>

static const char *reason;

static cb_backend create(void)
{
    static const char *const options[] = { "device=0" };
    cb_error err = test_error();
    cb_backend be = { test_table(), NULL };
    cb_create_args args;
    cb_create_args_init(&args);
    args.options = options;
    args.n_options = 1;
    TEST_OK(be.api->create(&args, &be.self, &err), &err);
    return be;
}

static void says_why(const char *text)
{
    if (!strstr(text, reason))
        fail_msg("\"%s\" does not say \"%s\"", text, reason);
}

static void device_count_is_zero_and_says_why(void **state)
{
    cb_error err = test_error();
    uint32_t count = 77;
    (void)state;
    const cb_backend be = create();
    for (int i = 0; i < 2; i++) {
        TEST_OK(be.api->device_count(be.self, &count, &err), &err);
        assert_int_equal(count, 0);
        assert_int_equal(err.code, CB_OK);
        says_why(err.msg);
    }
    TEST_OK(be.api->device_count(be.self, &count, NULL), NULL);
    test_close(be);
}

static void init_is_refused_and_says_why(void **state)
{
    cb_error err = test_error();
    uint64_t ptr = 0;
    (void)state;
    const cb_backend be = create();
    TEST_STATUS(be.api->init(be.self, CB_DEVICE_AUTO, &err), CB_INVALID_ARGUMENT, &err);
    says_why(err.msg);
    TEST_STATUS(be.api->init(be.self, 0, &err), CB_INVALID_ARGUMENT, &err);
    TEST_STATUS(cb_alloc(be, 64, &ptr, &err), CB_NOT_INITIALIZED, &err);
    test_close(be);
}

static void facts_of_no_device_are_refused_or_say_so(void **state)
{
    cb_error err = test_error();
    cb_capabilities c;
    cb_device_info info;
    char text[512];
    uint64_t length = sizeof(text);
    (void)state;
    const cb_backend be = create();
    cb_capabilities_init(&c);
    cb_device_info_init(&info);
    TEST_STATUS(be.api->capabilities(be.self, 0, &c, &err), CB_INVALID_ARGUMENT, &err);
    TEST_STATUS(be.api->device_info(be.self, 0, &info, &err), CB_INVALID_ARGUMENT, &err);
    TEST_OK(be.api->info(be.self, "summary", text, &length, &err), &err);
    says_why(text);
    test_close(be);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(device_count_is_zero_and_says_why),
        cmocka_unit_test(init_is_refused_and_says_why),
        cmocka_unit_test(facts_of_no_device_are_refused_or_say_so),
    };
    reason = argc > 1 ? argv[1] : "";
    return cmocka_run_group_tests(tests, NULL, NULL);
}
