/* SPDX-License-Identifier: Apache-2.0 */
/* Field report P01: the host's floating-point state is the host's, and a backend does not depend on
 * it. The plugin must not be loaded before the first test: each process runs this file alone. */
#include "judge.h"

#include <fenv.h>
#include <float.h>
#include <pthread.h>
#include <string.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
/* Masks, rounding, FTZ and DAZ: all but the sticky flags. */
static uint64_t control_bits(void)
{
    return _mm_getcsr() & 0xffc0;
}

static void flush_subnormals(void)
{
    _mm_setcsr(_mm_getcsr() | 0x8040);
}
#elif defined(__aarch64__)
static uint64_t control_bits(void)
{
    uint64_t fpcr;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    return fpcr;
}

static void flush_subnormals(void)
{
    __asm__ volatile("msr fpcr, %0" : : "r"(control_bits() | UINT64_C(1) << 24) : "memory");
}
#else
static uint64_t control_bits(void)
{
    return (uint64_t)fegetround();
}

static void flush_subnormals(void)
{
}
#endif

struct state {
    uint64_t control;
    int round;
};

static struct state get_state(void)
{
    return (struct state){ control_bits(), fegetround() };
}

static struct state pristine; /* of main, before the plugin was loaded */

static void assert_state(struct state want, const char *after)
{
    const struct state got = get_state();
    if (got.control != want.control || got.round != want.round)
        fail_msg("after %s: control %#lx, not %#lx; rounding %d, not %d", after,
                 (unsigned long)got.control, (unsigned long)want.control, got.round, want.round);
}

static int subnormals_live(void)
{
    volatile double least = DBL_MIN;
    least /= 2;
    return least != 0;
}

static void p01_loading_the_plugin_leaves_the_floating_point_state_alone(void **state)
{
    (void)state;
    test_table();
    assert_state(pristine, "dlopen");
    const cb_backend be = test_open(NULL);
    assert_state(pristine, "init");
    test_close(be);
    assert_state(pristine, "destroy");
    assert_true(subnormals_live());
}

static void *thread_state(void *out)
{
    *(struct state *)out = get_state();
    return NULL;
}

static void p01_a_thread_started_later_has_the_state_that_it_would_have_had(void **state)
{
    (void)state;
    struct state got = { 0, -1 };
    pthread_t thread;
    const cb_backend be = test_open(NULL);
    assert_int_equal(pthread_create(&thread, NULL, thread_state, &got), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    test_close(be);
    assert_true(got.control == pristine.control && got.round == pristine.round);
}

/* Operands so small that products, sums and results are subnormal, or ordinary ones. */
static double scale_of(const struct kit_call *call, int tiny)
{
    if (!tiny)
        return 4;
    switch (call->operands[0].dtype) {
    case CB_F64: return 0x1p-1030;
    case CB_F16: return 0x1p-16;
    default: return 0x1p-128;
    }
}

static void hostile_round(void)
{
    fesetround(FE_UPWARD);
}

static void hostile_flush(void)
{
    flush_subnormals();
}

static void hostile_both(void)
{
    fesetround(FE_TOWARDZERO);
    flush_subnormals();
}

/* Every op, first in the default state and then in a hostile one: the same bits, and the state is
 * as the caller left it. Data is made, moved and compared in the default state. */
static void check_under(cb_backend be, void (*hostile)(void), int tiny)
{
    struct kit_call call;
    struct kit_data data;
    unsigned char want[KIT_BYTES_MAX], got[KIT_BYTES_MAX];
    fenv_t clean;
    fegetenv(&clean);
    for (unsigned i = 0; kit_call(i, &call); i++) {
        cb_error err = test_error();
        const uint64_t bytes = kit_bytes(&call, call.out);
        kit_data_random(&call, &data, scale_of(&call, tiny), i);
        TEST_OK(kit_run_apart(be, &call, &data, want, &err), &err);
        TEST_OK(kit_place(be, &call, &data, &err), &err);
        hostile();
        const struct state before = get_state();
        const cb_status status = kit_run(be, &call, &err);
        const struct state after = get_state();
        fesetenv(&clean);
        TEST_OK(status, &err);
        assert_true(before.control == after.control && before.round == after.round);
        test_download(be, got, *kit_pointer(&call, call.out), bytes);
        if (memcmp(got, want, bytes))
            fail_msg("%s: other bits in another floating-point state", call.name);
        kit_unplace(be, &call);
    }
}

static void p01_every_op_keeps_the_state_and_does_not_depend_on_it(void **state)
{
    static void (*const hostile[])(void) = { hostile_round, hostile_flush, hostile_both };
    (void)state;
    const cb_backend be = test_open(NULL);
    for (unsigned i = 0; i < sizeof(hostile) / sizeof(hostile[0]); i++)
        for (int tiny = 0; tiny < 2; tiny++)
            check_under(be, hostile[i], tiny);
    test_close(be);
}

static void p01_an_instance_made_in_a_hostile_state_computes_the_same(void **state)
{
    struct kit_call call;
    struct kit_data data;
    unsigned char want[KIT_BYTES_MAX], got[KIT_BYTES_MAX];
    cb_error err = test_error();
    fenv_t clean;
    (void)state;
    fegetenv(&clean);
    const cb_backend plain = test_open(NULL);
    hostile_both();
    const struct state before = get_state();
    const cb_backend be = test_open(NULL);
    assert_state(before, "init");
    fesetenv(&clean);
    for (unsigned i = 0; kit_call(i, &call); i++) {
        kit_data_random(&call, &data, scale_of(&call, 1), i);
        TEST_OK(kit_run_apart(plain, &call, &data, want, &err), &err);
        TEST_OK(kit_run_apart(be, &call, &data, got, &err), &err);
        assert_memory_equal(got, want, kit_bytes(&call, call.out));
    }
    test_close(be);
    test_close(plain);
}

/* The state is no part of what is compared above when both runs flush: here the wanted value is
 * known. */
static void p01_subnormal_results_are_kept(void **state)
{
    const float tiny[2] = { 0x1p-140f, -0x1p-149f };
    float got[2];
    cb_error err = test_error();
    (void)state;
    const cb_backend be = test_open(NULL);
    const uint64_t in = test_upload(be, tiny, sizeof(tiny)), out = test_alloc(be, sizeof(got));
    const cb_binary_args add = {
        CB_ARGS(cb_binary_args), .op = CB_BINARY_ADD, .n = 2, .a = in, .b = in, .output = out
    };
    TEST_OK(cb_binary(be, &add, &err), &err);
    test_download(be, got, out, sizeof(got));
    assert_true(got[0] == 0x1p-139f && got[1] == -0x1p-148f);

    const cb_gemm_args gemm = { CB_ARGS(cb_gemm_args),
                                .dtype = CB_F32,
                                .m = 2,
                                .n = 1,
                                .k = 1,
                                .alpha = 0.5,
                                .a = in,
                                .lda = 2,
                                .b = test_upload(be, (float[]){ 4 }, sizeof(float)),
                                .ldb = 1,
                                .c = out,
                                .ldc = 2 };
    TEST_OK(cb_gemm(be, &gemm, &err), &err);
    test_download(be, got, out, sizeof(got));
    assert_true(got[0] == 0x1p-139f && got[1] == -0x1p-148f);
    test_close(be);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(p01_loading_the_plugin_leaves_the_floating_point_state_alone),
        cmocka_unit_test(p01_a_thread_started_later_has_the_state_that_it_would_have_had),
        cmocka_unit_test(p01_every_op_keeps_the_state_and_does_not_depend_on_it),
        cmocka_unit_test(p01_an_instance_made_in_a_hostile_state_computes_the_same),
        cmocka_unit_test(p01_subnormal_results_are_kept),
    };
    pristine = get_state();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
