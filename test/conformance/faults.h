/* SPDX-License-Identifier: Apache-2.0 */
/* Broken functions for a backend's table, each wrong in one way, to be put around a right one. */
#ifndef TEST_CONFORMANCE_FAULTS_H
#define TEST_CONFORMANCE_FAULTS_H

#include <stdbool.h>

#include "compute_backend.h"

struct fault {
    const char *name;     /* what is wrong, as a test's name */
    const char *filter;   /* the cases that run */
    const char *expected; /* what the spec of a failed case begins with */
    size_t slot;          /* offset in the table */
    void (*function)(void);
};
#define FAULT(name, slot, filter, expected)                                                        \
    {                                                                                              \
#name, filter, expected, offsetof(compute_backend_v1, slot), (void (*)(void))name          \
    }

/* Each list ends with a NULL name. */
extern const struct fault gemm_faults[], op_faults[], host_faults[];

/* The table that is right; the broken functions call it with the self they get. */
extern const compute_backend_v1 *right;

/* One element of a device buffer; a read that fails gives NaN. */
float peek(void *self, uint64_t ptr, uint64_t i);
void poke(void *self, uint64_t ptr, uint64_t i, float value);
double peek_f64(void *self, uint64_t ptr, uint64_t i);
void poke_f64(void *self, uint64_t ptr, uint64_t i, double value);

#endif
