/* SPDX-License-Identifier: Apache-2.0 */
#include "cpu.h"

#include <stdlib.h>
#include <string.h>

cb_status cpu_call_begin(struct cpu_call *call, void *self, const char *where, cb_error *err)
{
    call->cpu = self;
    call->where = where;
    call->fpenv = cbc_fpenv_enter();
    call->n = 0;
    call->scratch = NULL;
    if (!atomic_load_explicit(&call->cpu->initialized, memory_order_acquire))
        return cbc_fail(err, CB_NOT_INITIALIZED, where, "init has not been called");
    return CB_OK;
}

/* Replaces the host address of input i by that of a copy. */
static cb_status copy_input(struct cpu_call *call, unsigned i, uint64_t bytes, cb_error *err)
{
    call->copies[i] = malloc(bytes);
    if (!call->copies[i])
        return cbc_fail(err, CB_OUT_OF_MEMORY, call->where,
                        "no memory for a copy of %llu bytes of an overlapping input",
                        (unsigned long long)bytes);
    memcpy(call->copies[i], call->host[i], bytes);
    call->host[i] = call->copies[i];
    return CB_OK;
}

cb_status cpu_call_open(struct cpu_call *call, cb_stream *stream,
                        const struct cbc_operand *operands, unsigned n, bool in_place,
                        cb_error *err)
{
    cb_status st = cpu_stream_check(call->cpu, stream, call->where, err);
    if (st == CB_OK)
        st = cbc_addr_table_pin(call->cpu->table, operands, n, call->pins, call->where, err);
    if (st != CB_OK)
        return st;

    const struct cbc_operand *output = NULL;
    call->n = n;
    for (unsigned i = 0; i < n; i++) {
        char *memory = call->pins[i].memory;
        call->host[i] = memory ? memory + call->pins[i].offset : NULL;
        call->copies[i] = NULL;
        if (operands[i].written)
            output = &operands[i];
    }
    for (unsigned i = 0; i < n && output && st == CB_OK; i++) {
        const struct cbc_operand *input = &operands[i];
        if (input == output || !cbc_overlap(input, output))
            continue;
        if (!in_place || input->ptr != output->ptr)
            st = copy_input(call, i, input->bytes, err);
    }
    return st;
}

cb_status cpu_call_scratch(struct cpu_call *call, uint64_t bytes, cb_error *err)
{
    call->scratch = malloc(bytes ? bytes : 1);
    if (!call->scratch)
        return cbc_fail(err, CB_OUT_OF_MEMORY, call->where, "no memory for %llu temporary bytes",
                        (unsigned long long)bytes);
    return CB_OK;
}

cb_status cpu_call_end(struct cpu_call *call, cb_status st)
{
    for (unsigned i = 0; i < call->n; i++)
        free(call->copies[i]);
    free(call->scratch);
    cbc_addr_table_unpin(call->cpu->table, call->pins, call->n);
    cbc_fpenv_leave(call->fpenv);
    return st;
}
