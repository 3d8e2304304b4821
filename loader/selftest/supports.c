/* SPDX-License-Identifier: Apache-2.0 */
/* What supports answers apart from any call; each call of an op asks it too (call.c). */
#include "suite.h"

static void asks(struct st_run *run, const char *what, uint32_t op, const void *args,
                 cb_support *out, cb_status want)
{
    cb_error err;
    cb_error_init(&err);
    st_status(run, what, cb_supports(run->be, op, args, out, &err), want, &err);
}

static void says_no(struct st_run *run, const char *what, uint32_t op, const void *args)
{
    cb_support support;
    cb_support_init(&support);
    support.answer = CB_SUPPORT_YES;
    asks(run, what, op, args, &support, CB_OK);
    if (support.answer != CB_SUPPORT_NO || !support.reason[0])
        st_fail(run, "an invalid struct is answered with no and a reason",
                "%s: the answer is %" PRIu32 ", the reason \"%s\"", what, support.answer,
                support.reason);
}

static void unknown_op(struct st_run *run, const cb_unary_args *args)
{
    says_no(run, "supports of an op of a later minor", CB_OP_COUNT + 1000, args);
}

static void invalid_struct(struct st_run *run, const cb_unary_args *args)
{
    cb_unary_args bad = *args;
    bad.size = 0;
    says_no(run, "supports of args with size 0", CB_OP_UNARY, &bad);
}

static void null_or_short(struct st_run *run, const cb_unary_args *args)
{
    cb_support support;
    cb_support_init(&support);
    asks(run, "supports of args NULL", CB_OP_UNARY, NULL, &support, CB_INVALID_ARGUMENT);
    asks(run, "supports with out NULL", CB_OP_UNARY, args, NULL, CB_INVALID_ARGUMENT);
    support.size = 8;
    asks(run, "supports with a short out", CB_OP_UNARY, args, &support, CB_INVALID_ARGUMENT);
}

static const struct {
    const char *name;
    void (*check)(struct st_run *run, const cb_unary_args *args);
} cases[] = {
    { "unknown_op", unknown_op },
    { "invalid_struct", invalid_struct },
    { "null_or_short", null_or_short },
};

static void grid(struct st_run *run, uint32_t type)
{
    (void)type;
    cb_unary_args args;
    cb_unary_args_init(&args);
    for (size_t i = 0; i < ST_COUNT(cases); i++) {
        if (!st_begin(run, "supports:%s", cases[i].name))
            continue;
        cases[i].check(run, &args);
        st_end(run);
    }
}

const struct st_group st_supports = { "supports", NULL, grid, NULL, NULL };
