/* SPDX-License-Identifier: Apache-2.0 */
/* What instructions may run: what the chip has and the system saves. */
#ifndef CPU_ISA_H
#define CPU_ISA_H

#include <stdint.h>

enum {
    CPU_ISA_AVX2 = 1u << 0,   /* AVX2, FMA, F16C */
    CPU_ISA_AVX512 = 1u << 1, /* AVX-512 F, BW, DQ, VL over AVX2 */
};

uint32_t cpu_isa_detect(void);

#endif
