/* SPDX-License-Identifier: Apache-2.0 */
/* The two parts of the ONNX runner: onnx.c judges what run.c computes. */
#ifndef TEST_ONNX_H
#define TEST_ONNX_H

#include "cases.h"

/* Runs a line on the backend and returns what is to be compared with its array y, of y's size. The
 * caller frees it. Fails the running cmocka test on any error, and skips it when a backend that
 * the environment chose lacks the op. */
void *onnx_run(cb_backend be, const struct case_line *line);

/* The relative error that ONNX's reference run shows for the op; 0: bits are compared. */
double onnx_tolerance(const struct case_line *line);

/* Whether the line needs dilation, groups or four pads. */
int onnx_is_undivided(const struct case_line *line);

#endif
