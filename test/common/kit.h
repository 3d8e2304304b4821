/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of every op share: elements of every type as doubles, and a small valid call of every
 * op with every type and code, whose operands can be found by number. Nothing here asserts, so all
 * of it may be used from any thread and in child processes. */
#ifndef TEST_COMMON_KIT_H
#define TEST_COMMON_KIT_H

#include "compute_backend.h"

/* ---- Elements ---- */

extern const uint32_t kit_dtypes[4]; /* CB_F64, CB_F32, CB_BF16, CB_F16 */

uint64_t kit_size(uint32_t dtype); /* in bytes */
double kit_get(uint32_t dtype, const void *data, uint64_t i);
/* Rounds to the type once: nearest, ties to even. */
void kit_put(uint32_t dtype, void *data, uint64_t i, double value);
/* The distance of two neighbours at |value|; the smallest subnormal is kit_ulp(dtype, 0). */
double kit_ulp(uint32_t dtype, double value);
void kit_fill(uint32_t dtype, void *data, uint64_t n, double value);
/* Uniform in [-1, 1), times scale; the same for the same seed. */
void kit_random(uint32_t dtype, void *data, uint64_t n, double scale, uint64_t seed);
/* The next number of a sequence that a seed starts. */
uint64_t kit_next(uint64_t *seed);

/* ---- Calls ---- */

enum {
    KIT_OPERANDS_MAX = 4,
    KIT_BYTES_MAX = 1024
};

struct kit_operand {
    const char *name; /* of its field in the args */
    uint64_t field;   /* where that is in the args */
    uint32_t dtype;
    uint64_t count; /* elements from the pointer on that the op may touch */
};

union kit_args {
    uint64_t size;
    cb_gemm_args gemm;
    cb_gemm_mixed_precision_args mixed;
    cb_batched_gemm_args batched;
    cb_conv2d_args conv;
    cb_attention_args attention;
    cb_softmax_args softmax;
    cb_reduce_args reduce;
    cb_unary_args unary;
    cb_binary_args binary;
    cb_rows_args rows;
};

struct kit_call {
    uint32_t op;
    char name[64]; /* "gemm f32 1": op, type, variant (transposes, or the op's own code) */
    union kit_args args;
    struct kit_operand operands[KIT_OPERANDS_MAX];
    unsigned n_operands;
    unsigned out; /* the operand that is written */
};

/* The bytes of each operand, on the host. */
struct kit_data {
    _Alignas(16) unsigned char bytes[KIT_OPERANDS_MAX][KIT_BYTES_MAX];
};

/* Makes the i-th of all calls, without pointers. Returns 0 beyond the last. */
int kit_call(unsigned i, struct kit_call *call);
/* Makes the f32 call of an op, of its first variant. */
void kit_call_f32(uint32_t op, struct kit_call *call);

uint64_t *kit_pointer(struct kit_call *call, unsigned operand);
cb_stream **kit_stream(struct kit_call *call);
uint64_t kit_bytes(const struct kit_call *call, unsigned operand);

void kit_data_random(const struct kit_call *call, struct kit_data *data, double scale,
                     uint64_t seed);
cb_status kit_run(cb_backend be, const struct kit_call *call, cb_error *err);

/* Gives each operand a buffer of its own, exactly as long as it must be, that holds data. On
 * failure nothing is left allocated. */
cb_status kit_place(cb_backend be, struct kit_call *call, const struct kit_data *data,
                    cb_error *err);
/* Frees what kit_place allocated. */
void kit_unplace(cb_backend be, struct kit_call *call);

/* kit_place, kit_run, and the written operand's bytes, on an error too, into result. */
cb_status kit_run_apart(cb_backend be, struct kit_call *call, const struct kit_data *data,
                        void *result, cb_error *err);

#endif
