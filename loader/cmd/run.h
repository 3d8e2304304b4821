/* SPDX-License-Identifier: Apache-2.0 */
/* cb run: what its files share. run.c leads, run_words.c reads the command line, array.c reads
 * files and save.c writes them; the other run_*.c know the ops. */
#ifndef RUN_H
#define RUN_H

#include "cmd.h"
#include "npy.h"

/* ---- array.c, save.c: .npy files. What fails is said on stderr. ---- */

struct array {
    const char *path;  /* for messages */
    struct npy npy;    /* offset apart, what memory holds */
    void *memory;      /* owned; NULL: none yet */
    uint8_t *elements; /* in memory, npy.bytes of them */
    uint64_t *address; /* in the op's arguments: receives the device address; NULL: stays here */
};

/* path: a file, or "-" for standard input. On success the array ends with array_free. */
bool array_read(const char *path, struct array *out);
bool array_allocate(struct array *a);
void array_free(struct array *a);

/* Turns the elements into the order that is wanted. */
bool array_lay_out(struct array *a, bool fortran);

/* Writes all or nothing: a file that is there stays as it was until the new one is whole. "-" is
 * standard output; a pipe or a device is written to directly. */
bool array_save(const struct array *a, const char *path);

/* ---- run_words.c: op, keys and files of the command line ---- */

#define KEY_ALPHA        (1u << 0)
#define KEY_BETA         (1u << 1)
#define KEY_TRANS_A      (1u << 2)
#define KEY_TRANS_B      (1u << 3)
#define KEY_PRECISION    (1u << 4)
#define KEY_STRIDE       (1u << 5)
#define KEY_PADDING      (1u << 6)
#define KEY_DILATION     (1u << 7)
#define KEY_GROUPS       (1u << 8)
#define KEY_INPUT_SHAPE  (1u << 9)
#define KEY_FILTER_SHAPE (1u << 10)
#define KEY_SCALE        (1u << 11)
#define KEY_CAUSAL       (1u << 12)
#define KEY_AXIS         (1u << 13)
#define KEY_OP           (1u << 14)

/* The values of keys; those not given have the defaults that its help tells. */
struct keys {
    uint32_t given; /* KEY_* */
    double alpha, beta, scale;
    uint64_t trans_a, trans_b, causal;
    uint64_t stride[2], padding[4], dilation[2], groups;
    uint64_t input_shape[4], filter_shape[4];
    int64_t axis;
    uint64_t op, precision; /* a position in struct op's names */
};

#define INPUTS_MAX 3

struct run;

struct op {
    uint32_t code;            /* CB_OP_* */
    uint32_t least, most;     /* input files */
    const char *files;        /* their names, for people */
    const char *story;        /* one line */
    uint32_t keys, needed;    /* KEY_* that it takes, and of those the ones it cannot do without */
    const char *const *names; /* what KEY_OP or KEY_PRECISION may be, in the order of the codes */
    uint64_t n_names;
    bool (*prepare)(struct run *run);
};

struct run {
    const struct op *op;
    struct keys keys;
    const char *paths[INPUTS_MAX];
    struct array in[INPUTS_MAX];
    uint32_t n_in;
    struct array out; /* with memory: what is in it before the op, else zeroes are */
    union {
        cb_gemm_args gemm;
        cb_gemm_mixed_precision_args mixed;
        cb_batched_gemm_args batched;
        cb_conv2d_args conv2d;
        cb_attention_args attention;
        cb_softmax_args softmax;
        cb_reduce_args reduce;
        cb_unary_args unary;
        cb_binary_args binary;
        cb_rows_args rows;
    } args;
};

/* Fills op, keys and paths. False: it was said what is wrong. */
bool words_read(char *const *words, uint32_t count, struct run *out);

/* Prints the names of the keys of an op, in one line; and all keys, a line each. */
void keys_of_op_help(const struct op *op);
void keys_help(void);

/* ---- run_ops.c: the table of ops ---- */

/* NULL: the nearest was named. */
const struct op *op_find(const char *name);

/* The slot of the op, on filled arguments. */
cb_status op_call(struct run *run, cb_backend be, cb_error *err);

/* ---- run_check.c: rules about arrays; when one is broken, it says so ---- */

__attribute__((format(printf, 3, 4))) bool refuse(const struct run *run, const struct array *a,
                                                  const char *format, ...);
bool has_rank(const struct run *run, const struct array *a, uint32_t rank);
bool has_floats(const struct run *run, const struct array *a);
bool has_type(const struct run *run, const struct array *a, uint32_t type);

/* Whether axis i of a is as long as axis j of b. */
bool fits(const struct run *run, const struct array *a, uint32_t i, const struct array *b,
          uint32_t j);
bool same_shape(const struct run *run, const struct array *a, const struct array *b);

/* The CB_* code of a type of floating point numbers. */
uint32_t dtype_of(const struct array *a);

/* What will be written: run->out gets its type and shape, and an address in the arguments. */
bool make_output(struct run *run, uint32_t type, uint32_t rank, const uint64_t *shape, bool fortran,
                 uint64_t *address);

/* As above, with the elements of an input, which the op then partly overwrites or adds to. */
void make_output_of(struct run *run, struct array *in, uint64_t *address);

/* ---- run_gemm.c, run_conv2d.c, run_rows.c, run_map.c: prepare ---- *
 *
 * Each checks the arrays against each other, lays them out, fills the arguments but for addresses,
 * and describes the output. The op's own rules are left to the backend. */
bool prepare_gemm(struct run *run);
bool prepare_gemm_mixed_precision(struct run *run);
bool prepare_batched_gemm(struct run *run);
bool prepare_conv2d_forward(struct run *run);
bool prepare_conv2d_backward_data(struct run *run);
bool prepare_conv2d_backward_filter(struct run *run);
bool prepare_attention(struct run *run);
bool prepare_softmax(struct run *run);
bool prepare_reduce(struct run *run);
bool prepare_unary(struct run *run);
bool prepare_binary(struct run *run);
bool prepare_gather(struct run *run);
bool prepare_scatter(struct run *run);

#endif
