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

#define OPTION_CONFIG  (1u << 0)
#define OPTION_HELP    (1u << 1)
#define OPTION_VERSION (1u << 2)
#define OPTION_WHY     (1u << 3)
#define OPTION_BACKEND (1u << 4)
#define OPTION_OPTION  (1u << 5)
#define OPTION_OUTPUT  (1u << 6)
#define OPTION_TIME    (1u << 7)

#define BACKEND_OPTIONS_MAX 64

struct arguments {
    uint32_t options; /* OPTION_* */
    const char *config_file, *backend, *output;
    const char *backend_options[BACKEND_OPTIONS_MAX]; /* "key=value" */
    uint32_t n_backend_options;
    char **operands; /* the first is the subcommand */
    uint32_t n_operands;
};

/* Moves the operands to the front of argv, where they stay. False: it was said what is wrong. */
bool arguments_read(int argc, char **argv, struct arguments *out);

/* Prints the options of a mask, a line each. */
void arguments_help(uint32_t options);

/* "--why" and so on. */
const char *option_name(uint32_t option);

/* Which of the names is most like the text; NULL when there are none. */
const char *nearest(const char *text, const char *const *names, uint64_t count);

/* ---- main.c ---- */

__attribute__((format(printf, 1, 2))) void complain(const char *format, ...);

/* Opens the loader with the command's log. NULL: it was said why. */
cb_loader *open_loader(const struct arguments *a);

/* Text of a file or a plugin, without control characters, to stdout. */
void print_text(const char *text);

/* ---- known.c ---- */

/* Whether a backend of that id was found; if not, the nearest is named on stderr. */
bool backend_is_known(cb_loader *loader, const char *id);

/* ---- a file each; they return an exit code ---- */

int cmd_list(const struct arguments *a);
int cmd_info(const struct arguments *a);
int cmd_run(const struct arguments *a);

/* run_ops.c: the ops of cb run, for its --help. */
void run_help(void);

#endif
