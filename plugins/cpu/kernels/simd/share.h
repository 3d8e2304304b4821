/* SPDX-License-Identifier: Apache-2.0 */
/* How work that moves much memory is cut into the tasks of a team. Where the cuts fall depends on
 * the number of threads, so what a task computes must not depend on the cuts. */
#ifndef CPU_SHARE_H
#define CPU_SHARE_H

#include <stdbool.h>

#include "../../dispatch/kernels.h"

#define SHARE_BYTES    (256u << 10) /* moved in a few microseconds: worth waking a thread */
#define BRIEF_BYTES    (64u << 10)  /* worth the while of a thread that is awake */
#define TASKS_A_THREAD 4u           /* so that one which was held up does not hold up the rest */
#define STREAM_BYTES   (4u << 20)   /* more would push everything else out of the caches */
#define PREFETCH_BYTES 4096u        /* how far ahead of its use memory is asked for */

/* Whether an output of so many bytes is written past the caches. What is also read is in them. */
static inline bool share_streams(uint64_t bytes, const void *input, const void *output)
{
    return bytes > STREAM_BYTES && input != output;
}

/* n units in tasks of `step` units. */
struct share {
    uint64_t n, step, tasks;
    unsigned threads;
    bool brief;
};

/* bytes: moved for all n; step will be a multiple of grain. */
static inline struct share share_make(const struct cpu_work *work, uint64_t n, uint64_t bytes,
                                      uint64_t grain)
{
    struct share s = { n, n, n ? 1 : 0, cpu_team_size(work->team), bytes < 2 * SHARE_BYTES };
    const uint64_t worth = bytes / (s.brief ? BRIEF_BYTES : SHARE_BYTES);
    if (worth < s.threads)
        s.threads = (unsigned)worth;
    if (s.threads > 1) {
        const uint64_t step = n / (s.threads * TASKS_A_THREAD) + 1;
        s.step = (step + grain - 1) / grain * grain;
        s.tasks = (n + s.step - 1) / s.step;
    }
    return s;
}

static inline void share_run(const struct share *s, struct cpu_team *team, cpu_task_fn run,
                             void *ctx)
{
    (s->brief ? cpu_team_run_brief : cpu_team_run)(team, s->threads, run, ctx, s->tasks);
}

static inline uint64_t share_begin(const struct share *s, uint64_t task)
{
    return task * s->step;
}

static inline uint64_t share_end(const struct share *s, uint64_t task)
{
    return s->n - task * s->step < s->step ? s->n : (task + 1) * s->step;
}

#endif
