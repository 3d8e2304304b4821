/* SPDX-License-Identifier: Apache-2.0 */
#include "isa.h"

#include <stddef.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

/* XCR0: the registers that the operating system saves when it switches threads. */
#define XCR0_AVX    0x06u
#define XCR0_AVX512 0xe6u
#define XCR0_AMX    0x60000u

/* Leaf 7, edx; not every compiler's cpuid.h names them. */
#define AMX_BF16 (1u << 22)
#define AMX_TILE (1u << 24)

static uint32_t saved_registers(void)
{
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

static uint32_t detect(void)
{
    const uint32_t fma_f16c = bit_FMA | bit_F16C, amx = AMX_TILE | AMX_BF16;
    const uint32_t avx512 = bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL;
    uint32_t a, b, c, d, isa = 0;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE) || (c & fma_f16c) != fma_f16c)
        return 0;
    const uint32_t saved = saved_registers();
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d))
        return 0;
    if ((saved & XCR0_AVX) == XCR0_AVX && (b & bit_AVX2))
        isa |= CPU_ISA_AVX2;
    if (isa && (saved & XCR0_AVX512) == XCR0_AVX512 && (b & avx512) == avx512)
        isa |= CPU_ISA_AVX512;
    if (isa & CPU_ISA_AVX512 && (saved & XCR0_AMX) == XCR0_AMX && (d & amx) == amx)
        isa |= CPU_ISA_AMX;
    return isa;
}

/* ---- the permission to use tiles ---- */

static char refusal[128]; /* empty: granted */

static void ask(void)
{
#if defined(__linux__) && defined(SYS_arch_prctl)
    enum {
        REQ_XCOMP_PERM = 0x1023,
        TILE_DATA = 18
    };
    if (!syscall(SYS_arch_prctl, REQ_XCOMP_PERM, TILE_DATA))
        return;
    snprintf(refusal, sizeof(refusal), "the system refuses tiles: arch_prctl: %s", strerror(errno));
#else
    snprintf(refusal, sizeof(refusal), "how to ask this system for tiles is not known");
#endif
}

static const char *refused(void)
{
    static pthread_once_t asked = PTHREAD_ONCE_INIT;
    pthread_once(&asked, ask);
    return refusal[0] ? refusal : NULL;
}

const char *cpu_isa_lacks(uint32_t isa)
{
    if ((detect() & isa) != isa)
        return "the processor or the system lacks its instructions";
    return isa & CPU_ISA_AMX ? refused() : NULL;
}

#else

const char *cpu_isa_lacks(uint32_t isa)
{
    return isa ? "another processor's instructions" : NULL;
}

#endif
