/* SPDX-License-Identifier: Apache-2.0 */
/* How large the caches are, for block sizes. */
#ifndef CPU_CACHE_H
#define CPU_CACHE_H

#include <stdint.h>

struct cpu_caches {
    uint64_t l1d, l2, l3; /* bytes; l1d and l2 of one core, l3 shared */
};

/* Asked once per process; the same answer ever after. What the machine does not tell is guessed. */
const struct cpu_caches *cpu_caches(void);

#endif
