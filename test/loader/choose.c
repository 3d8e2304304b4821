/* SPDX-License-Identifier: Apache-2.0 */
/* Which backend is taken: the ranking, what a request demands, and what the user's variables say.
 */
#include "place.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Plants mocks: names ended by NULL. */
static void plant_all(const char *const *mocks)
{
    for (; *mocks; mocks++)
        plant(*mocks);
}
#define PLANT(...) plant_all((const char *const[]){ __VA_ARGS__, NULL })

/* Opens a loader on what is planted, and returns the name of what it selects. */
static const char *chosen(void)
{
    cb_loader *loader = open_loader();
    const char *name = best(loader);
    close_loader(loader);
    return name;
}

/* The same, when nothing can be had: the message. */
static const char *refused(void)
{
    cb_loader *loader = open_loader();
    const char *message = select_fails(loader, NULL, CB_NOT_FOUND);
    close_loader(loader);
    return message;
}

/* ---- The ranking --------------------------------------------------------------------------- */

static void the_highest_priority_wins_and_the_others_are_outranked_unopened(void **state)
{
    (void)state;
    PLANT("alpha", "high", "low");
    setenv("MOCK_MARKER", path_of("marker"), 1);
    cb_loader *loader = open_loader();
    assert_int_equal(candidate(loader, "high").state, CB_STATE_FOUND);
    assert_int_equal(candidate(loader, "high").priority, 500);
    const cb_backend be = select_id(loader, NULL);
    assert_string_equal(be.api->name, "high");
    assert_int_equal(candidate(loader, "high").state, CB_STATE_SELECTED);
    assert_int_equal(candidate(loader, "alpha").state, CB_STATE_OUTRANKED);
    assert_int_equal(candidate(loader, "low").state, CB_STATE_OUTRANKED);
    HAS_TEXT(candidate(loader, "low").reason, "high");
    assert_string_equal(text_in("marker"), "high\n");
    release(loader, be);
    close_loader(loader);
}

static void a_configured_priority_wins_over_the_manifests(void **state)
{
    (void)state;
    PLANT("high", "low");
    configure("cb.conf", "[backend.low]\npriority = 501\n");
    assert_string_equal(chosen(), "low");
    configure("cb.conf", "[backend.high]\npriority = 0\n");
    assert_string_equal(chosen(), "low");
}

static void priority_0_is_taken_only_when_it_is_named(void **state)
{
    (void)state;
    plant("asleep");
    HAS_TEXT(refused(), "asleep");
    cb_loader *loader = open_loader();
    release(loader, select_id(loader, "asleep"));
    close_loader(loader);
    setenv("CB_BACKEND", "asleep", 1);
    assert_string_equal(chosen(), "asleep");
    unsetenv("CB_BACKEND");
    configure("cb.conf", "[loader]\nbackend = asleep\n");
    assert_string_equal(chosen(), "asleep");
}

static void a_glob_or_any_is_not_a_name_for_priority_0(void **state)
{
    (void)state;
    plant("asleep");
    setenv("CB_BACKEND", "*", 1);
    refused();
    setenv("CB_BACKEND", "nothing,any", 1);
    refused();
}

static void who_fails_is_followed_by_the_next_and_by_nobody_below_it(void **state)
{
    (void)state;
    PLANT("fails_init", "fails_create", "good", "low");
    setenv("MOCK_MARKER", path_of("marker"), 1);
    cb_loader *loader = open_loader();
    const cb_backend be = select_id(loader, NULL);
    assert_string_equal(be.api->name, "good");
    assert_string_equal(fact(be, "live"), "1");
    assert_int_equal(candidate(loader, "fails_init").state, CB_STATE_FAILED);
    assert_int_equal(candidate(loader, "fails_create").state, CB_STATE_FAILED);
    assert_int_equal(candidate(loader, "low").state, CB_STATE_OUTRANKED);
    assert_string_equal(text_in("marker"), "fails_create\nfails_init\ngood\n");
    release(loader, be);
    close_loader(loader);
}

static void a_gpu_plugin_whose_devices_have_host_memory_is_unfit_unless_named(void **state)
{
    (void)state;
    PLANT("gpu_on_host", "plain_cpu");
    cb_loader *loader = open_loader();
    assert_string_equal(best(loader), "plain_cpu");
    assert_int_equal(candidate(loader, "gpu_on_host").state, CB_STATE_UNFIT);
    HAS_TEXT(candidate(loader, "gpu_on_host").reason, "memory");
    const cb_backend be = select_id(loader, "gpu_on_host");
    assert_string_equal(fact(be, "live"), "1");
    release(loader, be);
    close_loader(loader);
    setenv("CB_BACKEND", "gpu_on_host", 1);
    assert_string_equal(chosen(), "gpu_on_host");
}

/* ---- Two of one kind ----------------------------------------------------------------------- */

static void of_two_plugins_with_one_id_the_earlier_wins_and_the_other_is_hidden(void **state)
{
    (void)state;
    make_folder("first");
    make_folder("second");
    copy_file(mock_path("good"), "first/libcb_good.so", 0755);
    copy_file(mock_path("good"), "second/libcb_good.so", 0755);
    setenv("CB_PLUGINS", text_of("%s:%s", path_of("second"), path_of("first")), 1);
    cb_loader *loader = open_loader();
    assert_int_equal(count_candidates(loader, "good"), 2);
    const cb_candidate winner = candidate(loader, "good");
    HAS_TEXT(winner.path, "/second/");
    assert_int_equal(winner.state, CB_STATE_FOUND);
    HAS_TEXT(report(loader), path_of("first/libcb_good.so"));
    cb_error err = test_error();
    cb_candidate loser = { .size = sizeof(loser) };
    TEST_OK(cb_loader_candidate(loader, 1, &loser, &err), &err);
    assert_int_equal(loser.state, CB_STATE_HIDDEN);
    HAS_TEXT(loser.reason, path_of("second/libcb_good.so"));
    close_loader(loader);
}

/* ---- What a request demands ---------------------------------------------------------------- */

static const char *chosen_with(uint32_t want)
{
    const cb_request request = { .size = sizeof(request), .want = want };
    cb_loader *loader = open_loader();
    const cb_backend be = select_request(loader, &request);
    const char *name = text_of("%s", be.api->name);
    release(loader, be);
    close_loader(loader);
    return name;
}

static void
each_flag_of_a_request_is_met_by_who_has_it_and_the_others_say_what_they_lack(void **state)
{
    (void)state;
    static const struct {
        uint32_t want;
        const char *mock, *words;
    } flags[] = {
        { CB_WANT_FP16, "fp16", "fp16" },
        { CB_WANT_BF16, "bf16", "bf16" },
        { CB_WANT_FP8, "fp8", "fp8" },
        { CB_WANT_TENSOR_CORES, "tensor_cores", "tensor cores" },
        { CB_WANT_UNIFIED_MEMORY, "unified_memory", "unified memory" },
        { CB_WANT_PEER_ACCESS, "peer_access", "peer access" },
    };
    const size_t n = sizeof(flags) / sizeof(flags[0]);
    plant("alpha");
    plant("all_features");
    for (size_t i = 0; i < n; i++)
        plant(flags[i].mock);
    for (size_t i = 0; i < n; i++) {
        const cb_request request = { .size = sizeof(request), .want = flags[i].want };
        cb_loader *loader = open_loader();
        const cb_backend be = select_request(loader, &request);
        assert_string_equal(be.api->name, flags[i].mock);
        assert_int_equal(candidate(loader, "alpha").state, CB_STATE_UNFIT);
        HAS_TEXT(candidate(loader, "alpha").reason, flags[i].words);
        release(loader, be);
        close_loader(loader);
    }
    assert_string_equal(chosen_with(0), "alpha");
    assert_string_equal(chosen_with(CB_WANT_FP16 | CB_WANT_PEER_ACCESS), "all_features");
}

static void a_request_for_a_gpu_passes_over_host_memory_even_when_it_is_named(void **state)
{
    (void)state;
    PLANT("gpu_on_host", "plain_cpu", "good");
    assert_string_equal(chosen_with(CB_WANT_GPU), "good");
    const cb_request request = { .size = sizeof(request), .id = "plain_cpu", .want = CB_WANT_GPU };
    cb_loader *loader = open_loader();
    HAS_TEXT(select_fails(loader, &request, CB_NOT_FOUND), "plain_cpu");
    assert_int_equal(candidate(loader, "plain_cpu").state, CB_STATE_UNFIT);
    close_loader(loader);
}

static void the_device_that_fits_is_the_one_that_is_opened(void **state)
{
    (void)state;
    plant("two_devices");
    cb_loader *loader = open_loader();
    const cb_request request = { .size = sizeof(request), .want = CB_WANT_GPU | CB_WANT_BF16 };
    const cb_backend be = select_request(loader, &request);
    assert_string_equal(fact(be, "device"), "1");
    assert_string_equal(fact(be, "live"), "1");
    release(loader, be);
    close_loader(loader);
}

static void a_request_that_makes_no_sense_is_an_invalid_argument(void **state)
{
    (void)state;
    static const char *const option[] = { "depth=1" };
    plant("good");
    const cb_request rows[] = {
        { .size = sizeof(rows[0]), .want = 1u << 31 },
        { .size = sizeof(rows[0]), .reserved = 1 },
        { .size = sizeof(rows[0]), .options = option, .n_options = 1 },
        { .size = sizeof(rows[0]), .id = "good", .n_options = 1 },
        { .size = 8 },
    };
    cb_loader *loader = open_loader();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        cb_error err = test_error();
        cb_backend be = { NULL, NULL };
        const cb_status status = cb_loader_select(loader, &rows[i], &be, &err);
        assert_true(status == CB_INVALID_ARGUMENT || (i < 2 && status == CB_UNSUPPORTED));
        assert_null(be.api);
    }
    close_loader(loader);
}

static void an_id_that_is_not_there_is_an_error_that_names_it_and_what_there_is(void **state)
{
    (void)state;
    plant("good");
    const cb_request request = { .size = sizeof(request), .id = "cuda" };
    cb_loader *loader = open_loader();
    const char *message = select_fails(loader, &request, CB_NOT_FOUND);
    HAS_TEXT(message, "cuda");
    HAS_TEXT(message, "good");
    close_loader(loader);
}

static void when_nothing_fits_the_message_lists_why_backend_by_backend(void **state)
{
    (void)state;
    PLANT("fails_init", "no_device", "asleep");
    cb_loader *loader = open_loader();
    const char *message = select_fails(loader, NULL, CB_NOT_FOUND);
    HAS_TEXT(message, "fell off the bus");
    HAS_TEXT(message, "the slot is empty");
    HAS_TEXT(message, "asleep");
    close_loader(loader);
}

/* ---- The user's variables ------------------------------------------------------------------ */

static void cb_backend_picks_the_first_of_its_list_that_can_be_had(void **state)
{
    (void)state;
    PLANT("good", "high", "fails_init");
    static const char *const rows[][2] = {
        { "good", "good" },
        { "good,high", "good" },
        { "nothing,good", "good" },
        { "fails_init,good", "good" },
        { "g*", "good" },
        { " good , high", "good" },
        { ",,good", "good" },
        { "h?gh", "high" },
        { "*", "high" },
        { "nothing,any", "high" },
        { "fails_init,any", "high" },
        { "", "high" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        setenv("CB_BACKEND", rows[i][0], 1);
        assert_string_equal(chosen(), rows[i][1]);
    }
}

static void cb_backend_is_one_of_its_list_or_an_error(void **state)
{
    (void)state;
    PLANT("good", "fails_init");
    static const char *const rows[] = { "nothing", "fails_init", "nothing,fails_init",
                                        "GOOD",    "go",         "x*" };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        setenv("CB_BACKEND", rows[i], 1);
        HAS_TEXT(refused(), "CB_BACKEND");
    }
}

static void an_id_in_the_request_wins_over_cb_backend_and_that_over_the_configuration(void **state)
{
    (void)state;
    PLANT("good", "alpha", "high");
    configure("cb.conf", "[loader]\nbackend = alpha\n");
    assert_string_equal(chosen(), "alpha");
    setenv("CB_BACKEND", "good", 1);
    assert_string_equal(chosen(), "good");
    cb_loader *loader = open_loader();
    const cb_backend be = select_id(loader, "high");
    assert_string_equal(be.api->name, "high");
    release(loader, be);
    close_loader(loader);
}

static void the_configurations_backend_is_a_preference(void **state)
{
    (void)state;
    PLANT("good", "high", "fails_init");
    configure("cb.conf", "[loader]\nbackend = nothing, fails_init, good\n");
    assert_string_equal(chosen(), "good");
    configure("cb.conf", "[loader]\nbackend = nothing, fails_init\n");
    assert_string_equal(chosen(), "high");
}

static void a_fallback_is_said_with_one_warning_and_no_fallback_with_none(void **state)
{
    (void)state;
    static struct said said;
    PLANT("good", "fails_init");
    configure("cb.conf", "[loader]\nbackend = fails_init\n");
    cb_loader *loader = open_loader();
    memset(&said, 0, sizeof(said));
    cb_loader_set_log(loader, CB_LOG_WARNING, keep_said, &said);
    assert_string_equal(best(loader), "good");
    assert_int_equal(said.lines, 1);
    HAS_TEXT(said.text, "fails_init");
    HAS_TEXT(said.text, "good");
    close_loader(loader);

    configure("cb.conf", "[loader]\nbackend = good\n");
    loader = open_loader();
    memset(&said, 0, sizeof(said));
    cb_loader_set_log(loader, CB_LOG_WARNING, keep_said, &said);
    assert_string_equal(best(loader), "good");
    assert_int_equal(said.lines, 0);
    close_loader(loader);
}

static void cb_disable_hides_ids_and_globs_even_from_who_names_them(void **state)
{
    (void)state;
    PLANT("good", "alpha", "high");
    setenv("CB_DISABLE", "high, al*", 1);
    cb_loader *loader = open_loader();
    assert_string_equal(best(loader), "good");
    assert_int_equal(candidate(loader, "high").state, CB_STATE_HIDDEN);
    assert_int_equal(candidate(loader, "alpha").state, CB_STATE_HIDDEN);
    HAS_TEXT(candidate(loader, "high").reason, "CB_DISABLE");
    const cb_request request = { .size = sizeof(request), .id = "high" };
    HAS_TEXT(select_fails(loader, &request, CB_NOT_FOUND), "CB_DISABLE");
    close_loader(loader);
}

static void the_places_are_searched_strongest_first(void **state)
{
    (void)state;
    static const char *const places[] = { "api", "env", "added", "configured" };
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
        make_folder(places[i]);
    copy_file(mock_path("good"), "api/libcb_good.so", 0755);
    copy_file(mock_path("good"), "env/libcb_good.so", 0755);
    copy_file(mock_path("alpha"), "env/libcb_alpha.so", 0755);
    copy_file(mock_path("alpha"), "added/libcb_alpha.so", 0755);
    copy_file(mock_path("high"), "added/libcb_high.so", 0755);
    copy_file(mock_path("high"), "configured/libcb_high.so", 0755);
    copy_file(mock_path("low"), "configured/libcb_low.so", 0755);
    setenv("CB_PLUGINS", path_of("env"), 1);
    setenv("CB_PLUGINS_ADD", path_of("added"), 1);
    configure("cb.conf", "[loader]\nplugin_path = configured\n");

    cb_error err = test_error();
    cb_loader *loader = NULL;
    const char *const paths[] = { path_of("api") };
    const cb_loader_options options = { .size = sizeof(options), .paths = paths, .n_paths = 1 };
    TEST_OK(cb_loader_open(&options, &loader, &err), &err);
    HAS_TEXT(candidate(loader, "good").path, "/api/");
    HAS_TEXT(candidate(loader, "alpha").path, "/env/");
    HAS_TEXT(candidate(loader, "alpha").origin, "CB_PLUGINS");
    HAS_TEXT(candidate(loader, "high").path, "/added/");
    HAS_TEXT(candidate(loader, "high").origin, "CB_PLUGINS_ADD");
    assert_int_equal(count_candidates(loader, "low"), 0);
    close_loader(loader);

    unsetenv("CB_PLUGINS");
    loader = open_loader();
    HAS_TEXT(candidate(loader, "high").path, "/added/");
    HAS_TEXT(candidate(loader, "low").path, "/configured/");
    HAS_TEXT(candidate(loader, "low").origin, "cb.conf:2");
    close_loader(loader);
}

static void a_variable_that_is_empty_is_unset(void **state)
{
    (void)state;
    static const char *const names[] = { "CB_PLUGINS", "CB_PLUGINS_ADD", "CB_CONFIG", "CB_BACKEND",
                                         "CB_OPTIONS", "CB_DISABLE",     "CB_LOG" };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        setenv(names[i], "", 1);
    const char *const paths[] = { mock_path("good") };
    const cb_loader_options options = { .size = sizeof(options), .paths = paths, .n_paths = 1 };
    cb_error err = test_error();
    cb_loader *loader = NULL;
    TEST_OK(cb_loader_open(&options, &loader, &err), &err);
    const cb_backend be = select_id(loader, "good");
    LACKS_TEXT(report(loader), "problem");
    release(loader, be);
    close_loader(loader);
}

static void the_working_directory_is_never_searched(void **state)
{
    (void)state;
    char before[4096];
    assert_non_null(getcwd(before, sizeof(before)));
    plant("good");
    make_folder("elsewhere");
    setenv("CB_PLUGINS", path_of("elsewhere"), 1);
    assert_int_equal(chdir(path_of("")), 0);
    refused();
    unsetenv("CB_PLUGINS");
    cb_loader *loader = open_loader();
    assert_int_equal(count_candidates(loader, "good"), 0);
    close_loader(loader);
    assert_int_equal(chdir(before), 0);
}

int main(void)
{
    /* The first two look at what was mapped, so they come before who maps more. */
    const struct CMUnitTest tests[] = {
        PLACE_TEST(the_highest_priority_wins_and_the_others_are_outranked_unopened),
        PLACE_TEST(who_fails_is_followed_by_the_next_and_by_nobody_below_it),
        PLACE_TEST(a_configured_priority_wins_over_the_manifests),
        PLACE_TEST(priority_0_is_taken_only_when_it_is_named),
        PLACE_TEST(a_glob_or_any_is_not_a_name_for_priority_0),
        PLACE_TEST(a_gpu_plugin_whose_devices_have_host_memory_is_unfit_unless_named),
        PLACE_TEST(of_two_plugins_with_one_id_the_earlier_wins_and_the_other_is_hidden),
        PLACE_TEST(each_flag_of_a_request_is_met_by_who_has_it_and_the_others_say_what_they_lack),
        PLACE_TEST(a_request_for_a_gpu_passes_over_host_memory_even_when_it_is_named),
        PLACE_TEST(the_device_that_fits_is_the_one_that_is_opened),
        PLACE_TEST(a_request_that_makes_no_sense_is_an_invalid_argument),
        PLACE_TEST(an_id_that_is_not_there_is_an_error_that_names_it_and_what_there_is),
        PLACE_TEST(when_nothing_fits_the_message_lists_why_backend_by_backend),
        PLACE_TEST(cb_backend_picks_the_first_of_its_list_that_can_be_had),
        PLACE_TEST(cb_backend_is_one_of_its_list_or_an_error),
        PLACE_TEST(an_id_in_the_request_wins_over_cb_backend_and_that_over_the_configuration),
        PLACE_TEST(the_configurations_backend_is_a_preference),
        PLACE_TEST(a_fallback_is_said_with_one_warning_and_no_fallback_with_none),
        PLACE_TEST(cb_disable_hides_ids_and_globs_even_from_who_names_them),
        PLACE_TEST(the_places_are_searched_strongest_first),
        PLACE_TEST(a_variable_that_is_empty_is_unset),
        PLACE_TEST(the_working_directory_is_never_searched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
