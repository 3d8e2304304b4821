/* SPDX-License-Identifier: Apache-2.0 */
/* Eight threads do everything at once on one instance. The results are checked here; that nothing
 * is raced for is what ThreadSanitizer and valgrind say of this program. */
#include "backend.h"
#include "kit.h"

#include <pthread.h>
#include <string.h>

enum {
    THREADS = 8,
    ROUNDS = 150
};

struct worker {
    cb_backend be;
    unsigned number;
    uint64_t shared;   /* a buffer that all read */
    cb_stream *stream; /* that two of them use */
    cb_status status;
    const char *step; /* the first that went wrong */
};

static int step(struct worker *w, const char *name, int ok, cb_status status)
{
    if (!w->step && !ok) {
        w->step = name;
        w->status = status;
    }
    return ok;
}
#define STEP(w, call)                                                                              \
    do {                                                                                           \
        const cb_status status_ = (call);                                                          \
        if (!step(w, #call, status_ == CB_OK, status_))                                            \
            return;                                                                                \
    } while (0)

/* A random op on buffers of its own; twice, and the second time must give the same bits. */
static void compute(struct worker *w, uint64_t *seed)
{
    struct kit_call call;
    struct kit_data data;
    unsigned char one[KIT_BYTES_MAX], two[KIT_BYTES_MAX];
    kit_call_f32((uint32_t)(kit_next(seed) % CB_OP_COUNT), &call);
    kit_data_random(&call, &data, 1, kit_next(seed));
    STEP(w, kit_run_apart(w->be, &call, &data, one, NULL));
    STEP(w, kit_run_apart(w->be, &call, &data, two, NULL));
    step(w, call.name, !memcmp(one, two, kit_bytes(&call, call.out)), CB_OK);
}

static void use_shared(struct worker *w)
{
    float got[64];
    uint64_t ptr;
    STEP(w, cb_alloc(w->be, sizeof(got), &ptr, NULL));
    const cb_unary_args neg = { CB_ARGS(cb_unary_args), .op = CB_UNARY_NEG, .n = 64,
                                .input = w->shared, .output = ptr };
    STEP(w, cb_unary(w->be, &neg, NULL));
    STEP(w, cb_download(w->be, got, ptr, sizeof(got), NULL));
    STEP(w, cb_free(w->be, ptr, NULL));
    for (int i = 0; i < 64; i++)
        step(w, "the shared buffer", got[i] == -2, CB_OK);
}

/* Work on a stream, some of it behind work of another; everything goes while it may be in flight.
 */
static void use_streams(struct worker *w)
{
    const compute_backend_v1 *api = w->be.api;
    void *self = w->be.self;
    cb_stream *stream;
    cb_event *event;
    uint32_t done = 0;
    uint64_t ptr;
    unsigned char got[64] = { 0 };
    STEP(w, api->stream_create(self, 0, &stream, NULL));
    STEP(w, api->event_create(self, 0, &event, NULL));
    STEP(w, cb_alloc(w->be, sizeof(got), &ptr, NULL));
    const cb_copy_dtoh_args get = {
        CB_ARGS(cb_copy_dtoh_args), .flags = CB_COPY_ASYNC, .dst = got, .src = ptr,
        .bytes = sizeof(got),       .stream = stream
    };
    STEP(w, api->memset(self, ptr, w->number + 1, sizeof(got), w->stream, NULL));
    STEP(w, api->event_record(self, event, w->stream, NULL));
    STEP(w, api->stream_wait_event(self, stream, event, NULL));
    STEP(w, api->copy_dtoh(self, &get, NULL));
    STEP(w, cb_free(w->be, ptr, NULL));
    STEP(w, api->event_record(self, event, stream, NULL));
    STEP(w, api->event_synchronize(self, event, NULL));
    STEP(w, api->event_query(self, event, &done, NULL));
    step(w, "the event", done == 1, CB_OK);
    for (unsigned i = 0; i < sizeof(got); i++)
        step(w, "the copy", got[i] == w->number + 1, CB_OK);
    STEP(w, api->event_destroy(self, event, NULL));
    STEP(w, api->stream_synchronize(self, w->stream, NULL));
    STEP(w, api->stream_destroy(self, stream, NULL));
}

static void map_and_ask(struct worker *w)
{
    cb_extension extension;
    cb_memory_info info;
    uint64_t ptr, length = 0;
    void *host;
    cb_extension_init(&extension);
    cb_memory_info_init(&info);
    STEP(w, w->be.api->get_extension(w->be.self, CB_MAP_ID, &extension, NULL));
    const cb_map_v1 *map = extension.api;
    STEP(w, cb_alloc(w->be, 256, &ptr, NULL));
    STEP(w, map->map(extension.self, ptr, 256, &host, NULL));
    memset(host, (int)w->number, 256);
    step(w, "free of a mapped buffer", cb_free(w->be, ptr, NULL) == CB_INVALID_ARGUMENT, CB_OK);
    STEP(w, map->unmap(extension.self, ptr, host, NULL));
    STEP(w, w->be.api->memory_info(w->be.self, &info, NULL));
    step(w, "memory_info", info.live_count > 0 && info.live_bytes >= 256, CB_OK);
    STEP(w, w->be.api->info(w->be.self, "summary", NULL, &length, NULL));
    STEP(w, cb_free(w->be, ptr, NULL));
    step(w, "free twice", cb_free(w->be, ptr, NULL) == CB_INVALID_ARGUMENT, CB_OK);
    STEP(w, cb_synchronize(w->be, NULL));
}

static void *work(void *arg)
{
    struct worker *w = arg;
    uint64_t seed = w->number;
    for (int i = 0; i < ROUNDS && !w->step; i++) {
        compute(w, &seed);
        use_shared(w);
        use_streams(w);
        map_and_ask(w);
    }
    return NULL;
}

static void eight_threads_do_everything_at_once(void **state)
{
    struct worker workers[THREADS];
    pthread_t threads[THREADS];
    float twos[64];
    cb_error err = test_error();
    cb_memory_info info;
    cb_stream *streams[THREADS / 2];
    kit_fill(CB_F32, twos, 64, 2);
    const uint64_t shared = test_upload(TEST_BE(state), twos, sizeof(twos));
    const cb_backend be = TEST_BE(state);
    for (unsigned i = 0; i < THREADS / 2; i++)
        TEST_OK(be.api->stream_create(be.self, 0, &streams[i], &err), &err);
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){ be, i, shared, streams[i / 2], CB_OK, NULL };
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < THREADS; i++)
        if (workers[i].step)
            fail_msg("%s: %s", workers[i].step, cb_status_name(workers[i].status));
    cb_memory_info_init(&info);
    for (unsigned i = 0; i < THREADS / 2; i++)
        TEST_OK(be.api->stream_destroy(be.self, streams[i], &err), &err);
    TEST_OK(be.api->memory_info(be.self, &info, &err), &err);
    assert_int_equal(info.live_count, 1);
    assert_int_equal(info.live_bytes, sizeof(twos));
    assert_int_equal(info.total - info.free, sizeof(twos));
}

/* For destroy to wait for. */
static void leave_in_flight(struct worker *w)
{
    cb_stream *stream;
    uint64_t ptr;
    STEP(w, w->be.api->stream_create(w->be.self, 0, &stream, NULL));
    STEP(w, cb_alloc(w->be, 64, &ptr, NULL));
    for (uint32_t i = 0; i < 10; i++)
        STEP(w, cb_memset(w->be, ptr, i, 64, stream, NULL));
}

/* Instances come and go in several threads: what they share in the process must be safe too. */
static void *open_and_close(void *arg)
{
    struct worker *w = arg;
    for (int i = 0; i < ROUNDS && !w->step; i++) {
        uint64_t seed = w->number;
        cb_create_args args;
        cb_create_args_init(&args);
        struct worker own = { { w->be.api, NULL }, w->number, 0, NULL, CB_OK, NULL };
        cb_status status = own.be.api->create(&args, &own.be.self, NULL);
        if (status == CB_OK)
            status = own.be.api->init(own.be.self, CB_DEVICE_AUTO, NULL);
        if (step(w, "create and init", status == CB_OK, status))
            compute(&own, &seed);
        leave_in_flight(&own);
        step(w, "an op of a new instance", !own.step, own.status);
        own.be.api->destroy(own.be.self);
    }
    return NULL;
}

static void instances_come_and_go_in_eight_threads(void **state)
{
    struct worker workers[THREADS];
    pthread_t threads[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){ TEST_BE(state), i, 0, NULL, CB_OK, NULL };
        assert_int_equal(pthread_create(&threads[i], NULL, open_and_close, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < THREADS; i++)
        if (workers[i].step)
            fail_msg("%s: %s", workers[i].step, cb_status_name(workers[i].status));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eight_threads_do_everything_at_once),
        cmocka_unit_test(instances_come_and_go_in_eight_threads),
    };
    return cmocka_run_group_tests(tests, test_setup_backend, test_teardown_backend);
}
