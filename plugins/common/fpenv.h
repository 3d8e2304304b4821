/* SPDX-License-Identifier: Apache-2.0 */
/* The floating-point environment that the contract asks of every op: round to nearest, gradual
 * underflow, no traps. Enter it first thing in a call, leave it last thing, on the same thread. */
#ifndef CBC_FPENV_H
#define CBC_FPENV_H

#include <stdint.h>

#if defined(__x86_64__)
#include <xmmintrin.h>

#define CBC_MXCSR_FLAGS   0x3fu   /* sticky flags */
#define CBC_MXCSR_DEFAULT 0x1f80u /* all traps masked, nearest, no FTZ, no DAZ */

typedef uint32_t cbc_fpenv;

static inline cbc_fpenv cbc_fpenv_enter(void)
{
    const uint32_t saved = _mm_getcsr();
    if ((saved & ~CBC_MXCSR_FLAGS) != CBC_MXCSR_DEFAULT)
        _mm_setcsr(CBC_MXCSR_DEFAULT | (saved & CBC_MXCSR_FLAGS));
    return saved;
}

/* Control bits come back; flags that the call raised stay. */
static inline void cbc_fpenv_leave(cbc_fpenv saved)
{
    if ((saved & ~CBC_MXCSR_FLAGS) != CBC_MXCSR_DEFAULT)
        _mm_setcsr((saved & ~CBC_MXCSR_FLAGS) | (_mm_getcsr() & CBC_MXCSR_FLAGS));
}

#elif defined(__aarch64__)

typedef uint64_t cbc_fpenv; /* FPCR; the flags are in another register */

static inline cbc_fpenv cbc_fpenv_enter(void)
{
    uint64_t saved;
    __asm__ volatile("mrs %0, fpcr" : "=r"(saved));
    if (saved)
        __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)0) : "memory");
    return saved;
}

static inline void cbc_fpenv_leave(cbc_fpenv saved)
{
    if (saved)
        __asm__ volatile("msr fpcr, %0" : : "r"(saved) : "memory");
}

#else
#include <fenv.h>

typedef fenv_t cbc_fpenv;

static inline cbc_fpenv cbc_fpenv_enter(void)
{
    fenv_t saved;
    fegetenv(&saved);
    fesetenv(FE_DFL_ENV);
    return saved;
}

static inline void cbc_fpenv_leave(cbc_fpenv saved)
{
    feupdateenv(&saved);
}
#endif

#endif
