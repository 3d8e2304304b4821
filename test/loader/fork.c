/* SPDX-License-Identifier: Apache-2.0 */
/* A fork in the middle: parent and child both go on, or the child is told at once. */
#include "place.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* A child of a process with threads goes on under ThreadSanitizer too. */
__attribute__((visibility("default"))) const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "die_after_fork=0:report_thread_leaks=0";
}

/* A child must not hang: it is killed when it does. Returns its exit status, or 128 + the signal.
 */
static int in_child(int (*work)(void *arg), void *arg)
{
    int status = 0;
    fflush(stdout); /* or a sanitizer's child says it again */
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(30);
        _exit(work(arg));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* ---- The lock is free ------------------------------------------------------------------------ */

struct family {
    cb_loader *loader;
    cb_backend be;
};

/* Uses all that a parent left, and more of it. */
static int use_everything(void *arg)
{
    struct family *f = arg;
    cb_backend mine = { NULL, NULL };
    uint64_t length = 0;
    const cb_gemm_args args = { CB_ARGS(cb_gemm_args) };
    if (cb_gemm(f->be, &args, NULL) != CB_OK)
        return 1;
    if (cb_loader_select(f->loader, NULL, &mine, NULL) != CB_OK)
        return 2;
    if (cb_loader_report(f->loader, NULL, &length, NULL) != CB_OK)
        return 3;
    if (cb_loader_release(f->loader, mine, NULL) != CB_OK)
        return 4;
    if (cb_loader_release(f->loader, f->be, NULL) != CB_OK)
        return 5;
    return cb_loader_close(f->loader, NULL) == CB_OK ? 0 : 6;
}

static void a_child_goes_on_with_its_parents_loader_and_the_parent_too(void **state)
{
    (void)state;
    plant("good");
    struct family f = { .loader = open_loader() };
    f.be = select_id(f.loader, "good");
    for (int i = 0; i < 3; i++)
        assert_int_equal(in_child(use_everything, &f), 0);
    assert_int_equal(use_everything(&f), 0);
}

/* ---- Another thread holds it ----------------------------------------------------------------- */

/* An allocation of the thread in question stops inside the loader, which keeps the reasons of a
 * selection under its lock, until it is let go. */
static _Thread_local int may_stop;
static atomic_int stopped, go_on;
static _Thread_local int allocations;
static int stop_at;

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size)
{
    if (may_stop && ++allocations == stop_at) {
        atomic_store(&stopped, 1);
        while (!atomic_load(&go_on))
            usleep(1000);
    }
    return __real_malloc(size);
}

static void *select_and_stop(void *arg)
{
    cb_backend be = { NULL, NULL };
    may_stop = 1;
    allocations = 0;
    const cb_status status = cb_loader_select(arg, NULL, &be, NULL);
    may_stop = 0;
    if (status == CB_OK)
        cb_loader_release(arg, be, NULL);
    atomic_store(&stopped, 2);
    return NULL;
}

/* Asks for everything. 0: all went well; 1: all was refused, at once; else something in between. */
static int ask_for_everything(void *arg)
{
    static char msg[sizeof(((cb_error *)0)->msg)];
    cb_loader *loader = arg;
    cb_backend be = { NULL, NULL };
    cb_candidate c = { .size = sizeof(c) };
    cb_error err = { .size = sizeof(err) };
    uint64_t length = 0, count = 0;
    const cb_status got[] = {
        cb_loader_select(loader, NULL, &be, &err),
        cb_loader_candidate(loader, 0, &c, NULL),
        cb_loader_report(loader, NULL, &length, NULL),
        cb_loader_config(loader, CB_FORMAT_JSON, NULL, &length, NULL),
        cb_loader_fallback_chain(loader, NULL, NULL, &count, NULL),
        be.api ? cb_loader_release(loader, be, NULL) : CB_DEVICE_ERROR,
        cb_loader_close(loader, NULL),
    };
    cb_loader_set_log(got[0] == CB_OK ? NULL : loader, CB_LOG_DEBUG, NULL, NULL);
    strcpy(msg, err.msg);
    for (size_t i = 1; i < sizeof(got) / sizeof(got[0]); i++)
        if (got[i] != got[0] && !(got[0] == CB_OK && i == 6 && got[i] == CB_BUSY))
            return 10 + (int)i;
    if (got[0] == CB_OK)
        return 0;
    return got[0] == CB_DEVICE_ERROR && strstr(msg, "used after fork") ? 1 : 2;
}

static void a_child_is_right_or_told_at_once_wherever_another_thread_was(void **state)
{
    (void)state;
    plant("good");
    int right = 0, told = 0;
    for (stop_at = 1;; stop_at++) {
        pthread_t thread;
        cb_loader *loader = open_loader();
        atomic_store(&stopped, 0);
        atomic_store(&go_on, 0);
        assert_int_equal(pthread_create(&thread, NULL, select_and_stop, loader), 0);
        while (!atomic_load(&stopped))
            usleep(1000);
        const int end = atomic_load(&stopped) == 2;
        const int status = in_child(ask_for_everything, loader);
        print_message("# allocation %d: %d\n", stop_at, status);
        assert_true(status == 0 || status == 1);
        right += status == 0;
        told += status == 1;
        atomic_store(&go_on, 1);
        assert_int_equal(pthread_join(thread, NULL), 0);
        close_loader(loader);
        if (end)
            break;
    }
    assert_true(right > 0);
    assert_true(told > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLACE_TEST(a_child_goes_on_with_its_parents_loader_and_the_parent_too),
        PLACE_TEST(a_child_is_right_or_told_at_once_wherever_another_thread_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
