/* SPDX-License-Identifier: Apache-2.0 */
/* The allocator of a program that is linked with test_starve, under -Wl,--wrap: it counts the
 * blocks of all threads, and fails when it is told to. */
#ifndef TEST_COMMON_STARVE_H
#define TEST_COMMON_STARVE_H

#include <stdatomic.h>

extern atomic_long starve_at;   /* the allocation from now on that fails; 0: none */
extern atomic_int starved;      /* one has failed; the test clears it */
extern atomic_long live_blocks; /* allocated and not freed; the test sets it to 0 */

#endif
