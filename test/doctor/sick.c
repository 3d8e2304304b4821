/* SPDX-License-Identifier: Apache-2.0 */
/* One source, many plugins: the CPU backend with two ops, softmax and the binary that the tests of
 * streams need, so that a self-test is short, and one thing wrong, which a macro of the row in
 * meson.build says. */
#include "compute_backend_plugin.h"

#include <stdlib.h>
#include <unistd.h>

CB_LINKAGE cb_status cb_plugin_entry_cpu(cb_negotiation *negotiation);

#ifndef SICK_CLASS
#define SICK_CLASS "cpu"
#endif
#ifndef SICK_PRIORITY
#define SICK_PRIORITY 10
#endif

static compute_backend_v1 table;

#if defined(SICK_CRASHES)
#define FALL_ILL() abort()
#elif defined(SICK_HANGS)
#define FALL_ILL()                                                                                 \
    for (;;)                                                                                       \
    pause()
#elif defined(SICK_EXITS)
#define FALL_ILL() exit(3)
#endif

#ifdef SICK_IN_CREATE
static cb_status create(const cb_create_args *args, void **out, cb_error *err)
{
    (void)args, (void)out;
    FALL_ILL();
    return cb_error_set(err, CB_DEVICE_ERROR, "create", "cured by itself");
}
#endif

#ifdef SICK_IN_SOFTMAX
static cb_status softmax(void *self, const cb_softmax_args *args, cb_error *err)
{
    (void)self, (void)args;
    FALL_ILL();
    return cb_error_set(err, CB_DEVICE_ERROR, "softmax", "cured by itself");
}
#endif

#ifdef SICK_WRONG_SOFTMAX
static cb_status softmax(void *self, const cb_softmax_args *args, cb_error *err)
{
    (void)self, (void)args, (void)err;
    return CB_OK;
}
#endif

#ifdef SICK_NO_DEVICE
static cb_status device_count(void *self, uint32_t *out, cb_error *err)
{
    (void)self;
    *out = 0;
    cb_error_set(err, CB_OK, "device_count", "nothing is plugged in");
    return CB_OK;
}
#endif

#ifdef SICK_TEXT_RELOCATION
__asm__(".text\n.quad sick_target\n.data\n.globl sick_target\nsick_target: .quad 0\n.text\n");
#endif

#ifdef SICK_EXPORTS
__attribute__((visibility("default"))) int helper(void);
int helper(void)
{
    return 1;
}
#endif

#ifdef SICK_USES_LOADER
const char *cb_loader_version(void);
#endif

static const compute_backend_v1 *cpu;

static cb_status supports(void *self, uint32_t op, const void *args, cb_support *out, cb_error *err)
{
    const cb_support no = { .answer = CB_SUPPORT_NO,
                            .reason = "softmax and binary are all there is" };
    const cb_status status = cpu->supports(self, op, args, out, err);
    if (status != CB_OK || op == CB_OP_SOFTMAX || op == CB_OP_BINARY)
        return status;
    return cb_result_write(out, &no, sizeof(no), CB_SUPPORT_1_0, "supports", err);
}

static void drop_ops(void)
{
    table.supports = supports;
    table.gemm = NULL;
    table.gemm_mixed_precision = NULL;
    table.batched_gemm = NULL;
    table.conv2d_forward = NULL;
    table.conv2d_backward_data = NULL;
    table.conv2d_backward_filter = NULL;
    table.attention = NULL;
    table.reduce = NULL;
    table.unary = NULL;
    table.gather = NULL;
    table.scatter = NULL;
}

#define MANIFEST(id) CB_PLUGIN_MANIFEST(id, "1.0.0", SICK_CLASS, SICK_PRIORITY)
#define ENTRY(id)    CB_PLUGIN_ENTRY(id)

MANIFEST(SICK_ID);

ENTRY(SICK_ID)
{
    const cb_status status = cb_plugin_entry_cpu(negotiation);
    if (status != CB_OK)
        return status;
    cpu = negotiation->table;
    table = *cpu;
    table.name = CB_TEXT_(SICK_ID);
    table.version = "1.0.0";
    drop_ops();
#ifdef SICK_IN_CREATE
    table.create = create;
#endif
#if defined(SICK_IN_SOFTMAX) || defined(SICK_WRONG_SOFTMAX)
    table.softmax = softmax;
#endif
#ifdef SICK_NO_DEVICE
    table.device_count = device_count;
#endif
#ifdef SICK_USES_LOADER
    table.version = cb_loader_version();
#endif
    negotiation->table = &table;
    return CB_OK;
}
