/* SPDX-License-Identifier: Apache-2.0 */
/**
 * compute_backend.h - the ABI between a program and a compute backend.
 *
 * A backend is a shared library with one exported symbol, cb_plugin_entry(). The entry hands out
 * a table of functions, struct compute_backend_v1, and everything a program asks of a backend
 * goes through that table. A plugin author needs this header, a C compiler and, for comfort,
 * compute_backend_plugin.h; a host author needs this header and, to find plugins, cb_loader.h.
 *
 * The parts, in order: statuses and errors, codes, handles, argument structs, result structs,
 * the table with the contract of every slot, extensions, names of codes, calling a backend,
 * entering a plugin.
 *
 * Rules that hold for every slot, unless the slot says otherwise:
 *
 * Device pointer  a uint64_t. 0 is never valid. Any address inside a live allocation is valid,
 *                 base + offset. It must be a multiple of the element size, and the whole range
 *                 that an op touches must lie inside that one allocation. An operand of which no
 *                 element is touched is not looked up: its pointer may be anything.
 * Checks first    every argument is checked before a byte is written, even when there is no work.
 *                 On any error all outputs are as they were. Sizes are overflow-checked, a zero
 *                 extent counting as 1.
 * Overlap         an op behaves as if all inputs were read before any output is written.
 * Threads         any function may be called from any thread at once on one instance. Results do
 *                 not depend on how many threads compute, on the run, or on the address of an
 *                 aligned operand.
 * Floating point  round-to-nearest, without flush-to-zero or denormals-are-zero, whatever the
 *                 caller has set; the caller's control bits come back (sticky flags may be raised).
 * Host state      no call changes locale, signal handlers, working directory, affinity, umask or
 *                 environment. Nothing is printed, nothing exits or aborts.
 * Lifetime        argument structs, shapes, indices and strings are read before the call returns,
 *                 also where the work is queued.
 * Streams         NULL is the instance's default stream. Work on one stream runs in order;
 *                 streams, the default one included, order nothing but themselves. Results are
 *                 there after synchronize, an event, or a blocking copy on the stream.
 * Late errors     after a failure found late a stream skips what is queued, and so does a stream
 *                 that waits for an event recorded behind the failure. The first call on either
 *                 that returns a status reports the error, does nothing else and clears it; a call
 *                 that is refused for its arguments is none of these. Bad arguments are never found
 *                 late.
 * Before init     name, version, device_count, device_info, capabilities, get_extension, info and
 *                 destroy work; every other slot answers CB_NOT_INITIALIZED.
 * Unknown codes   an unknown dtype, op or precision, and any bit of flags or of a reserved field
 *                 that is not known, is CB_UNSUPPORTED: a later header may have it. Transposes and
 *                 element sizes do not grow: another value is CB_INVALID_ARGUMENT.
 * Errors          a status, and in *err a message that names the op, the argument and its value.
 *                 err may be NULL. On CB_OK *err is untouched, but for device_count.
 * Zeroes          0 means a default only for dtype, element_size, dilation, groups, kv_heads,
 *                 flags, stream and reserved fields. alpha, beta and scale of 0 are 0; a leading
 *                 dimension or stride of 0 is checked as given.
 *
 * Since: 1.0 for everything here.
 */
#ifndef COMPUTE_BACKEND_H
#define COMPUTE_BACKEND_H

#include <stddef.h>
#include <stdint.h>

#if UINTPTR_MAX != UINT64_MAX
#error "compute_backend.h: the ABI is defined for 64-bit pointers only"
#endif

#ifdef __cplusplus
#define CB_STATIC_ASSERT(condition, text) static_assert(condition, text)
#define CB_ZEROES                                                                                  \
    {                                                                                              \
    }
#define CB_LINKAGE extern "C"
#else
#define CB_STATIC_ASSERT(condition, text) _Static_assert(condition, text)
#define CB_ZEROES                                                                                  \
    {                                                                                              \
        0                                                                                          \
    }
#define CB_LINKAGE extern
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header. A minor version only appends: slots, fields, codes, ids. Until 1.0
 * is tagged CB_ABI_DRAFT counts every change, and host and plugin must have the same one; from
 * then on it is 0. */
#define CB_ABI_MAJOR 1
#define CB_ABI_MINOR 0
#define CB_ABI_DRAFT 1

/* ---- Statuses and errors ------------------------------------------------------------------- */

/* What every function answers. A value that a host does not know counts as CB_DEVICE_ERROR. */
typedef int32_t cb_status;
enum {
    CB_OK = 0,
    CB_UNSUPPORTED = 1,      /* the backend cannot do this: missing op, type, flag or field */
    CB_DEVICE_ERROR = 2,     /* the device or its driver failed */
    CB_INVALID_ARGUMENT = 3, /* the caller broke a rule of the contract */
    CB_OUT_OF_MEMORY = 4,    /* on the device or on the host */
    CB_NOT_INITIALIZED = 5,  /* called before init */
    CB_ABI_MISMATCH = 6,     /* the two sides speak different versions */
    CB_NOT_FOUND = 7,        /* no such file, backend, key or extension */
    CB_BUSY = 8,             /* still in use, try again when it is not */
};

/* Why a call failed. The caller owns it and sets size; NULL is accepted wherever one is taken.
 * It needs no memory and no thread-local state, so it works when everything else fails. */
typedef struct cb_error {
    uint64_t size;       /* in: sizeof(cb_error) */
    cb_status code;      /* the status that was returned */
    int32_t native_code; /* the driver's own code, 0 when there is none */
    char where[64];      /* what failed: "gemm"; an option that create refuses: "option KEY" */
    char msg[432];       /* "WHERE: one sentence", terminated; a cut one ends in " [cut]" */
} cb_error;
#define CB_ERROR_1_0 512
CB_STATIC_ASSERT(sizeof(cb_error) == CB_ERROR_1_0, "1.0");

/* ---- Codes --------------------------------------------------------------------------------- */

/* Element types. 0 is the op's default: f64 for gemm and batched_gemm, f32 elsewhere. */
enum {
    CB_DTYPE_DEFAULT = 0,
    CB_F64 = 1,
    CB_F32 = 2,
    CB_BF16 = 3, /* 16-bit storage, f32 arithmetic */
    CB_F16 = 4,  /* 16-bit storage, f32 arithmetic */
};

enum {
    CB_NO_TRANS = 0,
    CB_TRANS = 1,
    CB_CONJ_TRANS = 2, /* the same as CB_TRANS: every type is real */
};

enum {
    CB_MIXED_F16 = 0,
    CB_MIXED_BF16 = 1,
};

enum {
    CB_REDUCE_SUM = 0,
    CB_REDUCE_MAX = 1,
    CB_REDUCE_MIN = 2,
    CB_REDUCE_MEAN = 3,
};

enum {
    CB_UNARY_RELU = 0,
    CB_UNARY_SIGMOID = 1,
    CB_UNARY_TANH = 2,
    CB_UNARY_EXP = 3,
    CB_UNARY_LOG = 4,
    CB_UNARY_SQRT = 5,
    CB_UNARY_ABS = 6,
    CB_UNARY_NEG = 7,
};

enum {
    CB_BINARY_ADD = 0,
    CB_BINARY_SUB = 1,
    CB_BINARY_MUL = 2,
    CB_BINARY_DIV = 3,
    CB_BINARY_MAX = 4,
    CB_BINARY_MIN = 5,
};

/* Op codes, for supports. The args are those of the slot of the same name. */
enum {
    CB_OP_GEMM = 0,
    CB_OP_GEMM_MIXED_PRECISION = 1,
    CB_OP_BATCHED_GEMM = 2,
    CB_OP_CONV2D_FORWARD = 3,
    CB_OP_CONV2D_BACKWARD_DATA = 4,
    CB_OP_CONV2D_BACKWARD_FILTER = 5,
    CB_OP_ATTENTION = 6,
    CB_OP_SOFTMAX = 7,
    CB_OP_REDUCE = 8,
    CB_OP_UNARY = 9,
    CB_OP_BINARY = 10,
    CB_OP_GATHER = 11,
    CB_OP_SCATTER = 12,
};
#define CB_OP_COUNT 13 /* of this header; a later minor has more */

/* Flags. A bit that a backend does not know is CB_UNSUPPORTED, never ignored. */
#define CB_ATTENTION_CAUSAL 1u /* query i sees key j when j <= i + seq_kv - seq_q */
/* Return at once. Host memory stays valid, what is copied from it unchanged, until an event behind
 * the copy or a synchronize. */
#define CB_COPY_ASYNC 1u

/* Where a device's memory is, as its host sees it. */
enum {
    CB_MEMORY_DEVICE = 0,
    CB_MEMORY_HOST_PINNED = 1,
    CB_MEMORY_UNIFIED = 2,
    CB_MEMORY_HOST = 3,
};

/* What a device can do, bits of cb_capabilities.features. */
#define CB_FEATURE_FP16           (1u << 0) /* 16-bit IEEE storage */
#define CB_FEATURE_BF16           (1u << 1) /* bfloat16 storage */
#define CB_FEATURE_FP8            (1u << 2)
#define CB_FEATURE_TENSOR_CORES   (1u << 3) /* matrix units */
#define CB_FEATURE_PEER_ACCESS    (1u << 4) /* reads another device's memory */
#define CB_FEATURE_UNIFIED_MEMORY (1u << 5) /* host and device share addresses and caches */
#define CB_FEATURE_CLUSTER_LAUNCH (1u << 6)
#define CB_FEATURE_ASYNC_COPY     (1u << 7) /* copies overlap with other streams' work */

/* For init and capabilities: the backend chooses. The option `device` (ordinal, id or name glob)
 * decides when given, else ordinal 0. */
#define CB_DEVICE_AUTO UINT32_MAX

#define CB_MAX_RANK 64

/* Log levels, most severe first. */
enum {
    CB_LOG_ERROR = 1,
    CB_LOG_WARNING = 2,
    CB_LOG_INFO = 3,
    CB_LOG_DEBUG = 4,
};

/* ---- Handles ------------------------------------------------------------------------------- */

typedef struct cb_stream cb_stream; /* an in-order queue of work; NULL: the default stream */
typedef struct cb_event cb_event;   /* a point in a stream's work */

typedef struct compute_backend_v1 compute_backend_v1;

/* What a host holds and passes by value: a table and the instance that it works on. */
typedef struct cb_backend {
    const compute_backend_v1 *api;
    void *self;
} cb_backend;

/* What a host offers to a backend, given to create. Valid until destroy returns. Both functions
 * may be called from any thread of the plugin and must not call back into the backend. */
typedef struct cb_host {
    uint64_t size;
    void *ctx;
    void (*log)(void *ctx, int32_t level, const char *text); /* text: one line, copied; nullable */
    const void *(*get)(void *ctx, const char *id);           /* a service, or NULL; nullable */
} cb_host;
#define CB_HOST_1_0 32
CB_STATIC_ASSERT(sizeof(cb_host) == CB_HOST_1_0, "1.0");

/* ---- Argument structs ---------------------------------------------------------------------- *
 *
 * Each begins with its size, has no padding, and grows at the end. Fill one like this:
 *
 *     cb_gemm(be, &(cb_gemm_args){ CB_ARGS(cb_gemm_args), .m = 2, ... }, &err);
 *
 * or, in C++ and old C, with cb_gemm_args_init(&args) and assignments. A size below that of 1.0
 * or above 4096 is CB_INVALID_ARGUMENT. A backend older than the host accepts a longer struct as
 * long as the bytes that it does not know are zero, else it answers CB_UNSUPPORTED.
 */
#define CB_ARGS(type)    .size = sizeof(type)
#define CB_ARGS_SIZE_MAX 4096

typedef struct cb_create_args {
    uint64_t size;
    const cb_host *host;        /* nullable */
    const char *const *options; /* "key=value" strings; NULL when n_options is 0 */
    uint64_t n_options;
} cb_create_args;
#define CB_CREATE_ARGS_1_0 32

/* dst and src of the device side are device addresses, of the host side plain pointers. */
typedef struct cb_copy_htod_args {
    uint64_t size;
    uint32_t flags; /* CB_COPY_ASYNC */
    uint32_t reserved;
    uint64_t dst;
    const void *src;
    uint64_t bytes;
    cb_stream *stream;
} cb_copy_htod_args;

typedef struct cb_copy_dtoh_args {
    uint64_t size;
    uint32_t flags; /* CB_COPY_ASYNC */
    uint32_t reserved;
    void *dst;
    uint64_t src;
    uint64_t bytes;
    cb_stream *stream;
} cb_copy_dtoh_args;

typedef struct cb_copy_dtod_args {
    uint64_t size;
    uint32_t flags; /* CB_COPY_ASYNC */
    uint32_t reserved;
    uint64_t dst;
    uint64_t src;
    uint64_t bytes;
    cb_stream *stream;
} cb_copy_dtod_args;
#define CB_COPY_ARGS_1_0 48

/* op(A) is m x k, op(B) is k x n, C is m x n. Column-major: element (i, j) of A is a[i + j*lda].
 * Each leading dimension is in elements and at least the rows that the matrix has in memory. */
typedef struct cb_gemm_args {
    uint64_t size;
    uint32_t dtype; /* CB_F64 (default), CB_F32; CB_BF16 and CB_F16: A and B so, C and sums f32 */
    uint32_t flags; /* 0 */
    uint32_t trans_a, trans_b;
    uint64_t m, n, k;
    double alpha;
    uint64_t a, lda;
    uint64_t b, ldb;
    double beta;
    uint64_t c, ldc;
    cb_stream *stream;
} cb_gemm_args;
#define CB_GEMM_ARGS_1_0 120

typedef struct cb_gemm_mixed_precision_args {
    uint64_t size;
    uint32_t precision; /* CB_MIXED_F16, CB_MIXED_BF16 */
    uint32_t flags;     /* 0 */
    uint32_t trans_a, trans_b;
    uint64_t m, n, k;
    double alpha;
    uint64_t a, lda;
    uint64_t b, ldb;
    double beta;
    uint64_t c, ldc;
    cb_stream *stream;
} cb_gemm_mixed_precision_args;
#define CB_GEMM_MIXED_PRECISION_ARGS_1_0 120

/* Matrix i of A starts at a + i*stride_a elements of A's own type, and so on. */
typedef struct cb_batched_gemm_args {
    uint64_t size;
    uint32_t dtype; /* as in cb_gemm_args */
    uint32_t flags; /* 0 */
    uint32_t trans_a, trans_b;
    uint64_t m, n, k;
    double alpha;
    uint64_t a, lda;
    uint64_t b, ldb;
    double beta;
    uint64_t c, ldc;
    uint64_t stride_a, stride_b, stride_c;
    uint64_t batch;
    cb_stream *stream;
} cb_batched_gemm_args;
#define CB_BATCHED_GEMM_ARGS_1_0 152

/* One struct for the three convolution slots: the tensors keep their places, and the slot says
 * which of them is written. Shapes are N C H W, K C/groups R S and N K P Q. */
typedef struct cb_conv2d_args {
    uint64_t size;
    uint32_t dtype; /* CB_F32 (default) */
    uint32_t flags; /* 0 */
    uint64_t input_shape[4];
    uint64_t filter_shape[4];
    uint64_t output_shape[4];
    uint64_t stride[2];   /* rows, columns; at least 1 */
    uint64_t padding[4];  /* top, left, bottom, right; CB_PADDING(h, w) when symmetric */
    uint64_t dilation[2]; /* 0 means 1 */
    uint64_t groups;      /* 0 means 1 */
    uint64_t input;       /* forward reads it, backward_data writes its gradient */
    uint64_t filter; /* forward and backward_data read it, backward_filter writes its gradient */
    uint64_t output; /* forward writes it, the other two read its gradient */
    cb_stream *stream;
} cb_conv2d_args;
#define CB_CONV2D_ARGS_1_0 216
#define CB_PADDING(h, w)                                                                           \
    {                                                                                              \
        (h), (w), (h), (w)                                                                         \
    }

/* Q and O are [batch, heads, seq_q, head_dim], K and V [batch, kv_heads, seq_kv, head_dim]. Query
 * head h reads key head h / (heads / kv_heads). */
typedef struct cb_attention_args {
    uint64_t size;
    uint32_t dtype;                  /* CB_F32 (default) */
    uint32_t flags;                  /* CB_ATTENTION_CAUSAL */
    uint64_t batch, heads, kv_heads; /* kv_heads 0 means heads; it must divide heads */
    uint64_t seq_q, seq_kv, head_dim;
    double scale; /* multiplies the scores; 0 is 0 */
    uint64_t q, k, v, o;
    cb_stream *stream;
} cb_attention_args;
#define CB_ATTENTION_ARGS_1_0 112

typedef struct cb_softmax_args {
    uint64_t size;
    uint32_t dtype;        /* CB_F32 (default), CB_F64, CB_BF16, CB_F16 */
    uint32_t flags;        /* 0 */
    const uint64_t *shape; /* rank extents, row-major */
    uint32_t rank;         /* 1..CB_MAX_RANK */
    uint32_t axis;         /* below rank */
    uint64_t input;
    uint64_t output; /* shaped like input */
    cb_stream *stream;
} cb_softmax_args;
#define CB_SOFTMAX_ARGS_1_0 56

typedef struct cb_reduce_args {
    uint64_t size;
    uint32_t dtype; /* CB_F32 (default), CB_F64, CB_BF16, CB_F16 */
    uint32_t flags; /* 0 */
    uint32_t op;    /* CB_REDUCE_* */
    uint32_t reserved;
    const uint64_t *shape; /* rank extents, row-major */
    uint32_t rank;         /* 1..CB_MAX_RANK */
    uint32_t axis;         /* below rank */
    uint64_t input;
    uint64_t output; /* shape without the axis */
    cb_stream *stream;
} cb_reduce_args;
#define CB_REDUCE_ARGS_1_0 64

typedef struct cb_unary_args {
    uint64_t size;
    uint32_t dtype; /* CB_F32 (default), CB_F64, CB_BF16, CB_F16 */
    uint32_t flags; /* 0 */
    uint32_t op;    /* CB_UNARY_* */
    uint32_t reserved;
    uint64_t n; /* elements */
    uint64_t input;
    uint64_t output;
    cb_stream *stream;
} cb_unary_args;
#define CB_UNARY_ARGS_1_0 56

typedef struct cb_binary_args {
    uint64_t size;
    uint32_t dtype; /* CB_F32 (default), CB_F64, CB_BF16, CB_F16 */
    uint32_t flags; /* 0 */
    uint32_t op;    /* CB_BINARY_* */
    uint32_t reserved;
    uint64_t n; /* elements */
    uint64_t a;
    uint64_t b;
    uint64_t output;
    cb_stream *stream;
} cb_binary_args;
#define CB_BINARY_ARGS_1_0 64

/* One struct for gather and scatter. The table has `rows` rows of `cols` elements; the other
 * operand has n_indices such rows. */
typedef struct cb_rows_args {
    uint64_t size;
    uint32_t element_size; /* 1, 2, 4 (also 0), 8 or 16 bytes */
    uint32_t flags;        /* 0 */
    uint64_t rows, cols;
    const uint64_t *indices; /* host memory; each below rows */
    uint64_t n_indices;
    uint64_t input;  /* gather: the table; scatter: the rows to write */
    uint64_t output; /* gather: the rows read; scatter: the table */
    cb_stream *stream;
} cb_rows_args;
#define CB_ROWS_ARGS_1_0 72

CB_STATIC_ASSERT(sizeof(cb_create_args) == CB_CREATE_ARGS_1_0, "1.0");
CB_STATIC_ASSERT(sizeof(cb_copy_htod_args) == CB_COPY_ARGS_1_0, "1.0");
CB_STATIC_ASSERT(sizeof(cb_copy_dtoh_args) == CB_COPY_ARGS_1_0, "1.0");
CB_STATIC_ASSERT(sizeof(cb_copy_dtod_args) == CB_COPY_ARGS_1_0, "1.0");
CB_STATIC_ASSERT(sizeof(cb_gemm_args) == CB_GEMM_ARGS_1_0, "1.0");
CB_STATIC_ASSERT(sizeof(cb_gemm_mixed_precision_args) == CB_GEMM_MIXED_PRECISION_ARGS_1_0, "1.0");
CB_STATIC_ASSERT(sizeof(cb_batched_gemm_args) == CB_BATCHED_GEMM_ARGS_1_0, "1.0");
CB_STATIC_ASSERT(sizeof(cb_conv2d_args) == CB_CONV2D_ARGS_1_0, "1.0");
CB_STATIC_ASSERT(sizeof(cb_attention_args) == CB_ATTENTION_ARGS_1_0, "1.0");
CB_STATIC_ASSERT(sizeof(cb_softmax_args) == CB_SOFTMAX_ARGS_1_0, "1.0");
CB_STATIC_ASSERT(sizeof(cb_reduce_args) == CB_REDUCE_ARGS_1_0, "1.0");
CB_STATIC_ASSERT(sizeof(cb_unary_args) == CB_UNARY_ARGS_1_0, "1.0");
CB_STATIC_ASSERT(sizeof(cb_binary_args) == CB_BINARY_ARGS_1_0, "1.0");
CB_STATIC_ASSERT(sizeof(cb_rows_args) == CB_ROWS_ARGS_1_0, "1.0");

/* ---- Result structs ------------------------------------------------------------------------ *
 *
 * The caller sets size; the backend writes up to that size and no further. A size below that of
 * 1.0 is CB_INVALID_ARGUMENT. Strings are terminated.
 */
typedef struct cb_device_info {
    uint64_t size;
    uint32_t ordinal;
    uint32_t memory_kind;                  /* CB_MEMORY_* */
    uint32_t compute_major, compute_minor; /* the vendor's own; 0.0 when there is none */
    uint64_t total_memory;                 /* bytes; 0 when unknown */
    char name[128];                        /* for people */
    char id[64]; /* stable over runs: "pci:0000:01:00.0", "uuid:...", "cpu" */
} cb_device_info;
#define CB_DEVICE_INFO_1_0 224

typedef struct cb_capabilities {
    uint64_t size;
    uint32_t features; /* CB_FEATURE_* */
    uint32_t warp_size;
    uint64_t max_threads_per_block;
    uint64_t shared_memory_per_block; /* bytes */
} cb_capabilities;
#define CB_CAPABILITIES_1_0 32

typedef struct cb_memory_info {
    uint64_t size;
    uint64_t total;      /* bytes that this instance may allocate in all */
    uint64_t free;       /* of those, still to be had */
    uint64_t live_bytes; /* as asked for, of allocations not yet freed */
    uint64_t live_count;
} cb_memory_info;
#define CB_MEMORY_INFO_1_0 40

enum {
    CB_SUPPORT_NO = 0,
    CB_SUPPORT_YES = 1,
    CB_SUPPORT_SLOW = 2, /* right, but not by the way that this backend exists for */
};

typedef struct cb_support {
    uint64_t size;
    uint32_t answer; /* CB_SUPPORT_* */
    uint32_t reserved;
    uint64_t temporary_bytes; /* peak, allocated by the backend itself, for operands apart */
    char reason[232];         /* why not, or why slow */
} cb_support;
#define CB_SUPPORT_1_0 256

/* What get_extension fills. The extension's functions take this self, not the backend's. */
typedef struct cb_extension {
    uint64_t size;
    const void *api;
    void *self;
} cb_extension;
#define CB_EXTENSION_1_0 24

CB_STATIC_ASSERT(sizeof(cb_device_info) == CB_DEVICE_INFO_1_0, "1.0");
CB_STATIC_ASSERT(sizeof(cb_capabilities) == CB_CAPABILITIES_1_0, "1.0");
CB_STATIC_ASSERT(sizeof(cb_memory_info) == CB_MEMORY_INFO_1_0, "1.0");
CB_STATIC_ASSERT(sizeof(cb_support) == CB_SUPPORT_1_0, "1.0");
CB_STATIC_ASSERT(sizeof(cb_extension) == CB_EXTENSION_1_0, "1.0");

/* ---- The table ----------------------------------------------------------------------------- *
 *
 * Lives in the plugin's static storage. Slots are only ever appended. The required ones come
 * first; a loader refuses a table in which one of them is NULL or beyond size. A slot after them
 * may be NULL or beyond size: the op is then CB_UNSUPPORTED, and a loader puts a function there
 * that says so, so that no host tests for NULL.
 */
struct compute_backend_v1 {
    uint64_t size;       /* sizeof(compute_backend_v1) as the plugin knows it */
    uint32_t abi_major;  /* CB_ABI_MAJOR */
    uint32_t abi_minor;  /* CB_ABI_MINOR of the plugin's header */
    const char *name;    /* the plugin's id, as in its manifest: [a-z0-9_]+ */
    const char *version; /* of the plugin, for people */

    /**
     * create - makes an instance. Cheap: opens no device.
     *
     * @args:  host services and options, read during the call; the host services themselves are
     *         used until destroy returns.
     * @out:   receives the instance on CB_OK, else it is untouched.
     *
     * Options: "key=value". Every plugin knows `device` (ordinal, id, or a glob on the name).
     * Errors:  an unknown key or a bad value is CB_INVALID_ARGUMENT with err->where
     *          "option KEY"; CB_OUT_OF_MEMORY.
     */
    cb_status (*create)(const cb_create_args *args, void **out, cb_error *err);

    /**
     * destroy - waits for queued work, frees buffers, streams and events, joins every thread that
     * the instance started. Must be the only call on the instance. NULL is accepted.
     */
    void (*destroy)(void *self);

    /**
     * device_count - how many devices there are.
     *
     * 0 is CB_OK, and then *err holds the reason with code CB_OK.
     */
    cb_status (*device_count)(void *self, uint32_t *count, cb_error *err);

    /**
     * device_info - facts of one device.
     *
     * Errors: an ordinal that is no device is CB_INVALID_ARGUMENT.
     */
    cb_status (*device_info)(void *self, uint32_t ordinal, cb_device_info *out, cb_error *err);

    /**
     * capabilities - what a device can do.
     *
     * @ordinal: a device, or CB_DEVICE_AUTO for the one that init(CB_DEVICE_AUTO) would take.
     */
    cb_status (*capabilities)(void *self, uint32_t ordinal, cb_capabilities *out, cb_error *err);

    /**
     * init - opens a device.
     *
     * @ordinal: a device, or CB_DEVICE_AUTO. A number wins over the option `device`.
     *
     * Again:   the same device is CB_OK, another is CB_INVALID_ARGUMENT; concurrent calls are one;
     *          after a failure it may be tried again.
     * Errors:  CB_INVALID_ARGUMENT (no such device), CB_UNSUPPORTED (a device that lacks what the
     *          contract needs), CB_DEVICE_ERROR, CB_OUT_OF_MEMORY.
     */
    cb_status (*init)(void *self, uint32_t ordinal, cb_error *err);

    /**
     * alloc - zero-filled device memory, at least 64-byte aligned.
     *
     * @bytes: at least 1.
     * @out:   receives the device address. Addresses are numbers from a counter that starts at
     *         2^62; none is handed out twice while the instance lives, and between two
     *         allocations lie at least 4096 bytes that belong to neither.
     *
     * Memory:  the caller's until free or destroy.
     * Errors:  0 bytes is CB_INVALID_ARGUMENT; more than there is, CB_OUT_OF_MEMORY.
     */
    cb_status (*alloc)(void *self, uint64_t bytes, cb_stream *stream, uint64_t *out, cb_error *err);

    /**
     * free - gives an allocation back. A buffer freed while an op uses it lives until the op ends.
     *
     * @ptr: what alloc (or an extension that makes memory) returned.
     *
     * Errors:  an interior, foreign, mapped or already freed address, and 0, are
     *          CB_INVALID_ARGUMENT.
     */
    cb_status (*free)(void *self, uint64_t ptr, cb_stream *stream, cb_error *err);

    /**
     * copy_htod, copy_dtoh, copy_dtod - bytes, from host to device, back, and between buffers.
     *
     * They block, after the work queued on the stream, unless flags has CB_COPY_ASYNC.
     * Overlap:  copy_dtod copies as if through a temporary.
     * Zeroes:   0 bytes is CB_OK whatever the pointers.
     * Errors:   a copy longer than what is left of the buffer, or a NULL host pointer with bytes,
     *           is CB_INVALID_ARGUMENT and moves nothing.
     */
    cb_status (*copy_htod)(void *self, const cb_copy_htod_args *args, cb_error *err);
    cb_status (*copy_dtoh)(void *self, const cb_copy_dtoh_args *args, cb_error *err);
    cb_status (*copy_dtod)(void *self, const cb_copy_dtod_args *args, cb_error *err);

    /**
     * synchronize - waits for everything that is now queued on every stream of the instance.
     *
     * Errors: the late error of a stream, one stream per call; call again for the next.
     */
    cb_status (*synchronize)(void *self, cb_error *err);

    /**
     * supports - asks before a call.
     *
     * @op:    CB_OP_*.
     * @args:  the op's own struct. Device pointers, what the indices say and the stream are not
     *         looked at; all else is judged by the very check that the op makes.
     * @out:   CB_SUPPORT_NO carries the reason. CB_SUPPORT_YES and _SLOW promise that the call
     *         fails only for a pointer, an index, a stream, for memory or the device.
     *
     * Errors:  an invalid struct is CB_OK with the answer no; only a NULL or short @out, or a NULL
     *          @args, is CB_INVALID_ARGUMENT.
     */
    cb_status (*supports)(void *self, uint32_t op, const void *args, cb_support *out,
                          cb_error *err);

    /* ---- optional from here on ---- */

    /**
     * memset - sets bytes of a buffer, in order on the stream.
     *
     * @value: 0..255, else CB_INVALID_ARGUMENT.
     */
    cb_status (*memset)(void *self, uint64_t dst, uint32_t value, uint64_t bytes, cb_stream *stream,
                        cb_error *err);

    /**
     * gemm - C := alpha * op(A) * op(B) + beta * C, column-major.
     *
     * Types:   f64, f32; bf16 and f16 storage of A and B with f32 C, products and sums. alpha and
     *          beta are rounded to f32 but for f64.
     * Reads:   a matrix of r rows and c columns needs ld*(c-1)+r elements; the rows between r and
     *          ld are neither read nor written.
     * Zeroes:  m or n of 0: nothing is touched. k or alpha of 0: A and B are not read,
     *          C := beta * C. beta of 0: C is written, not read, so that a NaN there does not
     *          spread. A zero that comes from these rules is +0 unless a product gives -0.
     * Errors:  a leading dimension below the rows in memory (m or k for A, k or n for B, m for C,
     *          by their transposes), an unknown transpose, a size that overflows, a bad pointer:
     *          CB_INVALID_ARGUMENT; an unknown dtype or flag: CB_UNSUPPORTED.
     */
    cb_status (*gemm)(void *self, const cb_gemm_args *args, cb_error *err);

    /**
     * gemm_mixed_precision - gemm on f32 buffers whose A and B are rounded to 16-bit storage first.
     *
     * Rounding: nearest, ties to even, subnormals kept, overflow to infinity; a NaN stays one.
     *           Products and sums are f32. Everything else is as for gemm.
     */
    cb_status (*gemm_mixed_precision)(void *self, const cb_gemm_mixed_precision_args *args,
                                      cb_error *err);

    /**
     * batched_gemm - gemm for i in 0..batch-1 on matrices that lie a stride apart.
     *
     * Strides: in elements of the matrix's own type. stride_a or stride_b of 0 shares the matrix.
     *          No two C may have an element in common: stride_c >= ldc*(n-1)+m, or
     *          m <= stride_c and stride_c*batch <= ldc; anything else with batch > 1 and work to
     *          do is CB_INVALID_ARGUMENT.
     * Zeroes:  batch of 0 is CB_OK. All batches are checked before the first is computed.
     */
    cb_status (*batched_gemm)(void *self, const cb_batched_gemm_args *args, cb_error *err);

    /**
     * conv2d_forward - cross-correlation of input with filter into output.
     *
     *     output[n][k][p][q] = sum over c, r, s of filter[k][c][r][s] *
     *         input[n][g*C/groups + c][p*stride + r*dilation - top][q*stride + s*dilation - left]
     *
     * with g the group of k, and terms outside the input left out.
     * Shapes:  P = (H + top + bottom - dilation*(R-1) - 1) / stride + 1, rounded down; Q likewise.
     * Zeroes:  an empty sum is 0 and is written: C of 0 writes a zero output. N or K of 0 here:
     *          nothing to do.
     * Errors:  a filter larger than the padded input, a filter side of 0, a stride of 0, groups
     *          that do not divide C and K, a wrong channel count or output size:
     *          CB_INVALID_ARGUMENT.
     */
    cb_status (*conv2d_forward)(void *self, const cb_conv2d_args *args, cb_error *err);

    /**
     * conv2d_backward_data - the gradient of the input, from filter and the output's gradient.
     *
     * All of it is written, and no term is skipped: 0 * infinity is NaN. K of 0 writes zeroes. The
     * rest is as for conv2d_forward, of which it is the adjoint.
     */
    cb_status (*conv2d_backward_data)(void *self, const cb_conv2d_args *args, cb_error *err);

    /**
     * conv2d_backward_filter - the gradient of the filter, from input and the output's gradient.
     *
     * All of it is written. N of 0 writes zeroes. The rest is as for conv2d_forward.
     */
    cb_status (*conv2d_backward_filter)(void *self, const cb_conv2d_args *args, cb_error *err);

    /**
     * attention - O := softmax(scale * Q K^T) V for each batch and head.
     *
     * Causal:  aligned to the lower right: query i sees key j when j <= i + seq_kv - seq_q. K and V
     *          of masked keys are never read.
     * Values:  a query that sees no key gives zeroes. One that sees keys follows softmax: scores
     *          that are all -infinity, or any NaN or +infinity among them, give NaN.
     * Zeroes:  batch, heads, seq_q or head_dim of 0: nothing to do.
     * Errors:  kv_heads that do not divide heads: CB_INVALID_ARGUMENT.
     */
    cb_status (*attention)(void *self, const cb_attention_args *args, cb_error *err);

    /**
     * softmax - exp(x - max) / sum of exp(x - max) along one axis.
     *
     * Values:  a row that holds NaN or +infinity, and a row of -infinity, is all NaN.
     * Zeroes:  an extent of 0: nothing to do.
     * Errors:  rank not in 1..64, axis not below rank: CB_INVALID_ARGUMENT.
     */
    cb_status (*softmax)(void *self, const cb_softmax_args *args, cb_error *err);

    /**
     * reduce - sum, max, min or mean along one axis.
     *
     * Values:  long sums do not stall. max and min are IEEE 754-2019 maximum and minimum: a NaN
     *          gives NaN, and -0 is below +0.
     * Zeroes:  an empty axis gives 0, -infinity, +infinity, NaN, in the order of the codes.
     * Errors:  as for softmax; an unknown op: CB_UNSUPPORTED.
     */
    cb_status (*reduce)(void *self, const cb_reduce_args *args, cb_error *err);

    /**
     * unary - output[i] := f(input[i]), each within 4 ulp over the whole range of the type.
     *
     * Values:  relu, abs and neg are exact; relu(NaN) is NaN, relu(-0) is +0.
     */
    cb_status (*unary)(void *self, const cb_unary_args *args, cb_error *err);

    /**
     * binary - output[i] := f(a[i], b[i]), correctly rounded; max and min as in reduce.
     */
    cb_status (*binary)(void *self, const cb_binary_args *args, cb_error *err);

    /**
     * gather - row i of output := row indices[i] of input. Bytes are moved.
     *
     * Only the named rows are touched. Every index is checked first.
     * Errors:  an index that is not below rows, a NULL indices with n_indices: CB_INVALID_ARGUMENT.
     */
    cb_status (*gather)(void *self, const cb_rows_args *args, cb_error *err);

    /**
     * scatter - row indices[i] of output := row i of input. Of duplicates the last wins.
     */
    cb_status (*scatter)(void *self, const cb_rows_args *args, cb_error *err);

    /**
     * stream_create, stream_destroy - an in-order queue. destroy waits for its work; NULL, the
     * default stream, cannot be destroyed (CB_INVALID_ARGUMENT). @flags is 0.
     */
    cb_status (*stream_create)(void *self, uint32_t flags, cb_stream **out, cb_error *err);
    cb_status (*stream_destroy)(void *self, cb_stream *stream, cb_error *err);

    /** stream_synchronize - waits for the work now queued on one stream; reports its late error. */
    cb_status (*stream_synchronize)(void *self, cb_stream *stream, cb_error *err);

    /**
     * event_create, event_destroy - a marker. @flags is 0. An event that was never recorded
     * counts as done. One that is destroyed or recorded again keeps those who wait for it: they
     * wait for the record that was the last when they began.
     */
    cb_status (*event_create)(void *self, uint32_t flags, cb_event **out, cb_error *err);
    cb_status (*event_destroy)(void *self, cb_event *event, cb_error *err);

    /** event_record - the event is done once all that is now queued on the stream is. */
    cb_status (*event_record)(void *self, cb_event *event, cb_stream *stream, cb_error *err);

    /**
     * stream_wait_event - what is queued on the stream from now on waits for the event. On the
     * default stream the call itself may wait.
     *
     * Errors: work behind an event of failed work would find its data missing, so it is skipped:
     * the stream fails late too, which this call reports if it is known by then, else a later one.
     * So does each wait for that event until it is recorded again.
     */
    cb_status (*stream_wait_event)(void *self, cb_stream *stream, cb_event *event, cb_error *err);

    /**
     * event_query - *done becomes 1 or 0, without waiting. event_synchronize - waits.
     *
     * Errors: an event recorded after a late failure reports that failure, once.
     */
    cb_status (*event_query)(void *self, cb_event *event, uint32_t *done, cb_error *err);
    cb_status (*event_synchronize)(void *self, cb_event *event, cb_error *err);

    /**
     * info - a fact as text, for people and logs.
     *
     * @key:     "initialized" (0 or 1), "summary", "kernels", "threads", "isa", "device", ...;
     *           "keys" lists them, separated by newlines.
     * @buffer:  receives the terminated text; NULL asks for the length only.
     * @length:  in: bytes of buffer; out: bytes of the text with its terminator.
     *
     * Errors:   an unknown key is CB_NOT_FOUND; a buffer too short is CB_INVALID_ARGUMENT, with
     *           *length set and nothing written.
     */
    cb_status (*info)(void *self, const char *key, char *buffer, uint64_t *length, cb_error *err);

    /** memory_info - what the instance may allocate, and what it has. */
    cb_status (*memory_info)(void *self, cb_memory_info *out, cb_error *err);

    /**
     * get_extension - functions beyond this table, by an id that ends in a revision, such as
     * CB_MAP_ID. Third parties prefix theirs with a name of their own.
     *
     * Errors: an unknown id is CB_NOT_FOUND.
     */
    cb_status (*get_extension)(void *self, const char *id, cb_extension *out, cb_error *err);
};
#define CB_TABLE_1_0          344
#define CB_TABLE_REQUIRED_1_0 136 /* a shorter table lacks a required slot */
CB_STATIC_ASSERT(sizeof(struct compute_backend_v1) == CB_TABLE_1_0, "1.0");
CB_STATIC_ASSERT(offsetof(struct compute_backend_v1, memset) == CB_TABLE_REQUIRED_1_0, "1.0");

/* Whether a table, perhaps of an older plugin, has a slot. */
#define CB_HAS(table, slot)                                                                        \
    ((table)->size >= offsetof(compute_backend_v1, slot) + sizeof((table)->slot) &&                \
     (table)->slot != NULL)

/* ---- Extension cb.map/1: host access without a copy ---------------------------------------- */

#define CB_MAP_ID "cb.map/1"

typedef struct cb_map_v1 {
    uint64_t size;

    /**
     * map - a host pointer to device memory.
     *
     * @ptr, @bytes: a range inside one allocation; bytes at least 1.
     * @out:         receives the pointer, valid until the unmap that belongs to it.
     *
     * The caller first waits for the work that writes the range. Until unmap, ops may use the
     * buffer only where the device has CB_FEATURE_UNIFIED_MEMORY, and the allocation cannot be
     * freed. One range may be mapped several times; each map needs its unmap.
     */
    cb_status (*map)(void *self, uint64_t ptr, uint64_t bytes, void **out, cb_error *err);

    /** unmap - ends one map; @ptr and @host are what map took and returned. */
    cb_status (*unmap)(void *self, uint64_t ptr, void *host, cb_error *err);

    /**
     * import_host - makes host memory usable as a buffer, in place.
     *
     * @host:  64-byte aligned, of @bytes; it stays the caller's, who keeps it until free of *out
     *         has returned and the work on it is done. free does not release it.
     */
    cb_status (*import_host)(void *self, void *host, uint64_t bytes, uint64_t *out, cb_error *err);
} cb_map_v1;
#define CB_MAP_1_0 32
CB_STATIC_ASSERT(sizeof(cb_map_v1) == CB_MAP_1_0, "1.0");

/* ---- Extension cb.profile/1: how long work took -------------------------------------------- */

#define CB_PROFILE_ID "cb.profile/1"

typedef struct cb_profile_v1 {
    uint64_t size;

    /**
     * elapsed - the time between two events, by the device's own steady clock.
     *
     * @start, @end: events whose last record is done; of any two streams, the default one
     *               included, or one and the same.
     * @ns:          receives nanoseconds from the moment start was done to the moment end was, as
     *               exact as the device's clock; negative when end was done first. At least 0 when
     *               start comes before end on one stream, or through a stream_wait_event.
     *
     * It does not wait, and neither reports nor clears a late error. Every event keeps its time
     * until it is recorded again or destroyed.
     * Errors: an event that was never recorded, one that a late failure left without a time, and a
     *         NULL ns: CB_INVALID_ARGUMENT; an event that is not done yet: CB_BUSY.
     */
    cb_status (*elapsed)(void *self, cb_event *start, cb_event *end, int64_t *ns, cb_error *err);
} cb_profile_v1;
#define CB_PROFILE_1_0 16
CB_STATIC_ASSERT(sizeof(cb_profile_v1) == CB_PROFILE_1_0, "1.0");

/* ---- Names of codes ------------------------------------------------------------------------ */

static inline const char *cb_status_name(cb_status status)
{
    switch (status) {
    case CB_OK: return "OK";
    case CB_UNSUPPORTED: return "UNSUPPORTED";
    case CB_DEVICE_ERROR: return "DEVICE_ERROR";
    case CB_INVALID_ARGUMENT: return "INVALID_ARGUMENT";
    case CB_OUT_OF_MEMORY: return "OUT_OF_MEMORY";
    case CB_NOT_INITIALIZED: return "NOT_INITIALIZED";
    case CB_ABI_MISMATCH: return "ABI_MISMATCH";
    case CB_NOT_FOUND: return "NOT_FOUND";
    case CB_BUSY: return "BUSY";
    default: return "unknown status";
    }
}

static inline const char *cb_dtype_name(uint32_t dtype)
{
    switch (dtype) {
    case CB_DTYPE_DEFAULT: return "default";
    case CB_F64: return "f64";
    case CB_F32: return "f32";
    case CB_BF16: return "bf16";
    case CB_F16: return "f16";
    default: return "unknown dtype";
    }
}

static inline const char *cb_op_name(uint32_t op)
{
    switch (op) {
    case CB_OP_GEMM: return "gemm";
    case CB_OP_GEMM_MIXED_PRECISION: return "gemm_mixed_precision";
    case CB_OP_BATCHED_GEMM: return "batched_gemm";
    case CB_OP_CONV2D_FORWARD: return "conv2d_forward";
    case CB_OP_CONV2D_BACKWARD_DATA: return "conv2d_backward_data";
    case CB_OP_CONV2D_BACKWARD_FILTER: return "conv2d_backward_filter";
    case CB_OP_ATTENTION: return "attention";
    case CB_OP_SOFTMAX: return "softmax";
    case CB_OP_REDUCE: return "reduce";
    case CB_OP_UNARY: return "unary";
    case CB_OP_BINARY: return "binary";
    case CB_OP_GATHER: return "gather";
    case CB_OP_SCATTER: return "scatter";
    default: return "unknown op";
    }
}

/* ---- Calling a backend --------------------------------------------------------------------- *
 *
 * One indirect jump each. The table is one that a loader completed, or one without NULL slots.
 */

/* Defines NAME_init(NAME *args): all zero but for the size. */
#define CB_DEFINE_INIT(type)                                                                       \
    static inline void type##_init(type *args)                                                     \
    {                                                                                              \
        type zeroes = CB_ZEROES;                                                                   \
        *args = zeroes;                                                                            \
        args->size = sizeof(type);                                                                 \
    }
CB_DEFINE_INIT(cb_error)
CB_DEFINE_INIT(cb_create_args)
CB_DEFINE_INIT(cb_copy_htod_args)
CB_DEFINE_INIT(cb_copy_dtoh_args)
CB_DEFINE_INIT(cb_copy_dtod_args)
CB_DEFINE_INIT(cb_gemm_args)
CB_DEFINE_INIT(cb_gemm_mixed_precision_args)
CB_DEFINE_INIT(cb_batched_gemm_args)
CB_DEFINE_INIT(cb_conv2d_args)
CB_DEFINE_INIT(cb_attention_args)
CB_DEFINE_INIT(cb_softmax_args)
CB_DEFINE_INIT(cb_reduce_args)
CB_DEFINE_INIT(cb_unary_args)
CB_DEFINE_INIT(cb_binary_args)
CB_DEFINE_INIT(cb_rows_args)
CB_DEFINE_INIT(cb_device_info)
CB_DEFINE_INIT(cb_capabilities)
CB_DEFINE_INIT(cb_memory_info)
CB_DEFINE_INIT(cb_support)
CB_DEFINE_INIT(cb_extension)

/* Defines cb_SLOT(be, args, err). */
#define CB_DEFINE_CALL(slot, type)                                                                 \
    static inline cb_status cb_##slot(cb_backend be, const type *args, cb_error *err)              \
    {                                                                                              \
        return be.api->slot(be.self, args, err);                                                   \
    }
CB_DEFINE_CALL(copy_htod, cb_copy_htod_args)
CB_DEFINE_CALL(copy_dtoh, cb_copy_dtoh_args)
CB_DEFINE_CALL(copy_dtod, cb_copy_dtod_args)
CB_DEFINE_CALL(gemm, cb_gemm_args)
CB_DEFINE_CALL(gemm_mixed_precision, cb_gemm_mixed_precision_args)
CB_DEFINE_CALL(batched_gemm, cb_batched_gemm_args)
CB_DEFINE_CALL(conv2d_forward, cb_conv2d_args)
CB_DEFINE_CALL(conv2d_backward_data, cb_conv2d_args)
CB_DEFINE_CALL(conv2d_backward_filter, cb_conv2d_args)
CB_DEFINE_CALL(attention, cb_attention_args)
CB_DEFINE_CALL(softmax, cb_softmax_args)
CB_DEFINE_CALL(reduce, cb_reduce_args)
CB_DEFINE_CALL(unary, cb_unary_args)
CB_DEFINE_CALL(binary, cb_binary_args)
CB_DEFINE_CALL(gather, cb_rows_args)
CB_DEFINE_CALL(scatter, cb_rows_args)

static inline cb_status cb_alloc(cb_backend be, uint64_t bytes, uint64_t *out, cb_error *err)
{
    return be.api->alloc(be.self, bytes, NULL, out, err);
}

static inline cb_status cb_free(cb_backend be, uint64_t ptr, cb_error *err)
{
    return be.api->free(be.self, ptr, NULL, err);
}

static inline cb_status cb_memset(cb_backend be, uint64_t dst, uint32_t value, uint64_t bytes,
                                  cb_stream *stream, cb_error *err)
{
    return be.api->memset(be.self, dst, value, bytes, stream, err);
}

static inline cb_status cb_synchronize(cb_backend be, cb_error *err)
{
    return be.api->synchronize(be.self, err);
}

static inline cb_status cb_supports(cb_backend be, uint32_t op, const void *args, cb_support *out,
                                    cb_error *err)
{
    return be.api->supports(be.self, op, args, out, err);
}

/* Blocking copies on the default stream, for hosts that need no more. */
static inline cb_status cb_upload(cb_backend be, uint64_t dst, const void *src, uint64_t bytes,
                                  cb_error *err)
{
    cb_copy_htod_args args;
    cb_copy_htod_args_init(&args);
    args.dst = dst;
    args.src = src;
    args.bytes = bytes;
    return be.api->copy_htod(be.self, &args, err);
}

static inline cb_status cb_download(cb_backend be, void *dst, uint64_t src, uint64_t bytes,
                                    cb_error *err)
{
    cb_copy_dtoh_args args;
    cb_copy_dtoh_args_init(&args);
    args.dst = dst;
    args.src = src;
    args.bytes = bytes;
    return be.api->copy_dtoh(be.self, &args, err);
}

/**
 * cb_recommended_tile - a starting point for the tiles (m, n, k) of a blocked gemm.
 *
 * @matrix_units: whether the device has CB_FEATURE_TENSOR_CORES and they serve the type.
 */
static inline void cb_recommended_tile(uint64_t m, uint64_t n, uint64_t k, int matrix_units,
                                       uint32_t tile[3])
{
    uint64_t least = m ? m : 1;
    least = (n ? n : 1) < least ? (n ? n : 1) : least;
    least = (k ? k : 1) < least ? (k ? k : 1) : least;
    const int whole = least >= 16 && m % 16 == 0 && n % 16 == 0 && k % 16 == 0;

    if (matrix_units && whole) {
        tile[0] = tile[1] = least < 512 ? 64 : 128;
        tile[2] = least < 512 ? 16 : 32;
        return;
    }
    tile[0] = least <= 64 ? 16 : least <= 512 ? 64 : 128;
    tile[1] = tile[0];
    tile[2] = least <= 512 ? 16 : 8;
}

/* ---- Entering a plugin --------------------------------------------------------------------- *
 *
 * A host that loads a plugin itself, without the loader, finds the symbol CB_PLUGIN_SYMBOL, calls
 * it with a cb_negotiation whose in fields are set, and uses the table it gets on CB_OK.
 */
#define CB_PLUGIN_SYMBOL "cb_plugin_entry"

/* What a loader asks and what a plugin answers. */
typedef struct cb_negotiation {
    uint64_t size;
    uint32_t host_majors; /* in: bit i is set when the host speaks major i */
    uint32_t host_minor;  /* in: of the highest of them */
    uint32_t host_draft;  /* in: CB_ABI_DRAFT of the host */
    uint32_t major;       /* out: what the plugin chose */
    uint32_t minor;       /* out */
    uint32_t draft;       /* out */
    const void *table;    /* out: for major 1 a compute_backend_v1 */
    char reason[256];     /* out: why not, terminated */
} cb_negotiation;
#define CB_NEGOTIATION_1_0 296
CB_STATIC_ASSERT(sizeof(cb_negotiation) == CB_NEGOTIATION_1_0, "1.0");

static inline void cb_negotiation_init(cb_negotiation *negotiation)
{
    cb_negotiation zeroes = CB_ZEROES;
    *negotiation = zeroes;
    negotiation->size = sizeof(cb_negotiation);
    negotiation->host_majors = 1u << CB_ABI_MAJOR;
    negotiation->host_minor = CB_ABI_MINOR;
    negotiation->host_draft = CB_ABI_DRAFT;
}

/* The type of the one symbol that a plugin exports. It stores nothing, is cheap and repeatable,
 * may be called from any thread, touches no hardware and starts no thread. */
typedef cb_status (*cb_plugin_entry_fn)(cb_negotiation *negotiation);

#ifdef __cplusplus
}
#endif

#endif
