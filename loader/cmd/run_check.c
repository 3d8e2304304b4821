/* SPDX-License-Identifier: Apache-2.0 */
#include "run.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool refuse(const struct run *run, const struct array *a, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    complain("%s: %s: %s", cb_op_name(run->op->code), a->path, text);
    return false;
}

bool has_rank(const struct run *run, const struct array *a, uint32_t rank)
{
    return a->npy.rank == rank ||
           refuse(run, a, "its rank is %u, not %u", (unsigned)a->npy.rank, (unsigned)rank);
}

bool has_floats(const struct run *run, const struct array *a)
{
    return dtype_of(a) ||
           refuse(run, a, "it holds %s, not floating point numbers", npy_type_name(a->npy.type));
}

bool has_type(const struct run *run, const struct array *a, uint32_t type)
{
    return a->npy.type == type ||
           refuse(run, a, "it holds %s, not %s", npy_type_name(a->npy.type), npy_type_name(type));
}

bool fits(const struct run *run, const struct array *a, uint32_t i, const struct array *b,
          uint32_t j)
{
    return a->npy.shape[i] == b->npy.shape[j] ||
           refuse(run, a, "its axis %u has %" PRIu64 ", but axis %u of %s has %" PRIu64,
                  (unsigned)i, a->npy.shape[i], (unsigned)j, b->path, b->npy.shape[j]);
}

bool same_shape(const struct run *run, const struct array *a, const struct array *b)
{
    if (!has_rank(run, a, b->npy.rank))
        return false;
    for (uint32_t i = 0; i < a->npy.rank; i++)
        if (!fits(run, a, i, b, i))
            return false;
    return true;
}

uint32_t dtype_of(const struct array *a)
{
    static const uint32_t codes[NPY_TYPE_COUNT] = {
        [NPY_F16] = CB_F16,
        [NPY_F32] = CB_F32,
        [NPY_F64] = CB_F64,
    };
    return codes[a->npy.type];
}

bool make_output(struct run *run, uint32_t type, uint32_t rank, const uint64_t *shape, bool fortran,
                 uint64_t *address)
{
    run->out = (struct array){
        .path = "the result",
        .npy = { .type = type, .rank = rank, .fortran = fortran },
        .address = address,
    };
    if (rank > NPY_RANK_MAX)
        return refuse(run, &run->out, "its rank would be %u; at most %d can be", (unsigned)rank,
                      NPY_RANK_MAX);
    memcpy(run->out.npy.shape, shape, rank * sizeof(*shape));
    return npy_measure(&run->out.npy) || refuse(run, &run->out, "its size overflows");
}

void make_output_of(struct run *run, struct array *in, uint64_t *address)
{
    run->out = *in;
    run->out.address = address;
    in->memory = NULL;
    in->address = NULL;
}
