/* SPDX-License-Identifier: Apache-2.0 */
/* A slot from its beginning to its end: check, run or queue, answer. */
#include "faults.h"
#include "ruin.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

cb_status chaos_begin(struct chaos *chaos, const char *where, cb_error *err)
{
    if (!atomic_load_explicit(&chaos->initialized, memory_order_acquire))
        return cbc_fail(err, CB_NOT_INITIALIZED, where, "init has not been called");
    if (chaos->pid != getpid())
        return cbc_fail(err, CB_DEVICE_ERROR, where, "used after fork");
    return CB_OK;
}

static cb_status call(struct chaos *chaos, uint32_t code, const void *args, cb_error *err)
{
    const char *where = chaos_code_name(code);
    const struct chaos_fault *fault = chaos_fault_of(chaos, code);
    cb_status st = chaos_begin(chaos, where, err);
    if (st != CB_OK)
        return st;
    struct chaos_work *work = calloc(1, sizeof(*work));
    if (!work)
        return cbc_fail(err, CB_OUT_OF_MEMORY, where, "no memory for a piece of work");
    work->chaos = chaos;
    work->code = code;
    st = chaos_prepare(work, args, err);
    if (st == CB_OK)
        return chaos_submit(work, err);
    if (fault && fault->refused)
        fault->refused(work);
    if (chaos_has(chaos, CHAOS_CHECKS_LATE))
        st = chaos_fail_late(chaos, work->stream, st, err);
    chaos_work_free(work);
    return st;
}

cb_status chaos_call(void *self, uint32_t code, const void *args, cb_error *err)
{
    struct chaos *chaos = self;
    const struct chaos_fault *fault = chaos_fault_of(chaos, code);
    const cbc_fpenv fpenv = cbc_fpenv_enter();
    cb_status st = call(chaos, code, args, err);
    cbc_fpenv_leave(fpenv);
    if (fault && fault->answer)
        st = fault->answer(chaos_code_name(code), st, err);
    if (fault && fault->leave)
        fault->leave();
    return st;
}

cb_status chaos_run(struct chaos_work *work, cb_error *err)
{
    const struct chaos_fault *fault = chaos_fault_of(work->chaos, work->code);
    chaos_reach(work->chaos, work->code);
    if (work->code == work->chaos->fails)
        return cbc_fail(err, CB_DEVICE_ERROR, chaos_code_name(work->code),
                        "failed, as the option fail asks");
    if (fault && fault->compute)
        return chaos_by_hand(work, err);
    if (fault && fault->change)
        fault->change(work);
    return chaos_call_wrapped(work, err);
}
