/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin that is compiled for more than this machine has is refused before a line of it runs:
 * here, and on older processors that qemu plays. */
#include "place.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void a_plugin_for_another_machine_is_refused_and_one_for_any_is_not(void **state)
{
    (void)state;
    plant("for_the_pdp11");
    plant("for_any");
    cb_loader *loader = open_loader();
    const cb_candidate c = candidate(loader, "for_the_pdp11");
    assert_int_equal(c.state, CB_STATE_REFUSED);
    HAS_TEXT(c.reason, "needs pdp11, and this is ");
    assert_string_equal(c.isa, "pdp11");
    const cb_request request = { .size = sizeof(request), .id = "for_the_pdp11" };
    HAS_TEXT(select_fails(loader, &request, CB_NOT_FOUND), "needs pdp11");
    assert_string_equal(best(loader), "for_any");
    close_loader(loader);
}

#ifdef __x86_64__

static void a_feature_that_cannot_be_checked_is_not_there(void **state)
{
    (void)state;
    plant("needs_quantum");
    cb_loader *loader = open_loader();
    HAS_TEXT(candidate(loader, "needs_quantum").reason, "needs quantum, which cannot be checked");
    close_loader(loader);
}

static void this_machine_is_asked_what_it_has(void **state)
{
    (void)state;
    const struct {
        const char *mock, *feature;
        int has;
    } rows[] = {
        { "needs_avx2", "avx2", __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") },
        { "needs_avx512f", "avx512f", __builtin_cpu_supports("avx512f") },
    };
    plant("needs_avx2");
    plant("needs_avx512f");
    cb_loader *loader = open_loader();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const cb_candidate c = candidate(loader, rows[i].mock);
        print_message("# %s: %s: %s\n", c.id, cb_state_name(c.state), c.reason);
        assert_int_equal(c.state, rows[i].has ? CB_STATE_FOUND : CB_STATE_REFUSED);
        HAS_TEXT(c.isa, rows[i].feature);
    }
    close_loader(loader);
}

/* gcc says it with macros, clang with features. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#elif defined(__has_feature)
#define IS_SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define IS_SANITIZED 0
#endif

/* Runs the host on a processor that qemu plays. The host, its plugins and all they load are built
 * for the base of x86_64, and each mock says what it needs. */
static struct outcome run_on(const char *test, const char *cpu)
{
    if (IS_SANITIZED)
        test_skip(test, "a sanitizer does not run under qemu");
    const char *const there[] = { "qemu-x86_64", "--version", NULL };
    if (run_program(there).status != 0)
        test_skip(test, "there is no qemu-x86_64");
    assert_int_equal(symlink(TEST_CPU_PLUGIN, path_of("libcb_cpu.so")), 0);
    plant("needs_avx2");
    plant("needs_avx512f");
    const char *const argv[] = { "qemu-x86_64", "-cpu", cpu, TEST_HOST, "--report", NULL };
    return run_program(argv);
}

/* The lines of the report that speak of one plugin. */
static const char *part_of(const char *report, const char *id)
{
    const char *at = strstr(report, text_of("\n%s 1.2.3: ", id));
    if (!at)
        fail_msg("no %s in: %s", id, report);
    const char *end = strstr(at, "\n    path:");
    assert_non_null(end);
    return text_of("%.*s", (int)(end - at), at);
}

static void a_nehalem_refuses_what_needs_avx_and_computes_with_the_rest(void **state)
{
    (void)state;
    const struct outcome outcome =
        run_on("a_nehalem_refuses_what_needs_avx_and_computes_with_the_rest", "Nehalem");
    assert_int_equal(outcome.status, 0);
    assert_memory_equal(outcome.out, "cpu: gemm is ", 13);
    HAS_TEXT(part_of(outcome.out, "needs_avx2"), "refused\n    reason:   needs avx, which this");
    HAS_TEXT(part_of(outcome.out, "needs_avx512f"), "refused\n    reason:   needs avx, which this");
}

static void a_haswell_takes_what_needs_avx2_and_refuses_what_needs_avx512(void **state)
{
    (void)state;
    setenv("CB_BACKEND", "needs_avx512f,needs_avx2", 1);
    const struct outcome outcome =
        run_on("a_haswell_takes_what_needs_avx2_and_refuses_what_needs_avx512", "Haswell");
    assert_int_equal(outcome.status, 0);
    assert_memory_equal(outcome.out, "needs_avx2: gemm is OK", 22);
    HAS_TEXT(part_of(outcome.out, "needs_avx512f"), "refused\n    reason:   needs avx512f, which");
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLACE_TEST(a_plugin_for_another_machine_is_refused_and_one_for_any_is_not),
#ifdef __x86_64__
        PLACE_TEST(a_feature_that_cannot_be_checked_is_not_there),
        PLACE_TEST(this_machine_is_asked_what_it_has),
        PLACE_TEST(a_nehalem_refuses_what_needs_avx_and_computes_with_the_rest),
        PLACE_TEST(a_haswell_takes_what_needs_avx2_and_refuses_what_needs_avx512),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
