/* SPDX-License-Identifier: Apache-2.0 */
/* Golden results: every line of cases.txt and quirks.txt is one test, named by the line.
 *
 * The plugin under test runs with kernels=reference, unless CB_TEST_PLUGIN or CB_TEST_OPTIONS
 * chose otherwise; CB_TEST_EXACT=0 then says that its sums may run in another order. */
#include "golden.h"

#include <stdlib.h>
#include <string.h>

#include "framed.h"

/* Below every address that a backend hands out. */
#define NEVER_ALLOCATED (UINT64_C(1) << 61)

#define CASES  395
#define QUIRKS 39

static cb_backend backend;
static int exact = 1;
/* Lines of cases.txt, by route, and quirks that were judged to the end. */
static uint64_t passed[GOLDEN_ROUTES], passed_quirks;

/* ---- One line, once ---- */

struct buffers {
    struct framed in[3], out;
    struct case_array inputs[3];
    uint32_t n_inputs;
};

static void make_buffers(const struct case_line *line, uint32_t frame, struct buffers *b)
{
    static const char *const roles[] = { "@in0", "@in1", "@in2" };
    memset(b, 0, sizeof(*b));
    for (; b->n_inputs < 3 && case_find(line, roles[b->n_inputs]); b->n_inputs++) {
        const struct case_array in = case_array(line, roles[b->n_inputs]);
        b->inputs[b->n_inputs] = in;
        b->in[b->n_inputs] = framed_make(backend, in.width, in.count, in.data, frame);
    }
    const struct case_array out = case_array(line, "@out0");
    b->out = framed_make(backend, out.width, out.count, out.data, frame);
}

static void free_buffers(struct buffers *b)
{
    for (uint32_t i = 0; i < b->n_inputs; i++)
        framed_free(&b->in[i]);
    framed_free(&b->out);
}

static void point_operands(const struct case_line *line, const struct buffers *b,
                           struct golden_operands *at)
{
    memset(at, 0, sizeof(*at));
    for (uint32_t i = 0; i < b->n_inputs; i++)
        at->in[i] = b->in[i].ptr;
    at->out = b->out.ptr;
    at->indices = case_array_if_any(line, "@idx").data;

    if (case_is(line, "inplace", "1"))
        at->in[0] = at->out;
    const char *bad = case_find(line, "badptr");
    if (!bad)
        return;
    if (strcmp(bad, "in0") == 0)
        at->in[0] = NEVER_ALLOCATED;
    else if (strcmp(bad, "in1") == 0)
        at->in[1] = NEVER_ALLOCATED;
    else if (strcmp(bad, "out0") == 0)
        at->out = NEVER_ALLOCATED;
    else
        case_fail(line, "badptr=%s is no operand", bad);
}

static void assert_explained(const struct case_line *line, const cb_error *err, cb_status status)
{
    if (status == CB_OK)
        return;
    if (err->code != status || !err->msg[0] || !err->where[0])
        case_fail(line, "refused without an explanation: %s: '%s': '%s'", cb_status_name(err->code),
                  err->where, err->msg);
}

static void run_line(const struct case_line *line, const struct golden_expectation *expect,
                     uint32_t frame)
{
    struct buffers b;
    struct golden_operands at;
    cb_error err = test_error();
    make_buffers(line, frame, &b);
    point_operands(line, &b, &at);

    const cb_status status = golden_call(backend, line, &at, &err);
    case_skip_if_unsupported(line, status, &err);
    TEST_STATUS(status, expect->status, &err);
    assert_explained(line, &err, status);

    void *got = malloc(b.out.count * b.out.width + 1);
    assert_non_null(got);
    framed_read(&b.out, got);
    case_judge(line, "output", &expect->output, expect->ref, expect->bound, got);
    free(got);
    for (uint32_t i = 0; i < b.n_inputs; i++)
        framed_assert_unchanged(&b.in[i], b.inputs[i].data);
    free_buffers(&b);
}

/* ---- One line, one test ---- */

static void check_through_table(const struct case_line *line)
{
    struct golden_expectation expect;
    golden_expect(line, exact, &expect);
    assert_int_equal(expect.output.count, case_array(line, "@out0").count);
    run_line(line, &expect, 0);
    if (expect.status == CB_OK) /* a frame would hide an operand that is too short */
        run_line(line, &expect, FRAME_ELEMENTS);
    golden_expectation_free(&expect);
}

static void check_refused_by_fields(const struct case_line *line)
{
    assert_true(case_is(line, "status", "invalid_argument"));
    print_message("# %s: the runner refuses it, the fields of cb_conv2d_args cannot say it\n",
                  line->name);
}

static void golden_line(void **state)
{
    const struct case_line *line = *state;
    if (test_big_endian())
        test_skip(line->name, "the stored arrays are little-endian");
    const enum golden_route route = golden_route(line);
    switch (route) {
    case GOLDEN_TABLE: check_through_table(line); break;
    case GOLDEN_ROUNDING: golden_check_rounding(line); break;
    default: check_refused_by_fields(line); break;
    }
    if (golden_is_quirk(line))
        passed_quirks++;
    else
        passed[route]++;
}

static void every_line_is_accounted_for(void **state)
{
    (void)state;
    if (test_big_endian())
        test_skip(__func__, "the stored arrays are little-endian");
    if (getenv("CB_TEST_PLUGIN"))
        test_skip(__func__, "a chosen backend may lack ops");
    assert_int_equal(passed[GOLDEN_TABLE], 386);
    assert_int_equal(passed[GOLDEN_ROUNDING], 3);
    assert_int_equal(passed[GOLDEN_FIELDS], 6);
    assert_int_equal(passed[GOLDEN_TABLE] + passed[GOLDEN_ROUNDING] + passed[GOLDEN_FIELDS], CASES);
    assert_int_equal(passed_quirks, QUIRKS);
}

/* ---- The group ---- */

static int open_backend(void **state)
{
    static const char *const reference[] = { "kernels=reference", NULL };
    (void)state;
    const int chosen = getenv("CB_TEST_PLUGIN") || getenv("CB_TEST_OPTIONS");
    const char *order = getenv("CB_TEST_EXACT");
    exact = !order || strcmp(order, "0") != 0;
    backend = test_open(chosen ? NULL : reference);
    return 0;
}

static int close_backend(void **state)
{
    (void)state;
    test_close(backend);
    return 0;
}

static void add_tests(struct CMUnitTest *tests, const struct case_file *file)
{
    for (uint64_t i = 0; i < file->count; i++) {
        tests[i].name = file->lines[i].name;
        tests[i].test_func = golden_line;
        tests[i].initial_state = &file->lines[i];
    }
}

int main(void)
{
    struct case_file cases = { 0 }, quirks = { 0 };
    struct CMUnitTest *tests = NULL;
    int failed = 1;
    if (cases_load(&cases, GOLDEN_DATA "/cases.txt", GOLDEN_DATA "/data.bin") != 0 ||
        cases_load(&quirks, GOLDEN_DATA "/quirks.txt", GOLDEN_DATA "/data.bin") != 0)
        goto out;

    const uint64_t lines = cases.count + quirks.count;
    tests = calloc(lines + 1, sizeof(*tests));
    if (!tests)
        goto out;
    add_tests(tests, &cases);
    add_tests(tests + cases.count, &quirks);
    tests[lines].name = "every_line_is_accounted_for";
    tests[lines].test_func = every_line_is_accounted_for;
    failed = _cmocka_run_group_tests("golden", tests, lines + 1, open_backend, close_backend);

out:
    free(tests);
    cases_unload(&cases);
    cases_unload(&quirks);
    return failed != 0; /* a count of 256 failures would be an exit status of 0 */
}
