/* SPDX-License-Identifier: Apache-2.0 */
/* What is done to a valid case of every op. All args structs begin alike: size, a type, flags. */
#include "suite.h"

#define POINTER(operand, text, what)                                                               \
    {                                                                                              \
        .label = "operand" #operand "=" text, .how = ST_POINTER, .field = operand, .value = what,  \
        .status = CB_INVALID_ARGUMENT                                                              \
    }
#define POINTERS(operand)                                                                          \
    POINTER(operand, "null", ST_POINTER_NULL),                                                     \
        POINTER(operand, "misaligned", ST_POINTER_MISALIGNED),                                     \
        POINTER(operand, "freed", ST_POINTER_FREED), POINTER(operand, "short", ST_POINTER_SHORT),  \
        POINTER(operand, "before", ST_POINTER_BEFORE)

static const struct st_variant common[] = {
    { .label = "again", .how = ST_AGAIN, .status = CB_OK },
    { .label = "shifted", .how = ST_SHIFTED, .status = CB_OK },
    { .label = "on_stream", .how = ST_ON_STREAM, .status = CB_OK },
    { .label = "at_once", .how = ST_CONCURRENT, .status = CB_OK },
    { .label = "rounding_down", .how = ST_CONTROL, .status = CB_OK },
    { .label = "threads", .how = ST_THREADS, .status = CB_OK },
    { .label = "type=default", .how = ST_DEFAULT, .status = CB_OK },
    { .label = "args=null", .how = ST_ARGS_NULL, .status = CB_INVALID_ARGUMENT, .names = "args" },
    { .label = "longer", .how = ST_ARGS_LONGER, .value = 0, .status = CB_OK },
    { .label = "longer=set", .how = ST_ARGS_LONGER, .value = 1, .status = CB_UNSUPPORTED },
    ST_BAD("size=0", cb_gemm_args, size, 0, "size"),
    ST_BAD("size=8", cb_gemm_args, size, 8, "size"),
    ST_BAD("size=4104", cb_gemm_args, size, CB_ARGS_SIZE_MAX + 8, "size"),
    ST_UNKNOWN("flags=unknown", cb_gemm_args, flags, 1u << 31, "flags|flag"),
    POINTERS(0),
    POINTERS(1),
    POINTERS(2),
    POINTERS(3),
};

const struct st_variant *st_common_variant(uint64_t i)
{
    return i < ST_COUNT(common) ? &common[i] : NULL;
}

bool st_is_rerun(const struct st_variant *variant)
{
    switch (variant->how) {
    case ST_AGAIN:
    case ST_SHIFTED:
    case ST_ON_STREAM:
    case ST_CONCURRENT:
    case ST_CONTROL:
    case ST_THREADS: return true;
    default: return false;
    }
}

uint64_t st_size(const struct st_run *run, const struct st_variant *variant, uint64_t plain,
                 uint64_t again, uint64_t large)
{
    if (variant->how == ST_THREADS && st_full(run))
        return large;
    return st_is_rerun(variant) ? again : plain;
}
