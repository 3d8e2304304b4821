/* SPDX-License-Identifier: Apache-2.0 */
/* The expected results of ONNX's own backend tests: every line of index.txt is one test, named by
 * the line. test/data/onnx_cases/README.md has the format and the tolerance. */
#include "onnx.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LINES     192
#define UNDIVIDED 11 /* lines whose op ends in _ext */

static cb_backend backend;
static uint64_t passed, passed_undivided;

/* ONNX compares with 1e-7 + 1e-3 |want|; this is what its reference run needed, times 4. */
static double *tolerances(const struct case_array *want, double relative)
{
    double *bound = malloc((want->count + 1) * sizeof(*bound));
    assert_non_null(bound);
    for (uint64_t i = 0; i < want->count; i++)
        bound[i] = 4 * relative * (fabs(case_element(want, want->data, i)) + 1e-3);
    return bound;
}

static void judge(const struct case_line *line, const void *got)
{
    const struct case_array want = case_array(line, "y");
    const double relative = onnx_tolerance(line);
    double *bound = relative > 0 ? tolerances(&want, relative) : NULL;
    case_judge(line, "y", &want, NULL, bound, got);
    free(bound);
}

static void onnx_line(void **state)
{
    const struct case_line *line = *state;
    if (test_big_endian())
        test_skip(line->name, "the stored arrays are little-endian");
    void *got = onnx_run(backend, line);
    judge(line, got);
    free(got);
    passed++;
    passed_undivided += onnx_is_undivided(line);
}

static void every_line_is_accounted_for(void **state)
{
    (void)state;
    if (test_big_endian())
        test_skip(__func__, "the stored arrays are little-endian");
    if (getenv("CB_TEST_PLUGIN"))
        test_skip(__func__, "a chosen backend may lack ops");
    assert_int_equal(passed, LINES);
    assert_int_equal(passed_undivided, UNDIVIDED);
}

static int open_backend(void **state)
{
    (void)state;
    backend = test_open(NULL);
    return 0;
}

static int close_backend(void **state)
{
    (void)state;
    test_close(backend);
    return 0;
}

int main(void)
{
    struct case_file file;
    int failed = 1;
    if (cases_load(&file, ONNX_DATA "/index.txt", ONNX_DATA "/data.bin") != 0)
        return failed;
    struct CMUnitTest *tests = calloc(file.count + 1, sizeof(*tests));
    if (!tests)
        goto out;
    for (uint64_t i = 0; i < file.count; i++) {
        tests[i].name = file.lines[i].name;
        tests[i].test_func = onnx_line;
        tests[i].initial_state = &file.lines[i];
    }
    tests[file.count].name = "every_line_is_accounted_for";
    tests[file.count].test_func = every_line_is_accounted_for;
    failed = _cmocka_run_group_tests("onnx", tests, file.count + 1, open_backend, close_backend);
    free(tests);

out:
    cases_unload(&file);
    return failed != 0; /* a count of 256 failures would be an exit status of 0 */
}
