/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of a stream. Each has a thread that works it off; who waits for work lends a hand, so
 * that a call which waits anyway does not wait for another thread to wake. One lock guards all
 * queues of an instance; no work runs under it. */
#ifndef CPU_QUEUE_H
#define CPU_QUEUE_H

#include "cpu.h"

/* A point in the work of a stream, held by the event that was recorded there and by whatever waits
 * for it. */
struct cpu_mark {
    unsigned holders;
    bool done;
    bool told;           /* of what failed */
    uint64_t time;       /* once done: nanoseconds, of CLOCK_MONOTONIC */
    const cb_stream *on; /* NULL: the default stream */
    cb_error failed;     /* the failure that left it out; code CB_OK: none */
};

/* A caller who waits for one piece of work, whose late failure is its own; on the caller's stack.
 */
struct cpu_waiter {
    bool done;
    cb_error failed;
};

/* One piece of work. With op it computes; else it makes its mark, or waits for it, and fails as
 * what left that out. */
struct cpu_task {
    struct cpu_task *next;
    uint64_t ticket; /* of all streams of the instance, in the order in which they were queued */
    const struct cpu_op *op;
    bool makes_mark;
    struct cpu_mark *mark;
    struct cpu_waiter *waiter; /* NULL: nobody */
    const char *where;
    struct cbc_pin pins[CPU_OPERANDS_MAX];
    _Alignas(16) unsigned char checked[]; /* of op, and the list that it points to */
};

struct cpu_stream {
    struct cpu_backend *cpu;
    pthread_t thread;
    bool started, stop;
    pthread_cond_t wake; /* of the thread: the first piece may have become ready */
    struct cpu_task *first, *last;
    uint64_t length;
    uint64_t running; /* ticket of the piece that runs; 0: none */
    unsigned users;   /* calls that wait on it */
    cb_error failed;  /* a late error that nobody has been told of; code CB_OK: none */
};

/* The calls below want the queues locked by this, which restarts the threads of streams that a fork
 * has lost; CB_OUT_OF_MEMORY, and not locked, when the system refuses one. */
cb_status cpu_queues_lock(struct cpu_backend *cpu, const char *where, cb_error *err);
void cpu_queues_unlock(struct cpu_backend *cpu);

/* The stream of a handle that is not NULL; CB_INVALID_ARGUMENT. */
cb_status cpu_queue_find(struct cpu_backend *cpu, const cb_stream *handle, struct cpu_stream **out,
                         const char *where, cb_error *err);

/* Reports a late error, if there is one, and clears it. */
cb_status cpu_queue_report(cb_error *failed, cb_error *err);

/* Queues a task, which is the queue's on CB_OK only; or finds no such stream, or reports its late
 * error. A queue that is very long is waited for. */
cb_status cpu_queue_push(struct cpu_backend *cpu, const cb_stream *handle, struct cpu_task *task,
                         cb_error *err);

/* Each waits, with the lock let go meanwhile: for a mark, and for all that was queued up to a
 * ticket on one stream, or on all. */
void cpu_queue_wait_mark(struct cpu_backend *cpu, struct cpu_mark *mark);
void cpu_queue_wait_stream(struct cpu_stream *stream, uint64_t ticket);
void cpu_queue_wait_all(struct cpu_backend *cpu, uint64_t ticket);

struct cpu_mark *cpu_mark_hold(struct cpu_mark *mark); /* NULL is accepted */
void cpu_mark_drop(struct cpu_mark *mark);             /* the same */
void cpu_mark_now(struct cpu_mark *mark);              /* it is done at this moment */

/* Without the lock: queues as push does, and waits for the task when the call blocks. The task,
 * with the pins of its operands, is taken in any case. */
cb_status cpu_queue_submit(struct cpu_backend *cpu, const cb_stream *handle, struct cpu_task *task,
                           bool blocks, cb_error *err);

/* Without the lock. A stream that is freed is no longer in the list, and its work is done. */
cb_status cpu_queue_create(struct cpu_backend *cpu, struct cpu_stream **out, cb_error *err);
void cpu_queue_free(struct cpu_stream *stream);

/* With so many bytes for what was checked; NULL when out of memory. */
struct cpu_task *cpu_task_create(uint64_t bytes, const char *where, cb_error *err);

struct cpu_event {
    struct cpu_mark *mark; /* of the last record; NULL: never recorded */
};

/* event.c - with the lock. name: of the argument, for the message. */
cb_status cpu_event_find(struct cpu_backend *cpu, const cb_event *handle, struct cpu_event **out,
                         const char *name, const char *where, cb_error *err);

#endif
