/* SPDX-License-Identifier: Apache-2.0 */
#include "queue.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LENGTH_MAX 1024 /* of a queue, before who adds to it works it off */

/* ---- marks ---- */

struct cpu_mark *cpu_mark_hold(struct cpu_mark *mark)
{
    if (mark)
        mark->holders++;
    return mark;
}

void cpu_mark_drop(struct cpu_mark *mark)
{
    if (mark && !--mark->holders)
        free(mark);
}

void cpu_mark_now(struct cpu_mark *mark)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    mark->time = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    mark->done = true;
}

/* ---- what became of a piece of work ---- */

cb_status cpu_queue_report(cb_error *failed, cb_error *err)
{
    const cb_status st = cbc_error_pass(err, failed);
    failed->code = CB_OK;
    return st;
}

/* The threads of streams whose next piece is to wait for the mark. */
static void wake_for(struct cpu_queues *queues, const struct cpu_mark *mark)
{
    for (uint64_t i = 0; i < queues->streams.n; i++) {
        struct cpu_stream *stream = queues->streams.list[i].object;
        if (stream->first && stream->first->mark == mark)
            pthread_cond_signal(&stream->wake);
    }
}

/* Ends a task that has been done, or that a failure leaves out: tells its mark and whoever waits
 * for it. Returns whether anyone did. */
static bool settle(struct cpu_backend *cpu, struct cpu_task *task, const cb_error *failed)
{
    const bool waited = task->waiter != NULL;
    if (task->makes_mark) {
        if (failed) {
            task->mark->failed = *failed;
            task->mark->done = true;
        } else {
            cpu_mark_now(task->mark);
        }
        wake_for(&cpu->queues, task->mark);
    }
    if (waited) {
        task->waiter->done = true;
        if (failed)
            task->waiter->failed = *failed;
    }
    cpu_mark_drop(task->mark);
    free(task);
    return waited;
}

static void unpin(struct cpu_backend *cpu, const struct cpu_task *task)
{
    if (task->op)
        cbc_addr_table_unpin(cpu->table, task->pins, task->op->n_operands);
}

/* Leaves out all that is queued. Unless a caller is told who waits for it, the next call on the
 * stream is. */
static void fail(struct cpu_stream *stream, const cb_error *failed)
{
    struct cpu_task *list = stream->first;
    bool told = false;
    stream->first = stream->last = NULL;
    stream->length = 0;
    while (list) {
        struct cpu_task *task = list;
        list = task->next;
        unpin(stream->cpu, task);
        told |= settle(stream->cpu, task, failed);
    }
    if (!told)
        stream->failed = *failed;
}

/* ---- doing it ---- */

/* Whether the first piece can be done now. */
static bool is_ready(const struct cpu_stream *stream)
{
    const struct cpu_task *task = stream->first;
    return task && !stream->running && !stream->cpu->queues.held &&
           (!task->mark || task->makes_mark || task->mark->done);
}

/* Does the first piece, which is ready. */
static void do_first(struct cpu_stream *stream)
{
    struct cpu_backend *cpu = stream->cpu;
    struct cpu_queues *queues = &cpu->queues;
    struct cpu_task *task = stream->first;
    cb_error failed;
    cb_error_init(&failed);
    stream->first = task->next;
    if (!stream->first)
        stream->last = NULL;
    stream->length--;
    if (task->op) {
        stream->running = task->ticket;
        queues->running++;
        pthread_mutex_unlock(&queues->lock);
        cpu_call_task(cpu, task, &failed);
        pthread_mutex_lock(&queues->lock);
        queues->running--;
        stream->running = 0;
    } else if (!task->makes_mark) {
        cbc_error_pass(&failed, &task->mark->failed);
    }
    const bool late = !settle(cpu, task, failed.code == CB_OK ? NULL : &failed);
    if (late && failed.code != CB_OK)
        fail(stream, &failed);
    pthread_cond_signal(&stream->wake);
    pthread_cond_broadcast(&queues->changed);
}

static void *work(void *arg)
{
    struct cpu_stream *stream = arg;
    struct cpu_queues *queues = &stream->cpu->queues;
#if defined(__linux__)
    pthread_setname_np(pthread_self(), "cb-stream");
#endif
    cbc_fpenv_enter();
    pthread_mutex_lock(&queues->lock);
    while (!stream->stop) {
        if (is_ready(stream))
            do_first(stream);
        else
            pthread_cond_wait(&stream->wake, &queues->lock);
    }
    pthread_mutex_unlock(&queues->lock);
    return NULL;
}

/* Signals are the host's business: the thread inherits a full mask. */
static cb_status start(struct cpu_stream *stream, const char *where, cb_error *err)
{
    sigset_t all, before;
    sigfillset(&all);
    int failed = pthread_sigmask(SIG_SETMASK, &all, &before);
    if (!failed) {
        failed = pthread_create(&stream->thread, NULL, work, stream);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    stream->started = !failed;
    return failed ? cbc_fail(err, CB_OUT_OF_MEMORY, where,
                             "the system refused a thread for a stream (%d)", failed)
                  : CB_OK;
}

/* ---- waiting ---- */

static void leave(struct cpu_stream *stream)
{
    if (!--stream->users)
        pthread_cond_broadcast(&stream->cpu->queues.changed);
}

/* Does the next piece of a stream in this thread, or sleeps until something has changed. */
static void help(struct cpu_backend *cpu, struct cpu_stream *stream)
{
    if (stream && is_ready(stream))
        do_first(stream);
    else
        pthread_cond_wait(&cpu->queues.changed, &cpu->queues.lock);
}

/* Whether there is work up to a ticket. */
static bool has_work(const struct cpu_stream *stream, uint64_t ticket)
{
    return (stream->running && stream->running <= ticket) ||
           (stream->first && stream->first->ticket <= ticket);
}

void cpu_queue_wait_stream(struct cpu_stream *stream, uint64_t ticket)
{
    struct cpu_backend *cpu = stream->cpu;
    stream->users++;
    while (has_work(stream, ticket))
        help(cpu, stream);
    leave(stream);
}

void cpu_queue_wait_all(struct cpu_backend *cpu, uint64_t ticket)
{
    const struct cbc_handles *streams = &cpu->queues.streams;
    for (bool behind = true; behind;) {
        struct cpu_stream *ready = NULL;
        behind = false;
        for (uint64_t i = 0; i < streams->n && !ready; i++) {
            struct cpu_stream *stream = streams->list[i].object;
            if (!has_work(stream, ticket))
                continue;
            behind = true;
            ready = is_ready(stream) ? stream : NULL;
        }
        if (behind)
            help(cpu, ready);
    }
}

void cpu_queue_wait_mark(struct cpu_backend *cpu, struct cpu_mark *mark)
{
    cpu_mark_hold(mark);
    while (mark && !mark->done)
        help(cpu, cbc_handles_find(&cpu->queues.streams, mark->on));
    cpu_mark_drop(mark);
}

/* ---- queueing ---- */

cb_status cpu_queue_find(struct cpu_backend *cpu, const cb_stream *handle, struct cpu_stream **out,
                         const char *where, cb_error *err)
{
    *out = cbc_handles_find(&cpu->queues.streams, handle);
    return *out ? CB_OK
                : cbc_invalid(err, where, "stream %p is none of this instance",
                              (const void *)handle);
}

struct cpu_task *cpu_task_create(uint64_t bytes, const char *where, cb_error *err)
{
    struct cpu_task *task = malloc(sizeof(*task) + bytes);
    if (!task) {
        cbc_fail(err, CB_OUT_OF_MEMORY, where, "no memory to queue it");
        return NULL;
    }
    *task = (struct cpu_task){ .where = where };
    return task;
}

cb_status cpu_queue_push(struct cpu_backend *cpu, const cb_stream *handle, struct cpu_task *task,
                         cb_error *err)
{
    struct cpu_stream *stream;
    cb_status st = cpu_queue_find(cpu, handle, &stream, task->where, err);
    if (st == CB_OK)
        st = cpu_queue_report(&stream->failed, err);
    if (st != CB_OK)
        return st;
    task->ticket = ++cpu->queues.tickets;
    if (stream->last)
        stream->last->next = task;
    else
        stream->first = task;
    stream->last = task;
    stream->length++;
    pthread_cond_signal(&stream->wake);
    stream->users++;
    while (stream->length > LENGTH_MAX)
        help(cpu, stream);
    leave(stream);
    return CB_OK;
}

cb_status cpu_queue_submit(struct cpu_backend *cpu, const cb_stream *handle, struct cpu_task *task,
                           bool blocks, cb_error *err)
{
    struct cpu_waiter waiter = { .done = false };
    cb_status st = cpu_queues_lock(cpu, task->where, err);
    if (st == CB_OK) {
        task->waiter = blocks ? &waiter : NULL;
        st = cpu_queue_push(cpu, handle, task, err);
        if (st == CB_OK) {
            task = NULL;
            while (blocks && !waiter.done)
                help(cpu, cbc_handles_find(&cpu->queues.streams, handle));
            st = cpu_queue_report(&waiter.failed, err);
        }
        cpu_queues_unlock(cpu);
    }
    if (task)
        unpin(cpu, task);
    free(task);
    return st;
}

/* ---- streams ---- */

cb_status cpu_queue_create(struct cpu_backend *cpu, struct cpu_stream **out, cb_error *err)
{
    struct cpu_stream *stream = calloc(1, sizeof(*stream));
    if (!stream)
        return cbc_fail(err, CB_OUT_OF_MEMORY, "stream_create", "no memory for a stream");
    stream->cpu = cpu;
    cb_error_init(&stream->failed);
    pthread_cond_init(&stream->wake, NULL);
    const cb_status st = start(stream, "stream_create", err);
    if (st == CB_OK)
        *out = stream;
    else
        cpu_queue_free(stream);
    return st;
}

void cpu_queue_free(struct cpu_stream *stream)
{
    struct cpu_queues *queues = &stream->cpu->queues;
    pthread_mutex_lock(&queues->lock);
    stream->stop = true;
    pthread_cond_signal(&stream->wake);
    pthread_mutex_unlock(&queues->lock);
    if (stream->started)
        pthread_join(stream->thread, NULL);
    pthread_cond_destroy(&stream->wake);
    free(stream);
}

/* ---- all queues of an instance ---- */

void cpu_queues_init(struct cpu_queues *queues)
{
    pthread_mutex_init(&queues->lock, NULL);
    pthread_cond_init(&queues->changed, NULL);
}

cb_status cpu_queues_lock(struct cpu_backend *cpu, const char *where, cb_error *err)
{
    struct cpu_queues *queues = &cpu->queues;
    cb_status st = CB_OK;
    pthread_mutex_lock(&queues->lock);
    for (uint64_t i = 0; queues->lost && i < queues->streams.n && st == CB_OK; i++) {
        struct cpu_stream *stream = queues->streams.list[i].object;
        if (!stream->started)
            st = start(stream, where, err);
    }
    if (st == CB_OK)
        queues->lost = false;
    else
        pthread_mutex_unlock(&queues->lock);
    return st;
}

void cpu_queues_unlock(struct cpu_backend *cpu)
{
    pthread_mutex_unlock(&cpu->queues.lock);
}

void cpu_queues_hold(struct cpu_backend *cpu)
{
    struct cpu_queues *queues = &cpu->queues;
    pthread_mutex_lock(&queues->lock);
    queues->held = true;
    while (queues->running)
        pthread_cond_wait(&queues->changed, &queues->lock);
}

void cpu_queues_release(struct cpu_backend *cpu)
{
    struct cpu_queues *queues = &cpu->queues;
    queues->held = false;
    for (uint64_t i = 0; i < queues->streams.n; i++)
        pthread_cond_signal(&((struct cpu_stream *)queues->streams.list[i].object)->wake);
    pthread_cond_broadcast(&queues->changed);
    pthread_mutex_unlock(&queues->lock);
}

/* Nobody else is here: no thread of a stream, and no caller who waits. */
void cpu_queues_reset_in_child(struct cpu_backend *cpu)
{
    struct cpu_queues *queues = &cpu->queues;
    pthread_cond_init(&queues->changed, NULL);
    for (uint64_t i = 0; i < queues->streams.n; i++) {
        struct cpu_stream *stream = queues->streams.list[i].object;
        pthread_cond_init(&stream->wake, NULL);
        stream->started = false;
        stream->users = 0;
        for (struct cpu_task *task = stream->first; task; task = task->next)
            task->waiter = NULL;
    }
    queues->lost = true;
}

void cpu_queues_end(struct cpu_backend *cpu)
{
    struct cpu_queues *queues = &cpu->queues;
    pthread_mutex_lock(&queues->lock);
    cpu_queue_wait_all(cpu, UINT64_MAX);
    pthread_mutex_unlock(&queues->lock);
    for (uint64_t i = 0; i < queues->streams.n; i++)
        cpu_queue_free(queues->streams.list[i].object);
    cbc_handles_free(&queues->streams);
    pthread_cond_destroy(&queues->changed);
    pthread_mutex_destroy(&queues->lock);
}
