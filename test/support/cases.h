/* SPDX-License-Identifier: Apache-2.0 */
/* Stored test cases: a text file of case lines and a binary file with their arrays. A line is
 *
 *     NAME OP [DTYPE] key=value ... array=[TYPE:]OFFSET:COUNT ...
 *
 * Lines that start with # are comments. OFFSET is in bytes from the start of the binary file and
 * COUNT in elements; an array without a TYPE has the line's DTYPE, but idx is u64. Arrays are
 * little-endian, so a runner skips on big-endian machines. Functions that take a line fail the
 * running cmocka test when the line does not say what they ask for. */
#ifndef TEST_SUPPORT_CASES_H
#define TEST_SUPPORT_CASES_H

#include "backend.h"

#define CASE_TOKENS_MAX 40

enum case_type {
    CASE_NONE,
    CASE_F32,
    CASE_F64,
    CASE_F16,
    CASE_U16,
    CASE_U32,
    CASE_U64
};

/* An array of a case; data belongs to the case file, and is NULL when the case has no such. */
struct case_array {
    enum case_type type;
    uint32_t width; /* bytes of an element */
    uint64_t count;
    const void *data;
};

struct case_line {
    const struct case_file *file;
    const char *name, *op;
    const char *dtype; /* NULL when the line has none */
    uint32_t n_tokens;
    struct {
        const char *key, *value;
    } tokens[CASE_TOKENS_MAX];
};

struct case_file {
    char *text;
    unsigned char *data;
    uint64_t data_bytes;
    struct case_line *lines;
    uint64_t count;
};

/* Reads both files. Returns 0, else -1 after a message on stderr; *file is then empty. */
int cases_load(struct case_file *file, const char *text_path, const char *data_path);
void cases_unload(struct case_file *file);

/* Prints "NAME: ..." and fails the running test. */
void case_fail(const struct case_line *line, const char *format, ...)
    __attribute__((format(printf, 2, 3), noreturn));

/* The value of a key, NULL when the line does not have it. */
const char *case_find(const struct case_line *line, const char *key);
/* Whether the line has the key with this very value. */
int case_is(const struct case_line *line, const char *key, const char *value);
const char *case_text(const struct case_line *line, const char *key);
uint64_t case_u64(const struct case_line *line, const char *key);
double case_f64(const struct case_line *line, const char *key);
/* Fills out with a comma-separated list ("-" is empty) and returns its length, at most max. */
uint32_t case_list(const struct case_line *line, const char *key, uint64_t *out, uint32_t max);
/* An array that the line must have, or may have. */
struct case_array case_array(const struct case_line *line, const char *key);
struct case_array case_array_if_any(const struct case_line *line, const char *key);

/* Element i of data, which is laid out like the array; f32 and f64 only. */
double case_element(const struct case_array *like, const void *data, uint64_t i);

/* Fails the running test unless every element of got has the bits of want, is a NaN like it, or
 * lies within bound[i] of ref[i]. ref NULL: of want; bound NULL: bits only. what: for messages. */
void case_judge(const struct case_line *line, const char *what, const struct case_array *want,
                const double *ref, const double *bound, const void *got);

/* ---- From keys to argument structs; device pointers, dtype and stream stay 0 ---- */

/* The position of the key's value among the names, which is the code that the ABI gives it. */
uint32_t case_unary_op(const struct case_line *line, const char *key);
uint32_t case_binary_op(const struct case_line *line, const char *key);
uint32_t case_reduce_op(const struct case_line *line, const char *key);

/* Transposes, extents, scalars and leading dimensions. A plain gemm is a batch of 1; the strides
 * between matrices have other keys in each case file, and stay 0 too. */
void case_gemm(const struct case_line *line, cb_gemm_args *args);
void case_gemm_mixed(const struct case_line *line, cb_gemm_mixed_precision_args *args);
void case_batched_gemm(const struct case_line *line, cb_batched_gemm_args *args);

/* Ends the running test as skipped when a backend that the environment chose lacks the op. */
void case_skip_if_unsupported(const struct case_line *line, cb_status status, const cb_error *err);

#endif
