/* SPDX-License-Identifier: Apache-2.0 */
/* Streams whose work is truly done later: what the contract promises then. */
#include "scene.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* So long that a call which waited for the work would show. */
static const char *const slow[] = { "delay=30000", NULL };

static void work_on_a_stream_runs_after_its_call_has_returned(void **state)
{
    struct scene s;
    float x[COUNT] = { 0 };
    cb_error err = test_error();
    (void)state;
    scene_open(&s, slow);
    scene_set(&s, 0, 0, 0x40);
    TEST_OK(scene_get(&s, 0, 0, x, &err), &err);
    scene_record(&s, 0);
    assert_int_equal(scene_is_done(&s), 0);
    assert_true(x[0] == 0.0f);
    TEST_OK(s.api->event_synchronize(s.self, s.event, &err), &err);
    assert_int_equal(scene_is_done(&s), 1);
    assert_true(x[0] == 0x1.808080p+1f);
    scene_close(&s);
}

static void bad_arguments_are_refused_before_anything_is_queued(void **state)
{
    struct scene s;
    cb_error err = test_error();
    (void)state;
    scene_open(&s, slow);
    cb_unary_args args = { CB_ARGS(cb_unary_args), .n = COUNT + 1, .input = s.buffer[0],
                           .output = s.buffer[1], .stream = s.stream[0] };
    TEST_STATUS(cb_unary(s.be, &args, &err), CB_INVALID_ARGUMENT, &err);
    args.n = COUNT;
    args.op = 99;
    TEST_STATUS(cb_unary(s.be, &args, &err), CB_UNSUPPORTED, &err);
    scene_record(&s, 0);
    scene_finish(&s, 0);
    scene_close(&s);
}

/* A number after the key in a file of /proc; 0 when it is not there. */
static unsigned long long proc_number(const char *path, const char *key)
{
    char line[256];
    unsigned long long value = 0;
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof(line), f))
        if (!strncmp(line, key, strlen(key)))
            sscanf(line + strlen(key), "%llx", &value);
    if (f)
        fclose(f);
    return value;
}

static void the_thread_of_a_stream_is_named_and_blocks_every_signal(void **state)
{
    struct scene s;
    char path[64], name[32];
    int found = 0;
    (void)state;
    scene_open(&s, NULL);
    scene_finish(&s, 0);
    DIR *tasks = opendir("/proc/self/task");
    assert_non_null(tasks);
    for (struct dirent *task; (task = readdir(tasks));) {
        snprintf(path, sizeof(path), "/proc/self/task/%.20s/comm", task->d_name);
        FILE *f = fopen(path, "r");
        const int mine = f && fgets(name, sizeof(name), f) && !strcmp(name, "cb-chaos\n");
        if (f)
            fclose(f);
        snprintf(path, sizeof(path), "/proc/self/task/%.20s/status", task->d_name);
        assert_true(!mine || proc_number(path, "SigBlk:") >> (SIGTERM - 1) & 1);
        found += mine;
    }
    closedir(tasks);
    assert_int_equal(found, 2);
    scene_close(&s);
}

static void after_fork_the_child_is_told_so_at_once(void **state)
{
    struct scene s;
    int status;
    (void)state;
    scene_open(&s, NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        alarm(20);
        cb_error err = test_error();
        const cb_status st = s.api->stream_synchronize(s.self, s.stream[0], &err);
        s.api->destroy(s.self);
        _exit(st == CB_DEVICE_ERROR && strstr(err.msg, "used after fork") ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    scene_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_on_a_stream_runs_after_its_call_has_returned),
        cmocka_unit_test(bad_arguments_are_refused_before_anything_is_queued),
        cmocka_unit_test(the_thread_of_a_stream_is_named_and_blocks_every_signal),
        cmocka_unit_test(after_fork_the_child_is_told_so_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
