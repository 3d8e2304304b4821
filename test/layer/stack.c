/* SPDX-License-Identifier: Apache-2.0 */
/* Tables can be stacked: a selected backend under three layers answers as it does without, op by
 * op, and an extension that no layer knows reaches the top unchanged. */
#include "backend.h"
#include "cb_loader.h"
#include "layer.h"
#include "selftest.h"

#include <stdlib.h>
#include <string.h>

#define DEPTH 3

struct stack {
    cb_loader *loader;
    cb_backend levels[DEPTH + 1]; /* the backend, then the layers */
};

static int build(void **state)
{
    static struct stack s;
    cb_error err = test_error();
    if (cb_loader_open(NULL, &s.loader, &err) != CB_OK ||
        cb_loader_select(s.loader, NULL, &s.levels[0], &err) != CB_OK) {
        print_error("%s\n", err.msg);
        return -1;
    }
    for (int i = 1; i <= DEPTH; i++) {
        s.levels[i] = layer_over(s.levels[i - 1]);
        if (!s.levels[i].api)
            return -1;
    }
    *state = &s;
    return 0;
}

static int take_down(void **state)
{
    struct stack *s = *state;
    for (int i = DEPTH; i >= 1; i--)
        layer_remove(s->levels[i]);
    if (cb_loader_release(s->loader, s->levels[0], NULL) != CB_OK)
        return -1;
    return cb_loader_close(s->loader, NULL) == CB_OK ? 0 : -1;
}

static void every_layer_sees_every_call_and_changes_none(void **state)
{
    const struct stack *s = *state;
    cb_error plain = test_error(), top = test_error();
    const cb_gemm_args bad = { CB_ARGS(cb_gemm_args), .m = 2, .n = 2, .k = 2, .lda = 1 };
    const cb_status want = cb_gemm(s->levels[0], &bad, &plain);
    assert_int_equal(cb_gemm(s->levels[DEPTH], &bad, &top), want);
    assert_memory_equal(&top, &plain, sizeof(top));
    for (int i = 1; i <= DEPTH; i++)
        assert_int_equal(layer_calls(s->levels[i]), 1);
}

static void an_extension_goes_through_layers_that_do_not_know_it(void **state)
{
    const struct stack *s = *state;
    cb_error err = test_error();
    cb_extension below = { .size = sizeof(below) }, above = { .size = sizeof(above) };
    const cb_backend be = s->levels[0], top = s->levels[DEPTH];
    TEST_OK(be.api->get_extension(be.self, CB_MAP_ID, &below, &err), &err);
    TEST_OK(top.api->get_extension(top.self, CB_MAP_ID, &above, &err), &err);
    assert_memory_equal(&above, &below, sizeof(above));

    const cb_map_v1 *map = above.api;
    const uint64_t ptr = test_alloc(top, 64);
    void *host = NULL;
    TEST_OK(map->map(above.self, ptr, 64, &host, &err), &err);
    memset(host, 7, 64);
    TEST_OK(map->unmap(above.self, ptr, host, &err), &err);
    unsigned char bytes[64] = { 0 };
    test_download(top, bytes, ptr, sizeof(bytes));
    assert_int_equal(bytes[63], 7);
    test_release(top, ptr);
    TEST_STATUS(top.api->get_extension(top.self, "nobody.knows/1", &above, &err), CB_NOT_FOUND,
                &err);
}

static void the_whole_self_test_passes_on_top_of_the_stack(void **state)
{
    const struct stack *s = *state;
    cb_error err = test_error();
    cb_selftest_summary below, top;
    cb_selftest_summary_init(&below);
    cb_selftest_summary_init(&top);
    TEST_OK(cb_selftest_run(s->levels[0], NULL, &below, &err), &err);
    const uint64_t calls = layer_calls(s->levels[1]);
    TEST_OK(cb_selftest_run(s->levels[DEPTH], NULL, &top, &err), &err);
    print_message("# %d cases passed, %d calls a layer\n", (int)top.passed,
                  (int)(layer_calls(s->levels[1]) - calls));
    assert_int_equal(top.failed, 0);
    assert_int_equal(top.skipped, below.skipped);
    assert_true(top.passed > 0 && layer_calls(s->levels[1]) - calls > top.passed);
}

#define STACK_TEST(test) cmocka_unit_test_setup_teardown(test, build, take_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        STACK_TEST(every_layer_sees_every_call_and_changes_none),
        STACK_TEST(an_extension_goes_through_layers_that_do_not_know_it),
        STACK_TEST(the_whole_self_test_passes_on_top_of_the_stack),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
