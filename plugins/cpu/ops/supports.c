/* SPDX-License-Identifier: Apache-2.0 */
#include "../cpu.h"

/* What the kernel of a valid call would ask for. */
static uint64_t temporary_bytes(const struct cpu_backend *cpu, uint32_t op,
                                const union cbc_any *any)
{
    switch (op) {
    case CB_OP_GEMM:
    case CB_OP_GEMM_MIXED_PRECISION:
    case CB_OP_BATCHED_GEMM: {
        const struct cpu_gemm gemm = cpu_gemm_normalize(&any->gemm);
        return any->gemm.operands[2].bytes ? CPU_WORKSPACE(&cpu->kernels.gemm, &gemm, cpu) : 0;
    }
    case CB_OP_CONV2D_FORWARD:
    case CB_OP_CONV2D_BACKWARD_DATA:
    case CB_OP_CONV2D_BACKWARD_FILTER: {
        const struct cpu_conv2d v = cpu_conv2d_normalize(&any->conv2d);
        for (int i = 0; i < 3; i++)
            if (!any->conv2d.operands[i].bytes)
                return 0;
        return CPU_WORKSPACE(cpu_conv2d_kernel(cpu, op), &v, cpu);
    }
    case CB_OP_ATTENTION: {
        const struct cpu_attention t = cpu_attention_normalize(&any->attention);
        return any->attention.operands[0].bytes ? CPU_WORKSPACE(&cpu->kernels.attention, &t, cpu)
                                                : 0;
    }
    default: return 0;
    }
}

cb_status cpu_supports(void *self, uint32_t op, const void *args, cb_support *out, cb_error *err)
{
    struct cpu_call call;
    union cbc_any any;
    cb_error why;
    cb_support answer = { CB_ARGS(cb_support), .answer = CB_SUPPORT_YES };
    cb_error_init(&why);

    cb_status st = cpu_call_begin(&call, self, "supports", err);
    if (st == CB_OK && !args)
        st = cbc_invalid(err, "supports", "args is NULL");
    if (st == CB_OK) {
        if (cbc_check_any(op, args, &any, &why) != CB_OK) {
            answer.answer = CB_SUPPORT_NO;
            cb_text_append(answer.reason, sizeof(answer.reason), why.msg);
        } else {
            answer.temporary_bytes = temporary_bytes(call.cpu, op, &any);
        }
        st = cb_result_write(out, &answer, sizeof(answer), CB_SUPPORT_1_0, "supports", err);
    }
    return cpu_call_end(&call, st);
}
