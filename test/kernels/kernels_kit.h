/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of single kernels share. Each test runs once for every rung of the ladder; on a rung
 * that this machine cannot climb it is skipped. Memory ends where a page begins that may not be
 * touched, and is surrounded by guard cells.
 *
 * CB_TEST_EDGE=0 keeps all memory away from that page, for emulators that load what a mask leaves
 * out: qemu 7.2 does for AVX2. */
#ifndef TEST_KERNELS_KIT_H
#define TEST_KERNELS_KIT_H

#include "backend.h"

#include "dispatch/kernels.h"

/* Loops over what is independent go in such steps: a sanitizer sees in a third of the cases what it
 * would in all, and takes as many times longer. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define KIT_STEP 3
#elif defined(__has_feature)
#define KIT_STEP (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ? 3 : 1)
#else
#define KIT_STEP 1
#endif

/* Runs n tests on every rung, as RUNG_name. The exit status of main. */
int kit_run(const char *family, const struct CMUnitTest *tests, uint64_t n);

/* The kernels of the running test's rung; skips the test where there are none. */
struct cpu_kernels kit_kernels(void **state);

/* What kernels work with, on so many threads; freed by kit_release. */
struct cpu_work kit_work(unsigned threads, uint64_t bytes);
void kit_work_end(struct cpu_work *work);

/* bytes of memory that end `gap` bytes before the page that may not be touched. All of it, and what
 * lies around it, is guard: for elements of 8, 4 or 2 bytes a signalling NaN (of f64, f32, bf16),
 * so that no load, sum and store leaves it as it was. Freed by kit_release. */
void *kit_memory(uint64_t bytes, uint64_t gap, unsigned element);

/* Whether bytes are all guard. */
bool kit_is_guard(const void *memory, uint64_t bytes, unsigned element);

/* Fails if a guard around any memory was written, and frees all memory. */
void kit_release(void);

/* A cmocka teardown that does the same, whatever became of the test. */
int kit_teardown(void **state);

/* Numbers that are the same in every run. */
uint64_t kit_random(uint64_t *seed);

#endif
