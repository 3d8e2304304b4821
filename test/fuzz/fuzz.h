/* SPDX-License-Identifier: Apache-2.0 */
/* A fuzz target is this one function. libFuzzer calls it with what it makes up, replay.c with the
 * stored corpus; a target that finds something wrong calls abort. */
#ifndef TEST_FUZZ_H
#define TEST_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* An open file without a name that holds the bytes, and its path in path[32]. */
int fuzz_file(const uint8_t *bytes, size_t size, char *path);

#endif
