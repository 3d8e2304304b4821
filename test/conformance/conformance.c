/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin under test against the contract: each group of the self-test is one test. Arguments:
 * "full" for the long run, and options of the plugin. kernels=NAME skips everything where the
 * plugin takes other kernels than these, as it does on a machine that lacks their instructions. */
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

#define OPTIONS_MAX 8

static uint32_t mode = CB_SELFTEST_QUICK;
static const char *plugin_options[OPTIONS_MAX + 1];
static uint64_t n_plugin_options;
static char why_not[128]; /* all is skipped, when it says something */

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
    if (*why_not)
        test_skip(name, why_not);
    char filter[CB_SELFTEST_NAME_MAX + 1];
    struct outcome out = { 0 };
    cb_selftest_summary summary;
    cb_selftest_summary_init(&summary);
    cb_selftest_options options;
    cb_selftest_options_init(&options);
    snprintf(filter, sizeof(filter), "%s*", name);
    options.mode = mode;
    options.filter = filter;
    options.create_options = plugin_options;
    options.n_create_options = n_plugin_options;
    options.report = report;
    options.ctx = &out;

    cb_error err = test_error();
    const cb_backend be = test_open(plugin_options);
    TEST_OK(cb_selftest_run(be, &options, &summary, &err), &err);
    test_close(be);
    assert_int_equal(summary.failed, 0);
    if (!summary.passed)
        test_skip(name, out.reason);
}

/* Compares the kernels that were asked for with those that run. */
static void check_kernels(const char *name)
{
    char got[64] = "";
    uint64_t length = sizeof(got);
    const cb_backend be = test_open(plugin_options);
    if (be.api->info(be.self, "kernels", got, &length, NULL) != CB_OK || strcmp(got, name) != 0)
        snprintf(why_not, sizeof(why_not),
                 "this machine, or this build, has no %s kernels: it takes %s", name, got);
    test_close(be);
}

int main(int argc, char **argv)
{
    static char names[GROUPS_MAX][CB_SELFTEST_NAME_MAX];
    static struct CMUnitTest tests[GROUPS_MAX];
    size_t n = 0;
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "full"))
            mode = CB_SELFTEST_FULL;
        else if (n_plugin_options < OPTIONS_MAX)
            plugin_options[n_plugin_options++] = argv[i];
    for (uint64_t i = 0; i < n_plugin_options; i++)
        if (!strncmp(plugin_options[i], "kernels=", 8))
            check_kernels(plugin_options[i] + 8);
    for (; n < GROUPS_MAX && cb_selftest_group(n, names[n]); n++)
        tests[n] = (struct CMUnitTest){ .name = names[n],
                                        .test_func = group_obeys_the_contract,
                                        .initial_state = names[n] };
    return _cmocka_run_group_tests("conformance", tests, n, NULL, NULL);
}
