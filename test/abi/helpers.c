/* SPDX-License-Identifier: Apache-2.0 */
/* The inline functions of the two headers: what plugins and hosts share without linking it. */
#include "backend.h"
#include "compute_backend_plugin.h"

#include <string.h>

static const compute_backend_v1 some_table = { .size = sizeof(some_table), .name = "some" };

/* An argument struct of a later minor: one that has a field more. */
struct longer_unary_args {
    cb_unary_args known;
    uint64_t later;
};

/* Not inlined: a plugin does not see the host's struct, and here the compiler must not either. */
#define APART __attribute__((noinline))

APART static cb_status read_unary(const void *args, cb_unary_args *local, cb_error *err)
{
    memset(local, 0xAA, sizeof(*local));
    return cb_args_read(local, sizeof(*local), CB_UNARY_ARGS_1_0, args, "unary", err);
}

APART static cb_status read_longer(const void *args, struct longer_unary_args *local, cb_error *err)
{
    memset(local, 0xAA, sizeof(*local));
    return cb_args_read(local, sizeof(*local), CB_UNARY_ARGS_1_0, args, "unary", err);
}

static void args_of_the_same_size_are_copied_whole(void **state)
{
    (void)state;
    cb_error err = test_error();
    cb_unary_args local;
    const cb_unary_args args = { CB_ARGS(cb_unary_args), .op = CB_UNARY_NEG, .n = 7, .output = 9 };
    TEST_OK(read_unary(&args, &local, &err), &err);
    assert_memory_equal(&local, &args, sizeof(args));
}

static void args_that_are_null_are_refused(void **state)
{
    (void)state;
    cb_error err = test_error();
    cb_unary_args local;
    TEST_STATUS(read_unary(NULL, &local, &err), CB_INVALID_ARGUMENT, &err);
    assert_int_equal(err.code, CB_INVALID_ARGUMENT);
    assert_string_equal(err.where, "unary");
    assert_non_null(strstr(err.msg, "NULL"));
}

static void args_of_a_size_that_cannot_be_are_refused_with_the_size(void **state)
{
    (void)state;
    static const struct {
        uint64_t size;
        const char *text;
    } bad[] = { { 0, " 0," },
                { CB_UNARY_ARGS_1_0 - 1, " 55," },
                { CB_ARGS_SIZE_MAX + 1, " 4097," },
                { UINT64_MAX, " 18446744073709551615," } };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        cb_error err = test_error();
        cb_unary_args local, args = { .size = bad[i].size };
        TEST_STATUS(read_unary(&args, &local, &err), CB_INVALID_ARGUMENT, &err);
        assert_non_null(strstr(err.msg, bad[i].text));
    }
}

static void args_of_the_greatest_size_are_read(void **state)
{
    (void)state;
    static uint64_t args[CB_ARGS_SIZE_MAX / sizeof(uint64_t)];
    cb_error err = test_error();
    cb_unary_args local;
    args[0] = sizeof(args);
    TEST_OK(read_unary(args, &local, &err), &err);
    assert_int_equal(local.size, sizeof(local));
}

static void args_of_a_newer_host_are_read_when_the_new_fields_are_zero(void **state)
{
    (void)state;
    cb_error err = test_error();
    cb_unary_args local;
    const struct longer_unary_args args = { .known = { .size = sizeof(args), .n = 3 } };
    TEST_OK(read_unary(&args, &local, &err), &err);
    assert_int_equal(local.n, 3);
    assert_int_equal(local.size, sizeof(local));
}

static void args_with_an_unknown_field_set_are_unsupported_not_ignored(void **state)
{
    (void)state;
    for (uint64_t byte = 0; byte < sizeof(uint64_t); byte++) {
        cb_error err = test_error();
        cb_unary_args local;
        struct longer_unary_args args = { .known = { .size = sizeof(args) } };
        args.later = UINT64_C(1) << (8 * byte);
        TEST_STATUS(read_unary(&args, &local, &err), CB_UNSUPPORTED, &err);
        assert_string_equal(err.where, "unary");
    }
}

static void args_of_an_older_host_read_as_zero_beyond_their_size(void **state)
{
    (void)state;
    cb_error err = test_error();
    struct longer_unary_args local;
    const struct longer_unary_args memory = { { CB_ARGS(cb_unary_args), .n = 5 }, .later = 99 };
    TEST_OK(read_longer(&memory.known, &local, &err), &err);
    assert_int_equal(local.known.n, 5);
    assert_int_equal(local.later, 0);
    assert_int_equal(local.known.size, sizeof(local));
}

static void refused_args_are_refused_without_an_error_struct_too(void **state)
{
    (void)state;
    cb_unary_args local;
    assert_int_equal(read_unary(NULL, &local, NULL), CB_INVALID_ARGUMENT);
}

/* A result struct of an older host, followed by memory that is not the plugin's. */
struct older_result {
    cb_memory_info info;
    uint64_t canary;
};

APART static cb_status write_info(void *out, cb_error *err)
{
    struct older_result mine = {
        .info = { .total = 1, .free = 2, .live_bytes = 3, .live_count = 4 }, .canary = 5
    };
    return cb_result_write(out, &mine, sizeof(mine), CB_MEMORY_INFO_1_0, "memory_info", err);
}

static void a_result_is_written_up_to_the_callers_size_and_no_further(void **state)
{
    (void)state;
    cb_error err = test_error();
    struct older_result out = { .info = { CB_ARGS(cb_memory_info) }, .canary = 0xAAAA };
    TEST_OK(write_info(&out, &err), &err);
    assert_int_equal(out.info.size, sizeof(cb_memory_info));
    assert_int_equal(out.info.total, 1);
    assert_int_equal(out.info.live_count, 4);
    assert_int_equal(out.canary, 0xAAAA);
}

static void a_result_of_a_newer_host_keeps_what_the_plugin_does_not_know(void **state)
{
    (void)state;
    cb_error err = test_error();
    struct {
        struct older_result known;
        uint64_t later;
    } out = { .known = { .info = { .size = sizeof(out) } }, .later = 77 };
    TEST_OK(write_info(&out, &err), &err);
    assert_int_equal(out.known.canary, 5);
    assert_int_equal(out.later, 77);
}

static void a_result_that_is_null_or_short_is_refused(void **state)
{
    (void)state;
    cb_error err = test_error();
    cb_memory_info out = { .size = CB_MEMORY_INFO_1_0 - 1, .total = 9 };
    TEST_STATUS(write_info(NULL, &err), CB_INVALID_ARGUMENT, &err);
    TEST_STATUS(write_info(&out, &err), CB_INVALID_ARGUMENT, &err);
    assert_int_equal(out.total, 9);
    assert_string_equal(err.where, "memory_info");
}

static void an_error_carries_code_place_and_message(void **state)
{
    (void)state;
    cb_error err = test_error();
    err.native_code = 12;
    assert_int_equal(cb_error_set(&err, CB_BUSY, "here", "because"), CB_BUSY);
    assert_int_equal(err.code, CB_BUSY);
    assert_int_equal(err.native_code, 0);
    assert_int_equal(err.size, sizeof(err));
    assert_string_equal(err.where, "here");
    assert_string_equal(err.msg, "here: because");
}

static void an_error_that_is_null_or_short_is_left_alone(void **state)
{
    (void)state;
    cb_error err = { .size = CB_ERROR_1_0 - 1, .code = 55 };
    assert_int_equal(cb_error_set(NULL, CB_BUSY, "here", "because"), CB_BUSY);
    assert_int_equal(cb_error_set(&err, CB_BUSY, "here", "because"), CB_BUSY);
    assert_int_equal(err.code, 55);
}

static void a_message_that_fits_is_whole_and_a_longer_one_says_that_it_is_cut(void **state)
{
    (void)state;
    char text[sizeof(((cb_error *)0)->msg) + 1];
    cb_error err = test_error();
    memset(text, 'x', sizeof(text));

    text[sizeof(err.msg) - sizeof("here: ")] = 0;
    cb_error_set(&err, CB_BUSY, "here", text);
    assert_memory_equal(err.msg, "here: x", 7);
    assert_string_equal(err.msg + strlen("here: "), text);
    assert_int_equal(strlen(err.msg), sizeof(err.msg) - 1);

    text[strlen(text)] = 'x';
    text[sizeof(err.msg)] = 0;
    cb_error_set(&err, CB_BUSY, text, text);
    assert_int_equal(strlen(err.msg), sizeof(err.msg) - 1);
    assert_string_equal(err.msg + strlen(err.msg) - 6, " [cut]");
    assert_string_equal(err.where + strlen(err.where) - 6, " [cut]");
}

static void text_appended_to_a_full_or_unterminated_buffer_stays_inside(void **state)
{
    (void)state;
    char buffer[12];
    memset(buffer, 'y', sizeof(buffer));
    cb_text_append(buffer, 8, "more");
    for (size_t i = 0; i < sizeof(buffer); i++)
        assert_int_equal(buffer[i], 'y');

    buffer[0] = 0;
    cb_text_append(buffer, 4, "abcdef");
    assert_string_equal(buffer, "abc");
    assert_int_equal(buffer[4], 'y');
}

static void numbers_are_appended_in_decimal_over_their_whole_range(void **state)
{
    (void)state;
    char buffer[64] = "";
    cb_text_append_u64(buffer, sizeof(buffer), 0);
    cb_text_append(buffer, sizeof(buffer), " ");
    cb_text_append_u64(buffer, sizeof(buffer), 1234567890);
    cb_text_append(buffer, sizeof(buffer), " ");
    cb_text_append_u64(buffer, sizeof(buffer), UINT64_MAX);
    assert_string_equal(buffer, "0 1234567890 18446744073709551615");
}

static void negotiation_hands_out_the_table_to_a_host_of_the_same_version(void **state)
{
    (void)state;
    cb_negotiation n;
    cb_negotiation_init(&n);
    strcpy(n.reason, "stale");
    assert_int_equal(cb_negotiate(&n, &some_table), CB_OK);
    assert_ptr_equal(n.table, &some_table);
    assert_int_equal(n.major, CB_ABI_MAJOR);
    assert_int_equal(n.minor, CB_ABI_MINOR);
    assert_int_equal(n.draft, CB_ABI_DRAFT);
    assert_string_equal(n.reason, "");
}

static void negotiation_accepts_a_host_that_speaks_other_majors_besides(void **state)
{
    (void)state;
    cb_negotiation n;
    cb_negotiation_init(&n);
    n.host_majors |= 1u << 2;
    assert_int_equal(cb_negotiate(&n, &some_table), CB_OK);
}

static void negotiation_refuses_a_host_of_another_version_with_both_versions(void **state)
{
    (void)state;
    cb_negotiation n;
    cb_negotiation_init(&n);
    n.host_majors = 1u << 2;
    n.table = &some_table;
    memset(n.reason, 'x', sizeof(n.reason));
    assert_int_equal(cb_negotiate(&n, &some_table), CB_ABI_MISMATCH);
    assert_null(n.table);
    assert_non_null(strstr(n.reason, "major 1"));

    cb_negotiation_init(&n);
    n.host_draft = CB_ABI_DRAFT + 41;
    assert_int_equal(cb_negotiate(&n, &some_table), CB_ABI_MISMATCH);
    assert_null(n.table);
    char both[64] = "";
    cb_text_append_u64(both, sizeof(both), n.host_draft);
    assert_non_null(strstr(n.reason, both));
    both[0] = 0;
    cb_text_append(both, sizeof(both), "draft ");
    cb_text_append_u64(both, sizeof(both), CB_ABI_DRAFT);
    assert_non_null(strstr(n.reason, both));
}

static void negotiation_refuses_a_record_that_is_null_or_short(void **state)
{
    (void)state;
    cb_negotiation n;
    cb_negotiation_init(&n);
    n.size = CB_NEGOTIATION_1_0 - 8;
    assert_int_equal(cb_negotiate(NULL, &some_table), CB_INVALID_ARGUMENT);
    assert_int_equal(cb_negotiate(&n, &some_table), CB_INVALID_ARGUMENT);
    assert_null(n.table);
}

/* The rows are the rule of design/abi.md at its edges: the smallest extent decides. */
static void recommended_tile_follows_the_rule(void **state)
{
    (void)state;
    static const struct {
        uint64_t m, n, k;
        int units;
        uint32_t tile[3];
    } rows[] = {
        { 0, 0, 0, 0, { 16, 16, 16 } },
        { 0, 4096, 4096, 1, { 16, 16, 16 } },
        { 64, 64, 64, 0, { 16, 16, 16 } },
        { 4096, 64, 4096, 0, { 16, 16, 16 } },
        { 65, 65, 65, 0, { 64, 64, 16 } },
        { 512, 4096, 4096, 0, { 64, 64, 16 } },
        { 513, 513, 513, 0, { 128, 128, 8 } },
        { 4096, 4096, 513, 0, { 128, 128, 8 } },
        { UINT64_MAX, UINT64_MAX, UINT64_MAX, 1, { 128, 128, 8 } },
        { 16, 16, 16, 1, { 64, 64, 16 } },
        { 496, 512, 512, 1, { 64, 64, 16 } },
        { 512, 512, 512, 1, { 128, 128, 32 } },
        { 512, 512, 520, 1, { 64, 64, 16 } },
        { 1024, 1032, 1024, 1, { 128, 128, 8 } },
        { 1032, 1024, 1024, 1, { 128, 128, 8 } },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint32_t tile[3] = { 0 };
        cb_recommended_tile(rows[i].m, rows[i].n, rows[i].k, rows[i].units, tile);
        assert_memory_equal(tile, rows[i].tile, sizeof(tile));
    }
}

static void every_code_has_a_name_of_its_own(void **state)
{
    (void)state;
    static const struct {
        const char *(*name)(uint32_t);
        uint32_t count;
    } kinds[] = { { cb_dtype_name, CB_F16 + 1 }, { cb_op_name, CB_OP_COUNT } };
    for (size_t kind = 0; kind < 2; kind++) {
        for (uint32_t i = 0; i < kinds[kind].count; i++) {
            assert_string_not_equal(kinds[kind].name(i), kinds[kind].name(kinds[kind].count));
            for (uint32_t j = 0; j < i; j++)
                assert_string_not_equal(kinds[kind].name(i), kinds[kind].name(j));
        }
    }
    for (cb_status i = CB_OK; i <= CB_BUSY; i++) {
        assert_string_not_equal(cb_status_name(i), cb_status_name(99));
        for (cb_status j = CB_OK; j < i; j++)
            assert_string_not_equal(cb_status_name(i), cb_status_name(j));
    }
    assert_string_equal(cb_status_name(CB_INVALID_ARGUMENT), "INVALID_ARGUMENT");
    assert_string_equal(cb_op_name(CB_OP_GATHER), "gather");
}

#define INIT_CLEARS(type)                                                                          \
    do {                                                                                           \
        union {                                                                                    \
            type args;                                                                             \
            unsigned char bytes[sizeof(type)];                                                     \
        } u;                                                                                       \
        memset(&u, 0xAA, sizeof(u));                                                               \
        type##_init(&u.args);                                                                      \
        assert_int_equal(u.args.size, sizeof(type));                                               \
        for (size_t i = sizeof(u.args.size); i < sizeof(u); i++)                                   \
            assert_int_equal(u.bytes[i], 0);                                                       \
    } while (0)

static void init_clears_every_byte_and_sets_the_size(void **state)
{
    (void)state;
    INIT_CLEARS(cb_error);
    INIT_CLEARS(cb_create_args);
    INIT_CLEARS(cb_copy_htod_args);
    INIT_CLEARS(cb_copy_dtoh_args);
    INIT_CLEARS(cb_copy_dtod_args);
    INIT_CLEARS(cb_gemm_args);
    INIT_CLEARS(cb_gemm_mixed_precision_args);
    INIT_CLEARS(cb_batched_gemm_args);
    INIT_CLEARS(cb_conv2d_args);
    INIT_CLEARS(cb_attention_args);
    INIT_CLEARS(cb_softmax_args);
    INIT_CLEARS(cb_reduce_args);
    INIT_CLEARS(cb_unary_args);
    INIT_CLEARS(cb_binary_args);
    INIT_CLEARS(cb_rows_args);
    INIT_CLEARS(cb_device_info);
    INIT_CLEARS(cb_capabilities);
    INIT_CLEARS(cb_memory_info);
    INIT_CLEARS(cb_support);
    INIT_CLEARS(cb_extension);
}

static void a_table_has_a_slot_only_within_its_size_and_when_not_null(void **state)
{
    (void)state;
    compute_backend_v1 table = *test_table();
    assert_true(CB_HAS(&table, get_extension));
    table.size = offsetof(compute_backend_v1, get_extension);
    assert_false(CB_HAS(&table, get_extension));
    assert_true(CB_HAS(&table, memory_info));
    table.memory_info = NULL;
    assert_false(CB_HAS(&table, memory_info));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(args_of_the_same_size_are_copied_whole),
        cmocka_unit_test(args_that_are_null_are_refused),
        cmocka_unit_test(args_of_a_size_that_cannot_be_are_refused_with_the_size),
        cmocka_unit_test(args_of_the_greatest_size_are_read),
        cmocka_unit_test(args_of_a_newer_host_are_read_when_the_new_fields_are_zero),
        cmocka_unit_test(args_with_an_unknown_field_set_are_unsupported_not_ignored),
        cmocka_unit_test(args_of_an_older_host_read_as_zero_beyond_their_size),
        cmocka_unit_test(refused_args_are_refused_without_an_error_struct_too),
        cmocka_unit_test(a_result_is_written_up_to_the_callers_size_and_no_further),
        cmocka_unit_test(a_result_of_a_newer_host_keeps_what_the_plugin_does_not_know),
        cmocka_unit_test(a_result_that_is_null_or_short_is_refused),
        cmocka_unit_test(an_error_carries_code_place_and_message),
        cmocka_unit_test(an_error_that_is_null_or_short_is_left_alone),
        cmocka_unit_test(a_message_that_fits_is_whole_and_a_longer_one_says_that_it_is_cut),
        cmocka_unit_test(text_appended_to_a_full_or_unterminated_buffer_stays_inside),
        cmocka_unit_test(numbers_are_appended_in_decimal_over_their_whole_range),
        cmocka_unit_test(negotiation_hands_out_the_table_to_a_host_of_the_same_version),
        cmocka_unit_test(negotiation_accepts_a_host_that_speaks_other_majors_besides),
        cmocka_unit_test(negotiation_refuses_a_host_of_another_version_with_both_versions),
        cmocka_unit_test(negotiation_refuses_a_record_that_is_null_or_short),
        cmocka_unit_test(recommended_tile_follows_the_rule),
        cmocka_unit_test(every_code_has_a_name_of_its_own),
        cmocka_unit_test(init_clears_every_byte_and_sets_the_size),
        cmocka_unit_test(a_table_has_a_slot_only_within_its_size_and_when_not_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
