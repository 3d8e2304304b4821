/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the command share: a file per subcommand, arguments.c, and main.c. */
#ifndef CMD_H
#define CMD_H

#include "cb_loader.h"

#include <stdbool.h>
#include <stdint.h>

/* Documented in --help. */
enum {
    EXIT_OK = 0,
    EXIT_TROUBLE = 1,
    EXIT_USAGE = 2
};

/* ---- arguments.c ---- */

#define OPTION_CONFIG     (1u << 0)
#define OPTION_HELP       (1u << 1)
#define OPTION_VERSION    (1u << 2)
#define OPTION_WHY        (1u << 3)
#define OPTION_BACKEND    (1u << 4)
#define OPTION_OPTION     (1u << 5)
#define OPTION_OUTPUT     (1u << 6)
#define OPTION_TIME       (1u << 7)
#define OPTION_JSON       (1u << 8)
#define OPTION_REDACT     (1u << 9)
#define OPTION_CSV        (1u << 10)
#define OPTION_MIN_TIME   (1u << 11)
#define OPTION_PEER       (1u << 12)
#define OPTION_REPS       (1u << 13)
#define OPTION_THREADS    (1u << 14)
#define OPTION_AFTER      (1u << 15)
#define OPTION_AGAINST    (1u << 16)
#define OPTION_FORMAT     (1u << 17)
#define OPTION_FULL       (1u << 18)
#define OPTION_IN_PROCESS (1u << 19)
#define OPTION_JOBS       (1u << 20)
#define OPTION_MATRIX     (1u << 21)
#define OPTION_OP         (1u << 22)
#define OPTION_QUICK      (1u << 23)
#define OPTION_RESULTS    (1u << 24)
#define OPTION_SEED       (1u << 25)
#define OPTION_SHARD      (1u << 26)
#define OPTION_TIMEOUT    (1u << 27)

#define BACKEND_OPTIONS_MAX 64
#define PEERS_MAX           8
#define OPS_MAX             64

struct arguments {
    uint32_t options; /* OPTION_* */
    const char *config_file, *backend, *output;
    const char *backend_options[BACKEND_OPTIONS_MAX]; /* "key=value" */
    uint32_t n_backend_options;
    const char *values[32];       /* of the option with bit i; NULL: not given, or it takes none */
    const char *peers[PEERS_MAX]; /* "blas:PATH" */
    uint32_t n_peers;
    const char *ops[OPS_MAX]; /* "GLOB[:CASE]" */
    uint32_t n_ops;
    char **operands; /* the first is the subcommand */
    uint32_t n_operands;
};

/* A row of the table of options. */
struct option {
    const char *name, *value, *help; /* value: what it takes, "FILE" and so on; nullable */
    uint32_t bit;
};

/* NULL beyond the last. */
const struct option *option_at(uint64_t i);

/* Moves the operands to the front of argv, where they stay. False: it was said what is wrong. */
bool arguments_read(int argc, char **argv, struct arguments *out);

/* Prints the options of a mask, a line each. */
void arguments_help(uint32_t options);

/* "--why" and so on. */
const char *option_name(uint32_t option);

/* What was given with an option, the last time; NULL: nothing. */
const char *option_value(const struct arguments *a, uint32_t option);

/* Which of the names is most like the text; NULL when there are none. */
const char *nearest(const char *text, const char *const *names, uint64_t count);

/* Says that there is no such option or command, and which was perhaps meant. */
void complain_unknown(const char *kind, const char *text, const char *const *names, uint64_t count);

/* ---- main.c ---- */

/* A row of the table of subcommands. */
struct command {
    const char *name, *operand, *summary;
    uint32_t least, most; /* operands */
    uint32_t options;     /* OPTION_* */
    int (*run)(const struct arguments *a);
    const char *story;
    void (*details)(void);    /* prints what stands below the story; nullable */
    void (*exit_codes)(void); /* prints them; NULL: the usual ones */
};

/* NULL beyond the last. */
const struct command *command_at(uint64_t i);

__attribute__((format(printf, 1, 2))) void complain(const char *format, ...);

/* Opens the loader with the command's log. NULL: it was said why. */
cb_loader *open_loader(const struct arguments *a);

/* The same, silent, and with each plugin tried in a process of its own. */
cb_loader *open_probing_loader(const struct arguments *a);

/* Text of a file or a plugin, without control characters, to stdout. */
void print_text(const char *text);

/* ---- words.c ---- */

/* cb_loader_report_as or cb_loader_config. */
typedef cb_status (*loader_words_fn)(cb_loader *loader, uint32_t format, char *buffer,
                                     uint64_t *length, cb_error *err);

/* What the loader says, to be freed; NULL and false: it was said why not. */
char *loader_words(cb_loader *loader, loader_words_fn ask, bool as_json);
bool print_loader_words(cb_loader *loader, loader_words_fn ask, bool as_json);

/* ---- info.c ---- */

/* "host" and so on, for a CB_MEMORY_*. */
const char *memory_kind_name(uint32_t kind);

/* ---- known.c ---- */

/* Whether a backend of that id was found; if not, the nearest is named on stderr. */
bool backend_is_known(cb_loader *loader, const char *id);

/* ---- chosen.c ---- */

/* The ids among the operands behind the subcommand, each once, or of all backends that a selection
 * would try. *ids is to be freed whatever the exit code is; the ids belong to arguments and loader.
 */
int chosen_backends(const struct arguments *a, cb_loader *loader, const char ***ids,
                    uint64_t *count);

/* ---- a file each; they return an exit code ---- */

int cmd_list(const struct arguments *a);
int cmd_info(const struct arguments *a);
int cmd_run(const struct arguments *a);
int cmd_config(const struct arguments *a);
int cmd_doctor(const struct arguments *a);
int cmd_lint(const struct arguments *a);
int cmd_completion(const struct arguments *a);
int cmd_selftest(const struct arguments *a);
int cmd_support(const struct arguments *a);
int cmd_bench(const struct arguments *a);

/* run_ops.c: the ops of cb run, for its --help. */
void run_help(void);

/* bench_words.c: the ops of cb bench, for its --help. */
void bench_help(void);

/* lint_rules.c: the rules of cb lint, for its --help. */
void lint_help(void);

/* selftest.c: what --op knows, and the exit codes, for the --help of cb selftest. */
void selftest_help(void);
void selftest_exit_codes(void);

#endif
