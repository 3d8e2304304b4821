/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin that needs the two headers of its release alone: a device of host memory, and gemm on
 * f32 without transposes. */
#include <compute_backend_plugin.h>
#include <stdlib.h>
#include <string.h>

#define ALLOCATIONS 8
#define GAP         4096u

struct frozen {
    int initialized;
    uint64_t next; /* address */
    struct {
        uint64_t address, bytes; /* 0: unused */
        unsigned char *memory;
    } allocations[ALLOCATIONS];
};

static cb_status create(const cb_create_args *args, void **out, cb_error *err)
{
    cb_create_args a;
    const cb_status status = cb_args_read(&a, sizeof(a), CB_CREATE_ARGS_1_0, args, "create", err);
    if (status != CB_OK)
        return status;
    if (a.n_options)
        return cb_error_set(err, CB_INVALID_ARGUMENT, "option", a.options[0]);
    struct frozen *self = calloc(1, sizeof(*self));
    if (!self)
        return cb_error_set(err, CB_OUT_OF_MEMORY, "create", "out of memory");
    self->next = UINT64_C(1) << 62;
    *out = self;
    return CB_OK;
}

static void destroy(void *self)
{
    struct frozen *f = self;
    for (int i = 0; f && i < ALLOCATIONS; i++)
        free(f->allocations[i].memory);
    free(f);
}

static cb_status device_count(void *self, uint32_t *count, cb_error *err)
{
    (void)self, (void)err;
    *count = 1;
    return CB_OK;
}

static cb_status device_info(void *self, uint32_t ordinal, cb_device_info *out, cb_error *err)
{
    (void)self, (void)ordinal;
    const cb_device_info info = { .memory_kind = CB_MEMORY_HOST, .name = "Frozen", .id = "frozen" };
    return cb_result_write(out, &info, sizeof(info), CB_DEVICE_INFO_1_0, "device_info", err);
}

static cb_status capabilities(void *self, uint32_t ordinal, cb_capabilities *out, cb_error *err)
{
    (void)self, (void)ordinal;
    const cb_capabilities none = CB_ZEROES;
    return cb_result_write(out, &none, sizeof(none), CB_CAPABILITIES_1_0, "capabilities", err);
}

static cb_status init(void *self, uint32_t ordinal, cb_error *err)
{
    if (ordinal && ordinal != CB_DEVICE_AUTO)
        return cb_error_set(err, CB_INVALID_ARGUMENT, "init", "there is one device");
    ((struct frozen *)self)->initialized = 1;
    return CB_OK;
}

static cb_status alloc(void *self, uint64_t bytes, cb_stream *stream, uint64_t *out, cb_error *err)
{
    struct frozen *f = self;
    int i = 0;
    (void)stream;
    while (i < ALLOCATIONS && f->allocations[i].bytes)
        i++;
    if (!f->initialized)
        return cb_error_set(err, CB_NOT_INITIALIZED, "alloc", "call init first");
    if (!bytes)
        return cb_error_set(err, CB_INVALID_ARGUMENT, "alloc", "bytes is 0");
    if (i == ALLOCATIONS || !(f->allocations[i].memory = calloc(1, bytes)))
        return cb_error_set(err, CB_OUT_OF_MEMORY, "alloc", "out of memory");
    f->allocations[i].address = *out = f->next;
    f->allocations[i].bytes = bytes;
    f->next += (bytes + 2 * GAP - 1) / GAP * GAP;
    return CB_OK;
}

/* Where a range of device memory is, or NULL. */
static unsigned char *at(struct frozen *f, uint64_t address, uint64_t bytes)
{
    for (int i = 0; i < ALLOCATIONS; i++) {
        const uint64_t into = address - f->allocations[i].address;
        if (into < f->allocations[i].bytes && bytes <= f->allocations[i].bytes - into)
            return f->allocations[i].memory + into;
    }
    return NULL;
}

static cb_status release(void *self, uint64_t ptr, cb_stream *stream, cb_error *err)
{
    struct frozen *f = self;
    (void)stream;
    for (int i = 0; i < ALLOCATIONS; i++) {
        if (f->allocations[i].bytes && f->allocations[i].address == ptr) {
            free(f->allocations[i].memory);
            memset(&f->allocations[i], 0, sizeof(f->allocations[i]));
            return CB_OK;
        }
    }
    return cb_error_set(err, CB_INVALID_ARGUMENT, "free", "ptr is no allocation");
}

static cb_status move(void *to, const void *from, uint64_t bytes, const char *where, cb_error *err)
{
    if (bytes && (!to || !from))
        return cb_error_set(err, CB_INVALID_ARGUMENT, where, "a pointer is out of range");
    if (bytes)
        memmove(to, from, bytes);
    return CB_OK;
}

static cb_status copy_htod(void *self, const cb_copy_htod_args *args, cb_error *err)
{
    cb_copy_htod_args a;
    const cb_status status = cb_args_read(&a, sizeof(a), CB_COPY_ARGS_1_0, args, "copy_htod", err);
    return status != CB_OK ? status
                           : move(at(self, a.dst, a.bytes), a.src, a.bytes, "copy_htod", err);
}

static cb_status copy_dtoh(void *self, const cb_copy_dtoh_args *args, cb_error *err)
{
    cb_copy_dtoh_args a;
    const cb_status status = cb_args_read(&a, sizeof(a), CB_COPY_ARGS_1_0, args, "copy_dtoh", err);
    return status != CB_OK ? status
                           : move(a.dst, at(self, a.src, a.bytes), a.bytes, "copy_dtoh", err);
}

static cb_status copy_dtod(void *self, const cb_copy_dtod_args *args, cb_error *err)
{
    cb_copy_dtod_args a;
    const cb_status status = cb_args_read(&a, sizeof(a), CB_COPY_ARGS_1_0, args, "copy_dtod", err);
    return status != CB_OK ? status
                           : move(at(self, a.dst, a.bytes), at(self, a.src, a.bytes), a.bytes,
                                  "copy_dtod", err);
}

static cb_status synchronize(void *self, cb_error *err)
{
    (void)self, (void)err;
    return CB_OK;
}

static cb_status supports(void *self, uint32_t op, const void *args, cb_support *out, cb_error *err)
{
    (void)self, (void)args;
    const cb_support no = { .reason = "only gemm on f32 without transposes" };
    const cb_support yes = { .answer = CB_SUPPORT_YES };
    const int is_gemm = op == CB_OP_GEMM && ((const cb_gemm_args *)args)->dtype == CB_F32;
    return cb_result_write(out, is_gemm ? &yes : &no, sizeof(no), CB_SUPPORT_1_0, "supports", err);
}

static cb_status gemm(void *self, const cb_gemm_args *args, cb_error *err)
{
    cb_gemm_args g;
    const cb_status status = cb_args_read(&g, sizeof(g), CB_GEMM_ARGS_1_0, args, "gemm", err);
    if (status != CB_OK)
        return status;
    if (g.dtype != CB_F32 || g.trans_a || g.trans_b || g.flags)
        return cb_error_set(err, CB_UNSUPPORTED, "gemm", "only f32 without transposes");
    if (!g.m || !g.n)
        return CB_OK;
    const float *a = (const void *)at(self, g.a, 4 * (g.lda * (g.k - 1) + g.m));
    const float *b = (const void *)at(self, g.b, 4 * (g.ldb * (g.n - 1) + g.k));
    float *c = (void *)at(self, g.c, 4 * (g.ldc * (g.n - 1) + g.m));
    if (!a || !b || !c)
        return cb_error_set(err, CB_INVALID_ARGUMENT, "gemm", "an operand is out of range");
    for (uint64_t j = 0; j < g.n; j++) {
        for (uint64_t i = 0; i < g.m; i++) {
            float sum = 0;
            for (uint64_t p = 0; p < g.k; p++)
                sum += a[i + p * g.lda] * b[p + j * g.ldb];
            c[i + j * g.ldc] =
                (float)g.alpha * sum + (g.beta != 0 ? (float)g.beta * c[i + j * g.ldc] : 0);
        }
    }
    return CB_OK;
}

static const compute_backend_v1 table = {
    .size = sizeof(table),
    .abi_major = CB_ABI_MAJOR,
    .abi_minor = CB_ABI_MINOR,
    .name = "frozen",
    .version = "1.0.0",
    .create = create,
    .destroy = destroy,
    .device_count = device_count,
    .device_info = device_info,
    .capabilities = capabilities,
    .init = init,
    .alloc = alloc,
    .free = release,
    .copy_htod = copy_htod,
    .copy_dtoh = copy_dtoh,
    .copy_dtod = copy_dtod,
    .synchronize = synchronize,
    .supports = supports,
    .gemm = gemm,
};

CB_PLUGIN_MANIFEST(frozen, "1.0.0", "cpu", 900);
CB_PLUGIN_ENTRY(frozen)
{
    return cb_negotiate(negotiation, &table);
}
