/* SPDX-License-Identifier: Apache-2.0 */
/* Loaders and backends over their lives: close and release, several loaders, many threads, what is
 * said and to whom. */
#include "place.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void close_is_busy_while_a_backend_lives(void **state)
{
    (void)state;
    plant("good");
    cb_loader *loader = open_loader();
    const cb_backend one = select_id(loader, "good"), two = select_id(loader, "good");
    assert_ptr_not_equal(one.self, two.self);
    assert_string_equal(fact(one, "live"), "2");
    cb_error err = test_error();
    TEST_STATUS(cb_loader_close(loader, &err), CB_BUSY, &err);
    HAS_TEXT(err.msg, "good");
    release(loader, one);
    TEST_STATUS(cb_loader_close(loader, &err), CB_BUSY, &err);
    assert_string_equal(fact(two, "live"), "1");
    release(loader, two);
    close_loader(loader);
}

static void closing_nothing_is_ok(void **state)
{
    (void)state;
    assert_int_equal(cb_loader_close(NULL, NULL), CB_OK);
}

static void a_backend_that_is_not_the_loaders_cannot_be_released(void **state)
{
    (void)state;
    plant("good");
    cb_error err = test_error();
    cb_loader *loader = open_loader(), *other = open_loader();
    const cb_backend be = select_id(loader, "good");
    TEST_STATUS(cb_loader_release(other, be, &err), CB_INVALID_ARGUMENT, &err);
    assert_string_equal(fact(be, "live"), "1");
    release(loader, be);
    TEST_STATUS(cb_loader_release(loader, be, &err), CB_INVALID_ARGUMENT, &err);
    TEST_STATUS(cb_loader_release(loader, (cb_backend){ NULL, NULL }, &err), CB_INVALID_ARGUMENT,
                &err);
    close_loader(loader);
    close_loader(other);
}

static void two_loaders_in_one_process_do_not_see_each_other(void **state)
{
    (void)state;
    make_folder("one");
    make_folder("two");
    copy_file(mock_path("good"), "one/libcb_good.so", 0755);
    copy_file(mock_path("high"), "two/libcb_high.so", 0755);
    setenv("CB_PLUGINS", path_of("one"), 1);
    setenv("CB_OPTIONS", "good.depth=1", 1);
    cb_loader *one = open_loader();
    setenv("CB_PLUGINS", path_of("two"), 1);
    setenv("CB_OPTIONS", "high.depth=2", 1);
    cb_loader *two = open_loader();

    const cb_backend good = select_id(one, NULL), high = select_id(two, NULL);
    assert_string_equal(good.api->name, "good");
    assert_string_equal(high.api->name, "high");
    assert_string_equal(fact(good, "options"), "depth=1");
    assert_string_equal(fact(high, "options"), "depth=2");
    assert_int_equal(count_candidates(one, "high"), 0);
    LACKS_TEXT(report(two), "libcb_good.so");
    release(one, good);
    close_loader(one);
    assert_string_equal(fact(high, "initialized"), "1");
    release(two, high);
    close_loader(two);
}

static void a_thousand_rounds_end_where_they_began(void **state)
{
    (void)state;
    plant("good");
    cb_loader *loader = open_loader();
    const cb_backend first = select_id(loader, "good");
    for (int i = 0; i < 1000; i++) {
        cb_backend be = { NULL, NULL };
        assert_int_equal(cb_loader_select(loader, NULL, &be, NULL), CB_OK);
        assert_int_equal(cb_loader_release(loader, be, NULL), CB_OK);
    }
    assert_string_equal(fact(first, "live"), "1");
    release(loader, first);
    close_loader(loader);
}

static void a_host_may_close_and_open_again_on_code_that_stays_mapped(void **state)
{
    (void)state;
    plant("good");
    const compute_backend_v1 *api = NULL;
    cb_status (*gemm)(void *, const cb_gemm_args *, cb_error *) = NULL;
    for (int i = 0; i < 3; i++) {
        cb_loader *loader = open_loader();
        const cb_backend be = select_id(loader, "good");
        api = be.api;
        assert_true(!gemm || gemm == api->gemm);
        gemm = api->gemm;
        release(loader, be);
        close_loader(loader);
        const cb_gemm_args args = { CB_ARGS(cb_gemm_args) };
        assert_int_equal(gemm(NULL, &args, NULL), CB_OK);
    }
}

/* ---- Threads ------------------------------------------------------------------------------- */

#define THREADS 8
#define ROUNDS  50

struct worker {
    cb_loader *loader;
    pthread_barrier_t *start;
    int failures;
};

static void *select_and_release(void *arg)
{
    struct worker *worker = arg;
    static const char *const ids[] = { NULL, "good", "high", "fails_init" };
    pthread_barrier_wait(worker->start);
    for (int i = 0; i < ROUNDS; i++) {
        cb_backend be = { NULL, NULL };
        cb_candidate c = { .size = sizeof(c) };
        uint64_t length = 0;
        const cb_request request = { .size = sizeof(request), .id = ids[i % 4] };
        const cb_gemm_args args = { CB_ARGS(cb_gemm_args) };
        const cb_status want = i % 4 == 3 ? CB_NOT_FOUND : CB_OK;
        worker->failures += cb_loader_select(worker->loader, &request, &be, NULL) != want;
        worker->failures += cb_loader_candidate(worker->loader, 0, &c, NULL) != CB_OK;
        worker->failures += cb_loader_report(worker->loader, NULL, &length, NULL) != CB_OK;
        if (be.api) {
            worker->failures += cb_gemm(be, &args, NULL) != CB_OK;
            worker->failures += cb_loader_release(worker->loader, be, NULL) != CB_OK;
        }
    }
    return NULL;
}

static void eight_threads_may_select_and_release_at_once(void **state)
{
    (void)state;
    plant("good");
    plant("high");
    plant("fails_init");
    static struct said said;
    pthread_t threads[THREADS];
    struct worker workers[THREADS];
    pthread_barrier_t start;
    assert_int_equal(pthread_barrier_init(&start, NULL, THREADS), 0);
    cb_loader *loader = open_loader();
    cb_loader_set_log(loader, CB_LOG_DEBUG, keep_said, &said);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){ loader, &start, 0 };
        assert_int_equal(pthread_create(&threads[i], NULL, select_and_release, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(workers[i].failures, 0);
    }
    pthread_barrier_destroy(&start);
    const cb_backend be = select_id(loader, "good");
    assert_string_equal(fact(be, "live"), "1");
    release(loader, be);
    close_loader(loader);
}

/* ---- What is said -------------------------------------------------------------------------- */

static void the_report_speaks_of_every_candidate_with_state_and_reason(void **state)
{
    (void)state;
    static const char *const mocks[] = { "good", "high", "no_note", "fails_init", "asleep" };
    for (size_t i = 0; i < sizeof(mocks) / sizeof(mocks[0]); i++)
        plant(mocks[i]);
    write_text("libcb_text.so", "not a library");
    cb_loader *loader = open_loader();
    best(loader);
    const char *text = report(loader);
    assert_int_equal(cb_loader_candidate_count(loader), 6);
    for (uint64_t i = 0; i < cb_loader_candidate_count(loader); i++) {
        cb_error err = test_error();
        cb_candidate c = { .size = sizeof(c) };
        TEST_OK(cb_loader_candidate(loader, i, &c, &err), &err);
        HAS_TEXT(text, c.path);
        HAS_TEXT(text, c.reason);
        HAS_TEXT(text, cb_state_name(c.state));
        HAS_TEXT(c.origin, "CB_PLUGINS");
        assert_true(c.milliseconds >= 0);
        assert_string_not_equal(c.reason, "");
    }
    assert_string_equal(candidate(loader, "high").version, "1.2.3");
    assert_string_equal(candidate(loader, "high").device_class, "gpu");
    close_loader(loader);
}

static void a_candidate_that_is_not_there_and_a_short_report_are_refused(void **state)
{
    (void)state;
    plant("good");
    cb_error err = test_error();
    cb_loader *loader = open_loader();
    cb_candidate c = { .size = sizeof(c) };
    TEST_STATUS(cb_loader_candidate(loader, 1, &c, &err), CB_INVALID_ARGUMENT, &err);
    TEST_STATUS(cb_loader_candidate(loader, 0, NULL, &err), CB_INVALID_ARGUMENT, &err);
    char small[4] = "abc";
    uint64_t length = sizeof(small);
    TEST_STATUS(cb_loader_report(loader, small, &length, &err), CB_INVALID_ARGUMENT, &err);
    assert_string_equal(small, "abc");
    assert_true(length > sizeof(small));
    close_loader(loader);
}

static void a_plugins_words_reach_the_log_with_its_id_and_only_up_to_the_level(void **state)
{
    (void)state;
    static struct said said;
    plant("good");
    memset(&said, 0, sizeof(said));
    const cb_loader_options options = { .size = sizeof(options),
                                        .log = keep_said,
                                        .log_ctx = &said };
    cb_error err = test_error();
    cb_loader *loader = NULL;
    TEST_OK(cb_loader_open(&options, &loader, &err), &err);

    cb_loader_set_log(loader, CB_LOG_INFO, keep_said, &said);
    best(loader);
    HAS_TEXT(said.text, "a mock is made");
    HAS_TEXT(said.text, "good");
    assert_true(said.least <= CB_LOG_INFO);

    memset(&said, 0, sizeof(said));
    cb_loader_set_log(loader, CB_LOG_WARNING, keep_said, &said);
    best(loader);
    cb_loader_set_log(loader, CB_LOG_DEBUG, NULL, NULL);
    best(loader);
    assert_int_equal(said.lines, 0);
    close_loader(loader);
}

/* Asks the loader that is speaking. */
static void ask_back(void *ctx, int32_t level, const char *text)
{
    cb_loader **loader = ctx;
    uint64_t length = 0;
    (void)level, (void)text;
    assert_int_equal(cb_loader_report(*loader, NULL, &length, NULL), CB_OK);
}

static void a_log_callback_may_ask_the_loader(void **state)
{
    (void)state;
    plant("good");
    plant("fails_init");
    cb_loader *loader = open_loader();
    cb_loader_set_log(loader, CB_LOG_DEBUG, ask_back, &loader);
    alarm(20);
    assert_string_equal(best(loader), "good");
    alarm(0);
    close_loader(loader);
}

static void every_state_has_a_name(void **state)
{
    (void)state;
    for (uint32_t i = 0; i <= CB_STATE_SELECTED; i++) {
        assert_string_not_equal(cb_state_name(i), cb_state_name(99));
        for (uint32_t j = 0; j < i; j++)
            assert_string_not_equal(cb_state_name(i), cb_state_name(j));
    }
    assert_string_equal(cb_state_name(CB_STATE_OUTRANKED), "outranked");
    assert_string_equal(cb_loader_version(), TEST_VERSION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLACE_TEST(close_is_busy_while_a_backend_lives),
        PLACE_TEST(closing_nothing_is_ok),
        PLACE_TEST(a_backend_that_is_not_the_loaders_cannot_be_released),
        PLACE_TEST(two_loaders_in_one_process_do_not_see_each_other),
        PLACE_TEST(a_thousand_rounds_end_where_they_began),
        PLACE_TEST(a_host_may_close_and_open_again_on_code_that_stays_mapped),
        PLACE_TEST(eight_threads_may_select_and_release_at_once),
        PLACE_TEST(the_report_speaks_of_every_candidate_with_state_and_reason),
        PLACE_TEST(a_candidate_that_is_not_there_and_a_short_report_are_refused),
        PLACE_TEST(a_plugins_words_reach_the_log_with_its_id_and_only_up_to_the_level),
        PLACE_TEST(a_log_callback_may_ask_the_loader),
        PLACE_TEST(every_state_has_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
