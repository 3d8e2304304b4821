/* SPDX-License-Identifier: Apache-2.0 */
/* The part of a probe that runs a plugin's code, in a process that may end in any way. */
#include "probe.h"

#include "internal.h"
#include "probe_message.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* A crash is an answer here, and no news for a crash reporter. A limit of 0 would not do: the
 * kernel ignores it when cores go to a program, and 1 means none at all. */
static void leave_no_core(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_CORE, &limit))
        return;
    limit.rlim_cur = limit.rlim_max = limit.rlim_max < 1 ? limit.rlim_max : 1;
    setrlimit(RLIMIT_CORE, &limit);
}

/* Whatever the loader was built with may have handlers of its own. */
static void die_of_signals(void)
{
    sigset_t none;
    for (int i = 1; i < NSIG; i++)
        signal(i, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void be_silent(void)
{
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0)
        _exit(1);
    if (null > 2)
        close(null);
}

static void add_options(struct cb_loader *l, const char *id, char *const *options)
{
    struct slice key, value;
    for (; *options; options++)
        if (cbl_cut(cbl_slice(*options), '=', &key, &value))
            cbl_set_backend_key(l, cbl_slice(id), key, value, "the configuration");
}

/* The file was judged by who started this. */
static bool open_plugin(const char *path, char *const *options, struct verdict *v)
{
    cb_request any;
    cb_request_init(&any);
    const struct demand demand = { .request = &any, .named = true, .probe = true };
    struct candidate c = { .id = "", .path = path, .origin = "the command line" };
    struct cb_loader *l = cbl_loader_new();
    if (!l)
        return cbl_no_memory(v);
    l->settings.trust_off = true;
    if (!cbl_scan_file(l, &c, v))
        return false;
    add_options(l, c.id, options);
    struct instance *in = cbl_instance_open(l, &c, &demand, v);
    if (!in)
        return false;
    cbl_instance_stop(in);
    return true;
}

_Noreturn void try_plugin(const char *path, char *const *options, int to)
{
    struct verdict v = { 0 };
    struct text message = { 0 };
    leave_no_core();
    die_of_signals();
    be_silent();
    if (open_plugin(path, options, &v))
        cbl_blame(&v, CB_STATE_FOUND, "a probe went well; no selection has looked at it yet");
    cbl_probe_message_write(&message, v.state, cbl_text(&v.reason));
    const char *at = cbl_text(&message);
    for (uint64_t left = message.size; left;) {
        const ssize_t n = write(to, at, left);
        if (n < 0 && errno != EINTR)
            _exit(1);
        at += n < 0 ? 0 : n;
        left -= n < 0 ? 0 : (uint64_t)n;
    }
    /* Without exit handlers: a plugin's were not asked for. */
    _exit(0);
}
