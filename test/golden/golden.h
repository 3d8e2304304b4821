/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the golden runner. test/data/golden/README.md has the format of a line. */
#ifndef TEST_GOLDEN_H
#define TEST_GOLDEN_H

#include "cases.h"

/* How a line is put to the test. */
enum golden_route {
    GOLDEN_TABLE,    /* through the plugin's table */
    GOLDEN_ROUNDING, /* through the conversions of plugins/common */
    GOLDEN_FIELDS,   /* cannot be said in the ABI's fixed fields: refused by the runner */
    GOLDEN_ROUTES
};

/* Where the operands of a line are. */
struct golden_operands {
    uint64_t in[3], out;     /* device pointers */
    const uint64_t *indices; /* host memory */
};

/* What a line must give. */
struct golden_expectation {
    cb_status status;
    struct case_array output;  /* the whole output buffer after the call */
    const double *ref, *bound; /* for case_judge */
    double *storage;           /* of bound, or NULL; golden_expectation_free frees it */
};

/* ---- call.c ---- */

enum golden_route golden_route(const struct case_line *line);
cb_status golden_call(cb_backend be, const struct case_line *line,
                      const struct golden_operands *operands, cb_error *err);

/* ---- expect.c ---- */

/* A line of quirks.txt, which says what standards expect. */
int golden_is_quirk(const struct case_line *line);
/* exact: sums run in the order of the reference kernels, and are compared bit for bit. */
void golden_expect(const struct case_line *line, int exact, struct golden_expectation *expect);
void golden_expectation_free(struct golden_expectation *expect);

/* ---- rounding.c ---- */

void golden_check_rounding(const struct case_line *line);

#endif
