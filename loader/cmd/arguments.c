/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd.h"

#include <stdio.h>
#include <string.h>

static const struct option options[] = {
    { "--after", "GROUP", "begin with the group of cases behind this one", OPTION_AFTER },
    { "--against", "ID", "say where the backend is farthest from this one", OPTION_AGAINST },
    { "--backend", "ID", "use this backend, or fail; bench takes a list", OPTION_BACKEND },
    { "--config", "FILE", "read this configuration instead of CB_CONFIG", OPTION_CONFIG },
    { "--csv", NULL, "print CSV instead of text", OPTION_CSV },
    { "--format", "text|tap|junit|json", "print this instead of text", OPTION_FORMAT },
    { "--full", NULL, "run whole grids: minutes", OPTION_FULL },
    { "--help", NULL, "say how the command is used", OPTION_HELP },
    { "--in-process", NULL, "judge in this process, for a debugger: a crash ends it",
      OPTION_IN_PROCESS },
    { "--jobs", "N", "run so many children at once; 1 unless given", OPTION_JOBS },
    { "--json", NULL, "print JSON instead of text", OPTION_JSON },
    { "--min-time", "MS", "repeat calls until this many milliseconds are measured (10)",
      OPTION_MIN_TIME },
    { "--matrix", NULL, "print a table in Markdown; this is the default", OPTION_MATRIX },
    { "--op", "GLOB[:CASE]", "run only such ops and, behind a colon, such cases; may be repeated",
      OPTION_OP },
    { "--option", "KEY=VALUE", "give that backend this option; may be repeated", OPTION_OPTION },
    { "--output", "FILE", "or -o: write the result here; - is standard output", OPTION_OUTPUT },
    { "--peer", "blas:PATH", "compare with this library of dgemm_ and sgemm_; may be repeated",
      OPTION_PEER },
    { "--quick", NULL, "run a sample of each grid: seconds; this is the default", OPTION_QUICK },
    { "--redact", NULL, "print ~ for each person's home directory", OPTION_REDACT },
    { "--reps", "N", "measure each case so many times (15)", OPTION_REPS },
    { "--threads", "N", "as the option threads=N, and for the libraries of --peer",
      OPTION_THREADS },
    { "--results", "FD", "write the results to this descriptor, as children do", OPTION_RESULTS },
    { "--seed", "N", "draw other values for the cases; 0 unless given", OPTION_SEED },
    { "--shard", "I/N", "run only the I-th of N parts", OPTION_SHARD },
    { "--time", NULL, "say on stderr how many milliseconds the op took, and all of it",
      OPTION_TIME },
    { "--timeout", "SECONDS", "give each case so long; 60 unless given", OPTION_TIMEOUT },
    { "--version", NULL, "say which version this is", OPTION_VERSION },
    { "--why", NULL, "give each backend's reason, origin and time, and what was odd", OPTION_WHY },
};
#define OPTION_COUNT (sizeof(options) / sizeof(options[0]))

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The edits that turn one word into the other; words are cut at 63 letters. */
static uint64_t distance(const char *a, const char *b)
{
    uint64_t row[64];
    const uint64_t m = least(strlen(a), 63), n = least(strlen(b), 63);
    for (uint64_t j = 0; j <= n; j++)
        row[j] = j;
    for (uint64_t i = 1; i <= m; i++) {
        uint64_t diagonal = row[0];
        row[0] = i;
        for (uint64_t j = 1; j <= n; j++) {
            const uint64_t replace = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] = least(replace, least(row[j], row[j - 1]) + 1);
        }
    }
    return row[n];
}

/* A word that was begun and not ended is nearer than any that is spelt otherwise. */
static uint64_t unlikeness(const char *text, const char *name)
{
    return *text && !strncmp(text, name, strlen(text)) ? 0 : 1 + distance(text, name);
}

const char *nearest(const char *text, const char *const *names, uint64_t count)
{
    const char *best = NULL;
    for (uint64_t i = 0; i < count; i++)
        if (!best || unlikeness(text, names[i]) < unlikeness(text, best))
            best = names[i];
    return best;
}

void complain_unknown(const char *kind, const char *text, const char *const *names, uint64_t count)
{
    const char *best = nearest(text, names, count);
    /* Two letters that changed places are two edits. What is farther away was not meant. */
    const uint64_t most = strlen(text) / 3 > 2 ? strlen(text) / 3 : 2;
    if (best && unlikeness(text, best) <= 1 + most)
        complain("unknown %s '%s'; the nearest is %s", kind, text, best);
    else
        complain("unknown %s '%s'; see cb --help", kind, text);
}

const struct option *option_at(uint64_t i)
{
    return i < OPTION_COUNT ? &options[i] : NULL;
}

const char *option_name(uint32_t option)
{
    for (uint64_t i = 0; i < OPTION_COUNT; i++)
        if (options[i].bit == option)
            return options[i].name;
    return "";
}

const char *option_value(const struct arguments *a, uint32_t option)
{
    return a->values[__builtin_ctz(option)];
}

void arguments_help(uint32_t mask)
{
    for (uint64_t i = 0; i < OPTION_COUNT; i++) {
        if (!(options[i].bit & mask))
            continue;
        const char *value = options[i].value ? options[i].value : "";
        printf("  %s %-*s%s\n", options[i].name, (int)(20 - strlen(options[i].name)), value,
               options[i].help);
    }
}

static bool unknown_option(const char *text)
{
    const char *names[OPTION_COUNT];
    for (uint64_t i = 0; i < OPTION_COUNT; i++)
        names[i] = options[i].name;
    complain_unknown("option", text, names, OPTION_COUNT);
    return false;
}

static const char *long_form(const char *text)
{
    return !strcmp(text, "-h") ? "--help" : !strcmp(text, "-o") ? "--output" : text;
}

/* Keeps one more value of an option that may be repeated. */
static bool append(const char **values, uint32_t most, uint32_t *count, uint32_t option,
                   const char *value)
{
    if (*count == most) {
        complain("more than %u times %s", (unsigned)most, option_name(option));
        return false;
    }
    values[(*count)++] = value;
    return true;
}

static bool keep_value(uint32_t option, const char *value, struct arguments *out)
{
    out->values[__builtin_ctz(option)] = value;
    switch (option) {
    case OPTION_BACKEND: out->backend = value; return true;
    case OPTION_CONFIG: out->config_file = value; return true;
    case OPTION_OUTPUT: out->output = value; return true;
    case OPTION_OPTION:
        return append(out->backend_options, BACKEND_OPTIONS_MAX, &out->n_backend_options, option,
                      value);
    case OPTION_OP: return append(out->ops, OPS_MAX, &out->n_ops, option, value);
    case OPTION_PEER: return append(out->peers, PEERS_MAX, &out->n_peers, option, value);
    default: return true;
    }
}

/* --name, --name VALUE or --name=VALUE, or a short form of it; *at is moved beyond what was taken.
 */
static bool read_option(int argc, char **argv, int *at, struct arguments *out)
{
    const char *text = long_form(argv[*at]);
    const uint64_t size = strcspn(text, "=");
    for (uint64_t i = 0; i < OPTION_COUNT; i++) {
        if (strlen(options[i].name) != size || strncmp(options[i].name, text, size) != 0)
            continue;
        const char *value = text[size] ? text + size + 1 : NULL;
        if (value && !options[i].value) {
            complain("%s takes no value", options[i].name);
            return false;
        }
        if (options[i].value && !value) {
            if (*at + 1 == argc) {
                complain("%s needs a %s", options[i].name, options[i].value);
                return false;
            }
            value = argv[++*at];
        }
        out->options |= options[i].bit;
        return keep_value(options[i].bit, value, out);
    }
    return unknown_option(text);
}

bool arguments_read(int argc, char **argv, struct arguments *out)
{
    bool words_only = false;
    *out = (struct arguments){ .operands = argv };
    for (int i = 1; i < argc; i++) {
        if (!words_only && !strcmp(argv[i], "--")) {
            words_only = true;
        } else if (!words_only && argv[i][0] == '-' && argv[i][1]) {
            if (!read_option(argc, argv, &i, out))
                return false;
        } else {
            out->operands[out->n_operands++] = argv[i];
        }
    }
    return true;
}
