/* SPDX-License-Identifier: Apache-2.0 */
/* Streams, marks and what waits for them. One lock and one condition of the instance guard it all:
 * this backend is to be right first, and simple. */
#ifndef CHAOS_QUEUE_H
#define CHAOS_QUEUE_H

#include "faults.h"

/* A point in a stream's work, held by the event that was recorded there and by whatever waits. */
struct chaos_mark {
    unsigned holders;
    bool done;
    bool told;        /* of what failed */
    uint64_t time;    /* when it was, in nanoseconds; 0: a failure has left it out */
    cb_status failed; /* CB_OK: nothing has */
    cb_error error;
};

/* A caller who waits for one piece of work; on the caller's stack. */
struct chaos_waiter {
    bool done;
    cb_status status;
    cb_error error;
};

struct cb_event {
    cb_event *next;
    struct chaos_mark *mark; /* NULL: never recorded */
};

struct cb_stream {
    cb_stream *next;
    struct chaos *chaos;
    cb_stream *wrapped; /* a stream of the wrapped backend; NULL: its default stream */
    pthread_t thread;
    bool stop;
    struct chaos_work *first;
    uint64_t running; /* ticket of the work that the thread is at; 0: none */
    cb_status failed; /* a late error that nobody has been told of; CB_OK: none */
    cb_error error;
    bool told; /* for the fault that reports it twice */
};

/* All of these want the instance locked. */
struct chaos_mark *chaos_mark_hold(struct chaos_mark *mark);
void chaos_mark_drop(struct chaos_mark *mark);
void chaos_mark_now(struct chaos_mark *mark); /* it is done at this moment */
/* The failure that left a mark out, for who waits for it. */
cb_status chaos_mark_inherit(const struct chaos *chaos, const struct chaos_mark *mark,
                             cb_error *err);
bool chaos_event_known(const struct chaos *chaos, const cb_event *event);
bool chaos_stream_known(const struct chaos *chaos, const cb_stream *stream);
/* Queues work; CB_OK, or the late error of its stream. */
cb_status chaos_push(struct chaos_work *work, cb_error *err);
/* Takes all that has not begun off the queue. Those who wait for it, and marks in it, get st and
 * error; the list is to be freed without the lock. *waited: whether anyone did. */
struct chaos_work *chaos_drain(cb_stream *stream, cb_status st, const cb_error *error,
                               bool *waited);
/* Reports the late error of a stream, if there is one, and clears it. */
cb_status chaos_report(cb_stream *stream, cb_error *err);
/* What a fault does in place of waiting for what has not begun. */
void chaos_drop(struct chaos *chaos, cb_stream *stream);

/* Without the lock. */
void chaos_works_free(struct chaos_work *list);
/* Gives the caller what was kept of an error. */
cb_status chaos_tell(cb_status st, const cb_error *from, cb_error *err);
/* The thread of a stream, which is its argument. */
void *chaos_worker(void *stream);
/* A piece of work that is no slot's; NULL when memory is short, and *err says so. */
struct chaos_work *chaos_work_create(struct chaos *chaos, uint32_t code, cb_stream *stream,
                                     cb_error *err);

#endif
