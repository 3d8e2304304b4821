/* SPDX-License-Identifier: Apache-2.0 */
/* Field report P08: calls from many threads do not disturb each other. */
#include "judge.h"

#include <pthread.h>
#include <string.h>

enum {
    THREADS = 16,
    ROUNDS = 200,
    SUMS = 2000,
    M = 33,
    N = 65,
    K = 17
};
enum {
    A_COUNT = M * K,
    B_COUNT = K * N,
    C_COUNT = M * N
};

/* A thread's own operands, and what a lone run made of them. */
struct worker {
    cb_backend be;
    pthread_barrier_t *start; /* or the first threads may be done before the last begin */
    struct kit_call gemm, conv;
    float c[C_COUNT], grad[KIT_BYTES_MAX / sizeof(float)];
    cb_status status;
    unsigned wrong;
};

static cb_status upload(cb_backend be, uint64_t count, uint64_t seed, uint64_t *ptr)
{
    float data[C_COUNT];
    kit_random(CB_F32, data, count, 1, seed);
    const cb_status status = cb_alloc(be, count * sizeof(float), ptr, NULL);
    return status != CB_OK ? status : cb_upload(be, *ptr, data, count * sizeof(float), NULL);
}

static void prepare(struct worker *w, cb_backend be, uint64_t seed)
{
    struct kit_data data;
    cb_error err = test_error();
    w->be = be;
    w->gemm = (struct kit_call){ .op = CB_OP_GEMM };
    cb_gemm_args *g = &w->gemm.args.gemm;
    *g = (cb_gemm_args){ CB_ARGS(cb_gemm_args),
                         .dtype = CB_F32,
                         .m = M,
                         .n = N,
                         .k = K,
                         .alpha = 1,
                         .lda = M,
                         .ldb = K,
                         .ldc = M };
    TEST_OK(upload(be, A_COUNT, seed, &g->a), &err);
    TEST_OK(upload(be, B_COUNT, seed + 1, &g->b), &err);
    TEST_OK(upload(be, C_COUNT, seed + 2, &g->c), &err);
    kit_call_f32((uint32_t)(CB_OP_CONV2D_FORWARD + seed % 3), &w->conv);
    kit_data_random(&w->conv, &data, 1, seed);
    TEST_OK(kit_place(be, &w->conv, &data, &err), &err);
}

/* Both ops into outputs that are NaN before. */
static cb_status compute(struct worker *w, float *c, float *grad)
{
    const uint64_t out = *kit_pointer(&w->conv, w->conv.out);
    const uint64_t bytes = kit_bytes(&w->conv, w->conv.out);
    const uint64_t c_bytes = C_COUNT * sizeof(float);
    cb_status status = cb_memset(w->be, w->gemm.args.gemm.c, FILL_BYTE, c_bytes, NULL, NULL);
    if (status == CB_OK)
        status = cb_memset(w->be, out, FILL_BYTE, bytes, NULL, NULL);
    if (status == CB_OK)
        status = kit_run(w->be, &w->gemm, NULL);
    if (status == CB_OK)
        status = kit_run(w->be, &w->conv, NULL);
    if (status == CB_OK)
        status = cb_download(w->be, c, w->gemm.args.gemm.c, c_bytes, NULL);
    return status != CB_OK ? status : cb_download(w->be, grad, out, bytes, NULL);
}

static void *work(void *arg)
{
    struct worker *w = arg;
    float c[C_COUNT], grad[KIT_BYTES_MAX / sizeof(float)];
    pthread_barrier_wait(w->start);
    for (int i = 0; i < ROUNDS && w->status == CB_OK; i++) {
        w->status = compute(w, c, grad);
        w->wrong += memcmp(c, w->c, sizeof(c)) != 0;
        w->wrong += memcmp(grad, w->grad, kit_bytes(&w->conv, w->conv.out)) != 0;
    }
    return NULL;
}

/* Runs all workers at once; none of them may have failed. */
static void run_all(struct worker workers[THREADS], void *(*run)(void *))
{
    pthread_t threads[THREADS];
    pthread_barrier_t start;
    assert_int_equal(pthread_barrier_init(&start, NULL, THREADS), 0);
    for (int i = 0; i < THREADS; i++) {
        workers[i].start = &start;
        assert_int_equal(pthread_create(&threads[i], NULL, run, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    pthread_barrier_destroy(&start);
    for (int i = 0; i < THREADS; i++)
        TEST_OK(workers[i].status, NULL);
}

static void p08_sixteen_threads_on_one_instance_get_the_bits_of_a_lone_run(void **state)
{
    static struct worker workers[THREADS];
    cb_error err = test_error();
    memset(workers, 0, sizeof(workers));
    for (int i = 0; i < THREADS; i++) {
        prepare(&workers[i], TEST_BE(state), (uint64_t)i * 16);
        TEST_OK(compute(&workers[i], workers[i].c, workers[i].grad), &err);
    }
    run_all(workers, work);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(workers[i].wrong, 0);
}

static void *add_up(void *arg)
{
    struct worker *w = arg;
    pthread_barrier_wait(w->start);
    for (int i = 0; i < SUMS && w->status == CB_OK; i++)
        w->status = kit_run(w->be, &w->gemm, NULL);
    return NULL;
}

/* All threads read one A and B of ones, and add their product to columns of their own in one C
 * again and again: an update that is lost once is missing in the end. */
static void p08_threads_that_write_disjoint_parts_of_one_buffer_all_keep_their_work(void **state)
{
    enum {
        COLUMNS = 4,
        COUNT = M * COLUMNS * THREADS
    };
    struct worker workers[THREADS];
    float ones[COUNT], got[COUNT];
    kit_fill(CB_F32, ones, COUNT, 1);
    const uint64_t a = test_upload(TEST_BE(state), ones, A_COUNT * sizeof(float));
    const uint64_t b = test_upload(TEST_BE(state), ones, K * COLUMNS * sizeof(float));
    const uint64_t c = test_alloc(TEST_BE(state), sizeof(got));
    for (uint64_t i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){ .be = TEST_BE(state), .gemm = { .op = CB_OP_GEMM } };
        workers[i].gemm.args.gemm = (cb_gemm_args){
            CB_ARGS(cb_gemm_args),
            .dtype = CB_F32,
            .m = M,
            .n = COLUMNS,
            .k = K,
            .alpha = 1,
            .a = a,
            .lda = M,
            .b = b,
            .ldb = K,
            .beta = 1,
            .c = c + i * M * COLUMNS * sizeof(float),
            .ldc = M,
        };
    }
    run_all(workers, add_up);
    test_download(TEST_BE(state), got, c, sizeof(got));
    for (int i = 0; i < COUNT; i++)
        assert_true(got[i] == K * SUMS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            p08_sixteen_threads_on_one_instance_get_the_bits_of_a_lone_run, test_setup_backend,
            test_teardown_backend),
        cmocka_unit_test_setup_teardown(
            p08_threads_that_write_disjoint_parts_of_one_buffer_all_keep_their_work,
            test_setup_backend, test_teardown_backend),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
