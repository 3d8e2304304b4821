/* SPDX-License-Identifier: Apache-2.0 */
#include "sha256.h"

#include <string.h>

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate(uint32_t x, uint32_t n)
{
    return x >> n | x << (32 - n);
}

static void put_be32(uint8_t *to, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        to[i] = (uint8_t)(value >> (24 - 8 * i));
}

static void compress(uint32_t state[8], const uint8_t block[64])
{
    uint32_t w[64], v[8];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        const uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + w[i - 7] +
               (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
    }
    memcpy(v, state, sizeof(v));
    for (int i = 0; i < 64; i++) {
        const uint32_t a = v[0], e = v[4];
        const uint32_t choice = (e & v[5]) ^ (~e & v[6]);
        const uint32_t majority = (a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]);
        const uint32_t t =
            v[7] + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + choice + constants[i] + w[i];
        memmove(&v[1], &v[0], 7 * sizeof(v[0]));
        v[4] += t;
        v[0] = t + (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + majority;
    }
    for (int i = 0; i < 8; i++)
        state[i] += v[i];
}

void cbl_sha256_begin(struct cbl_sha256 *s)
{
    /* The same of the square roots of the first 8 primes. */
    *s = (struct cbl_sha256){ .state = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
                                         0x9b05688c, 0x1f83d9ab, 0x5be0cd19 } };
}

void cbl_sha256_add(struct cbl_sha256 *s, const void *bytes, uint64_t size)
{
    const uint8_t *at = bytes;
    while (size) {
        const uint64_t used = s->size % 64;
        const uint64_t n = size < 64 - used ? size : 64 - used;
        memcpy(s->block + used, at, n);
        s->size += n;
        at += n;
        size -= n;
        if (used + n == 64)
            compress(s->state, s->block);
    }
}

void cbl_sha256_end(struct cbl_sha256 *s, uint8_t digest[CBL_SHA256_SIZE])
{
    static const uint8_t padding[64] = { 0x80 };
    const uint64_t bits = s->size * 8;
    uint8_t length[8];
    put_be32(length, (uint32_t)(bits >> 32));
    put_be32(length + 4, (uint32_t)bits);
    cbl_sha256_add(s, padding, 1 + (119 - s->size % 64) % 64);
    cbl_sha256_add(s, length, sizeof(length));
    for (int i = 0; i < 8; i++)
        put_be32(digest + 4 * i, s->state[i]);
}
