/* SPDX-License-Identifier: Apache-2.0 */
/* The extension cb.map/1 of the CPU plugin. */
#include "backend.h"
#include "kit.h"

#include <string.h>

/* The extension and its self, as get_extension fills them. */
struct mapper {
    const cb_map_v1 *api;
    void *self;
};

static struct mapper get(cb_backend be)
{
    cb_error err = test_error();
    cb_extension extension;
    cb_extension_init(&extension);
    TEST_OK(be.api->get_extension(be.self, CB_MAP_ID, &extension, &err), &err);
    const struct mapper m = { extension.api, extension.self };
    assert_true(m.api->size >= CB_MAP_1_0);
    return m;
}

static void *map(cb_backend be, uint64_t ptr, uint64_t bytes)
{
    const struct mapper m = get(be);
    cb_error err = test_error();
    void *host = NULL;
    TEST_OK(m.api->map(m.self, ptr, bytes, &host, &err), &err);
    assert_non_null(host);
    return host;
}

static cb_status unmap(cb_backend be, uint64_t ptr, void *host, cb_error *err)
{
    const struct mapper m = get(be);
    return m.api->unmap(m.self, ptr, host, err);
}

static void a_mapped_buffer_is_the_devices_memory(void **state)
{
    const cb_backend be = TEST_BE(state);
    cb_error err = test_error();
    float got[4];
    const uint64_t ptr = test_alloc(be, sizeof(got));
    float *host = map(be, ptr, sizeof(got));
    kit_fill(CB_F32, host, 4, -2);
    /* Unified memory: an op may use it while it is mapped. */
    const cb_unary_args neg = { CB_ARGS(cb_unary_args), .op = CB_UNARY_NEG, .n = 2, .input = ptr,
                                .output = ptr };
    TEST_OK(cb_unary(be, &neg, &err), &err);
    assert_true(host[0] == 2 && host[1] == 2 && host[2] == -2);
    TEST_OK(unmap(be, ptr, host, &err), &err);
    test_download(be, got, ptr, sizeof(got));
    assert_true(got[0] == 2 && got[1] == 2 && got[2] == -2 && got[3] == -2);
    TEST_OK(cb_free(be, ptr, &err), &err);
}

static void a_map_may_begin_inside_an_allocation(void **state)
{
    const cb_backend be = TEST_BE(state);
    cb_error err = test_error();
    unsigned char got[16];
    const uint64_t ptr = test_alloc(be, 16);
    unsigned char *all = map(be, ptr, 16), *tail = map(be, ptr + 13, 3);
    assert_ptr_equal(tail, all + 13);
    memset(tail, 7, 3);
    TEST_OK(unmap(be, ptr + 13, tail, &err), &err);
    TEST_OK(unmap(be, ptr, all, &err), &err);
    test_download(be, got, ptr, 16);
    assert_true(got[12] == 0 && got[13] == 7 && got[15] == 7);
    TEST_OK(cb_free(be, ptr, &err), &err);
}

static void a_mapped_buffer_cannot_be_freed_until_every_unmap(void **state)
{
    const cb_backend be = TEST_BE(state);
    cb_error err = test_error();
    const uint64_t ptr = test_alloc(be, 64);
    void *one = map(be, ptr, 64), *two = map(be, ptr, 64);
    TEST_STATUS(cb_free(be, ptr, &err), CB_INVALID_ARGUMENT, &err);
    assert_non_null(strstr(err.msg, "map"));
    TEST_OK(unmap(be, ptr, one, &err), &err);
    TEST_STATUS(cb_free(be, ptr, &err), CB_INVALID_ARGUMENT, &err);
    TEST_OK(unmap(be, ptr, two, &err), &err);
    TEST_STATUS(unmap(be, ptr, two, &err), CB_INVALID_ARGUMENT, &err);
    TEST_OK(cb_free(be, ptr, &err), &err);
}

static void a_map_that_is_no_range_of_one_allocation_is_refused(void **state)
{
    const cb_backend be = TEST_BE(state);
    const struct mapper m = get(be);
    cb_error err = test_error();
    const uint64_t ptr = test_alloc(be, 64);
    const struct {
        uint64_t ptr, bytes;
    } bad[] = { { ptr, 0 },     { ptr, 65 },         { ptr + 1, 64 }, { ptr + 64, 1 },
                { ptr - 1, 1 }, { ptr, UINT64_MAX }, { 0, 1 } };
    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        void *host = &err;
        TEST_STATUS(m.api->map(m.self, bad[i].ptr, bad[i].bytes, &host, &err), CB_INVALID_ARGUMENT,
                    &err);
        assert_string_equal(err.where, "map");
        assert_ptr_equal(host, &err);
    }
    TEST_STATUS(m.api->map(m.self, ptr, 64, NULL, &err), CB_INVALID_ARGUMENT, &err);
    TEST_OK(cb_free(be, ptr, &err), &err); /* nothing of it counted as mapped */
}

static void an_unmap_that_belongs_to_no_map_is_refused(void **state)
{
    const cb_backend be = TEST_BE(state);
    cb_error err = test_error();
    const uint64_t ptr = test_alloc(be, 64), other = test_alloc(be, 64);
    char *host = map(be, ptr, 64);
    TEST_STATUS(unmap(be, ptr, host + 1, &err), CB_INVALID_ARGUMENT, &err);
    TEST_STATUS(unmap(be, ptr, NULL, &err), CB_INVALID_ARGUMENT, &err);
    TEST_STATUS(unmap(be, other, host, &err), CB_INVALID_ARGUMENT, &err);
    TEST_STATUS(unmap(be, 0, host, &err), CB_INVALID_ARGUMENT, &err);
    TEST_STATUS(unmap(be, ptr + 8, host + 8, &err), CB_INVALID_ARGUMENT, &err);
    TEST_OK(unmap(be, ptr, host, &err), &err);
    TEST_OK(cb_free(be, ptr, &err), &err);
    TEST_OK(cb_free(be, other, &err), &err);
}

static void imported_memory_is_used_in_place_and_stays_the_hosts(void **state)
{
    _Alignas(64) float memory[32];
    const cb_backend be = TEST_BE(state);
    const struct mapper m = get(be);
    cb_error err = test_error();
    uint64_t ptr = 0;
    kit_fill(CB_F32, memory, 32, 3);
    TEST_OK(m.api->import_host(m.self, memory, sizeof(memory), &ptr, &err), &err);
    assert_true(ptr >= UINT64_C(1) << 62 && ptr % 64 == 0);
    const cb_binary_args mul = {
        CB_ARGS(cb_binary_args),      .op = CB_BINARY_MUL, .n = 31, .a = ptr, .b = ptr,
        .output = ptr + sizeof(float)
    };
    TEST_OK(cb_binary(be, &mul, &err), &err);
    assert_true(memory[0] == 3 && memory[1] == 9 && memory[31] == 9);
    assert_ptr_equal(map(be, ptr + 8, 8), memory + 2);
    TEST_STATUS(cb_free(be, ptr, &err), CB_INVALID_ARGUMENT, &err);
    TEST_OK(unmap(be, ptr + 8, memory + 2, &err), &err);
    TEST_OK(cb_free(be, ptr, &err), &err);
    TEST_STATUS(cb_free(be, ptr, &err), CB_INVALID_ARGUMENT, &err);
    assert_true(memory[1] == 9);
}

static void bad_imports_are_refused(void **state)
{
    _Alignas(64) char memory[128];
    const cb_backend be = TEST_BE(state);
    const struct mapper m = get(be);
    cb_error err = test_error();
    const struct {
        void *host;
        uint64_t bytes;
    } bad[] = { { NULL, 64 }, { memory, 0 }, { memory + 1, 64 }, { memory + 32, 64 } };
    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        uint64_t ptr = 7;
        TEST_STATUS(m.api->import_host(m.self, bad[i].host, bad[i].bytes, &ptr, &err),
                    CB_INVALID_ARGUMENT, &err);
        assert_string_equal(err.where, "import_host");
        assert_int_equal(ptr, 7);
    }
    TEST_STATUS(m.api->import_host(m.self, memory, 64, NULL, &err), CB_INVALID_ARGUMENT, &err);
    uint64_t ptr = 7;
    assert_int_not_equal(m.api->import_host(m.self, memory, UINT64_MAX, &ptr, &err), CB_OK);
    assert_int_equal(ptr, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mapped_buffer_is_the_devices_memory),
        cmocka_unit_test(a_map_may_begin_inside_an_allocation),
        cmocka_unit_test(a_mapped_buffer_cannot_be_freed_until_every_unmap),
        cmocka_unit_test(a_map_that_is_no_range_of_one_allocation_is_refused),
        cmocka_unit_test(an_unmap_that_belongs_to_no_map_is_refused),
        cmocka_unit_test(imported_memory_is_used_in_place_and_stays_the_hosts),
        cmocka_unit_test(bad_imports_are_refused),
    };
    return cmocka_run_group_tests(tests, test_setup_backend, test_teardown_backend);
}
