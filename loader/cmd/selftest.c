/* SPDX-License-Identifier: Apache-2.0 */
#include "selftest_cmd.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_TIMEOUT 60 /* seconds */
#define SUBJECTS_MAX    64

static const struct format *const formats[] = { &format_text, &format_tap, &format_junit,
                                                &format_json };
#define FORMAT_COUNT (sizeof(formats) / sizeof(formats[0]))

/* ---- The command line ---- */

/* Decimal, or hexadecimal after 0x; within bounds. An option that was not given leaves *out. */
static bool read_number(const struct arguments *a, uint32_t option, uint64_t least, uint64_t most,
                        uint64_t *out)
{
    const char *text = option_value(a, option);
    char *end = NULL;
    if (!text)
        return true;
    errno = 0;
    const uint64_t value = strtoull(text, &end, strncmp(text, "0x", 2) ? 10 : 16);
    if (*text >= '0' && *text <= '9' && !*end && !errno && value >= least && value <= most) {
        *out = value;
        return true;
    }
    complain("%s: '%s' is no number from %llu to %llu", option_name(option), text,
             (unsigned long long)least, (unsigned long long)most);
    return false;
}

static bool read_shard(const struct arguments *a, struct plan *plan)
{
    unsigned long long shard, shards;
    int used = 0;
    const char *text = option_value(a, OPTION_SHARD);
    if (!text)
        return true;
    if (*text < '0' || *text > '9' || sscanf(text, "%llu/%llu%n", &shard, &shards, &used) != 2 ||
        text[used] || !shard || shard > shards) {
        complain("--shard: '%s' is not I/N with I from 1 to N", text);
        return false;
    }
    plan->shard = shard - 1;
    plan->shards = shards;
    return true;
}

static bool read_format(const struct arguments *a, const struct format **out)
{
    const char *text = option_value(a, OPTION_FORMAT);
    const char *names[FORMAT_COUNT];
    *out = &format_text;
    for (uint64_t i = 0; text && i < FORMAT_COUNT; i++) {
        names[i] = formats[i]->name;
        if (!strcmp(names[i], text)) {
            *out = formats[i];
            return true;
        }
    }
    if (text)
        complain_unknown("format", text, names, FORMAT_COUNT);
    return !text;
}

/* The subjects of groups, each once. */
static uint64_t list_subjects(char subjects[SUBJECTS_MAX][CB_SELFTEST_NAME_MAX],
                              const char *names[SUBJECTS_MAX])
{
    uint64_t n = 0;
    for (uint64_t i = 0; n < SUBJECTS_MAX && cb_selftest_group(i, subjects[n]); i++) {
        subjects[n][strcspn(subjects[n], ":")] = '\0';
        if (n && !strcmp(subjects[n], subjects[n - 1]))
            continue;
        names[n] = subjects[n];
        n++;
    }
    return n;
}

/* Whether what stands before the colon is the subject of any group. */
static bool check_op(const char *op)
{
    char subjects[SUBJECTS_MAX][CB_SELFTEST_NAME_MAX], wanted[CB_SELFTEST_NAME_MAX];
    const char *names[SUBJECTS_MAX];
    snprintf(wanted, sizeof(wanted), "%.*s", (int)strcspn(op, ":"), op);
    const uint64_t n = list_subjects(subjects, names);
    for (uint64_t i = 0; i < n; i++)
        if (!fnmatch(wanted, names[i], 0))
            return true;
    complain_unknown("op", wanted, names, n);
    return false;
}

/* Joins what each --op says. */
static bool read_ops(const struct arguments *a, char out[OPS_TEXT_MAX])
{
    uint64_t used = 0;
    out[0] = '\0';
    for (uint32_t i = 0; i < a->n_ops; i++) {
        if (!check_op(a->ops[i]))
            return false;
        const uint64_t room = OPS_TEXT_MAX - used;
        const int n = snprintf(out + used, room, "%s%s", i ? " " : "", a->ops[i]);
        if (n < 0 || (uint64_t)n >= room) {
            complain("--op: more than %d letters in all", OPS_TEXT_MAX - 1);
            return false;
        }
        used += (uint64_t)n;
    }
    return true;
}

static bool check_after(const char *after)
{
    char name[CB_SELFTEST_NAME_MAX];
    for (uint64_t i = 0; after && cb_selftest_group(i, name); i++)
        if (!strcmp(name, after))
            return true;
    if (after)
        complain("--after: there is no group '%s'; cb selftest prints their names", after);
    return !after;
}

static bool read_plan(const struct arguments *a, struct plan *plan)
{
    uint64_t seconds = DEFAULT_TIMEOUT;
    *plan =
        (struct plan){ .a = a,
                       .after = option_value(a, OPTION_AFTER),
                       .against = option_value(a, OPTION_AGAINST),
                       .jobs = 1,
                       .mode = a->options & OPTION_FULL ? CB_SELFTEST_FULL : CB_SELFTEST_QUICK };
    if ((a->options & OPTION_FULL) && (a->options & OPTION_QUICK)) {
        complain("--quick and --full exclude each other");
        return false;
    }
    if (a->n_backend_options && a->n_operands != 2) {
        complain("--option needs one ID, whose option it is");
        return false;
    }
    const bool good = read_number(a, OPTION_SEED, 0, UINT64_MAX, &plan->seed) &&
                      read_number(a, OPTION_JOBS, 1, JOBS_MAX, &plan->jobs) &&
                      read_number(a, OPTION_TIMEOUT, 1, 1000000, &seconds) && read_shard(a, plan) &&
                      read_ops(a, plan->ops) && check_after(plan->after);
    plan->timeout_ms = seconds * 1000;
    return good;
}

/* ---- The run ---- */

/* The one backend there is, in this process. */
struct alone {
    const struct session *session;
    struct backend *backend;
};

static void hear_alone(void *ctx, const struct saying *saying)
{
    const struct alone *a = ctx;
    a->backend->seconds += saying->seconds;
    tally_hear(a->session, a->backend, saying);
}

static int run_session(struct session *s, const struct format *format)
{
    if (s->plan->a->options & OPTION_IN_PROCESS) {
        for (uint64_t i = 0; i < s->n_backends; i++) {
            struct alone alone = { s, &s->backends[i] };
            judge(s->plan, alone.backend->id, hear_alone, &alone);
        }
    } else if (s->n_backends && !run_children(s)) {
        return EXIT_TROUBLE;
    }
    format->end(s);
    return session_exit_code(s);
}

static int judge_all(struct session *s, const struct format *format, const char *const *ids,
                     uint64_t n)
{
    int code = EXIT_TROUBLE;
    s->backends = calloc(n + 1, sizeof(*s->backends));
    if (!s->backends)
        complain("out of memory");
    while (s->backends && s->n_backends < n &&
           backend_init(&s->backends[s->n_backends], ids[s->n_backends]))
        s->n_backends++;
    if (s->backends && s->n_backends == n)
        code = run_session(s, format);
    for (uint64_t i = 0; i < s->n_backends; i++)
        backend_free(&s->backends[i]);
    free(s->backends);
    return code;
}

static int select_and_judge(const struct plan *plan, const struct format *format)
{
    const char **ids = NULL;
    uint64_t n = 0;
    struct session s = { .plan = plan, .live = format->live };
    cb_loader *loader = open_loader(plan->a);
    if (!loader)
        return EXIT_TROUBLE;
    int code = chosen_backends(plan->a, loader, &ids, &n);
    if (code == EXIT_OK && plan->against && !backend_is_known(loader, plan->against))
        code = EXIT_USAGE;
    if (code == EXIT_OK)
        code = judge_all(&s, format, ids, n);
    free(ids);
    cb_loader_close(loader, NULL);
    return code;
}

int cmd_selftest(const struct arguments *a)
{
    struct plan plan;
    const struct format *format;
    uint64_t fd = 0;
    if (!read_plan(a, &plan) || !read_format(a, &format) ||
        !read_number(a, OPTION_RESULTS, 3, 1000000, &fd))
        return EXIT_USAGE;
    if (fd && (!(a->options & OPTION_IN_PROCESS) || a->n_operands != 2)) {
        complain("--results needs --in-process and one ID");
        return EXIT_USAGE;
    }
    return fd ? judge_for_parent(&plan, a->operands[1], (int)fd) : select_and_judge(&plan, format);
}

void selftest_help(void)
{
    char subjects[SUBJECTS_MAX][CB_SELFTEST_NAME_MAX];
    const char *names[SUBJECTS_MAX];
    const uint64_t n = list_subjects(subjects, names);
    fputs("\nWhat --op knows, each with an optional :CASE-GLOB:\n ", stdout);
    for (uint64_t i = 0, column = 1; i < n; i++) {
        column += strlen(names[i]) + 1;
        if (column > 78) {
            fputs("\n ", stdout);
            column = 2 + strlen(names[i]);
        }
        printf(" %s", names[i]);
    }
    putchar('\n');
}

void selftest_exit_codes(void)
{
    printf("  %d  cases passed, and none failed\n"
           "  %d  a case failed\n"
           "  %d  the command was used wrongly, or names a backend or op that there is not\n"
           "  %d  nothing ran\n"
           "  %d  a backend was refused, failed to open, or has no device\n"
           "  %d  a backend crashed, hung or ended its process\n"
           "Of several, the worst: %d, %d, %d, %d.\n",
           EXIT_OK, EXIT_TROUBLE, EXIT_USAGE, EXIT_NOTHING_RAN, EXIT_REFUSED, EXIT_BROKEN,
           EXIT_BROKEN, EXIT_TROUBLE, EXIT_REFUSED, EXIT_NOTHING_RAN);
}
