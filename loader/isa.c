/* SPDX-License-Identifier: Apache-2.0 */
/* The instruction sets that this machine can run, in the words of the manifest: what the processor
 * has, and what the system saves when it switches threads. */
#include "manifest.h"

#include "cb_loader.h"

#if defined(__x86_64__)

#include <cpuid.h>

#define MACHINE "x86_64"

/* The registers of CPUID's leaves that are asked for. */
enum {
    LEAF_1_ECX,
    LEAF_7_EBX,
    LEAF_7_EDX,
    LEAF_7_1_EAX,
    LEAF_EXT_1_ECX,
    REGISTER_COUNT
};

/* What the system must save, bits of XCR0. */
#define STATE_YMM  0x6u
#define STATE_ZMM  0xe6u
#define STATE_TILE 0x60000u

static const struct {
    const char *name;
    uint32_t reg, bit;
    uint64_t state;
} features[] = {
    { "pni", LEAF_1_ECX, 0, 0 },
    { "ssse3", LEAF_1_ECX, 9, 0 },
    { "sse4_1", LEAF_1_ECX, 19, 0 },
    { "sse4_2", LEAF_1_ECX, 20, 0 },
    { "popcnt", LEAF_1_ECX, 23, 0 },
    { "avx", LEAF_1_ECX, 28, STATE_YMM },
    { "f16c", LEAF_1_ECX, 29, STATE_YMM },
    { "fma", LEAF_1_ECX, 12, STATE_YMM },
    { "bmi1", LEAF_7_EBX, 3, 0 },
    { "bmi2", LEAF_7_EBX, 8, 0 },
    { "abm", LEAF_EXT_1_ECX, 5, 0 },
    { "movbe", LEAF_1_ECX, 22, 0 },
    { "avx2", LEAF_7_EBX, 5, STATE_YMM },
    { "avx512f", LEAF_7_EBX, 16, STATE_ZMM },
    { "avx512cd", LEAF_7_EBX, 28, STATE_ZMM },
    { "avx512bw", LEAF_7_EBX, 30, STATE_ZMM },
    { "avx512dq", LEAF_7_EBX, 17, STATE_ZMM },
    { "avx512vl", LEAF_7_EBX, 31, STATE_ZMM },
    { "avx512_bf16", LEAF_7_1_EAX, 5, STATE_ZMM },
    { "amx_tile", LEAF_7_EDX, 24, STATE_TILE },
    { NULL, 0, 0, 0 },
};

static uint64_t saved_state(uint32_t leaf_1_ecx)
{
    uint32_t low, high;
    if (!(leaf_1_ecx & bit_OSXSAVE))
        return 0;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

/* A leaf that the processor does not have leaves zeroes. */
uint64_t cbl_isa_of_machine(void)
{
    uint32_t r[REGISTER_COUNT] = { 0 }, a, b, c, d;
    uint64_t have = 0;
    if (__get_cpuid(1, &a, &b, &c, &d))
        r[LEAF_1_ECX] = c;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
        r[LEAF_7_EBX] = b;
        r[LEAF_7_EDX] = d;
        if (a >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d))
            r[LEAF_7_1_EAX] = a;
    }
    if (__get_cpuid(0x80000001, &a, &b, &c, &d))
        r[LEAF_EXT_1_ECX] = c;
    const uint64_t saved = saved_state(r[LEAF_1_ECX]);
    for (uint64_t i = 0; features[i].name; i++)
        if ((r[features[i].reg] >> features[i].bit & 1) && !(features[i].state & ~saved))
            have |= UINT64_C(1) << i;
    return have;
}

#elif defined(__aarch64__)

#include <asm/hwcap.h>
#include <sys/auxv.h>

#define MACHINE "aarch64"

static const struct {
    const char *name;
    unsigned long where, bit;
} features[] = {
    { "sve", AT_HWCAP, HWCAP_SVE },
    { "bf16", AT_HWCAP2, HWCAP2_BF16 },
    { NULL, 0, 0 },
};

uint64_t cbl_isa_of_machine(void)
{
    uint64_t have = 0;
    for (uint64_t i = 0; features[i].name; i++)
        if (getauxval(features[i].where) & features[i].bit)
            have |= UINT64_C(1) << i;
    return have;
}

#else

#if defined(__riscv)
#define MACHINE "riscv64"
#elif defined(__powerpc64__)
#define MACHINE "ppc64"
#elif defined(__s390x__)
#define MACHINE "s390x"
#else
#define MACHINE "any"
#endif

static const struct {
    const char *name;
} features[] = { { NULL } };

uint64_t cbl_isa_of_machine(void)
{
    return 0;
}

#endif

static bool check_feature(uint64_t have, struct slice name, struct verdict *v)
{
    for (uint64_t i = 0; features[i].name; i++)
        if (cbl_slice_is(name, features[i].name))
            return (have >> i & 1) ||
                   cbl_blame(v, CB_STATE_REFUSED, "needs %.*s, which this machine does not have",
                             SLICE_ARGS(name));
    return cbl_blame(v, CB_STATE_REFUSED, "needs %.*s, which cannot be checked on this machine",
                     SLICE_ARGS(name));
}

bool cbl_isa_check(uint64_t have, struct slice isa, struct verdict *v)
{
    struct slice part;
    if (!cbl_split(&isa, ',', &part) || cbl_slice_is(part, "any"))
        return true;
    if (!cbl_slice_is(part, MACHINE))
        return cbl_blame(v, CB_STATE_REFUSED, "needs %.*s, and this is " MACHINE, SLICE_ARGS(part));
    while (cbl_split(&isa, ',', &part))
        if (!check_feature(have, part, v))
            return false;
    return true;
}

void cbl_isa_add(struct text *t, uint64_t have)
{
    cbl_add(t, MACHINE);
    for (uint64_t i = 0; features[i].name; i++)
        if (have >> i & 1)
            cbl_add(t, ",%s", features[i].name);
}
