/* SPDX-License-Identifier: Apache-2.0 */
/* cb support: which ops and types a backend serves, by asking it about a small call of each. */
#include "cmd.h"

#include "describe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TYPES_MAX = 5
};

union args {
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
};

/* ---- Valid args of every op; pointers are not looked at ---- */

static const uint64_t shape[2] = { 4, 4 }, indices[1] = { 0 };

static void set_gemm(union args *a, uint32_t type)
{
    a->gemm = (cb_gemm_args){ CB_ARGS(cb_gemm_args), .dtype = type, .m = 4,   .n = 4,  .k = 4,
                              .alpha = 1.0,          .lda = 4,      .ldb = 4, .ldc = 4 };
}

static void set_mixed(union args *a, uint32_t type)
{
    a->mixed = (cb_gemm_mixed_precision_args){ CB_ARGS(cb_gemm_mixed_precision_args),
                                               .precision = type,
                                               .m = 4,
                                               .n = 4,
                                               .k = 4,
                                               .alpha = 1.0,
                                               .lda = 4,
                                               .ldb = 4,
                                               .ldc = 4 };
}

static void set_batched(union args *a, uint32_t type)
{
    a->batched = (cb_batched_gemm_args){ CB_ARGS(cb_batched_gemm_args),
                                         .dtype = type,
                                         .m = 4,
                                         .n = 4,
                                         .k = 4,
                                         .alpha = 1.0,
                                         .lda = 4,
                                         .ldb = 4,
                                         .ldc = 4,
                                         .stride_a = 16,
                                         .stride_b = 16,
                                         .stride_c = 16,
                                         .batch = 2 };
}

static void set_conv2d(union args *a, uint32_t type)
{
    a->conv2d = (cb_conv2d_args){ CB_ARGS(cb_conv2d_args),        .dtype = type,
                                  .input_shape = { 1, 1, 4, 4 },  .filter_shape = { 1, 1, 3, 3 },
                                  .output_shape = { 1, 1, 2, 2 }, .stride = { 1, 1 } };
}

static void set_attention(union args *a, uint32_t type)
{
    a->attention = (cb_attention_args){ CB_ARGS(cb_attention_args),
                                        .dtype = type,
                                        .batch = 1,
                                        .heads = 1,
                                        .seq_q = 4,
                                        .seq_kv = 4,
                                        .head_dim = 4,
                                        .scale = 0.5 };
}

static void set_softmax(union args *a, uint32_t type)
{
    a->softmax = (cb_softmax_args){ CB_ARGS(cb_softmax_args), .dtype = type, .shape = shape,
                                    .rank = 2, .axis = 1 };
}

static void set_reduce(union args *a, uint32_t type)
{
    a->reduce = (cb_reduce_args){ CB_ARGS(cb_reduce_args), .dtype = type, .shape = shape, .rank = 2,
                                  .axis = 1 };
}

static void set_unary(union args *a, uint32_t type)
{
    a->unary = (cb_unary_args){ CB_ARGS(cb_unary_args), .dtype = type, .n = 4 };
}

static void set_binary(union args *a, uint32_t type)
{
    a->binary = (cb_binary_args){ CB_ARGS(cb_binary_args), .dtype = type, .n = 4 };
}

static void set_rows(union args *a, uint32_t size)
{
    a->rows = (cb_rows_args){ CB_ARGS(cb_rows_args), .element_size = size, .rows = 4, .cols = 4,
                              .indices = indices,    .n_indices = 1 };
}

struct type {
    uint32_t code;
    const char *name;
};
static const struct type floats[TYPES_MAX + 1] = {
    { CB_F64, "f64" }, { CB_F32, "f32" }, { CB_BF16, "bf16" }, { CB_F16, "f16" }, { 0, NULL }
};
static const struct type mixed[] = { { CB_MIXED_BF16, "bf16" },
                                     { CB_MIXED_F16, "f16" },
                                     { 0, NULL } };
static const struct type sizes[] = { { 1, "8bit" },  { 2, "16bit" },   { 4, "32bit" },
                                     { 8, "64bit" }, { 16, "128bit" }, { 0, NULL } };

static const struct row {
    void (*set)(union args *a, uint32_t type);
    const struct type *types;
} rows[CB_OP_COUNT] = {
    [CB_OP_GEMM] = { set_gemm, floats },
    [CB_OP_GEMM_MIXED_PRECISION] = { set_mixed, mixed },
    [CB_OP_BATCHED_GEMM] = { set_batched, floats },
    [CB_OP_CONV2D_FORWARD] = { set_conv2d, floats },
    [CB_OP_CONV2D_BACKWARD_DATA] = { set_conv2d, floats },
    [CB_OP_CONV2D_BACKWARD_FILTER] = { set_conv2d, floats },
    [CB_OP_ATTENTION] = { set_attention, floats },
    [CB_OP_SOFTMAX] = { set_softmax, floats },
    [CB_OP_REDUCE] = { set_reduce, floats },
    [CB_OP_UNARY] = { set_unary, floats },
    [CB_OP_BINARY] = { set_binary, floats },
    [CB_OP_GATHER] = { set_rows, sizes },
    [CB_OP_SCATTER] = { set_rows, sizes },
};

/* ---- Asking ---- */

struct backend {
    const char *id;
    char why[sizeof(((cb_error *)0)->msg)]; /* it cannot be asked; "" when it could */
    cb_support answers[CB_OP_COUNT][TYPES_MAX];
};

static void ask(struct backend *b, cb_backend be)
{
    cb_error err;
    cb_error_init(&err);
    for (uint32_t op = 0; op < CB_OP_COUNT; op++) {
        for (uint32_t i = 0; rows[op].types[i].name; i++) {
            union args args;
            cb_support *s = &b->answers[op][i];
            rows[op].set(&args, rows[op].types[i].code);
            cb_support_init(s);
            if (cb_supports(be, op, &args, s, &err) == CB_OK)
                continue;
            s->answer = CB_SUPPORT_NO;
            snprintf(s->reason, sizeof(s->reason), "%.200s", err.msg);
        }
    }
}

static void open_and_ask(cb_loader *loader, struct backend *b)
{
    cb_error err;
    cb_backend be;
    cb_request request;
    cb_error_init(&err);
    cb_request_init(&request);
    request.id = b->id;
    if (cb_loader_select(loader, &request, &be, &err) != CB_OK) {
        snprintf(b->why, sizeof(b->why), "%s", err.msg);
        return;
    }
    ask(b, be);
    cb_loader_release(loader, be, &err);
}

/* ---- Telling ---- */

static void print_cell(const struct backend *b, uint32_t op)
{
    const char *space = "";
    for (uint32_t i = 0; rows[op].types[i].name && !*b->why; i++) {
        const uint32_t answer = b->answers[op][i].answer;
        if (answer == CB_SUPPORT_NO)
            continue;
        printf("%s%s%s", space, rows[op].types[i].name, answer == CB_SUPPORT_SLOW ? " (slow)" : "");
        space = " ";
    }
    if (!*space)
        putchar(*b->why ? '?' : '-');
}

static void print_markdown(const struct backend *backends, uint64_t n)
{
    fputs("| op |", stdout);
    for (uint64_t i = 0; i < n; i++)
        printf(" %s |", backends[i].id);
    fputs("\n| --- |", stdout);
    for (uint64_t i = 0; i < n; i++)
        fputs(" --- |", stdout);
    putchar('\n');
    for (uint32_t op = 0; op < CB_OP_COUNT; op++) {
        printf("| %s |", cb_op_name(op));
        for (uint64_t i = 0; i < n; i++) {
            putchar(' ');
            print_cell(&backends[i], op);
            fputs(" |", stdout);
        }
        putchar('\n');
    }
}

static void add_op(struct json *j, const struct backend *b, uint32_t op)
{
    static const char *const answers[] = { "no", "yes", "slow" };
    cbl_json_open(j, cb_op_name(op), '{');
    for (uint32_t i = 0; rows[op].types[i].name; i++) {
        const cb_support *s = &b->answers[op][i];
        cbl_json_open(j, rows[op].types[i].name, '{');
        cbl_json_string(j, "answer", answers[s->answer <= CB_SUPPORT_SLOW ? s->answer : 0]);
        cbl_json_string(j, "reason", s->reason);
        cbl_json_number(j, "temporary_bytes", s->temporary_bytes, 1);
        cbl_json_close(j, '}');
    }
    cbl_json_close(j, '}');
}

static bool print_json(const struct backend *backends, uint64_t n)
{
    struct text out = { 0 };
    struct json j = { .t = &out };
    cbl_json_begin(&j);
    cbl_json_open(&j, "backends", '[');
    for (uint64_t i = 0; i < n; i++) {
        cbl_json_open(&j, NULL, '{');
        cbl_json_string(&j, "id", backends[i].id);
        cbl_json_string(&j, "reason", backends[i].why);
        cbl_json_open(&j, "ops", '{');
        for (uint32_t op = 0; op < CB_OP_COUNT && !*backends[i].why; op++)
            add_op(&j, &backends[i], op);
        cbl_json_close(&j, '}');
        cbl_json_close(&j, '}');
    }
    cbl_json_close(&j, ']');
    cbl_json_close(&j, '}');
    const bool good = !out.failed;
    if (good)
        puts(cbl_text(&out));
    else
        complain("out of memory");
    cbl_text_free(&out);
    return good;
}

static int ask_all(const struct arguments *a, cb_loader *loader, const char *const *ids, uint64_t n)
{
    int code = n ? EXIT_OK : EXIT_TROUBLE;
    struct backend *backends = calloc(n + 1, sizeof(*backends));
    if (!backends) {
        complain("out of memory");
        return EXIT_TROUBLE;
    }
    for (uint64_t i = 0; i < n; i++) {
        backends[i].id = ids[i];
        open_and_ask(loader, &backends[i]);
        if (*backends[i].why) {
            complain("%s cannot be asked: %s", ids[i], backends[i].why);
            code = EXIT_TROUBLE;
        }
    }
    if (!(a->options & OPTION_JSON))
        print_markdown(backends, n);
    else if (!print_json(backends, n))
        code = EXIT_TROUBLE;
    free(backends);
    return code;
}

int cmd_support(const struct arguments *a)
{
    const char **ids = NULL;
    uint64_t n = 0;
    if ((a->options & OPTION_MATRIX) && (a->options & OPTION_JSON)) {
        complain("--matrix and --json exclude each other");
        return EXIT_USAGE;
    }
    cb_loader *loader = open_loader(a);
    if (!loader)
        return EXIT_TROUBLE;
    int code = chosen_backends(a, loader, &ids, &n);
    if (code == EXIT_OK)
        code = ask_all(a, loader, ids, n);
    free(ids);
    cb_loader_close(loader, NULL);
    return code;
}
