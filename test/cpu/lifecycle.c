/* SPDX-License-Identifier: Apache-2.0 */
/* From create to destroy: what works before init, init itself, instances beside each other, and
 * what a host's process looks like meanwhile. */
#include "backend.h"
#include "kit.h"

#include <dirent.h>
#include <locale.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* An instance without init. */
static cb_backend create(void)
{
    cb_error err = test_error();
    cb_backend be = { test_table(), NULL };
    cb_create_args args;
    cb_create_args_init(&args);
    TEST_OK(be.api->create(&args, &be.self, &err), &err);
    return be;
}

/* ---- before init ---- */

static void every_op_before_init_is_refused(void **state)
{
    struct kit_call call;
    (void)state;
    const cb_backend be = create();
    for (unsigned i = 0; kit_call(i, &call); i++) {
        cb_error err = test_error();
        cb_support support;
        cb_support_init(&support);
        TEST_STATUS(kit_run(be, &call, &err), CB_NOT_INITIALIZED, &err);
        assert_string_equal(err.where, cb_op_name(call.op));
        assert_non_null(strstr(err.msg, "init"));
        TEST_STATUS(cb_supports(be, call.op, &call.args, &support, &err), CB_NOT_INITIALIZED, &err);
    }
    test_close(be);
}

static void memory_before_init_is_refused(void **state)
{
    cb_error err = test_error();
    uint64_t ptr = 7;
    char byte = 0;
    cb_memory_info memory;
    cb_copy_dtod_args dtod;
    (void)state;
    cb_memory_info_init(&memory);
    cb_copy_dtod_args_init(&dtod);
    const cb_backend be = create();
    TEST_STATUS(cb_alloc(be, 64, &ptr, &err), CB_NOT_INITIALIZED, &err);
    assert_int_equal(ptr, 7);
    TEST_STATUS(cb_free(be, UINT64_C(1) << 62, &err), CB_NOT_INITIALIZED, &err);
    TEST_STATUS(cb_memset(be, 0, 0, 0, NULL, &err), CB_NOT_INITIALIZED, &err);
    TEST_STATUS(cb_upload(be, 0, &byte, 0, &err), CB_NOT_INITIALIZED, &err);
    TEST_STATUS(cb_download(be, &byte, 0, 0, &err), CB_NOT_INITIALIZED, &err);
    TEST_STATUS(cb_copy_dtod(be, &dtod, &err), CB_NOT_INITIALIZED, &err);
    TEST_STATUS(cb_synchronize(be, &err), CB_NOT_INITIALIZED, &err);
    TEST_STATUS(be.api->memory_info(be.self, &memory, &err), CB_NOT_INITIALIZED, &err);
    test_close(be);
}

static void streams_and_events_before_init_are_refused(void **state)
{
    cb_error err = test_error();
    cb_stream *stream = NULL;
    cb_event *event = NULL;
    uint32_t done = 7;
    (void)state;
    const cb_backend be = create();
    const compute_backend_v1 *api = be.api;
    TEST_STATUS(api->stream_create(be.self, 0, &stream, &err), CB_NOT_INITIALIZED, &err);
    TEST_STATUS(api->stream_destroy(be.self, NULL, &err), CB_NOT_INITIALIZED, &err);
    TEST_STATUS(api->stream_synchronize(be.self, NULL, &err), CB_NOT_INITIALIZED, &err);
    TEST_STATUS(api->event_create(be.self, 0, &event, &err), CB_NOT_INITIALIZED, &err);
    TEST_STATUS(api->event_destroy(be.self, NULL, &err), CB_NOT_INITIALIZED, &err);
    TEST_STATUS(api->event_record(be.self, NULL, NULL, &err), CB_NOT_INITIALIZED, &err);
    TEST_STATUS(api->stream_wait_event(be.self, NULL, NULL, &err), CB_NOT_INITIALIZED, &err);
    TEST_STATUS(api->event_query(be.self, NULL, &done, &err), CB_NOT_INITIALIZED, &err);
    TEST_STATUS(api->event_synchronize(be.self, NULL, &err), CB_NOT_INITIALIZED, &err);
    assert_true(!stream && !event && done == 7);
    test_close(be);
}

static void the_extension_cb_map_before_init_refuses_its_functions(void **state)
{
    cb_error err = test_error();
    cb_extension extension;
    uint64_t ptr = 7;
    void *host = NULL;
    (void)state;
    cb_extension_init(&extension);
    const cb_backend be = create();
    TEST_OK(be.api->get_extension(be.self, CB_MAP_ID, &extension, &err), &err);
    const cb_map_v1 *map = extension.api;
    TEST_STATUS(map->map(extension.self, 1, 1, &host, &err), CB_NOT_INITIALIZED, &err);
    TEST_STATUS(map->unmap(extension.self, 1, NULL, &err), CB_NOT_INITIALIZED, &err);
    TEST_STATUS(map->import_host(extension.self, (void *)(uintptr_t)64, 64, &ptr, &err),
                CB_NOT_INITIALIZED, &err);
    assert_true(!host && ptr == 7);
    test_close(be);
}

static void the_extension_cb_profile_before_init_refuses_its_function(void **state)
{
    cb_error err = test_error();
    cb_extension extension;
    int64_t ns = 7;
    (void)state;
    cb_extension_init(&extension);
    const cb_backend be = create();
    TEST_OK(be.api->get_extension(be.self, CB_PROFILE_ID, &extension, &err), &err);
    const cb_profile_v1 *profile = extension.api;
    TEST_STATUS(profile->elapsed(extension.self, NULL, NULL, &ns, &err), CB_NOT_INITIALIZED, &err);
    assert_int_equal(ns, 7);
    test_close(be);
}

static void facts_are_to_be_had_before_init(void **state)
{
    cb_error err = test_error();
    uint32_t count = 0;
    uint64_t length = 16;
    char text[16];
    cb_device_info device;
    cb_capabilities capabilities;
    (void)state;
    cb_device_info_init(&device);
    cb_capabilities_init(&capabilities);
    const cb_backend be = create();
    assert_string_equal(be.api->name, "cpu");
    assert_true(be.api->version[0] != 0);
    TEST_OK(be.api->device_count(be.self, &count, &err), &err);
    assert_int_equal(count, 1);
    TEST_OK(be.api->device_info(be.self, 0, &device, &err), &err);
    TEST_OK(be.api->capabilities(be.self, CB_DEVICE_AUTO, &capabilities, &err), &err);
    TEST_OK(be.api->info(be.self, "initialized", text, &length, &err), &err);
    assert_string_equal(text, "0");
    test_close(be);
}

/* ---- init ---- */

static void init_of_the_same_device_again_is_ok_and_of_another_is_not(void **state)
{
    cb_error err = test_error();
    char text[16];
    (void)state;
    const cb_backend be = create();
    TEST_STATUS(be.api->init(be.self, 1, &err), CB_INVALID_ARGUMENT, &err);
    assert_string_equal(err.where, "init");
    for (int i = 0; i < 2; i++) {
        TEST_OK(be.api->init(be.self, 0, &err), &err);
        TEST_OK(be.api->init(be.self, CB_DEVICE_AUTO, &err), &err);
    }
    TEST_STATUS(be.api->init(be.self, 1, &err), CB_INVALID_ARGUMENT, &err);
    uint64_t length = sizeof(text);
    TEST_OK(be.api->info(be.self, "initialized", text, &length, &err), &err);
    assert_string_equal(text, "1");
    TEST_OK(cb_free(be, test_alloc(be, 64), &err), &err);
    test_close(be);
}

static void init_after_a_failed_init_works(void **state)
{
    cb_error err = test_error();
    uint64_t ptr;
    (void)state;
    const cb_backend be = create();
    TEST_STATUS(be.api->init(be.self, 99, &err), CB_INVALID_ARGUMENT, &err);
    TEST_STATUS(cb_alloc(be, 64, &ptr, &err), CB_NOT_INITIALIZED, &err);
    TEST_OK(be.api->init(be.self, CB_DEVICE_AUTO, &err), &err);
    TEST_OK(cb_alloc(be, 64, &ptr, &err), &err);
    test_close(be);
}

struct starter {
    cb_backend be;
    pthread_barrier_t *barrier;
    cb_status status;
    uint64_t ptr;
};

static void *init_and_alloc(void *arg)
{
    struct starter *s = arg;
    pthread_barrier_wait(s->barrier);
    s->status = s->be.api->init(s->be.self, CB_DEVICE_AUTO, NULL);
    if (s->status == CB_OK)
        s->status = cb_alloc(s->be, 64, &s->ptr, NULL);
    return NULL;
}

static void concurrent_inits_are_one(void **state)
{
    enum {
        THREADS = 8
    };
    struct starter starters[THREADS];
    pthread_t threads[THREADS];
    pthread_barrier_t barrier;
    cb_error err = test_error();
    (void)state;
    const cb_backend be = create();
    assert_int_equal(pthread_barrier_init(&barrier, NULL, THREADS), 0);
    for (int i = 0; i < THREADS; i++) {
        starters[i] = (struct starter){ be, &barrier, CB_OK, 0 };
        assert_int_equal(pthread_create(&threads[i], NULL, init_and_alloc, &starters[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < THREADS; i++) {
        TEST_OK(starters[i].status, NULL);
        TEST_OK(cb_free(be, starters[i].ptr, &err), &err);
    }
    pthread_barrier_destroy(&barrier);
    test_close(be);
}

/* ---- instances ---- */

static void instances_do_not_know_each_others_buffers(void **state)
{
    cb_error err = test_error();
    (void)state;
    const cb_backend one = test_open(NULL), two = test_open(NULL);
    const uint64_t mine = test_alloc(one, 64), other = test_alloc(one, 64);
    const uint32_t word = 0x01020304;
    uint32_t got = 0;
    TEST_OK(cb_upload(one, mine, &word, sizeof(word), &err), &err);
    const uint64_t theirs = test_alloc(two, 64);
    assert_int_equal(mine, theirs); /* each counts from its own start */
    TEST_STATUS(cb_free(two, other, &err), CB_INVALID_ARGUMENT, &err);
    TEST_OK(cb_memset(two, theirs, 0xee, 64, NULL, &err), &err);
    test_close(two);
    test_download(one, &got, mine, sizeof(got));
    assert_int_equal(got, word);
    test_close(one);
}

static void destroy_of_null_is_nothing(void **state)
{
    (void)state;
    test_table()->destroy(NULL);
}

static int run_all(cb_backend be)
{
    struct kit_call call;
    struct kit_data data;
    unsigned char out[KIT_BYTES_MAX];
    for (unsigned i = 0; kit_call(i, &call); i++) {
        kit_data_random(&call, &data, 1, i);
        if (kit_run_apart(be, &call, &data, out, NULL) != CB_OK)
            return 0;
    }
    return 1;
}

static void an_instance_made_after_fork_computes(void **state)
{
    (void)state;
    const cb_backend be = test_open(NULL);
    fflush(NULL); /* or the child may print it a second time */
    const pid_t child = fork();
    if (child == 0) {
        cb_create_args args;
        cb_create_args_init(&args);
        cb_backend own = { be.api, NULL };
        alarm(10);
        const int ok = be.api->create(&args, &own.self, NULL) == CB_OK &&
                       be.api->init(own.self, CB_DEVICE_AUTO, NULL) == CB_OK && run_all(own);
        be.api->destroy(own.self);
        _exit(!ok);
    }
    int status = -1;
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    assert_int_equal(status, 0);
    assert_true(run_all(be));
    test_close(be);
}

/* ---- the host's process ---- */

struct host_state {
    char cwd[4096], locale[256];
    mode_t umask;
    cpu_set_t affinity;
    sigset_t mask;
    void *handlers[65];
    char **environment;
    char first[4096];
};

static void look(struct host_state *s)
{
    memset(s, 0, sizeof(*s));
    assert_non_null(getcwd(s->cwd, sizeof(s->cwd)));
    snprintf(s->locale, sizeof(s->locale), "%s", setlocale(LC_ALL, NULL));
    s->umask = umask(0);
    umask(s->umask);
    sched_getaffinity(0, sizeof(s->affinity), &s->affinity);
    pthread_sigmask(SIG_SETMASK, NULL, &s->mask);
    for (int i = 1; i <= 64; i++) {
        struct sigaction action;
        if (sigaction(i, NULL, &action) == 0)
            memcpy(&s->handlers[i], &action.sa_handler, sizeof(void *));
    }
    s->environment = environ;
    for (char **e = environ; *e; e++)
        strncat(s->first, *e, sizeof(s->first) - strlen(s->first) - 1);
}

static void no_call_changes_the_hosts_process(void **state)
{
    struct host_state before, after;
    (void)state;
    look(&before);
    const cb_backend be = test_open(NULL);
    assert_true(run_all(be));
    test_close(be);
    look(&after);
    assert_memory_equal(&before, &after, sizeof(before));
}

/* The threads of this process that were not in the list before; at most max. */
static int threads_now(pid_t *ids, int max)
{
    int n = 0;
    DIR *dir = opendir("/proc/self/task");
    if (!dir)
        return 0;
    for (struct dirent *e = readdir(dir); e && n < max; e = readdir(dir))
        if (e->d_name[0] != '.')
            ids[n++] = atoi(e->d_name);
    closedir(dir);
    return n;
}

static int is_in(pid_t id, const pid_t *ids, int n)
{
    while (n > 0 && ids[n - 1] != id)
        n--;
    return n > 0;
}

/* The rest of the line of /proc/self/task/ID/status that begins with a key; "" for a thread that
 * has ended. */
static void status_of(pid_t id, const char *key, char *value, size_t size)
{
    char path[64], line[256];
    value[0] = 0;
    snprintf(path, sizeof(path), "/proc/self/task/%d/status", (int)id);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof(line), f))
        if (!strncmp(line, key, strlen(key)))
            snprintf(value, size, "%s", line + strlen(key) + 1);
    if (f)
        fclose(f);
}

static bool under_valgrind(void)
{
    const char *preload = getenv("LD_PRELOAD");
    return preload && strstr(preload, "vgpreload");
}

static void threads_of_an_instance_are_named_block_signals_and_end_with_it(void **state)
{
    enum {
        MAX = 256
    };
    pid_t before[MAX], during[MAX], after[MAX];
    (void)state;
    const int n_before = threads_now(before, MAX);
    const cb_backend be = test_open((const char *const[]){ "threads=4", NULL });
    cb_error err = test_error();
    cb_stream *stream;
    TEST_OK(be.api->stream_create(be.self, 0, &stream, &err), &err);
    assert_true(run_all(be));
    const int n_during = threads_now(during, MAX);
    int streams = 0;
    for (int i = 0; i < n_during; i++) {
        char name[64] = "", blocked[64];
        if (is_in(during[i], before, n_before))
            continue;
        /* a thread names itself, as soon as it gets a processor */
        for (int tries = 0; tries < 5000 && strncmp(name, "cb-", 3) != 0; tries++) {
            usleep(tries ? 1000 : 0);
            status_of(during[i], "Name:", name, sizeof(name));
        }
        status_of(during[i], "SigBlk:", blocked, sizeof(blocked));
        assert_memory_equal(name, "cb-", 3);
        streams += !strcmp(name, "cb-stream\n");
        /* glibc keeps two real-time signals for itself, which nobody can block; valgrind keeps them
         * all and tells the masks that it needs */
        if (under_valgrind())
            continue;
        assert_int_equal(strtoull(blocked, NULL, 16) | UINT64_C(3) << 31 | 1 << 8 | 1 << 18,
                         UINT64_MAX);
    }
    assert_int_equal(streams, 1);
    test_close(be);
    const int n_after = threads_now(after, MAX);
    for (int i = 0; i < n_after; i++)
        assert_true(is_in(after[i], before, n_before));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* First, so that no earlier call has made its change already. */
        cmocka_unit_test(no_call_changes_the_hosts_process),
        cmocka_unit_test(every_op_before_init_is_refused),
        cmocka_unit_test(memory_before_init_is_refused),
        cmocka_unit_test(streams_and_events_before_init_are_refused),
        cmocka_unit_test(the_extension_cb_map_before_init_refuses_its_functions),
        cmocka_unit_test(the_extension_cb_profile_before_init_refuses_its_function),
        cmocka_unit_test(facts_are_to_be_had_before_init),
        cmocka_unit_test(init_of_the_same_device_again_is_ok_and_of_another_is_not),
        cmocka_unit_test(init_after_a_failed_init_works),
        cmocka_unit_test(concurrent_inits_are_one),
        cmocka_unit_test(instances_do_not_know_each_others_buffers),
        cmocka_unit_test(destroy_of_null_is_nothing),
        cmocka_unit_test(an_instance_made_after_fork_computes),
        cmocka_unit_test(threads_of_an_instance_are_named_block_signals_and_end_with_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
