/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels.h"

#include <stddef.h>
#include <string.h>

#include "isa.h"
#include "../kernels/amx/amx.h"
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
#ifdef CPU_HAVE_AMX
    { "amx", CPU_ISA_AMX, cpu_amx_kernels },
#endif
};

bool cpu_kernels_select(struct cpu_kernels *kernels, const char *most)
{
    const bool automatic = !strcmp(most, "auto");
    bool known = automatic;
    kernels->above = kernels->above_why = NULL;
    for (size_t i = 0; i < sizeof(rungs) / sizeof(rungs[0]); i++) {
        const bool wanted = automatic || !known;
        const char *why = wanted ? cpu_isa_lacks(rungs[i].isa) : "the option kernels stops below";
        known |= !strcmp(most, rungs[i].name);
        if (!why) {
            rungs[i].climb(kernels);
            kernels->name = rungs[i].name;
        } else if (!kernels->above) {
            kernels->above = rungs[i].name;
            kernels->above_why = why;
        }
    }
    return known;
}
