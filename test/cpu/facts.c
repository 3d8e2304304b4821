/* SPDX-License-Identifier: Apache-2.0 */
/* What the CPU plugin says of itself: devices, capabilities, info, memory_info, supports. */
#include "backend.h"
#include "kit.h"

#include <string.h>

static void device_info_describes_the_host(void **state)
{
    const cb_backend be = TEST_BE(state);
    cb_error err = test_error();
    cb_device_info info;
    cb_device_info_init(&info);
    TEST_OK(be.api->device_info(be.self, 0, &info, &err), &err);
    assert_int_equal(info.size, sizeof(info));
    assert_int_equal(info.ordinal, 0);
    assert_int_equal(info.memory_kind, CB_MEMORY_HOST);
    assert_true(info.total_memory > 0);
    assert_true(info.name[0] && memchr(info.name, 0, sizeof(info.name)));
    assert_string_equal(info.id, "cpu");
}

static void an_ordinal_that_is_no_device_is_refused(void **state)
{
    const cb_backend be = TEST_BE(state);
    cb_error err = test_error();
    cb_device_info info;
    cb_capabilities capabilities;
    cb_device_info_init(&info);
    cb_capabilities_init(&capabilities);
    TEST_STATUS(be.api->device_info(be.self, 1, &info, &err), CB_INVALID_ARGUMENT, &err);
    TEST_STATUS(be.api->device_info(be.self, CB_DEVICE_AUTO, &info, &err), CB_INVALID_ARGUMENT,
                &err);
    TEST_STATUS(be.api->capabilities(be.self, 1, &capabilities, &err), CB_INVALID_ARGUMENT, &err);
    assert_true(info.total_memory == 0 && capabilities.warp_size == 0);
}

static void capabilities_name_the_types_that_the_ops_take(void **state)
{
    const cb_backend be = TEST_BE(state);
    cb_error err = test_error();
    cb_capabilities one, automatic;
    cb_capabilities_init(&one);
    cb_capabilities_init(&automatic);
    TEST_OK(be.api->capabilities(be.self, 0, &one, &err), &err);
    TEST_OK(be.api->capabilities(be.self, CB_DEVICE_AUTO, &automatic, &err), &err);
    assert_memory_equal(&one, &automatic, sizeof(one));
    assert_true(one.features & CB_FEATURE_FP16);
    assert_true(one.features & CB_FEATURE_BF16);
    assert_true(one.features & CB_FEATURE_UNIFIED_MEMORY);
    assert_true(one.features & CB_FEATURE_ASYNC_COPY);
    assert_false(one.features & (CB_FEATURE_FP8 | CB_FEATURE_TENSOR_CORES));
}

/* A struct of a later host is longer, one of an impossible host shorter. */
static void result_structs_are_written_up_to_their_size_only(void **state)
{
    const cb_backend be = TEST_BE(state);
    cb_error err = test_error();
    struct {
        cb_memory_info info;
        unsigned char later[64];
    } longer;
    memset(&longer, 0xaa, sizeof(longer));
    longer.info.size = sizeof(longer);
    TEST_OK(be.api->memory_info(be.self, &longer.info, &err), &err);
    assert_int_equal(longer.info.size, sizeof(longer));
    for (unsigned i = 0; i < sizeof(longer.later); i++)
        assert_int_equal(longer.later[i], 0xaa);

    memset(&longer, 0xaa, sizeof(longer));
    longer.info.size = CB_MEMORY_INFO_1_0 - 8;
    TEST_STATUS(be.api->memory_info(be.self, &longer.info, &err), CB_INVALID_ARGUMENT, &err);
    assert_int_equal(longer.info.total, UINT64_C(0xaaaaaaaaaaaaaaaa));
    TEST_STATUS(be.api->memory_info(be.self, NULL, &err), CB_INVALID_ARGUMENT, &err);
    TEST_STATUS(be.api->device_info(be.self, 0, NULL, &err), CB_INVALID_ARGUMENT, &err);
    TEST_STATUS(be.api->capabilities(be.self, 0, NULL, &err), CB_INVALID_ARGUMENT, &err);
    TEST_STATUS(be.api->device_count(be.self, NULL, &err), CB_INVALID_ARGUMENT, &err);
}

/* Reads one key all three ways that a caller may. */
static void read_key(cb_backend be, const char *key, char *text, uint64_t size)
{
    cb_error err = test_error();
    uint64_t need = 0, length;
    TEST_OK(be.api->info(be.self, key, NULL, &need, &err), &err);
    assert_true(need >= 1 && need <= size);

    memset(text, 'x', size);
    length = need - 1;
    TEST_STATUS(be.api->info(be.self, key, text, &length, &err), CB_INVALID_ARGUMENT, &err);
    assert_int_equal(length, need);
    for (uint64_t i = 0; i < size; i++)
        assert_int_equal(text[i], 'x');

    length = need;
    TEST_OK(be.api->info(be.self, key, text, &length, &err), &err);
    assert_int_equal(length, need);
    assert_int_equal(strlen(text), need - 1);
}

static void info_knows_every_key_that_it_lists(void **state)
{
    static const char *const wanted[] = { "initialized", "summary", "kernels",
                                          "threads",     "isa",     "device" };
    const cb_backend be = TEST_BE(state);
    char keys[512], text[512], list[sizeof(keys) + 2];
    read_key(be, "keys", keys, sizeof(keys));
    for (unsigned i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        char line[64] = "\n";
        list[0] = 0;
        strcat(strcat(strcat(list, "\n"), keys), "\n");
        strcat(strcat(line, wanted[i]), "\n");
        if (!strstr(list, line))
            fail_msg("keys lacks %s: %s", wanted[i], keys);
    }
    char *save = NULL;
    for (char *key = strtok_r(keys, "\n", &save); key; key = strtok_r(NULL, "\n", &save)) {
        read_key(be, key, text, sizeof(text));
        assert_true(text[0] != 0);
    }
}

static void info_of_an_unknown_key_is_not_found(void **state)
{
    static const char *const unknown[] = { "colour", "", "Kernels", "kernel", "kernels " };
    const cb_backend be = TEST_BE(state);
    for (unsigned i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
        cb_error err = test_error();
        uint64_t length = 0;
        TEST_STATUS(be.api->info(be.self, unknown[i], NULL, &length, &err), CB_NOT_FOUND, &err);
        assert_non_null(strstr(err.msg, unknown[i]));
    }
}

static void info_without_key_or_length_is_refused(void **state)
{
    const cb_backend be = TEST_BE(state);
    cb_error err = test_error();
    uint64_t length = 0;
    TEST_STATUS(be.api->info(be.self, NULL, NULL, &length, &err), CB_INVALID_ARGUMENT, &err);
    TEST_STATUS(be.api->info(be.self, "isa", NULL, NULL, &err), CB_INVALID_ARGUMENT, &err);
}

static cb_memory_info memory_of(cb_backend be)
{
    cb_error err = test_error();
    cb_memory_info info;
    cb_memory_info_init(&info);
    TEST_OK(be.api->memory_info(be.self, &info, &err), &err);
    return info;
}

static void memory_info_counts_bytes_as_asked_for(void **state)
{
    const cb_backend be = TEST_BE(state);
    cb_error err = test_error();
    const cb_memory_info before = memory_of(be);
    assert_true(before.total > 0 && before.free <= before.total);
    const uint64_t one = test_alloc(be, 1), two = test_alloc(be, 1001);
    cb_memory_info now = memory_of(be);
    assert_int_equal(now.total, before.total);
    assert_int_equal(now.live_bytes, before.live_bytes + 1002);
    assert_int_equal(now.live_count, before.live_count + 2);
    assert_true(now.free <= before.free - 1002);
    TEST_OK(cb_free(be, one, &err), &err);
    now = memory_of(be);
    assert_int_equal(now.live_bytes, before.live_bytes + 1001);
    assert_int_equal(now.live_count, before.live_count + 1);
    TEST_OK(cb_free(be, two, &err), &err);
    now = memory_of(be);
    assert_memory_equal(&now, &before, sizeof(now));
}

static void a_failed_call_leaves_memory_info_as_it_was(void **state)
{
    const cb_backend be = TEST_BE(state);
    const cb_memory_info before = memory_of(be);
    uint64_t ptr;
    assert_int_equal(cb_alloc(be, 0, &ptr, NULL), CB_INVALID_ARGUMENT);
    assert_int_equal(cb_alloc(be, before.free + 1, &ptr, NULL), CB_OUT_OF_MEMORY);
    assert_int_equal(cb_alloc(be, UINT64_MAX, &ptr, NULL), CB_OUT_OF_MEMORY);
    assert_int_equal(be.api->alloc(be.self, 64, NULL, NULL, NULL), CB_INVALID_ARGUMENT);
    assert_int_equal(cb_free(be, 1, NULL), CB_INVALID_ARGUMENT);
    const cb_memory_info after = memory_of(be);
    assert_memory_equal(&after, &before, sizeof(after));
}

/* supports does not look at pointers, which are 0 here. */
static void supports_says_yes_to_every_op_and_type_of_the_contract(void **state)
{
    const cb_backend be = TEST_BE(state);
    struct kit_call call;
    for (unsigned i = 0; kit_call(i, &call); i++) {
        cb_error err = test_error();
        cb_support support;
        cb_support_init(&support);
        TEST_OK(cb_supports(be, call.op, &call.args, &support, &err), &err);
        if (support.answer == CB_SUPPORT_NO)
            fail_msg("%s: %s", call.name, support.reason);
    }
}

static void supports_says_no_with_a_reason_and_no_error(void **state)
{
    const cb_backend be = TEST_BE(state);
    cb_error err = test_error();
    cb_support support;
    struct kit_call call;
    kit_call_f32(CB_OP_GEMM, &call);
    call.args.gemm.lda = 1;
    cb_support_init(&support);
    TEST_OK(cb_supports(be, CB_OP_GEMM, &call.args, &support, &err), &err);
    assert_int_equal(support.answer, CB_SUPPORT_NO);
    assert_non_null(strstr(support.reason, "lda"));
    cb_support_init(&support);
    TEST_OK(cb_supports(be, CB_OP_COUNT, &call.args, &support, &err), &err);
    assert_int_equal(support.answer, CB_SUPPORT_NO);
    assert_true(support.reason[0] != 0);
    TEST_STATUS(cb_supports(be, CB_OP_GEMM, NULL, &support, &err), CB_INVALID_ARGUMENT, &err);
    TEST_STATUS(cb_supports(be, CB_OP_GEMM, &call.args, NULL, &err), CB_INVALID_ARGUMENT, &err);
    support.size = 8;
    TEST_STATUS(cb_supports(be, CB_OP_GEMM, &call.args, &support, &err), CB_INVALID_ARGUMENT, &err);
}

static void an_unknown_extension_is_not_found(void **state)
{
    static const char *const ids[] = { "cb.map/2", "cb.map", "", "vendor.thing/1" };
    const cb_backend be = TEST_BE(state);
    for (unsigned i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        cb_error err = test_error();
        cb_extension extension;
        cb_extension_init(&extension);
        TEST_STATUS(be.api->get_extension(be.self, ids[i], &extension, &err), CB_NOT_FOUND, &err);
        assert_null(extension.api);
        assert_non_null(strstr(err.msg, ids[i]));
    }
}

static void an_error_struct_is_untouched_by_success(void **state)
{
    const cb_backend be = TEST_BE(state);
    cb_error err, before;
    memset(&err, 0xaa, sizeof(err));
    err.size = sizeof(err);
    before = err;
    uint64_t ptr;
    assert_int_equal(cb_alloc(be, 64, &ptr, &err), CB_OK);
    assert_int_equal(cb_memset(be, ptr, 1, 64, NULL, &err), CB_OK);
    assert_int_equal(cb_free(be, ptr, &err), CB_OK);
    assert_int_equal(cb_synchronize(be, &err), CB_OK);
    assert_memory_equal(&err, &before, sizeof(err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(device_info_describes_the_host),
        cmocka_unit_test(an_ordinal_that_is_no_device_is_refused),
        cmocka_unit_test(capabilities_name_the_types_that_the_ops_take),
        cmocka_unit_test(result_structs_are_written_up_to_their_size_only),
        cmocka_unit_test(info_knows_every_key_that_it_lists),
        cmocka_unit_test(info_of_an_unknown_key_is_not_found),
        cmocka_unit_test(info_without_key_or_length_is_refused),
        cmocka_unit_test(memory_info_counts_bytes_as_asked_for),
        cmocka_unit_test(a_failed_call_leaves_memory_info_as_it_was),
        cmocka_unit_test(supports_says_yes_to_every_op_and_type_of_the_contract),
        cmocka_unit_test(supports_says_no_with_a_reason_and_no_error),
        cmocka_unit_test(an_unknown_extension_is_not_found),
        cmocka_unit_test(an_error_struct_is_untouched_by_success),
    };
    return cmocka_run_group_tests(tests, test_setup_backend, test_teardown_backend);
}
