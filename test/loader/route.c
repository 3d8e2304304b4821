/* SPDX-License-Identifier: Apache-2.0 */
/* What the configuration's policy makes of its list, what a selection would try next, and which
 * backend gets the work for matrix units. */
#include "place.h"

#include <stdlib.h>
#include <string.h>

/* ---- policy ---------------------------------------------------------------------------------- */

static void the_policy_says_what_the_list_of_backends_is(void **state)
{
    (void)state;
    static const struct {
        const char *lines, *want; /* NULL: nothing can be had */
        const char *problem;
    } rows[] = {
        { "backend = fails_init, low", "low", NULL },
        { "backend = fails_init", "high", NULL },
        { "policy = prefer\nbackend = fails_init", "high", NULL },
        { "policy = require\nbackend = fails_init, low", "low", NULL },
        { "policy = require\nbackend = fails_init", NULL, NULL },
        { "policy = require\nbackend = nothing_here", NULL, NULL },
        { "policy = require\nbackend = nothing_here, any", "high", "ends in 'any'" },
        { "policy = require", "high", "no backend is named" },
        { "policy = any\nbackend = low", "high", NULL },
        { "backend = low\npolicy = any\npolicy = sometimes", "high", "sometimes" },
        { "policy = any\nbackend = low\npolicy = require", "low", NULL },
    };
    plant("high");
    plant("low");
    plant("fails_init");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        print_message("# row %d\n", (int)i);
        configure("policy.conf", text_of("[loader]\n%s\n", rows[i].lines));
        cb_loader *loader = open_loader();
        if (rows[i].want)
            assert_string_equal(best(loader), rows[i].want);
        else
            HAS_TEXT(select_fails(loader, NULL, CB_NOT_FOUND), "policy.conf:3");
        if (rows[i].problem)
            HAS_TEXT(report(loader), rows[i].problem);
        else
            LACKS_TEXT(report(loader), "problem");
        close_loader(loader);
    }
}

static void a_program_and_cb_backend_stand_above_the_policy(void **state)
{
    (void)state;
    plant("high");
    plant("low");
    configure("policy.conf", "[loader]\npolicy = require\nbackend = high\n");
    cb_loader *loader = open_loader();
    const cb_backend be = select_id(loader, "low");
    assert_string_equal(be.api->name, "low");
    release(loader, be);
    close_loader(loader);
    setenv("CB_BACKEND", "low", 1);
    loader = open_loader();
    assert_string_equal(best(loader), "low");
    close_loader(loader);
}

/* ---- fallback_chain -------------------------------------------------------------------------- */

/* The ids of the chain, a blank after each. */
static const char *chain(cb_loader *loader, const cb_request *request)
{
    cb_error err = test_error();
    uint64_t places[16], count = 0;
    TEST_OK(cb_loader_fallback_chain(loader, request, NULL, &count, &err), &err);
    assert_true(count < 16);
    const uint64_t asked = count;
    TEST_OK(cb_loader_fallback_chain(loader, request, places, &count, &err), &err);
    assert_int_equal(count, asked);
    const char *text = "";
    for (uint64_t i = 0; i < count; i++) {
        cb_candidate c = { .size = sizeof(c) };
        TEST_OK(cb_loader_candidate(loader, places[i], &c, &err), &err);
        text = text_of("%s%s ", text, c.id);
    }
    return text;
}

static void the_chain_is_the_ranking_with_class_cpu_last(void **state)
{
    (void)state;
    static const char *const mocks[] = {
        "good", "high", "low", "asleep", "matrix_cpu", "plain_cpu", "no_note", "alpha",
    };
    for (size_t i = 0; i < sizeof(mocks) / sizeof(mocks[0]); i++)
        plant(mocks[i]);
    setenv("MOCK_MARKER", path_of("marker"), 1);
    setenv("CB_DISABLE", "alpha", 1);
    cb_loader *loader = open_loader();
    assert_string_equal(chain(loader, NULL), "high good low matrix_cpu plain_cpu ");
    const cb_request pinned = { .size = sizeof(pinned), .id = "low" };
    assert_string_equal(chain(loader, &pinned), "low ");
    const cb_request missing = { .size = sizeof(missing), .id = "nothing_here" };
    assert_string_equal(chain(loader, &missing), "");
    close_loader(loader);

    setenv("CB_BACKEND", "plain_cpu,asleep,any", 1);
    loader = open_loader();
    assert_string_equal(chain(loader, NULL), "asleep high good low plain_cpu matrix_cpu ");
    cb_error err = test_error();
    uint64_t places[2], count = 2;
    TEST_STATUS(cb_loader_fallback_chain(loader, NULL, places, &count, &err), CB_INVALID_ARGUMENT,
                &err);
    assert_int_equal(count, 6);
    TEST_STATUS(cb_loader_fallback_chain(loader, NULL, places, NULL, &err), CB_INVALID_ARGUMENT,
                &err);
    TEST_STATUS(cb_loader_fallback_chain(NULL, NULL, places, &count, &err), CB_INVALID_ARGUMENT,
                &err);
    close_loader(loader);
    LACKS_TEXT(run_program((const char *const[]){ "ls", path_of(""), NULL }).out, "marker");
}

/* ---- route ----------------------------------------------------------------------------------- */

static const char *routed(cb_loader *loader, uint32_t op, const cb_request *request)
{
    cb_error err = test_error();
    cb_backend be = { NULL, NULL };
    TEST_OK(cb_loader_route(loader, op, request, &be, &err), &err);
    const char *name = text_of("%s", be.api->name);
    release(loader, be);
    return name;
}

static void matmul_convolution_and_attention_go_where_matrix_units_are(void **state)
{
    (void)state;
    plant("high");
    plant("good");
    plant("matrix");
    copy_file(mock_path("high"), "libcb_high_again.so", 0755);
    cb_loader *loader = open_loader();
    for (uint32_t op = 0; op < CB_OP_COUNT; op++)
        assert_string_equal(routed(loader, op, NULL), op <= CB_OP_ATTENTION ? "matrix" : "high");
    assert_string_equal(routed(loader, CB_OP_GEMM, NULL), "matrix");
    HAS_TEXT(candidate(loader, "matrix").reason, "matrix units");
    assert_int_equal(candidate(loader, "high").state, CB_STATE_OUTRANKED);
    HAS_TEXT(candidate(loader, "high").reason, "it works, and matrix has matrix units");
    assert_int_equal(candidate(loader, "good").state, CB_STATE_UNFIT);
    HAS_TEXT(candidate(loader, "good").reason, "no tensor cores");
    assert_int_equal(candidate(loader, "libcb_high_again.so").state, CB_STATE_HIDDEN);
    const cb_backend be = select_id(loader, "high");
    assert_string_equal(fact(be, "live"), "1");
    release(loader, be);
    close_loader(loader);
}

static void without_matrix_units_the_best_is_taken(void **state)
{
    (void)state;
    plant("high");
    plant("good");
    plant("fails_init");
    cb_loader *loader = open_loader();
    assert_string_equal(routed(loader, CB_OP_GEMM, NULL), "high");
    close_loader(loader);
}

static void what_the_user_asked_for_comes_before_matrix_units(void **state)
{
    (void)state;
    static struct said said;
    plant("high");
    plant("good");
    plant("matrix");
    plant("matrix_cpu");
    cb_loader *loader = open_loader();
    const cb_request pinned = { .size = sizeof(pinned), .id = "good" };
    assert_string_equal(routed(loader, CB_OP_GEMM, &pinned), "good");
    close_loader(loader);
    configure("order.conf", "[loader]\nbackend = good, matrix\n");
    loader = open_loader();
    assert_string_equal(routed(loader, CB_OP_GEMM, NULL), "good");
    close_loader(loader);
    /* Ranked alike by one glob. */
    configure("order.conf", "[loader]\nbackend = [hm]*\n");
    memset(&said, 0, sizeof(said));
    loader = open_loader();
    cb_loader_set_log(loader, CB_LOG_WARNING, keep_said, &said);
    assert_string_equal(routed(loader, CB_OP_ATTENTION, NULL), "matrix_cpu");
    assert_string_equal(routed(loader, CB_OP_SOFTMAX, NULL), "matrix_cpu");
    assert_string_equal(said.text, "");
    close_loader(loader);
}

static void an_op_that_nobody_knows_is_refused(void **state)
{
    (void)state;
    plant("good");
    cb_loader *loader = open_loader();
    cb_error err = test_error();
    cb_backend be = { NULL, NULL };
    TEST_STATUS(cb_loader_route(loader, CB_OP_COUNT, NULL, &be, &err), CB_INVALID_ARGUMENT, &err);
    TEST_STATUS(cb_loader_route(loader, CB_OP_GEMM, NULL, NULL, &err), CB_INVALID_ARGUMENT, &err);
    TEST_STATUS(cb_loader_route(NULL, CB_OP_GEMM, NULL, &be, &err), CB_INVALID_ARGUMENT, &err);
    const cb_request missing = { .size = sizeof(missing), .id = "nothing_here" };
    TEST_STATUS(cb_loader_route(loader, CB_OP_GEMM, &missing, &be, &err), CB_NOT_FOUND, &err);
    HAS_TEXT(err.msg, "cb_loader_route");
    assert_null(be.api);
    close_loader(loader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLACE_TEST(the_policy_says_what_the_list_of_backends_is),
        PLACE_TEST(a_program_and_cb_backend_stand_above_the_policy),
        PLACE_TEST(the_chain_is_the_ranking_with_class_cpu_last),
        PLACE_TEST(matmul_convolution_and_attention_go_where_matrix_units_are),
        PLACE_TEST(without_matrix_units_the_best_is_taken),
        PLACE_TEST(what_the_user_asked_for_comes_before_matrix_units),
        PLACE_TEST(an_op_that_nobody_knows_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
