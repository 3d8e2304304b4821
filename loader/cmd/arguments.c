/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name, *value, *help;
    uint32_t bit;
} options[] = {
    { "--backend", "ID", "use this backend, or fail", OPTION_BACKEND },
    { "--config", "FILE", "read this configuration instead of CB_CONFIG", OPTION_CONFIG },
    { "--help", NULL, "say how the command is used", OPTION_HELP },
    { "--option", "KEY=VALUE", "give the backend of --backend this option; may be repeated",
      OPTION_OPTION },
    { "--output", "FILE", "write the result here, or to standard output: -", OPTION_OUTPUT },
    { "--time", NULL, "say on stderr how many milliseconds the op took, and all of it",
      OPTION_TIME },
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

const char *nearest(const char *text, const char *const *names, uint64_t count)
{
    const char *best = NULL;
    for (uint64_t i = 0; i < count; i++)
        if (!best || distance(text, names[i]) < distance(text, best))
            best = names[i];
    return best;
}

const char *option_name(uint32_t option)
{
    for (uint64_t i = 0; i < OPTION_COUNT; i++)
        if (options[i].bit == option)
            return options[i].name;
    return "";
}

void arguments_help(uint32_t mask)
{
    for (uint64_t i = 0; i < OPTION_COUNT; i++) {
        if (!(options[i].bit & mask))
            continue;
        const char *value = options[i].value ? options[i].value : "";
        printf("  %s %-*s%s\n", options[i].name, (int)(16 - strlen(options[i].name)), value,
               options[i].help);
    }
}

static bool unknown_option(const char *text)
{
    const char *names[OPTION_COUNT];
    for (uint64_t i = 0; i < OPTION_COUNT; i++)
        names[i] = options[i].name;
    complain("unknown option '%s'; the nearest is %s", text, nearest(text, names, OPTION_COUNT));
    return false;
}

static const char *long_form(const char *text)
{
    return !strcmp(text, "-h") ? "--help" : !strcmp(text, "-o") ? "--output" : text;
}

static bool keep_value(uint32_t option, const char *value, struct arguments *out)
{
    if (option == OPTION_CONFIG)
        out->config_file = value;
    else if (option == OPTION_BACKEND)
        out->backend = value;
    else if (option == OPTION_OUTPUT)
        out->output = value;
    if (option != OPTION_OPTION)
        return true;
    if (out->n_backend_options == BACKEND_OPTIONS_MAX) {
        complain("more than %d times %s", BACKEND_OPTIONS_MAX, option_name(option));
        return false;
    }
    out->backend_options[out->n_backend_options++] = value;
    return true;
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
