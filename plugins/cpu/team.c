/* SPDX-License-Identifier: Apache-2.0 */
/* One word, `gate`, says which job is on, whether it may still be joined, by how many, and how many
 * workers are in it. The caller opens the gate, works along, shuts it, and waits only for the
 * workers that came in: one that wakes late finds it shut, and a small job never waits for a
 * sleeper.
 *
 * Each thread begins with tasks of its own, the same ones in jobs of one size, so that it finds in
 * its caches what it left there, and then takes those that others have not come to. */
#include "team.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "fpenv.h"

#define JOB           (1ull << 32) /* what a new job adds */
#define OPEN          (1ull << 31)
#define THREAD        (1ull << 16) /* one of those that may join, the caller included */
#define THREADS(gate) ((gate) / THREAD % (OPEN / THREAD))
#define IN(gate)      ((gate) % THREAD)
#define SPINS         2000u /* some tens of microseconds */
#define MISSED        16u   /* brief jobs that found somebody asleep, before the next one wakes */

struct worker {
    struct cpu_team *team;
    pthread_t thread;
    unsigned number; /* from 1 on; the caller is 0 */
};

/* The tasks that a thread begins with. */
struct portion {
    _Alignas(64) atomic_uint_fast64_t next;
    uint64_t end;
};

struct cpu_team {
    unsigned size;
    pthread_mutex_t caller; /* held by the thread whose job is on */
    bool started;           /* under caller */
    unsigned n_workers;     /* that did start */
    unsigned missed;        /* brief jobs, under caller */
    struct worker *workers;

    pthread_mutex_t lock; /* for sleeping */
    pthread_cond_t wake;
    unsigned sleepers;
    bool stop;

    _Alignas(64) atomic_uint_fast64_t gate;
    _Alignas(64) cpu_task_fn run;
    void *ctx;
    unsigned n_shares;
    struct portion shares[];
};

static void pause_briefly(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void do_tasks(struct cpu_team *team, unsigned thread)
{
    const cpu_task_fn run = team->run;
    void *ctx = team->ctx;
    const unsigned n = team->n_shares;
    for (unsigned i = 0; i < n; i++) {
        struct portion *share = &team->shares[(thread + i) % n];
        for (;;) {
            const uint64_t task = atomic_fetch_add_explicit(&share->next, 1, memory_order_relaxed);
            if (task >= share->end)
                break;
            run(ctx, task, thread);
        }
    }
}

/* Comes in if the job of `seen` is still open and has room. Each worker has a number of its own, so
 * that a cap on threads is a cap on numbers; who is beyond it does not keep the others waiting. */
static bool join(struct cpu_team *team, unsigned number, uint64_t seen)
{
    uint_fast64_t gate = seen;
    if (number >= THREADS(seen))
        return false;
    while (gate & OPEN && gate / JOB == seen / JOB)
        if (atomic_compare_exchange_weak_explicit(&team->gate, &gate, gate + 1,
                                                  memory_order_acquire, memory_order_relaxed))
            return true;
    return false;
}

/* Waits until a job other than the last is on, or the end; the gate as it was then. */
static uint64_t wait_for_job(struct cpu_team *team, uint64_t last)
{
    uint64_t gate = 0;
    for (unsigned i = 0; i < SPINS; i++) {
        gate = atomic_load_explicit(&team->gate, memory_order_acquire);
        if (gate / JOB != last)
            return gate;
        pause_briefly();
    }
    pthread_mutex_lock(&team->lock);
    team->sleepers++;
    while ((gate = atomic_load_explicit(&team->gate, memory_order_acquire)) / JOB == last &&
           !team->stop)
        pthread_cond_wait(&team->wake, &team->lock);
    team->sleepers--;
    pthread_mutex_unlock(&team->lock);
    return gate;
}

static void *work(void *arg)
{
    const struct worker *worker = arg;
    struct cpu_team *team = worker->team;
    uint64_t last = 0;
#if defined(__linux__)
    pthread_setname_np(pthread_self(), "cb-cpu");
#endif
    cbc_fpenv_enter();
    for (;;) {
        const uint64_t gate = wait_for_job(team, last);
        if (gate / JOB == last)
            return NULL; /* stopped */
        last = gate / JOB;
        if (!join(team, worker->number, gate))
            continue;
        do_tasks(team, worker->number);
        atomic_fetch_sub_explicit(&team->gate, 1, memory_order_release);
    }
}

/* Signals are the host's business: a worker inherits a full mask. */
static void start_workers(struct cpu_team *team)
{
    sigset_t all, before;
    team->started = true;
    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &before))
        return;
    for (unsigned i = 0; i + 1 < team->size; i++) {
        struct worker *worker = &team->workers[team->n_workers];
        *worker = (struct worker){ .team = team, .number = team->n_workers + 1 };
        if (pthread_create(&worker->thread, NULL, work, worker))
            break;
        team->n_workers++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void prepare(struct cpu_team *team)
{
    pthread_mutex_init(&team->caller, NULL);
    pthread_mutex_init(&team->lock, NULL);
    pthread_cond_init(&team->wake, NULL);
    team->started = false;
    team->n_workers = 0;
    team->sleepers = 0;
    team->stop = false;
    team->missed = 0;
    atomic_init(&team->gate, 0);
}

struct cpu_team *cpu_team_create(unsigned threads)
{
    struct cpu_team *team =
        aligned_alloc(_Alignof(struct cpu_team), sizeof(*team) + threads * sizeof(team->shares[0]));
    struct worker *workers = calloc(threads, sizeof(*workers));
    if (!team || !workers) {
        free(team);
        free(workers);
        return NULL;
    }
    *team = (struct cpu_team){ .size = threads, .workers = workers };
    prepare(team);
    return team;
}

void cpu_team_reset_in_child(struct cpu_team *team)
{
    prepare(team);
}

void cpu_team_destroy(struct cpu_team *team)
{
    if (!team)
        return;
    pthread_mutex_lock(&team->lock);
    team->stop = true;
    pthread_cond_broadcast(&team->wake);
    pthread_mutex_unlock(&team->lock);
    for (unsigned i = 0; i < team->n_workers; i++)
        pthread_join(team->workers[i].thread, NULL);
    pthread_cond_destroy(&team->wake);
    pthread_mutex_destroy(&team->lock);
    pthread_mutex_destroy(&team->caller);
    free(team->workers);
    free(team);
}

unsigned cpu_team_size(const struct cpu_team *team)
{
    return team->size;
}

/* Tasks 0..n-1 in equal parts, one for each thread. */
static void share_out(struct cpu_team *team, unsigned most, uint64_t n)
{
    const unsigned shares = n < most ? (unsigned)n : most;
    uint64_t begin = 0;
    for (unsigned i = 0; i < shares; i++) {
        atomic_store_explicit(&team->shares[i].next, begin, memory_order_relaxed);
        begin += n / shares + (i < n % shares);
        team->shares[i].end = begin;
    }
    team->n_shares = shares;
}

/* Waking a thread takes the caller a system call, longer than a brief job. */
static bool may_wake(struct cpu_team *team, bool brief)
{
    if (brief && team->missed < MISSED) {
        team->missed++;
        return false;
    }
    team->missed = 0;
    return true;
}

static void open_gate(struct cpu_team *team, unsigned most, bool brief)
{
    const uint_fast64_t job = atomic_load_explicit(&team->gate, memory_order_relaxed) / JOB + 1;
    pthread_mutex_lock(&team->lock);
    atomic_store_explicit(&team->gate, job * JOB | OPEN | most * THREAD, memory_order_release);
    if (team->sleepers && may_wake(team, brief))
        pthread_cond_broadcast(&team->wake);
    pthread_mutex_unlock(&team->lock);
}

static void shut_gate(struct cpu_team *team)
{
    unsigned turns = 0;
    uint64_t gate =
        atomic_fetch_and_explicit(&team->gate, ~(uint_fast64_t)OPEN, memory_order_acquire);
    while (IN(gate)) {
        if (++turns < SPINS)
            pause_briefly();
        else
            sched_yield(); /* more threads than processors: let the worker have one */
        gate = atomic_load_explicit(&team->gate, memory_order_acquire);
    }
}

static void run_alone(cpu_task_fn run, void *ctx, uint64_t n)
{
    for (uint64_t task = 0; task < n; task++)
        run(ctx, task, 0);
}

static void run_job(struct cpu_team *team, unsigned most, cpu_task_fn run, void *ctx, uint64_t n,
                    bool brief)
{
    if (n <= 1 || most <= 1 || team->size <= 1 || pthread_mutex_trylock(&team->caller)) {
        run_alone(run, ctx, n);
        return;
    }
    if (!team->started && may_wake(team, brief))
        start_workers(team);
    if (most > team->size)
        most = team->size;
    if (team->n_workers) {
        team->run = run;
        team->ctx = ctx;
        share_out(team, most, n);
        open_gate(team, most, brief);
        do_tasks(team, 0);
        shut_gate(team);
    } else {
        run_alone(run, ctx, n);
    }
    pthread_mutex_unlock(&team->caller);
}

void cpu_team_run(struct cpu_team *team, unsigned most, cpu_task_fn run, void *ctx, uint64_t n)
{
    run_job(team, most, run, ctx, n, false);
}

void cpu_team_run_brief(struct cpu_team *team, unsigned most, cpu_task_fn run, void *ctx,
                        uint64_t n)
{
    run_job(team, most, run, ctx, n, true);
}
