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
    &st_late,
    &st_profile,
    &st_supports,
    &st_lifecycle,
    &st_devices,
    &st_info,
    &st_map,
    &st_state,
};

bool st_full(const struct st_run *run)
{
    return run->options.mode == CB_SELFTEST_FULL;
}

static bool chosen_by(const char *glob, const char *group, const char *spec)
{
    if (!strcmp(glob, group))
        return true;
    if (strchr(glob, ':'))
        return fnmatch(glob, spec, 0) == 0;
    char subject[ST_SPEC_MAX];
    snprintf(subject, sizeof(subject), "%.*s", (int)strcspn(spec, ":"), spec);
    return fnmatch(glob, subject, 0) == 0;
}

static bool chosen(const char *filter, const char *group, const char *spec)
{
    if (!filter)
        return true;
    for (filter += strspn(filter, " "); *filter; filter += strspn(filter, " ")) {
        char glob[ST_SPEC_MAX];
        const size_t n = strcspn(filter, " ");
        snprintf(glob, sizeof(glob), "%.*s", (int)n, filter);
        if (n < sizeof(glob) && chosen_by(glob, group, spec))
            return true;
        filter += n;
    }
    return false;
}

bool st_begin(struct st_run *run, const char *format, ...)
{
    va_list list;
    const locale_t host = uselocale(run->locale);
    va_start(list, format);
    vsnprintf(run->spec, sizeof(run->spec), format, list);
    va_end(list);
    uselocale(host);
    const uint64_t hash = st_hash(run->spec);
    if (!chosen(run->options.filter, run->group, run->spec) || !st_seen_add(&run->seen, hash))
        return false;
    run->random = run->options.seed ^ hash;
    run->n_operands = 0;
    run->shift = ST_ANY_SHIFT;
    run->rule = "";
    run->text[0] = 0;
    run->outcome = CB_SELFTEST_PASSED;
    run->result = (cb_selftest_result){ .size = sizeof(run->result), .operand = "", .rule = "" };
    if (run->options.begin)
        run->options.begin(run->options.ctx, run->spec);
    return true;
}

void st_end(struct st_run *run)
{
    uint64_t *const counts[] = { &run->summary.passed, &run->summary.failed, &run->summary.skipped,
                                 &run->summary.unjudged };
    st_buffers_free(run);
    if (run->outcome == ST_VOID)
        return;
    ++*counts[run->outcome];
    if (!run->options.report)
        return;
    run->result.outcome = run->outcome;
    run->result.group = run->group;
    run->result.spec = run->spec;
    run->result.text = run->text;
    run->options.report(run->options.ctx, &run->result);
}

void st_fail(struct st_run *run, const char *rule, const char *format, ...)
{
    if (run->outcome == CB_SELFTEST_FAILED)
        return;
    va_list list;
    const locale_t host = uselocale(run->locale);
    va_start(list, format);
    vsnprintf(run->text, sizeof(run->text), format, list);
    va_end(list);
    uselocale(host);
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

void st_unjudged(struct st_run *run, const char *format, ...)
{
    if (run->outcome != CB_SELFTEST_PASSED)
        return;
    va_list list;
    const locale_t host = uselocale(run->locale);
    va_start(list, format);
    vsnprintf(run->text, sizeof(run->text), format, list);
    va_end(list);
    uselocale(host);
    run->outcome = CB_SELFTEST_UNJUDGED;
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

bool st_offered(struct st_run *run, const char *call, cb_status got, const cb_error *err)
{
    if (got != CB_UNSUPPORTED)
        return st_status(run, call, got, CB_OK, err);
    st_skip(run, err->msg);
    return false;
}

void st_cases(struct st_run *run, const char *subject, const struct st_case *cases, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        if (!st_begin(run, "%s:%s", subject, cases[i].name))
            continue;
        cases[i].check(run);
        st_end(run);
    }
}

static void run_type(struct st_run *run, const struct st_group *group, uint32_t type)
{
    /* Only samples need the peers, and what surrounds the ops is better judged without them. */
    if (!group->sample)
        st_peers_close(run);
    group->grid(run, type);
    if (!group->sample)
        return;
    const struct st_variant *variant;
    for (uint64_t i = 0; (variant = st_common_variant(i)) != NULL; i++)
        group->sample(run, type, variant);
    for (variant = group->faults; variant && variant->label; variant++)
        group->sample(run, type, variant);
}

/* Group i of those that have a name; NULL beyond the last. */
static const struct st_group *group_at(uint64_t i, uint32_t *type)
{
    for (size_t g = 0; g < ST_COUNT(groups); g++) {
        const uint32_t *types = groups[g]->types;
        uint64_t n = 1;
        while (types && types[n])
            n++;
        if (i < n) {
            *type = types ? types[i] : 0;
            return groups[g];
        }
        i -= n;
    }
    return NULL;
}

int cb_selftest_group(uint64_t i, char name[CB_SELFTEST_NAME_MAX])
{
    uint32_t type;
    const struct st_group *group = group_at(i, &type);
    if (group)
        snprintf(name, CB_SELFTEST_NAME_MAX, "%s:%s", group->name, type ? st_type_name(type) : "");
    return group != NULL;
}

/* Where a run begins. False: there is no group of that name. */
static bool first_group(const char *after, uint64_t *first)
{
    char name[CB_SELFTEST_NAME_MAX];
    *first = 0;
    while (after && cb_selftest_group((*first)++, name)) {
        if (!strcmp(after, name))
            return true;
    }
    return !after;
}

static cb_status check_options(const cb_selftest_options *o, cb_error *err)
{
    uint64_t first;
    const char *why = NULL;
    if (o->size < sizeof(*o) || o->mode > CB_SELFTEST_FULL)
        why = "options have a bad size or mode";
    else if (o->shards ? o->shard >= o->shards : o->shard != 0)
        why = "options.shard is not below options.shards";
    else if (!o->open != !o->close)
        why = "options have one of open and close";
    else if (!first_group(o->after, &first))
        why = "options.after is no group";
    return why ? cb_error_set(err, CB_INVALID_ARGUMENT, "selftest", why) : CB_OK;
}

cb_status cb_selftest_run(cb_backend be, const cb_selftest_options *options,
                          cb_selftest_summary *out, cb_error *err)
{
    if (!be.api || !be.self)
        return cb_error_set(err, CB_INVALID_ARGUMENT, "selftest", "be is not a backend");
    if (!out || out->size < sizeof(*out))
        return cb_error_set(err, CB_INVALID_ARGUMENT, "selftest", "out is NULL or too small");
    if (options && check_options(options, err) != CB_OK)
        return CB_INVALID_ARGUMENT;

    struct st_run run = { .be = be, .locale = newlocale(LC_ALL_MASK, "C", (locale_t)0) };
    cb_selftest_options_init(&run.options);
    if (options)
        run.options = *options;
    cb_selftest_summary_init(&run.summary);
    for (uint64_t k = 0; k < ST_ASPECTS; k++)
        run.aspects[k] = st_aspects[k].look();
    const struct st_group *group;
    uint32_t type;
    uint64_t i;
    for (first_group(run.options.after, &i); (group = group_at(i, &type)) != NULL; i++) {
        if (run.options.shards && i % run.options.shards != run.options.shard)
            continue;
        cb_selftest_group(i, run.group);
        run_type(&run, group, type);
        st_seen_free(&run.seen);
    }
    st_peers_close(&run);
    if (run.locale)
        freelocale(run.locale);
    *out = run.summary;
    return CB_OK;
}
