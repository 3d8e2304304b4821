/* SPDX-License-Identifier: Apache-2.0 */
/* The OpenCL backend's instance, and what its files offer each other. */
#ifndef OPENCL_H
#define OPENCL_H

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "addr_table.h"
#include "check.h"
#include "cl.h"
#include "compute_backend_plugin.h"
#include "error.h"
#include "fpenv.h"
#include "handles.h"

#define OCL_VERSION "0.1.0"

/* ---- devices ---- */

/* One device, as its driver describes it. */
struct ocl_device {
    cl_platform_id platform;
    cl_device_id id;
    cl_device_type type;
    char name[128];
    char stable_id[64];
    char driver[64]; /* version */
    char lacks[160]; /* what init refuses it for; "": nothing */
    bool f64;
    uint32_t memory_kind, features;
    uint32_t compute_units, compute_major, compute_minor, warp_size;
    uint32_t vector_floats; /* of its widest registers; 1 where it says 0 */
    uint64_t memory, max_alloc, local_memory, group_size; /* bytes, bytes, bytes, work-items */
};

/* Tile sizes of the gemm kernels, by the option gemm_tile=MxNxK; 0: what suits the device. */
struct ocl_tuning {
    uint32_t gemm_m, gemm_n, gemm_k;
};

struct ocl_backend {
    /* Streams, events, spares. Held only for a moment, never across a call of the driver: a fork
     * takes it, and drivers fork. */
    pthread_mutex_t lock;
    pthread_mutex_t setup;    /* devices and init, across calls of the driver */
    pthread_mutex_t building; /* programs */
    pthread_cond_t built;
    atomic_bool initialized;
    atomic_bool forked; /* this is the child of a fork, in which the driver does not work */
    const cb_host *host;

    struct ocl_device *devices;
    uint32_t n_devices;
    bool enumerated;
    char no_device[256]; /* why n_devices is 0 */

    char wanted[128]; /* the option `device`; "": none */
    char warmup[160]; /* the option `warmup`; "": none */
    struct ocl_tuning tuning;

    const struct ocl_device *device; /* since init */
    uint32_t ordinal;
    cl_context context;
    struct ocl_program *programs;
    struct cbc_addr_table *table;
    uint64_t memory_limit;          /* bytes */
    atomic_uint_fast64_t allocated; /* bytes, of those */
    struct ocl_spare *spares;       /* temporary memory kept for the next call of its stream */
    cb_stream *default_stream;      /* made by init */
    cb_stream *clearing;            /* internal: fills new buffers with zeroes */
    struct cbc_handles streams, events;
    struct ocl_backend *next; /* all instances of the process, see fork.c */
};

/* Device memory from a byte offset on. mem is NULL for an operand that touches nothing, and may
 * then still be given to a kernel, which gets a null pointer. */
struct ocl_buffer {
    cl_mem mem;
    uint64_t offset; /* bytes */
};

/* ---- library.c ---- */

/* False: there is no OpenCL here, and why. */
bool ocl_library_load(char *why, size_t size);

/* In the child of a fork; true when the driver was left behind. */
bool ocl_library_fork(void);

/* Around calls in which a driver may start threads: those are to get none of the host's signals. */
struct ocl_quiet {
    sigset_t signals;
};
void ocl_quiet_begin(struct ocl_quiet *quiet);
void ocl_quiet_end(const struct ocl_quiet *quiet);

/* Whether a driver's error code tells of memory that was not to be had. */
bool ocl_is_memory(cl_int code);

/* The status for a driver's error code, with code and function in *err. */
cb_status ocl_fail(cb_error *err, const char *where, const char *function, cl_int code);

/* One line to the host's log. */
void ocl_log(const struct ocl_backend *ocl, int32_t level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- device.c ---- */

/* Fills the instance's list of devices once; n_devices may be 0 then. setup is locked. */
cb_status ocl_devices_find(struct ocl_backend *ocl, const char *where, cb_error *err);

/* The ordinal that an option's value names: an ordinal, an id, or a glob on the name; false: none.
 * setup is locked, and the devices are found. */
bool ocl_device_named(const struct ocl_backend *ocl, const char *value, uint32_t *ordinal);

/* Checks an ordinal and resolves CB_DEVICE_AUTO. As above. */
cb_status ocl_device_resolve(const struct ocl_backend *ocl, uint32_t *ordinal, const char *where,
                             cb_error *err);

/* ---- facts.c ---- */
cb_status ocl_device_count(void *self, uint32_t *count, cb_error *err);
cb_status ocl_device_info(void *self, uint32_t ordinal, cb_device_info *out, cb_error *err);
cb_status ocl_capabilities(void *self, uint32_t ordinal, cb_capabilities *out, cb_error *err);
cb_status ocl_info(void *self, const char *key, char *buffer, uint64_t *length, cb_error *err);

/* ---- instance.c, options.c ---- */
cb_status ocl_create(const cb_create_args *args, void **out, cb_error *err);
void ocl_destroy(void *self);
cb_status ocl_init(void *self, uint32_t ordinal, cb_error *err);
cb_status ocl_options_read(struct ocl_backend *ocl, const char *const *options, uint64_t n,
                           cb_error *err);

/* ---- warmup.c - runs the ops that the option names once, so that their programs are there. ----
 */
bool ocl_warmup_valid(const char *ops);
void ocl_warmup(struct ocl_backend *ocl);

/* ---- fork.c ---- */
cb_status ocl_fork_register(struct ocl_backend *ocl, cb_error *err);
void ocl_fork_unregister(struct ocl_backend *ocl);
cb_status ocl_fork_check(const struct ocl_backend *ocl, const char *where, cb_error *err);

/* ---- memory.c ---- */
cb_status ocl_alloc(void *self, uint64_t bytes, cb_stream *stream, uint64_t *out, cb_error *err);
cb_status ocl_free(void *self, uint64_t ptr, cb_stream *stream, cb_error *err);
cb_status ocl_memory_info(void *self, cb_memory_info *out, cb_error *err);
void ocl_release(void *ctx, void *memory, void *owner, uint64_t bytes);

/* Device memory within the limit: spares make way for it. host: its content, or NULL. */
cb_status ocl_memory_take(struct ocl_backend *ocl, uint64_t bytes, const void *host, cl_mem *out,
                          const char *where, cb_error *err);
void ocl_memory_give(struct ocl_backend *ocl, cl_mem mem, uint64_t bytes);

/* Temporary memory that a stream has used: the smallest that is large enough, or NULL. */
cl_mem ocl_spare_take(struct ocl_backend *ocl, const cb_stream *stream, uint64_t *bytes);
void ocl_spare_keep(struct ocl_backend *ocl, const cb_stream *stream, cl_mem mem, uint64_t bytes);
/* Gives back those of one stream, or all for NULL; whether there was one. */
bool ocl_spares_drop(struct ocl_backend *ocl, const cb_stream *stream);

/* ---- copy.c ---- */

/* Enqueues a fill on a locked stream. */
cl_int ocl_fill(cb_stream *stream, const struct ocl_buffer *buffer, unsigned char value,
                uint64_t bytes, cl_event *event);
cb_status ocl_copy_htod(void *self, const cb_copy_htod_args *args, cb_error *err);
cb_status ocl_copy_dtoh(void *self, const cb_copy_dtoh_args *args, cb_error *err);
cb_status ocl_copy_dtod(void *self, const cb_copy_dtod_args *args, cb_error *err);
cb_status ocl_memset(void *self, uint64_t dst, uint32_t value, uint64_t bytes, cb_stream *stream,
                     cb_error *err);

/* ---- stream.c ----
 *
 * A stream is an in-order queue of the driver. Each command also waits for the event of the one
 * before it, so that a failure skips what is queued behind it and shows in the last event. */
#define OCL_RECENT 32

struct ocl_kernel; /* see launch.c */

struct cb_stream {
    cb_stream *handle;    /* what the host knows it by */
    unsigned references;  /* under the instance's lock; one while it is in the list */
    pthread_mutex_t lock; /* guards what follows, and the order of commands */
    cl_command_queue queue;
    struct ocl_command {
        cl_event event; /* NULL: none */
        const char *where;
    } recent[OCL_RECENT]; /* a ring; those that may still fail are remembered to tell who did */
    uint64_t commands;    /* enqueued since the last report of a failure */
    uint64_t reports;     /* late errors told */
    struct ocl_kernel *kernels;
    uint64_t n_kernels, kernels_room;
};

/* CL_COMPLETE, more for work that is not done, less for work that failed. */
cl_int ocl_event_status(cl_event event);
cb_status ocl_stream_make(struct ocl_backend *ocl, cb_stream **out, const char *where,
                          cb_error *err);
/* Finds a stream (NULL: the default one) and takes a reference. */
cb_status ocl_stream_acquire(struct ocl_backend *ocl, const cb_stream *handle, cb_stream **out,
                             const char *where, cb_error *err);
void ocl_stream_release(struct ocl_backend *ocl, cb_stream *stream);
/* The late error of a locked stream, told and cleared; CB_OK when there is none. */
cb_status ocl_stream_late(cb_stream *stream, const char *where, cb_error *err);
/* What the next command of a locked stream waits for. */
const cl_event *ocl_stream_tail(const cb_stream *stream, cl_uint *count);
/* Notes an enqueued command, whose event it takes; code is what the driver's function returned. */
cb_status ocl_stream_push(cb_stream *stream, const char *function, cl_int code, cl_event event,
                          const char *where, cb_error *err);
/* Waits for what is queued on an unlocked stream, and tells its late error. */
cb_status ocl_stream_finish(cb_stream *stream, const char *where, cb_error *err);
void ocl_streams_free(struct ocl_backend *ocl);

cb_status ocl_stream_create(void *self, uint32_t flags, cb_stream **out, cb_error *err);
cb_status ocl_stream_destroy(void *self, cb_stream *stream, cb_error *err);
cb_status ocl_stream_synchronize(void *self, cb_stream *stream, cb_error *err);
cb_status ocl_synchronize(void *self, cb_error *err);

/* ---- event.c ---- */
cb_status ocl_event_create(void *self, uint32_t flags, cb_event **out, cb_error *err);
cb_status ocl_event_destroy(void *self, cb_event *event, cb_error *err);
cb_status ocl_event_record(void *self, cb_event *event, cb_stream *stream, cb_error *err);
cb_status ocl_stream_wait_event(void *self, cb_stream *stream, cb_event *event, cb_error *err);
cb_status ocl_event_query(void *self, cb_event *event, uint32_t *done, cb_error *err);
cb_status ocl_event_synchronize(void *self, cb_event *event, cb_error *err);
cb_status ocl_get_extension(void *self, const char *id, cb_extension *out, cb_error *err);
void ocl_events_free(struct ocl_backend *ocl);

/* ---- program.c ---- */

#define OCL_OPTIONS_MAX 512

/* A program built with these options; waits where another thread is at it. The text of options is
 * copied. */
cb_status ocl_program_get(struct ocl_backend *ocl, const char *name, const char *options,
                          cl_program *out, const char *where, cb_error *err);
void ocl_programs_free(struct ocl_backend *ocl);

/* ---- call.c: the frame around every call that needs an initialized instance ----
 *
 *     struct ocl_call call;
 *     cb_status st = ocl_call_begin(&call, self, "unary", err);
 *     if (st == CB_OK) st = cbc_check_unary(args, &g, err);
 *     if (st == CB_OK) st = ocl_can(call.ocl, CB_OP_UNARY, &g, err);
 *     if (st == CB_OK) st = ocl_call_open(&call, g.stream, g.operands, 2, true, err);
 *     if (st == CB_OK && g.n) ... call.buffers[0] ..., launches
 *     return ocl_call_end(&call, st);
 *
 * From open to end the stream is locked: what a call enqueues is not mixed with another's. Nothing
 * waits for the device. Commands run in the order of the calls that enqueue them. */
#define OCL_OPERANDS_MAX    4
#define OCL_TEMPORARIES_MAX 8

struct ocl_call {
    struct ocl_backend *ocl;
    const char *where;
    cb_error *err;
    cbc_fpenv fpenv;
    cb_stream *stream; /* locked; NULL before open */
    unsigned n;        /* operands open */
    struct cbc_pin pins[OCL_OPERANDS_MAX];
    struct ocl_buffer buffers[OCL_OPERANDS_MAX]; /* where each operand's data is */
    unsigned n_temporaries;
    struct ocl_temporary {
        cl_mem mem;
        uint64_t bytes;
        bool spare; /* may serve another call of the stream */
    } temporaries[OCL_TEMPORARIES_MAX];
};

/* Enters the floating-point environment; CB_NOT_INITIALIZED before init, CB_DEVICE_ERROR in the
 * child of a fork. err is kept for what follows. */
cb_status ocl_call_begin(struct ocl_call *call, void *self, const char *where, cb_error *err);

/**
 * Finds and locks the stream, reports its late error if it has one, finds the operands, and keeps
 * the allocations alive until the end (the driver then keeps them for what is enqueued).
 *
 * An input that overlaps the written operand is copied to temporary memory first, so that kernels
 * never see it, unless in_place is true and the two begin at the same address.
 */
cb_status ocl_call_open(struct ocl_call *call, cb_stream *stream,
                        const struct cbc_operand *operands, unsigned n, bool in_place,
                        cb_error *err);

/* Device memory for the rest of the call's commands, of any content; bytes at least 1. At most
 * OCL_TEMPORARIES_MAX a call, the copies of overlapping inputs among them. */
cb_status ocl_call_temporary(struct ocl_call *call, uint64_t bytes, struct ocl_buffer *out);

/* The same with the content of host memory, which is read before the function returns. */
cb_status ocl_call_upload(struct ocl_call *call, const void *host, uint64_t bytes,
                          struct ocl_buffer *out);

/* Enqueues a fill with zero bytes. */
cb_status ocl_call_zero(struct ocl_call *call, const struct ocl_buffer *buffer, uint64_t bytes);

cb_status ocl_call_fill(struct ocl_call *call, const struct ocl_buffer *buffer, unsigned char value,
                        uint64_t bytes);

/* Enqueues a copy between two ranges that do not overlap. */
cb_status ocl_call_copy(struct ocl_call *call, const struct ocl_buffer *from,
                        const struct ocl_buffer *to, uint64_t bytes);

/* Notes a command that was enqueued: ocl_stream_push for the stream of the call. */
cb_status ocl_call_push(struct ocl_call *call, const char *function, cl_int code, cl_event event);

/* Undoes all of it, whatever was reached, flushes the stream, and returns st. */
cb_status ocl_call_end(struct ocl_call *call, cb_status st);

/* The same for a call that went well, and waits for what it has enqueued, with the stream unlocked.
 */
cb_status ocl_call_end_waiting(struct ocl_call *call);

/* ---- launch.c: one launch of a kernel ----
 *
 *     struct ocl_launch run;
 *     ocl_launch_begin(&run, &call, "map", "unary", "-DT=float -DOP=%u", (unsigned)g.op);
 *     ocl_arg_buffer(&run, &call.buffers[0], 4);     __global const T *x, ulong x_offset
 *     ocl_arg_buffer(&run, &call.buffers[1], 4);     __global T *y, ulong y_offset
 *     ocl_arg_u64(&run, g.n);                        ulong n
 *     st = ocl_launch(&run, 1, (uint64_t[]){ groups }, (uint64_t[]){ 64 });
 *
 * The first error stays in the launch and is what ocl_launch returns, so only that is looked at.
 *
 * The program is kernels/common.cl followed by kernels/PROGRAM.cl, compiled with the options and
 * with those that hold for all: -cl-std=CL1.2, correctly rounded division and square root, and
 * -DHAVE_F64 where the device has doubles. It is compiled when it is first used with these options.
 *
 * A grid beyond what devices take is cut into several launches that begin at a global offset, a
 * multiple of the local size; so the number of a group is GROUP of kernels/common.cl, which counts
 * it in, and the sizes of the grid are not to be asked for in a kernel. */
struct ocl_launch {
    struct ocl_call *call;
    cl_kernel kernel;
    const char *name;
    cl_uint n_args;
    cb_status st;
};

/* program and name: literals. format: of printf, for the program's options. */
void ocl_launch_begin(struct ocl_launch *run, struct ocl_call *call, const char *program,
                      const char *name, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Two arguments: the pointer, and a ulong offset in elements of so many bytes. */
void ocl_arg_buffer(struct ocl_launch *run, const struct ocl_buffer *buffer, uint32_t element);
void ocl_arg_u32(struct ocl_launch *run, uint32_t value);
void ocl_arg_u64(struct ocl_launch *run, uint64_t value);
void ocl_arg_f32(struct ocl_launch *run, float value);
void ocl_arg_f64(struct ocl_launch *run, double value); /* where the device has doubles only */
void ocl_arg_local(struct ocl_launch *run, uint64_t bytes);

/* Enqueues groups[d] work-groups of local[d] work-items in each of the dimensions, 1 to 3. Where
 * a groups[d] is 0 there is nothing to do. */
cb_status ocl_launch(struct ocl_launch *run, unsigned dimensions, const uint64_t *groups,
                     const uint64_t *local);

/* Gives back the kernels that a stream has used. */
void ocl_kernels_free(cb_stream *stream);

/* ---- ops/supports.c ---- */

/* What this backend or its device cannot do of a call that passed its check: CB_UNSUPPORTED and
 * the reason. any: the union, or the member of it that belongs to op. */
cb_status ocl_can(const struct ocl_backend *ocl, uint32_t op, const void *any, cb_error *err);
cb_status ocl_supports(void *self, uint32_t op, const void *args, cb_support *out, cb_error *err);

/* ---- the other ops ---- */
cb_status ocl_gemm(void *self, const cb_gemm_args *args, cb_error *err);
cb_status ocl_gemm_mixed_precision(void *self, const cb_gemm_mixed_precision_args *args,
                                   cb_error *err);
cb_status ocl_batched_gemm(void *self, const cb_batched_gemm_args *args, cb_error *err);
cb_status ocl_conv2d_forward(void *self, const cb_conv2d_args *args, cb_error *err);
cb_status ocl_conv2d_backward_data(void *self, const cb_conv2d_args *args, cb_error *err);
cb_status ocl_conv2d_backward_filter(void *self, const cb_conv2d_args *args, cb_error *err);
cb_status ocl_attention(void *self, const cb_attention_args *args, cb_error *err);
cb_status ocl_softmax(void *self, const cb_softmax_args *args, cb_error *err);
cb_status ocl_reduce(void *self, const cb_reduce_args *args, cb_error *err);
cb_status ocl_unary(void *self, const cb_unary_args *args, cb_error *err);
cb_status ocl_binary(void *self, const cb_binary_args *args, cb_error *err);
cb_status ocl_gather(void *self, const cb_rows_args *args, cb_error *err);
cb_status ocl_scatter(void *self, const cb_rows_args *args, cb_error *err);

#endif
