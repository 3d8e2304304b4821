/* SPDX-License-Identifier: Apache-2.0 */
#include "judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sums, sums of sizes and counts of terms, for each element of the written tensor. */
struct sums {
    double *sum, *size;
    uint64_t *terms;
};

static uint64_t count(const uint64_t shape[4])
{
    return shape[0] * shape[1] * shape[2] * shape[3];
}

static uint64_t index4(const uint64_t shape[4], uint64_t i, uint64_t j, uint64_t k, uint64_t l)
{
    return ((i * shape[1] + j) * shape[2] + k) * shape[3] + l;
}

/* One product: of the two tensors that the op reads, for the element of the third. */
static void add_term(uint32_t op, struct sums *out, const uint64_t at[3], float *const data[3])
{
    const int target = op == CB_OP_CONV2D_FORWARD ? 2 : op == CB_OP_CONV2D_BACKWARD_DATA ? 0 : 1;
    const int x = target == 0 ? 1 : 0, y = target == 2 ? 1 : 2;
    const double product = (double)data[x][at[x]] * data[y][at[y]];
    out->sum[at[target]] += product;
    out->size[at[target]] += fabs(product);
    out->terms[at[target]]++;
}

/* The terms of one element of the output: all filter taps that meet the input. */
static void add_taps(uint32_t op, const cb_conv2d_args *a, struct sums *out, const uint64_t o[4],
                     float *const data[3])
{
    const uint64_t groups = a->groups ? a->groups : 1, c_group = a->filter_shape[1];
    const uint64_t first = o[1] / (a->filter_shape[0] / groups) * c_group;
    const uint64_t dh = a->dilation[0] ? a->dilation[0] : 1;
    const uint64_t dw = a->dilation[1] ? a->dilation[1] : 1;
    for (uint64_t c = 0; c < c_group; c++)
        for (uint64_t r = 0; r < a->filter_shape[2]; r++)
            for (uint64_t s = 0; s < a->filter_shape[3]; s++) {
                const uint64_t h = o[2] * a->stride[0] + r * dh - a->padding[0];
                const uint64_t w = o[3] * a->stride[1] + s * dw - a->padding[1];
                if (h >= a->input_shape[2] || w >= a->input_shape[3])
                    continue;
                const uint64_t at[3] = {
                    index4(a->input_shape, o[0], first + c, h, w),
                    index4(a->filter_shape, o[1], c, r, s),
                    index4(a->output_shape, o[0], o[1], o[2], o[3]),
                };
                add_term(op, out, at, data);
            }
}

static void add_all(uint32_t op, const cb_conv2d_args *a, struct sums *out, float *const data[3])
{
    const uint64_t *s = a->output_shape;
    uint64_t o[4];
    for (o[0] = 0; o[0] < s[0]; o[0]++)
        for (o[1] = 0; o[1] < s[1]; o[1]++)
            for (o[2] = 0; o[2] < s[2]; o[2]++)
                for (o[3] = 0; o[3] < s[3]; o[3]++)
                    add_taps(op, a, out, o, data);
}

static void judge(uint32_t op, uint64_t n, const float *got, const struct sums *want)
{
    for (uint64_t i = 0; i < n; i++) {
        const double bound = (want->terms[i] + 1) * 0x1p-24 * want->size[i] +
                             (want->terms[i] + 4) * kit_ulp(CB_F32, 0);
        if (!(fabs(got[i] - want->sum[i]) <= bound))
            fail_msg("%s: element %u is %.9g, not %.9g within %g", cb_op_name(op), (unsigned)i,
                     got[i], want->sum[i], bound);
    }
}

void check_conv2d(cb_backend be, uint32_t op, const cb_conv2d_args *args)
{
    const int target = op == CB_OP_CONV2D_FORWARD ? 2 : op == CB_OP_CONV2D_BACKWARD_DATA ? 0 : 1;
    const uint64_t n[3] = { count(args->input_shape), count(args->filter_shape),
                            count(args->output_shape) };
    struct kit_call call = { .op = op, .args.conv = *args };
    uint64_t *const pointers[3] = { &call.args.conv.input, &call.args.conv.filter,
                                    &call.args.conv.output };
    float *data[3];
    cb_error err = test_error();
    for (int i = 0; i < 3; i++) {
        data[i] = malloc(n[i] * sizeof(float) + 1);
        assert_non_null(data[i]);
        if (i == target)
            memset(data[i], FILL_BYTE, n[i] * sizeof(float));
        else
            kit_random(CB_F32, data[i], n[i], 1, (uint64_t)i);
        *pointers[i] = test_upload(be, data[i], n[i] * sizeof(float));
    }
    TEST_OK(kit_run(be, &call, &err), &err);
    test_download(be, data[target], *pointers[target], n[target] * sizeof(float));

    struct sums want = { calloc(n[target] + 1, sizeof(double)),
                         calloc(n[target] + 1, sizeof(double)),
                         calloc(n[target] + 1, sizeof(uint64_t)) };
    assert_true(want.sum && want.size && want.terms);
    add_all(op, args, &want, data);
    judge(op, n[target], data[target], &want);
    free(want.sum);
    free(want.size);
    free(want.terms);
    for (int i = 0; i < 3; i++) {
        free(data[i]);
        TEST_OK(cb_free(be, *pointers[i], &err), &err);
    }
}
