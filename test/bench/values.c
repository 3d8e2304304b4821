/* SPDX-License-Identifier: Apache-2.0 */
/* Memory, random numbers and element types. */
#include "bench.h"

#include <immintrin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *xalloc(size_t n)
{
    void *p = aligned_alloc(64, (n + 127) & ~(size_t)63);
    if (!p) {
        perror("alloc");
        exit(1);
    }
    memset(p, 0, n);
    return p;
}

uint64_t rng = 88172645463325252ull;
uint64_t xr(void)
{
    rng ^= rng << 13;
    rng ^= rng >> 7;
    rng ^= rng << 17;
    return rng;
}

double frand(void)
{
    return (double)(xr() >> 11) / 9007199254740992.0 - 0.5;
}

uint16_t f2bf(float f)
{
    uint32_t u;
    memcpy(&u, &f, 4);
    u += 0x7fff + ((u >> 16) & 1);
    return u >> 16;
}

float bf2f(uint16_t h)
{
    uint32_t u = (uint32_t)h << 16;
    float f;
    memcpy(&f, &u, 4);
    return f;
}

__attribute__((target("f16c"))) uint16_t f2h(float f)
{
    return _cvtss_sh(f, _MM_FROUND_TO_NEAREST_INT);
}

__attribute__((target("f16c"))) float h2f(uint16_t u)
{
    return _cvtsh_ss(u);
}

size_t dt_size(enum pb_dt d)
{
    return d == PB_F64 ? 8 : d == PB_BF16 || d == PB_F16 ? 2 : 4;
}

const char *dt_name(enum pb_dt d)
{
    static const char *n[] = { "f64", "f32", "bf16", "mix-bf16", "mix-f16", "f16" };
    return n[d];
}

size_t out_size(enum pb_dt d)
{
    return d == PB_F64 ? 8 : 4;
}
