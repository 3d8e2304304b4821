/* SPDX-License-Identifier: Apache-2.0 */
/* What a plugin may get wrong in its entry and its table, and the whole table that a host gets
 * all the same (row L14 of field_reports.md); plugins that are linked into the host. */
#include "place.h"
#include "compute_backend_plugin.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

cb_status cb_plugin_entry_builtin(cb_negotiation *negotiation);
extern const char cb_plugin_manifest_builtin[];

/* ---- Faults of modules --------------------------------------------------------------------- */

/* Each is refused, in words that name what is wrong: both versions where versions differ. */
static const struct {
    const char *mock;
    uint32_t state;
    const char *cause, *cause_too;
} faults[] = {
    { "wrong_major", CB_STATE_REFUSED, "2.0", "1.0" },
    { "wrong_draft", CB_STATE_REFUSED, "99", CB_TEXT_(CB_ABI_DRAFT) },
    { "chooses_major_2", CB_STATE_REFUSED, "2", "1" },
    { "table_of_major_2", CB_STATE_REFUSED, "2", "1" },
    { "refuses", CB_STATE_FAILED, "the licence has expired", CB_PLUGIN_SYMBOL },
    { "ok_without_table", CB_STATE_REFUSED, CB_PLUGIN_SYMBOL, "table" },
    { "short_table", CB_STATE_REFUSED, "128", "136" },
    { "null_required", CB_STATE_REFUSED, "supports", "NULL" },
    { "lying_id", CB_STATE_REFUSED, "lying_id", "truthful" },
    { "lying_version", CB_STATE_REFUSED, "1.2.3", "9.9.9" },
    { "no_device", CB_STATE_FAILED, "no device", "the slot is empty" },
    { "fails_create", CB_STATE_FAILED, "create", "the driver is too old" },
    { "fails_init", CB_STATE_FAILED, "init", "the device fell off the bus" },
};

static void l14_a_faulty_plugin_costs_only_itself_and_its_fault_is_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
        plant(faults[i].mock);
    plant_as("low", "libcb_zz_low.so");
    cb_loader *loader = open_loader();
    assert_string_equal(best(loader), "low");
    const char *text = report(loader);
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        const cb_candidate c = candidate(loader, text_of("libcb_%s.so", faults[i].mock));
        print_message("# %s: %s: %s\n", faults[i].mock, cb_state_name(c.state), c.reason);
        assert_int_equal(c.state, faults[i].state);
        HAS_TEXT(c.reason, faults[i].cause);
        HAS_TEXT(c.reason, faults[i].cause_too);
        HAS_TEXT(text, c.reason);
    }
    close_loader(loader);
}

static void l14_a_faulty_plugin_that_is_named_is_an_error_that_says_why(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        plant(faults[i].mock);
        cb_loader *loader = open_loader();
        const cb_request request = { .size = sizeof(request), .id = faults[i].mock };
        HAS_TEXT(select_fails(loader, &request, CB_NOT_FOUND), faults[i].cause);
        close_loader(loader);
        assert_int_equal(unlink(path_of(text_of("libcb_%s.so", faults[i].mock))), 0);
    }
}

static void a_fault_that_the_manifest_shows_is_found_without_running_the_plugin(void **state)
{
    (void)state;
    static const char *const mocks[] = { "no_note", "two_notes", "wrong_major", "wrong_draft" };
    setenv("MOCK_MARKER", path_of("marker"), 1);
    for (size_t i = 0; i < sizeof(mocks) / sizeof(mocks[0]); i++)
        plant(mocks[i]);
    cb_loader *loader = open_loader();
    select_fails(loader, NULL, CB_NOT_FOUND);
    for (size_t i = 0; i < sizeof(mocks) / sizeof(mocks[0]); i++)
        assert_int_equal(candidate(loader, text_of("libcb_%s.so", mocks[i])).state,
                         CB_STATE_REFUSED);
    assert_int_not_equal(access(path_of("marker"), F_OK), 0);
    close_loader(loader);
}

/* ---- The completed table ------------------------------------------------------------------- */

static void expect_unsupported(cb_status got, const cb_error *err, const char *slot)
{
    test_status_at(got, CB_UNSUPPORTED, err, slot, __FILE__, __LINE__);
    assert_int_equal(err->code, CB_UNSUPPORTED);
    assert_string_equal(err->where, slot);
    HAS_TEXT(err->msg, slot);
}

#define EXPECT_UNSUPPORTED(slot, ...)                                                              \
    do {                                                                                           \
        cb_error err = test_error();                                                               \
        expect_unsupported(be.api->slot(be.self, __VA_ARGS__, &err), &err, #slot);                 \
    } while (0)

/* Every optional slot that no mock has. */
static void expect_stubs(cb_backend be)
{
    cb_memory_info memory = { CB_ARGS(cb_memory_info) };
    cb_extension extension = { CB_ARGS(cb_extension) };
    EXPECT_UNSUPPORTED(memset, 1, 0, 1, NULL);
    EXPECT_UNSUPPORTED(gemm_mixed_precision, NULL);
    EXPECT_UNSUPPORTED(batched_gemm, NULL);
    EXPECT_UNSUPPORTED(conv2d_forward, NULL);
    EXPECT_UNSUPPORTED(conv2d_backward_data, NULL);
    EXPECT_UNSUPPORTED(conv2d_backward_filter, NULL);
    EXPECT_UNSUPPORTED(attention, NULL);
    EXPECT_UNSUPPORTED(softmax, NULL);
    EXPECT_UNSUPPORTED(reduce, NULL);
    EXPECT_UNSUPPORTED(unary, NULL);
    EXPECT_UNSUPPORTED(binary, NULL);
    EXPECT_UNSUPPORTED(gather, NULL);
    EXPECT_UNSUPPORTED(scatter, NULL);
    EXPECT_UNSUPPORTED(stream_create, 0, NULL);
    EXPECT_UNSUPPORTED(stream_destroy, NULL);
    EXPECT_UNSUPPORTED(stream_synchronize, NULL);
    EXPECT_UNSUPPORTED(event_create, 0, NULL);
    EXPECT_UNSUPPORTED(event_destroy, NULL);
    EXPECT_UNSUPPORTED(event_record, NULL, NULL);
    EXPECT_UNSUPPORTED(stream_wait_event, NULL, NULL);
    EXPECT_UNSUPPORTED(event_query, NULL, NULL);
    EXPECT_UNSUPPORTED(event_synchronize, NULL);
    EXPECT_UNSUPPORTED(memory_info, &memory);
    cb_error err = test_error();
    const cb_status status = be.api->get_extension(be.self, CB_MAP_ID, &extension, &err);
    assert_true(status == CB_NOT_FOUND || status == CB_UNSUPPORTED);
    HAS_TEXT(err.msg, "get_extension");
}

static void l14_a_slot_that_is_null_or_beyond_the_end_is_unsupported_by_name(void **state)
{
    (void)state;
    static const char *const mocks[] = { "good", "null_optional", "shorter_tail", "longer_table" };
    const cb_gemm_args args = { CB_ARGS(cb_gemm_args) };
    for (size_t i = 0; i < sizeof(mocks) / sizeof(mocks[0]); i++) {
        plant(mocks[i]);
        cb_loader *loader = open_loader();
        const cb_backend be = select_id(loader, mocks[i]);
        assert_int_equal(be.api->size, sizeof(compute_backend_v1));
        assert_string_equal(be.api->name, mocks[i]);
        expect_stubs(be);
        cb_error err = test_error();
        if (!strcmp(mocks[i], "null_optional"))
            EXPECT_UNSUPPORTED(gemm, &args);
        else
            TEST_OK(cb_gemm(be, &args, &err), &err);
        if (!strcmp(mocks[i], "shorter_tail"))
            EXPECT_UNSUPPORTED(info, "keys", NULL, NULL);
        else
            assert_string_equal(fact(be, "initialized"), "1");
        assert_int_equal(cb_softmax(be, NULL, NULL), CB_UNSUPPORTED);
        release(loader, be);
        close_loader(loader);
    }
}

/* ---- Plugins that are linked in ------------------------------------------------------------ */

/* A copy of the built-in mock's table that a test may break. */
static compute_backend_v1 broken;

static cb_status break_nothing(cb_negotiation *n)
{
    return cb_negotiate(n, &broken);
}

static void copy_builtin_table(void)
{
    cb_negotiation n;
    cb_negotiation_init(&n);
    assert_int_equal(cb_plugin_entry_builtin(&n), CB_OK);
    memcpy(&broken, n.table, sizeof(broken));
}

static cb_loader *open_builtins(const cb_builtin *const *builtins, uint64_t n)
{
    cb_error err = test_error();
    cb_loader *loader = NULL;
    const cb_loader_options options = { .size = sizeof(options),
                                        .builtins = builtins,
                                        .n_builtins = n };
    TEST_OK(cb_loader_open(&options, &loader, &err), &err);
    return loader;
}

static void every_required_slot_that_is_null_is_refused_by_its_name(void **state)
{
    (void)state;
    static const char *const slots[] = {
        "name",        "version",      "create",    "destroy",     "device_count",
        "device_info", "capabilities", "init",      "alloc",       "free",
        "copy_htod",   "copy_dtoh",    "copy_dtod", "synchronize", "supports",
    };
    const size_t first = offsetof(compute_backend_v1, name) / sizeof(void *);
    assert_int_equal(first + sizeof(slots) / sizeof(slots[0]),
                     CB_TABLE_REQUIRED_1_0 / sizeof(void *));
    const cb_builtin builtin = { .size = sizeof(builtin),
                                 .entry = break_nothing,
                                 .manifest = cb_plugin_manifest_builtin };
    const cb_builtin *const builtins[] = { &builtin };
    for (size_t i = 0; i < sizeof(slots) / sizeof(slots[0]); i++) {
        copy_builtin_table();
        memset((char *)&broken + (first + i) * sizeof(void *), 0, sizeof(void *));
        cb_loader *loader = open_builtins(builtins, 1);
        select_fails(loader, NULL, CB_NOT_FOUND);
        const cb_candidate c = candidate(loader, "builtin");
        assert_int_equal(c.state, CB_STATE_REFUSED);
        HAS_TEXT(c.reason, slots[i]);
        close_loader(loader);
    }
}

static void a_table_of_every_size_up_to_the_required_ones_is_refused(void **state)
{
    (void)state;
    const cb_builtin builtin = { .size = sizeof(builtin),
                                 .entry = break_nothing,
                                 .manifest = cb_plugin_manifest_builtin };
    const cb_builtin *const builtins[] = { &builtin };
    for (uint64_t size = 0; size <= CB_TABLE_REQUIRED_1_0; size += 4) {
        copy_builtin_table();
        broken.size = size;
        cb_loader *loader = open_builtins(builtins, 1);
        if (size < CB_TABLE_REQUIRED_1_0) {
            select_fails(loader, NULL, CB_NOT_FOUND);
            assert_int_equal(candidate(loader, "builtin").state, CB_STATE_REFUSED);
        } else {
            assert_string_equal(best(loader), "builtin");
        }
        close_loader(loader);
    }
}

static void a_builtin_comes_before_files_and_needs_no_file(void **state)
{
    (void)state;
    plant_as("same_id_as_builtin", "libcb_a.so");
    const cb_builtin builtin = { .size = sizeof(builtin),
                                 .entry = cb_plugin_entry_builtin,
                                 .manifest = cb_plugin_manifest_builtin };
    const cb_builtin *const builtins[] = { &builtin };
    cb_loader *loader = open_builtins(builtins, 1);
    const cb_backend be = select_id(loader, "builtin");
    assert_string_equal(fact(be, "helper"), "0");
    const cb_candidate c = candidate(loader, "builtin");
    assert_int_equal(c.state, CB_STATE_SELECTED);
    assert_string_equal(c.path, "");
    assert_string_equal(c.version, "1.2.3");
    assert_int_equal(candidate(loader, "libcb_a.so").state, CB_STATE_HIDDEN);
    release(loader, be);
    close_loader(loader);
}

static void a_builtin_whose_manifest_is_not_one_is_refused_and_costs_only_itself(void **state)
{
    (void)state;
    static const char *const manifests[] = {
        "",
        "abi=1.0\n",
        "abi=1.0\ndraft=1\nid=builtin\nversion=1.2.3\nclass=gpu\npriority=ten\nisa=any\n",
        "abi=1.0\ndraft=1\nid=Built In\nversion=1.2.3\nclass=gpu\npriority=10\nisa=any\n",
        "abi=1.0\ndraft=1\nid=builtin\nid=other\nversion=1.2.3\nclass=gpu\npriority=1\nisa=any\n",
        "abi=1\ndraft=1\nid=builtin\nversion=1.2.3\nclass=gpu\npriority=10\nisa=any\n",
        "no equals sign\n",
    };
    plant("good");
    for (size_t i = 0; i < sizeof(manifests) / sizeof(manifests[0]); i++) {
        const cb_builtin builtin = { .size = sizeof(builtin),
                                     .entry = cb_plugin_entry_builtin,
                                     .manifest = manifests[i] };
        const cb_builtin *const builtins[] = { &builtin };
        cb_loader *loader = open_builtins(builtins, 1);
        cb_error err = test_error();
        cb_candidate c = { .size = sizeof(c) };
        TEST_OK(cb_loader_candidate(loader, 0, &c, &err), &err);
        assert_int_equal(c.state, CB_STATE_REFUSED);
        assert_string_not_equal(c.reason, "");
        assert_string_equal(best(loader), "good");
        close_loader(loader);
    }
}

/* ---- The host's side ----------------------------------------------------------------------- */

static void a_host_that_knows_more_than_the_loader_is_a_mismatch_with_both_versions(void **state)
{
    (void)state;
    const cb_loader_options rows[] = {
        { .size = sizeof(rows[0]),
          .table_size = sizeof(compute_backend_v1) + 8,
          .abi_minor = CB_ABI_MINOR + 7,
          .abi_draft = CB_ABI_DRAFT },
        { .size = sizeof(rows[0]),
          .table_size = sizeof(compute_backend_v1),
          .abi_minor = CB_ABI_MINOR,
          .abi_draft = CB_ABI_DRAFT + 66 },
    };
    const char *const theirs[] = { text_of("1.%d", CB_ABI_MINOR + 7),
                                   text_of("%d", CB_ABI_DRAFT + 66) };
    for (size_t i = 0; i < 2; i++) {
        cb_error err = test_error();
        cb_loader *loader = NULL;
        TEST_STATUS(cb_loader_open_sized(&rows[i], &loader, &err), CB_ABI_MISMATCH, &err);
        assert_null(loader);
        HAS_TEXT(err.msg, theirs[i]);
        HAS_TEXT(err.msg, "1.0");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLACE_TEST(l14_a_faulty_plugin_costs_only_itself_and_its_fault_is_named),
        PLACE_TEST(l14_a_faulty_plugin_that_is_named_is_an_error_that_says_why),
        PLACE_TEST(a_fault_that_the_manifest_shows_is_found_without_running_the_plugin),
        PLACE_TEST(l14_a_slot_that_is_null_or_beyond_the_end_is_unsupported_by_name),
        PLACE_TEST(every_required_slot_that_is_null_is_refused_by_its_name),
        PLACE_TEST(a_table_of_every_size_up_to_the_required_ones_is_refused),
        PLACE_TEST(a_builtin_comes_before_files_and_needs_no_file),
        PLACE_TEST(a_builtin_whose_manifest_is_not_one_is_refused_and_costs_only_itself),
        PLACE_TEST(a_host_that_knows_more_than_the_loader_is_a_mismatch_with_both_versions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
