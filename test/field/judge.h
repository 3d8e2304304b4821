/* SPDX-License-Identifier: Apache-2.0 */
/* The judges: naive loops in a type wider than double, with the bounds of the contract. */
#ifndef TEST_FIELD_JUDGE_H
#define TEST_FIELD_JUDGE_H

#include "backend.h"
#include "kit.h"

/* One gemm on buffers that the judge makes: random operands, NaN wherever nothing may be read. */
struct gemm_case {
    uint32_t dtype;
    uint32_t trans_a, trans_b;
    uint64_t m, n, k;
    double alpha, beta;
    uint64_t pad;    /* rows of padding of each matrix */
    uint64_t offset; /* of each operand from its allocation, in its own elements */
};

/* Runs a case and fails the test unless each element of C is right, and all else untouched. */
void check_gemm(cb_backend be, const struct gemm_case *g);

/* The same for a convolution, whose shapes, strides and pads are set and whose pointers are not.
 * op: one of the three codes. */
void check_conv2d(cb_backend be, uint32_t op, const cb_conv2d_args *args);

/* Bytes that a test's buffers are filled with before a call: NaN in every type. */
#define FILL_BYTE 0xff

#endif
