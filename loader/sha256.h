/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 (FIPS 180-4). */
#ifndef CBL_SHA256_H
#define CBL_SHA256_H

#include <stdint.h>

#define CBL_SHA256_SIZE 32

struct cbl_sha256 {
    uint32_t state[8];
    uint64_t size; /* bytes so far */
    uint8_t block[64];
};

void cbl_sha256_begin(struct cbl_sha256 *s);
void cbl_sha256_add(struct cbl_sha256 *s, const void *bytes, uint64_t size);
void cbl_sha256_end(struct cbl_sha256 *s, uint8_t digest[CBL_SHA256_SIZE]);

#endif
