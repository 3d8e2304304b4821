/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin, linked in, without memory: a script of calls runs again and again, and each time the
 * next of its allocations fails. The failure is CB_OUT_OF_MEMORY with a message, nothing is
 * written, nothing leaks, and the same call works when it is made again. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "kit.h"

extern cb_status cb_plugin_entry_cpu(cb_negotiation *negotiation);

/* ---- the allocator, under -Wl,--wrap ---- */

static long countdown; /* the allocation that fails; 0: none */
static int failed;
static long live; /* blocks */

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
int __real_posix_memalign(void **out, size_t alignment, size_t size);
void __real_free(void *block);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
int __wrap_posix_memalign(void **out, size_t alignment, size_t size);
void __wrap_free(void *block);

static int must_fail(void)
{
    if (countdown <= 0 || --countdown > 0)
        return 0;
    failed = 1;
    return 1;
}

static void *counted(void *block)
{
    live += block != NULL;
    return block;
}

void *__wrap_malloc(size_t size)
{
    return must_fail() ? NULL : counted(__real_malloc(size));
}

void *__wrap_calloc(size_t n, size_t size)
{
    return must_fail() ? NULL : counted(__real_calloc(n, size));
}

void *__wrap_realloc(void *old, size_t size)
{
    if (must_fail())
        return NULL;
    void *block = __real_realloc(old, size);
    return old ? block : counted(block);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return must_fail() ? NULL : counted(__real_aligned_alloc(alignment, size));
}

int __wrap_posix_memalign(void **out, size_t alignment, size_t size)
{
    const int status = must_fail() ? 12 : __real_posix_memalign(out, alignment, size);
    live += status == 0;
    return status;
}

void __wrap_free(void *block)
{
    live -= block != NULL;
    __real_free(block);
}

/* ---- the script: steps that may be made again after they failed ---- */

enum {
    MANY = 130,
    ARENA = 8192
};

struct world {
    cb_backend be;
    cb_stream *stream;
    cb_event *event;
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
    failed = 0;
    cb_status status = step(w, &err);
    if (failed) {
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
    live = 0;
    countdown = n;
    make(&w, step_create);
    make(&w, step_init);
    make(&w, step_stream);
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
    make(&w, step_info);
    make(&w, step_free_many);
    api->destroy(w.be.self);
    const int reached = countdown == 0;
    countdown = 0;
    assert_int_equal(live, 0);
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
    live = 0;
    make(&w, step_create);
    make(&w, step_init);
    const long instance = live;
    make(&w, step_stream);
    make(&w, step_event);
    make(&w, step_many);
    make(&w, step_import);
    make(&w, step_map);
    assert_true(live > instance + MANY);
    w.be.api->destroy(w.be.self);
    assert_int_equal(live, 0);
}

static void a_failed_create_leaves_out_untouched(void **state)
{
    cb_create_args args;
    cb_create_args_init(&args);
    (void)state;
    for (long n = 1;; n++) {
        void *self = &args;
        live = 0;
        failed = 0;
        countdown = n;
        const cb_status status = table()->create(&args, &self, NULL);
        countdown = 0;
        if (!failed) {
            assert_int_equal(status, CB_OK);
            table()->destroy(self);
            assert_true(n > 1);
            return;
        }
        assert_int_equal(status, CB_OUT_OF_MEMORY);
        assert_ptr_equal(self, &args);
        assert_int_equal(live, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_failed_allocation_is_out_of_memory_and_the_call_works_again),
        cmocka_unit_test(destroy_frees_all_that_the_host_left),
        cmocka_unit_test(a_failed_create_leaves_out_untouched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
