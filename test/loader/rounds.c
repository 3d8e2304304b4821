/* SPDX-License-Identifier: Apache-2.0 */
/* A thousand lives of a backend in one process, one after the other and from eight threads at once:
 * load, create, init, gemm, destroy. Nothing is left of any: no thread, no descriptor, no memory.
 */
#include "place.h"

#include <dirent.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROUNDS  1000
#define THREADS 8

static int count_entries(const char *path)
{
    int count = 0;
    DIR *dir = opendir(path);
    assert_non_null(dir);
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

/* C := A B of two by two, on a backend of its own. False: something was not as it should be. */
static int gemm_is_right(cb_backend be)
{
    const double a[] = { 1, 2, 3, 4 }, b[] = { 5, 6, 7, 8 }, want[] = { 23, 34, 31, 46 };
    double c[4] = { 0 };
    uint64_t at[3] = { 0 };
    int good = 1;
    for (int i = 0; i < 3; i++)
        good &= be.api->alloc(be.self, sizeof(c), NULL, &at[i], NULL) == CB_OK;
    cb_copy_htod_args in = { CB_ARGS(cb_copy_htod_args), .bytes = sizeof(a) };
    in.dst = at[0], in.src = a;
    good &= cb_copy_htod(be, &in, NULL) == CB_OK;
    in.dst = at[1], in.src = b;
    good &= cb_copy_htod(be, &in, NULL) == CB_OK;
    const cb_gemm_args args = {
        CB_ARGS(cb_gemm_args),
        .m = 2,
        .n = 2,
        .k = 2,
        .alpha = 1,
        .a = at[0],
        .lda = 2,
        .b = at[1],
        .ldb = 2,
        .c = at[2],
        .ldc = 2,
    };
    good &= cb_gemm(be, &args, NULL) == CB_OK;
    const cb_copy_dtoh_args out = { CB_ARGS(cb_copy_dtoh_args), .dst = c, .src = at[2],
                                    .bytes = sizeof(c) };
    good &= cb_copy_dtoh(be, &out, NULL) == CB_OK;
    return good && !memcmp(c, want, sizeof(c));
}

static int live_once(void)
{
    cb_loader *loader = NULL;
    cb_backend be = { NULL, NULL };
    if (cb_loader_open(NULL, &loader, NULL) != CB_OK)
        return 0;
    int good = cb_loader_select(loader, NULL, &be, NULL) == CB_OK;
    good = good && gemm_is_right(be);
    good &= !be.api || cb_loader_release(loader, be, NULL) == CB_OK;
    return cb_loader_close(loader, NULL) == CB_OK && good;
}

static void *live_often(void *arg)
{
    int *bad = arg;
    for (int i = 0; i < ROUNDS / THREADS; i++)
        *bad += !live_once();
    return NULL;
}

static void live_in_threads(void)
{
    pthread_t threads[THREADS];
    int bad[THREADS] = { 0 };
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, live_often, &bad[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(bad[i], 0);
    }
}

static void live_in_a_row(void)
{
    for (int i = 0; i < ROUNDS; i++)
        assert_true(live_once());
}

/* A thread that was joined may be listed for a moment yet. */
static void wait_for_threads(int want)
{
    for (int i = 0; i < 1000 && count_entries("/proc/self/task") != want; i++)
        usleep(1000);
    assert_int_equal(count_entries("/proc/self/task"), want);
}

/* Runs it twice: what the first time costs for good (a table, an arena) the second must not. */
static void leaves_nothing(void (*live)(void))
{
    assert_int_equal(symlink(TEST_CPU_PLUGIN, path_of("libcb_cpu.so")), 0);
    live();
    const int files = count_entries("/proc/self/fd"), threads = count_entries("/proc/self/task");
    const struct mallinfo2 before = mallinfo2();
    live();
    const struct mallinfo2 after = mallinfo2();
    assert_int_equal(count_entries("/proc/self/fd"), files);
    wait_for_threads(threads);
    print_message("# %zu bytes in use before, %zu after\n", before.uordblks, after.uordblks);
    /* The smallest allocation, lost once a round, would be twice as much. */
    assert_true(after.uordblks < before.uordblks + 8 * ROUNDS);
}

static void a_thousand_lives_in_a_row_leave_nothing(void **state)
{
    (void)state;
    leaves_nothing(live_in_a_row);
}

static void a_thousand_lives_in_eight_threads_leave_nothing(void **state)
{
    (void)state;
    leaves_nothing(live_in_threads);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLACE_TEST(a_thousand_lives_in_a_row_leave_nothing),
        PLACE_TEST(a_thousand_lives_in_eight_threads_leave_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
