/* SPDX-License-Identifier: Apache-2.0 */
/* Device memory of a device that has little: POCL_MEMORY_LIMIT=1, a GiB. */
#include "backend.h"
#include "kit.h"

#include <string.h>

static cb_memory_info info_of(cb_backend be)
{
    cb_error err = test_error();
    cb_memory_info info;
    cb_memory_info_init(&info);
    TEST_OK(be.api->memory_info(be.self, &info, &err), &err);
    return info;
}

static void the_limit_is_the_devices_and_alloc_tells_when_it_is_reached(void **state)
{
    const cb_backend be = TEST_BE(state);
    const uint64_t piece = UINT64_C(1) << 27;
    uint64_t ptr[64], n = 0, none = 77;
    cb_error err = test_error();
    const cb_memory_info before = info_of(be);
    assert_true(before.total <= UINT64_C(1) << 30 && before.free == before.total);
    while (n < 64 && be.api->alloc(be.self, piece, NULL, &ptr[n], &err) == CB_OK)
        n++;
    assert_int_equal(n, before.total / piece);
    assert_int_equal(err.code, CB_OUT_OF_MEMORY);
    assert_non_null(strstr(err.msg, "134217728 bytes asked for"));
    const cb_memory_info full = info_of(be);
    assert_true(full.live_bytes == n * piece && full.live_count == n);
    assert_true(full.free == full.total - n * piece);
    TEST_STATUS(cb_alloc(be, full.free + 1, &none, &err), CB_OUT_OF_MEMORY, &err);
    assert_true(none == 77);
    test_release(be, ptr[--n]);
    ptr[n++] = test_alloc(be, piece);
    while (n)
        test_release(be, ptr[--n]);
    assert_true(info_of(be).free == before.total);
}

static void more_than_the_device_gives_at_once_is_out_of_memory(void **state)
{
    static const uint64_t bytes[] = { UINT64_C(1) << 30, UINT64_C(1) << 40, UINT64_MAX };
    const cb_backend be = TEST_BE(state);
    for (int i = 0; i < 3; i++) {
        cb_error err = test_error();
        uint64_t ptr = 77;
        TEST_STATUS(cb_alloc(be, bytes[i], &ptr, &err), CB_OUT_OF_MEMORY, &err);
        assert_true(ptr == 77);
    }
}

/* Copies that overlap need temporary memory, which a stream keeps; it is not in the way. */
static void temporary_memory_makes_way(void **state)
{
    const cb_backend be = TEST_BE(state);
    const uint64_t piece = UINT64_C(1) << 27;
    cb_error err = test_error();
    const uint64_t total = info_of(be).total, n = total / piece;
    uint64_t ptr[64];
    ptr[0] = test_alloc(be, piece);
    const cb_copy_dtod_args shift = { CB_ARGS(cb_copy_dtod_args), .dst = ptr[0] + 64, .src = ptr[0],
                                      .bytes = piece - 64 };
    TEST_OK(cb_copy_dtod(be, &shift, &err), &err);
    assert_true(info_of(be).free == total - piece);
    for (uint64_t i = 1; i < n; i++)
        ptr[i] = test_alloc(be, piece);
    TEST_STATUS(cb_copy_dtod(be, &shift, &err), CB_OUT_OF_MEMORY, &err);
    for (uint64_t i = 0; i < n; i++)
        test_release(be, ptr[i]);
    assert_true(info_of(be).free == total);
}

static void freed_while_in_use_it_lives_until_the_work_is_done(void **state)
{
    enum {
        BYTES = 1 << 20
    };
    static unsigned char out[BYTES];
    const cb_backend be = TEST_BE(state);
    cb_error err = test_error();
    for (unsigned round = 0; round < 20; round++) {
        const uint64_t a = test_alloc(be, BYTES), b = test_alloc(be, BYTES);
        const cb_copy_dtod_args move = { CB_ARGS(cb_copy_dtod_args), .flags = CB_COPY_ASYNC,
                                         .dst = b, .src = a, .bytes = BYTES };
        const cb_copy_dtoh_args get = { CB_ARGS(cb_copy_dtoh_args), .flags = CB_COPY_ASYNC,
                                        .dst = out, .src = b, .bytes = BYTES };
        TEST_OK(cb_memset(be, a, round + 1, BYTES, NULL, &err), &err);
        TEST_OK(cb_copy_dtod(be, &move, &err), &err);
        TEST_OK(cb_copy_dtoh(be, &get, &err), &err);
        test_release(be, a);
        test_release(be, b);
        TEST_OK(cb_synchronize(be, &err), &err);
        for (size_t i = 0; i < BYTES; i += 4095)
            assert_int_equal(out[i], round + 1);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, test_setup_backend, test_teardown_backend)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_limit_is_the_devices_and_alloc_tells_when_it_is_reached),
        TEST(more_than_the_device_gives_at_once_is_out_of_memory),
        TEST(temporary_memory_makes_way),
        TEST(freed_while_in_use_it_lives_until_the_work_is_done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
