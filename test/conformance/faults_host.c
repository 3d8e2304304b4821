/* SPDX-License-Identifier: Apache-2.0 */
/* What goes wrong around the ops: what supports promises, memory, copies, streams and events. */
#include "faults.h"

#include <string.h>

static cb_status supports_says_yes_to_all(void *self, uint32_t op, const void *args,
                                          cb_support *out, cb_error *err)
{
    const cb_status st = right->supports(self, op, args, out, err);
    if (st == CB_OK)
        out->answer = CB_SUPPORT_YES;
    return st;
}

static cb_status supports_says_no_to_what_works(void *self, uint32_t op, const void *args,
                                                cb_support *out, cb_error *err)
{
    const cb_status st = right->supports(self, op, args, out, err);
    if (st == CB_OK && op == CB_OP_SOFTMAX && out->answer == CB_SUPPORT_YES) {
        out->answer = CB_SUPPORT_NO;
        strcpy(out->reason, "because");
    }
    return st;
}

static cb_status supports_gives_no_reason(void *self, uint32_t op, const void *args,
                                          cb_support *out, cb_error *err)
{
    const cb_status st = right->supports(self, op, args, out, err);
    if (st == CB_OK)
        out->reason[0] = 0;
    return st;
}

/* In the args of gather and scatter input lies at 48. */
static cb_status supports_looks_at_pointers(void *self, uint32_t op, const void *args,
                                            cb_support *out, cb_error *err)
{
    const cb_status st = right->supports(self, op, args, out, err);
    const cb_rows_args *rows = args;
    if (st == CB_OK && op == CB_OP_GATHER && rows->n_indices && rows->size <= sizeof(*rows) &&
        rows->input == 0) {
        out->answer = CB_SUPPORT_NO;
        strcpy(out->reason, "input is 0");
    }
    return st;
}

static cb_status alloc_leaves_old_bytes(void *self, uint64_t bytes, cb_stream *stream,
                                        uint64_t *out, cb_error *err)
{
    const cb_status st = right->alloc(self, bytes, stream, out, err);
    if (st == CB_OK && bytes >= 4)
        poke(self, *out, 0, 1.0f);
    return st;
}

static cb_status alloc_of_0_bytes_is_ok(void *self, uint64_t bytes, cb_stream *stream,
                                        uint64_t *out, cb_error *err)
{
    return right->alloc(self, bytes ? bytes : 64, stream, out, err);
}

/* Every fifth time the address of the allocation before. */
static cb_status alloc_hands_out_an_address_twice(void *self, uint64_t bytes, cb_stream *stream,
                                                  uint64_t *out, cb_error *err)
{
    static uint64_t latest, calls;
    if (++calls % 5 == 0 && bytes && bytes < 1000 && latest) {
        *out = latest;
        return CB_OK;
    }
    const cb_status st = right->alloc(self, bytes, stream, out, err);
    if (st == CB_OK)
        latest = *out;
    return st;
}

static cb_status free_keeps_the_buffer(void *self, uint64_t ptr, cb_stream *stream, cb_error *err)
{
    (void)stream;
    float byte;
    const cb_copy_dtoh_args probe = { CB_ARGS(cb_copy_dtoh_args), .dst = &byte, .src = ptr,
                                      .bytes = 1 };
    return right->copy_dtoh(self, &probe, err);
}

static cb_status htod_copies_what_fits(void *self, const cb_copy_htod_args *a, cb_error *err)
{
    const cb_status st = right->copy_htod(self, a, err);
    if (st == CB_INVALID_ARGUMENT && a && a->size == sizeof(*a) && a->src && a->bytes) {
        cb_copy_htod_args one = *a;
        one.bytes = 1;
        right->copy_htod(self, &one, NULL);
    }
    return st;
}

static cb_status dtod_copies_forwards(void *self, const cb_copy_dtod_args *a, cb_error *err)
{
    if (!a || a->size != sizeof(*a) || a->bytes > 1000 || a->bytes < 2 || a->flags)
        return right->copy_dtod(self, a, err);
    cb_status st = right->copy_dtod(self,
                                    &(cb_copy_dtod_args){ CB_ARGS(cb_copy_dtod_args), .dst = a->dst,
                                                          .src = a->dst, .bytes = a->bytes },
                                    err);
    for (uint64_t i = 0; st == CB_OK && i < a->bytes; i++) {
        cb_copy_dtod_args one = *a;
        one.dst += i;
        one.src += i;
        one.bytes = 1;
        st = right->copy_dtod(self, &one, err);
    }
    return st;
}

static cb_status htod_of_null_is_ok(void *self, const cb_copy_htod_args *a, cb_error *err)
{
    return a && !a->src ? CB_OK : right->copy_htod(self, a, err);
}

static cb_status memset_sets_one_byte_too_many(void *self, uint64_t dst, uint32_t value,
                                               uint64_t bytes, cb_stream *stream, cb_error *err)
{
    const cb_status st = right->memset(self, dst, value, bytes, stream, err);
    if (st == CB_OK && bytes)
        right->memset(self, dst, value, bytes + 1, stream, NULL);
    return st;
}

static cb_status memory_info_forgets_a_free(void *self, cb_memory_info *out, cb_error *err)
{
    static uint64_t most;
    const cb_status st = right->memory_info(self, out, err);
    if (st == CB_OK && out->live_bytes > most)
        most = out->live_bytes;
    if (st == CB_OK)
        out->live_bytes = most;
    return st;
}

static cb_status async_copies_are_lost(void *self, const cb_copy_htod_args *a, cb_error *err)
{
    return a && a->size == sizeof(*a) && a->stream ? CB_OK : right->copy_htod(self, a, err);
}

static cb_status events_are_never_done(void *self, cb_event *event, uint32_t *done, cb_error *err)
{
    const cb_status st = right->event_query(self, event, done, err);
    if (st == CB_OK)
        *done = 0;
    return st;
}

static cb_status default_stream_can_be_destroyed(void *self, cb_stream *stream, cb_error *err)
{
    return stream ? right->stream_destroy(self, stream, err) : CB_OK;
}

/* A queue of one, per stream: what comes in waits until the next one comes or a wait ends it. */
static struct {
    cb_copy_dtoh_args args;
    bool waits;
} late;

static cb_status dtoh_is_done_too_late(void *self, const cb_copy_dtoh_args *a, cb_error *err)
{
    if (!a || a->size != sizeof(*a) || !(a->flags & CB_COPY_ASYNC) || !a->stream)
        return right->copy_dtoh(self, a, err);
    cb_status st = CB_OK;
    if (late.waits)
        st = right->copy_dtoh(self, &late.args, err);
    late.args = *a;
    late.waits = true;
    return st;
}

const struct fault host_faults[] = {
    FAULT(supports_says_yes_to_all, supports, "gemm:f32,*", "gemm:f32,"),
    FAULT(supports_says_no_to_what_works, supports, "softmax:f32,*", "softmax:f32,"),
    FAULT(supports_gives_no_reason, supports, "attention", "attention:"),
    FAULT(supports_looks_at_pointers, supports, "gather", "gather:"),
    FAULT(alloc_leaves_old_bytes, alloc, "memory", "memory:alloc_zero_filled"),
    FAULT(alloc_of_0_bytes_is_ok, alloc, "memory", "memory:alloc_sizes"),
    FAULT(alloc_hands_out_an_address_twice, alloc, "memory:alloc_addresses",
          "memory:alloc_addresses"),
    FAULT(free_keeps_the_buffer, free, "memory", "memory:free_faults"),
    FAULT(htod_copies_what_fits, copy_htod, "memory", "memory:copy_too_long"),
    FAULT(dtod_copies_forwards, copy_dtod, "memory", "memory:copy_bytes"),
    FAULT(htod_of_null_is_ok, copy_htod, "memory", "memory:copy_nothing_or_null"),
    FAULT(memset_sets_one_byte_too_many, memset, "memory", "memory:memset"),
    FAULT(memory_info_forgets_a_free, memory_info, "memory", "memory:memory_info"),
    FAULT(async_copies_are_lost, copy_htod, "streams", "streams:"),
    FAULT(dtoh_is_done_too_late, copy_dtoh, "streams", "streams:"),
    FAULT(events_are_never_done, event_query, "streams", "streams:events_say_when"),
    FAULT(default_stream_can_be_destroyed, stream_destroy, "streams", "streams:default_stream"),
    { .name = NULL },
};
