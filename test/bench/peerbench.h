/* peerbench: plug-in interface. A shared object that exports
 *     const pb_peer *const *pb_plugin(int abi);       (NULL-terminated list; return NULL if abi !=
 * PB_ABI) can be loaded with  --plugin ./libxyz.so  and is then timed next to the packaged peers,
 * in the same run, on the same buffers, interleaved repetition by repetition.
 */
#ifndef PEERBENCH_H
#define PEERBENCH_H
#include <stddef.h>
#define PB_ABI 1

enum pb_op {
    PB_GEMM, /* d = {m,n,k,ta,tb}         in0=A in1=B out=C, column major, C = op(A) op(B)       */
    PB_GEMM_BATCH, /* d = {m,n,k,batch}         contiguous column-major matrices, no transposes */
    PB_CONV_FWD,   /* d = see PB_CV_*           in0=src(NCHW) in1=weights(OIHW, or GOIHW)
                      out=dst(NCHW)     */
    PB_CONV_BWDD,  /*                           in0=diff_dst in1=weights out=diff_src  */
    PB_CONV_BWDW,  /*                           in0=src in1=diff_dst out=diff_weights  */
    PB_SOFTMAX,    /* d = {outer,axis,inner}    in0=x out=y    */
    PB_REDUCE,     /* d = {outer,axis,inner}    sum over axis: in0=x out=y[outer,inner]     */
    PB_UNARY,      /* d = {n, kind}             kind: enum pb_un      */
    PB_BINARY,     /* d = {n}                   out = in0 + in1     */
    PB_ATTN,       /* d = {B,H,Sq,Sk,D,causal}  in0=Q in1=K in2=V, all [B,H,S,D]; out=O       */
    PB_GATHER,     /* d = {rows_out,cols,rows_in}  in0=table in1=int32 index out     */
    PB_SCATTER /* d = {rows_in,cols,rows_out}  in0=rows in1=int32 index; out[idx[i]] += in0[i] (f32)
                */
};
enum {
    PB_CV_N,
    PB_CV_IC,
    PB_CV_IH,
    PB_CV_IW,
    PB_CV_OC,
    PB_CV_KH,
    PB_CV_KW,
    PB_CV_S,
    PB_CV_P,
    PB_CV_G,
    PB_CV_OH,
    PB_CV_OW
};
enum pb_un {
    PB_RELU,
    PB_SIGMOID,
    PB_TANH,
    PB_EXP,
    PB_LOG,
    PB_SQRT,
    PB_ABS,
    PB_NEG
};
enum pb_dt {
    PB_F64,
    PB_F32,
    PB_BF16, /* bf16 storage, f32 result                                       */
    PB_MIX_BF16,
    PB_MIX_F16, /* f32 storage, A and B rounded to bf16/f16, f32 accumulation      */
    PB_F16
}; /* f16 storage, f32 result                                         */

typedef struct pb_case {
    enum pb_op op;
    enum pb_dt dt;
    long d[16];
    char name[24], shape[72];
    double flops,
        bytes; /* per call: flops==0 means a bandwidth op, rated by bytes (compulsory traffic) */
    void *in[3];
    size_t in_n[3]; /* element counts */
    void *out;      /* f64 for PB_F64, else f32 */
    size_t out_n;
} pb_case;

typedef struct pb_peer {
    const char *name;
    void *(*prep)(const pb_case *, int threads); /* NULL: case not supported */
    int (*run)(void *);   /* one timed call                                        */
    void (*sync)(void *); /* may be NULL: bring the result into case->out (untimed) */
    void (*done)(void *);
} pb_peer;
#endif
