/* SPDX-License-Identifier: Apache-2.0 */
/* Trying plugins in processes of their own, before any of their code runs in this one. The helper
 * cb-probe does it: it forks the try itself, holds it to the deadline and says in a message how it
 * ended, so that nothing here hangs on who reaps this process's children. */
#include "internal.h"
#include "probe_message.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define AT_ONCE 16 /* as cb_loader.h says */

/* What a helper that keeps the deadline needs beyond it to say so. */
#define GRACE UINT64_C(2000000000) /* nanoseconds */

struct probe {
    struct candidate *candidate; /* NULL: free */
    pid_t helper;
    int pipe;
    uint64_t start;
    uint64_t size;
    char bytes[CBL_PROBE_MESSAGE_MAX + 1];
};

static const char *helper_path(const struct cb_loader *l)
{
    return l->settings.probe_helper ? l->settings.probe_helper : cbl_installed_probe();
}

/* The words of the helper's command line: the plugin, and its options. */
static const char **make_words(const struct cb_loader *l, const struct candidate *c,
                               char timeout[24], struct text *options)
{
    const struct settings *s = &l->settings;
    const char **words = calloc(s->count + 4, sizeof(*words));
    uint64_t n = 0, at = 0;
    if (!words)
        return NULL;
    snprintf(timeout, 24, "%llu", (unsigned long long)(s->probe_timeout / 1000000));
    words[n++] = helper_path(l);
    words[n++] = timeout;
    words[n++] = c->path;
    for (uint64_t i = 0; i < s->count; i++)
        if (!strcmp(s->items[i].id, c->id) && !cbl_is_own_key(s->items[i].key))
            cbl_add(options, "%s=%s%c", s->items[i].key, s->items[i].value, 0);
    while (!options->failed && at < options->size) {
        words[n++] = options->at + at;
        at += strlen(options->at + at) + 1;
    }
    return words;
}

/* Starts a program in a group of its own, with standard output on the pipe. */
static int spawn(pid_t *child, const char *const words[], int out)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    int why = posix_spawn_file_actions_init(&files);
    if (why)
        return why;
    why = posix_spawnattr_init(&attributes);
    if (why)
        goto out;
    if (!(why = posix_spawn_file_actions_adddup2(&files, out, 1)) &&
        !(why = posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0)) &&
        !(why = posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0)) &&
        !(why = posix_spawnattr_setpgroup(&attributes, 0)) &&
        !(why = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP)))
        why = posix_spawn(child, words[0], &files, &attributes, (char *const *)words, environ);
    posix_spawnattr_destroy(&attributes);
out:
    posix_spawn_file_actions_destroy(&files);
    return why;
}

/* Returns 0 or an errno. */
static int start(struct cb_loader *l, struct probe *p, struct candidate *c)
{
    struct text options = { 0 };
    char timeout[24];
    int ends[2] = { -1, -1 }, why = ENOMEM;
    const char **words = make_words(l, c, timeout, &options);
    if (!words || options.failed)
        goto out;
    if (pipe2(ends, O_CLOEXEC)) {
        why = errno;
        goto out;
    }
    p->start = cbl_now();
    p->size = 0;
    p->pipe = ends[0];
    why = spawn(&p->helper, words, ends[1]);
    close(ends[1]);
    if (why)
        close(ends[0]);
    else
        p->candidate = c;
out:
    free(words);
    cbl_text_free(&options);
    return why;
}

/* The helper's word, or what is known without it. */
static void judge(struct probe *p, bool in_time, struct verdict *v)
{
    struct slice reason;
    uint32_t state;
    if (!in_time)
        cbl_blame(v, CB_STATE_PROBED_BAD, "the probe hung, and so did the helper that watched it");
    else if (!p->size)
        cbl_blame(v, CB_STATE_PROBED_BAD, "the probe's helper ended in silence");
    else if (!cbl_probe_message_read((struct slice){ p->bytes, p->size }, &state, &reason))
        cbl_blame(v, CB_STATE_PROBED_BAD, "the probe's helper talks nonsense: %llu bytes",
                  (unsigned long long)p->size);
    else
        cbl_blame(v, state, "%.*s", SLICE_ARGS(reason));
}

static void settle(struct cb_loader *l, struct candidate *c, uint64_t since,
                   const struct verdict *v)
{
    c->nanoseconds += cbl_now() - since;
    c->usable = v->state != CB_STATE_PROBED_BAD;
    l->strings.failed |= v->no_memory || v->reason.failed;
    /* One that is hidden goes on to be, unless it can never be taken. */
    if (c->state != CB_STATE_HIDDEN || !c->usable)
        cbl_settle(l, c, v);
}

static void finish(struct cb_loader *l, struct probe *p, bool in_time)
{
    struct verdict v = { 0 };
    /* Whoever holds the pipe is the helper, so it lives: the number is still its own. */
    if (!in_time)
        kill(-p->helper, SIGKILL);
    close(p->pipe);
    /* A host that reaps all children may be first; then there is nothing to wait for. */
    while (waitpid(p->helper, NULL, 0) < 0 && errno == EINTR)
        ;
    judge(p, in_time, &v);
    settle(l, p->candidate, p->start, &v);
    cbl_text_free(&v.reason);
    p->candidate = NULL;
}

/* Reads what is there. false: the helper has nothing more to say. */
static bool hear(struct probe *p)
{
    const uint64_t room = sizeof(p->bytes) - p->size;
    const ssize_t n = room ? read(p->pipe, p->bytes + p->size, room) : 0;
    if (n < 0)
        return errno == EINTR || errno == EAGAIN;
    p->size += (uint64_t)n;
    return n > 0;
}

/* Waits until a helper has something to say, or is out of time. */
static void attend(struct cb_loader *l, struct probe *probes)
{
    const uint64_t most = l->settings.probe_timeout + GRACE;
    struct pollfd fds[AT_ONCE];
    uint64_t now = cbl_now(), left = most;
    for (uint64_t i = 0; i < AT_ONCE; i++) {
        fds[i] =
            (struct pollfd){ .fd = probes[i].candidate ? probes[i].pipe : -1, .events = POLLIN };
        if (!probes[i].candidate)
            continue;
        const uint64_t spent = now - probes[i].start;
        left = spent >= most ? 0 : most - spent < left ? most - spent : left;
    }
    if (poll(fds, AT_ONCE, (int)(left / 1000000 + 1)) < 0)
        return;
    now = cbl_now();
    for (uint64_t i = 0; i < AT_ONCE; i++) {
        struct probe *p = &probes[i];
        if (!p->candidate)
            continue;
        if (fds[i].revents && !hear(p))
            finish(l, p, true);
        else if (now - p->start >= most)
            finish(l, p, false);
    }
}

/* Without a helper a plugin is not the worse for it, but it is not tried either. */
static void say_unavailable(struct cb_loader *l, struct candidate *c, int why)
{
    struct verdict v = { 0 };
    cbl_problem(l, "probe unavailable: %s: %s", helper_path(l), strerror(why));
    cbl_blame(&v, CB_STATE_FOUND, "probe unavailable: %s: %s; no selection has looked at it yet",
              helper_path(l), strerror(why));
    settle(l, c, cbl_now(), &v);
    cbl_text_free(&v.reason);
}

/* Whether there is a candidate to try; the file is looked at once more before it is run. */
static bool is_wanted(struct cb_loader *l, struct candidate *c)
{
    struct verdict v = { 0 };
    if (!c->usable || c->entry)
        return false;
    const bool good = cbl_scan_again(l, c, &v);
    if (!good) {
        c->usable = false;
        cbl_settle(l, c, &v);
    }
    l->strings.failed |= v.no_memory;
    cbl_text_free(&v.reason);
    return good;
}

static struct probe *find_free(struct probe *probes)
{
    for (uint64_t i = 0; i < AT_ONCE; i++)
        if (!probes[i].candidate)
            return &probes[i];
    return NULL;
}

static bool is_busy(const struct probe *probes)
{
    for (uint64_t i = 0; i < AT_ONCE; i++)
        if (probes[i].candidate)
            return true;
    return false;
}

void cbl_probe_all(struct cb_loader *l)
{
    struct probe *probes = calloc(AT_ONCE, sizeof(*probes));
    if (!probes) {
        l->strings.failed = true;
        return;
    }
    for (uint64_t i = 0; i < l->n_candidates; i++) {
        struct candidate *c = &l->candidates[i];
        if (!is_wanted(l, c))
            continue;
        struct probe *p;
        while (!(p = find_free(probes)))
            attend(l, probes);
        const int why = start(l, p, c);
        l->strings.failed |= why == ENOMEM;
        if (why)
            say_unavailable(l, c, why);
    }
    while (is_busy(probes))
        attend(l, probes);
    free(probes);
}
