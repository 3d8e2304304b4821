/* SPDX-License-Identifier: Apache-2.0 */
/* cb - looks at compute backends: which there are, and what they can do. */
#include "cmd.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int cmd_help(const struct arguments *a);

struct command {
    const char *name, *operand, *summary;
    uint32_t least, most; /* operands */
    uint32_t options;
    int (*run)(const struct arguments *a);
    const char *story;
    void (*details)(void); /* prints what stands below the story; nullable */
};

static const struct command commands[] = {
    { "list", "", "list the backends, and what became of each", 0, 0,
      OPTION_CONFIG | OPTION_HELP | OPTION_WHY, cmd_list,
      "Selects as a program would, then lists every candidate: id, version, class, priority,\n"
      "state, path. On a terminal the columns are aligned below a heading; else they are\n"
      "separated by tabs. --why prints the loader's report instead.\n",
      NULL },
    { "info", "ID", "print every fact of one backend", 1, 1, OPTION_CONFIG | OPTION_HELP, cmd_info,
      "Selects the backend ID and prints its facts, `key: value` lines: what the manifest says,\n"
      "devices, their features, memory in bytes, and what its info slot tells.\n",
      NULL },
    { "help", "[COMMAND]", "say how a command is used", 0, 1, OPTION_HELP, cmd_help, "", NULL },
};
#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))

void complain(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("cb: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
}

void print_text(const char *text)
{
    for (; *text; text++)
        putchar((unsigned char)*text < ' ' || *text == 0x7f ? '?' : *text);
}

static void log_warnings(void *ctx, int32_t level, const char *text)
{
    (void)ctx;
    if (level == CB_LOG_WARNING)
        complain("warning: %s", text);
}

cb_loader *open_loader(const struct arguments *a)
{
    cb_error err;
    cb_loader *loader = NULL;
    cb_loader_options options;
    const char *log = getenv("CB_LOG");
    cb_error_init(&err);
    cb_loader_options_init(&options);
    options.config_file = a->config_file;
    options.log = log && *log ? NULL : log_warnings;
    if (cb_loader_open(&options, &loader, &err) == CB_OK)
        return loader;
    complain("%s", err.msg);
    return NULL;
}

static const struct command *find_command(const char *name)
{
    const char *names[COMMAND_COUNT];
    for (uint64_t i = 0; i < COMMAND_COUNT; i++) {
        names[i] = commands[i].name;
        if (!strcmp(commands[i].name, name))
            return &commands[i];
    }
    complain("unknown command '%s'; the nearest is %s", name, nearest(name, names, COMMAND_COUNT));
    return NULL;
}

static void print_exit_codes(void)
{
    printf("\nExit codes:\n"
           "  %d  all went well\n"
           "  %d  no backend could be selected, or something failed\n"
           "  %d  the command was used wrongly, or names a backend that there is not\n",
           EXIT_OK, EXIT_TROUBLE, EXIT_USAGE);
}

static void print_overview(void)
{
    puts("Usage: cb COMMAND [OPTIONS]\n\n"
         "Looks at compute backends: which there are, and what they can do.\n\nCommands:");
    for (uint64_t i = 0; i < COMMAND_COUNT; i++)
        printf("  %s %-*s%s\n", commands[i].name, (int)(30 - strlen(commands[i].name)),
               commands[i].operand, commands[i].summary);
    puts("\nOptions:");
    arguments_help(OPTION_CONFIG | OPTION_HELP | OPTION_VERSION);
    puts("\nThe environment variables CB_PLUGINS, CB_PLUGINS_ADD, CB_CONFIG, CB_BACKEND, "
         "CB_OPTIONS,\n"
         "CB_DISABLE and CB_LOG count as they do for every program that uses the loader.");
    print_exit_codes();
}

static void print_command(const struct command *c)
{
    printf("Usage: cb %s%s%s [OPTIONS]\n\n%s%s\nOptions:\n", c->name, *c->operand ? " " : "",
           c->operand, c->story, *c->story ? "" : "Says how a command is used.\n");
    arguments_help(c->options);
    print_exit_codes();
}

static int cmd_help(const struct arguments *a)
{
    if (a->n_operands < 2) {
        print_overview();
        return EXIT_OK;
    }
    const struct command *c = find_command(a->operands[1]);
    if (!c)
        return EXIT_USAGE;
    print_command(c);
    return EXIT_OK;
}

static int run_command(const struct command *c, const struct arguments *a)
{
    const uint32_t extra = a->options & ~c->options;
    if (a->options & OPTION_HELP) {
        print_command(c);
        return EXIT_OK;
    }
    if (extra) {
        complain("cb %s takes no %s; see cb %s --help", c->name, option_name(extra & -extra),
                 c->name);
        return EXIT_USAGE;
    }
    const uint32_t given = a->n_operands - 1;
    if (given < c->least || given > c->most) {
        complain("usage: cb %s%s%s; see cb %s --help", c->name, *c->operand ? " " : "", c->operand,
                 c->name);
        return EXIT_USAGE;
    }
    return c->run(a);
}

static int run(const struct arguments *a)
{
    if (a->n_operands) {
        const struct command *c = find_command(a->operands[0]);
        return c ? run_command(c, a) : EXIT_USAGE;
    }
    if (a->options & OPTION_HELP) {
        print_overview();
        return EXIT_OK;
    }
    if (a->options & OPTION_VERSION) {
        printf("cb %s\n", CB_VERSION);
        return EXIT_OK;
    }
    complain("a command is missing; see cb --help");
    return EXIT_USAGE;
}

int main(int argc, char **argv)
{
    struct arguments a;
    if (!arguments_read(argc, argv, &a))
        return EXIT_USAGE;
    const int code = run(&a);
    if (fflush(stdout) || ferror(stdout)) {
        complain("cannot write: %s", strerror(errno));
        return EXIT_TROUBLE;
    }
    return code;
}
