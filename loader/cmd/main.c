/* SPDX-License-Identifier: Apache-2.0 */
/* cb - looks at compute backends: which there are, and what they can do. */
#include "cmd.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int cmd_help(const struct arguments *a);

static const struct command commands[] = {
    { "list", "", "list the backends, and what became of each", 0, 0,
      OPTION_CONFIG | OPTION_HELP | OPTION_JSON | OPTION_WHY, cmd_list,
      "Selects as a program would, then lists every candidate: id, version, class, priority,\n"
      "state, path. On a terminal the columns are aligned below a heading; else they are\n"
      "separated by tabs. --why prints the loader's report instead, --json the same\n"
      "as JSON.\n",
      NULL, NULL },
    { "info", "ID", "print every fact of one backend", 1, 1, OPTION_CONFIG | OPTION_HELP, cmd_info,
      "Selects the backend ID and prints its facts, `key: value` lines: what the manifest says,\n"
      "devices, their features, memory in bytes, and what its info slot tells.\n",
      NULL, NULL },
    { "run", "OP [KEY=VALUE...] FILE...", "run one op on .npy files", 1, UINT32_MAX,
      OPTION_BACKEND | OPTION_CONFIG | OPTION_HELP | OPTION_OPTION | OPTION_OUTPUT | OPTION_TIME,
      cmd_run,
      "Reads arrays of NumPy's .npy format, runs one op on the backend that a program would get,\n"
      "and writes the result to -o FILE. Sizes and types come from the arrays: f16, f32, f64, and\n"
      "64-bit integers for indices. \"-\" is standard input or output.\n",
      run_help, NULL },
    { "bench", "[OPS...] [KEY=VALUE...]", "time ops on one or more backends", 0, UINT32_MAX,
      OPTION_BACKEND | OPTION_CONFIG | OPTION_CSV | OPTION_HELP | OPTION_JSON | OPTION_MIN_TIME |
          OPTION_PEER | OPTION_REPS | OPTION_THREADS,
      cmd_bench,
      "Times a standard list of shapes for each op, or the one shape that KEY=VALUE gives;\n"
      "dtype=f32,bf16 picks types. Backends stand side by side: --backend cpu,opencl, or one with\n"
      "several options: --backend cpu:threads=1,kernels=reference,cpu. Their repetitions are\n"
      "interleaved. Each result is compared with one in double before it is timed; one that the\n"
      "contract does not allow is WRONG, and the exit code 1.\n",
      bench_help, NULL },
    { "config", "", "print the merged configuration, and where each value came from", 0, 0,
      OPTION_CONFIG | OPTION_HELP | OPTION_JSON, cmd_config,
      "Prints what the configuration files and the environment say together, in the form of a\n"
      "configuration file; a comment above each key tells where its value came from.\n",
      NULL, NULL },
    { "selftest", "[ID...]", "judge backends by the contract", 0, UINT32_MAX,
      OPTION_AFTER | OPTION_AGAINST | OPTION_CONFIG | OPTION_FORMAT | OPTION_FULL | OPTION_HELP |
          OPTION_IN_PROCESS | OPTION_JOBS | OPTION_OP | OPTION_OPTION | OPTION_QUICK |
          OPTION_RESULTS | OPTION_SEED | OPTION_SHARD | OPTION_TIMEOUT,
      cmd_selftest,
      "Judges each ID, or each backend that a program might get: every op against naive loops in\n"
      "double, and what surrounds them. Each runs in a child, so that one which crashes or hangs\n"
      "is told and the next goes on. A failure ends with the command that repeats it.\n",
      selftest_help, selftest_exit_codes },
    { "support", "[ID...]", "print which ops and types backends serve", 0, UINT32_MAX,
      OPTION_CONFIG | OPTION_HELP | OPTION_JSON | OPTION_MATRIX, cmd_support,
      "Asks each ID, or each backend that a program might get, about a small call of every op on\n"
      "every type, and prints the answers as a table in Markdown.\n",
      NULL, NULL },
    { "doctor", "", "look for what is wrong, and say what to do", 0, 0,
      OPTION_CONFIG | OPTION_HELP | OPTION_JSON | OPTION_REDACT, cmd_doctor,
      "Prints a page to read, or to paste into a bug report: versions, this CPU, the environment,\n"
      "the configuration, each candidate with the reason for its state, the devices, and a quick\n"
      "self-test of each backend, in a process of its own and with a deadline. What is wrong and\n"
      "what to do about it stands at the end. The exit code is 0 when nothing is.\n",
      NULL, NULL },
    { "lint", "PLUGIN.so...", "judge plugin files without running them", 1, UINT32_MAX,
      OPTION_HELP | OPTION_JSON, cmd_lint,
      "Reads the ELF headers, the manifest and the symbols of each file, and looks for the "
      "libraries\n"
      "that it needs. Nothing of the plugin is run. The exit code is 0 when there are no errors.\n",
      lint_help, NULL },
    { "completion", "SHELL", "print the rules of completion for bash, zsh or fish", 1, 1,
      OPTION_HELP, cmd_completion,
      "For the shell's start-up file: eval \"$(cb completion bash)\".\n", NULL, NULL },
    { "help", "[COMMAND]", "say how a command is used", 0, 1, OPTION_HELP, cmd_help, "", NULL,
      NULL },
};
#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))

const struct command *command_at(uint64_t i)
{
    return i < COMMAND_COUNT ? &commands[i] : NULL;
}

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

/* The probe's helper of this very installation, which may lie elsewhere than the one it was built
 * for; to be freed. NULL: there is none, and the loader's own word counts. */
static char *own_probe_helper(void)
{
    char path[PATH_MAX + sizeof(CB_PROBE_FROM_HERE)];
    const ssize_t size = readlink("/proc/self/exe", path, PATH_MAX);
    if (size <= 0 || size == PATH_MAX)
        return NULL;
    path[size] = '\0';
    char *slash = strrchr(path, '/');
    if (!slash)
        return NULL;
    strcpy(slash + 1, CB_PROBE_FROM_HERE);
    return realpath(path, NULL);
}

static void log_nothing(void *ctx, int32_t level, const char *text)
{
    (void)ctx, (void)level, (void)text;
}

static cb_loader *open_with(const struct arguments *a, uint32_t flags, cb_log_fn log)
{
    cb_error err;
    cb_loader *loader = NULL;
    cb_loader_options options;
    const char *wanted = getenv("CB_LOG");
    char *helper = own_probe_helper();
    cb_error_init(&err);
    cb_loader_options_init(&options);
    options.flags = flags;
    options.config_file = a->config_file;
    options.log = wanted && *wanted ? NULL : log;
    options.probe_helper = helper;
    if (cb_loader_open(&options, &loader, &err) != CB_OK)
        complain("%s", err.msg);
    free(helper);
    return loader;
}

cb_loader *open_loader(const struct arguments *a)
{
    return open_with(a, 0, log_warnings);
}

cb_loader *open_probing_loader(const struct arguments *a)
{
    return open_with(a, CB_LOADER_PROBE, log_nothing);
}

static const struct command *find_command(const char *name)
{
    const char *names[COMMAND_COUNT];
    for (uint64_t i = 0; i < COMMAND_COUNT; i++) {
        names[i] = commands[i].name;
        if (!strcmp(commands[i].name, name))
            return &commands[i];
    }
    complain_unknown("command", name, names, COMMAND_COUNT);
    return NULL;
}

static void usual_exit_codes(void)
{
    printf("  %d  all went well\n"
           "  %d  no backend could be selected, or something failed\n"
           "  %d  the command was used wrongly, or names a backend that there is not\n",
           EXIT_OK, EXIT_TROUBLE, EXIT_USAGE);
}

static void print_exit_codes(void (*print)(void))
{
    puts("\nExit codes:");
    (print ? print : usual_exit_codes)();
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
    puts("\nThe environment variables of compute_backend(7) count as they do for every program "
         "that\n"
         "uses the loader.");
    print_exit_codes(NULL);
}

static void print_command(const struct command *c)
{
    printf("Usage: cb %s%s%s [OPTIONS]\n\n%s%s", c->name, *c->operand ? " " : "", c->operand,
           c->story, *c->story ? "" : "Says how a command is used.\n");
    if (c->details)
        c->details();
    puts("\nOptions:");
    arguments_help(c->options);
    print_exit_codes(c->exit_codes);
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
