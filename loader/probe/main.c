/* SPDX-License-Identifier: Apache-2.0 */
/* cb-probe - tries one plugin in a child, and says on standard output how that went, in the words
 * of probe_message.h. The loader starts it; it can be started by hand as well. */
#include "probe.h"

#include "internal.h"
#include "probe_message.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct child {
    pid_t pid;
    int pipe; /* -1: it has closed its end */
    bool in_time;
    siginfo_t end;
    uint64_t size;
    char bytes[CBL_PROBE_MESSAGE_MAX + 1];
};

static void interrupt(int signal)
{
    (void)signal;
}

/* Whatever the host did with it, SIGCHLD is heard; and only while poll waits, so that none is
 * missed. */
static bool prepare_signals(void)
{
    struct sigaction action = { .sa_handler = interrupt };
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGCHLD);
    return !sigaction(SIGCHLD, &action, NULL) && !sigprocmask(SIG_BLOCK, &blocked, NULL);
}

/* What a host left open is none of a plugin's business. */
static void close_inherited(void)
{
#ifdef SYS_close_range
    if (syscall(SYS_close_range, 3u, ~0u, 0u) == 0)
        return;
#endif
    const long most = sysconf(_SC_OPEN_MAX);
    for (int i = 3; i < most; i++)
        close(i);
}

static bool begin(struct child *c, const char *path, char *const *options)
{
    const pid_t parent = getpid();
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        return false;
    c->pid = fork();
    if (c->pid == 0) {
        /* Nothing outlives the helper, and the helper reaches all that the plugin starts. */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent || setpgid(0, 0))
            _exit(1);
        try_plugin(path, options, ends[1]);
    }
    close(ends[1]);
    if (c->pid < 0)
        close(ends[0]);
    else
        setpgid(c->pid, c->pid);
    c->pipe = ends[0];
    return c->pid > 0;
}

static void hear(struct child *c)
{
    const uint64_t room = sizeof(c->bytes) - c->size;
    const ssize_t n = room ? read(c->pipe, c->bytes + c->size, room) : 0;
    if (n > 0)
        c->size += (uint64_t)n;
    else if (n == 0 || (errno != EINTR && errno != EAGAIN))
        c->pipe = -1;
}

static bool has_ended(struct child *c)
{
    c->end.si_pid = 0;
    return waitid(P_PID, (id_t)c->pid, &c->end, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           c->end.si_pid == c->pid;
}

/* Listens to the child until it has ended or time is up; then ends it, and all that it started. */
static void attend(struct child *c, uint64_t deadline)
{
    sigset_t none;
    sigemptyset(&none);
    for (;;) {
        const uint64_t now = cbl_now();
        c->in_time = has_ended(c);
        if (c->in_time || now >= deadline)
            break;
        const uint64_t left = deadline - now;
        const struct timespec wait = { (time_t)(left / 1000000000), (long)(left % 1000000000) };
        struct pollfd fd = { .fd = c->pipe, .events = POLLIN };
        if (ppoll(&fd, 1, &wait, &none) > 0)
            hear(c);
    }
    kill(-c->pid, SIGKILL);
    kill(c->pid, SIGKILL);
    while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    struct pollfd rest = { .fd = c->pipe, .events = POLLIN };
    while (rest.fd >= 0 && poll(&rest, 1, 0) > 0) {
        hear(c);
        rest.fd = c->pipe;
    }
}

static void judge(const struct child *c, uint64_t milliseconds, struct verdict *v)
{
    uint32_t state;
    struct slice reason;
    if (!c->in_time)
        cbl_blame(v, CB_STATE_PROBED_BAD, "it hung in a probe: killed after %llu.%03llu s",
                  (unsigned long long)(milliseconds / 1000),
                  (unsigned long long)(milliseconds % 1000));
    else if (c->end.si_code != CLD_EXITED)
        cbl_blame(v, CB_STATE_PROBED_BAD, "it crashed in a probe: signal %d (%s)", c->end.si_status,
                  strsignal(c->end.si_status));
    else if (c->end.si_status || !c->size)
        cbl_blame(v, CB_STATE_PROBED_BAD, "it exited in a probe, with code %d", c->end.si_status);
    else if (!cbl_probe_message_read((struct slice){ c->bytes, c->size }, &state, &reason))
        cbl_blame(v, CB_STATE_PROBED_BAD, "it wrote garbage where a probe's answer goes");
    else
        cbl_blame(v, state, "%.*s", SLICE_ARGS(reason));
}

int main(int argc, char **argv)
{
    static struct child child;
    struct verdict v = { 0 };
    struct text message = { 0 };
    uint64_t milliseconds;
    if (argc < 3 || !cbl_number(cbl_slice(argv[1]), 3600 * 1000, &milliseconds)) {
        fputs("Usage: cb-probe MILLISECONDS PLUGIN [KEY=VALUE...]\n", stderr);
        return 2;
    }
    close_inherited();
    const uint64_t deadline = cbl_now() + milliseconds * 1000000;
    if (prepare_signals() && begin(&child, argv[2], argv + 3)) {
        attend(&child, deadline);
        judge(&child, milliseconds, &v);
    } else {
        cbl_blame(&v, CB_STATE_FAILED, "the probe cannot be started: %s", strerror(errno));
    }
    cbl_probe_message_write(&message, v.state, cbl_text(&v.reason));
    const bool good = fputs(cbl_text(&message), stdout) >= 0 && fflush(stdout) == 0;
    cbl_text_free(&message);
    cbl_text_free(&v.reason);
    return good ? 0 : 1;
}
