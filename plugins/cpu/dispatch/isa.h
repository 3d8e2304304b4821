/* SPDX-License-Identifier: Apache-2.0 */
/* What instructions may run: what the chip has and the system saves. */
#ifndef CPU_ISA_H
#define CPU_ISA_H

#include <stdint.h>

enum {
    CPU_ISA_AVX2 = 1u << 0,   /* AVX2, FMA, F16C */
    CPU_ISA_AVX512 = 1u << 1, /* AVX-512 F, BW, DQ, VL over AVX2 */
    CPU_ISA_AMX = 1u << 2,    /* AMX-TILE, AMX-BF16 over AVX-512 */
};

/* Why a set of these may not run, or NULL if it may. Tiles need the system's permission, which this
 * asks for once, the first time that they are wanted; it holds for all threads of the process. The
 * text lasts. */
const char *cpu_isa_lacks(uint32_t isa);

#endif
