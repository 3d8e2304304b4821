/* SPDX-License-Identifier: Apache-2.0 */
/* The worker threads of an instance. They start when the first job wants them, spin for a moment
 * after each job and then sleep; with one thread, or while another caller's job runs, a job runs in
 * the caller alone. What a job computes must not depend on who computes it.
 *
 * Workers are named cb-cpu, block all signals, and run in the floating-point environment of
 * cbc_fpenv_enter. A thread that cannot be started is done without. */
#ifndef CPU_TEAM_H
#define CPU_TEAM_H

#include <stdint.h>

struct cpu_team;

/* threads: the caller included, at least 1. NULL when out of memory. */
struct cpu_team *cpu_team_create(unsigned threads);

/* Joins the workers. No job may be running. NULL is accepted. */
void cpu_team_destroy(struct cpu_team *team);

/* How many threads a job may meet: the size of per-thread scratch. */
unsigned cpu_team_size(const struct cpu_team *team);

/* One task of a job. thread: who runs it, below cpu_team_size, no two at once the same. */
typedef void (*cpu_task_fn)(void *ctx, uint64_t task, unsigned thread);

/* Runs tasks 0..n-1, in any order, on at most `most` threads, and returns when all are done. */
void cpu_team_run(struct cpu_team *team, unsigned most, cpu_task_fn run, void *ctx, uint64_t n);

/* The same for a job of a few microseconds, over before a sleeping worker would be awake: it is
 * left to those that spin, unless such jobs follow one another. */
void cpu_team_run_brief(struct cpu_team *team, unsigned most, cpu_task_fn run, void *ctx,
                        uint64_t n);

/* In the child of a fork, where the workers are gone: makes the team as it was when created. */
void cpu_team_reset_in_child(struct cpu_team *team);

#endif
