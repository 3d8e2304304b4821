/* SPDX-License-Identifier: Apache-2.0 */
#include "queue.h"

#include <stdlib.h>
#include <string.h>

cb_status cpu_call_begin(struct cpu_call *call, void *self, const char *where, cb_error *err)
{
    call->cpu = self;
    call->where = where;
    call->fpenv = cbc_fpenv_enter();
    call->blocks = false;
    call->n = 0;
    call->memory = (struct cpu_spare){ NULL, 0 };
    if (!atomic_load_explicit(&call->cpu->initialized, memory_order_acquire))
        return cbc_fail(err, CB_NOT_INITIALIZED, where, "init has not been called");
    return CB_OK;
}

/* ---- memory ---- */

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

#define WORK_ALIGNMENT 64

/* Takes the smallest spare that is large enough. */
static struct cpu_spare take_spare(struct cpu_backend *cpu, uint64_t bytes)
{
    struct cpu_spare *best = NULL, taken = { NULL, 0 };
    pthread_mutex_lock(&cpu->lock);
    for (int i = 0; i < CPU_SPARES; i++) {
        struct cpu_spare *spare = &cpu->spares[i];
        if (spare->bytes >= bytes && (!best || spare->bytes < best->bytes))
            best = spare;
    }
    if (best) {
        taken = *best;
        *best = (struct cpu_spare){ NULL, 0 };
    }
    pthread_mutex_unlock(&cpu->lock);
    return taken;
}

/* Keeps memory in place of the smallest spare, and frees the loser. */
static void give_spare(struct cpu_backend *cpu, struct cpu_spare memory)
{
    pthread_mutex_lock(&cpu->lock);
    struct cpu_spare *least = &cpu->spares[0];
    for (int i = 1; i < CPU_SPARES; i++)
        if (cpu->spares[i].bytes < least->bytes)
            least = &cpu->spares[i];
    struct cpu_spare loser = memory;
    if (memory.bytes > least->bytes) {
        loser = *least;
        *least = memory;
    }
    pthread_mutex_unlock(&cpu->lock);
    free(loser.memory);
}

void cpu_spares_free(struct cpu_backend *cpu)
{
    for (int i = 0; i < CPU_SPARES; i++)
        free(cpu->spares[i].memory);
}

cb_status cpu_call_work(struct cpu_call *call, uint64_t bytes, struct cpu_work *work, cb_error *err)
{
    *work = (struct cpu_work){ call->cpu->team, NULL };
    if (!bytes)
        return CB_OK;
    call->memory = take_spare(call->cpu, bytes);
    if (!call->memory.memory) {
        void *memory = NULL;
        if (posix_memalign(&memory, WORK_ALIGNMENT, bytes))
            return cbc_fail(err, CB_OUT_OF_MEMORY, call->where,
                            "no memory for %llu temporary bytes", (unsigned long long)bytes);
        call->memory = (struct cpu_spare){ memory, bytes };
    }
    work->memory = call->memory.memory;
    return CB_OK;
}

/* ---- operands ---- */

/* Says where the pinned operands are, and copies inputs away that the output overlaps. */
static inline cb_status place(struct cpu_call *call, const struct cbc_operand *operands, unsigned n,
                              bool in_place, cb_error *err)
{
    const struct cbc_operand *output = NULL;
    cb_status st = CB_OK;
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

cb_status cpu_call_open(struct cpu_call *call, const struct cbc_operand *operands, unsigned n,
                        bool in_place, cb_error *err)
{
    const cb_status st =
        cbc_addr_table_pin(call->cpu->table, operands, n, call->pins, call->where, err);
    return st == CB_OK ? place(call, operands, n, in_place, err) : st;
}

/* Lets go of the operands, and of all memory that the work took. */
static inline void let_go(struct cpu_call *call)
{
    for (unsigned i = 0; i < call->n; i++)
        free(call->copies[i]);
    if (call->memory.memory)
        give_spare(call->cpu, call->memory);
    cbc_addr_table_unpin(call->cpu->table, call->pins, call->n);
}

cb_status cpu_call_end(struct cpu_call *call, cb_status st)
{
    let_go(call);
    cbc_fpenv_leave(call->fpenv);
    return st;
}

/* ---- work on a stream ---- */

cb_status cpu_call_defer(struct cpu_call *call, const struct cpu_op *op, const void *checked,
                         cb_stream *stream, cb_error *err)
{
    const struct cbc_operand *operands = CPU_OPERANDS(op, checked);
    const uint64_t *list = NULL;
    uint64_t length = 0;
    if (op->list) {
        memcpy(&list, (const char *)checked + op->list, sizeof(list));
        memcpy(&length, (const char *)checked + op->length, sizeof(length));
    }
    const uint64_t bytes = length * sizeof(*list);
    struct cpu_task *task = cpu_task_create(op->bytes + bytes, call->where, err);
    if (!task)
        return CB_OUT_OF_MEMORY;
    const cb_status st = cbc_addr_table_pin(call->cpu->table, operands, op->n_operands, task->pins,
                                            call->where, err);
    if (st != CB_OK) {
        free(task);
        return st;
    }
    task->op = op;
    memcpy(task->checked, checked, op->bytes);
    if (bytes) {
        const void *kept = memcpy(task->checked + op->bytes, list, bytes);
        memcpy(task->checked + op->list, &kept, sizeof(kept));
    }
    return cpu_queue_submit(call->cpu, stream, task, call->blocks, err);
}

cb_status cpu_call_task(struct cpu_backend *cpu, const struct cpu_task *task, cb_error *err)
{
    const struct cpu_op *op = task->op;
    struct cpu_call call = { .cpu = cpu, .where = task->where };
    memcpy(call.pins, task->pins, sizeof(call.pins));
    cb_status st = place(&call, CPU_OPERANDS(op, task->checked), op->n_operands, op->in_place, err);
    if (st == CB_OK)
        st = op->compute(&call, task->checked, err);
    let_go(&call);
    return st;
}
