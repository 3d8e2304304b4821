/* SPDX-License-Identifier: Apache-2.0 */
/* What is a device, how one is chosen, and what is said where there is none. With the
 * argument "two" the platform has two devices. */
#include "backend.h"
#include "driver.h"

#include <stdio.h>
#include <string.h>

#define FP_DENORM         (1u << 0)
#define FP_CORRECT_DIVIDE (1u << 7)

/* An instance without init; NULL when an option is refused. */
static cb_backend create(const char *option, cb_error *err)
{
    cb_backend be = { test_table(), NULL };
    cb_create_args args;
    cb_create_args_init(&args);
    args.options = &option;
    args.n_options = option != NULL;
    *err = test_error();
    be.api->create(&args, &be.self, err);
    return be;
}

static uint32_t count_of(cb_backend be)
{
    cb_error err = test_error();
    uint32_t count = 77;
    TEST_OK(be.api->device_count(be.self, &count, &err), &err);
    return count;
}

static cb_device_info info_of(cb_backend be, uint32_t ordinal)
{
    cb_error err = test_error();
    cb_device_info info;
    cb_device_info_init(&info);
    TEST_OK(be.api->device_info(be.self, ordinal, &info, &err), &err);
    return info;
}

/* ---- one device or more ---- */

static void a_processor_has_host_memory_whatever_its_driver_says(void **state)
{
    cb_error err;
    (void)state;
    const cb_backend be = create(NULL, &err);
    const cb_device_info info = info_of(be, 0);
    assert_int_equal(info.memory_kind, CB_MEMORY_HOST);
    assert_true(info.total_memory > 0 && info.name[0]);
    assert_non_null(strstr(info.id, "opencl:"));
    test_close(be);
}

static void a_device_is_named_by_ordinal_id_or_glob(void **state)
{
    char option[3][192];
    cb_error err;
    (void)state;
    cb_backend be = create(NULL, &err);
    const cb_device_info info = info_of(be, 0);
    test_close(be);
    snprintf(option[0], sizeof(option[0]), "device=0");
    snprintf(option[1], sizeof(option[1]), "device=%s", info.id);
    snprintf(option[2], sizeof(option[2]), "device=%.4s*", info.name);
    for (int i = 0; i < 3; i++) {
        be = create(option[i], &err);
        assert_non_null(be.self);
        TEST_OK(be.api->init(be.self, CB_DEVICE_AUTO, &err), &err);
        test_close(be);
    }
}

static void an_option_that_cannot_be_is_refused_by_its_name(void **state)
{
    static const struct {
        const char *option, *where;
    } bad[] = {
        { "device=99", "option device" },
        { "device=", "option device" },
        { "device=none*", "option device" },
        { "device=4294967296", "option device" },
        { "gemm_tile=", "option gemm_tile" },
        { "gemm_tile=8x8", "option gemm_tile" },
        { "gemm_tile=8x8x9", "option gemm_tile" },
        { "gemm_tile=0x8x8", "option gemm_tile" },
        { "gemm_tile=8x8x8x8", "option gemm_tile" },
        { "gemm_tile=999x8x8", "option gemm_tile" },
        { "warmup=", "option warmup" },
        { "warmup=gem", "option warmup" },
        { "warmup=gemm,", "option warmup" },
        { "warmup=gemm,gemm,nothing", "option warmup" },
        { "threads=1", "option threads" },
        { "device", "option device" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        cb_error err;
        const cb_backend be = create(bad[i].option, &err);
        if (be.self)
            fail_msg("%s is taken", bad[i].option);
        assert_int_equal(err.code, CB_INVALID_ARGUMENT);
        assert_string_equal(err.where, bad[i].where);
    }
}

static void what_a_device_says_of_itself_is_there_before_init(void **state)
{
    cb_error err;
    cb_capabilities c;
    char text[512];
    uint64_t length = sizeof(text);
    (void)state;
    const cb_backend be = create(NULL, &err);
    cb_capabilities_init(&c);
    TEST_OK(be.api->capabilities(be.self, CB_DEVICE_AUTO, &c, &err), &err);
    assert_true(c.max_threads_per_block >= 64 && c.shared_memory_per_block >= 16384);
    TEST_OK(be.api->info(be.self, "driver", text, &length, &err), &err);
    assert_true(text[0] && strcmp(text, "none"));
    test_close(be);
}

static void a_device_that_lacks_what_the_contract_needs_is_listed_and_refused(void **state)
{
    static const struct {
        uint64_t bits;
        const char *reason;
    } lacks[] = { { FP_DENORM, "CL_FP_DENORM" },
                  { FP_CORRECT_DIVIDE, "CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT" } };
    (void)state;
    for (int i = 0; i < 2; i++) {
        cb_error err;
        driver_lack(lacks[i].bits, 0);
        const cb_backend be = create(NULL, &err);
        assert_int_equal(count_of(be), 1);
        assert_true(info_of(be, 0).name[0]);
        TEST_STATUS(be.api->init(be.self, CB_DEVICE_AUTO, &err), CB_UNSUPPORTED, &err);
        assert_non_null(strstr(err.msg, lacks[i].reason));
        test_close(be);
    }
}

static void a_device_without_doubles_does_not_do_f64_and_says_so(void **state)
{
    cb_error err;
    cb_support support;
    (void)state;
    driver_lack(0, 1);
    const cb_backend be = create(NULL, &err);
    TEST_OK(be.api->init(be.self, 0, &err), &err);
    const uint64_t x = test_alloc(be, 64);
    cb_unary_args args = { CB_ARGS(cb_unary_args), .dtype = CB_F64, .n = 8, .input = x,
                           .output = x };
    cb_support_init(&support);
    TEST_STATUS(cb_unary(be, &args, &err), CB_UNSUPPORTED, &err);
    assert_non_null(strstr(err.msg, "f64"));
    TEST_OK(cb_supports(be, CB_OP_UNARY, &args, &support, &err), &err);
    assert_int_equal(support.answer, CB_SUPPORT_NO);
    assert_non_null(strstr(support.reason, "f64"));
    args.dtype = CB_F32;
    TEST_OK(cb_unary(be, &args, &err), &err);
    TEST_OK(cb_supports(be, CB_OP_UNARY, &args, &support, &err), &err);
    assert_int_equal(support.answer, CB_SUPPORT_YES);
    test_close(be);
}

/* ---- two devices ---- */

static void two_devices_have_ids_of_their_own_and_either_can_be_had(void **state)
{
    cb_error err;
    (void)state;
    cb_backend be = create(NULL, &err);
    assert_int_equal(count_of(be), 2);
    const cb_device_info a = info_of(be, 0), b = info_of(be, 1);
    assert_true(a.ordinal == 0 && b.ordinal == 1);
    assert_string_not_equal(a.id, b.id);
    test_close(be);

    char option[96];
    snprintf(option, sizeof(option), "device=%s", b.id);
    be = create(option, &err);
    TEST_OK(be.api->init(be.self, CB_DEVICE_AUTO, &err), &err);
    TEST_OK(be.api->init(be.self, 1, &err), &err);
    TEST_STATUS(be.api->init(be.self, 0, &err), CB_INVALID_ARGUMENT, &err);
    const uint64_t x = test_upload(be, option, 8);
    char back[8];
    test_download(be, back, x, 8);
    assert_memory_equal(back, option, 8);
    test_close(be);

    be = create("device=1", &err); /* a number wins over the option */
    TEST_OK(be.api->init(be.self, 0, &err), &err);
    TEST_STATUS(be.api->init(be.self, 1, &err), CB_INVALID_ARGUMENT, &err);
    test_close(be);
}

static void a_device_that_cannot_be_used_comes_behind_one_that_can(void **state)
{
    cb_error err;
    (void)state;
    driver_lack_once(FP_DENORM);
    const cb_backend be = create(NULL, &err);
    assert_int_equal(count_of(be), 2);
    TEST_STATUS(be.api->init(be.self, 1, &err), CB_UNSUPPORTED, &err);
    TEST_OK(be.api->init(be.self, CB_DEVICE_AUTO, &err), &err);
    test_close(be);
}

/* ---- none; test/opencl/absent.c has the other reasons ---- */

static void platforms_without_devices_are_no_device(void **state)
{
    cb_error err;
    uint32_t count = 77;
    (void)state;
    driver_no_devices();
    const cb_backend be = create(NULL, &err);
    TEST_OK(be.api->device_count(be.self, &count, &err), &err);
    assert_int_equal(count, 0);
    assert_non_null(strstr(err.msg, "no device in it (clGetDeviceIDs: -1)"));
    test_close(be);
}

static int reset(void **state)
{
    (void)state;
    driver_reset();
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, reset, reset)
int main(int argc, char **argv)
{
    const struct CMUnitTest one[] = {
        TEST(a_processor_has_host_memory_whatever_its_driver_says),
        TEST(a_device_is_named_by_ordinal_id_or_glob),
        TEST(an_option_that_cannot_be_is_refused_by_its_name),
        TEST(what_a_device_says_of_itself_is_there_before_init),
        TEST(a_device_that_lacks_what_the_contract_needs_is_listed_and_refused),
        TEST(a_device_without_doubles_does_not_do_f64_and_says_so),
        TEST(platforms_without_devices_are_no_device),
    };
    const struct CMUnitTest two[] = {
        TEST(two_devices_have_ids_of_their_own_and_either_can_be_had),
        TEST(a_device_that_cannot_be_used_comes_behind_one_that_can),
    };
    if (argc > 1 && !strcmp(argv[1], "two"))
        return cmocka_run_group_tests(two, NULL, NULL);
    return cmocka_run_group_tests(one, NULL, NULL);
}
