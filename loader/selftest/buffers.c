/* SPDX-License-Identifier: Apache-2.0 */
/* Guarded device buffers: what an op may read is set, all else is a signalling NaN, and what it
 * may write is wanted, all else kept bit for bit. */
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GUARD_ELEMENTS 16
#define GUARD_BYTES    64

static const char kept_rule[] = "only the elements that the op defines are written, inputs and "
                                "what lies around and between them stay as they are";

uint64_t st_address(const struct st_buffer *buffer, uint64_t element)
{
    return buffer->base + (buffer->lead + element) * buffer->element;
}

static unsigned char *at(const struct st_buffer *buffer, unsigned char *image, uint64_t i)
{
    return image + (buffer->lead + i) * buffer->element;
}

struct st_buffer *st_buffer(struct st_run *run, const char *name, uint32_t type, uint64_t count,
                            bool output)
{
    if (run->n_buffers == ST_BUFFERS)
        return NULL;
    struct st_buffer *b = &run->buffers[run->n_buffers++];
    *b = (struct st_buffer){ .name = name, .type = type, .count = count };
    b->element = st_type_size(type);
    /* An interior pointer that is aligned to the element only, and often no guard behind it, so
     * that a backend which asks for more than the op defines finds the end of the allocation. */
    const uint64_t dice = st_random(&run->random);
    b->lead = (GUARD_BYTES + b->element - 1) / b->element +
              (run->shift == ST_ANY_SHIFT ? dice % 4 : run->shift);
    b->tail = dice / 4 % 4 ? GUARD_ELEMENTS : 0;
    const uint64_t elements = b->lead + count + b->tail;
    b->bytes = elements * b->element;

    const bool raw = type >= ST_RAW(0);
    b->before = st_host(run, elements, b->element);
    b->after = st_host(run, elements, b->element);
    b->x = raw ? NULL : st_host(run, count, sizeof(*b->x));
    b->want = output ? st_host(run, count, sizeof(*b->want)) : NULL;
    b->expected = output ? st_host(run, count, b->element) : NULL;
    if (run->outcome == CB_SELFTEST_FAILED)
        return NULL;
    for (uint64_t i = 0; i < elements; i++)
        st_canary(type, i, b->before + i * b->element);
    return b;
}

void st_set(struct st_buffer *b, uint64_t i, double value)
{
    unsigned char *bits = at(b, b->before, i);
    st_encode(b->type, value, bits);
    b->x[i] = st_decode(b->type, bits);
}

void st_fill(struct st_run *run, struct st_buffer *b, double scale)
{
    for (uint64_t i = 0; i < b->count; i++)
        st_set(b, i, scale * st_uniform(&run->random));
}

void st_fill_bytes(struct st_run *run, struct st_buffer *b)
{
    for (uint64_t i = 0; i < b->count * b->element; i++)
        at(b, b->before, 0)[i] = (unsigned char)st_random(&run->random);
}

const unsigned char *st_bytes(const struct st_buffer *b, uint64_t i)
{
    return at(b, b->before, i);
}

void st_want_near(struct st_run *run, struct st_buffer *b, uint64_t i, struct st_dd value,
                  double bound)
{
    b->want[i] = (struct st_want){ value, bound, ST_NEAR, run->rule };
}

void st_want_exact(struct st_run *run, struct st_buffer *b, uint64_t i, double value)
{
    b->want[i] = (struct st_want){ { value, 0.0 }, 0.0, ST_EXACT, run->rule };
}

void st_want_bits(struct st_run *run, struct st_buffer *b, uint64_t i, const void *bits)
{
    memcpy(b->expected + i * b->element, bits, b->element);
    b->want[i] = (struct st_want){ .kind = ST_BITS, .rule = run->rule };
}

void st_buffer_shift(struct st_buffer *b, uint64_t lead)
{
    if (lead + b->count > b->bytes / b->element)
        return;
    unsigned char *from = at(b, b->before, 0);
    b->tail = b->lead + b->tail - lead;
    b->lead = lead;
    memmove(at(b, b->before, 0), from, b->count * b->element);
}

bool st_alloc(struct st_run *run, uint64_t bytes, uint64_t *out)
{
    cb_error err;
    cb_error_init(&err);
    const cb_status st = cb_alloc(run->be, bytes, out, &err);
    if (st != CB_UNSUPPORTED)
        return st_status(run, "alloc", st, CB_OK, &err);
    st_skip(run, err.msg);
    return false;
}

bool st_free(struct st_run *run, uint64_t ptr)
{
    cb_error err;
    cb_error_init(&err);
    return st_status(run, "free", cb_free(run->be, ptr, &err), CB_OK, &err);
}

bool st_buffers_up(struct st_run *run)
{
    cb_error err;
    cb_error_init(&err);
    for (uint32_t i = 0; i < run->n_buffers; i++) {
        struct st_buffer *b = &run->buffers[i];
        if (!st_alloc(run, b->bytes, &b->base))
            return false;
        if (!st_status(run, "copy_htod", cb_upload(run->be, b->base, b->before, b->bytes, &err),
                       CB_OK, &err))
            return false;
    }
    return true;
}

bool st_buffers_down(struct st_run *run)
{
    cb_error err;
    cb_error_init(&err);
    for (uint32_t i = 0; i < run->n_buffers; i++) {
        struct st_buffer *b = &run->buffers[i];
        if (b->base &&
            !st_status(run, "copy_dtoh", cb_download(run->be, b->after, b->base, b->bytes, &err),
                       CB_OK, &err))
            return false;
    }
    return true;
}

void st_buffers_drop(struct st_run *run)
{
    for (uint32_t i = 0; i < run->n_buffers; i++) {
        struct st_buffer *b = &run->buffers[i];
        if (b->base)
            st_free(run, b->base);
        b->base = 0;
    }
}

void st_buffers_free(struct st_run *run)
{
    st_buffers_drop(run);
    for (uint32_t i = 0; i < run->n_buffers; i++) {
        struct st_buffer *b = &run->buffers[i];
        free(b->before);
        free(b->after);
        free(b->x);
        free(b->want);
        free(b->expected);
    }
    run->n_buffers = 0;
}

static void report_value(struct st_run *run, const struct st_buffer *b, uint64_t i, double got,
                         double error)
{
    const struct st_want *w = &b->want[i];
    const double want = isnan(w->value.hi) ? NAN : w->value.hi; /* printed without its sign */
    run->result.operand = b->name;
    run->result.index = i;
    run->result.got = got;
    run->result.want = want;
    run->result.error = error;
    run->result.bound = w->bound;
    st_fail(run, w->rule, "%s[%" PRIu64 "] is %.17g, not %.17g: off by %.3g, allowed %.3g", b->name,
            i, isnan(got) ? NAN : got, want, error, w->bound);
}

static void report_bits(struct st_run *run, const struct st_buffer *b, uint64_t element,
                        const unsigned char *right, const char *rule)
{
    const bool inside = element >= b->lead && element < b->lead + b->count;
    const int64_t i = (int64_t)element - (int64_t)b->lead;
    char got[36], want[36];
    for (uint32_t k = 0; k < b->element; k++) {
        snprintf(got + 2 * (size_t)k, 3, "%02x", b->after[element * b->element + k]);
        snprintf(want + 2 * (size_t)k, 3, "%02x", right[k]);
    }
    run->result.operand = b->name;
    run->result.index = inside ? (uint64_t)i : 0;
    st_fail(run, rule, "%s[%" PRId64 "]%s holds the bytes %s, not %s", b->name, i,
            inside ? "" : " (outside the operand)", got, want);
}

/* Whether one element of the allocation is what it must be; reports it when it is not. */
static bool judge_element(struct st_run *run, const struct st_buffer *b, uint64_t element)
{
    const uint64_t offset = element * b->element;
    const bool inside = element >= b->lead && element < b->lead + b->count;
    const struct st_want *w = inside && b->want ? &b->want[element - b->lead] : NULL;
    if (w && w->kind >= ST_EXACT) {
        double error;
        if (isfinite(w->value.hi) && !isfinite(w->bound))
            st_unjudged(run, "%s[%" PRIu64 "] has no finite bound", b->name, element - b->lead);
        const double got = st_decode(b->type, b->after + offset);
        if (st_right(b->type, w, got, &error))
            return true;
        report_value(run, b, element - b->lead, got, error);
        return false;
    }
    const bool given = w && w->kind == ST_BITS;
    const unsigned char *right =
        given ? b->expected + (element - b->lead) * b->element : b->before + offset;
    if (!memcmp(right, b->after + offset, b->element))
        return true;
    report_bits(run, b, element, right, given ? w->rule : kept_rule);
    return false;
}

void st_buffers_judge(struct st_run *run)
{
    for (uint32_t i = 0; i < run->n_buffers; i++) {
        const struct st_buffer *b = &run->buffers[i];
        if (!b->want && !memcmp(b->before, b->after, b->bytes))
            continue;
        for (uint64_t e = 0; e < b->bytes / b->element; e++) {
            if (!judge_element(run, b, e))
                return;
        }
    }
}

bool st_buffers_kept(struct st_run *run)
{
    for (uint32_t i = 0; i < run->n_buffers; i++) {
        const struct st_buffer *b = &run->buffers[i];
        for (uint64_t e = 0; b->base && e < b->bytes / b->element; e++) {
            if (memcmp(b->before + e * b->element, b->after + e * b->element, b->element)) {
                report_bits(run, b, e, b->before + e * b->element,
                            "on any error all operands are as they were");
                return false;
            }
        }
    }
    return true;
}
