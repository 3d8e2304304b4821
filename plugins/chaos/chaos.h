/* SPDX-License-Identifier: Apache-2.0 */
/* A layer around another backend: it has addresses, queues and events of its own, and leaves the
 * computing to the wrapped one. Without a fault it is a backend like any other, whose streams are
 * truly asynchronous. A fault (faults.h) breaks one thing. */
#ifndef CHAOS_H
#define CHAOS_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "addr_table.h"
#include "check.h"
#include "compute_backend_plugin.h"
#include "error.h"
#include "fpenv.h"

#define CHAOS_VERSION      "0.1.0"
#define CHAOS_OPERANDS_MAX 4

struct chaos_fault;

/* What can be queued: the ops by their CB_OP_*, the other slots that work on a stream, and what
 * only streams know. */
enum chaos_code {
    CHAOS_COPY_HTOD = CB_OP_COUNT,
    CHAOS_COPY_DTOH,
    CHAOS_COPY_DTOD,
    CHAOS_MEMSET,
    CHAOS_SLOTS,
    CHAOS_RECORD = CHAOS_SLOTS,
    CHAOS_WAIT,
    CHAOS_NOTHING, /* what a synchronize waits for */
    CHAOS_NEVER,
};

/* The ways to take the process along. */
enum chaos_way {
    CHAOS_CRASH,
    CHAOS_HANG,
    CHAOS_EXIT,
    CHAOS_WAYS,
};

/* How many devices the option devices makes of those there are. */
enum chaos_devices {
    CHAOS_DEVICES_AS_THEY_ARE,
    CHAOS_DEVICES_TWICE,
    CHAOS_DEVICES_NONE,
};

/* For the fault that hands an address out again: the latest allocation. */
struct chaos_spare {
    uint64_t address, wrapped, bytes;
    bool is_free;
};

struct chaos {
    void *library; /* of the wrapped plugin */
    cb_backend wrapped;
    const struct chaos_fault *fault; /* NULL: none */
    uint64_t delay;                  /* microseconds before each piece of queued work */
    uint32_t fails;                  /* a chaos_code whose work fails; CHAOS_NEVER: none */
    uint32_t ruin[CHAOS_WAYS];       /* the place of each (ruin.h); CHAOS_NEVER: none */
    uint32_t devices;                /* CHAOS_DEVICES_* */
    uint64_t largest;                /* more bytes at once are out of memory */
    uint32_t threads;                /* the option, which the wrapped backend gets too */
    pid_t pid;                       /* of the process that created it */
    atomic_bool initialized;
    atomic_uint runs; /* for faults that change from call to call */
    struct cbc_addr_table *table;

    pthread_mutex_t lock; /* all below, and what streams, events and marks hold */
    pthread_cond_t changed;
    uint64_t tickets;
    cb_stream *streams;
    cb_event *events;
    struct chaos_spare spare;
};

/* memset takes no struct; its arguments travel in one like those of the other slots. */
struct chaos_memset_args {
    uint64_t size;
    uint32_t value, reserved;
    uint64_t dst, bytes;
    cb_stream *stream;
};

union chaos_args {
    uint64_t size;
    cb_gemm_args gemm;
    cb_gemm_mixed_precision_args gemm_mixed_precision;
    cb_batched_gemm_args batched_gemm;
    cb_conv2d_args conv2d_forward, conv2d_backward_data, conv2d_backward_filter;
    cb_attention_args attention;
    cb_softmax_args softmax;
    cb_reduce_args reduce;
    cb_unary_args unary;
    cb_binary_args binary;
    cb_rows_args gather, scatter;
    cb_copy_htod_args copy_htod;
    cb_copy_dtoh_args copy_dtoh;
    cb_copy_dtod_args copy_dtod;
    struct chaos_memset_args memset;
};

struct chaos_mark;
struct chaos_waiter;

/* One piece of work: what was asked, ready to be run by any thread. */
struct chaos_work {
    struct chaos *chaos;
    uint32_t code;
    cb_stream *stream;     /* NULL: the default stream */
    union chaos_args args; /* with the addresses and the stream of the wrapped backend */
    const void *caller;    /* the caller's own args; gone once its call has returned */
    union cbc_any checked; /* of an op: what the check made of args */
    struct cbc_operand operands[CHAOS_OPERANDS_MAX];
    unsigned n_operands, n_pins;
    struct cbc_pin pins[CHAOS_OPERANDS_MAX];
    uint64_t *list; /* a copy of the shape, the indices, or what an upload reads */
    bool blocks;    /* the caller waits for it */

    /* stream.c */
    struct chaos_work *next;
    uint64_t ticket;
    struct chaos_mark *mark;
    const cb_event *event; /* of a wait */
    struct chaos_waiter *waiter;
};

/* slots.c - the codes: their names, and how to check and to run one. */
const char *chaos_code_name(uint32_t code);
/* The code of the slot of that name; CHAOS_NEVER when there is none. */
uint32_t chaos_code_find(const char *name);
/* Fills work from args, every argument checked and every operand found and pinned. */
cb_status chaos_prepare(struct chaos_work *work, const void *args, cb_error *err);
/* Calls the wrapped backend with work->args, and waits until that is done. */
cb_status chaos_call_wrapped(struct chaos_work *work, cb_error *err);
void chaos_work_free(struct chaos_work *work);

/* call.c - a slot from its beginning to its end. */
cb_status chaos_begin(struct chaos *chaos, const char *where, cb_error *err);
cb_status chaos_call(void *self, uint32_t code, const void *args, cb_error *err);
/* Runs checked work as the options ask: rightly, wrongly, or with a failure. */
cb_status chaos_run(struct chaos_work *work, cb_error *err);

/* by_hand.c - runs work with a fault that computes on copies of the operands. */
cb_status chaos_by_hand(struct chaos_work *work, cb_error *err);

/* stream.c */
/* Runs or queues work, which is freed or taken in any case. */
cb_status chaos_submit(struct chaos_work *work, cb_error *err);
/* Before a call that queues nothing: is the stream one, and has it an error to report? */
cb_status chaos_stream_check(struct chaos *chaos, cb_stream *stream, const char *where,
                             cb_error *err);
/* For a fault: what the call has refused becomes a late error of its stream, and the call is OK. */
cb_status chaos_fail_late(struct chaos *chaos, cb_stream *stream, cb_status st, cb_error *err);
cb_stream *chaos_stream_wrapped(const cb_stream *stream);
void chaos_streams_end(struct chaos *chaos);
cb_status chaos_stream_create(void *self, uint32_t flags, cb_stream **out, cb_error *err);
cb_status chaos_stream_destroy(void *self, cb_stream *stream, cb_error *err);
cb_status chaos_stream_synchronize(void *self, cb_stream *stream, cb_error *err);
cb_status chaos_synchronize(void *self, cb_error *err);

/* event.c */
void chaos_events_end(struct chaos *chaos);
cb_status chaos_event_create(void *self, uint32_t flags, cb_event **out, cb_error *err);
cb_status chaos_event_destroy(void *self, cb_event *event, cb_error *err);
cb_status chaos_event_record(void *self, cb_event *event, cb_stream *stream, cb_error *err);
cb_status chaos_stream_wait_event(void *self, cb_stream *stream, cb_event *event, cb_error *err);
cb_status chaos_event_query(void *self, cb_event *event, uint32_t *done, cb_error *err);
cb_status chaos_event_synchronize(void *self, cb_event *event, cb_error *err);

/* instance.c, wrap.c, options.c */
cb_status chaos_create(const cb_create_args *args, void **out, cb_error *err);
void chaos_destroy(void *self);
cb_status chaos_init(void *self, uint32_t ordinal, cb_error *err);
cb_status chaos_wrap(struct chaos *chaos, const char *path, const cb_create_args *args,
                     cb_error *err);
void chaos_unwrap(struct chaos *chaos);

/* What the options say; rest is for the wrapped backend. */
struct chaos_options {
    const char *wrap; /* NULL: the default */
    const char **rest;
    uint64_t n_rest;
};
cb_status chaos_options_read(struct chaos *chaos, const cb_create_args *args,
                             struct chaos_options *out, cb_error *err);

/* extension.c, map.c, profile.c */
cb_status chaos_get_extension(void *self, const char *id, cb_extension *out, cb_error *err);
/* The wrapped backend's cb.map/1; CB_NOT_FOUND when it has none. */
cb_status chaos_wrapped_map(const struct chaos *chaos, cb_extension *out, cb_error *err);
extern const cb_map_v1 chaos_map;
extern const cb_profile_v1 chaos_profile;

/* memory.c, facts.c */
cb_status chaos_alloc(void *self, uint64_t bytes, cb_stream *stream, uint64_t *out, cb_error *err);
cb_status chaos_free(void *self, uint64_t ptr, cb_stream *stream, cb_error *err);
cb_status chaos_memory_info(void *self, cb_memory_info *out, cb_error *err);
void chaos_release(void *ctx, void *memory, void *owner, uint64_t bytes);
cb_status chaos_device_count(void *self, uint32_t *count, cb_error *err);
cb_status chaos_device_info(void *self, uint32_t ordinal, cb_device_info *out, cb_error *err);
cb_status chaos_capabilities(void *self, uint32_t ordinal, cb_capabilities *out, cb_error *err);
/* Turns a device of this backend into that of the wrapped one. */
cb_status chaos_device_find(const struct chaos *chaos, uint32_t *ordinal, const char *where,
                            cb_error *err);
cb_status chaos_info(void *self, const char *key, char *buffer, uint64_t *length, cb_error *err);
cb_status chaos_supports(void *self, uint32_t op, const void *args, cb_support *out, cb_error *err);

#endif
