/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels.h"

#include <stddef.h>
#include <string.h>

#include "isa.h"
#include "../kernels/avx2/avx2.h"
#include "../kernels/avx512/avx512.h"
#include "../kernels/reference/reference.h"

/* A rung of the ladder: its name, what it needs, and what it does better than those below. */
struct rung {
    const char *name;
    uint32_t isa;
    void (*climb)(struct cpu_kernels *kernels);
};

static const struct rung rungs[] = {
    { "reference", 0, cpu_reference_kernels },
#ifdef CPU_HAVE_AVX2
    { "avx2", CPU_ISA_AVX2, cpu_avx2_kernels },
#endif
#ifdef CPU_HAVE_AVX512
    { "avx512", CPU_ISA_AVX512, cpu_avx512_kernels },
#endif
};

bool cpu_kernels_select(struct cpu_kernels *kernels, const char *most)
{
    const uint32_t isa = cpu_isa_detect();
    const bool automatic = !strcmp(most, "auto");
    bool known = automatic;
    for (size_t i = 0; i < sizeof(rungs) / sizeof(rungs[0]) && (automatic || !known); i++) {
        known = automatic || !strcmp(most, rungs[i].name);
        if ((rungs[i].isa & isa) != rungs[i].isa)
            continue; /* asked for or not, this machine cannot */
        rungs[i].climb(kernels);
        kernels->name = rungs[i].name;
    }
    return known;
}
