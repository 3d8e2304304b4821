/* SPDX-License-Identifier: Apache-2.0 */
#include "judges.h"

#include <dirent.h>
#include <fenv.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

cb_backend judge_open(const char *a, const char *b, const char *c)
{
    const char *options[4] = { NULL };
    const char *const given[3] = { a, b, c };
    int n = 0;
    for (int i = 0; i < 3; i++)
        if (*given[i])
            options[n++] = given[i];
    return test_open(options);
}

/* ---- the state of the host ---- */

static int entries(const char *path)
{
    int n = 0;
    DIR *dir = opendir(path);
    assert_non_null(dir);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

static mode_t get_umask(void)
{
    const mode_t mask = umask(0);
    umask(mask);
    return mask;
}

static int signals_blocked(void)
{
    sigset_t set;
    int n = 0;
    pthread_sigmask(SIG_SETMASK, NULL, &set);
    for (int i = 1; i < NSIG; i++)
        n += sigismember(&set, i) == 1;
    return n;
}

/* Halves the smallest normal number: 0 where subnormals are flushed. */
static int gradual_underflow(void)
{
    volatile float x = 0x1p-126f;
    x *= 0.5f;
    return x != 0.0f;
}

struct state {
    int rounding, gradual, blocked, descriptors, threads;
    mode_t mask;
    char locale[64];
};

static struct state look(void)
{
    struct state s = { .rounding = fegetround(),
                       .gradual = gradual_underflow(),
                       .blocked = signals_blocked(),
                       .descriptors = entries("/proc/self/fd"),
                       .threads = entries("/proc/self/task"),
                       .mask = get_umask() };
    snprintf(s.locale, sizeof(s.locale), "%s", setlocale(LC_ALL, NULL));
    return s;
}

/* An instance that computes something and goes. */
static void come_and_go(const char *fault)
{
    const cb_backend be = judge_open(fault, "", "");
    cb_error err = test_error();
    cb_stream *stream = NULL;
    const uint64_t ptr = test_alloc(be, sizeof(float));
    TEST_OK(be.api->stream_create(be.self, 0, &stream, &err), &err);
    cb_unary_args args = { CB_ARGS(cb_unary_args), .op = CB_UNARY_EXP, .n = 1, .input = ptr,
                           .output = ptr };
    TEST_OK(cb_unary(be, &args, &err), &err);
    args.stream = stream;
    TEST_OK(cb_unary(be, &args, &err), &err);
    test_close(be);
}

static void judge_state(const char *fault, char failure[FAILURE_MAX])
{
    struct state before = look();
    /* What is opened once for the process may stay: only a second round leaves a leak. */
    come_and_go(fault);
    const struct state first = look();
    come_and_go(fault);
    const struct state second = look();
    const char *what = NULL;
    if (first.rounding != before.rounding || first.gradual != before.gradual)
        what = "floating-point control";
    else if (first.blocked != before.blocked)
        what = "the signal mask";
    else if (first.mask != before.mask)
        what = "the umask";
    else if (strcmp(first.locale, before.locale))
        what = "the locale";
    else if (second.descriptors != first.descriptors)
        what = "the number of descriptors";
    else if (second.threads != first.threads)
        what = "the number of threads";
    if (what)
        snprintf(failure, FAILURE_MAX, "state:%s changed", what);
}

/* ---- the number of threads ---- */

#define TERMS 4096

/* The sum of terms of magnitudes so far apart that their order counts. */
static float sum(const char *fault, const char *threads)
{
    static float x[TERMS];
    const uint64_t shape[] = { TERMS };
    cb_error err = test_error();
    const cb_backend be = judge_open(fault, threads, "");
    float total = 0;
    for (int i = 0; i < TERMS; i++)
        x[i] = (float)(1 + i * 37 % 101) / (float)(1 + i % 7 * 1000);
    const uint64_t in = test_upload(be, x, sizeof(x)), out = test_alloc(be, sizeof(total));
    const cb_reduce_args args = { CB_ARGS(cb_reduce_args),
                                  .op = CB_REDUCE_SUM,
                                  .shape = shape,
                                  .rank = 1,
                                  .input = in,
                                  .output = out };
    TEST_OK(cb_reduce(be, &args, &err), &err);
    test_download(be, &total, out, sizeof(total));
    test_close(be);
    return total;
}

static void judge_threads(const char *fault, char failure[FAILURE_MAX])
{
    const float one = sum(fault, "threads=1"), three = sum(fault, "threads=3");
    if (memcmp(&one, &three, sizeof(one)))
        snprintf(failure, FAILURE_MAX, "threads:a sum is %.9g with one thread, %.9g with three",
                 (double)one, (double)three);
}

const struct judge judges[] = {
    { "state", judge_state },
    { "threads", judge_threads },
};
const uint64_t judges_count = sizeof(judges) / sizeof(judges[0]);
