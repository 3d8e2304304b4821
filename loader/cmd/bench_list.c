/* SPDX-License-Identifier: Apache-2.0 */
/* The ops, and the standard list of each: square and skinny, in cache and out of it, the layers of
 * a ResNet and the heads of a language model. */
#include "bench.h"

#define FLOATS (BENCH_DTYPE(CB_F32))
#define WIDE   (BENCH_DTYPE(CB_F64) | BENCH_DTYPE(CB_F32))
#define HALVES (BENCH_DTYPE(CB_BF16) | BENCH_DTYPE(CB_F16))

static const char *const gemm_shapes[] = {
    "m=64 n=64 k=64",
    "m=128 n=128 k=128",
    "m=256 n=256 k=256",
    "m=512 n=512 k=512",
    "m=1024 n=1024 k=1024",
    "m=1024 n=1024 k=1024 trans_a=1",
    "m=1024 n=1024 k=1024 trans_b=1",
    "m=4096 n=64 k=1024",
    "m=4096 n=8 k=4096",
    "m=4096 n=1 k=4096",
    "m=2048 n=2048 k=32",
    NULL,
};

static const char *const batched_shapes[] = {
    "batch=4096 m=16 n=16 k=16",
    "batch=1024 m=32 n=32 k=32",
    "batch=256 m=64 n=64 k=64",
    "batch=64 m=128 n=128 k=128",
    NULL,
};

static const char *const conv2d_shapes[] = {
    "input=1,3,224,224 filter=64,3,7,7 stride=2 padding=3",
    "input=1,64,56,56 filter=64,64,3,3 padding=1",
    "input=1,256,14,14 filter=256,256,3,3 padding=1",
    "input=1,256,56,56 filter=64,256,1,1",
    "input=8,128,28,28 filter=128,128,3,3 padding=1",
    "input=1,32,112,112 filter=32,1,3,3 padding=1 groups=32",
    NULL,
};

static const char *const attention_shapes[] = {
    "heads=16 seq_q=1024 seq_kv=1024 head_dim=64",
    "heads=16 seq_q=1024 seq_kv=1024 head_dim=64 causal=1",
    "batch=8 heads=12 seq_q=128 seq_kv=128 head_dim=64",
    "heads=32 seq_q=1 seq_kv=4096 head_dim=128",
    "heads=32 kv_heads=8 seq_q=1 seq_kv=4096 head_dim=128",
    NULL,
};

static const char *const softmax_shapes[] = {
    "shape=4096,1000", "shape=65536,64", "shape=64,32000", "shape=16,128,56,56 axis=1", NULL,
};

static const char *const reduce_shapes[] = {
    "op=sum shape=1024,4096",
    "op=sum shape=1024,4096 axis=0",
    "op=sum shape=16777216",
    "op=max shape=1024,4096",
    NULL,
};

static const char *const unary_shapes[] = {
    "op=relu n=16777216", "op=exp n=16777216",  "op=exp n=16384",  "op=log n=16384",
    "op=tanh n=16384",    "op=sigmoid n=16384", "op=sqrt n=16384", NULL,
};

static const char *const binary_shapes[] = {
    "op=add n=16777216", "op=add n=16384", "op=div n=16384", "op=max n=16384", NULL,
};

static const char *const rows_shapes[] = {
    "cols=16 rows=1048576 indices=262144",
    "cols=64 rows=262144 indices=65536",
    "cols=1024 rows=16384 indices=4096",
    NULL,
};

static const char *const copy_shapes[] = {
    "op=htod n=4096",     "op=htod n=1048576",
    "op=htod n=16777216", "op=dtoh n=4096",
    "op=dtoh n=1048576",  "op=dtoh n=16777216",
    "op=dtod n=4096",     "op=dtod n=1048576",
    "op=dtod n=16777216", NULL,
};

static const char gemm_defaults[] = "m=1024 n=1024 k=1024 trans_a=0 trans_b=0";
static const char conv2d_defaults[] = "input=1,64,56,56 filter=64,64,3,3 stride=1 padding=0 "
                                      "dilation=1 groups=1";
static const char conv2d_story[] = "N,C,H,W and K,C/groups,R,S; GFLOP/s, padding included";
static const char rows_defaults[] = "rows=262144 cols=64 indices=65536";
static const char reads_twice[] = "GB/s of what is read and written, once each";

/* In the order of the codes. */
static const struct bench_op ops[BENCH_OPS] = {
    { CB_OP_GEMM, WIDE | HALVES, gemm_defaults, "GFLOP/s", gemm_shapes, bench_make_gemm,
      bench_want_gemm },
    { CB_OP_GEMM_MIXED_PRECISION, HALVES, gemm_defaults, "GFLOP/s; the type is what is rounded to",
      gemm_shapes, bench_make_gemm, bench_want_gemm },
    { CB_OP_BATCHED_GEMM, WIDE, "batch=64 m=128 n=128 k=128 trans_a=0 trans_b=0", "GFLOP/s",
      batched_shapes, bench_make_gemm, bench_want_gemm },
    { CB_OP_CONV2D_FORWARD, FLOATS, conv2d_defaults, conv2d_story, conv2d_shapes, bench_make_conv2d,
      bench_want_conv2d },
    { CB_OP_CONV2D_BACKWARD_DATA, FLOATS, conv2d_defaults, conv2d_story, conv2d_shapes,
      bench_make_conv2d, bench_want_conv2d },
    { CB_OP_CONV2D_BACKWARD_FILTER, FLOATS, conv2d_defaults, conv2d_story, conv2d_shapes,
      bench_make_conv2d, bench_want_conv2d },
    { CB_OP_ATTENTION, FLOATS,
      "batch=1 heads=16 kv_heads=0 seq_q=1024 seq_kv=1024 head_dim=64 causal=0",
      "GFLOP/s of the products of visible pairs; kv_heads of 0 is heads", attention_shapes,
      bench_make_attention, bench_want_attention },
    { CB_OP_SOFTMAX, FLOATS, "shape=4096,1000 axis=-1", reads_twice, softmax_shapes,
      bench_make_softmax, bench_want_softmax },
    { CB_OP_REDUCE, FLOATS, "op=sum shape=1024,4096 axis=-1", reads_twice, reduce_shapes,
      bench_make_reduce, bench_want_reduce },
    { CB_OP_UNARY, FLOATS, "op=exp n=16384", reads_twice, unary_shapes, bench_make_map,
      bench_want_map },
    { CB_OP_BINARY, FLOATS, "op=add n=16384", reads_twice, binary_shapes, bench_make_map,
      bench_want_map },
    { CB_OP_GATHER, FLOATS, rows_defaults, "GB/s of the rows, read and written", rows_shapes,
      bench_make_rows, bench_want_rows },
    { CB_OP_SCATTER, FLOATS, rows_defaults, "GB/s of the rows, read and written", rows_shapes,
      bench_make_rows, bench_want_rows },
    { BENCH_COPY, FLOATS, "op=htod n=1048576",
      "host to device, back, or within it: htod, dtoh, dtod; GB/s of what is copied", copy_shapes,
      bench_make_copy, bench_want_copy },
};

const struct bench_op *bench_op_at(uint64_t i)
{
    return i < BENCH_OPS ? &ops[i] : NULL;
}

const char *bench_op_name(const struct bench_op *op)
{
    return op->code == BENCH_COPY ? "copy" : cb_op_name(op->code);
}
