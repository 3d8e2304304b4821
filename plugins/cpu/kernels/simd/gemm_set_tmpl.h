/* SPDX-License-Identifier: Apache-2.0 */
/* gemm of one instruction set: its blocks, its packing, its slot. Included once by a file of the
 * set. */
#include <string.h>

#include "gemm_block.h"
#include "gemm_fetch.h"
#include "gemm_isa.h"
#include "gemm_set.h"
#include "gemm_turn.h"
#include "vec.h"

#define PACK_STEPS 8

/* How a tile reads: A with a mask and B in place; B in place; B packed; B in place and A far. */
enum {
    TILE_MASKED,
    TILE_PLAIN,
    TILE_PACKED,
    TILE_FAR
};

#define T     f64
#define REAL  double
#define V(op) f64_##op
#include "gemm_block_tmpl.h"
#define KIND          f64
#define IN            double
#define READ(op, ...) f64_##op(__VA_ARGS__)
#include "gemm_kind_tmpl.h"
#undef T
#undef REAL
#undef V

#if defined(__AVX512F__)
#define HALVES /* a vector is two steps of a panel of B */
#endif
#define T     f32
#define REAL  float
#define V(op) f32_##op
#include "gemm_block_tmpl.h"
#define KIND          f32
#define IN            float
#define READ(op, ...) f32_##op(__VA_ARGS__)
#include "gemm_kind_tmpl.h"
#define KIND          bf16
#define IN            uint16_t
#define READ(op, ...) bf16_##op(__VA_ARGS__)
#include "gemm_kind_tmpl.h"
#define KIND          f16
#define IN            uint16_t
#define READ(op, ...) f16_##op(__VA_ARGS__)
#include "gemm_kind_tmpl.h"
#define KIND          f32_as_bf16
#define IN            float
#define READ(op, ...) bf16_round(f32_##op(__VA_ARGS__))
#include "gemm_kind_tmpl.h"
#define KIND          f32_as_f16
#define IN            float
#define READ(op, ...) f16_widen(f16_narrow(f32_##op(__VA_ARGS__)))
#include "gemm_kind_tmpl.h"
#undef T
#undef REAL
#undef V

static const struct gemm_type type_f64 = { ISA(gemm_block_f64), 8, f64_n };
static const struct gemm_type type_f32 = { ISA(gemm_block_f32), 4, f32_n };

#define KIND_ITEM(type, kind, size, plain)                                                         \
    {                                                                                              \
        &type_##type, ISA(gemm_pack_##kind), gemv_##kind, size, plain                              \
    }
static const struct gemm_set set = {
    GEMM_MV,
    GEMM_NR,
    {
        [GEMM_F64] = KIND_ITEM(f64, f64, 8, true),
        [GEMM_F32] = KIND_ITEM(f32, f32, 4, true),
        [GEMM_BF16] = KIND_ITEM(f32, bf16, 2, false),
        [GEMM_F16] = KIND_ITEM(f32, f16, 2, false),
        [GEMM_F32_AS_BF16] = KIND_ITEM(f32, f32_as_bf16, 4, false),
        [GEMM_F32_AS_F16] = KIND_ITEM(f32, f32_as_f16, 4, false),
    },
};

static void run(const struct cpu_gemm *g, const struct cpu_work *work)
{
    gemm_run(&set, g, work);
}

static uint64_t workspace(const struct cpu_gemm *g, unsigned threads)
{
    return gemm_workspace(&set, g, threads);
}

const struct cpu_gemm_kernel ISA(cpu_gemm) = { run, workspace };
