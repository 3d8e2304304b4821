/* SPDX-License-Identifier: Apache-2.0 */
/**
 * selftest.h - judges a compute backend by the contract of compute_backend.h.
 *
 * Every op runs on every type over grids of shapes, transposes, strides, overlaps, special values
 * and argument faults, and its results are compared with a naive loop in double (double-double for
 * f64) within the bound that the contract gives. A backend is judged through its table alone.
 *
 * A case has a name, its spec: "gemm:f32,nt,m=17,n=33,k=5". Before the colon stands the group's
 * subject, after it the element type where there is one, then the case's parameters. The values of
 * a case depend on its spec and the seed only, so a spec used as a filter, in the mode that it came
 * from, repeats just that case.
 *
 * Threads: the callbacks are called on the calling thread. A run starts threads that call the
 *          backend, and joins them; the group "state" looks at the whole process, changes its state
 *          for the length of a case, and forks. Else runs on different backends do not see each
 *          other.
 * Output:  none, but for the callbacks.
 */
#ifndef CB_SELFTEST_H
#define CB_SELFTEST_H

#include "compute_backend.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    CB_SELFTEST_QUICK = 0, /* seconds */
    CB_SELFTEST_FULL = 1,  /* minutes: whole grids, long sums, dense samples */
};

enum {
    CB_SELFTEST_PASSED = 0,
    CB_SELFTEST_FAILED = 1,
    CB_SELFTEST_SKIPPED = 2,  /* the backend says that it has no such slot, op, type or option */
    CB_SELFTEST_UNJUDGED = 3, /* nothing here can tell right from wrong: no pass */
};

/* What became of one case. Strings live until the callback returns; none is NULL. */
typedef struct cb_selftest_result {
    uint64_t size;
    uint32_t outcome;  /* CB_SELFTEST_PASSED and so on */
    uint32_t compared; /* 1: `against` has computed the case, too */
    const char *group; /* its name, as cb_selftest_group tells it */
    const char *spec;  /* the case, and the filter that repeats it */
    const char *text;  /* why it did not pass, in one line */
    const char *rule;  /* of a failure: the rule of the contract that is broken */

    /* Of a failure in a value, the first bad element: which operand ("" otherwise) and index, what
     * was there, what is right, how far it is off and how far it may be. Of a case that passed,
     * with `against`: the element in which the backends differ most, what each has there, how far
     * they are apart, and the bound; operand is "" where all bits are the same. */
    const char *operand;
    uint64_t index;
    double got, want, error, bound;
} cb_selftest_result;

typedef struct cb_selftest_options {
    uint64_t size;
    uint64_t seed;
    uint32_t mode; /* CB_SELFTEST_QUICK, CB_SELFTEST_FULL */
    uint32_t reserved;
    /* Globs on the spec, or without a colon on what is before it, or names of groups, with blanks
     * between them; NULL: all cases. */
    const char *filter;
    const char *after;      /* the name of a group: begin with the one behind it; nullable */
    uint64_t shard, shards; /* only groups shard, shard + shards, ...; shards 0: all groups */
    cb_backend against;     /* computes what passed once more, for comparison; api NULL: none */

    void (*begin)(void *ctx, const char *spec);                  /* a case begins; nullable */
    void (*report)(void *ctx, const cb_selftest_result *result); /* it has ended; nullable */

    /* What the backend was created with, for further instances; NULL when n_create_options is 0. */
    const char *const *create_options;
    uint64_t n_create_options;

    /* Opens a further instance, initialized, made like the one under test but for options that are
     * added, such as "threads=3"; close ends it. NULL: it is made through the table, with
     * create_options. */
    cb_status (*open)(void *ctx, const char *const *options, uint64_t n_options, cb_backend *out,
                      cb_error *err);
    void (*close)(void *ctx, cb_backend be);
    void *ctx;
} cb_selftest_options;
CB_DEFINE_INIT(cb_selftest_options)

typedef struct cb_selftest_summary {
    uint64_t size;
    uint64_t passed, failed, skipped, unjudged; /* cases */
} cb_selftest_summary;
CB_DEFINE_INIT(cb_selftest_summary)

/**
 * cb_selftest_run - runs the cases that the filter chooses.
 *
 * @be:      initialized; nothing else may use it during the run. Its table may lack optional slots,
 *           or have functions there that answer CB_UNSUPPORTED.
 * @options: NULL for a quick run of everything with seed 0.
 * @out:     receives the counts. failed of 0 is a pass only if passed is not 0 too.
 *
 * A backend may crash, hang or exit: where that matters, run it in a process of its own, keep what
 * begin says, and go on with `after`.
 * Memory:  what a run allocates on the host and on the device it frees before it returns.
 * Errors:  CB_INVALID_ARGUMENT (be, options or out). A backend that fails is no error here.
 */
cb_status cb_selftest_run(cb_backend be, const cb_selftest_options *options,
                          cb_selftest_summary *out, cb_error *err);

#define CB_SELFTEST_NAME_MAX 64

/**
 * cb_selftest_group - the names of the groups: "gemm:f32" and so on.
 *
 * @name: receives the terminated name of group i. With a star after it, it is the filter that
 *        chooses the group's cases.
 *
 * Returns 1, or 0 when i is beyond the last group.
 */
int cb_selftest_group(uint64_t i, char name[CB_SELFTEST_NAME_MAX]);

#ifdef __cplusplus
}
#endif

#endif
