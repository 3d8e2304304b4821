/* SPDX-License-Identifier: Apache-2.0 */
/* The self-test as a library: what runs, in which order, and what is told. */
#include "backend.h"
#include "selftest.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CASES_MAX 60000
#define TRIED     499 /* every so many cases */

/* What a run told. */
struct heard {
    char (*specs)[256]; /* nullable */
    uint64_t n, outcomes[4], begun, differs;
    char began[256], last[256], reason[512];
    double largest;
};

static void on_begin(void *ctx, const char *spec)
{
    struct heard *h = ctx;
    h->begun++;
    snprintf(h->began, sizeof(h->began), "%s", spec);
}

static void on_report(void *ctx, const cb_selftest_result *r)
{
    struct heard *h = ctx;
    assert_string_equal(r->spec, h->began);
    assert_true(r->outcome < 4);
    h->outcomes[r->outcome]++;
    snprintf(h->last, sizeof(h->last), "%s", r->spec);
    if (h->specs && h->n < CASES_MAX)
        snprintf(h->specs[h->n], sizeof(h->specs[0]), "%s", r->spec);
    h->n++;
    if (r->outcome != CB_SELFTEST_PASSED)
        snprintf(h->reason, sizeof(h->reason), "%s", r->text);
    if (r->outcome == CB_SELFTEST_PASSED && *r->operand) {
        h->differs++;
        h->largest = r->error;
    }
}

static cb_selftest_options options_for(struct heard *h, const char *filter)
{
    cb_selftest_options o;
    cb_selftest_options_init(&o);
    o.filter = filter;
    o.begin = on_begin;
    o.report = on_report;
    o.ctx = h;
    return o;
}

static cb_selftest_summary run(cb_backend be, const cb_selftest_options *o)
{
    cb_error err = test_error();
    cb_selftest_summary sum;
    cb_selftest_summary_init(&sum);
    TEST_OK(cb_selftest_run(be, o, &sum, &err), &err);
    return sum;
}

static uint64_t count(cb_backend be, const char *filter)
{
    struct heard h = { .n = 0 };
    const cb_selftest_options o = options_for(&h, filter);
    run(be, &o);
    return h.n;
}

/* ---- which cases run ---- */

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void each_case_has_a_name_of_its_own_that_repeats_just_that_case(void **state)
{
    struct heard all = { .specs = calloc(CASES_MAX, 256) };
    cb_selftest_options o = options_for(&all, NULL);
    assert_non_null(all.specs);
    run(TEST_BE(state), &o);
    assert_true(all.n > 1000 && all.n < CASES_MAX);
    for (uint64_t i = 0; i < all.n; i += TRIED) {
        struct heard one = { .n = 0 };
        o = options_for(&one, all.specs[i]);
        run(TEST_BE(state), &o);
        assert_int_equal(one.n, 1);
        assert_string_equal(one.last, all.specs[i]);
    }
    qsort(all.specs, all.n, 256, by_text);
    for (uint64_t i = 1; i < all.n; i++)
        assert_string_not_equal(all.specs[i - 1], all.specs[i]);
    free(all.specs);
}

static void a_filter_is_an_op_a_group_or_a_glob_on_the_case(void **state)
{
    const cb_backend be = TEST_BE(state);
    const uint64_t op = count(be, "softmax"), group = count(be, "softmax:f32");
    assert_true(group > 0 && op > group);
    assert_int_equal(count(be, "soft*"), op);
    assert_int_equal(count(be, "softmax:f32,*"), group);
    assert_int_equal(count(be, "softmax:f32,shape=7,axis=0*"), count(be, "softmax:f32,shape=7,*"));
    assert_int_equal(count(be, "memory:"), count(be, "memory"));
    assert_int_equal(count(be, "softm"), 0);
}

static void shards_together_are_the_whole(void **state)
{
    const cb_backend be = TEST_BE(state);
    uint64_t n = 0;
    for (uint64_t i = 0; i < 3; i++) {
        struct heard h = { .n = 0 };
        cb_selftest_options o = options_for(&h, "[gmsl]*");
        o.shard = i;
        o.shards = 3;
        run(be, &o);
        assert_true(h.n > 0);
        n += h.n;
    }
    assert_int_equal(n, count(be, "[gmsl]*"));
}

static void after_a_group_the_next_ones_run(void **state)
{
    const cb_backend be = TEST_BE(state);
    struct heard h = { .n = 0 };
    cb_selftest_options o = options_for(&h, "[sg]*");
    o.after = "scatter:64bit";
    run(be, &o);
    const uint64_t behind = count(be, "scatter:128bit*") + count(be, "streams") +
                            count(be, "supports") + count(be, "state");
    assert_int_equal(h.n, behind);
    o.after = "state:";
    h.n = 0;
    run(be, &o);
    assert_int_equal(h.n, 0);
}

static void each_case_is_begun_before_it_is_reported(void **state)
{
    struct heard h = { .n = 0 };
    const cb_selftest_options o = options_for(&h, "unary:f16");
    run(TEST_BE(state), &o);
    assert_true(h.n > 0 && h.begun >= h.n);
}

static void bad_options_are_refused_with_a_reason(void **state)
{
    cb_selftest_summary sum;
    cb_selftest_summary_init(&sum);
    cb_selftest_options o[6];
    for (int i = 0; i < 6; i++)
        cb_selftest_options_init(&o[i]);
    o[0].size = 8;
    o[1].mode = 2;
    o[2].after = "no such group";
    o[3].shard = o[3].shards = 2;
    o[4].shard = 1;
    o[5].close = (void (*)(void *, cb_backend))abort;
    for (int i = 0; i < 6; i++) {
        cb_error err = test_error();
        TEST_STATUS(cb_selftest_run(TEST_BE(state), &o[i], &sum, &err), CB_INVALID_ARGUMENT, &err);
        assert_string_equal(err.where, "selftest");
        assert_true(strlen(err.msg) > strlen("selftest: "));
    }
}

/* ---- values ---- */

static const compute_backend_v1 *right;
static uint64_t uploaded;

static cb_status hash_uploads(void *self, const cb_copy_htod_args *args, cb_error *err)
{
    for (uint64_t i = 0; args && args->src && i < args->bytes && args->bytes < 100000; i++)
        uploaded = (uploaded ^ ((const unsigned char *)args->src)[i]) * UINT64_C(0x100000001b3);
    return right->copy_htod(self, args, err);
}

static uint64_t hash_of_values(cb_backend be, uint64_t seed)
{
    compute_backend_v1 table = *be.api;
    struct heard h = { .n = 0 };
    cb_selftest_options o = options_for(&h, "binary:f32");
    right = be.api;
    table.copy_htod = hash_uploads;
    o.seed = seed;
    uploaded = 1;
    run((cb_backend){ &table, be.self }, &o);
    return uploaded;
}

static void the_values_depend_on_the_seed_and_on_nothing_else(void **state)
{
    const uint64_t first = hash_of_values(TEST_BE(state), 7);
    assert_true(hash_of_values(TEST_BE(state), 7) == first);
    assert_true(hash_of_values(TEST_BE(state), 8) != first);
}

/* ---- what is not passed ---- */

static cb_status no_stream(void *self, uint32_t flags, cb_stream **out, cb_error *err)
{
    (void)self, (void)flags, (void)out;
    if (err) {
        err->code = CB_UNSUPPORTED;
        strcpy(err->msg, "stream_create: stream_create is not in the table");
    }
    return CB_UNSUPPORTED;
}

static void a_stub_of_the_loader_is_skipped_with_its_reason(void **state)
{
    const cb_backend be = TEST_BE(state);
    compute_backend_v1 table = *be.api;
    struct heard h = { .n = 0 };
    const cb_selftest_options o = options_for(&h, "streams");
    table.stream_create = no_stream;
    run((cb_backend){ &table, be.self }, &o);
    assert_int_equal(h.n, h.outcomes[CB_SELFTEST_SKIPPED]);
    assert_non_null(strstr(h.reason, "is not in the table"));
}

static void what_nobody_can_make_fail_is_not_judged_and_not_passed(void **state)
{
    struct heard h = { .n = 0 };
    const cb_selftest_options o = options_for(&h, "late");
    const cb_selftest_summary sum = run(TEST_BE(state), &o);
    if (h.outcomes[CB_SELFTEST_PASSED])
        return; /* a backend that can be made to fail */
    assert_true(sum.unjudged > 0);
    assert_int_equal(sum.unjudged, h.n);
    assert_non_null(strstr(h.reason, "fail=memset"));
}

static cb_status no_further(void *ctx, const char *const *options, uint64_t n, cb_backend *out,
                            cb_error *err)
{
    (void)ctx, (void)options, (void)n, (void)out;
    strcpy(err->msg, "one is enough");
    return CB_OUT_OF_MEMORY;
}

static void never_called(void *ctx, cb_backend be)
{
    (void)ctx, (void)be;
    fail();
}

static void without_a_second_instance_its_cases_are_not_judged(void **state)
{
    struct heard h = { .n = 0 };
    cb_selftest_options o = options_for(&h, "softmax:f32,*,threads");
    o.open = no_further;
    o.close = never_called;
    run(TEST_BE(state), &o);
    assert_int_equal(h.n, 1);
    assert_int_equal(h.outcomes[CB_SELFTEST_UNJUDGED], 1);
    assert_non_null(strstr(h.reason, "one is enough"));
}

/* ---- against another backend ---- */

static cb_status add_one_ulp(void *self, const cb_unary_args *args, cb_error *err)
{
    const cb_status st = right->unary(self, args, err);
    if (st != CB_OK || !args || args->n != 20 || args->dtype != CB_F32)
        return st;
    uint32_t bits = 0;
    cb_download((cb_backend){ right, self }, &bits, args->output + 4 * 11, 4, NULL);
    bits++;
    cb_upload((cb_backend){ right, self }, args->output + 4 * 11, &bits, 4, NULL);
    return st;
}

static void against_itself_a_backend_has_the_same_bits(void **state)
{
    struct heard h = { .n = 0 };
    cb_selftest_options o = options_for(&h, "[ug]*:f32,*");
    o.against = test_open(NULL);
    const cb_selftest_summary sum = run(TEST_BE(state), &o);
    test_close(o.against);
    assert_true(sum.passed > 1000);
    assert_int_equal(sum.failed, 0);
    assert_int_equal(h.differs, 0);
}

static void against_another_the_largest_difference_is_told(void **state)
{
    struct heard h = { .n = 0 };
    cb_selftest_options o = options_for(&h, "unary:f32,exp,n=20,offset=?,scale=1");
    cb_backend other = test_open(NULL);
    compute_backend_v1 table = *other.api;
    right = other.api;
    table.unary = add_one_ulp;
    o.against = (cb_backend){ &table, other.self };
    const cb_selftest_summary sum = run(TEST_BE(state), &o);
    test_close(other);
    assert_int_equal(sum.failed, 0);
    assert_true(h.differs > 0);
    assert_true(h.largest > 0.0 && h.largest < 1.0);
}

int main(void)
{
#define WITH_BACKEND(test)                                                                         \
    cmocka_unit_test_setup_teardown(test, test_setup_backend, test_teardown_backend)
    const struct CMUnitTest tests[] = {
        WITH_BACKEND(each_case_has_a_name_of_its_own_that_repeats_just_that_case),
        WITH_BACKEND(a_filter_is_an_op_a_group_or_a_glob_on_the_case),
        WITH_BACKEND(shards_together_are_the_whole),
        WITH_BACKEND(after_a_group_the_next_ones_run),
        WITH_BACKEND(each_case_is_begun_before_it_is_reported),
        WITH_BACKEND(bad_options_are_refused_with_a_reason),
        WITH_BACKEND(the_values_depend_on_the_seed_and_on_nothing_else),
        WITH_BACKEND(a_stub_of_the_loader_is_skipped_with_its_reason),
        WITH_BACKEND(what_nobody_can_make_fail_is_not_judged_and_not_passed),
        WITH_BACKEND(without_a_second_instance_its_cases_are_not_judged),
        WITH_BACKEND(against_itself_a_backend_has_the_same_bits),
        WITH_BACKEND(against_another_the_largest_difference_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
