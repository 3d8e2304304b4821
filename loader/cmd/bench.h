/* SPDX-License-Identifier: Apache-2.0 */
/* cb bench: what its files share. bench.c leads; bench_words.c reads ops and keys, bench_list.c
 * has the ops and the standard list, bench_measure.c times, bench_print.c writes. bench_backend.c
 * and bench_blas.c are the two kinds of column; the other bench_*.c know the ops. */
#ifndef BENCH_H
#define BENCH_H

#include "describe.h"
#include "run.h"
#include "suite.h"

/* ---- A case: one op on one shape and one type ---- */

/* The copies, as an op behind the others. */
#define BENCH_COPY CB_OP_COUNT
#define BENCH_OPS  (CB_OP_COUNT + 1)

/* Keys that a word may set. */
enum {
    BENCH_M,
    BENCH_N,
    BENCH_K,
    BENCH_BATCH,
    BENCH_TRANS_A,
    BENCH_TRANS_B,
    BENCH_INPUT,
    BENCH_FILTER,
    BENCH_STRIDE,
    BENCH_PADDING,
    BENCH_DILATION,
    BENCH_GROUPS,
    BENCH_HEADS,
    BENCH_KV_HEADS,
    BENCH_SEQ_Q,
    BENCH_SEQ_KV,
    BENCH_HEAD_DIM,
    BENCH_CAUSAL,
    BENCH_SHAPE,
    BENCH_AXIS,
    BENCH_OP,
    BENCH_ROWS,
    BENCH_COLS,
    BENCH_INDICES,
    BENCH_KEYS,
};

#define BENCH_DTYPE(dtype) (1u << (dtype))
#define BENCH_RANK_MAX     8
#define BENCH_INPUTS_MAX   3
#define BENCH_OPERAND_MAX  (BENCH_INPUTS_MAX + 1)
#define BENCH_TEXT_MAX     160

struct bench_value {
    uint64_t at[BENCH_RANK_MAX];
    uint32_t n;
};

/* An array of the op, here and, while a column uses it, on its device. */
struct operand {
    uint32_t type;       /* CB_F32 and so on */
    uint64_t count;      /* elements */
    uint64_t *address;   /* in the op's arguments: the device address goes there */
    bool on_host;        /* it has no address: its memory is used */
    double scale, shift; /* inputs: values are scale * [-1, 1] + shift */
    void *memory;        /* owned, count elements; of the output: what the last column computed */
};

struct bench_case {
    const struct bench_op *op;
    uint32_t dtype;
    char words[BENCH_TEXT_MAX]; /* the keys that were given, as they were given */
    struct bench_value keys[BENCH_KEYS];

    /* What the op's make fills from the above. */
    struct run call;                            /* op and args; of copies: op */
    uint64_t from, to;                          /* of copies */
    struct operand operands[BENCH_OPERAND_MAX]; /* inputs first, the output last */
    uint32_t n_operands;
    uint64_t *indices;   /* owned; NULL: the op takes none */
    double flops, bytes; /* of one call; flops 0: rated by bytes, of which each counts once */
    double terms;        /* of one element of the output, for the judge */
};

struct bench_op {
    uint32_t code;        /* CB_OP_* or BENCH_COPY */
    uint32_t dtypes;      /* BENCH_DTYPE of those in the standard list */
    const char *defaults; /* words that set each key the op has */
    const char *story;
    const char *const *shapes;          /* the standard list: words, ended by NULL */
    bool (*make)(struct bench_case *c); /* false: it was said what is wrong */
    /* What must be at element i of the output. False: out of memory. */
    bool (*want)(const struct bench_case *c, uint64_t i, struct st_want *want);
};

/* ---- bench_list.c ---- */

const struct bench_op *bench_op_at(uint64_t i); /* NULL beyond the last */
const char *bench_op_name(const struct bench_op *op);

/* ---- bench_words.c ---- */

/* Ops, and what their standard lists are narrowed to. */
struct bench_plan {
    const struct bench_op *ops[BENCH_OPS];
    uint32_t n_ops;
    bool all;                   /* no op was named */
    uint32_t dtypes;            /* BENCH_DTYPE of those that were named; 0: none was */
    char words[BENCH_TEXT_MAX]; /* one shape instead of the standard list; "": none */
};

/* words: OP... KEY=VALUE... False: it was said what is wrong. */
bool bench_plan_read(char *const *words, uint32_t count, struct bench_plan *out);

uint64_t bench_plan_count(const struct bench_plan *plan);

/* Case i of the plan, to be freed with bench_case_free. False: it was said what is wrong. */
bool bench_plan_at(const struct bench_plan *plan, uint64_t i, struct bench_case *out);

/* ---- bench_case.c: helpers of make, and the arrays ---- */

__attribute__((format(printf, 2, 3))) bool bench_refuse(const struct bench_case *c,
                                                        const char *format, ...);

/* Multiplies extents; false: there are too many elements to count. */
bool bench_count(const struct bench_case *c, const uint64_t *extents, uint32_t rank, uint64_t *out);

/* Adds an operand of that shape. The output is added last. */
bool bench_operand(struct bench_case *c, uint32_t type, const uint64_t *extents, uint32_t rank,
                   uint64_t *address);

struct operand *bench_output(struct bench_case *c);

/* Of all operands together. */
double bench_bytes(const struct bench_case *c);

/* The axis that the key names, counted from 0. */
bool bench_axis(const struct bench_case *c, uint64_t *out);

/* Elements from one to the next along an axis of a row-major shape. */
uint64_t bench_step(const uint64_t *shape, uint32_t rank, uint32_t axis);

/* Allocates the operands and fills the inputs, alike in every run. False: it was said. */
bool bench_case_fill(struct bench_case *c);
void bench_case_free(struct bench_case *c);

/* Element i of operand o. */
double bench_element(const struct bench_case *c, uint32_t o, uint64_t i);

/* How far the output is from what is right, as a part of what the contract allows: up to 1 is
 * right. It is sampled where the output is large. Negative: out of memory. */
double bench_judge(const struct bench_case *c);

/* ---- The ops: make and want ---- */

bool bench_make_gemm(struct bench_case *c);
bool bench_want_gemm(const struct bench_case *c, uint64_t i, struct st_want *want);
bool bench_make_conv2d(struct bench_case *c);
bool bench_want_conv2d(const struct bench_case *c, uint64_t i, struct st_want *want);
bool bench_make_attention(struct bench_case *c);
bool bench_want_attention(const struct bench_case *c, uint64_t i, struct st_want *want);
bool bench_make_softmax(struct bench_case *c);
bool bench_want_softmax(const struct bench_case *c, uint64_t i, struct st_want *want);
bool bench_make_reduce(struct bench_case *c);
bool bench_want_reduce(const struct bench_case *c, uint64_t i, struct st_want *want);
bool bench_make_map(struct bench_case *c);
bool bench_want_map(const struct bench_case *c, uint64_t i, struct st_want *want);
bool bench_make_rows(struct bench_case *c);
bool bench_want_rows(const struct bench_case *c, uint64_t i, struct st_want *want);
bool bench_make_copy(struct bench_case *c);
bool bench_want_copy(const struct bench_case *c, uint64_t i, struct st_want *want);

/* bench_copy.c: one call, and what stands for it where ops have a struct. */
cb_status bench_copy(const struct bench_case *c, cb_backend be, cb_error *err);
extern const struct op bench_copy_op;

/* ---- Columns: what is compared ---- */

enum bench_state {
    BENCH_MEASURED,
    BENCH_UNSUPPORTED, /* why says why */
    BENCH_FAILED,
};

struct column;

struct column_kind {
    /* Sets the state to BENCH_MEASURED, or what else it will be. */
    void (*ask)(struct column *col, struct bench_case *c);
    /* Brings the inputs to where it computes. Sets the state when that fails. */
    void (*prepare)(struct column *col, struct bench_case *c);
    /* Computes so many times, and waits for the end. Sets the state when that fails. */
    void (*run)(struct column *col, struct bench_case *c, uint64_t calls);
    /* Copies the output to where the case has it. */
    void (*fetch)(struct column *col, struct bench_case *c);
    /* Frees what prepare made. */
    void (*drop)(struct column *col, struct bench_case *c);
    void (*close)(struct column *col);
};

struct column {
    const char *name; /* as it was given, or the id of the backend that was selected */
    char facts[BENCH_TEXT_MAX];
    const struct column_kind *kind;

    cb_loader *loader; /* of a backend */
    cb_backend be;
    uint64_t addresses[BENCH_OPERAND_MAX];

    void *library; /* of a BLAS */
    void *gemm[2]; /* dgemm_ and sgemm_; NULL: it lacks it */

    /* Of the case in hand. */
    enum bench_state state;
    char why[512];
    uint64_t calls; /* in a repetition */
    uint32_t reps;
    double *times;           /* owned; seconds of a call, by repetition */
    double median, quartile; /* seconds of a call */
    double error;            /* from bench_judge */
};

__attribute__((format(printf, 3, 4))) void column_stop(struct column *col, enum bench_state state,
                                                       const char *format, ...);

/* spec: "ID:KEY=VALUE,KEY=VALUE", kept; NULL: the backend that a program would get. threads: a
 * value for the option of that name, NULL: none. False: it was said why not. */
bool column_open_backend(struct column *col, cb_loader *loader, const char *spec,
                         const char *threads);

/* spec: "blas:PATH", kept. */
bool column_open_peer(struct column *col, const char *spec, const char *threads);

/* Splits "cpu:threads=1,kernels=avx2,opencl" at the commas that begin a backend. Cuts *list; NULL:
 * there is no more. */
char *column_next_spec(char **list);

/* ---- bench_measure.c ---- */

#define COLUMNS_MAX 16
#define REPS_MAX    1000

struct bench {
    struct column columns[COLUMNS_MAX];
    uint32_t n_columns;
    uint32_t reps;
    double min_time;     /* seconds of a repetition, at least */
    const char *threads; /* of every column; NULL: each as it likes */
    bool pause;          /* before each repetition, so that threads of another column fall asleep */
    uint64_t done, cases; /* for progress */
    struct text text;     /* of JSON, which is printed when all is done */
    struct json json;
};

/* Fills each column's part about the case. False: it was said what is wrong. */
bool bench_measure(struct bench *b, struct bench_case *c);

/* ---- bench_print.c ---- */

/* A format: text, CSV or JSON. */
struct bench_printer {
    void (*begin)(struct bench *b);
    void (*one)(struct bench *b, const struct bench_case *c);
    bool (*end)(struct bench *b); /* false: out of memory, nothing was printed */
};

const struct bench_printer *bench_printer_of(const struct arguments *a);

/* One line on stderr, when that is a terminal, in place of the one before; c NULL: none. */
void bench_progress(const struct bench *b, const struct bench_case *c, uint32_t rep);

#endif
