/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU backend's instance, and what its files offer each other. */
#ifndef CPU_H
#define CPU_H

#include <pthread.h>
#include <stdatomic.h>

#include "addr_table.h"
#include "check.h"
#include "compute_backend_plugin.h"
#include "error.h"
#include "fpenv.h"
#include "dispatch/kernels.h"
#include "team.h"

#define CPU_VERSION "0.1.0"

/* Memory of a finished call. Giving it back to the system would cost the next one its pages. */
struct cpu_spare {
    void *memory;
    uint64_t bytes;
};
#define CPU_SPARES 4

struct cpu_backend {
    pthread_mutex_t lock; /* streams, events, mappings, spares, init */
    atomic_bool initialized;
    struct cpu_kernels kernels;
    uint32_t threads;                    /* the option; 0: as many as this process may use */
    struct cpu_team *team;               /* made by init's first caller, never NULL after it */
    struct cpu_spare spares[CPU_SPARES]; /* kernel memory kept for the next call; under lock */
    struct cbc_addr_table *table;
    uint64_t memory_limit;          /* bytes, constant */
    atomic_uint_fast64_t allocated; /* bytes, of those */
    cb_stream *streams;
    cb_event *events;
    struct cpu_mapping *mappings; /* see map.c */
    struct cpu_backend *next;     /* all instances of the process, see fork.c */
};

/* instance.c */
cb_status cpu_create(const cb_create_args *args, void **out, cb_error *err);
void cpu_destroy(void *self);
cb_status cpu_init(void *self, uint32_t ordinal, cb_error *err);

/* options.c - reads "key=value" strings into an instance. */
cb_status cpu_options_read(struct cpu_backend *cpu, const char *const *options, uint64_t n,
                           cb_error *err);

/* device.c */
cb_status cpu_device_count(void *self, uint32_t *count, cb_error *err);
cb_status cpu_device_info(void *self, uint32_t ordinal, cb_device_info *out, cb_error *err);
cb_status cpu_capabilities(void *self, uint32_t ordinal, cb_capabilities *out, cb_error *err);
cb_status cpu_info(void *self, const char *key, char *buffer, uint64_t *length, cb_error *err);
void cpu_device_name(char *name, uint64_t size);
cb_status cpu_check_ordinal(uint32_t ordinal, const char *where, cb_error *err);

/* limits.c - bytes that this process may use: physical memory, or less where a cgroup says so; and
 * threads that it may keep busy: its affinity, or less where a cgroup's quota says so. */
uint64_t cpu_memory_limit(void);
unsigned cpu_threads_available(void);

/* memory.c */
cb_status cpu_alloc(void *self, uint64_t bytes, cb_stream *stream, uint64_t *out, cb_error *err);
cb_status cpu_free(void *self, uint64_t ptr, cb_stream *stream, cb_error *err);
cb_status cpu_copy_htod(void *self, const cb_copy_htod_args *args, cb_error *err);
cb_status cpu_copy_dtoh(void *self, const cb_copy_dtoh_args *args, cb_error *err);
cb_status cpu_copy_dtod(void *self, const cb_copy_dtod_args *args, cb_error *err);
cb_status cpu_memset(void *self, uint64_t dst, uint32_t value, uint64_t bytes, cb_stream *stream,
                     cb_error *err);
cb_status cpu_memory_info(void *self, cb_memory_info *out, cb_error *err);
void cpu_release(void *ctx, void *memory, void *owner, uint64_t bytes);

/* map.c - the extension cb.map/1 */
cb_status cpu_get_extension(void *self, const char *id, cb_extension *out, cb_error *err);
void cpu_mappings_free(struct cpu_backend *cpu);

/* stream.c - work runs before the call returns, so that every stream is always idle. */
cb_status cpu_stream_create(void *self, uint32_t flags, cb_stream **out, cb_error *err);
cb_status cpu_stream_destroy(void *self, cb_stream *stream, cb_error *err);
cb_status cpu_stream_synchronize(void *self, cb_stream *stream, cb_error *err);
cb_status cpu_event_create(void *self, uint32_t flags, cb_event **out, cb_error *err);
cb_status cpu_event_destroy(void *self, cb_event *event, cb_error *err);
cb_status cpu_event_record(void *self, cb_event *event, cb_stream *stream, cb_error *err);
cb_status cpu_stream_wait_event(void *self, cb_stream *stream, cb_event *event, cb_error *err);
cb_status cpu_event_query(void *self, cb_event *event, uint32_t *done, cb_error *err);
cb_status cpu_event_synchronize(void *self, cb_event *event, cb_error *err);
cb_status cpu_synchronize(void *self, cb_error *err);
cb_status cpu_stream_check(struct cpu_backend *cpu, cb_stream *stream, const char *where,
                           cb_error *err);
void cpu_streams_free(struct cpu_backend *cpu);

/* fork.c - keeps every instance usable in a forked child. */
cb_status cpu_fork_register(struct cpu_backend *cpu, cb_error *err);
void cpu_fork_unregister(struct cpu_backend *cpu);

/* ops/ */
cb_status cpu_gemm(void *self, const cb_gemm_args *args, cb_error *err);
cb_status cpu_gemm_mixed_precision(void *self, const cb_gemm_mixed_precision_args *args,
                                   cb_error *err);
cb_status cpu_batched_gemm(void *self, const cb_batched_gemm_args *args, cb_error *err);
cb_status cpu_conv2d_forward(void *self, const cb_conv2d_args *args, cb_error *err);
cb_status cpu_conv2d_backward_data(void *self, const cb_conv2d_args *args, cb_error *err);
cb_status cpu_conv2d_backward_filter(void *self, const cb_conv2d_args *args, cb_error *err);
cb_status cpu_attention(void *self, const cb_attention_args *args, cb_error *err);
cb_status cpu_softmax(void *self, const cb_softmax_args *args, cb_error *err);
cb_status cpu_reduce(void *self, const cb_reduce_args *args, cb_error *err);
cb_status cpu_unary(void *self, const cb_unary_args *args, cb_error *err);
cb_status cpu_binary(void *self, const cb_binary_args *args, cb_error *err);
cb_status cpu_gather(void *self, const cb_rows_args *args, cb_error *err);
cb_status cpu_scatter(void *self, const cb_rows_args *args, cb_error *err);

/* What a checked call becomes for its kernel, but for the pointers. */
struct cpu_gemm cpu_gemm_normalize(const struct cbc_gemm *g);
struct cpu_conv2d cpu_conv2d_normalize(const struct cbc_conv2d *g);
struct cpu_attention cpu_attention_normalize(const struct cbc_attention *g);
const struct cpu_conv2d_kernel *cpu_conv2d_kernel(const struct cpu_backend *cpu, uint32_t op);

cb_status cpu_supports(void *self, uint32_t op, const void *args, cb_support *out, cb_error *err);

/* call.c - the frame around every call that needs an initialized instance:
 *
 *     struct cpu_call call;
 *     cb_status st = cpu_call_begin(&call, self, "gemm", err);
 *     if (st == CB_OK) st = cbc_check_gemm(args, &g, err);
 *     if (st == CB_OK) st = cpu_call_open(&call, g.stream, g.operands, 3, 0, err);
 *     if (st == CB_OK) ... call.host[0] ...
 *     return cpu_call_end(&call, st);
 */
#define CPU_OPERANDS_MAX 4

struct cpu_call {
    struct cpu_backend *cpu;
    const char *where;
    cbc_fpenv fpenv;
    unsigned n; /* operands open */
    struct cbc_pin pins[CPU_OPERANDS_MAX];
    void *host[CPU_OPERANDS_MAX];   /* where each operand's data is; NULL when it touches nothing */
    void *copies[CPU_OPERANDS_MAX]; /* of inputs that the output overlaps */
    struct cpu_spare memory;        /* of the kernel */
};

/* Enters the floating-point environment; CB_NOT_INITIALIZED before init. */
cb_status cpu_call_begin(struct cpu_call *call, void *self, const char *where, cb_error *err);

/**
 * Finds the stream and the operands, and keeps the allocations alive until the end.
 *
 * An input that overlaps the written operand is copied, so that kernels never see it, unless
 * in_place is true and the two begin at the same address.
 */
cb_status cpu_call_open(struct cpu_call *call, cb_stream *stream,
                        const struct cbc_operand *operands, unsigned n, bool in_place,
                        cb_error *err);

/* What a kernel works with, until the end of the call; bytes may be 0. One per call. */
cb_status cpu_call_work(struct cpu_call *call, uint64_t bytes, struct cpu_work *work,
                        cb_error *err);

/* The bytes that a kernel wants on an instance's threads. */
#define CPU_WORKSPACE(kernel, args, cpu)                                                           \
    ((kernel)->workspace ? (kernel)->workspace(args, cpu_team_size((cpu)->team)) : 0)

/* Frees the spares. */
void cpu_spares_free(struct cpu_backend *cpu);

/* Undoes all of it, whatever was reached, and returns st. */
cb_status cpu_call_end(struct cpu_call *call, cb_status st);

#endif
