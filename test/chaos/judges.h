/* SPDX-License-Identifier: Apache-2.0 */
/* Judges of what an instance does to its process, and of what differs between instances, beside the
 * self-test. Each fills failure with "SUBJECT:..." and returns, or leaves it empty. */
#ifndef TEST_CHAOS_JUDGES_H
#define TEST_CHAOS_JUDGES_H

#include "backend.h"

#define FAILURE_MAX 256

struct judge {
    const char *subject; /* of the faults that it judges */
    void (*run)(const char *fault_option, char failure[FAILURE_MAX]);
};

extern const struct judge judges[];
extern const uint64_t judges_count;

/* An instance with these options, of which empty ones are left out. */
cb_backend judge_open(const char *a, const char *b, const char *c);

#endif
