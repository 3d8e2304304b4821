/* SPDX-License-Identifier: Apache-2.0 */
/* A libOpenCL.so.1 that passes every call on to the installed one, and fails on command. A program
 * that links it is the program whose plugin finds it. */
#ifndef TEST_OPENCL_DRIVER_H
#define TEST_OPENCL_DRIVER_H

#include <stdint.h>

#pragma GCC visibility push(default)

/* The call of the function behind `after` others fails with the code. NULL: of any function that
 * makes, builds, sets or enqueues something. */
void driver_fail(const char *function, uint64_t after, int32_t code);

/* Whether the failure has happened; driver_failed forgets it, or one that has not. */
int driver_failed_by_now(void);
int driver_failed(void);

/* The next command that is enqueued does nothing, and is not done before driver_let_go: then it
 * fails with the code, and with it what waits for it. */
void driver_hold(int32_t code);
void driver_let_go(void);

/* The same, but it has failed by the time that the function which enqueues it returns. */
void driver_spoil(int32_t code);

/* Takes bits from what devices say of their f32 arithmetic (CL_DEVICE_SINGLE_FP_CONFIG), and what
 * they say of doubles. */
void driver_lack(uint64_t single_fp_config, int doubles);
/* The same bits, of the first device that is asked. */
void driver_lack_once(uint64_t single_fp_config);

/* Adds bits to what devices say of their f32 arithmetic. */
void driver_claim(uint64_t single_fp_config);

/* From now on the text stands at the end of every program's source. */
void driver_break_sources(const char *text);

/* From now on each program that is built is written into the folder: 001.cl, and what it was built
 * with in 001.options. For one thread. */
void driver_dump(const char *folder);

/* From now on platforms have no device. */
void driver_no_devices(void);

/* How often a function was called. */
uint64_t driver_calls(const char *function);

/* Everything as the installed library has it. */
void driver_reset(void);

#pragma GCC visibility pop

#endif
