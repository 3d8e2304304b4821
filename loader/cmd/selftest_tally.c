/* SPDX-License-Identifier: Apache-2.0 */
#include "selftest_cmd.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void copy(char *to, uint64_t size, const char *from)
{
    snprintf(to, size, "%s", from);
}
#define COPY(to, from) copy(to, sizeof(to), from)

/* The convolutions together are judged as one more op. */
static bool begins_with_op(const char *name)
{
    static const char adjoint[] = "conv2d_adjoint";
    const size_t size = strcspn(name, ":");
    for (uint32_t i = 0; i < CB_OP_COUNT; i++)
        if (strlen(cb_op_name(i)) == size && !strncmp(name, cb_op_name(i), size))
            return true;
    return sizeof(adjoint) - 1 == size && !strncmp(name, adjoint, size);
}

bool backend_init(struct backend *b, const char *id)
{
    char name[CB_SELFTEST_NAME_MAX];
    *b = (struct backend){ .id = id };
    while (cb_selftest_group(b->n_groups, name))
        b->n_groups++;
    b->groups = calloc(b->n_groups, sizeof(*b->groups));
    if (!b->groups) {
        complain("out of memory");
        return false;
    }
    for (uint64_t i = 0; i < b->n_groups; i++) {
        cb_selftest_group(i, b->groups[i].name);
        b->groups[i].of_op = begins_with_op(b->groups[i].name);
    }
    return true;
}

void backend_free(struct backend *b)
{
    free(b->groups);
}

static struct group *group_named(struct backend *b, const char *name, uint64_t size)
{
    for (uint64_t i = 0; i < b->n_groups; i++)
        if (strlen(b->groups[i].name) == size && !strncmp(b->groups[i].name, name, size))
            return &b->groups[i];
    return NULL;
}

struct group *group_of_spec(struct backend *b, const char *spec)
{
    struct group *typed = group_named(b, spec, strcspn(spec, ","));
    return typed ? typed : group_named(b, spec, strcspn(spec, ":") + 1);
}

static void fill(struct failure *f, const cb_selftest_result *r)
{
    COPY(f->spec, r->spec);
    COPY(f->text, r->text);
    COPY(f->rule, r->rule);
    COPY(f->operand, r->operand);
    f->index = r->index;
    f->got = r->got;
    f->want = r->want;
    f->error = r->error;
    f->bound = r->bound;
}

static void keep_failure(const struct session *s, struct backend *b, struct group *g,
                         const cb_selftest_result *r, bool broken)
{
    if (g->n_failures == FAILURES_KEPT)
        return;
    struct failure *f = &g->failures[g->n_failures++];
    fill(f, r);
    f->broken = broken;
    if (s->live)
        s->live(s, b, f);
}

static void keep_reason(struct group *g, const cb_selftest_result *r)
{
    uint64_t i = 0;
    while (i < g->n_reasons &&
           (g->reasons[i].outcome != r->outcome ||
            strncmp(g->reasons[i].text, r->text, sizeof(g->reasons[i].text) - 1) != 0))
        i++;
    if (i == REASONS_KEPT) /* all others are counted with the last */
        i--;
    else if (i == g->n_reasons) {
        g->reasons[i].outcome = r->outcome;
        COPY(g->reasons[i].text, r->text);
        g->n_reasons++;
    }
    g->reasons[i].count++;
}

/* In units of the bound; infinite where the bits must be equal, or one of the two is no number. */
static double apart(double error, double bound)
{
    const double ratio = error / bound;
    return isnan(ratio) ? INFINITY : ratio;
}

static void keep_difference(struct group *g, const cb_selftest_result *r)
{
    if (!*r->operand || (g->differs && apart(r->error, r->bound) <=
                                           apart(g->difference.error, g->difference.bound)))
        return;
    g->differs = true;
    fill(&g->difference, r);
}

static void count(const struct session *s, struct backend *b, const struct saying *saying)
{
    const cb_selftest_result *r = &saying->result;
    struct group *g = group_named(b, r->group, strlen(r->group));
    if (!g)
        return;
    g->counts[r->outcome]++;
    b->counts[r->outcome]++;
    g->seconds += saying->seconds;
    g->compared += r->compared;
    if (r->outcome == CB_SELFTEST_FAILED)
        keep_failure(s, b, g, r, false);
    else if (r->outcome == CB_SELFTEST_PASSED)
        keep_difference(g, r);
    else
        keep_reason(g, r);
}

void tally_hear(const struct session *s, struct backend *b, const struct saying *saying)
{
    switch (saying->kind) {
    case SAYS_OPENED:
        b->opened = true;
        COPY(b->version, saying->text);
        COPY(b->device, saying->text2);
        break;
    case SAYS_REFUSED:
        b->refused = true;
        COPY(b->why, saying->text);
        break;
    case SAYS_RESULT: count(s, b, saying); break;
    default: break;
    }
}

void tally_broken(const struct session *s, struct backend *b, const char *spec, const char *how)
{
    static const char rule[] = "a call returns: it never crashes, exits or hangs";
    struct group *g = spec ? group_of_spec(b, spec) : NULL;
    const cb_selftest_result r = { .spec = spec, .text = how, .rule = rule, .operand = "" };
    b->broken++;
    if (g) {
        g->broken++;
        keep_failure(s, b, g, &r, true);
    } else {
        COPY(b->why, how);
    }
}

/* Whether every case of an op was left out, so that what passed says nothing of what it computes.
 */
static bool only_skips_ops(const struct backend *b)
{
    uint64_t judged = 0, left_out = 0;
    for (uint64_t i = 0; i < b->n_groups; i++) {
        const uint64_t *n = b->groups[i].counts;
        if (!b->groups[i].of_op)
            continue;
        judged += n[CB_SELFTEST_PASSED] + n[CB_SELFTEST_FAILED];
        left_out += n[CB_SELFTEST_SKIPPED] + n[CB_SELFTEST_UNJUDGED];
    }
    return left_out && !judged;
}

int backend_exit_code(const struct backend *b)
{
    if (b->broken)
        return EXIT_BROKEN;
    if (b->counts[CB_SELFTEST_FAILED])
        return EXIT_TROUBLE;
    if (b->refused)
        return EXIT_REFUSED;
    return !b->counts[CB_SELFTEST_PASSED] || only_skips_ops(b) ? EXIT_NOTHING_RAN : EXIT_OK;
}

/* The worst that happened. */
int session_exit_code(const struct session *s)
{
    static const int worst_first[] = { EXIT_BROKEN, EXIT_TROUBLE, EXIT_REFUSED, EXIT_NOTHING_RAN };
    for (uint64_t k = 0; k < sizeof(worst_first) / sizeof(worst_first[0]); k++)
        for (uint64_t i = 0; i < s->n_backends; i++)
            if (backend_exit_code(&s->backends[i]) == worst_first[k])
                return worst_first[k];
    return s->n_backends ? EXIT_OK : EXIT_NOTHING_RAN;
}

/* Within single quotes where a shell would see more than a word. */
static void add_word(struct text *out, const char *before, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-+./,:@%";
    if (*word && !word[strspn(word, plain)]) {
        cbl_add(out, "%s%s", before, word);
        return;
    }
    cbl_add(out, "%s'", before);
    while (*word) {
        const size_t size = strcspn(word, "'");
        cbl_add(out, "%.*s%s", (int)size, word, word[size] ? "'\\''" : "");
        word += size + (word[size] != '\0');
    }
    cbl_add(out, "'");
}

void repeat_line(const struct plan *plan, const char *id, const char *spec, struct text *out)
{
    const struct arguments *a = plan->a;
    cbl_add(out, "cb selftest");
    add_word(out, " ", id);
    if (a->config_file)
        add_word(out, " --config ", a->config_file);
    for (uint32_t i = 0; i < a->n_backend_options; i++)
        add_word(out, " --option ", a->backend_options[i]);
    if (plan->mode == CB_SELFTEST_FULL)
        cbl_add(out, " --full");
    add_word(out, " --op ", spec);
    cbl_add(out, " --seed %llu", (unsigned long long)plan->seed);
}
