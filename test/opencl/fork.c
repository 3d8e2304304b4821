/* SPDX-License-Identifier: Apache-2.0 */
/* A child of fork has none of the driver's threads: all it may do is hear so. */
#include "backend.h"
#include "kit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the child does, with 20 seconds for it. Returns its exit status. */
static int in_child(int (*deed)(cb_backend), cb_backend be)
{
    int status = -1;
    fflush(NULL); /* what is not yet written would be written by the child too */
    const pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        alarm(20);
        _exit(deed(be));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status))
        fail_msg("the child was ended by signal %d", WTERMSIG(status));
    return WEXITSTATUS(status);
}

static int is_told(cb_status st, const cb_error *err)
{
    return st == CB_DEVICE_ERROR && strstr(err->msg, "used after fork");
}

static int every_call_tells(cb_backend be)
{
    const compute_backend_v1 *api = be.api;
    cb_error err;
    uint64_t ptr = 0, length = 0;
    uint32_t n = 0;
    cb_stream *stream = NULL;
    cb_event *event = NULL;
    cb_memory_info memory;
    cb_capabilities c;
    struct kit_call call;
    int told = 0;
    cb_error_init(&err);
    cb_memory_info_init(&memory);
    cb_capabilities_init(&c);
    told += is_told(api->init(be.self, 0, &err), &err);
    told += is_told(api->device_count(be.self, &n, &err), &err);
    told += is_told(api->capabilities(be.self, 0, &c, &err), &err);
    told += is_told(api->info(be.self, "summary", NULL, &length, &err), &err);
    told += is_told(cb_alloc(be, 64, &ptr, &err), &err);
    told += is_told(cb_free(be, 64, &err), &err);
    told += is_told(cb_upload(be, 0, &n, 4, &err), &err);
    told += is_told(cb_download(be, &n, 0, 4, &err), &err);
    told += is_told(cb_memset(be, 0, 0, 4, NULL, &err), &err);
    told += is_told(cb_synchronize(be, &err), &err);
    told += is_told(api->stream_create(be.self, 0, &stream, &err), &err);
    told += is_told(api->stream_synchronize(be.self, NULL, &err), &err);
    told += is_told(api->event_create(be.self, 0, &event, &err), &err);
    told += is_told(api->memory_info(be.self, &memory, &err), &err);
    for (uint32_t op = 0; op < CB_OP_COUNT; op++) {
        kit_call_f32(op, &call);
        told += is_told(kit_run(be, &call, &err), &err);
    }
    api->destroy(be.self);
    return told == 14 + CB_OP_COUNT ? 0 : 1 + told;
}

static void every_call_of_the_child_tells_and_destroy_works(void **state)
{
    const cb_backend be = TEST_BE(state);
    cb_error err = test_error();
    cb_stream *stream;
    cb_event *event;
    const uint64_t ptr = test_alloc(be, 1 << 20);
    TEST_OK(be.api->stream_create(be.self, 0, &stream, &err), &err);
    TEST_OK(be.api->event_create(be.self, 0, &event, &err), &err);
    TEST_OK(cb_memset(be, ptr, 1, 1 << 20, stream, &err), &err);
    TEST_OK(be.api->event_record(be.self, event, stream, &err), &err);
    assert_int_equal(in_child(every_call_tells, be), 0);
    TEST_OK(be.api->stream_synchronize(be.self, stream, &err), &err);
    unsigned char byte = 0;
    test_download(be, &byte, ptr + 77, 1);
    assert_int_equal(byte, 1);
}

static int a_new_instance_has_no_device(cb_backend old)
{
    cb_error err;
    uint32_t count = 77;
    cb_backend be = { old.api, NULL };
    cb_create_args args;
    cb_error_init(&err);
    cb_create_args_init(&args);
    if (be.api->create(&args, &be.self, &err) != CB_OK ||
        be.api->device_count(be.self, &count, &err) != CB_OK || count)
        return 1;
    const int told = strstr(err.msg, "forked") != NULL;
    be.api->destroy(be.self);
    return told ? 0 : 2;
}

static void an_instance_made_in_the_child_says_why_it_has_no_device(void **state)
{
    assert_int_equal(in_child(a_new_instance_has_no_device, TEST_BE(state)), 0);
}

/* Threads that are inside calls while others fork. */
static atomic_int stop;

static void *work(void *arg)
{
    const cb_backend be = *(cb_backend *)arg;
    while (!atomic_load(&stop)) {
        uint64_t ptr = 0;
        cb_stream *stream = NULL;
        be.api->alloc(be.self, 4096, NULL, &ptr, NULL);
        be.api->stream_create(be.self, 0, &stream, NULL);
        cb_memset(be, ptr, 1, 4096, stream, NULL);
        be.api->stream_destroy(be.self, stream, NULL);
        be.api->free(be.self, ptr, NULL, NULL);
    }
    return NULL;
}

static int destroys(cb_backend be)
{
    cb_error err;
    uint64_t ptr = 0;
    cb_error_init(&err);
    const int told = is_told(cb_alloc(be, 64, &ptr, &err), &err);
    be.api->destroy(be.self);
    return !told;
}

static void a_fork_in_the_middle_of_calls_finds_whole_lists(void **state)
{
    cb_backend be = TEST_BE(state);
    pthread_t threads[2];
    atomic_store(&stop, 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, &be), 0);
    for (int i = 0; i < 50; i++)
        assert_int_equal(in_child(destroys, be), 0);
    atomic_store(&stop, 1);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}

/* A process that has not used OpenCL may fork, and the child use it. */
static int uses_it(cb_backend none)
{
    cb_error err;
    cb_create_args args;
    unsigned char in = 7, out = 0;
    uint64_t ptr = 0;
    cb_backend be = { none.api, NULL };
    cb_error_init(&err);
    cb_create_args_init(&args);
    if (be.api->create(&args, &be.self, &err) != CB_OK ||
        be.api->init(be.self, CB_DEVICE_AUTO, &err) != CB_OK ||
        cb_alloc(be, 1, &ptr, &err) != CB_OK || cb_upload(be, ptr, &in, 1, &err) != CB_OK ||
        cb_download(be, &out, ptr, 1, &err) != CB_OK)
        return 1;
    be.api->destroy(be.self);
    return out == in ? 0 : 2;
}

static void a_child_may_be_the_first_to_use_it(void **state)
{
    cb_error err = test_error();
    cb_create_args args;
    cb_backend be = { test_table(), NULL };
    (void)state;
    cb_create_args_init(&args);
    TEST_OK(be.api->create(&args, &be.self, &err), &err);
    assert_int_equal(in_child(uses_it, be), 0);
    test_close(be);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, test_setup_backend, test_teardown_backend)
int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_may_be_the_first_to_use_it), /* before any other does */
        TEST(every_call_of_the_child_tells_and_destroy_works),
        TEST(an_instance_made_in_the_child_says_why_it_has_no_device),
        TEST(a_fork_in_the_middle_of_calls_finds_whole_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
