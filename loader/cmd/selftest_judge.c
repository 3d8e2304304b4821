/* SPDX-License-Identifier: Apache-2.0 */
#include "selftest_cmd.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define OPTIONS_MAX (BACKEND_OPTIONS_MAX + 8)

/* What the callbacks of the suite work with. */
struct court {
    const struct plan *plan;
    const char *id;
    cb_loader *loader;
    hear_fn hear;
    void *ctx;
    struct timespec since; /* the case began */
};

static void say(const struct court *c, uint32_t kind, const char *text, const char *text2)
{
    const struct saying s = { .kind = kind, .text = text, .text2 = text2 };
    c->hear(c->ctx, &s);
}

static void on_begin(void *ctx, const char *spec)
{
    struct court *c = ctx;
    say(c, SAYS_BEGIN, spec, "");
    clock_gettime(CLOCK_MONOTONIC, &c->since);
}

static void on_report(void *ctx, const cb_selftest_result *result)
{
    const struct court *c = ctx;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const struct saying s = { .kind = SAYS_RESULT,
                              .text = "",
                              .text2 = "",
                              .result = *result,
                              .seconds = (double)(now.tv_sec - c->since.tv_sec) +
                                         (double)(now.tv_nsec - c->since.tv_nsec) * 1e-9 };
    c->hear(c->ctx, &s);
}

/* As the command line says, and with more options. */
static cb_status on_open(void *ctx, const char *const *more, uint64_t n_more, cb_backend *out,
                         cb_error *err)
{
    const struct court *c = ctx;
    const struct arguments *a = c->plan->a;
    const char *options[OPTIONS_MAX];
    cb_request request;
    cb_request_init(&request);
    request.id = c->id;
    request.options = options;
    for (uint32_t i = 0; i < a->n_backend_options; i++)
        options[request.n_options++] = a->backend_options[i];
    for (uint64_t i = 0; i < n_more && request.n_options < OPTIONS_MAX; i++)
        options[request.n_options++] = more[i];
    return cb_loader_select(c->loader, &request, out, err);
}

static void on_close(void *ctx, cb_backend be)
{
    const struct court *c = ctx;
    cb_loader_release(c->loader, be, NULL);
}

static bool open_other(const struct court *c, const char *id, cb_backend *out, cb_error *err)
{
    cb_request request;
    cb_request_init(&request);
    request.id = id;
    return !id || cb_loader_select(c->loader, &request, out, err) == CB_OK;
}

static void introduce(const struct court *c, cb_backend be)
{
    cb_device_info d;
    cb_device_info_init(&d);
    const bool known = be.api->device_info(be.self, 0, &d, NULL) == CB_OK;
    say(c, SAYS_OPENED, be.api->version, known ? d.name : "");
}

static void run(struct court *c, cb_backend be, cb_backend other)
{
    cb_error err;
    cb_selftest_options options;
    cb_selftest_summary summary;
    const struct plan *plan = c->plan;
    cb_error_init(&err);
    cb_selftest_options_init(&options);
    cb_selftest_summary_init(&summary);
    options.seed = plan->seed;
    options.mode = plan->mode;
    options.filter = *plan->ops ? plan->ops : NULL;
    options.after = plan->after;
    options.shard = plan->shard;
    options.shards = plan->shards;
    options.against = other;
    options.create_options = plan->a->backend_options;
    options.n_create_options = plan->a->n_backend_options;
    options.begin = on_begin;
    options.report = on_report;
    options.open = on_open;
    options.close = on_close;
    options.ctx = c;
    if (cb_selftest_run(be, &options, &summary, &err) != CB_OK)
        say(c, SAYS_REFUSED, err.msg, "");
}

void judge(const struct plan *plan, const char *id, hear_fn hear, void *ctx)
{
    cb_error err;
    cb_backend be, other = { NULL, NULL };
    struct court c = { .plan = plan, .id = id, .hear = hear, .ctx = ctx };
    cb_error_init(&err);
    c.loader = open_loader(plan->a);
    if (!c.loader) {
        say(&c, SAYS_REFUSED, "the loader cannot be opened", "");
    } else if (on_open(&c, NULL, 0, &be, &err) != CB_OK) {
        say(&c, SAYS_REFUSED, err.msg, "");
    } else {
        introduce(&c, be);
        /* What the loader had to say of the backend it has said; cases open many more. */
        if (!getenv("CB_LOG"))
            cb_loader_set_log(c.loader, 0, NULL, NULL);
        if (open_other(&c, plan->against, &other, &err))
            run(&c, be, other);
        else
            say(&c, SAYS_REFUSED, err.msg, "");
        if (other.api)
            on_close(&c, other);
        on_close(&c, be);
    }
    cb_loader_close(c.loader, NULL);
    say(&c, SAYS_DONE, "", "");
}

/* Each case is known to the parent before it begins: it may be the last. */
static void write_to_parent(void *ctx, const struct saying *s)
{
    FILE *to = ctx;
    if (!wire_write(to, s) || (s->kind != SAYS_RESULT && fflush(to)))
        _exit(EXIT_TROUBLE);
}

int judge_for_parent(const struct plan *plan, const char *id, int fd)
{
    const struct rlimit none = { 0, 0 };
    FILE *to = fdopen(fd, "w");
    if (!to || fcntl(fd, F_SETFD, FD_CLOEXEC)) {
        complain("--results %d: no descriptor to write to", fd);
        return EXIT_USAGE;
    }
    /* A crash is expected, so it leaves no core; and without its parent it has nothing to do. */
    setrlimit(RLIMIT_CORE, &none);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    judge(plan, id, write_to_parent, to);
    return fclose(to) ? EXIT_TROUBLE : EXIT_OK;
}
