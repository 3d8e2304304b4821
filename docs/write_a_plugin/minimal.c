/* SPDX-License-Identifier: Apache-2.0 */
/* A whole plugin, as small as one can be: a device with memory, copies, and gemm on f32. The device
 * is made of calloc and loops. Where a comment says "driver", a real backend calls its driver. */
#include "addr_table.h"
#include "check.h"
#include "compute_backend_plugin.h"
#include "error.h"
#include "fpenv.h"

#include <fnmatch.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ID            "minimal"
#define VERSION       "0.1.0"
#define DEVICE_NAME   "Minimal Device"
#define DEVICE_MEMORY (1ull << 30)
#define OPERANDS_MAX  3

struct minimal {
    struct cbc_addr_table *table;
    atomic_bool initialized;
    pid_t pid; /* a driver's handles are worth nothing in a forked child */
};

/* ---- Instance and device: these work before init ---- */

static cb_status read_option(const char *option, cb_error *err)
{
    static const char device[] = "device=";
    const char *value = option + sizeof(device) - 1;
    char where[sizeof(err->where)];
    if (!strncmp(option, device, sizeof(device) - 1)) {
        if (!strcmp(value, "0") || !strcmp(value, ID) || !fnmatch(value, DEVICE_NAME, 0))
            return CB_OK;
        return cbc_invalid(err, "option device", "there is no device %s", value);
    }
    snprintf(where, sizeof(where), "option %.*s", (int)strcspn(option, "="), option);
    return cbc_invalid(err, where, "no such option; there is device");
}

/* driver: gives back one allocation */
static void release(void *ctx, void *memory, void *owner, uint64_t bytes)
{
    (void)ctx, (void)owner, (void)bytes;
    free(memory);
}

static cb_status create(const cb_create_args *args, void **out, cb_error *err)
{
    cb_create_args a;
    cb_status st = cb_args_read(&a, sizeof(a), CB_CREATE_ARGS_1_0, args, "create", err);
    if (st == CB_OK && (!out || (a.n_options && !a.options)))
        st = cbc_invalid(err, "create", "%s is NULL", out ? "options" : "out");
    for (uint64_t i = 0; st == CB_OK && i < a.n_options; i++)
        st = a.options[i] ? read_option(a.options[i], err)
                          : cbc_invalid(err, "create", "an option is NULL");
    if (st != CB_OK)
        return st;

    struct minimal *m = calloc(1, sizeof(*m));
    if (m)
        m->table = cbc_addr_table_create(release, m);
    if (!m || !m->table) {
        free(m);
        return cbc_fail(err, CB_OUT_OF_MEMORY, "create", "no memory for an instance");
    }
    m->pid = getpid();
    *out = m;
    return CB_OK;
}

static void destroy(void *self)
{
    struct minimal *m = self;
    if (!m)
        return;
    cbc_addr_table_destroy(m->table);
    free(m);
}

/* driver: without a device say OK, a count of 0, and in *err why */
static cb_status device_count(void *self, uint32_t *count, cb_error *err)
{
    (void)self;
    if (!count)
        return cbc_invalid(err, "device_count", "count is NULL");
    *count = 1;
    return CB_OK;
}

static cb_status check_ordinal(uint32_t ordinal, const char *where, cb_error *err)
{
    if (ordinal == 0 || ordinal == CB_DEVICE_AUTO)
        return CB_OK;
    return cbc_invalid(err, where, "ordinal %u: there is device 0 alone", (unsigned)ordinal);
}

static cb_status device_info(void *self, uint32_t ordinal, cb_device_info *out, cb_error *err)
{
    static const cb_device_info info = { .memory_kind = CB_MEMORY_DEVICE,
                                         .total_memory = DEVICE_MEMORY,
                                         .name = DEVICE_NAME,
                                         .id = ID };
    (void)self;
    if (ordinal == CB_DEVICE_AUTO)
        return cbc_invalid(err, "device_info", "ordinal is CB_DEVICE_AUTO, not a device");
    cb_status st = check_ordinal(ordinal, "device_info", err);
    if (st == CB_OK)
        st = cb_result_write(out, &info, sizeof(info), CB_DEVICE_INFO_1_0, "device_info", err);
    return st;
}

static cb_status capabilities(void *self, uint32_t ordinal, cb_capabilities *out, cb_error *err)
{
    static const cb_capabilities can = { .warp_size = 1, .max_threads_per_block = 1 };
    (void)self;
    cb_status st = check_ordinal(ordinal, "capabilities", err);
    if (st == CB_OK)
        st = cb_result_write(out, &can, sizeof(can), CB_CAPABILITIES_1_0, "capabilities", err);
    return st;
}

static cb_status init(void *self, uint32_t ordinal, cb_error *err)
{
    struct minimal *m = self;
    cb_status st = check_ordinal(ordinal, "init", err);
    if (st == CB_OK)
        atomic_store(&m->initialized, true); /* driver: opens the device first */
    return st;
}

/* ---- The frame of every other call ---- */

struct call {
    struct minimal *m;
    const char *where;
    cbc_fpenv fpenv;
    unsigned n; /* operands open */
    struct cbc_pin pins[OPERANDS_MAX];
    void *at[OPERANDS_MAX]; /* where each is; NULL when it touches nothing */
};

static cb_status begin(struct call *call, void *self, const char *where, cb_error *err)
{
    *call = (struct call){ .m = self, .where = where, .fpenv = cbc_fpenv_enter() };
    if (!atomic_load(&call->m->initialized))
        return cbc_fail(err, CB_NOT_INITIALIZED, where, "called before init");
    if (getpid() != call->m->pid)
        return cbc_fail(err, CB_DEVICE_ERROR, where, "used after fork");
    return CB_OK;
}

/* This plugin has no stream but the default one: a table without stream_create makes no other. */
static cb_status check_stream(const struct call *call, const cb_stream *stream, cb_error *err)
{
    return stream ? cbc_invalid(err, call->where, "stream is not one of this instance") : CB_OK;
}

/* Finds the operands. Until end they stay alive, though another thread may free them. */
static cb_status open_operands(struct call *call, const cb_stream *stream,
                               const struct cbc_operand *operands, unsigned n, cb_error *err)
{
    cb_status st = check_stream(call, stream, err);
    if (st == CB_OK)
        st = cbc_addr_table_pin(call->m->table, operands, n, call->pins, call->where, err);
    if (st != CB_OK)
        return st;
    call->n = n;
    for (unsigned i = 0; i < n; i++)
        if (call->pins[i].memory)
            call->at[i] = (char *)call->pins[i].memory + call->pins[i].offset;
    return CB_OK;
}

static cb_status end(struct call *call, cb_status st)
{
    cbc_addr_table_unpin(call->m->table, call->pins, call->n);
    cbc_fpenv_leave(call->fpenv);
    return st;
}

/* ---- Memory ---- */

static cb_status make_buffer(struct call *call, uint64_t bytes, uint64_t *out, cb_error *err)
{
    if (!bytes || !out)
        return cbc_invalid(err, "alloc", bytes ? "out is NULL" : "bytes is 0");
    if (bytes > DEVICE_MEMORY)
        return cbc_fail(err, CB_OUT_OF_MEMORY, "alloc", "bytes %llu is more than the device has",
                        (unsigned long long)bytes);
    void *memory = calloc(1, bytes); /* driver: allocates and clears */
    if (!memory)
        return cbc_fail(err, CB_OUT_OF_MEMORY, "alloc", "no memory for %llu bytes",
                        (unsigned long long)bytes);
    const cb_status st =
        cbc_addr_table_insert(call->m->table, bytes, memory, NULL, out, "alloc", err);
    if (st != CB_OK)
        free(memory);
    return st;
}

static cb_status alloc(void *self, uint64_t bytes, cb_stream *stream, uint64_t *out, cb_error *err)
{
    struct call call;
    cb_status st = begin(&call, self, "alloc", err);
    if (st == CB_OK)
        st = check_stream(&call, stream, err);
    if (st == CB_OK)
        st = make_buffer(&call, bytes, out, err);
    return end(&call, st);
}

static cb_status free_buffer(void *self, uint64_t ptr, cb_stream *stream, cb_error *err)
{
    struct call call;
    cb_status st = begin(&call, self, "free", err);
    if (st == CB_OK)
        st = check_stream(&call, stream, err);
    if (st == CB_OK)
        st = cbc_addr_table_remove(call.m->table, ptr, "free", err);
    return end(&call, st);
}

static cb_status copy_htod(void *self, const cb_copy_htod_args *args, cb_error *err)
{
    struct call call;
    struct cbc_copy copy;
    cb_status st = begin(&call, self, "copy_htod", err);
    if (st == CB_OK)
        st = cbc_check_copy_htod(args, &copy, err);
    if (st == CB_OK)
        st = open_operands(&call, copy.stream, copy.operands, 1, err);
    if (st == CB_OK && copy.bytes)
        memcpy(call.at[0], copy.from, copy.bytes); /* driver: copies and waits */
    return end(&call, st);
}

static cb_status copy_dtoh(void *self, const cb_copy_dtoh_args *args, cb_error *err)
{
    struct call call;
    struct cbc_copy copy;
    cb_status st = begin(&call, self, "copy_dtoh", err);
    if (st == CB_OK)
        st = cbc_check_copy_dtoh(args, &copy, err);
    if (st == CB_OK)
        st = open_operands(&call, copy.stream, copy.operands, 1, err);
    if (st == CB_OK && copy.bytes)
        memcpy(copy.to, call.at[0], copy.bytes); /* driver: copies and waits */
    return end(&call, st);
}

static cb_status copy_dtod(void *self, const cb_copy_dtod_args *args, cb_error *err)
{
    struct call call;
    struct cbc_copy copy;
    cb_status st = begin(&call, self, "copy_dtod", err);
    if (st == CB_OK)
        st = cbc_check_copy_dtod(args, &copy, err);
    if (st == CB_OK)
        st = open_operands(&call, copy.stream, copy.operands, 2, err);
    if (st == CB_OK && copy.bytes)
        memmove(call.at[0], call.at[1], copy.bytes); /* driver: copies as if through a temporary */
    return end(&call, st);
}

/* driver: waits for every queue; here each call has done its work when it returns */
static cb_status synchronize(void *self, cb_error *err)
{
    struct call call;
    return end(&call, begin(&call, self, "synchronize", err));
}

/* ---- gemm, and asking for it ---- */

/* What the op refuses, supports must refuse: both run this. */
static cb_status check_op(uint32_t op, const void *args, struct cbc_gemm *g, cb_error *err)
{
    if (op != CB_OP_GEMM)
        return cbc_unsupported(err, cb_op_name(op), "this backend has gemm alone");
    const cb_status st = cbc_check_gemm(args, g, err);
    if (st == CB_OK && g->dtype != CB_F32)
        return cbc_unsupported(err, "gemm", "dtype %s: this backend has f32 alone",
                               cb_dtype_name(g->dtype));
    return st;
}

/* The new C, dense. A and B are not read when k is 0, and C is not when beta is 0. */
static void compute(const struct cbc_gemm *g, const float *a, const float *b, const float *c,
                    float *out)
{
    const uint64_t rs_a = g->trans_a ? g->lda : 1, cs_a = g->trans_a ? 1 : g->lda;
    const uint64_t rs_b = g->trans_b ? g->ldb : 1, cs_b = g->trans_b ? 1 : g->ldb;
    const float alpha = (float)g->alpha, beta = (float)g->beta;

    for (uint64_t j = 0; j < g->n; j++) {
        for (uint64_t i = 0; i < g->m; i++) {
            float sum = 0;
            for (uint64_t p = 0; p < g->k; p++)
                sum += a[i * rs_a + p * cs_a] * b[p * rs_b + j * cs_b];
            const float kept = beta == 0 ? 0 : beta * c[i + j * g->ldc];
            if (!g->k)
                out[i + j * g->m] = kept;
            else
                out[i + j * g->m] = beta == 0 ? alpha * sum : alpha * sum + kept;
        }
    }
}

/* driver: launches a kernel. C is made apart and stored last, so that it may overlap A or B. */
static cb_status run(const struct cbc_gemm *g, void *const at[3], cb_error *err)
{
    if (!g->m || !g->n)
        return CB_OK;
    float *c = at[2], *fresh = malloc(g->m * g->n * sizeof(*fresh));
    if (!fresh)
        return cbc_fail(err, CB_OUT_OF_MEMORY, "gemm", "no memory for a copy of C");
    compute(g, at[0], at[1], c, fresh);
    for (uint64_t j = 0; j < g->n; j++)
        memcpy(c + j * g->ldc, fresh + j * g->m, g->m * sizeof(*fresh));
    free(fresh);
    return CB_OK;
}

static cb_status gemm(void *self, const cb_gemm_args *args, cb_error *err)
{
    struct call call;
    struct cbc_gemm g;
    cb_status st = begin(&call, self, "gemm", err);
    if (st == CB_OK)
        st = check_op(CB_OP_GEMM, args, &g, err);
    if (st == CB_OK)
        st = open_operands(&call, g.stream, g.operands, 3, err);
    if (st == CB_OK)
        st = run(&g, call.at, err);
    return end(&call, st);
}

static cb_status supports(void *self, uint32_t op, const void *args, cb_support *out, cb_error *err)
{
    struct call call;
    struct cbc_gemm g;
    cb_error why;
    cb_support answer = { .answer = CB_SUPPORT_YES };
    cb_error_init(&why);
    cb_status st = begin(&call, self, "supports", err);
    if (st == CB_OK && !args)
        st = cbc_invalid(err, "supports", "args is NULL");
    if (st == CB_OK && check_op(op, args, &g, &why) != CB_OK) {
        answer.answer = CB_SUPPORT_NO;
        cb_text_append(answer.reason, sizeof(answer.reason), why.msg);
    } else if (st == CB_OK) {
        answer.temporary_bytes = g.m * g.n * sizeof(float);
    }
    if (st == CB_OK)
        st = cb_result_write(out, &answer, sizeof(answer), CB_SUPPORT_1_0, "supports", err);
    return end(&call, st);
}

/* ---- The table and the door ---- */

static const compute_backend_v1 table = {
    .size = sizeof(table),
    .abi_major = CB_ABI_MAJOR,
    .abi_minor = CB_ABI_MINOR,
    .name = ID,
    .version = VERSION,
    .create = create,
    .destroy = destroy,
    .device_count = device_count,
    .device_info = device_info,
    .capabilities = capabilities,
    .init = init,
    .alloc = alloc,
    .free = free_buffer,
    .copy_htod = copy_htod,
    .copy_dtoh = copy_dtoh,
    .copy_dtod = copy_dtod,
    .synchronize = synchronize,
    .supports = supports,
    .gemm = gemm,
};

CB_PLUGIN_MANIFEST(minimal, VERSION, "accelerator", 20);

CB_PLUGIN_ENTRY(minimal)
{
    return cb_negotiate(negotiation, &table);
}
