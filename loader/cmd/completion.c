/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of completion, made from the tables of subcommands and options, so that they say the same
 * as --help does. */
#include "cmd.h"

#include <stdio.h>
#include <string.h>

/* ---- What may stand for a word of the tables: for ID, and for a|b ---- */

static void print_shells(void);

static void print_commands(void)
{
    for (uint64_t i = 0; command_at(i); i++)
        printf("%s%s", i ? " " : "", command_at(i)->name);
}

static void print_ops(void)
{
    for (uint32_t i = 0; i < CB_OP_COUNT; i++)
        printf("%s%s", i ? " " : "", cb_op_name(i));
}

static void print_timed_ops(void)
{
    print_ops();
    fputs(" copy", stdout);
}

/* Of this machine: asked for when somebody completes. */
static void print_ids(void)
{
    fputs("$(cb list 2>/dev/null | cut -f1)", stdout);
}

static const struct kind {
    const char *word;
    void (*print)(void); /* words, or a command that prints them */
} kinds[] = {
    { "ID", print_ids },        { "COMMAND", print_commands }, { "OP", print_ops },
    { "OPS", print_timed_ops }, { "SHELL", print_shells },
};

/* The kind of the first word: of "[COMMAND]", COMMAND's. NULL: there is none. */
static const struct kind *kind_of(const char *operand)
{
    const char *word = operand + (*operand == '[');
    const uint64_t size = strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    for (uint64_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strlen(kinds[i].word) == size && !strncmp(kinds[i].word, word, size))
            return &kinds[i];
    return NULL;
}

static bool has_choices(const char *word)
{
    return strchr(word, '|') || kind_of(word);
}

static void print_choices(const char *word)
{
    if (kind_of(word)) {
        kind_of(word)->print();
        return;
    }
    for (; *word; word++)
        putchar(*word == '|' ? ' ' : *word);
}

static bool is_file(const char *word)
{
    return strstr(word, "FILE") || strstr(word, ".so");
}

/* A text within single quotes; how a quote is written there differs. */
static void print_quoted(const char *text, const char *quote)
{
    for (; *text; text++) {
        if (*text == '\'')
            fputs(quote, stdout);
        else
            putchar(*text);
    }
}

/* ---- bash ---- */

static void print_options(uint32_t mask)
{
    const struct option *o;
    for (uint64_t i = 0; (o = option_at(i)) != NULL; i++)
        if (o->bit & mask)
            printf(" %s", o->name);
}

/* The options that take a value, as a pattern. */
static void print_value_options(void)
{
    const struct option *o;
    fputs("-o", stdout);
    for (uint64_t i = 0; (o = option_at(i)) != NULL; i++)
        if (o->value)
            printf("|%s", o->name);
}

static void bash_values(void)
{
    const struct option *o;
    puts("    case $before in");
    for (uint64_t i = 0; (o = option_at(i)) != NULL; i++) {
        if (!o->value || !has_choices(o->value))
            continue;
        printf("    %s) words=\"", o->name);
        print_choices(o->value);
        puts("\" ;;");
    }
    fputs("    ", stdout);
    print_value_options();
    puts(") return ;;\n"
         "    *) _cb_words ;;\n"
         "    esac");
}

static void bash_words(void)
{
    const struct command *c;
    puts("_cb_words() {\n"
         "    case $command in");
    for (uint64_t i = 0; (c = command_at(i)) != NULL; i++) {
        printf("    %s) words=\"", c->name);
        if (has_choices(c->operand))
            print_choices(c->operand);
        print_options(c->options);
        puts("\" ;;");
    }
    fputs("    *) words=\"", stdout);
    print_commands();
    print_options(OPTION_CONFIG | OPTION_HELP | OPTION_VERSION);
    puts("\" ;;\n"
         "    esac\n"
         "}");
}

static void print_bash(void)
{
    puts("# Completion of cb for bash.");
    bash_words();
    puts("_cb() {\n"
         "    local now=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
         "    local command= words= i\n"
         "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
         "        case ${COMP_WORDS[i]} in");
    fputs("        ", stdout);
    print_value_options();
    puts(") ((i++)) ;;\n"
         "        -*) ;;\n"
         "        *) command=${COMP_WORDS[i]}; break ;;\n"
         "        esac\n"
         "    done\n"
         "    COMPREPLY=()");
    bash_values();
    /* What is left empty is completed with the names of files. */
    puts("    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$now\")\n"
         "}\n"
         "complete -o default -F _cb cb");
}

/* ---- zsh ---- */

static void zsh_action(const char *word)
{
    if (!has_choices(word)) {
        fputs(is_file(word) ? "_files" : " ", stdout);
        return;
    }
    fputs("(", stdout);
    print_choices(word);
    fputs(")", stdout);
}

static void zsh_option(const struct option *o)
{
    printf(" \\\n            '%s[", o->name);
    print_quoted(o->help, "'\\''");
    fputs(o->value ? "]:value:'\"" : "]'", stdout);
    if (o->value) {
        zsh_action(o->value);
        putchar('"');
    }
}

static void zsh_command(const struct command *c)
{
    const struct option *o;
    printf("    %s)\n        _arguments", c->name);
    for (uint64_t i = 0; (o = option_at(i)) != NULL; i++)
        if (o->bit & c->options)
            zsh_option(o);
    if (*c->operand) {
        /* "[ID...]" may stand there again, "OP FILE..." has something else behind it. */
        const bool again = c->operand[strspn(c->operand, "[ABCDEFGHIJKLMNOPQRSTUVWXYZ")] == '.';
        printf(" \\\n            \"%s:operand:", again ? "*" : "1");
        zsh_action(c->operand);
        puts(again ? "\" ;;" : "\" '*:file:_files' ;;");
    } else {
        puts(" ;;");
    }
}

static void print_zsh(void)
{
    const struct command *c;
    puts("#compdef cb\n"
         "_cb() {\n"
         "    local -a commands=(");
    for (uint64_t i = 0; (c = command_at(i)) != NULL; i++) {
        printf("        '%s:", c->name);
        print_quoted(c->summary, "'\\''");
        puts("'");
    }
    puts("    )\n"
         "    local -i at=2\n"
         "    while ((at < CURRENT)); do\n"
         "        case $words[at] in");
    fputs("        ", stdout);
    print_value_options();
    puts(") ((at += 2)) ;;\n"
         "        -*) ((at++)) ;;\n"
         "        *) break ;;\n"
         "        esac\n"
         "    done\n"
         "    if ((at == CURRENT)); then\n"
         "        _describe command commands\n"
         "        return\n"
         "    elif ((at > CURRENT)); then\n"
         "        _files\n"
         "        return\n"
         "    fi\n"
         "    local command=$words[at]\n"
         "    shift $((at - 1)) words\n"
         "    ((CURRENT -= at - 1))\n"
         "    case $command in");
    for (uint64_t i = 0; (c = command_at(i)) != NULL; i++)
        zsh_command(c);
    puts("    esac\n"
         "}\n"
         "_cb \"$@\"");
}

/* ---- fish ---- */

static void fish_action(const char *word)
{
    if (!has_choices(word)) {
        fputs(is_file(word) ? "" : " -x", stdout);
        return;
    }
    fputs(is_file(word) ? " -a \"" : " -x -a \"", stdout);
    if (kind_of(word) && kind_of(word)->print == print_ids)
        fputs("(cb list 2>/dev/null | cut -f1)", stdout);
    else
        print_choices(word);
    fputs("\"", stdout);
}

static void fish_option(const struct option *o, const char *when, const char *command)
{
    printf("complete -c cb -n '%s%s' -l %s -d '", when, command, o->name + 2);
    print_quoted(o->help, "\\'");
    fputs(o->value ? "' -r" : "'", stdout);
    if (o->value)
        fish_action(o->value);
    putchar('\n');
}

static void print_fish(void)
{
    const struct command *c;
    const struct option *o;
    puts("# Completion of cb for fish.\n"
         "# The command that was typed, or a status of 1.\n"
         "function __cb_command\n"
         "    set -l words (commandline -opc)\n"
         "    set -e words[1]\n"
         "    while set -q words[1]\n"
         "        switch $words[1]");
    fputs("            case ", stdout);
    fputs("-o", stdout);
    for (uint64_t i = 0; (o = option_at(i)) != NULL; i++)
        if (o->value)
            printf(" %s", o->name);
    puts("\n"
         "                set -e words[1]\n"
         "            case '-*'\n"
         "            case '*'\n"
         "                echo $words[1]\n"
         "                return 0\n"
         "        end\n"
         "        set -e words[1]\n"
         "    end\n"
         "    return 1\n"
         "end\n"
         "function __cb_is\n"
         "    contains -- \"$argv\" (__cb_command)\n"
         "end");
    for (uint64_t k = 0; (o = option_at(k)) != NULL; k++)
        if (o->bit & (OPTION_CONFIG | OPTION_HELP | OPTION_VERSION))
            fish_option(o, "not __cb_command", "");
    for (uint64_t i = 0; (c = command_at(i)) != NULL; i++) {
        printf("complete -c cb -n 'not __cb_command' -f -a %s -d '", c->name);
        print_quoted(c->summary, "\\'");
        puts("'");
        if (has_choices(c->operand)) {
            printf("complete -c cb -n '__cb_is %s'", c->name);
            fish_action(c->operand);
            putchar('\n');
        }
        for (uint64_t k = 0; (o = option_at(k)) != NULL; k++)
            if (o->bit & c->options)
                fish_option(o, "__cb_is ", c->name);
    }
}

static const struct {
    const char *name;
    void (*print)(void);
} shells[] = {
    { "bash", print_bash },
    { "zsh", print_zsh },
    { "fish", print_fish },
};
#define SHELL_COUNT (sizeof(shells) / sizeof(shells[0]))

static void print_shells(void)
{
    for (uint64_t i = 0; i < SHELL_COUNT; i++)
        printf("%s%s", i ? " " : "", shells[i].name);
}

int cmd_completion(const struct arguments *a)
{
    const char *names[SHELL_COUNT];
    for (uint64_t i = 0; i < SHELL_COUNT; i++) {
        names[i] = shells[i].name;
        if (!strcmp(a->operands[1], names[i])) {
            shells[i].print();
            return EXIT_OK;
        }
    }
    complain_unknown("shell", a->operands[1], names, SHELL_COUNT);
    return EXIT_USAGE;
}
