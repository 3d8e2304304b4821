/* SPDX-License-Identifier: Apache-2.0 */
/* From a line of index.txt to calls of the table. */
#include "onnx.h"

#include <stdlib.h>
#include <string.h>

#include "framed.h"

/* A line at work. */
struct run {
    cb_backend be;
    const struct case_line *line;
    uint32_t dtype;
    struct framed in[3], out;
    cb_error err;
};

/* Every call of the table goes through here. */
static void done(struct run *r, cb_status status)
{
    case_skip_if_unsupported(r->line, status, &r->err);
    TEST_OK(status, &r->err);
}

/* ---- The ops ---- */

static void run_gemm(struct run *r)
{
    cb_gemm_args args;
    case_gemm(r->line, &args);
    args.dtype = r->dtype;
    args.a = r->in[0].ptr;
    args.b = r->in[1].ptr;
    args.c = r->out.ptr;
    done(r, cb_gemm(r->be, &args, &r->err));
}

static void run_batched_gemm(struct run *r)
{
    cb_batched_gemm_args args;
    case_batched_gemm(r->line, &args);
    args.dtype = r->dtype;
    args.stride_a = case_u64(r->line, "sa");
    args.stride_b = case_u64(r->line, "sb");
    args.stride_c = case_u64(r->line, "sc");
    args.a = r->in[0].ptr;
    args.b = r->in[1].ptr;
    args.c = r->out.ptr;
    done(r, cb_batched_gemm(r->be, &args, &r->err));
}

/* Reads as many keys as out has room for. */
static void read_keys(const struct case_line *line, const char *const *keys, uint64_t *out,
                      uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        out[i] = case_u64(line, keys[i]);
}

static void read_conv2d(const struct case_line *line, cb_conv2d_args *args)
{
    static const char *const input[] = { "N", "C", "H", "W" };
    static const char *const filter[] = { "K", "C", "fh", "fw" };
    static const char *const output[] = { "N", "K", "oh", "ow" };
    static const char *const stride[] = { "sh", "sw" };
    static const char *const two_pads[] = { "ph", "pw", "ph", "pw" };
    static const char *const four_pads[] = { "pt", "pl", "pb", "pr" };
    static const char *const dilation[] = { "dh", "dw" };
    cb_conv2d_args_init(args);
    read_keys(line, input, args->input_shape, 4);
    read_keys(line, filter, args->filter_shape, 4);
    read_keys(line, output, args->output_shape, 4);
    read_keys(line, stride, args->stride, 2);
    read_keys(line, onnx_is_undivided(line) ? four_pads : two_pads, args->padding, 4);
    if (onnx_is_undivided(line)) {
        read_keys(line, dilation, args->dilation, 2);
        args->groups = case_u64(line, "groups");
        args->filter_shape[1] /= args->groups;
    }
}

static void run_conv2d(struct run *r)
{
    cb_conv2d_args args;
    read_conv2d(r->line, &args);
    args.dtype = r->dtype;
    args.input = r->in[0].ptr;
    args.filter = r->in[1].ptr;
    args.output = r->out.ptr;
    done(r, cb_conv2d_forward(r->be, &args, &r->err));
}

static void run_conv2d_bwd_data(struct run *r)
{
    cb_conv2d_args args;
    read_conv2d(r->line, &args);
    args.dtype = r->dtype;
    args.output = r->in[0].ptr;
    args.filter = r->in[1].ptr;
    args.input = r->out.ptr;
    done(r, cb_conv2d_backward_data(r->be, &args, &r->err));
}

static void run_softmax(struct run *r)
{
    static const char *const keys[] = { "outer", "len", "inner" };
    uint64_t shape[3];
    cb_softmax_args args;
    cb_softmax_args_init(&args);
    read_keys(r->line, keys, shape, 3);
    args.dtype = r->dtype;
    args.shape = shape;
    args.rank = 3;
    args.axis = 1;
    args.input = r->in[0].ptr;
    args.output = r->out.ptr;
    done(r, cb_softmax(r->be, &args, &r->err));
}

static void run_reduce(struct run *r)
{
    uint64_t shape[CB_MAX_RANK];
    cb_reduce_args args;
    cb_reduce_args_init(&args);
    args.dtype = r->dtype;
    args.op = case_reduce_op(r->line, "kind");
    args.rank = case_list(r->line, "shape", shape, CB_MAX_RANK);
    args.shape = shape;
    args.axis = (uint32_t)case_u64(r->line, "axis");
    args.input = r->in[0].ptr;
    args.output = r->out.ptr;
    done(r, cb_reduce(r->be, &args, &r->err));
}

static void run_unary(struct run *r)
{
    cb_unary_args args;
    cb_unary_args_init(&args);
    args.dtype = r->dtype;
    args.op = case_unary_op(r->line, "kind");
    args.n = case_u64(r->line, "n");
    args.input = r->in[0].ptr;
    args.output = r->out.ptr;
    done(r, cb_unary(r->be, &args, &r->err));
}

static void binary(struct run *r, uint32_t op, uint64_t n, uint64_t a, uint64_t b, uint64_t output)
{
    cb_binary_args args;
    cb_binary_args_init(&args);
    args.dtype = r->dtype;
    args.op = op;
    args.n = n;
    args.a = a;
    args.b = b;
    args.output = output;
    done(r, cb_binary(r->be, &args, &r->err));
}

/* Of three operands: op(op(a, b), c), the second time in place. */
static void run_binary(struct run *r)
{
    const uint32_t op = case_binary_op(r->line, "kind");
    const uint64_t n = case_u64(r->line, "n");
    binary(r, op, n, r->in[0].ptr, r->in[1].ptr, r->out.ptr);
    if (case_is(r->line, "nin", "3"))
        binary(r, op, n, r->out.ptr, r->in[2].ptr, r->out.ptr);
}

static void read_rows(const struct run *r, cb_rows_args *args)
{
    const struct case_array indices = case_array(r->line, "idx");
    cb_rows_args_init(args);
    args->element_size = r->out.width;
    args->rows = case_u64(r->line, "rows");
    args->cols = case_u64(r->line, "row_len");
    args->indices = indices.data;
    args->n_indices = case_u64(r->line, "nidx");
    assert_int_equal(args->n_indices, indices.count);
}

/* One call for each block of rows, on interior pointers. */
static void run_gather(struct run *r)
{
    cb_rows_args args;
    read_rows(r, &args);
    const uint64_t outer = case_u64(r->line, "outer");
    const uint64_t row_bytes = args.cols * args.element_size;
    for (uint64_t i = 0; i < outer; i++) {
        args.input = r->in[0].ptr + i * args.rows * row_bytes;
        args.output = r->out.ptr + i * args.n_indices * row_bytes;
        done(r, cb_gather(r->be, &args, &r->err));
    }
}

/* Adds rows to rows: gather, add, scatter. One index at a time, so that an index that occurs twice
 * gets both rows. */
static void scatter_add(struct run *r, cb_rows_args args)
{
    const uint64_t row_bytes = args.cols * args.element_size;
    const uint64_t *indices = args.indices, n = args.n_indices;
    const struct framed sum =
        framed_make(r->be, args.element_size, args.cols, NULL, FRAME_ELEMENTS);
    args.n_indices = 1;
    for (uint64_t i = 0; i < n; i++) {
        args.indices = indices + i;
        args.input = r->out.ptr;
        args.output = sum.ptr;
        done(r, cb_gather(r->be, &args, &r->err));
        binary(r, CB_BINARY_ADD, args.cols, sum.ptr, r->in[0].ptr + i * row_bytes, sum.ptr);
        args.input = sum.ptr;
        args.output = r->out.ptr;
        done(r, cb_scatter(r->be, &args, &r->err));
    }
    framed_free(&sum);
}

static void run_scatter(struct run *r)
{
    cb_rows_args args;
    read_rows(r, &args);
    if (case_is(r->line, "mode", "add")) {
        scatter_add(r, args);
        return;
    }
    assert_true(case_is(r->line, "mode", "assign"));
    args.input = r->in[0].ptr;
    args.output = r->out.ptr;
    done(r, cb_scatter(r->be, &args, &r->err));
}

static const struct op {
    const char *name;
    void (*run)(struct run *r);
    double tolerance;
    const char *inputs[3]; /* uploaded in this order, those that the line has */
    const char *initial;   /* what the output begins as; signalling NaN when the line has none */
} ops[] = {
    { "gemm", run_gemm, 2.6e-6, { "a", "b" }, "c" },
    { "batched_gemm", run_batched_gemm, 2.6e-6, { "a", "b" }, "" },
    { "conv2d", run_conv2d, 5.8e-5, { "x", "w" }, "" },
    { "conv2d_ext", run_conv2d, 5.8e-5, { "x", "w" }, "" },
    { "conv2d_bwd_data", run_conv2d_bwd_data, 5.8e-5, { "dy", "w" }, "" },
    { "conv2d_bwd_data_ext", run_conv2d_bwd_data, 5.8e-5, { "dy", "w" }, "" },
    { "softmax", run_softmax, 2.2e-7, { "x" }, "" },
    { "reduce", run_reduce, 1.3e-7, { "x" }, "" },
    { "unary", run_unary, 1.3e-7, { "x" }, "" },
    { "binary", run_binary, 1.3e-7, { "a", "b", "c" }, "" },
    { "gather", run_gather, 0, { "x" }, "" },
    { "scatter", run_scatter, 1.3e-7, { "upd" }, "x" },
};

static const struct op *find_op(const struct case_line *line)
{
    for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
        if (strcmp(ops[i].name, line->op) == 0)
            return &ops[i];
    case_fail(line, "no such op");
}

int onnx_is_undivided(const struct case_line *line)
{
    const size_t length = strlen(line->op);
    return length > 4 && strcmp(line->op + length - 4, "_ext") == 0;
}

double onnx_tolerance(const struct case_line *line)
{
    static const char *const exact[] = { "relu", "abs", "neg", "max", "min" };
    for (size_t i = 0; i < sizeof(exact) / sizeof(exact[0]); i++)
        if (case_is(line, "kind", exact[i]))
            return 0;
    return case_is(line, "mode", "assign") ? 0 : find_op(line)->tolerance;
}

/* ---- What the converter left to the host ---- */

static int is_backward(const struct case_line *line)
{
    return strncmp(line->op, "conv2d_bwd", 10) == 0;
}

/* Elements of the op's output; more than y has when y is a window of it. */
static uint64_t output_count(const struct case_line *line)
{
    if (!is_backward(line))
        return case_array(line, "y").count;
    return case_u64(line, "N") * case_u64(line, "C") * case_u64(line, "H") * case_u64(line, "W");
}

static void add_bias(const struct case_line *line, float *out, uint64_t count)
{
    const struct case_array bias = case_array_if_any(line, "bias");
    if (!bias.data)
        return;
    const uint64_t plane = is_backward(line) ? case_u64(line, "H") * case_u64(line, "W")
                                             : case_u64(line, "oh") * case_u64(line, "ow");
    assert_int_equal(bias.count, case_u64(line, is_backward(line) ? "C" : "K"));
    for (uint64_t i = 0; i < count; i++)
        out[i] += ((const float *)bias.data)[i / plane % bias.count];
}

/* Moves the window that y has to the front, in place: nothing moves backwards. */
static void crop(const struct case_line *line, float *out)
{
    uint64_t window[4]; /* top, left, height, width */
    if (!case_find(line, "crop"))
        return;
    assert_int_equal(case_list(line, "crop", window, 4), 4);
    const uint64_t height = case_u64(line, "H"), width = case_u64(line, "W");
    const uint64_t planes = case_u64(line, "N") * case_u64(line, "C");
    assert_true(window[0] + window[2] <= height && window[1] + window[3] <= width);
    assert_int_equal(planes * window[2] * window[3], case_array(line, "y").count);
    for (uint64_t p = 0; p < planes; p++)
        for (uint64_t i = 0; i < window[2]; i++)
            memmove(out + (p * window[2] + i) * window[3],
                    out + (p * height + window[0] + i) * width + window[1],
                    window[3] * sizeof(*out));
}

void *onnx_run(cb_backend be, const struct case_line *line)
{
    const struct op *op = find_op(line);
    struct run r = { .be = be, .line = line, .err = test_error() };
    struct case_array in[3] = { { CASE_NONE, 0, 0, NULL } };
    const struct case_array y = case_array(line, "y");
    const struct case_array start = case_array_if_any(line, op->initial);
    const uint64_t count = output_count(line);
    assert_true(!start.data || start.count == count);
    r.dtype = y.type == CASE_F64 ? CB_F64 : y.type == CASE_F16 ? CB_F16 : CB_F32;
    uint32_t n = 0;
    for (; n < 3 && op->inputs[n] && case_find(line, op->inputs[n]); n++) {
        in[n] = case_array(line, op->inputs[n]);
        r.in[n] = framed_make(be, in[n].width, in[n].count, in[n].data, FRAME_ELEMENTS);
    }
    r.out = framed_make(be, y.width, count, start.data, FRAME_ELEMENTS);

    op->run(&r);

    void *got = malloc(count * y.width + 1);
    assert_non_null(got);
    framed_read(&r.out, got);
    if (y.type == CASE_F32) {
        add_bias(line, got, count);
        crop(line, got);
    }
    for (uint32_t i = 0; i < n; i++) {
        framed_assert_unchanged(&r.in[i], in[i].data);
        framed_free(&r.in[i]);
    }
    framed_free(&r.out);
    return got;
}
