/* SPDX-License-Identifier: Apache-2.0 */
/* Field reports on processes: P02 (fork) and P04 (exit). */
#include "backend.h"
#include "job.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    DEADLINE = 10
}; /* seconds */

/* The wait status of a child, which is killed at the deadline. */
static int wait_for(pid_t child)
{
    const time_t start = time(NULL);
    int status = -1;
    while (waitpid(child, &status, WNOHANG) == 0) {
        if (time(NULL) - start > DEADLINE)
            kill(child, SIGKILL);
        usleep(2000);
    }
    return status;
}

/* In a child: 0 when the inherited instance works, or says at once that it does not after a fork;
 * no other outcome is allowed. */
static int child_verdict(cb_backend be)
{
    cb_error err;
    cb_error_init(&err);
    const cb_status status = job_run(be, &err);
    return !(status == CB_OK || (status == CB_DEVICE_ERROR && strstr(err.msg, "fork")));
}

static pid_t fork_job(cb_backend be)
{
    fflush(NULL); /* or the child may print it a second time */
    const pid_t child = fork();
    if (child == 0) {
        alarm(DEADLINE);
        _exit(child_verdict(be));
    }
    return child;
}

static void p02_parent_and_child_both_compute_after_fork(void **state)
{
    const cb_backend be = TEST_BE(state);
    cb_error err = test_error();
    TEST_OK(job_run(be, &err), &err);
    const pid_t child = fork_job(be);
    assert_true(child > 0);
    TEST_OK(job_run(be, &err), &err);
    assert_int_equal(wait_for(child), 0);
    TEST_OK(job_run(be, &err), &err);
}

static void *fork_and_wait(void *arg)
{
    const pid_t child = fork_job(*(const cb_backend *)arg);
    return (void *)(intptr_t)(child > 0 ? wait_for(child) : -1);
}

static void p02_two_threads_may_fork_at_once(void **state)
{
    cb_backend be = TEST_BE(state);
    cb_error err = test_error();
    pthread_t threads[2];
    void *status[2];
    TEST_OK(job_run(be, &err), &err);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, fork_and_wait, &be), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_join(threads[i], &status[i]), 0);
    assert_null(status[0]);
    assert_null(status[1]);
    TEST_OK(job_run(be, &err), &err);
}

/* A thread that is in the plugin as often as it can. */
struct busy {
    cb_backend be;
    atomic_int *stop;
    cb_status status;
    pthread_t thread;
};

static void *allocate_and_free(void *arg)
{
    struct busy *busy = arg;
    while (!atomic_load(busy->stop) && busy->status == CB_OK) {
        uint64_t ptr;
        busy->status = cb_alloc(busy->be, 64, &ptr, NULL);
        if (busy->status == CB_OK)
            busy->status = cb_memset(busy->be, ptr, 1, 64, NULL, NULL);
        if (busy->status == CB_OK)
            busy->status = cb_free(busy->be, ptr, NULL);
    }
    return NULL;
}

static void p02_a_child_computes_though_other_threads_were_in_the_plugin(void **state)
{
    struct busy busy[2];
    atomic_int stop = 0;
    int bad = 0;
    for (int i = 0; i < 2; i++) {
        busy[i] = (struct busy){ .be = TEST_BE(state), .stop = &stop };
        assert_int_equal(pthread_create(&busy[i].thread, NULL, allocate_and_free, &busy[i]), 0);
    }
    for (int i = 0; i < 30 && !bad; i++) {
        const pid_t child = fork_job(busy[0].be);
        bad = child <= 0 || wait_for(child) != 0;
    }
    atomic_store(&stop, 1);
    for (int i = 0; i < 2; i++)
        pthread_join(busy[i].thread, NULL);
    assert_int_equal(bad, 0);
    for (int i = 0; i < 2; i++)
        TEST_OK(busy[i].status, NULL);
}

/* Runs the exiter, and fails unless it ends by itself with status 0 and prints nothing. */
static void check_exit(const char *way)
{
    const char *plugin = getenv("CB_TEST_PLUGIN");
    int out[2];
    char text[256];
    assert_int_equal(pipe(out), 0);
    const pid_t child = fork();
    if (child == 0) {
        dup2(out[1], STDOUT_FILENO);
        dup2(out[1], STDERR_FILENO);
        execl(TEST_EXITER, TEST_EXITER, plugin ? plugin : TEST_CPU_PLUGIN, way, (char *)NULL);
        _exit(127);
    }
    assert_true(child > 0);
    close(out[1]);
    const int status = wait_for(child);
    const ssize_t printed = read(out[0], text, sizeof(text) - 1);
    close(out[0]);
    text[printed > 0 ? printed : 0] = 0;
    if (status != 0 || printed != 0)
        fail_msg("exiter %s: wait status %#x, printed \"%s\"", way, (unsigned)status, text);
}

static void p04_a_host_that_destroys_and_unloads_exits_with_zero(void **state)
{
    (void)state;
    check_exit("whole");
}

static void p04_a_host_that_returns_without_destroy_exits_with_zero(void **state)
{
    (void)state;
    check_exit("abandoned");
}

static void p04_a_host_that_unloads_without_destroy_exits_with_zero(void **state)
{
    (void)state;
    check_exit("unloaded");
}

static void p04_exit_while_another_thread_computes_is_clean(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++)
        check_exit("busy");
}

static void p04_quick_exit_while_another_thread_computes_is_clean(void **state)
{
    (void)state;
    check_exit("quick");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(p02_parent_and_child_both_compute_after_fork,
                                        test_setup_backend, test_teardown_backend),
        cmocka_unit_test_setup_teardown(p02_two_threads_may_fork_at_once, test_setup_backend,
                                        test_teardown_backend),
        cmocka_unit_test_setup_teardown(
            p02_a_child_computes_though_other_threads_were_in_the_plugin, test_setup_backend,
            test_teardown_backend),
        cmocka_unit_test(p04_a_host_that_destroys_and_unloads_exits_with_zero),
        cmocka_unit_test(p04_a_host_that_returns_without_destroy_exits_with_zero),
        cmocka_unit_test(p04_a_host_that_unloads_without_destroy_exits_with_zero),
        cmocka_unit_test(p04_exit_while_another_thread_computes_is_clean),
        cmocka_unit_test(p04_quick_exit_while_another_thread_computes_is_clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
