/* SPDX-License-Identifier: Apache-2.0 */
/* The self-test must find each fault of the chaos plugin, and name what it concerns; and it must
 * find nothing where there is none. Each runs in a child process, which may end as it likes. */
#include "judges.h"
#include "selftest.h"

#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define FAULTS_MAX  256
#define NAME_LENGTH 96
#define DEADLINE    120 /* seconds for one fault */

/* A row of the plugin's own table, as its info has it. */
struct fault {
    char name[NAME_LENGTH], subject[NAME_LENGTH], title[NAME_LENGTH];
};

/* ---- in the child ---- */

static int report_to;

static void tell(const char *text)
{
    const size_t n = strlen(text) + 1;
    if (write(report_to, text, n) != (ssize_t)n)
        _exit(2);
    _exit(0);
}

static void end_at_first_failure(void *ctx, const cb_selftest_result *result)
{
    (void)ctx;
    char text[FAILURE_MAX];
    if (result->outcome != CB_SELFTEST_FAILED)
        return;
    snprintf(text, sizeof(text), "%s: %s", result->spec, result->text);
    tell(text);
}

/* Further instances have the fault, too. */
static cb_status open_more(void *ctx, const char *const *options, uint64_t n, cb_backend *out,
                           cb_error *err)
{
    (void)err;
    *out = judge_open(ctx, n > 0 ? options[0] : "", n > 1 ? options[1] : "");
    return CB_OK;
}

static void close_more(void *ctx, cb_backend be)
{
    (void)ctx;
    test_close(be);
}

static void run_selftest(const char *option, const char *subject)
{
    cb_error err = test_error();
    cb_selftest_summary summary;
    cb_selftest_summary_init(&summary);
    cb_selftest_options options;
    cb_selftest_options_init(&options);
    options.filter = *subject ? subject : NULL;
    options.report = end_at_first_failure;
    options.ctx = (void *)option;
    options.open = open_more;
    options.close = close_more;
    const cb_backend be = judge_open(option, "", "");
    TEST_OK(cb_selftest_run(be, &options, &summary, &err), &err);
    test_close(be);
    if (!summary.passed)
        tell("no case ran");
}

/* An empty subject: all of them. */
static void judge(const char *option, const char *subject)
{
    char failure[FAILURE_MAX] = "";
    bool judged = false;
    alarm(DEADLINE);
    for (uint64_t i = 0; i < judges_count && !failure[0]; i++) {
        const bool mine = !strcmp(judges[i].subject, subject);
        if (mine || !*subject)
            judges[i].run(option, failure);
        judged |= mine;
    }
    if (!judged && !failure[0])
        run_selftest(option, subject);
    tell(failure);
}

/* ---- in the parent ---- */

static char *program;

/* The first failure that a child finds, "" when it finds none. The child is this program again, so
 * that an assertion which fails in it cannot go on with the tests of the parent. */
static void first_failure(const char *option, const char *subject, char failure[FAILURE_MAX])
{
    int ends[2], status;
    char to[16];
    pid_t child;
    assert_int_equal(pipe(ends), 0);
    snprintf(to, sizeof(to), "%d", ends[1]);
    char *const argv[] = { program, to, (char *)option, (char *)subject, NULL };
    assert_int_equal(posix_spawn(&child, program, NULL, NULL, argv, environ), 0);
    close(ends[1]);
    failure[0] = 0;
    const ssize_t n = read(ends[0], failure, FAILURE_MAX);
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (n <= 0 || !WIFEXITED(status) || WEXITSTATUS(status))
        print_error("the child ended with status %#x\n", (unsigned)status);
    assert_true(n > 0 && WIFEXITED(status) && !WEXITSTATUS(status));
}

static void fault_is_found(void **state)
{
    const struct fault *fault = *state;
    char option[NAME_LENGTH + 8], failure[FAILURE_MAX], prefix[NAME_LENGTH + 1];
    snprintf(option, sizeof(option), "fault=%s", fault->name);
    snprintf(prefix, sizeof(prefix), "%s:", fault->subject);
    first_failure(option, fault->subject, failure);
    print_message("# %s\n", failure);
    assert_int_equal(strncmp(failure, prefix, strlen(prefix)), 0);
}

static void without_a_fault_nothing_is_found(void **state)
{
    char failure[FAILURE_MAX];
    (void)state;
    first_failure("", "", failure);
    assert_string_equal(failure, "");
}

/* The names that the key "faults" lists, and the word before the colon in "fault.NAME". */
static size_t read_faults(struct fault faults[FAULTS_MAX])
{
    static char text[FAULTS_MAX * NAME_LENGTH];
    char *save = NULL;
    size_t n = 0;
    cb_error err = test_error();
    uint64_t length = sizeof(text);
    const cb_backend be = judge_open("", "", "");
    TEST_OK(be.api->info(be.self, "faults", text, &length, &err), &err);
    for (char *name = strtok_r(text, ", ", &save); name && n < FAULTS_MAX;
         name = strtok_r(NULL, ", ", &save)) {
        struct fault *f = &faults[n++];
        char key[NAME_LENGTH], line[512];
        length = sizeof(line);
        snprintf(f->name, sizeof(f->name), "%.80s", name);
        snprintf(f->title, sizeof(f->title), "%.80s_is_found", name);
        snprintf(key, sizeof(key), "fault.%.80s", name);
        TEST_OK(be.api->info(be.self, key, line, &length, &err), &err);
        snprintf(f->subject, sizeof(f->subject), "%.*s", (int)strcspn(line, ":"), line);
    }
    test_close(be);
    return n;
}

int main(int argc, char **argv)
{
    static struct fault faults[FAULTS_MAX];
    static struct CMUnitTest tests[FAULTS_MAX + 1] = { cmocka_unit_test(
        without_a_fault_nothing_is_found) };
    program = argv[0];
    if (argc == 4) {
        report_to = atoi(argv[1]);
        judge(argv[2], argv[3]);
    }
    const size_t n = read_faults(faults);
    for (size_t i = 0; i < n; i++)
        tests[i + 1] = (struct CMUnitTest){ .name = faults[i].title,
                                            .test_func = fault_is_found,
                                            .initial_state = &faults[i] };
    return n < 40 ? 1 : _cmocka_run_group_tests("chaos faults", tests, n + 1, NULL, NULL);
}
