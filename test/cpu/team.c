/* SPDX-License-Identifier: Apache-2.0 */
/* The worker threads: the plugin is linked in, so that pthread_create can be made to fail and the
 * files of a control group can be others. P05 and P02 of the field reports, for the workers. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compute_backend_plugin.h"
#include "job.h"
#include "team.h"

extern cb_status cb_plugin_entry_cpu(cb_negotiation *negotiation);

/* ---- the system, under -Wl,--wrap ---- */

static int threads_refused;    /* pthread_create answers EAGAIN */
static const char *group_file; /* what the files of the control group hold; NULL: the real ones */

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
                          void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
                          void *arg);
FILE *__real_fopen64(const char *path, const char *mode);
FILE *__wrap_fopen64(const char *path, const char *mode);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
                          void *arg)
{
    return threads_refused ? EAGAIN : __real_pthread_create(thread, attr, run, arg);
}

/* A process in the group /outer/inner, whose limit is the outer one's. The name is that of fopen
 * with files of any size, which is how all is built. */
FILE *__wrap_fopen64(const char *path, const char *mode)
{
    static const char membership[] = "0::/outer/inner\n";
    if (!group_file)
        return __real_fopen64(path, mode);
    if (!strcmp(path, "/proc/self/cgroup"))
        return fmemopen((void *)membership, sizeof(membership) - 1, "r");
    if (!strcmp(path, "/sys/fs/cgroup/outer/cpu.max"))
        return fmemopen((void *)group_file, strlen(group_file), "r");
    return NULL;
}

/* ---- helpers ---- */

static cb_backend open_with(const char *option)
{
    cb_negotiation n;
    cb_error err;
    cb_create_args args;
    cb_backend be = { NULL, NULL };
    cb_negotiation_init(&n);
    cb_error_init(&err);
    cb_create_args_init(&args);
    args.options = &option;
    args.n_options = option != NULL;
    assert_int_equal(cb_plugin_entry_cpu(&n), CB_OK);
    be.api = n.table;
    assert_int_equal(be.api->create(&args, &be.self, &err), CB_OK);
    assert_int_equal(be.api->init(be.self, CB_DEVICE_AUTO, &err), CB_OK);
    return be;
}

static void compute(cb_backend be)
{
    cb_error err;
    cb_error_init(&err);
    const cb_status status = job_run(be, &err);
    if (status != CB_OK)
        fail_msg("%s: %s", cb_status_name(status), err.msg);
}

static unsigned own_threads(void)
{
    unsigned n = 0;
    DIR *dir = opendir("/proc/self/task");
    assert_non_null(dir);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n - 2; /* . and .. */
}

static void check_threads(cb_backend be, const char *want)
{
    char text[32];
    uint64_t length = sizeof(text);
    assert_int_equal(be.api->info(be.self, "threads", text, &length, NULL), CB_OK);
    assert_string_equal(text, want);
}

/* ---- how many ---- */

static void p05_a_process_bound_to_one_processor_computes_on_one_thread(void **state)
{
    cpu_set_t before, one;
    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
    CPU_ZERO(&one);
    for (int i = 0; !CPU_COUNT(&one); i++)
        if (CPU_ISSET(i, &before))
            CPU_SET(i, &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    const unsigned threads = own_threads();
    const cb_backend be = open_with(NULL);
    compute(be);
    check_threads(be, "1");
    assert_int_equal(own_threads(), threads);
    be.api->destroy(be.self);
    assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
}

static void p05_a_quota_of_the_control_group_caps_the_threads(void **state)
{
    (void)state;
    static const struct {
        const char *file, *threads;
    } quotas[] = { { "50000 100000", "1" }, { "100000 100000\n", "1" } };
    for (unsigned i = 0; i < sizeof(quotas) / sizeof(quotas[0]); i++) {
        const unsigned threads = own_threads();
        group_file = quotas[i].file;
        const cb_backend be = open_with(NULL);
        group_file = NULL;
        compute(be);
        check_threads(be, quotas[i].threads);
        assert_int_equal(own_threads(), threads);
        be.api->destroy(be.self);
    }
}

static void a_quota_that_says_max_or_nonsense_is_none(void **state)
{
    (void)state;
    char want[16];
    cpu_set_t set;
    assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
    snprintf(want, sizeof(want), "%d", CPU_COUNT(&set));
    static const char *const files[] = { "max 100000\n", "100000", "100000 0\n", "-1 100000\n",
                                         "" };
    for (unsigned i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        group_file = files[i];
        const cb_backend be = open_with(NULL);
        group_file = NULL;
        check_threads(be, want);
        be.api->destroy(be.self);
    }
}

/* ---- when the system says no ---- */

static void threads_that_cannot_be_started_are_done_without(void **state)
{
    (void)state;
    const unsigned threads = own_threads();
    const cb_backend be = open_with("threads=4");
    threads_refused = 1;
    compute(be);
    assert_int_equal(own_threads(), threads);
    threads_refused = 0;
    compute(be);
    be.api->destroy(be.self);
}

/* ---- jobs ---- */

enum {
    TASKS = 1000,
    TEAM = 4
};

struct job {
    atomic_uint runs[TASKS];
    atomic_bool busy[TEAM];
    atomic_bool wrong;
    unsigned most;
};

static void run_one(void *ctx, uint64_t task, unsigned thread)
{
    struct job *job = ctx;
    if (thread >= job->most || atomic_exchange(&job->busy[thread], true))
        atomic_store(&job->wrong, true);
    atomic_fetch_add(&job->runs[task], 1);
    if (task % 100 == 0)
        sched_yield();
    atomic_store(&job->busy[thread], false);
}

typedef void (*run_fn)(struct cpu_team *, unsigned, cpu_task_fn, void *, uint64_t);

static void run_job(struct cpu_team *team, run_fn run, unsigned most)
{
    static struct job job;
    memset(&job, 0, sizeof(job));
    job.most = most;
    run(team, most, run_one, &job, TASKS);
    for (int i = 0; i < TASKS; i++)
        assert_int_equal(atomic_load(&job.runs[i]), 1);
    assert_false(atomic_load(&job.wrong));
}

static void every_task_runs_once_on_a_thread_number_that_no_other_has(void **state)
{
    (void)state;
    struct cpu_team *team = cpu_team_create(TEAM);
    assert_non_null(team);
    assert_int_equal(cpu_team_size(team), TEAM);
    for (int round = 0; round < 100; round++) {
        run_job(team, cpu_team_run, 1 + (unsigned)round % TEAM);
        run_job(team, cpu_team_run_brief, 1 + (unsigned)round % TEAM);
    }
    cpu_team_destroy(team);
}

struct meeting {
    atomic_uint present;
    atomic_uint threads[TEAM]; /* that run a task */
};

static void meet(void *ctx, uint64_t task, unsigned thread)
{
    struct meeting *meeting = ctx;
    atomic_store(&meeting->threads[task], thread);
    atomic_fetch_add(&meeting->present, 1);
    while (atomic_load(&meeting->present) < TEAM)
        sched_yield();
}

static void each_thread_begins_with_the_same_tasks_in_every_job(void **state)
{
    (void)state;
    struct cpu_team *team = cpu_team_create(TEAM);
    assert_non_null(team);
    for (int round = 0; round < 20; round++) {
        struct meeting meeting = { 0 };
        cpu_team_run(team, TEAM, meet, &meeting, TEAM);
        for (unsigned task = 0; task < TEAM; task++)
            assert_int_equal(atomic_load(&meeting.threads[task]), task);
    }
    cpu_team_destroy(team);
}

static void a_brief_job_starts_no_thread_but_many_in_a_row_do(void **state)
{
    (void)state;
    const unsigned threads = own_threads();
    struct cpu_team *team = cpu_team_create(TEAM);
    assert_non_null(team);
    run_job(team, cpu_team_run_brief, TEAM);
    assert_int_equal(own_threads(), threads);
    for (int round = 0; round < 100; round++)
        run_job(team, cpu_team_run_brief, TEAM);
    assert_int_equal(own_threads(), threads + TEAM - 1);
    cpu_team_destroy(team);
}

static void nested(void *ctx, uint64_t task, unsigned thread)
{
    atomic_uint *sum = ctx;
    (void)thread;
    atomic_fetch_add(sum, (unsigned)task);
}

struct caller {
    struct cpu_team *team;
    atomic_uint sum;
    pthread_t thread;
};

static void *call_often(void *arg)
{
    struct caller *caller = arg;
    for (int i = 0; i < 200; i++)
        cpu_team_run(caller->team, TEAM, nested, &caller->sum, 11);
    return NULL;
}

static void callers_at_once_all_get_their_tasks_done(void **state)
{
    (void)state;
    struct caller callers[6];
    struct cpu_team *team = cpu_team_create(TEAM);
    assert_non_null(team);
    for (int i = 0; i < 6; i++) {
        callers[i].team = team;
        atomic_init(&callers[i].sum, 0);
        assert_int_equal(pthread_create(&callers[i].thread, NULL, call_often, &callers[i]), 0);
    }
    for (int i = 0; i < 6; i++) {
        assert_int_equal(pthread_join(callers[i].thread, NULL), 0);
        assert_int_equal(atomic_load(&callers[i].sum), 200 * 55);
    }
    cpu_team_destroy(team);
}

/* ---- fork ---- */

struct busy {
    cb_backend be;
    atomic_bool stop;
    cb_status status;
};

static void *keep_the_team_at_work(void *arg)
{
    struct busy *busy = arg;
    while (!atomic_load(&busy->stop) && busy->status == CB_OK)
        busy->status = job_run(busy->be, NULL);
    return NULL;
}

static void p02_a_child_computes_though_the_team_was_at_work(void **state)
{
    (void)state;
    struct busy busy = { .be = open_with("threads=3") };
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, keep_the_team_at_work, &busy), 0);
    for (int i = 0; i < 20; i++) {
        int status;
        fflush(NULL);
        const pid_t child = fork();
        if (child == 0) {
            alarm(30);
            _exit(job_run(busy.be, NULL) != CB_OK);
        }
        assert_true(child > 0);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
    atomic_store(&busy.stop, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(busy.status, CB_OK);
    busy.be.api->destroy(busy.be.self);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(p05_a_process_bound_to_one_processor_computes_on_one_thread),
        cmocka_unit_test(p05_a_quota_of_the_control_group_caps_the_threads),
        cmocka_unit_test(a_quota_that_says_max_or_nonsense_is_none),
        cmocka_unit_test(threads_that_cannot_be_started_are_done_without),
        cmocka_unit_test(every_task_runs_once_on_a_thread_number_that_no_other_has),
        cmocka_unit_test(each_thread_begins_with_the_same_tasks_in_every_job),
        cmocka_unit_test(a_brief_job_starts_no_thread_but_many_in_a_row_do),
        cmocka_unit_test(callers_at_once_all_get_their_tasks_done),
        cmocka_unit_test(p02_a_child_computes_though_the_team_was_at_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
