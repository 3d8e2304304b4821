/* SPDX-License-Identifier: Apache-2.0 */
/* A case's arrays, and the judge of what was computed. */
#include "bench.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* What the judge spends on one output, in terms, where that is enough for the least of samples. */
#define TERMS_MOST    4e6
#define SAMPLES_LEAST 16

bool bench_refuse(const struct bench_case *c, const char *format, ...)
{
    char text[200];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    complain("%s %s: %s", bench_op_name(c->op), c->words, text);
    return false;
}

bool bench_count(const struct bench_case *c, const uint64_t *extents, uint32_t rank, uint64_t *out)
{
    *out = 1;
    for (uint32_t i = 0; i < rank; i++)
        if (!extents[i] || __builtin_mul_overflow(*out, extents[i], out) || *out > INT64_MAX / 16)
            return bench_refuse(c, extents[i] ? "that is too large" : "there is nothing to do");
    return true;
}

bool bench_operand(struct bench_case *c, uint32_t type, const uint64_t *extents, uint32_t rank,
                   uint64_t *address)
{
    struct operand *o = &c->operands[c->n_operands++];
    *o = (struct operand){ .type = type, .address = address, .scale = 1.0 };
    return bench_count(c, extents, rank, &o->count);
}

double bench_bytes(const struct bench_case *c)
{
    double bytes = 0.0;
    for (uint32_t i = 0; i < c->n_operands; i++)
        bytes += (double)c->operands[i].count * (double)st_type_size(c->operands[i].type);
    return bytes;
}

bool bench_axis(const struct bench_case *c, uint64_t *out)
{
    const uint64_t rank = c->keys[BENCH_SHAPE].n;
    const int64_t axis = (int64_t)c->keys[BENCH_AXIS].at[0];
    *out = (uint64_t)(axis < 0 ? axis + (int64_t)rank : axis);
    return *out < rank || bench_refuse(c, "the shape has no such axis");
}

uint64_t bench_step(const uint64_t *shape, uint32_t rank, uint32_t axis)
{
    uint64_t n = 1;
    for (uint32_t i = axis + 1; i < rank; i++)
        n *= shape[i];
    return n;
}

struct operand *bench_output(struct bench_case *c)
{
    return &c->operands[c->n_operands - 1];
}

double bench_element(const struct bench_case *c, uint32_t o, uint64_t i)
{
    const struct operand *x = &c->operands[o];
    return st_decode(x->type, (const char *)x->memory + i * st_type_size(x->type));
}

/* A second draw fills the bits of f64 that the first leaves zero. */
static void fill(struct operand *o, uint64_t *random)
{
    const uint64_t size = st_type_size(o->type);
    for (uint64_t i = 0; i < o->count; i++) {
        double x = st_uniform(random);
        if (o->type == CB_F64)
            x += 0x1p-24 * st_uniform(random);
        st_encode(o->type, o->scale * x + o->shift, (char *)o->memory + i * size);
    }
}

bool bench_case_fill(struct bench_case *c)
{
    uint64_t random = st_hash(c->words);
    for (uint32_t i = 0; i < c->n_operands; i++) {
        struct operand *o = &c->operands[i];
        o->memory = calloc(o->count, st_type_size(o->type));
        if (!o->memory)
            return bench_refuse(c, "out of memory");
        if (i + 1 < c->n_operands)
            fill(o, &random);
    }
    return true;
}

void bench_case_free(struct bench_case *c)
{
    for (uint32_t i = 0; i < c->n_operands; i++)
        free(c->operands[i].memory);
    free(c->indices);
    *c = (struct bench_case){ 0 };
}

/* Of the bound, as a part of it. What has to be exact is, or is infinitely far off. */
static double part_of_bound(uint32_t type, const struct st_want *want, double got)
{
    double error;
    if (!st_right(type, want, got, &error))
        return want->bound > 0.0 && error / want->bound > 1.0 ? error / want->bound : INFINITY;
    return want->bound > 0.0 && error > 0.0 ? error / want->bound : 0.0;
}

double bench_judge(const struct bench_case *c)
{
    const uint32_t o = c->n_operands - 1;
    const struct operand *out = &c->operands[o];
    const double affordable = TERMS_MOST / (c->terms > 1.0 ? c->terms : 1.0);
    uint64_t samples = affordable > SAMPLES_LEAST ? (uint64_t)affordable : SAMPLES_LEAST;
    uint64_t random = 1;
    double worst = 0.0;
    if (samples > out->count)
        samples = out->count;
    for (uint64_t s = 0; s < samples; s++) {
        const uint64_t i = samples == out->count ? s
                           : s < 2               ? s * (out->count - 1)
                                                 : st_random(&random) % out->count;
        struct st_want want = { .kind = ST_NEAR };
        if (!c->op->want(c, i, &want))
            return -1.0;
        const double part = part_of_bound(out->type, &want, bench_element(c, o, i));
        worst = part > worst ? part : worst;
    }
    return worst;
}
