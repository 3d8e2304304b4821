/* SPDX-License-Identifier: Apache-2.0 */
/* A self-test that finds nothing proves nothing: here it must find each of the broken functions,
 * around a backend that passes, and name the op. */
#include "faults.h"
#include "backend.h"
#include "selftest.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define FAULTS_MAX 96
#define FOUND_MAX  800

const compute_backend_v1 *right;

static void read_bytes(void *self, void *out, uint64_t ptr, uint64_t bytes)
{
    const cb_copy_dtoh_args args = { CB_ARGS(cb_copy_dtoh_args), .dst = out, .src = ptr,
                                     .bytes = bytes };
    right->copy_dtoh(self, &args, NULL);
}

static void write_bytes(void *self, uint64_t ptr, const void *in, uint64_t bytes)
{
    const cb_copy_htod_args args = { CB_ARGS(cb_copy_htod_args), .dst = ptr, .src = in,
                                     .bytes = bytes };
    right->copy_htod(self, &args, NULL);
}

float peek(void *self, uint64_t ptr, uint64_t i)
{
    float value = NAN;
    read_bytes(self, &value, ptr + i * sizeof(value), sizeof(value));
    return value;
}

void poke(void *self, uint64_t ptr, uint64_t i, float value)
{
    write_bytes(self, ptr + i * sizeof(value), &value, sizeof(value));
}

double peek_f64(void *self, uint64_t ptr, uint64_t i)
{
    double value = NAN;
    read_bytes(self, &value, ptr + i * sizeof(value), sizeof(value));
    return value;
}

void poke_f64(void *self, uint64_t ptr, uint64_t i, double value)
{
    write_bytes(self, ptr + i * sizeof(value), &value, sizeof(value));
}

static void keep_first_failure(void *ctx, const cb_selftest_result *result)
{
    char *first = ctx;
    if (result->outcome == CB_SELFTEST_FAILED && !first[0])
        snprintf(first, FOUND_MAX, "%s: %s", result->spec, result->text);
}

/* Runs the cases of a filter on a backend whose table is broken in one slot (NULL: in none). */
static cb_selftest_summary run_broken(const struct fault *fault, const char *filter,
                                      char first[FOUND_MAX])
{
    cb_backend be = test_open(NULL);
    compute_backend_v1 broken = *be.api;
    right = be.api;
    if (fault)
        memcpy((char *)&broken + fault->slot, (const void *)&fault->function,
               sizeof(fault->function));

    cb_selftest_summary summary;
    cb_selftest_summary_init(&summary);
    cb_selftest_options options;
    cb_selftest_options_init(&options);
    options.filter = filter;
    options.report = keep_first_failure;
    options.ctx = first;
    first[0] = 0;
    cb_error err = test_error();
    TEST_OK(cb_selftest_run((cb_backend){ &broken, be.self }, &options, &summary, &err), &err);
    test_close(be);
    return summary;
}

static void selftest_finds(void **state)
{
    const struct fault *fault = *state;
    char first[FOUND_MAX];
    const cb_selftest_summary summary = run_broken(fault, fault->filter, first);
    print_message("# %s: found by %s\n", fault->name, first);
    assert_true(summary.failed > 0);
    assert_memory_equal(first, fault->expected, strlen(fault->expected));
}

/* Without a fault the same wrapper passes, so that what is found below is the fault. */
static void selftest_passes_a_table_that_is_right(void **state)
{
    (void)state;
    char first[FOUND_MAX];
    const cb_selftest_summary summary = run_broken(NULL, NULL, first);
    assert_string_equal(first, "");
    assert_true(summary.passed > 0);
    assert_int_equal(summary.failed, 0);
}

static void the_spec_of_a_failure_repeats_just_that_case(void **state)
{
    (void)state;
    char first[FOUND_MAX], again[FOUND_MAX], spec[FOUND_MAX];
    run_broken(&gemm_faults[0], gemm_faults[0].filter, first);
    snprintf(spec, sizeof(spec), "%.*s", (int)(strstr(first, ": ") - first), first);
    const cb_selftest_summary summary = run_broken(&gemm_faults[0], spec, again);
    assert_true(summary.failed > 0);
    assert_int_equal(summary.passed, 0);
    assert_string_equal(again, first);
}

static cb_status says_no(void *self, uint32_t op, const void *args, cb_support *out, cb_error *err)
{
    (void)self, (void)op, (void)args, (void)err;
    out->answer = CB_SUPPORT_NO;
    strcpy(out->reason, "not built in");
    return CB_OK;
}

static void an_op_that_the_backend_lacks_is_skipped_and_not_passed(void **state)
{
    (void)state;
    cb_backend be = test_open(NULL);
    compute_backend_v1 without = *be.api;
    without.attention = NULL;
    without.supports = says_no;
    cb_selftest_summary summary;
    cb_selftest_summary_init(&summary);
    cb_selftest_options options;
    cb_selftest_options_init(&options);
    options.filter = "attention";
    cb_error err = test_error();
    TEST_OK(cb_selftest_run((cb_backend){ &without, be.self }, &options, &summary, &err), &err);
    test_close(be);
    assert_int_equal(summary.passed, 0);
    assert_int_equal(summary.failed, 0);
    assert_true(summary.skipped > 0);
}

static size_t add(struct CMUnitTest *tests, size_t n, const struct fault *faults)
{
    for (; faults->name && n < FAULTS_MAX; faults++)
        tests[n++] = (struct CMUnitTest){ .name = faults->name,
                                          .test_func = selftest_finds,
                                          .initial_state = (void *)faults };
    return n;
}

int main(void)
{
    static struct CMUnitTest tests[FAULTS_MAX] = {
        cmocka_unit_test(selftest_passes_a_table_that_is_right),
        cmocka_unit_test(the_spec_of_a_failure_repeats_just_that_case),
        cmocka_unit_test(an_op_that_the_backend_lacks_is_skipped_and_not_passed),
    };
    size_t n = 3;
    n = add(tests, n, gemm_faults);
    n = add(tests, n, op_faults);
    n = add(tests, n, host_faults);
    return _cmocka_run_group_tests("selftest_finds", tests, n, NULL, NULL);
}
