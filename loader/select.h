/* SPDX-License-Identifier: Apache-2.0 */
/* One selection: rank.c orders the candidates, select.c walks down the ranking. */
#ifndef CBL_SELECT_H
#define CBL_SELECT_H

#include "internal.h"

/* What was asked for, by whoever has the strongest word. */
struct order {
    const struct names *names;
    bool literal; /* the one name is no glob */
    bool require; /* one of these or an error */
};

/* A candidate in one selection. */
struct attempt {
    struct candidate *candidate;
    uint64_t asked; /* the place in the order, UINT64_MAX when it is not in it */
    bool named;
    bool eligible; /* may be opened at all */
    struct verdict verdict;
    uint64_t nanoseconds;
};

struct walk {
    struct cb_loader *loader;
    const char *where; /* the function that was called */
    struct order order;
    struct names pinned;
    cb_request request;
    struct attempt *attempts; /* best first */
    uint64_t count;
    bool matrix; /* matrix units are preferred */
    struct attempt *winner;
    bool no_memory; /* a lesser backend is no answer to that */
};

/* Reads the request and ranks. On CB_OK it is to be ended. */
cb_status cbl_walk_begin(struct walk *w, struct cb_loader *l, const cb_request *request,
                         const char *where, cb_error *err);
void cbl_walk_end(struct walk *w);

#endif
