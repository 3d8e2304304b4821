/* SPDX-License-Identifier: Apache-2.0 */
/* How a thread rounds and what it does with subnormals. The contract lets a call raise the sticky
 * flags, so these are left out. */
#include "suite.h"

#include <fenv.h>

#if defined(__SSE2__)
#include <xmmintrin.h>

#define STICKY       0x3fu
#define ROUND_DOWN   0x2000u
#define FLUSH        0x8040u /* results to zero, operands to zero */
#define CLEAR_ROUNDS 0x6000u

/* The old unit has a rounding mode of its own, which fesetround sets with the other. */
uint64_t st_control(void)
{
    return (uint64_t)fegetround() << 32 | (_mm_getcsr() & ~STICKY);
}

void st_control_set(uint64_t control)
{
    fesetround((int)(control >> 32));
    _mm_setcsr((_mm_getcsr() & STICKY) | (uint32_t)control);
}

uint64_t st_control_odd(void)
{
    const uint32_t rounds_to_nearest = (uint32_t)st_control() & ~CLEAR_ROUNDS;
    return (uint64_t)FE_DOWNWARD << 32 | rounds_to_nearest | ROUND_DOWN | FLUSH;
}

#elif defined(__aarch64__)

uint64_t st_control(void)
{
    uint64_t control;
    __asm__ volatile("mrs %0, fpcr" : "=r"(control));
    return control;
}

void st_control_set(uint64_t control)
{
    __asm__ volatile("msr fpcr, %0" : : "r"(control));
}

/* FZ, and of RMode towards minus infinity. */
uint64_t st_control_odd(void)
{
    return (st_control() & ~(UINT64_C(3) << 22)) | UINT64_C(1) << 24 | UINT64_C(2) << 22;
}

#else

uint64_t st_control(void)
{
    return (uint64_t)fegetround();
}

void st_control_set(uint64_t control)
{
    fesetround((int)control);
}

uint64_t st_control_odd(void)
{
#ifdef FE_DOWNWARD
    return FE_DOWNWARD;
#else
    return st_control();
#endif
}

#endif
