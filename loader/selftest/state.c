/* SPDX-License-Identifier: Apache-2.0 */
/* What a backend leaves behind in the process of its host: nothing. */
#include "suite.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS    3
#define PATIENCE  1000  /* milliseconds for a thread that has been joined to leave the list */
#define FORK_TIME 10000 /* and for a forked child to answer "at once" on a busy machine */
#define THREADS   256

static const char rule[] = "no call changes the state of the host's process";

static void nap(void)
{
    const struct timespec millisecond = { 0, 1000000 };
    nanosleep(&millisecond, NULL);
}

/* ---- A little of everything that an instance does ---- */

/* What the backend does not do is none of this group's business. */
static bool done(struct st_run *run, const char *call, cb_status st, const cb_error *err)
{
    return st == CB_UNSUPPORTED || st_status(run, call, st, CB_OK, err);
}

static bool compute(struct st_run *run, cb_backend be, uint64_t ptr, cb_stream *stream)
{
    cb_error err;
    cb_error_init(&err);
    const cb_backend mine = run->be;
    const cb_unary_args unary = { CB_ARGS(cb_unary_args), .op = CB_UNARY_EXP, .n = 16,
                                  .input = ptr,           .output = ptr,      .stream = stream };
    const cb_gemm_args gemm = { CB_ARGS(cb_gemm_args),
                                .dtype = CB_F32,
                                .m = 4,
                                .n = 4,
                                .k = 4,
                                .alpha = 1.0,
                                .a = ptr,
                                .lda = 4,
                                .b = ptr,
                                .ldb = 4,
                                .c = ptr,
                                .ldc = 4,
                                .stream = stream };
    run->be = be;
    const bool good = done(run, "unary", st_slot_watched(run, CB_OP_UNARY, &unary, &err), &err) &&
                      done(run, "gemm", st_slot_watched(run, CB_OP_GEMM, &gemm, &err), &err) &&
                      done(run, "synchronize", cb_synchronize(be, &err), &err);
    run->be = mine;
    return good;
}

static void work(struct st_run *run, cb_backend be)
{
    cb_error err;
    cb_error_init(&err);
    float host[16] = { 0.0f };
    uint64_t ptr = 0;
    cb_stream *stream = NULL;
    if (!st_offered(run, "alloc", cb_alloc(be, sizeof(host), &ptr, &err), &err))
        return;
    const bool streams = CB_HAS(be.api, stream_create) && CB_HAS(be.api, stream_destroy);
    if (!done(run, "copy_htod", cb_upload(be, ptr, host, sizeof(host), &err), &err) ||
        !compute(run, be, ptr, NULL))
        return;
    if (streams && be.api->stream_create(be.self, 0, &stream, &err) == CB_OK) {
        compute(run, be, ptr, stream);
        done(run, "stream_destroy", be.api->stream_destroy(be.self, stream, &err), &err);
    }
    done(run, "copy_dtoh", cb_download(be, host, ptr, sizeof(host), &err), &err);
    done(run, "free", cb_free(be, ptr, &err), &err);
}

/* An instance that works and goes. */
static bool come_and_go(struct st_run *run)
{
    cb_backend be;
    if (!st_open(run, NULL, 0, &be))
        return false;
    work(run, be);
    st_close(run, be);
    return run->outcome == CB_SELFTEST_PASSED;
}

/* ---- What belongs to the process ---- */

static void aspect_is_kept(struct st_run *run, uint64_t i)
{
    const struct st_aspect *aspect = &st_aspects[i];
    struct st_process saved = { .directory = -1 };
    if (!st_process_enter(&saved)) {
        st_unjudged(run, "the state of the process cannot be read and set");
        return;
    }
    const uint64_t before = aspect->odd ? aspect->look() : run->aspects[i];
    work(run, run->be);
    const bool kept = aspect->look() == before;
    if (kept)
        come_and_go(run);
    if (!kept || aspect->look() != before)
        st_fail(run, rule, "%s: changed by %s", aspect->name,
                kept ? "an instance, from create to destroy" : "ops and copies");
    st_process_leave(&saved);
}

/* Once more where the count may still fall: a thread that has been joined is listed a little
 * longer. */
static uint64_t settled(const char *list, uint64_t wanted)
{
    uint64_t n = st_process_count(list);
    for (int i = 0; n > wanted && i < PATIENCE; i++) {
        nap();
        n = st_process_count(list);
    }
    return n;
}

/* What a driver opens once it may keep, so the first round does not count. */
static void rounds_leave_nothing(struct st_run *run, const char *list, const char *what)
{
    uint64_t n[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        if (!come_and_go(run))
            return;
        n[i] = i < 2 ? st_process_count(list) : settled(list, n[1]);
    }
    if (!n[0])
        st_unjudged(run, "/proc/self/%s cannot be read", list);
    else if (n[1] != n[2])
        st_fail(run, "destroy joins every thread and closes all that the instance opened",
                "%" PRIu64 " %s after the second round from create to destroy, %" PRIu64
                " after the third",
                n[1], what, n[2]);
}

static void descriptors(struct st_run *run)
{
    rounds_leave_nothing(run, "fd", "descriptors");
}

static void threads(struct st_run *run)
{
    rounds_leave_nothing(run, "task", "threads");
}

/* ---- Threads that a backend starts ---- */

static uint64_t list_threads(pid_t ids[THREADS])
{
    uint64_t n = 0;
    DIR *dir = opendir("/proc/self/task");
    for (struct dirent *e; dir && n < THREADS && (e = readdir(dir)) != NULL;) {
        if (e->d_name[0] != '.')
            ids[n++] = (pid_t)atoi(e->d_name);
    }
    if (dir)
        closedir(dir);
    return n;
}

/* The line of a thread's file that begins with key, without it. "" when there is none. */
static void read_line(pid_t id, const char *file, const char *key, char out[128])
{
    char path[64], line[128];
    out[0] = 0;
    snprintf(path, sizeof(path), "/proc/self/task/%d/%s", (int)id, file);
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof(line), f)) {
        if (strncmp(line, key, strlen(key)) != 0)
            continue;
        line[strcspn(line, "\n")] = 0;
        strcpy(out, line + strlen(key));
        break;
    }
    if (f)
        fclose(f);
}

static void signals_of(struct st_run *run, pid_t id)
{
    /* SIGKILL and SIGSTOP cannot be blocked; 32 and 33 are the C library's own. */
    const uint64_t wanted = ~(UINT64_C(1) << 8 | UINT64_C(1) << 18 | UINT64_C(3) << 31);
    char text[128], name[128];
    read_line(id, "status", "SigBlk:", text);
    read_line(id, "comm", "", name);
    const uint64_t blocked = strtoull(text, NULL, 16);
    if (text[0] && (blocked & wanted) != wanted)
        st_fail(run, "threads that a plugin starts block all signals",
                "the thread %s blocks %#" PRIx64 " only", name, blocked);
}

static void name_of(struct st_run *run, pid_t id)
{
    char name[128];
    read_line(id, "comm", "", name);
    if (name[0] && strncmp(name, "cb-", 3) != 0)
        st_unjudged(run, "a thread is named %s: the plugin's are named cb-*, a driver's are not",
                    name);
}

/* Looks at each thread that was not there before an instance was opened. */
static void look_at_threads(struct st_run *run, void (*look)(struct st_run *run, pid_t id))
{
    static const struct timespec breath = { 0, 20000000 }; /* a new thread names itself */
    pid_t before[THREADS], now[THREADS];
    cb_backend be;
    const uint64_t n = list_threads(before);
    if (!st_open(run, NULL, 0, &be))
        return;
    work(run, be);
    nanosleep(&breath, NULL);
    const uint64_t m = list_threads(now);
    for (uint64_t i = 0; i < m; i++) {
        bool old = false;
        for (uint64_t k = 0; k < n; k++)
            old = old || before[k] == now[i];
        if (!old)
            look(run, now[i]);
    }
    st_close(run, be);
}

static void thread_signals(struct st_run *run)
{
    look_at_threads(run, signals_of);
}

static void thread_names(struct st_run *run)
{
    look_at_threads(run, name_of);
}

/* ---- Output, and fork ---- */

/* Standard output and error go to a file meanwhile. */
static void prints_nothing(struct st_run *run)
{
    const int file = memfd_create("selftest", MFD_CLOEXEC);
    char text[128] = "";
    fflush(NULL);
    const int out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO);
    if (file < 0 || out < 0 || err < 0 || dup2(file, STDOUT_FILENO) < 0 ||
        dup2(file, STDERR_FILENO) < 0) {
        st_unjudged(run, "standard output and error cannot be watched: %s", strerror(errno));
    } else {
        come_and_go(run);
        work(run, run->be);
        fflush(NULL);
    }
    if (out >= 0)
        dup2(out, STDOUT_FILENO);
    if (err >= 0)
        dup2(err, STDERR_FILENO);
    if (file >= 0 && pread(file, text, sizeof(text) - 1, 0) > 0) {
        text[strcspn(text, "\n")] = 0;
        st_fail(run, "a plugin prints nothing", "it printed: %s", text);
    }
    const int all[] = { file, out, err };
    for (size_t i = 0; i < ST_COUNT(all); i++)
        if (all[i] >= 0)
            close(all[i]);
}

enum {
    CHILD_WORKS = 0,
    CHILD_REFUSED = 1,
    CHILD_WRONG = 2,
};

static int in_child(cb_backend be, uint64_t ptr)
{
    cb_error err;
    cb_error_init(&err);
    unsigned char byte = 0;
    const cb_status st = cb_download(be, &byte, ptr, 1, &err);
    if (st == CB_DEVICE_ERROR && strstr(err.msg, "fork"))
        return CHILD_REFUSED;
    return st == CB_OK && byte == 77 ? CHILD_WORKS : CHILD_WRONG;
}

/* Waits; a child that takes too long is killed. */
static bool wait_for(pid_t child, int *status, bool *hung)
{
    pid_t got = 0;
    for (int i = 0; i < FORK_TIME && (got = waitpid(child, status, WNOHANG)) == 0; i++)
        nap();
    *hung = got == 0;
    if (*hung) {
        kill(child, SIGKILL);
        got = waitpid(child, status, 0);
    }
    return got == child;
}

static void fork_works_or_is_refused(struct st_run *run)
{
    static const char fork_rule[] =
        "after fork a child's instance works or answers DEVICE_ERROR \"used after fork\" at once";
    const unsigned char byte = 77;
    uint64_t ptr = 0;
    int status = 0;
    bool hung = false;
    cb_error err;
    cb_error_init(&err);
    if (!st_alloc(run, 1, &ptr) ||
        !st_status(run, "copy_htod", cb_upload(run->be, ptr, &byte, 1, &err), CB_OK, &err))
        return;
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0)
        _exit(in_child(run->be, ptr));
    if (child < 0 || !wait_for(child, &status, &hung))
        st_unjudged(run, "a child cannot be had: %s", strerror(errno));
    else if (hung)
        st_fail(run, fork_rule, "the child's copy_dtoh hangs");
    else if (WIFSIGNALED(status))
        st_fail(run, fork_rule, "the child's copy_dtoh ends by signal %d (%s)", WTERMSIG(status),
                strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status) >= CHILD_WRONG)
        st_fail(run, fork_rule, "the child's copy_dtoh does neither");
    st_free(run, ptr);
}

static const struct st_case cases[] = {
    { "descriptors", descriptors },       { "threads", threads },
    { "thread_signals", thread_signals }, { "thread_names", thread_names },
    { "prints_nothing", prints_nothing }, { "fork", fork_works_or_is_refused },
};

static void grid(struct st_run *run, uint32_t type)
{
    (void)type;
    for (uint64_t i = 0; i < ST_ASPECTS; i++) {
        if (!st_begin(run, "state:%s", st_aspects[i].name))
            continue;
        aspect_is_kept(run, i);
        st_end(run);
    }
    st_cases(run, "state", cases, ST_COUNT(cases));
}

const struct st_group st_state = { "state", NULL, grid, NULL, NULL };
