/* SPDX-License-Identifier: Apache-2.0 */
/* What the contract promises of streams whose work is truly done later, whatever the backend. */
#include "scene.h"

#include <string.h>

static void arguments_and_indices_may_change_once_the_call_has_returned(void **state)
{
    struct scene s;
    float x[COUNT], got[COUNT];
    uint64_t indices[COUNT];
    cb_error err = test_error();
    (void)state;
    scene_open(&s, NULL);
    scene_fill(x, 0);
    for (int i = 0; i < COUNT; i++)
        indices[i] = (uint64_t)(COUNT - 1 - i);
    cb_rows_args args = { CB_ARGS(cb_rows_args), .rows = COUNT,        .cols = 1,
                          .indices = indices,    .n_indices = COUNT,   .input = s.buffer[0],
                          .output = s.buffer[1], .stream = s.stream[0] };
    scene_put(&s, -1, 0, x);
    scene_slow(&s, 0);
    TEST_OK(cb_gather(s.be, &args, &err), &err);
    memset(&args, 0xff, sizeof(args));
    memset(indices, 0xff, sizeof(indices));
    TEST_OK(scene_get(&s, 0, 1, got, &err), &err);
    scene_finish(&s, 0);
    scene_expect(got, COUNT - 1, -1);
    scene_close(&s);
}

static void a_buffer_freed_while_work_uses_it_lives_until_the_work_is_done(void **state)
{
    struct scene s;
    float x[COUNT] = { 0 };
    cb_error err = test_error();
    cb_memory_info before, freed, after;
    cb_memory_info_init(&before);
    cb_memory_info_init(&freed);
    cb_memory_info_init(&after);
    (void)state;
    scene_open(&s, NULL);
    TEST_OK(s.api->memory_info(s.self, &before, &err), &err);
    scene_slow(&s, 0);
    scene_set(&s, 0, 0, 0x40);
    TEST_OK(scene_get(&s, 0, 0, x, &err), &err);
    TEST_OK(s.api->free(s.self, s.buffer[0], s.stream[0], &err), &err);
    TEST_OK(s.api->free(s.self, s.large, NULL, &err), &err);
    TEST_STATUS(scene_get(&s, 0, 0, x, &err), CB_INVALID_ARGUMENT, &err);
    TEST_OK(s.api->memory_info(s.self, &freed, &err), &err);
    assert_int_equal(freed.live_count, before.live_count - 1);
    scene_finish(&s, 0);
    TEST_OK(s.api->memory_info(s.self, &after, &err), &err);
    assert_int_equal(after.free, before.free + BYTES);
    assert_true(x[COUNT - 1] == 0x1.808080p+1f);
    scene_close(&s);
}

static void host_memory_of_an_upload_is_the_callers_again_after_an_event(void **state)
{
    struct scene s;
    float x[COUNT], got[COUNT];
    cb_error err = test_error();
    (void)state;
    scene_open(&s, NULL);
    scene_fill(x, 3);
    scene_slow(&s, 0);
    scene_put(&s, 0, 0, x);
    scene_record(&s, 0);
    TEST_OK(s.api->event_synchronize(s.self, s.event, &err), &err);
    memset(x, 0xff, sizeof(x));
    TEST_OK(scene_get(&s, 0, 0, got, &err), &err);
    scene_finish(&s, 0);
    scene_expect(got, 3, 1);
    scene_close(&s);
}

static void two_streams_hand_work_to_and_fro_200_times(void **state)
{
    struct scene s;
    float one[COUNT], got[COUNT];
    cb_error err = test_error();
    (void)state;
    scene_open(&s, NULL);
    for (int i = 0; i < COUNT; i++)
        one[i] = 1;
    const uint64_t ones = test_upload(s.be, one, sizeof(one));
    scene_slow(&s, 0);
    for (int i = 0; i < 200; i++) {
        const int from = i % 2, to = (i + 1) % 2;
        const cb_binary_args add = {
            CB_ARGS(cb_binary_args), .op = CB_BINARY_ADD, .n = COUNT,
            .a = s.buffer[to],       .b = ones,           .output = s.buffer[from],
            .stream = s.stream[from]
        };
        TEST_OK(cb_binary(s.be, &add, &err), &err);
        scene_record(&s, from);
        scene_wait(&s, to);
    }
    TEST_OK(scene_get(&s, 0, 1, got, &err), &err);
    scene_finish(&s, 0);
    scene_expect(got, 200, 0);
    scene_close(&s);
}

static void an_event_that_is_recorded_again_keeps_those_who_wait_for_the_first(void **state)
{
    struct scene s;
    float x[COUNT] = { 0 };
    cb_error err = test_error();
    (void)state;
    scene_open(&s, NULL);
    scene_slow(&s, 0);
    scene_set(&s, 0, 0, 0x40);
    scene_record(&s, 0);
    scene_wait(&s, 1);
    scene_record(&s, -1);
    scene_finish(&s, -1);
    assert_int_equal(scene_is_done(&s), 1);
    TEST_OK(scene_get(&s, 1, 0, x, &err), &err);
    TEST_OK(s.api->event_destroy(s.self, s.event, &err), &err);
    scene_finish(&s, 1);
    assert_true(x[0] == 0x1.808080p+1f);
    scene_close(&s);
}

static void the_default_stream_waits_for_an_event_of_another(void **state)
{
    struct scene s;
    float x[COUNT] = { 0 };
    cb_error err = test_error();
    (void)state;
    scene_open(&s, NULL);
    scene_slow(&s, 0);
    scene_set(&s, 0, 0, 0x40);
    scene_record(&s, 0);
    scene_wait(&s, -1);
    TEST_OK(scene_get(&s, -1, 0, x, &err), &err);
    scene_finish(&s, -1);
    assert_true(x[0] == 0x1.808080p+1f);
    scene_close(&s);
}

static void destroy_waits_for_queued_work(void **state)
{
    struct scene s;
    float x[COUNT] = { 0 };
    cb_error err = test_error();
    (void)state;
    scene_open(&s, NULL);
    scene_slow(&s, 0);
    scene_set(&s, 0, 0, 0x40);
    scene_record(&s, 0);
    scene_wait(&s, 1);
    TEST_OK(scene_get(&s, 1, 0, x, &err), &err);
    scene_close(&s);
    assert_true(x[0] == 0x1.808080p+1f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_and_indices_may_change_once_the_call_has_returned),
        cmocka_unit_test(a_buffer_freed_while_work_uses_it_lives_until_the_work_is_done),
        cmocka_unit_test(host_memory_of_an_upload_is_the_callers_again_after_an_event),
        cmocka_unit_test(two_streams_hand_work_to_and_fro_200_times),
        cmocka_unit_test(an_event_that_is_recorded_again_keeps_those_who_wait_for_the_first),
        cmocka_unit_test(the_default_stream_waits_for_an_event_of_another),
        cmocka_unit_test(destroy_waits_for_queued_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
