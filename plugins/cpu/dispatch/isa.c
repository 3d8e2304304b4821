/* SPDX-License-Identifier: Apache-2.0 */
#include "isa.h"

#if defined(__x86_64__)
#include <cpuid.h>

/* XCR0: the registers that the operating system saves when it switches threads. */
#define XCR0_AVX    0x06u
#define XCR0_AVX512 0xe6u

static uint32_t saved_registers(void)
{
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

uint32_t cpu_isa_detect(void)
{
    const uint32_t fma_f16c = bit_FMA | bit_F16C;
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
    return isa;
}

#else

uint32_t cpu_isa_detect(void)
{
    return 0;
}

#endif
