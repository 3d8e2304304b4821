/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin, linked in, without memory or threads: a script of calls runs again and again, and
 * each time the next of its allocations fails, in whatever thread. The failure is CB_OUT_OF_MEMORY
 * with a message, nothing is written, nothing leaks, and the same call works when it is made again.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "kit.h"
#include "starve.h"

extern cb_status cb_plugin_entry_cpu(cb_negotiation *negotiation);

static atomic_int no_threads;

int __real_pthread_create(pthread_t *out, const pthread_attr_t *attr, void *(*run)(void *),
                          void *arg);
int __wrap_pthread_create(pthread_t *out, const pthread_attr_t *attr, void *(*run)(void *),
                          void *arg);

int __wrap_pthread_create(pthread_t *out, const pthread_attr_t *attr, void *(*run)(void *),
                          void *arg)
{
    return no_threads ? EAGAIN : __real_pthread_create(out, attr, run, arg);
}

/* ---- the script: steps that may be made again after they failed ---- */

enum {
    MANY = 130,
    ARENA = 8192
};

struct world {
    cb_backend be;
    cb_stream *stream, *other;
    cb_event *event;
    uint64_t matrix;
    uint64_t many[MANY]; /* enough for the address table to grow */
    unsigned n_many;
    uint64_t arena, imported;
    uint32_t op;
    int written; /* a failed op wrote something */
};

static _Alignas(64) unsigned char host_memory[64];

static cb_status step_create(struct world *w, cb_error *err)
{
    static const char *const options[] = { "threads=2", "kernels=auto" };
    cb_create_args args;
    cb_create_args_init(&args);
    args.options = options;
    args.n_options = 2;
    return w->be.api->create(&args, &w->be.self, err);
}

static cb_status step_init(struct world *w, cb_error *err)
{
    return w->be.api->init(w->be.self, CB_DEVICE_AUTO, err);
}

static cb_status step_stream(struct world *w, cb_error *err)
{
    return w->be.api->stream_create(w->be.self, 0, &w->stream, err);
}

static cb_status step_other_stream(struct world *w, cb_error *err)
{
    return w->be.api->stream_create(w->be.self, 0, &w->other, err);
}

static cb_status step_event(struct world *w, cb_error *err)
{
    return w->be.api->event_create(w->be.self, 0, &w->event, err);
}

static cb_status step_many(struct world *w, cb_error *err)
{
    while (w->n_many < MANY) {
        const cb_status status = cb_alloc(w->be, 64, &w->many[w->n_many], err);
        if (status != CB_OK)
            return status;
        w->n_many++;
    }
    return CB_OK;
}

static const cb_map_v1 *get_map(struct world *w, void **self)
{
    cb_extension extension;
    cb_extension_init(&extension);
    assert_int_equal(w->be.api->get_extension(w->be.self, CB_MAP_ID, &extension, NULL), CB_OK);
    *self = extension.self;
    return extension.api;
}

static cb_status step_import(struct world *w, cb_error *err)
{
    void *self;
    const cb_map_v1 *map = get_map(w, &self);
    return map->import_host(self, host_memory, sizeof(host_memory), &w->imported, err);
}

static cb_status step_map(struct world *w, cb_error *err)
{
    void *self, *host = NULL;
    const cb_map_v1 *map = get_map(w, &self);
    const cb_status status = map->map(self, w->imported, 1, &host, err);
    w->written |= (status == CB_OK) != (host == host_memory);
    return status;
}

static cb_status step_arena(struct world *w, cb_error *err)
{
    return cb_alloc(w->be, ARENA, &w->arena, err);
}

static cb_status step_op(struct world *w, cb_error *err)
{
    struct kit_call call;
    struct kit_data data;
    unsigned char result[KIT_BYTES_MAX];
    kit_call_f32(w->op, &call);
    kit_data_random(&call, &data, 1, w->op);
    memcpy(result, data.bytes[call.out], kit_bytes(&call, call.out));
    const cb_status status = kit_run_apart(w->be, &call, &data, result, err);
    if (status != CB_OK)
        w->written |= memcmp(result, data.bytes[call.out], kit_bytes(&call, call.out)) != 0;
    return status;
}

/* All operands in one place, a few elements apart: whatever copies or queues the backend makes in
 * such a case, it makes here. */
static cb_status step_overlapping_op(struct world *w, cb_error *err)
{
    struct kit_call call;
    unsigned char before[ARENA], after[ARENA];
    kit_call_f32(w->op, &call);
    kit_random(CB_F32, before, ARENA / sizeof(float), 1, w->op);
    for (unsigned i = 0; i < call.n_operands; i++)
        *kit_pointer(&call, i) = w->arena + 64 + i * 8;
    *kit_stream(&call) = w->stream;
    cb_status status = cb_upload(w->be, w->arena, before, ARENA, err);
    if (status == CB_OK)
        status = kit_run(w->be, &call, err);
    if (status == CB_OK) /* the copies are made when the work runs */
        status = w->be.api->stream_synchronize(w->be.self, w->stream, err);
    if (status != CB_OK) {
        cb_download(w->be, after, w->arena, ARENA, NULL);
        w->written |= memcmp(after, before, ARENA) != 0;
    }
    return status;
}

static cb_status step_event_record(struct world *w, cb_error *err)
{
    return w->be.api->event_record(w->be.self, w->event, w->stream, err);
}

/* Behind a piece of work that is not done by then. */
static cb_status step_wait_event(struct world *w, cb_error *err)
{
    const compute_backend_v1 *api = w->be.api;
    const uint64_t n = 256, bytes = n * n * sizeof(double);
    cb_gemm_args args = {
        CB_ARGS(cb_gemm_args), .m = n, .n = n, .k = n, .alpha = 1, .lda = n, .ldb = n, .ldc = n,
        .stream = w->stream
    };
    if (!w->matrix) {
        const cb_status status = cb_alloc(w->be, bytes, &w->matrix, err);
        if (status != CB_OK)
            return status;
    }
    args.a = args.b = args.c = w->matrix;
    cb_status status = cb_gemm(w->be, &args, err);
    if (status == CB_OK)
        status = api->event_record(w->be.self, w->event, w->stream, err);
    if (status == CB_OK)
        status = api->stream_wait_event(w->be.self, w->other, w->event, err);
    const cb_status late = api->synchronize(w->be.self, status == CB_OK ? err : NULL);
    if (late != CB_OK) /* the stream that waited has failed with the other */
        api->synchronize(w->be.self, NULL);
    return status == CB_OK ? late : status;
}

static cb_status step_info(struct world *w, cb_error *err)
{
    uint64_t length = 0;
    return w->be.api->info(w->be.self, "summary", NULL, &length, err);
}

static cb_status step_free_many(struct world *w, cb_error *err)
{
    while (w->n_many > 0) {
        const cb_status status = cb_free(w->be, w->many[w->n_many - 1], err);
        if (status != CB_OK)
            return status;
        w->n_many--;
    }
    return CB_OK;
}

/* Makes a step; when an allocation failed in it, judges the failure and makes it again. */
static void make(struct world *w, cb_status (*step)(struct world *, cb_error *))
{
    cb_error err;
    cb_error_init(&err);
    starved = 0;
    cb_status status = step(w, &err);
    if (starved) {
        assert_int_equal(status, CB_OUT_OF_MEMORY);
        assert_int_equal(err.code, CB_OUT_OF_MEMORY);
        assert_true(err.where[0] && err.msg[0] && memchr(err.msg, 0, sizeof(err.msg)));
        assert_false(w->written);
        status = step(w, &err);
    }
    if (status != CB_OK)
        fail_msg("%s", err.msg);
}

/* The n-th allocation fails; returns whether there was an n-th. */
static int run_script(const compute_backend_v1 *api, long n)
{
    struct world w = { .be = { api, NULL } };
    live_blocks = 0;
    starve_at = n;
    make(&w, step_create);
    make(&w, step_init);
    make(&w, step_stream);
    make(&w, step_other_stream);
    make(&w, step_event);
    make(&w, step_many);
    make(&w, step_import);
    make(&w, step_map);
    make(&w, step_arena);
    for (w.op = 0; w.op < CB_OP_COUNT; w.op++) {
        make(&w, step_op);
        make(&w, step_overlapping_op);
    }
    make(&w, step_event_record);
    make(&w, step_wait_event);
    make(&w, step_info);
    make(&w, step_free_many);
    api->destroy(w.be.self);
    const int reached = starve_at == 0;
    starve_at = 0;
    assert_int_equal(live_blocks, 0);
    return reached;
}

static const compute_backend_v1 *table(void)
{
    cb_negotiation n;
    cb_negotiation_init(&n);
    assert_int_equal(cb_plugin_entry_cpu(&n), CB_OK);
    return n.table;
}

static void every_failed_allocation_is_out_of_memory_and_the_call_works_again(void **state)
{
    long n = 1;
    (void)state;
    while (run_script(table(), n))
        n++;
    /* Each op and each allocation needs some: a script that never failed proves nothing. */
    assert_true(n > MANY);
    print_message("# %ld allocations failed in turn\n", n - 1);
}

static void destroy_frees_all_that_the_host_left(void **state)
{
    struct world w = { .be = { table(), NULL } };
    (void)state;
    live_blocks = 0;
    make(&w, step_create);
    make(&w, step_init);
    const long instance = live_blocks;
    make(&w, step_stream);
    make(&w, step_event);
    make(&w, step_many);
    make(&w, step_import);
    make(&w, step_map);
    assert_true(live_blocks > instance + MANY);
    w.be.api->destroy(w.be.self);
    assert_int_equal(live_blocks, 0);
}

static void a_failed_create_leaves_out_untouched(void **state)
{
    cb_create_args args;
    cb_create_args_init(&args);
    (void)state;
    for (long n = 1;; n++) {
        void *self = &args;
        live_blocks = 0;
        starved = 0;
        starve_at = n;
        const cb_status status = table()->create(&args, &self, NULL);
        starve_at = 0;
        if (!starved) {
            assert_int_equal(status, CB_OK);
            table()->destroy(self);
            assert_true(n > 1);
            return;
        }
        assert_int_equal(status, CB_OUT_OF_MEMORY);
        assert_ptr_equal(self, &args);
        assert_int_equal(live_blocks, 0);
    }
}

static void a_stream_without_a_thread_is_out_of_memory_and_works_later(void **state)
{
    struct world w = { .be = { table(), NULL } };
    cb_error err;
    (void)state;
    live_blocks = 0;
    make(&w, step_create);
    make(&w, step_init);
    const long before = live_blocks;
    cb_error_init(&err);
    no_threads = 1;
    const cb_status status = step_stream(&w, &err);
    no_threads = 0;
    assert_int_equal(status, CB_OUT_OF_MEMORY);
    assert_string_equal(err.where, "stream_create");
    assert_non_null(strstr(err.msg, "thread"));
    assert_null(w.stream);
    assert_int_equal(live_blocks, before);
    make(&w, step_stream);
    w.be.api->destroy(w.be.self);
    assert_int_equal(live_blocks, 0);
}

/* ---- late ---- */

/* An instance on whose stream an op fails late, for want of memory, with work and an event queued
 * behind it. */
struct late {
    struct world w;
    const compute_backend_v1 *api;
    void *self;
    uint64_t large, ptr;
    unsigned char got[64];
};

/* Slow work that needs no memory comes first, so that all is queued when the op fails. */
static void queue_failure(struct late *l)
{
    const uint64_t bytes = UINT64_C(32) << 20;
    struct world *w = &l->w;
    *l = (struct late){ .w.be = { table(), NULL }, .api = table() };
    make(w, step_create);
    make(w, step_init);
    make(w, step_stream);
    make(w, step_other_stream);
    make(w, step_event);
    l->self = w->be.self;
    assert_int_equal(cb_alloc(w->be, bytes, &l->large, NULL), CB_OK);
    assert_int_equal(cb_alloc(w->be, 128, &l->ptr, NULL), CB_OK);
    const cb_copy_dtoh_args behind = {
        CB_ARGS(cb_copy_dtoh_args), .flags = CB_COPY_ASYNC, .dst = l->got, .src = l->ptr,
        .bytes = sizeof(l->got),    .stream = w->stream
    };
    const cb_unary_args op = { CB_ARGS(cb_unary_args), .op = CB_UNARY_NEG,   .n = 16,
                               .input = l->ptr,        .output = l->ptr + 4, .stream = w->stream };
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(cb_memset(w->be, l->large, i, bytes, w->stream, NULL), CB_OK);
    assert_int_equal(cb_unary(w->be, &op, NULL), CB_OK);
    memset(l->got, 0xee, sizeof(l->got));
    assert_int_equal(l->api->copy_dtoh(l->self, &behind, NULL), CB_OK);
    assert_int_equal(l->api->event_record(l->self, w->event, w->stream, NULL), CB_OK);
    starve_at = 1;
}

static void expect_late(cb_status status, const cb_error *err)
{
    assert_int_equal(status, CB_OUT_OF_MEMORY);
    assert_int_equal(err->code, CB_OUT_OF_MEMORY);
    assert_string_equal(err->where, "unary");
    assert_non_null(strstr(err->msg, "overlapping"));
}

static void a_late_failure_is_reported_once_by_its_stream_and_by_the_event_behind_it(void **state)
{
    struct late l;
    cb_error err;
    (void)state;
    cb_error_init(&err);
    queue_failure(&l);
    expect_late(l.api->event_synchronize(l.self, l.w.event, &err), &err);
    assert_int_equal(l.api->event_synchronize(l.self, l.w.event, &err), CB_OK);
    memset(&err, 0, sizeof(err));
    err.size = sizeof(err);
    expect_late(l.api->stream_synchronize(l.self, l.w.stream, &err), &err);
    assert_int_equal(l.api->stream_synchronize(l.self, l.w.stream, &err), CB_OK);
    assert_int_equal(l.got[0], 0xee); /* the copy behind it was left out */
    l.api->destroy(l.self);
}

static void the_call_that_reports_a_late_failure_does_nothing_else(void **state)
{
    struct late l;
    cb_error err;
    uint64_t ptr = 7;
    (void)state;
    cb_error_init(&err);
    queue_failure(&l);
    expect_late(l.api->event_synchronize(l.self, l.w.event, &err), &err);
    expect_late(l.api->alloc(l.self, 64, l.w.stream, &ptr, &err), &err);
    assert_int_equal(ptr, 7);
    assert_int_equal(l.api->free(l.self, l.ptr, l.w.stream, &err), CB_OK);
    l.api->destroy(l.self);
}

static void a_blocking_copy_behind_a_late_failure_reports_it(void **state)
{
    struct late l;
    cb_error err;
    (void)state;
    cb_error_init(&err);
    queue_failure(&l);
    const cb_copy_dtoh_args args = { CB_ARGS(cb_copy_dtoh_args), .dst = l.got, .src = l.ptr,
                                     .bytes = sizeof(l.got), .stream = l.w.stream };
    starve_at = 2; /* its own task comes first */
    expect_late(l.api->copy_dtoh(l.self, &args, &err), &err);
    assert_int_equal(l.got[0], 0xee);
    assert_int_equal(l.api->copy_dtoh(l.self, &args, &err), CB_OK);
    assert_int_equal(l.got[0], 0);
    l.api->destroy(l.self);
}

static void synchronize_reports_a_late_failure_and_destroy_does_not_mind_one(void **state)
{
    struct late l;
    cb_error err;
    (void)state;
    cb_error_init(&err);
    queue_failure(&l);
    expect_late(l.api->synchronize(l.self, &err), &err);
    assert_int_equal(l.api->synchronize(l.self, &err), CB_OK);
    l.api->destroy(l.self);
    queue_failure(&l);
    l.api->destroy(l.self);
    assert_int_equal(starve_at, 0);
}

static void a_stream_that_waits_for_an_event_behind_a_late_failure_fails_too(void **state)
{
    struct late l;
    cb_error err;
    (void)state;
    cb_error_init(&err);
    queue_failure(&l);
    const cb_copy_htod_args behind = {
        CB_ARGS(cb_copy_htod_args), .flags = CB_COPY_ASYNC, .dst = l.ptr, .src = l.got,
        .bytes = sizeof(l.got),     .stream = l.w.other
    };
    starve_at = 3; /* the tasks of two calls come first */
    assert_int_equal(l.api->stream_wait_event(l.self, l.w.other, l.w.event, &err), CB_OK);
    assert_int_equal(l.api->copy_htod(l.self, &behind, &err), CB_OK);
    expect_late(l.api->stream_synchronize(l.self, l.w.other, &err), &err);
    assert_int_equal(l.api->stream_synchronize(l.self, l.w.other, &err), CB_OK);
    expect_late(l.api->stream_wait_event(l.self, l.w.other, l.w.event, &err), &err);
    expect_late(l.api->stream_wait_event(l.self, NULL, l.w.event, &err), &err);
    expect_late(l.api->event_synchronize(l.self, l.w.event, &err), &err);
    assert_int_equal(cb_download(l.w.be, l.got, l.ptr, sizeof(l.got), &err), CB_OK);
    assert_int_equal(l.got[0], 0); /* the copy behind the wait was left out */
    l.api->destroy(l.self);
}

static void an_event_behind_a_late_failure_has_no_time(void **state)
{
    struct late l;
    cb_error err;
    cb_extension extension;
    int64_t ns = 7;
    (void)state;
    cb_error_init(&err);
    cb_extension_init(&extension);
    queue_failure(&l);
    assert_int_equal(l.api->synchronize(l.self, NULL), CB_OUT_OF_MEMORY);
    assert_int_equal(l.api->get_extension(l.self, CB_PROFILE_ID, &extension, &err), CB_OK);
    const cb_profile_v1 *profile = extension.api;
    assert_int_equal(profile->elapsed(extension.self, l.w.event, l.w.event, &ns, &err),
                     CB_INVALID_ARGUMENT);
    assert_int_equal(ns, 7);
    expect_late(l.api->event_synchronize(l.self, l.w.event, &err), &err);
    l.api->destroy(l.self);
}

/* ---- fork ---- */

/* Work in flight, whose end is a copy to host memory. */
static void fork_in_flight(struct world *w, unsigned char *byte, pid_t *child)
{
    const uint64_t bytes = UINT64_C(32) << 20;
    uint64_t large = 0;
    *w = (struct world){ .be = { table(), NULL } };
    make(w, step_create);
    make(w, step_init);
    make(w, step_stream);
    make(w, step_other_stream);
    make(w, step_event);
    assert_int_equal(cb_alloc(w->be, bytes, &large, NULL), CB_OK);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(cb_memset(w->be, large, i, bytes, w->other, NULL), CB_OK);
    const compute_backend_v1 *api = w->be.api;
    assert_int_equal(api->event_record(w->be.self, w->event, w->other, NULL), CB_OK);
    assert_int_equal(api->stream_wait_event(w->be.self, w->stream, w->event, NULL), CB_OK);
    const cb_copy_dtoh_args get = {
        CB_ARGS(cb_copy_dtoh_args), .flags = CB_COPY_ASYNC, .dst = byte, .src = large, .bytes = 1,
        .stream = w->stream
    };
    assert_int_equal(api->copy_dtoh(w->be.self, &get, NULL), CB_OK);
    fflush(NULL); /* what is not yet written would be written by the child too */
    *child = fork();
    assert_true(*child >= 0);
    if (!*child)
        alarm(60);
}

static void in_a_child_without_threads_calls_say_so_and_destroy_does_the_work(void **state)
{
    struct world w;
    cb_error err;
    pid_t child;
    unsigned char byte = 0;
    int status = -1;
    (void)state;
    cb_error_init(&err);
    fork_in_flight(&w, &byte, &child);
    if (!child) {
        no_threads = 1;
        const cb_status st = w.be.api->stream_synchronize(w.be.self, w.stream, &err);
        w.be.api->destroy(w.be.self);
        _exit(!(st == CB_OUT_OF_MEMORY && strstr(err.msg, "thread") && byte == 3));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    w.be.api->destroy(w.be.self);
    assert_int_equal(byte, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_failed_allocation_is_out_of_memory_and_the_call_works_again),
        cmocka_unit_test(destroy_frees_all_that_the_host_left),
        cmocka_unit_test(a_failed_create_leaves_out_untouched),
        cmocka_unit_test(a_stream_without_a_thread_is_out_of_memory_and_works_later),
        cmocka_unit_test(a_late_failure_is_reported_once_by_its_stream_and_by_the_event_behind_it),
        cmocka_unit_test(the_call_that_reports_a_late_failure_does_nothing_else),
        cmocka_unit_test(a_blocking_copy_behind_a_late_failure_reports_it),
        cmocka_unit_test(synchronize_reports_a_late_failure_and_destroy_does_not_mind_one),
        cmocka_unit_test(a_stream_that_waits_for_an_event_behind_a_late_failure_fails_too),
        cmocka_unit_test(an_event_behind_a_late_failure_has_no_time),
        cmocka_unit_test(in_a_child_without_threads_calls_say_so_and_destroy_does_the_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
