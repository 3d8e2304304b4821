/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin under test against the contract: each group of the self-test is one test. */
#include "backend.h"
#include "selftest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GROUPS_MAX 128
#define SHOWN_MAX  8

struct outcome {
    unsigned shown;
    char reason[512]; /* why the latest skipped case was */
};

static uint32_t mode = CB_SELFTEST_QUICK;

static void report(void *ctx, const cb_selftest_result *result)
{
    struct outcome *out = ctx;
    if (result->outcome == CB_SELFTEST_SKIPPED)
        snprintf(out->reason, sizeof(out->reason), "%s", result->text);
    if (result->outcome == CB_SELFTEST_FAILED && out->shown++ < SHOWN_MAX)
        print_error("%s: %s (rule: %s)\n", result->spec, result->text, result->rule);
}

/* *state is the name of a group. */
static void group_obeys_the_contract(void **state)
{
    const char *name = *state;
    char filter[CB_SELFTEST_NAME_MAX + 1];
    struct outcome out = { 0 };
    cb_selftest_summary summary;
    cb_selftest_summary_init(&summary);
    cb_selftest_options options;
    cb_selftest_options_init(&options);
    snprintf(filter, sizeof(filter), "%s*", name);
    options.mode = mode;
    options.filter = filter;
    options.report = report;
    options.ctx = &out;

    cb_error err = test_error();
    const cb_backend be = test_open(NULL);
    TEST_OK(cb_selftest_run(be, &options, &summary, &err), &err);
    test_close(be);
    assert_int_equal(summary.failed, 0);
    if (!summary.passed)
        test_skip(name, out.reason);
}

/* "full" as the argument asks for the long run. */
int main(int argc, char **argv)
{
    static char names[GROUPS_MAX][CB_SELFTEST_NAME_MAX];
    static struct CMUnitTest tests[GROUPS_MAX];
    size_t n = 0;
    if (argc > 1 && !strcmp(argv[1], "full"))
        mode = CB_SELFTEST_FULL;
    for (; n < GROUPS_MAX && cb_selftest_group(n, names[n]); n++)
        tests[n] = (struct CMUnitTest){ .name = names[n],
                                        .test_func = group_obeys_the_contract,
                                        .initial_state = names[n] };
    return _cmocka_run_group_tests("conformance", tests, n, NULL, NULL);
}
