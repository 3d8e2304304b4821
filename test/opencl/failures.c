/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin, linked in, on a driver that fails and without memory: each call is made again and
 * again, and each time the next call of the driver, or the next allocation of the plugin, fails.
 * The failure is an error with a message, nothing leaks, and the call works in the end. */
#include "backend.h"
#include "driver.h"
#include "compute_backend_plugin.h"
#include "kit.h"
#include "starve.h"

#include <stdlib.h>
#include <string.h>

extern cb_status cb_plugin_entry_opencl(cb_negotiation *negotiation);

#define LOST (-9999) /* no code of OpenCL's */

/* ---- the script: steps that may be made again after they failed ---- */

enum {
    MANY = 70, /* enough for the address table to grow */
    ARENA = 8192
};

struct world {
    cb_backend be;
    cb_stream *stream;
    cb_event *event;
    uint64_t many[MANY];
    unsigned n_many;
    uint64_t arena;
    uint32_t op;
    int written; /* a failed op wrote something */
    enum {
        NOTHING,
        ALLOCATIONS,
        DRIVER
    } mode; /* what fails */
    unsigned failures;
};

static cb_status step_create(struct world *w, cb_error *err)
{
    static const char *const options[] = { "device=0" };
    cb_create_args args;
    cb_create_args_init(&args);
    args.options = options;
    args.n_options = 1;
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

static cb_status step_arena(struct world *w, cb_error *err)
{
    return cb_alloc(w->be, ARENA, &w->arena, err);
}

static cb_status step_copies(struct world *w, cb_error *err)
{
    unsigned char bytes[100] = { 1 };
    const cb_copy_dtod_args shift = { CB_ARGS(cb_copy_dtod_args), .flags = CB_COPY_ASYNC,
                                      .dst = w->arena + 10,       .src = w->arena,
                                      .bytes = sizeof(bytes),     .stream = w->stream };
    cb_status status = cb_upload(w->be, w->arena, bytes, sizeof(bytes), err);
    if (status == CB_OK)
        status = cb_copy_dtod(w->be, &shift, err);
    if (status == CB_OK)
        status = cb_memset(w->be, w->arena, 0, sizeof(bytes), w->stream, err);
    return status == CB_OK ? cb_download(w->be, bytes, w->arena, sizeof(bytes), err) : status;
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

/* All operands in one place, a few elements apart, on the stream: with copies of the inputs. */
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
    if (status != CB_OK)
        return status;
    status = kit_run(w->be, &call, err);
    if (status == CB_OK)
        return w->be.api->stream_synchronize(w->be.self, w->stream, err);
    cb_synchronize(w->be, NULL);
    cb_download(w->be, after, w->arena, ARENA, NULL);
    w->written |= memcmp(after, before, ARENA) != 0;
    return status;
}

static cb_status step_record_and_wait(struct world *w, cb_error *err)
{
    const cb_status status = w->be.api->event_record(w->be.self, w->event, w->stream, err);
    return status == CB_OK ? w->be.api->stream_wait_event(w->be.self, NULL, w->event, err) : status;
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

/* The n-th allocation or call of the driver from now on fails. */
static void arm(const struct world *w, uint64_t n)
{
    starved = 0;
    if (w->mode == ALLOCATIONS)
        starve_at = (long)n + 1;
    else if (w->mode == DRIVER)
        driver_fail(NULL, n, LOST);
}

/* Whether that has happened; nothing fails from now on. */
static int disarm(const struct world *w)
{
    const int failed = w->mode == DRIVER ? driver_failed() : starved;
    starve_at = 0;
    return failed;
}

static void judge(struct world *w, cb_status status, const cb_error *err)
{
    const int driver = w->mode == DRIVER;
    w->failures++;
    assert_int_equal(status, driver ? CB_DEVICE_ERROR : CB_OUT_OF_MEMORY);
    assert_int_equal(err->code, status);
    assert_int_equal(err->native_code, driver ? LOST : 0);
    assert_true(err->where[0] && err->msg[0] && memchr(err->msg, 0, sizeof(err->msg)));
    assert_true(!driver || strstr(err->msg, "-9999"));
    assert_false(w->written);
}

/* Makes a step again and again, and each time the next thing in it fails, until nothing is left
 * that could. A failure to keep memory for later is none. */
static void make(struct world *w, cb_status (*step)(struct world *, cb_error *))
{
    cb_error err;
    cb_error_init(&err);
    for (uint64_t n = 0;; n++) {
        arm(w, n);
        const cb_status status = step(w, &err);
        const int failed = disarm(w);
        if (failed && (status != CB_OK || w->mode == DRIVER)) {
            judge(w, status, &err);
            continue;
        }
        if (status != CB_OK)
            fail_msg("%s", err.msg);
        if (!failed)
            return;
    }
}

/* First with programs, kernels and spares to be made, then with all of them there. */
static void make_twice(struct world *w, cb_status (*step)(struct world *, cb_error *))
{
    make(w, step);
    make(w, step);
}

static const compute_backend_v1 *table(void)
{
    cb_negotiation n;
    cb_negotiation_init(&n);
    assert_int_equal(cb_plugin_entry_opencl(&n), CB_OK);
    return n.table;
}

static void run_script(struct world *w)
{
    live_blocks = 0;
    make(w, step_create);
    make(w, step_init);
    make_twice(w, step_stream);
    make_twice(w, step_event);
    make(w, step_many);
    make(w, step_arena);
    make_twice(w, step_copies);
    for (w->op = 0; w->op < CB_OP_COUNT; w->op++) {
        make_twice(w, step_op);
        make_twice(w, step_overlapping_op);
    }
    make_twice(w, step_record_and_wait);
    make(w, step_free_many);
    w->be.api->destroy(w->be.self);
    assert_int_equal(live_blocks, 0);
    assert_true(w->failures > 2 * CB_OP_COUNT);
    print_message("# %u failures\n", w->failures);
}

static void every_failed_allocation_is_out_of_memory_and_the_call_works_again(void **state)
{
    struct world w = { .be = { table(), NULL }, .mode = ALLOCATIONS };
    (void)state;
    run_script(&w);
}

static void every_failed_call_of_the_driver_is_an_error_and_the_call_works_again(void **state)
{
    struct world w = { .be = { table(), NULL }, .mode = DRIVER };
    (void)state;
    run_script(&w);
}

static void a_driver_without_memory_is_out_of_memory(void **state)
{
    static const int32_t codes[] = { -4, -5, -6, -61 };
    struct world w = { .be = { table(), NULL } };
    (void)state;
    make(&w, step_create);
    make(&w, step_init);
    for (int i = 0; i < 4; i++) {
        cb_error err = test_error();
        uint64_t ptr = 77;
        driver_fail("clCreateBuffer", 0, codes[i]);
        TEST_STATUS(cb_alloc(w.be, 64, &ptr, &err), CB_OUT_OF_MEMORY, &err);
        assert_true(driver_failed() && ptr == 77);
        assert_int_equal(err.native_code, codes[i]);
        assert_non_null(strstr(err.msg, "alloc: clCreateBuffer"));
        driver_fail("clEnqueueFillBuffer", 0, codes[i]);
        TEST_STATUS(cb_alloc(w.be, 64, &ptr, &err), CB_OUT_OF_MEMORY, &err);
        assert_true(driver_failed() && ptr == 77);
        driver_spoil(codes[i]);
        TEST_STATUS(cb_alloc(w.be, 64, &ptr, &err), CB_OUT_OF_MEMORY, &err);
        assert_true(ptr == 77);
    }
    cb_memory_info info;
    cb_memory_info_init(&info);
    assert_int_equal(w.be.api->memory_info(w.be.self, &info, NULL), CB_OK);
    assert_true(info.free == info.total && !info.live_count);
    w.be.api->destroy(w.be.self);
}

/* ---- programs that do not build ---- */

static char logged[4096];

static void keep_log(void *ctx, int32_t level, const char *text)
{
    (void)ctx;
    assert_null(strchr(text, '\n'));
    if (level <= CB_LOG_WARNING) {
        cb_text_append(logged, sizeof(logged), text);
        cb_text_append(logged, sizeof(logged), "\n");
    }
}

static void a_program_that_does_not_build_says_what_the_compiler_said(void **state)
{
    const cb_host host = { CB_ARGS(cb_host), .log = keep_log };
    cb_create_args args;
    cb_error err = test_error();
    cb_backend be = { table(), NULL };
    struct kit_call call;
    struct kit_data data;
    unsigned char result[KIT_BYTES_MAX];
    (void)state;
    cb_create_args_init(&args);
    args.host = &host;
    TEST_OK(be.api->create(&args, &be.self, &err), &err);
    TEST_OK(be.api->init(be.self, 0, &err), &err);
    kit_call_f32(CB_OP_UNARY, &call);
    kit_data_random(&call, &data, 1, 1);
    driver_break_sources("#error moonbeam\n");
    const uint64_t before = driver_calls("clBuildProgram");
    for (int i = 0; i < 2; i++) {
        TEST_STATUS(kit_run_apart(be, &call, &data, result, &err), CB_DEVICE_ERROR, &err);
        assert_int_equal(err.native_code, -11);
        assert_string_equal(err.where, "unary");
        assert_non_null(strstr(err.msg, "moonbeam"));
    }
    assert_int_equal(driver_calls("clBuildProgram") - before, 1); /* it stays as it is */
    assert_non_null(strstr(logged, "moonbeam"));
    driver_reset();
    TEST_STATUS(kit_run_apart(be, &call, &data, result, &err), CB_DEVICE_ERROR, &err);
    be.api->destroy(be.self);
}

static void a_build_without_memory_may_be_tried_again(void **state)
{
    struct world w = { .be = { table(), NULL }, .op = CB_OP_UNARY };
    cb_error err = test_error();
    (void)state;
    make(&w, step_create);
    make(&w, step_init);
    driver_fail("clBuildProgram", 0, -6);
    TEST_STATUS(step_op(&w, &err), CB_OUT_OF_MEMORY, &err);
    assert_true(driver_failed());
    TEST_OK(step_op(&w, &err), &err);
    w.be.api->destroy(w.be.self);
}

static void a_program_is_built_once_for_all_streams(void **state)
{
    struct world w = { .be = { table(), NULL }, .op = CB_OP_UNARY };
    cb_error err = test_error();
    (void)state;
    make(&w, step_create);
    make(&w, step_init);
    make(&w, step_stream);
    make(&w, step_arena);
    TEST_OK(step_op(&w, &err), &err);
    const uint64_t built = driver_calls("clBuildProgram");
    TEST_OK(step_op(&w, &err), &err);
    TEST_OK(step_overlapping_op(&w, &err), &err);
    assert_int_equal(driver_calls("clBuildProgram"), built);
    w.be.api->destroy(w.be.self);
}

static void what_warmup_has_run_is_not_built_again(void **state)
{
    static const char *const option[] = { "warmup=softmax,gemm" };
    cb_create_args args;
    cb_error err = test_error();
    struct world w = { .be = { table(), NULL }, .op = CB_OP_GEMM };
    (void)state;
    cb_create_args_init(&args);
    args.options = option;
    args.n_options = 1;
    TEST_OK(w.be.api->create(&args, &w.be.self, &err), &err);
    const uint64_t none = driver_calls("clBuildProgram");
    TEST_OK(w.be.api->init(w.be.self, 0, &err), &err);
    const uint64_t built = driver_calls("clBuildProgram");
    assert_true(built > none);
    TEST_OK(step_op(&w, &err), &err);
    assert_int_equal(driver_calls("clBuildProgram"), built);
    w.op = CB_OP_UNARY;
    TEST_OK(step_op(&w, &err), &err);
    assert_true(driver_calls("clBuildProgram") > built);
    w.be.api->destroy(w.be.self);
}

/* The op will say what is wrong; init has done its part. */
static void a_warmup_that_fails_is_logged(void **state)
{
    static const char *const option[] = { "warmup=softmax" };
    const cb_host host = { CB_ARGS(cb_host), .log = keep_log };
    cb_create_args args;
    cb_error err = test_error();
    cb_backend be = { table(), NULL };
    (void)state;
    cb_create_args_init(&args);
    args.options = option;
    args.n_options = 1;
    args.host = &host;
    logged[0] = 0;
    TEST_OK(be.api->create(&args, &be.self, &err), &err);
    driver_break_sources("#error moonbeam\n");
    TEST_OK(be.api->init(be.self, 0, &err), &err);
    assert_non_null(strstr(logged, "opencl: warmup: softmax: program"));
    be.api->destroy(be.self);
}

static int reset(void **state)
{
    (void)state;
    driver_reset();
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, reset, reset)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_failed_allocation_is_out_of_memory_and_the_call_works_again),
        TEST(every_failed_call_of_the_driver_is_an_error_and_the_call_works_again),
        TEST(a_driver_without_memory_is_out_of_memory),
        TEST(a_program_that_does_not_build_says_what_the_compiler_said),
        TEST(a_build_without_memory_may_be_tried_again),
        TEST(a_program_is_built_once_for_all_streams),
        TEST(what_warmup_has_run_is_not_built_again),
        TEST(a_warmup_that_fails_is_logged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
