/* SPDX-License-Identifier: Apache-2.0 */
/* What every test of a backend needs: the plugin under test, opened with the header alone, and
 * buffers. The plugin is CB_TEST_PLUGIN when set, else the CPU plugin of this build. All of these
 * fail the running cmocka test when something goes wrong. */
#ifndef TEST_SUPPORT_BACKEND_H
#define TEST_SUPPORT_BACKEND_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "compute_backend.h"

/* The table of the plugin under test; opened once, never unloaded. */
const compute_backend_v1 *test_table(void);

/* An initialized instance. options: "key=value" strings ended by NULL, or NULL; CB_TEST_OPTIONS
 * (comma separated) comes before them. */
cb_backend test_open(const char *const *options);
void test_close(cb_backend be);

/* A cmocka setup and teardown that keep a backend in *state as a cb_backend pointer. */
int test_setup_backend(void **state);
int test_teardown_backend(void **state);
#define TEST_BE(state) (*(const cb_backend *)*(state))

uint64_t test_alloc(cb_backend be, uint64_t bytes);
uint64_t test_upload(cb_backend be, const void *data, uint64_t bytes);
void test_download(cb_backend be, void *data, uint64_t ptr, uint64_t bytes);
void test_release(cb_backend be, uint64_t ptr);

/* An error struct ready for use. */
cb_error test_error(void);

/* Asserts the status, and on failure prints err's message. */
void test_status_at(cb_status got, cb_status want, const cb_error *err, const char *call,
                    const char *file, int line);
#define TEST_STATUS(call, want, err)                                                               \
    test_status_at((call), (want), (err), #call, __FILE__, __LINE__)
#define TEST_OK(call, err) TEST_STATUS(call, CB_OK, err)

/* Ends the running test as skipped; the reason is on a line that scripts/test.sh repeats. */
void test_skip(const char *name, const char *reason);

/* Stored test data is little-endian. */
int test_big_endian(void);

#endif
