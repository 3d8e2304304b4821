/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong results are made on copies of the operands in host memory, whatever device the wrapped
 * backend has. */
#include "faults.h"
#include "half.h"

#include <stdlib.h>
#include <string.h>

double chaos_load(uint32_t dtype, const unsigned char *image, uint64_t i)
{
    double d;
    float f;
    uint16_t h;
    switch (dtype) {
    case CB_F64: memcpy(&d, image + i * sizeof(d), sizeof(d)); return d;
    case CB_F32: memcpy(&f, image + i * sizeof(f), sizeof(f)); return (double)f;
    default:
        memcpy(&h, image + i * sizeof(h), sizeof(h));
        return (double)(dtype == CB_F16 ? cbc_f16_to_f32(h) : cbc_bf16_to_f32(h));
    }
}

void chaos_store(uint32_t dtype, unsigned char *image, uint64_t i, double value)
{
    const float f = (float)value;
    if (dtype == CB_F64) {
        memcpy(image + i * sizeof(value), &value, sizeof(value));
    } else if (dtype == CB_F32) {
        memcpy(image + i * sizeof(f), &f, sizeof(f));
    } else {
        const uint16_t h = dtype == CB_F16 ? cbc_f32_to_f16(f) : cbc_f32_to_bf16(f);
        memcpy(image + i * sizeof(h), &h, sizeof(h));
    }
}

uint64_t chaos_elements(const struct chaos_work *work, unsigned i)
{
    return work->operands[i].bytes / work->operands[i].align;
}

static uint64_t address(const struct chaos_work *work, unsigned i)
{
    return (uint64_t)(uintptr_t)work->pins[i].memory + work->pins[i].offset;
}

/* Operand i as it is now. NULL: no memory, or the copy failed and *st says how. */
static unsigned char *fetch(const struct chaos_work *work, unsigned i, cb_status *st, cb_error *err)
{
    const cb_backend be = work->chaos->wrapped;
    const uint64_t bytes = work->operands[i].bytes;
    unsigned char *image = malloc(bytes);
    if (!image) {
        *st = cbc_fail(err, CB_OUT_OF_MEMORY, chaos_code_name(work->code),
                       "no memory for a copy of %llu bytes", (unsigned long long)bytes);
        return NULL;
    }
    const cb_copy_dtoh_args args = { CB_ARGS(cb_copy_dtoh_args), .dst = image,
                                     .src = address(work, i), .bytes = bytes,
                                     .stream = chaos_stream_wrapped(work->stream) };
    *st = cb_copy_dtoh(be, &args, err);
    if (*st != CB_OK) {
        free(image);
        return NULL;
    }
    return image;
}

static cb_status put_back(const struct chaos_work *work, unsigned i, const unsigned char *image,
                          cb_error *err)
{
    const cb_copy_htod_args args = { CB_ARGS(cb_copy_htod_args), .dst = address(work, i),
                                     .src = image, .bytes = work->operands[i].bytes,
                                     .stream = chaos_stream_wrapped(work->stream) };
    return cb_copy_htod(work->chaos->wrapped, &args, err);
}

static cb_status compute(struct chaos_work *work, struct chaos_images *x, cb_error *err)
{
    const struct chaos_fault *fault = work->chaos->fault;
    cb_status st = fault->patches ? chaos_call_wrapped(work, err) : CB_OK;
    if (st != CB_OK || !(x->out = fetch(work, x->written, &st, err)))
        return st;
    if (!fault->compute(work, x))
        return cbc_fail(err, CB_OUT_OF_MEMORY, chaos_code_name(work->code),
                        "no memory to compute by hand");
    st = put_back(work, x->written, x->out, err);
    /* Only the fault that modifies an input has a difference here. */
    for (unsigned i = 0; i < work->n_operands && st == CB_OK && fault->inputs_too; i++)
        if (x->in[i] && i != x->written)
            st = put_back(work, i, x->in[i], err);
    return st;
}

cb_status chaos_by_hand(struct chaos_work *work, cb_error *err)
{
    struct chaos_images x = { .written = work->n_operands };
    cb_status st = CB_OK;
    for (unsigned i = 0; i < work->n_operands && st == CB_OK; i++) {
        if (work->operands[i].written)
            x.written = i;
        if (work->operands[i].bytes)
            x.in[i] = fetch(work, i, &st, err);
    }
    if (st == CB_OK)
        st = x.written < work->n_operands && x.in[x.written] ? compute(work, &x, err)
                                                             : chaos_call_wrapped(work, err);
    for (unsigned i = 0; i < work->n_operands; i++)
        free(x.in[i]);
    free(x.out);
    return st;
}
