/* SPDX-License-Identifier: Apache-2.0 */
/* cb selftest: what its files share. selftest.c reads the command line and leads. Each backend is
 * judged in children (selftest_children.c), which are this command again (selftest_judge.c) and say
 * over a pipe what they find (selftest_wire.c); it is counted (selftest_tally.c) and written in one
 * of four formats. */
#ifndef CMD_SELFTEST_CMD_H
#define CMD_SELFTEST_CMD_H

#include "cmd.h"

#include "selftest.h"
#include "text.h"

#include <stdio.h>

/* Documented in --help, beside EXIT_OK and EXIT_USAGE; 1 is EXIT_TROUBLE. */
enum {
    EXIT_NOTHING_RAN = 3,
    EXIT_REFUSED = 4,
    EXIT_BROKEN = 5
};

#define OPS_TEXT_MAX 4096

/* What was asked for. */
struct plan {
    const struct arguments *a;
    const char *against, *after; /* nullable */
    char ops[OPS_TEXT_MAX];      /* those of the command line, with blanks between; "": all */
    uint64_t seed, jobs, timeout_ms, shard, shards;
    uint32_t mode; /* CB_SELFTEST_QUICK, CB_SELFTEST_FULL */
};

/* ---- What a child says ---- */

enum {
    SAYS_OPENED = 0,  /* text: the backend's version, text2: its device */
    SAYS_REFUSED = 1, /* text: why there is nothing to judge */
    SAYS_BEGIN = 2,   /* text: the spec of a case */
    SAYS_RESULT = 3,  /* result, seconds: it has ended */
    SAYS_DONE = 4,
};

/* Strings live as long as the call that hands it over; none is NULL. */
struct saying {
    uint32_t kind;
    const char *text, *text2;
    cb_selftest_result result;
    double seconds;
};
typedef void (*hear_fn)(void *ctx, const struct saying *saying);

/* selftest_judge.c: opens the backend and judges it in this process. */
void judge(const struct plan *plan, const char *id, hear_fn hear, void *ctx);
/* The same, to a parent that reads descriptor fd. Returns an exit code. */
int judge_for_parent(const struct plan *plan, const char *id, int fd);

/* selftest_wire.c: to a pipe. False: it cannot be written. */
bool wire_write(FILE *to, const struct saying *saying);
/* Takes one off the front of some bytes, to which its strings point: how many bytes it took, 0 when
 * it is not whole yet, or WIRE_NONSENSE. */
#define WIRE_NONSENSE UINT64_MAX
#define WIRE_MAX      4096
uint64_t wire_read(const unsigned char *bytes, uint64_t size, struct saying *out);

/* ---- selftest_tally.c ---- */

enum {
    FAILURES_KEPT = 20, /* of each group; the others are counted */
    REASONS_KEPT = 4,
    OUTCOMES = 4 /* CB_SELFTEST_PASSED to CB_SELFTEST_UNJUDGED */
};

/* A case, and what is wrong with it; or the element in which two backends differ most. */
struct failure {
    char spec[256], text[512], rule[256], operand[32];
    uint64_t index;
    double got, want, error, bound;
    bool broken; /* the process ended or hung */
};

/* Why cases were skipped, or not judged. */
struct reason {
    uint32_t outcome;
    uint64_t count;
    char text[512];
};

struct group {
    char name[CB_SELFTEST_NAME_MAX];
    bool of_op; /* the name begins with that of an op */
    uint64_t counts[OUTCOMES];
    uint64_t n_failures, n_reasons; /* kept */
    double seconds;
    struct failure failures[FAILURES_KEPT];
    struct reason reasons[REASONS_KEPT];
    uint64_t broken;   /* times that a process ended or hung in a case of this group */
    uint64_t compared; /* cases that plan->against computed, too */
    bool differs;
    struct failure difference; /* in which the two are farthest apart */
};

struct backend {
    const char *id;
    bool opened, refused;
    char version[64], device[128], why[512]; /* why: it was refused, or broke outside of any case */
    uint64_t counts[OUTCOMES], broken;
    uint64_t since_ms; /* of the clock when its first child was started */
    double seconds;    /* from there to the end of its last */
    struct group *groups;
    uint64_t n_groups;
};

struct session {
    const struct plan *plan;
    struct backend *backends;
    uint64_t n_backends;
    /* A failure that was kept, as soon as it is known; nullable. */
    void (*live)(const struct session *s, const struct backend *b, const struct failure *f);
};

/* False: it was said that memory is short. */
bool backend_init(struct backend *b, const char *id);
void backend_free(struct backend *b);

void tally_hear(const struct session *s, struct backend *b, const struct saying *saying);
/* The process of a case (NULL: of none) ended or hung. */
void tally_broken(const struct session *s, struct backend *b, const char *spec, const char *how);
/* The group that a spec belongs to. */
struct group *group_of_spec(struct backend *b, const char *spec);

int backend_exit_code(const struct backend *b);
int session_exit_code(const struct session *s);

/* The command that repeats a case, to be pasted into a shell. */
void repeat_line(const struct plan *plan, const char *id, const char *spec, struct text *out);

/* ---- selftest_children.c ---- */

#define JOBS_MAX 64

/* Judges all backends. False: it was said why it cannot be done. */
bool run_children(struct session *s);

/* ---- formats ---- */

/* A verdict as TAP and JUnit have it: a group that passed, a case that did not. */
enum {
    POINT_PASSED,
    POINT_FAILED,
    POINT_BROKEN,
    POINT_SKIPPED,
    POINT_UNJUDGED,
};
struct point {
    uint32_t kind;
    double seconds;
    char name[320];
    const char *text;              /* why */
    const struct failure *failure; /* nullable */
};
typedef void (*point_fn)(void *ctx, const struct point *point);
void each_point(const struct backend *b, point_fn visit, void *ctx); /* selftest_points.c */

struct format {
    const char *name;
    void (*live)(const struct session *s, const struct backend *b, const struct failure *f);
    void (*end)(const struct session *s);
};
extern const struct format format_text, format_tap, format_junit, format_json;

#endif
