/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void *shared_alloc(uint64_t size)
{
    void *memory =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void shared_free(void *memory, uint64_t size)
{
    if (memory)
        munmap(memory, size);
}

static uint64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* In the child. A crash is an answer here: it leaves no core, and no handler that this command was
 * built with makes it something else. A limit of 0 would not do where cores go to a program; 1
 * means none at all. What a plugin prints is no part of the page. */
static void become_alone(void)
{
    struct rlimit core;
    const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int i = 1; i < NSIG; i++)
        signal(i, SIG_DFL);
    if (!getrlimit(RLIMIT_CORE, &core)) {
        core.rlim_cur = core.rlim_max = core.rlim_max < 1 ? core.rlim_max : 1;
        setrlimit(RLIMIT_CORE, &core);
    }
    if (null >= 0)
        dup2(null, STDOUT_FILENO);
}

static void describe_end(struct child *c, int status)
{
    if (WIFSIGNALED(status))
        snprintf(c->end, sizeof(c->end), "crashed: signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(c->end, sizeof(c->end), "ended its process: exit code %d", WEXITSTATUS(status));
}

/* Waits for the end of the child. A short sleep costs nothing here, and needs no signal handler. */
static void watch(struct child *c, pid_t pid, uint64_t timeout_ms)
{
    const struct timespec nap = { 0, 2000000 };
    const uint64_t start = now_ms();
    uint64_t seen = 0, since = start;
    int status = 0;
    pid_t got;
    while ((got = waitpid(pid, &status, WNOHANG)) == 0 || (got < 0 && errno == EINTR)) {
        const uint64_t progress = atomic_load(&c->progress), now = now_ms();
        if (progress != seen) {
            seen = progress;
            since = now;
        }
        if (now - since > timeout_ms) {
            kill(-pid, SIGKILL);
            waitpid(pid, &status, 0);
            snprintf(c->end, sizeof(c->end), "hung: no progress for %llu ms",
                     (unsigned long long)timeout_ms);
            break;
        }
        nanosleep(&nap, NULL);
    }
    c->milliseconds = now_ms() - start;
    if (got < 0)
        snprintf(c->end, sizeof(c->end), "cannot be waited for: %s", strerror(errno));
    else if (got == pid && !c->done)
        describe_end(c, status);
}

void child_run(struct child *c, uint64_t timeout_ms, void (*work)(struct child *c, void *ctx),
               void *ctx)
{
    fflush(NULL);
    const pid_t pid = fork();
    if (pid < 0) {
        snprintf(c->end, sizeof(c->end), "cannot be started: %s", strerror(errno));
        return;
    }
    if (!pid) {
        become_alone();
        work(c, ctx);
        c->done = true;
        _exit(0);
    }
    setpgid(pid, pid);
    watch(c, pid, timeout_ms);
}
