/* SPDX-License-Identifier: Apache-2.0 */
/* Children that judge, each this command again with --in-process: started, listened to, killed when
 * a case takes too long, and followed by another behind the group in which one broke. */
#include "selftest_cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    BREAKS_MAX = 8, /* of one backend: then it is given up */
    TICK = 20       /* milliseconds between looks at the children */
};
#define RESULTS_FD 3

/* Part of the groups of one backend, judged by one child at a time. */
struct task {
    struct backend *backend;
    uint64_t shard, shards;
    struct group *after; /* nullable: where an earlier child broke */
    bool running, over;

    pid_t pid;
    int fd;
    bool opened, done;
    const char *killed; /* why it was; NULL when it was not */
    char spec[256];     /* the case that runs, "" between two */
    struct group *group;
    uint64_t heard_ms; /* when it last said something */
    unsigned char bytes[8 * WIRE_MAX];
    uint64_t n_bytes;
};

/* All of them. */
struct court {
    struct session *session;
    struct task *tasks;
    uint64_t n_tasks, shown_ms;
    char *program; /* this one */
    bool progress;
};

static uint64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* ---- Starting ---- */

#define WORDS_MAX (2 * (BACKEND_OPTIONS_MAX + OPS_MAX) + 32)

/* The command line of a child; numbers live in room. */
static void child_words(const struct court *c, const struct task *t, char room[3][32],
                        const char *words[WORDS_MAX])
{
    const struct plan *plan = c->session->plan;
    const struct arguments *a = plan->a;
    uint64_t n = 0;
    snprintf(room[0], 32, "%d", RESULTS_FD);
    snprintf(room[1], 32, "%" PRIu64, plan->seed);
    snprintf(room[2], 32, "%" PRIu64 "/%" PRIu64, t->shard + 1, t->shards);
    const struct {
        const char *option, *value;
    } all[] = {
        { "--results", room[0] },       { "--seed", room[1] },
        { "--shard", room[2] },         { "--config", a->config_file },
        { "--against", plan->against }, { "--after", t->after ? t->after->name : plan->after },
    };
    words[n++] = c->program;
    words[n++] = "selftest";
    words[n++] = "--in-process";
    words[n++] = plan->mode == CB_SELFTEST_FULL ? "--full" : "--quick";
    for (uint64_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (!all[i].value)
            continue;
        words[n++] = all[i].option;
        words[n++] = all[i].value;
    }
    for (uint32_t i = 0; i < a->n_ops; i++) {
        words[n++] = "--op";
        words[n++] = a->ops[i];
    }
    for (uint32_t i = 0; i < a->n_backend_options; i++) {
        words[n++] = "--option";
        words[n++] = a->backend_options[i];
    }
    words[n++] = "--";
    words[n++] = t->backend->id;
    words[n] = NULL;
}

/* In a process group of its own, so that what it starts can be ended with it. What it prints goes
 * to standard error: standard output is the report's. */
static int spawn(const struct court *c, struct task *t, int to)
{
    char room[3][32];
    const char *words[WORDS_MAX];
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    child_words(c, t, room, words);
    int error = posix_spawn_file_actions_init(&actions);
    if (error)
        return error;
    error = posix_spawnattr_init(&attributes);
    if (!error) {
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
        posix_spawnattr_setpgroup(&attributes, 0);
        error = posix_spawn_file_actions_adddup2(&actions, to, RESULTS_FD);
        if (!error)
            error = posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
        if (!error)
            error = posix_spawn(&t->pid, c->program, &actions, &attributes, (char *const *)words,
                                environ);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

static bool start(const struct court *c, struct task *t)
{
    int ends[2], error = 0;
    if (pipe2(ends, O_CLOEXEC)) {
        complain("no pipe to be had: %s", strerror(errno));
        return false;
    }
    t->opened = t->done = false;
    t->killed = NULL;
    t->spec[0] = '\0';
    t->n_bytes = 0;
    t->fd = ends[0];
    t->heard_ms = now_ms();
    t->backend->since_ms = t->backend->since_ms ? t->backend->since_ms : t->heard_ms;
    error = spawn(c, t, ends[1]);
    close(ends[1]);
    t->running = !error;
    if (error) {
        complain("%s cannot be started: %s", c->program, strerror(error));
        close(ends[0]);
    }
    return !error;
}

/* ---- Listening ---- */

static void kill_child(struct task *t, const char *why)
{
    if (!t->killed)
        kill(-t->pid, SIGKILL);
    t->killed = t->killed ? t->killed : why;
}

static void hear(const struct court *c, struct task *t, const struct saying *s)
{
    t->heard_ms = now_ms();
    t->opened = t->opened || s->kind == SAYS_OPENED;
    t->done = t->done || s->kind == SAYS_DONE;
    if (s->kind == SAYS_BEGIN) {
        snprintf(t->spec, sizeof(t->spec), "%s", s->text);
        t->group = group_of_spec(t->backend, t->spec);
    } else if (s->kind == SAYS_RESULT) {
        t->spec[0] = '\0';
    }
    tally_hear(c->session, t->backend, s);
}

/* What has come so far. False: there will be no more. */
static bool listen_to(const struct court *c, struct task *t)
{
    uint64_t at = 0;
    const ssize_t n = read(t->fd, t->bytes + t->n_bytes, sizeof(t->bytes) - t->n_bytes);
    if (n <= 0)
        return n < 0 && errno == EINTR;
    t->n_bytes += (uint64_t)n;
    for (uint64_t size = 1; size && !t->killed; at += size) {
        struct saying s;
        size = wire_read(t->bytes + at, t->n_bytes - at, &s);
        if (size == WIRE_NONSENSE) {
            kill_child(t, "its process reported nonsense: something overwrote its memory");
            size = 0;
        } else if (size) {
            hear(c, t, &s);
        }
    }
    t->n_bytes -= at;
    memmove(t->bytes, t->bytes + at, t->n_bytes);
    return true;
}

/* ---- The end of a child ---- */

static void describe_end(const struct task *t, int status, char how[256])
{
    if (t->killed)
        snprintf(how, 256, "%s", t->killed);
    else if (WIFSIGNALED(status))
        snprintf(how, 256, "crashed: signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(how, 256, "ended its process: exit code %d", WEXITSTATUS(status));
}

static void end(const struct court *c, struct task *t, int status)
{
    char how[256];
    if (t->fd >= 0)
        close(t->fd);
    t->fd = -1;
    t->running = false;
    t->over = true;
    t->backend->seconds = (double)(now_ms() - t->backend->since_ms) * 1e-3;
    if (t->done && !t->killed && WIFEXITED(status) && !WEXITSTATUS(status))
        return;
    describe_end(t, status, how);
    if (!t->spec[0]) {
        char text[400];
        snprintf(text, sizeof(text), "%s %s", how,
                 !t->opened ? "when it was opened"
                 : t->done  ? "at its end"
                            : "between two cases");
        tally_broken(c->session, t->backend, NULL, text);
        return;
    }
    tally_broken(c->session, t->backend, t->spec, how);
    /* The rest of the group is likely to end like this case. */
    t->after = t->group;
    t->over = !t->group || t->backend->broken >= BREAKS_MAX;
}

/* Ends the task when its process has ended, and the process when it is late. */
static void watch(const struct court *c, struct task *t)
{
    int status = 0;
    const pid_t got = waitpid(t->pid, &status, WNOHANG);
    if (got == t->pid || (got < 0 && errno != EINTR)) {
        /* What it said at last is still in the pipe, which a process of its may hold open. */
        if (t->fd >= 0 && !fcntl(t->fd, F_SETFL, O_NONBLOCK))
            while (listen_to(c, t))
                ;
        kill(-t->pid, SIGKILL);
        end(c, t, got == t->pid ? status : 0);
    } else if (now_ms() - t->heard_ms > c->session->plan->timeout_ms) {
        kill_child(t, "hung: it gave no answer in time");
    }
}

/* ---- All together ---- */

/* One line on a terminal, which the next one overwrites. */
static void show_progress(struct court *c)
{
    const uint64_t now = now_ms();
    if (!c->progress || now - c->shown_ms < 100)
        return;
    c->shown_ms = now;
    fputs("\r\033[K", stderr);
    for (uint64_t i = 0; i < c->n_tasks; i++) {
        const struct task *t = &c->tasks[i];
        if (t->running && t->group)
            fprintf(stderr, "%s %s  ", t->backend->id, t->group->name);
    }
}

/* Waits a moment, hears who speaks, and looks after all who run: how many. */
static uint64_t attend(struct court *c)
{
    struct pollfd fds[JOBS_MAX];
    struct task *who[JOBS_MAX];
    uint64_t n = 0;
    for (uint64_t i = 0; i < c->n_tasks; i++) {
        if (!c->tasks[i].running)
            continue;
        who[n] = &c->tasks[i];
        fds[n++] = (struct pollfd){ .fd = c->tasks[i].fd, .events = POLLIN };
    }
    const int ready = poll(fds, n, TICK);
    for (uint64_t i = 0; i < n; i++) {
        if (ready > 0 && fds[i].revents && !listen_to(c, who[i])) {
            close(who[i]->fd);
            who[i]->fd = -1;
        }
        watch(c, who[i]);
    }
    show_progress(c);
    return n;
}

static bool start_some(struct court *c)
{
    uint64_t running = 0;
    for (uint64_t i = 0; i < c->n_tasks; i++)
        running += c->tasks[i].running;
    for (uint64_t i = 0; i < c->n_tasks && running < c->session->plan->jobs; i++) {
        struct task *t = &c->tasks[i];
        if (t->running || t->over)
            continue;
        if (!start(c, t))
            return false;
        running++;
    }
    return true;
}

static void end_all(struct court *c)
{
    for (uint64_t i = 0; i < c->n_tasks; i++) {
        if (!c->tasks[i].running)
            continue;
        kill(-c->tasks[i].pid, SIGKILL);
        waitpid(c->tasks[i].pid, NULL, 0);
    }
}

/* The groups of each backend are dealt out to as many children as may run at once. */
static void deal_out(struct court *c)
{
    const struct plan *plan = c->session->plan;
    const uint64_t whole = plan->shards ? plan->shards : 1;
    for (uint64_t i = 0; i < c->n_tasks; i++)
        c->tasks[i] = (struct task){ .backend = &c->session->backends[i / plan->jobs],
                                     .shard = plan->shard + whole * (i % plan->jobs),
                                     .shards = whole * plan->jobs,
                                     .fd = -1 };
}

bool run_children(struct session *s)
{
    struct court c = { .session = s, .n_tasks = s->n_backends * s->plan->jobs };
    bool good = false;
    signal(SIGCHLD,
           SIG_DFL); /* ignored, as some parents leave it, children could not be waited for */
    c.progress = isatty(STDERR_FILENO);
    c.program = realpath("/proc/self/exe", NULL);
    c.tasks = calloc(c.n_tasks, sizeof(*c.tasks));
    if (!c.program || !c.tasks) {
        complain("cannot start children: %s", strerror(errno));
        goto out;
    }
    deal_out(&c);
    do
        good = start_some(&c);
    while (good && attend(&c));
    end_all(&c);
    if (c.progress)
        fputs("\r\033[K", stderr);
out:
    free(c.tasks);
    free(c.program);
    return good;
}
