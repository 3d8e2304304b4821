/* SPDX-License-Identifier: Apache-2.0 */
#include "../cpu.h"

#include <string.h>

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
        } else if (op == CB_OP_ATTENTION && any.attention.operands[0].bytes) {
            answer.temporary_bytes = any.attention.seq_kv * sizeof(float); /* a row of scores */
        }
        st = cb_result_write(out, &answer, sizeof(answer), CB_SUPPORT_1_0, "supports", err);
    }
    return cpu_call_end(&call, st);
}
