/* SPDX-License-Identifier: Apache-2.0 */
/* The list of groups, and what a case is: chosen by the filter, seeded, counted, reported. */
#include "suite.h"

#include "compute_backend_plugin.h"

#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct st_group *const groups[] = {
    &st_gemm,
    &st_gemm_mixed_precision,
    &st_batched_gemm,
    &st_conv2d_forward,
    &st_conv2d_backward_data,
    &st_conv2d_backward_filter,
    &st_conv2d_adjoint,
    &st_attention,
    &st_softmax,
    &st_reduce,
    &st_unary,
    &st_binary,
    &st_gather,
    &st_scatter,
    &st_memory,
    &st_streams,
    &st_supports,
};

bool st_full(const struct st_run *run)
{
    return run->options.mode == CB_SELFTEST_FULL;
}

static bool chosen(const char *filter, const char *spec)
{
    if (!filter)
        return true;
    if (strchr(filter, ':'))
        return fnmatch(filter, spec, 0) == 0;
    char subject[ST_SPEC_MAX];
    snprintf(subject, sizeof(subject), "%.*s", (int)strcspn(spec, ":"), spec);
    return fnmatch(filter, subject, 0) == 0;
}

bool st_begin(struct st_run *run, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(run->spec, sizeof(run->spec), format, list);
    va_end(list);
    if (!chosen(run->options.filter, run->spec))
        return false;
    run->random = run->options.seed ^ st_hash(run->spec);
    run->n_operands = 0;
    run->shift = ST_ANY_SHIFT;
    run->rule = "";
    run->text[0] = 0;
    run->outcome = CB_SELFTEST_PASSED;
    run->result = (cb_selftest_result){ .size = sizeof(run->result), .operand = "", .rule = "" };
    return true;
}

void st_end(struct st_run *run)
{
    st_buffers_free(run);
    if (run->outcome == ST_VOID)
        return;
    if (run->outcome == CB_SELFTEST_PASSED)
        run->summary.passed++;
    else if (run->outcome == CB_SELFTEST_FAILED)
        run->summary.failed++;
    else
        run->summary.skipped++;
    if (!run->options.report)
        return;
    run->result.outcome = run->outcome;
    run->result.spec = run->spec;
    run->result.text = run->text;
    run->options.report(run->options.ctx, &run->result);
}

void st_fail(struct st_run *run, const char *rule, const char *format, ...)
{
    if (run->outcome == CB_SELFTEST_FAILED)
        return;
    va_list list;
    va_start(list, format);
    vsnprintf(run->text, sizeof(run->text), format, list);
    va_end(list);
    run->outcome = CB_SELFTEST_FAILED;
    run->result.rule = rule;
}

void st_skip(struct st_run *run, const char *reason)
{
    if (run->outcome == CB_SELFTEST_FAILED)
        return;
    snprintf(run->text, sizeof(run->text), "%s", reason);
    run->outcome = CB_SELFTEST_SKIPPED;
}

void *st_host(struct st_run *run, uint64_t n, uint64_t element)
{
    void *memory = calloc(n ? n : 1, element);
    if (!memory)
        st_fail(run, "", "the self-test has no host memory for %" PRIu64 " elements", n);
    return memory;
}

bool st_status(struct st_run *run, const char *call, cb_status got, cb_status want,
               const cb_error *err)
{
    if (got == want)
        return true;
    st_fail(run, "a call answers the status that the contract gives for it",
            "%s: %s, not %s%s%.400s", call, cb_status_name(got), cb_status_name(want),
            err && got != CB_OK ? ": " : "", err && got != CB_OK ? err->msg : "");
    return false;
}

static void run_type(struct st_run *run, const struct st_group *group, uint32_t type)
{
    group->grid(run, type);
    if (!group->sample)
        return;
    const struct st_variant *variant;
    for (uint64_t i = 0; (variant = st_common_variant(i)) != NULL; i++)
        group->sample(run, type, variant);
    for (variant = group->faults; variant && variant->label; variant++)
        group->sample(run, type, variant);
}

cb_status cb_selftest_run(cb_backend be, const cb_selftest_options *options,
                          cb_selftest_summary *out, cb_error *err)
{
    if (!be.api || !be.self)
        return cb_error_set(err, CB_INVALID_ARGUMENT, "selftest", "be is not a backend");
    if (!out || out->size < sizeof(*out))
        return cb_error_set(err, CB_INVALID_ARGUMENT, "selftest", "out is NULL or too small");
    if (options && (options->size < sizeof(*options) || options->mode > CB_SELFTEST_FULL))
        return cb_error_set(err, CB_INVALID_ARGUMENT, "selftest",
                            "options have a bad size or mode");

    struct st_run run = { .be = be };
    cb_selftest_options_init(&run.options);
    if (options)
        run.options = *options;
    cb_selftest_summary_init(&run.summary);
    for (size_t i = 0; i < ST_COUNT(groups); i++) {
        const uint32_t *types = groups[i]->types;
        if (!types)
            run_type(&run, groups[i], 0);
        for (; types && *types; types++)
            run_type(&run, groups[i], *types);
    }
    *out = run.summary;
    return CB_OK;
}

int cb_selftest_group(uint64_t i, char name[CB_SELFTEST_NAME_MAX])
{
    for (size_t g = 0; g < ST_COUNT(groups); g++) {
        const uint32_t *types = groups[g]->types;
        uint64_t n = 1;
        while (types && types[n])
            n++;
        if (i < n) {
            snprintf(name, CB_SELFTEST_NAME_MAX, "%s:%s", groups[g]->name,
                     types ? st_type_name(types[i]) : "");
            return 1;
        }
        i -= n;
    }
    return 0;
}
