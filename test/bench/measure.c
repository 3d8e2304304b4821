/* SPDX-License-Identifier: Apache-2.0 */
/* Times of one case. Repetitions are interleaved peer by peer. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define LONG_CALL_MS 300.0 /* from here on LONG_REPS do, and no call to warm up */
#define LONG_REPS    3
#define SPIN_US      40000 /* for which the workers of a library spin after a call */
#define TRIES        3     /* of a repetition that another program disturbed */

/* One peer on the case in hand. */
struct runner {
    const pb_peer *peer;
    void *context; /* NULL: it does not take part */
    int calls, reps, done;
    double times[REPS_MAX];
};

/* One thread: the CPU time of the caller, which leaves out preemption. More: wall clock. */
static double now_ms(void)
{
    struct timespec t;
    clock_gettime(g_threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static long preempted(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return u.ru_nivcsw;
}

static double timed(const struct runner *r, int calls)
{
    const double start = now_ms();
    for (int i = 0; i < calls; i++)
        r->peer->run(r->context);
    return (now_ms() - start) / calls;
}

static bool is_wanted(const struct plan *plan, const pb_peer *peer)
{
    char name[64], list[256];
    if (!plan->only)
        return true;
    snprintf(name, sizeof(name), "%s%s", peer->name, plan->tag);
    snprintf(list, sizeof(list), "%s", plan->only);
    for (char *save, *t = strtok_r(list, ",", &save); t; t = strtok_r(NULL, ",", &save))
        if (strstr(name, t))
            return true;
    return false;
}

/* Prepares the peer, has its result checked, and plans its repetitions. */
static void begin(const struct plan *plan, pb_case *c, struct runner *r, struct figures *out)
{
    r->context = is_wanted(plan, r->peer) ? r->peer->prep(c, g_threads) : NULL;
    if (!r->context)
        return;
    memset(c->out, 0, c->out_n * out_size(c->dt));
    r->peer->run(r->context);
    if (r->peer->sync)
        r->peer->sync(r->context);
    out->error = r->peer->name[0] == '~' ? 0 : check(c);
    double t = timed(r, 1);
    r->reps = t > LONG_CALL_MS && plan->reps > LONG_REPS ? LONG_REPS : plan->reps;
    if (t < plan->min_ms / 20)
        t = timed(r, 10);
    r->calls = t >= plan->min_ms ? 1 : (int)(plan->min_ms / (t > 1e-6 ? t : 1e-6)) + 1;
}

static void repeat(struct runner *r)
{
    double best = 0;
    if (g_threads > 1)
        usleep(SPIN_US);
    for (int i = 0; i < TRIES; i++) {
        if (r->reps > LONG_REPS)
            r->peer->run(r->context);
        const long before = preempted();
        const double t = timed(r, r->calls);
        best = i == 0 || t < best ? t : best;
        if (preempted() - before <= 1)
            break;
    }
    r->times[r->done++] = best;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void end(struct runner *r, struct figures *out)
{
    qsort(r->times, (size_t)r->done, sizeof(*r->times), compare);
    out->measured = true;
    out->median = (r->times[(r->done - 1) / 2] + r->times[r->done / 2]) / 2;
    out->quartile = r->times[(r->done - 1) / 4];
    out->best = r->times[0];
    r->peer->done(r->context);
}

void measure(const struct plan *plan, pb_case *c, struct figures *out)
{
    static struct runner runners[PEERS_MAX];
    for (int p = 0; p < plan->n_peers; p++) {
        runners[p] = (struct runner){ .peer = plan->peers[p] };
        out[p] = (struct figures){ 0 };
        begin(plan, c, &runners[p], &out[p]);
    }
    for (int rep = 0; rep < plan->reps; rep++)
        for (int p = 0; p < plan->n_peers; p++)
            if (runners[p].context && rep < runners[p].reps)
                repeat(&runners[p]);
    for (int p = 0; p < plan->n_peers; p++)
        if (runners[p].context)
            end(&runners[p], &out[p]);
}
