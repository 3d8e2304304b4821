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
#include "handles.h"
#include "dispatch/kernels.h"
#include "team.h"

#define CPU_VERSION "0.1.0"

/* Memory of a finished call. Giving it back to the system would cost the next one its pages. */
struct cpu_spare {
    void *memory;
    uint64_t bytes;
};
#define CPU_SPARES 4

/* All streams and events; see queue.h. */
struct cpu_queues {
    pthread_mutex_t lock;
    pthread_cond_t changed;             /* a piece of work has ended, or a hold */
    struct cbc_handles streams, events; /* struct cpu_stream, struct cpu_event */
    uint64_t tickets;                   /* handed out */
    unsigned running;                   /* pieces of work */
    bool held;                          /* by a fork: no piece begins */
    bool lost;                          /* in the child of one: streams have no threads */
};

struct cpu_backend {
    pthread_mutex_t lock; /* mappings, spares, init */
    atomic_bool initialized;
    struct cpu_kernels kernels;
    uint32_t threads;                    /* the option; 0: as many as this process may use */
    struct cpu_team *team;               /* made by init's first caller, never NULL after it */
    struct cpu_spare spares[CPU_SPARES]; /* kernel memory kept for the next call; under lock */
    struct cbc_addr_table *table;
    uint64_t memory_limit;          /* bytes, constant */
    atomic_uint_fast64_t allocated; /* bytes, of those */
    struct cpu_queues queues;
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

/* extension.c, map.c, profile.c */
cb_status cpu_get_extension(void *self, const char *id, cb_extension *out, cb_error *err);
extern const cb_map_v1 cpu_map;
extern const cb_profile_v1 cpu_profile;
void cpu_mappings_free(struct cpu_backend *cpu);

/* stream.c - work of the default stream runs before its call returns, other work is queued. */
cb_status cpu_stream_create(void *self, uint32_t flags, cb_stream **out, cb_error *err);
cb_status cpu_stream_destroy(void *self, cb_stream *stream, cb_error *err);
cb_status cpu_stream_synchronize(void *self, cb_stream *stream, cb_error *err);
cb_status cpu_synchronize(void *self, cb_error *err);
/* For a call that queues nothing: is the stream one, and has it an error to report? */
cb_status cpu_stream_check(struct cpu_backend *cpu, cb_stream *stream, const char *where,
                           cb_error *err);

/* event.c */
cb_status cpu_event_create(void *self, uint32_t flags, cb_event **out, cb_error *err);
cb_status cpu_event_destroy(void *self, cb_event *event, cb_error *err);
cb_status cpu_event_record(void *self, cb_event *event, cb_stream *stream, cb_error *err);
cb_status cpu_stream_wait_event(void *self, cb_stream *stream, cb_event *event, cb_error *err);
cb_status cpu_event_query(void *self, cb_event *event, uint32_t *done, cb_error *err);
cb_status cpu_event_synchronize(void *self, cb_event *event, cb_error *err);
void cpu_events_end(struct cpu_backend *cpu); /* frees all */

/* queue.c - what an instance's beginning and end, and a fork around it, need of the queues. The
 * fork finds no piece of work half done, so that the child's queues go on where they stood. */
void cpu_queues_init(struct cpu_queues *queues);
void cpu_queues_end(struct cpu_backend *cpu); /* waits for all work, and frees all streams */
void cpu_queues_hold(struct cpu_backend *cpu);
void cpu_queues_release(struct cpu_backend *cpu);
void cpu_queues_reset_in_child(struct cpu_backend *cpu);

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
 *     struct cbc_gemm g;
 *     cb_status st = cpu_call_begin(&call, self, "gemm", err);
 *     if (st == CB_OK) st = cbc_check_gemm(args, &g, err);
 *     if (st == CB_OK) st = cpu_call_run(&call, &gemm_op, &g, err);
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
    bool blocks; /* it returns when the work is done, on whatever stream; false at first */
};

/* The work of a call that has been checked: what it does with call->host[], now or when the turn
 * comes; and what there is to know of the checked arguments, some struct cbc_*, to keep them until
 * then. */
struct cpu_op {
    cb_status (*compute)(struct cpu_call *call, const void *checked, cb_error *err);
    uint16_t bytes;            /* of the checked arguments */
    uint16_t stream, operands; /* where in them */
    uint16_t list, length; /* where a pointer to the caller's uint64_t, and their number; 0: none */
    uint8_t n_operands;
    bool in_place; /* an input may begin where the output does; any other overlap is copied away, so
                      that kernels never see it */
};
#define CPU_OP(type, work, n, may_be_in_place)                                                     \
    .compute = work, .bytes = sizeof(type), .stream = offsetof(type, stream),                      \
    .operands = offsetof(type, operands), .n_operands = n, .in_place = may_be_in_place

#define CPU_OPERANDS(op, checked)                                                                  \
    ((const struct cbc_operand *)(const void *)((const char *)(checked) + (op)->operands))

/* Enters the floating-point environment; CB_NOT_INITIALIZED before init. */
cb_status cpu_call_begin(struct cpu_call *call, void *self, const char *where, cb_error *err);

/* Finds the operands and keeps their allocations alive until the end. */
cb_status cpu_call_open(struct cpu_call *call, const struct cbc_operand *operands, unsigned n,
                        bool in_place, cb_error *err);

/* The same on a stream that is not the default one, for work that is queued; where the call blocks,
 * waits for it. */
cb_status cpu_call_defer(struct cpu_call *call, const struct cpu_op *op, const void *checked,
                         cb_stream *stream, cb_error *err);

/* What a kernel works with, until the end of the work; bytes may be 0. Once per call. */
cb_status cpu_call_work(struct cpu_call *call, uint64_t bytes, struct cpu_work *work,
                        cb_error *err);

/* Does what has been checked, now or when its turn comes. */
static inline cb_status cpu_call_run(struct cpu_call *call, const struct cpu_op *op,
                                     const void *checked, cb_error *err)
{
    cb_stream *stream;
    __builtin_memcpy(&stream, (const char *)checked + op->stream, sizeof(stream));
    if (stream)
        return cpu_call_defer(call, op, checked, stream, err);
    const cb_status st =
        cpu_call_open(call, CPU_OPERANDS(op, checked), op->n_operands, op->in_place, err);
    return st == CB_OK ? op->compute(call, checked, err) : st;
}

/* Does queued work, in the floating-point environment of its thread. */
struct cpu_task;
cb_status cpu_call_task(struct cpu_backend *cpu, const struct cpu_task *task, cb_error *err);

/* The bytes that a kernel wants on an instance's threads. */
#define CPU_WORKSPACE(kernel, args, cpu)                                                           \
    ((kernel)->workspace ? (kernel)->workspace(args, cpu_team_size((cpu)->team)) : 0)

/* Frees the spares. */
void cpu_spares_free(struct cpu_backend *cpu);

/* Undoes all of it, whatever was reached, and returns st. */
cb_status cpu_call_end(struct cpu_call *call, cb_status st);

#endif
