/* SPDX-License-Identifier: Apache-2.0 */
/* Device addresses, allocations and copies of the CPU plugin. */
#include "backend.h"
#include "kit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

static const uint64_t first_address = UINT64_C(1) << 62;
enum {
    GAP = 4096,
    ALIGNMENT = 64
};

static void addresses_are_aligned_apart_and_never_handed_out_twice(void **state)
{
    static const uint64_t sizes[] = { 1, 63, 64, 65, 4095, 4096, 4097, 100000 };
    const cb_backend be = TEST_BE(state);
    cb_error err = test_error();
    uint64_t end = first_address - GAP, kept = 0;
    for (int i = 0; i < 10000; i++) {
        const uint64_t bytes = sizes[i % 8], ptr = test_alloc(be, bytes);
        if (ptr < end + GAP || ptr % ALIGNMENT)
            fail_msg("round %d: %#lx after an allocation that ends at %#lx", i, (unsigned long)ptr,
                     (unsigned long)end);
        end = ptr + bytes;
        /* Every tenth lives on for a while, so that the plugin's table has holes. */
        if (i % 10 == 0) {
            if (kept)
                TEST_OK(cb_free(be, kept, &err), &err);
            kept = ptr;
        } else {
            TEST_OK(cb_free(be, ptr, &err), &err);
        }
    }
    TEST_OK(cb_free(be, kept, &err), &err);
}

static void memory_is_zero_even_where_other_memory_was_freed(void **state)
{
    unsigned char dirty[5000], got[5000], zero[5000] = { 0 };
    const cb_backend be = TEST_BE(state);
    cb_error err = test_error();
    memset(dirty, 0xee, sizeof(dirty));
    for (int i = 0; i < 50; i++) {
        const uint64_t bytes = (uint64_t)(1 + i * 97), ptr = test_alloc(be, bytes);
        test_download(be, got, ptr, bytes);
        assert_memory_equal(got, zero, bytes);
        TEST_OK(cb_upload(be, ptr, dirty, bytes, &err), &err);
        TEST_OK(cb_free(be, ptr, &err), &err);
    }
}

static void only_the_base_of_a_live_allocation_can_be_freed_and_only_once(void **state)
{
    const cb_backend be = TEST_BE(state);
    cb_error err = test_error();
    char host = 0;
    const uint64_t ptr = test_alloc(be, 256), next = test_alloc(be, 256);
    const uint64_t bad[] = { 0,
                             1,
                             ptr + 1,
                             ptr + 64,
                             ptr + 255,
                             ptr + 256,
                             ptr - 1,
                             next - 64,
                             UINT64_MAX,
                             first_address - 1,
                             (uint64_t)(uintptr_t)&host };
    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        TEST_STATUS(cb_free(be, bad[i], &err), CB_INVALID_ARGUMENT, &err);
    TEST_OK(cb_free(be, ptr, &err), &err);
    TEST_STATUS(cb_free(be, ptr, &err), CB_INVALID_ARGUMENT, &err);
    test_alloc(be, 256); /* perhaps on the host memory of the freed one */
    TEST_STATUS(cb_free(be, ptr, &err), CB_INVALID_ARGUMENT, &err);
    TEST_OK(cb_free(be, next, &err), &err);
}

static void use_after_free_and_beyond_the_end_is_found_by_every_op(void **state)
{
    const cb_backend be = TEST_BE(state);
    struct kit_call call, bad;
    struct kit_data data;
    for (unsigned i = 0; kit_call(i, &call); i++) {
        cb_error err = test_error();
        kit_data_random(&call, &data, 1, i);
        TEST_OK(kit_place(be, &call, &data, &err), &err);
        for (unsigned o = 0; o < call.n_operands; o++) {
            const uint64_t freed = test_alloc(be, 4096), ptr = *kit_pointer(&call, o);
            TEST_OK(cb_free(be, freed, &err), &err);
            const uint64_t pointers[] = { 0,
                                          freed,
                                          ptr + kit_size(call.operands[o].dtype),
                                          ptr - 64,
                                          first_address - 64,
                                          UINT64_MAX - 63 };
            for (unsigned p = 0; p < sizeof(pointers) / sizeof(pointers[0]); p++) {
                bad = call;
                *kit_pointer(&bad, o) = pointers[p];
                if (kit_run(be, &bad, &err) != CB_INVALID_ARGUMENT)
                    fail_msg("%s took %s at %#lx", call.name, call.operands[o].name,
                             (unsigned long)pointers[p]);
                assert_non_null(strstr(err.msg, call.operands[o].name));
            }
        }
        unsigned char out[KIT_BYTES_MAX];
        test_download(be, out, *kit_pointer(&call, call.out), kit_bytes(&call, call.out));
        assert_memory_equal(out, data.bytes[call.out], kit_bytes(&call, call.out));
        kit_unplace(be, &call);
    }
}

static void more_than_there_is_is_out_of_memory_at_once(void **state)
{
    const cb_backend be = TEST_BE(state);
    cb_memory_info info;
    cb_error err = test_error();
    cb_memory_info_init(&info);
    TEST_OK(be.api->memory_info(be.self, &info, &err), &err);
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    const uint64_t physical = (uint64_t)sysconf(_SC_PHYS_PAGES) * page;
    const uint64_t sizes[] = { info.free + 1, info.total + 1, physical + 1,
                               physical * 2,  UINT64_MAX / 2, UINT64_MAX };
    assert_true(info.total <= physical);
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        uint64_t ptr = 7;
        TEST_STATUS(cb_alloc(be, sizes[i], &ptr, &err), CB_OUT_OF_MEMORY, &err);
        assert_int_equal(ptr, 7);
        assert_string_equal(err.where, "alloc");
    }
    TEST_OK(cb_free(be, test_alloc(be, 1 << 20), &err), &err);
}

/* ---- copies ---- */

static cb_status copy_dtod(cb_backend be, uint64_t dst, uint64_t src, uint64_t bytes, cb_error *err)
{
    cb_copy_dtod_args args = { CB_ARGS(cb_copy_dtod_args), .dst = dst, .src = src, .bytes = bytes };
    return cb_copy_dtod(be, &args, err);
}

static void copy_dtod_copies_as_if_through_a_temporary(void **state)
{
    enum {
        BYTES = 300,
        COUNT = 100
    };
    unsigned char data[BYTES], want[BYTES], got[BYTES];
    const cb_backend be = TEST_BE(state);
    cb_error err = test_error();
    for (int i = 0; i < BYTES; i++)
        data[i] = (unsigned char)(i * 7);
    const uint64_t ptr = test_alloc(be, BYTES);
    for (uint64_t dst = 0; dst <= 200; dst += dst < 110 && dst > 90 ? 1 : 10) {
        TEST_OK(cb_upload(be, ptr, data, BYTES, &err), &err);
        TEST_OK(copy_dtod(be, ptr + dst, ptr + 100, COUNT, &err), &err);
        memcpy(want, data, BYTES);
        memcpy(want + dst, data + 100, COUNT);
        test_download(be, got, ptr, BYTES);
        assert_memory_equal(got, want, BYTES);
    }
    TEST_OK(cb_free(be, ptr, &err), &err);
}

static void a_copy_longer_than_what_is_left_moves_nothing(void **state)
{
    unsigned char data[64], got[64], host[80];
    const cb_backend be = TEST_BE(state);
    cb_error err = test_error();
    memset(data, 0x11, sizeof(data));
    memset(host, 0x22, sizeof(host));
    const uint64_t ptr = test_upload(be, data, 64), other = test_alloc(be, 64);
    const uint64_t offsets[] = { 0, 1, 63, 64 };
    for (unsigned i = 0; i < 4; i++) {
        const uint64_t bytes = 65 - offsets[i];
        TEST_STATUS(cb_upload(be, ptr + offsets[i], host, bytes, &err), CB_INVALID_ARGUMENT, &err);
        TEST_STATUS(cb_download(be, host, ptr + offsets[i], bytes, &err), CB_INVALID_ARGUMENT,
                    &err);
        TEST_STATUS(copy_dtod(be, ptr + offsets[i], other, bytes, &err), CB_INVALID_ARGUMENT, &err);
        TEST_STATUS(copy_dtod(be, other, ptr + offsets[i], bytes, &err), CB_INVALID_ARGUMENT, &err);
        TEST_STATUS(cb_memset(be, ptr + offsets[i], 0x33, bytes, NULL, &err), CB_INVALID_ARGUMENT,
                    &err);
    }
    test_download(be, got, ptr, 64);
    assert_memory_equal(got, data, 64);
    for (unsigned i = 0; i < sizeof(host); i++)
        assert_int_equal(host[i], 0x22);
    TEST_STATUS(cb_upload(be, ptr, host, UINT64_MAX, &err), CB_INVALID_ARGUMENT, &err);
    TEST_OK(cb_free(be, ptr, &err), &err);
    TEST_OK(cb_free(be, other, &err), &err);
}

static void a_copy_of_no_bytes_is_ok_whatever_the_pointers(void **state)
{
    const cb_backend be = TEST_BE(state);
    cb_error err = test_error();
    const uint64_t pointers[] = { 0, 1, first_address, UINT64_MAX };
    for (unsigned i = 0; i < 4; i++) {
        TEST_OK(cb_upload(be, pointers[i], NULL, 0, &err), &err);
        TEST_OK(cb_download(be, NULL, pointers[i], 0, &err), &err);
        TEST_OK(copy_dtod(be, pointers[i], pointers[3 - i], 0, &err), &err);
        TEST_OK(cb_memset(be, pointers[i], 0, 0, NULL, &err), &err);
    }
}

static void a_bad_copy_is_refused(void **state)
{
    char host[8] = { 0 };
    const cb_backend be = TEST_BE(state);
    cb_error err = test_error();
    const uint64_t ptr = test_alloc(be, 8);
    cb_copy_htod_args flagged = { CB_ARGS(cb_copy_htod_args), .flags = 2, .dst = ptr, .src = host,
                                  .bytes = 8 };
    TEST_STATUS(cb_upload(be, ptr, NULL, 8, &err), CB_INVALID_ARGUMENT, &err);
    TEST_STATUS(cb_download(be, NULL, ptr, 8, &err), CB_INVALID_ARGUMENT, &err);
    TEST_STATUS(cb_upload(be, (uint64_t)(uintptr_t)host, host, 8, &err), CB_INVALID_ARGUMENT, &err);
    TEST_STATUS(cb_memset(be, ptr, 256, 8, NULL, &err), CB_INVALID_ARGUMENT, &err);
    TEST_STATUS(cb_copy_htod(be, &flagged, &err), CB_UNSUPPORTED, &err);
    flagged.flags = CB_COPY_ASYNC;
    TEST_OK(cb_copy_htod(be, &flagged, &err), &err);
    TEST_OK(cb_synchronize(be, &err), &err);
    TEST_OK(cb_free(be, ptr, &err), &err);
}

static void memset_sets_bytes_and_no_others(void **state)
{
    unsigned char got[100];
    const cb_backend be = TEST_BE(state);
    cb_error err = test_error();
    const uint64_t ptr = test_alloc(be, 100);
    TEST_OK(cb_memset(be, ptr + 3, 255, 90, NULL, &err), &err);
    TEST_OK(cb_memset(be, ptr + 50, 0, 1, NULL, &err), &err);
    test_download(be, got, ptr, 100);
    for (int i = 0; i < 100; i++)
        assert_int_equal(got[i], i >= 3 && i < 93 && i != 50 ? 255 : 0);
    TEST_OK(cb_free(be, ptr, &err), &err);
}

/* ---- free while an op runs ---- */

enum {
    SIDE = 192
};

struct runner {
    cb_backend be;
    cb_gemm_args args;
    atomic_int started;
    cb_status status;
};

static void *run_gemm(void *arg)
{
    struct runner *r = arg;
    atomic_store(&r->started, 1);
    r->status = cb_gemm(r->be, &r->args, NULL);
    return NULL;
}

/* The op either finished with what it found, or did not start and wrote nothing: the two results
 * differ in every element. */
static void a_buffer_freed_while_an_op_uses_it_lives_until_the_op_ends(void **state)
{
    static float ones[SIDE * SIDE], got[SIDE * SIDE];
    const cb_backend be = TEST_BE(state);
    cb_error err = test_error();
    kit_fill(CB_F32, ones, SIDE * SIDE, 1);
    for (int round = 0; round < 20; round++) {
        struct runner r = { .be = be,
                            .args = { CB_ARGS(cb_gemm_args), .dtype = CB_F32, .m = SIDE, .n = SIDE,
                                      .k = SIDE, .alpha = 1, .lda = SIDE, .ldb = SIDE,
                                      .ldc = SIDE } };
        pthread_t thread;
        r.args.a = test_upload(be, ones, sizeof(ones));
        r.args.b = test_upload(be, ones, sizeof(ones));
        r.args.c = test_alloc(be, sizeof(got));
        assert_int_equal(pthread_create(&thread, NULL, run_gemm, &r), 0);
        while (!atomic_load(&r.started))
            continue;
        usleep((useconds_t)(round * 40));
        TEST_OK(cb_free(be, r.args.a, &err), &err);
        TEST_OK(cb_free(be, r.args.b, &err), &err);
        /* Takes the host memory, were it free, and spoils it. */
        const uint64_t spoiler = test_alloc(be, sizeof(ones));
        TEST_OK(cb_memset(be, spoiler, 0xff, sizeof(ones), NULL, &err), &err);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_true(r.status == CB_OK || r.status == CB_INVALID_ARGUMENT);
        test_download(be, got, r.args.c, sizeof(got));
        for (int i = 0; i < SIDE * SIDE; i++)
            assert_true(got[i] == (r.status == CB_OK ? SIDE : 0));
        TEST_OK(cb_free(be, spoiler, &err), &err);
        TEST_OK(cb_free(be, r.args.c, &err), &err);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_are_aligned_apart_and_never_handed_out_twice),
        cmocka_unit_test(memory_is_zero_even_where_other_memory_was_freed),
        cmocka_unit_test(only_the_base_of_a_live_allocation_can_be_freed_and_only_once),
        cmocka_unit_test(use_after_free_and_beyond_the_end_is_found_by_every_op),
        cmocka_unit_test(more_than_there_is_is_out_of_memory_at_once),
        cmocka_unit_test(copy_dtod_copies_as_if_through_a_temporary),
        cmocka_unit_test(a_copy_longer_than_what_is_left_moves_nothing),
        cmocka_unit_test(a_copy_of_no_bytes_is_ok_whatever_the_pointers),
        cmocka_unit_test(a_bad_copy_is_refused),
        cmocka_unit_test(memset_sets_bytes_and_no_others),
        cmocka_unit_test(a_buffer_freed_while_an_op_uses_it_lives_until_the_op_ends),
    };
    return cmocka_run_group_tests(tests, test_setup_backend, test_teardown_backend);
}
