/* SPDX-License-Identifier: Apache-2.0 */
/* The three convolutions. One walk over all terms of the sum serves them: it says which element of
 * each tensor a term touches, and the op says which of the three is summed into. */
#include "suite.h"

#include <stdlib.h>
#include <string.h>

static const char sum_rule[] = "conv2d: (n + 1) u sum |xw| over the n terms of an element";
static const char empty_rule[] = "an empty sum is 0 and is written";
static const char adjoint_rule[] =
    "<conv(x, w), dy> = <x, backward_data(dy, w)> = <w, backward_filter(x, dy)>";

enum {
    INPUT,
    FILTER,
    OUTPUT
};

enum values {
    UNIFORM,
    WHOLE,     /* small whole numbers, so that every sum is exact */
    SPRINKLED, /* with infinities and zeroes that meet */
};

struct geometry {
    uint64_t n, c, h, w; /* input */
    uint64_t k, r, s;    /* filters */
    uint64_t stride[2], padding[4], dilation[2], groups;
};

struct conv {
    struct geometry g;
    uint32_t op, values;
    uint32_t overlap; /* what is written begins OVERLAP elements into an input */
    const struct st_variant *variant;
};

#define OVERLAP 3

/* Where the three tensors are. */
struct tensors {
    uint64_t shape[3][4];
    struct st_buffer *buffer[3];
    uint64_t at[3];
};

static const uint32_t ops[3] = { CB_OP_CONV2D_BACKWARD_DATA, CB_OP_CONV2D_BACKWARD_FILTER,
                                 CB_OP_CONV2D_FORWARD };

/* Which tensor the op writes. */
static int target_of(const struct conv *v)
{
    return v->op == ops[INPUT] ? INPUT : v->op == ops[FILTER] ? FILTER : OUTPUT;
}

static uint64_t or_one(uint64_t x)
{
    return x ? x : 1;
}

/* Rows (0) or columns (1) of the output. */
static uint64_t extent(const struct conv *v, int axis)
{
    const uint64_t in = (axis ? v->g.w : v->g.h) + v->g.padding[axis] + v->g.padding[axis + 2];
    const uint64_t reach = or_one(v->g.dilation[axis]) * ((axis ? v->g.s : v->g.r) - 1) + 1;
    return (in - reach) / v->g.stride[axis] + 1;
}

static void shapes(const struct conv *v, uint64_t shape[3][4])
{
    const uint64_t all[3][4] = {
        { v->g.n, v->g.c, v->g.h, v->g.w },
        { v->g.k, v->g.c / or_one(v->g.groups), v->g.r, v->g.s },
        { v->g.n, v->g.k, extent(v, 0), extent(v, 1) },
    };
    memcpy(shape, all, sizeof(all));
}

static uint64_t size_of(const uint64_t shape[4])
{
    return shape[0] * shape[1] * shape[2] * shape[3];
}

static uint64_t index_of(const uint64_t shape[4], uint64_t i, uint64_t j, uint64_t k, uint64_t l)
{
    return ((i * shape[1] + j) * shape[2] + k) * shape[3] + l;
}

/* Adds the terms of one output element to the sums that the op makes. */
static void walk_element(const struct conv *v, const struct tensors *t, const uint64_t o[4],
                         struct st_sum *sums)
{
    const int target = target_of(v), left = target == INPUT ? FILTER : INPUT,
              right = target == OUTPUT ? FILTER : OUTPUT;
    const uint64_t channels = t->shape[FILTER][1];
    const uint64_t group = o[1] / (v->g.k / or_one(v->g.groups));
    for (uint64_t i = 0; i < channels * v->g.r * v->g.s; i++) {
        const uint64_t c = i / (v->g.r * v->g.s), r = i / v->g.s % v->g.r, s = i % v->g.s;
        const uint64_t row = o[2] * v->g.stride[0] + r * or_one(v->g.dilation[0]) - v->g.padding[0];
        const uint64_t col = o[3] * v->g.stride[1] + s * or_one(v->g.dilation[1]) - v->g.padding[1];
        if (row >= v->g.h || col >= v->g.w) /* in the padding; above and left of it wraps around */
            continue;
        const uint64_t at[3] = {
            index_of(t->shape[INPUT], o[0], group * channels + c, row, col),
            index_of(t->shape[FILTER], o[1], c, r, s),
            index_of(t->shape[OUTPUT], o[0], o[1], o[2], o[3]),
        };
        st_sum_add(&sums[at[target]], t->buffer[left]->x[t->at[left] + at[left]],
                   t->buffer[right]->x[t->at[right] + at[right]]);
    }
}

static void want_all(struct st_run *run, const struct conv *v, const struct tensors *t)
{
    const int target = target_of(v);
    struct st_buffer *out = t->buffer[target];
    const uint64_t n = size_of(t->shape[target]), *s = t->shape[OUTPUT];
    struct st_sum *sums = st_host(run, n, sizeof(*sums));
    if (!sums)
        return;
    for (uint64_t i = 0; i < n; i++)
        sums[i] = st_sum_of(CB_F32);
    for (uint64_t i = 0; i < size_of(s); i++) {
        const uint64_t o[4] = { i / (s[1] * s[2] * s[3]), i / (s[2] * s[3]) % s[1], i / s[3] % s[2],
                                i % s[3] };
        walk_element(v, t, o, sums);
    }
    for (uint64_t i = 0; i < n; i++) {
        const double terms = (double)sums[i].terms;
        const double bound = (terms + 1.0) * st_unit(CB_F32) * sums[i].magnitude;
        run->rule = sums[i].terms ? sum_rule : empty_rule;
        if (sums[i].terms)
            st_want_near(run, out, t->at[target] + i, st_sum_value(&sums[i]),
                         st_bound(CB_F32, bound, terms, 0.0));
        else
            st_want_exact(run, out, t->at[target] + i, 0.0);
    }
    free(sums);
}

static void fill(struct st_run *run, const struct conv *v, struct st_buffer *b, int tensor)
{
    for (uint64_t i = 0; i < b->count; i++) {
        double x = st_uniform(&run->random);
        if (v->values == WHOLE)
            x = nearbyint(x * 4.0);
        if (v->values == SPRINKLED && i % 5 == 0)
            x = tensor == INPUT ? INFINITY : 0.0;
        if (v->values == SPRINKLED && tensor == FILTER && i % 7 == 3)
            x = -INFINITY;
        st_set(b, i, x);
    }
}

static bool make_buffers(struct st_run *run, const struct conv *v, struct tensors *t)
{
    static const char *const names[3] = { "input", "filter", "output" };
    const int target = target_of(v), host = target == INPUT ? OUTPUT : INPUT;
    shapes(v, t->shape);
    for (int i = 0; i < 3; i++) {
        const bool shared = v->overlap && i == host;
        t->at[i] = v->overlap && i == target ? OVERLAP : 0;
        if (v->overlap && i == target)
            continue;
        const uint64_t more = shared ? OVERLAP + size_of(t->shape[target]) : 0;
        t->buffer[i] =
            st_buffer(run, names[i], CB_F32, size_of(t->shape[i]) + more, shared || i == target);
        if (!t->buffer[i])
            return false;
        if (i != target)
            fill(run, v, t->buffer[i], i);
    }
    if (v->overlap)
        t->buffer[target] = t->buffer[host];
    return true;
}

static void call(struct st_run *run, const struct conv *v, const struct tensors *t)
{
    static const struct {
        const char *name;
        uint64_t field;
    } operands[3] = {
        { "input", offsetof(cb_conv2d_args, input) },
        { "filter", offsetof(cb_conv2d_args, filter) },
        { "output", offsetof(cb_conv2d_args, output) },
    };
    cb_conv2d_args args;
    cb_conv2d_args_init(&args);
    args.dtype = CB_F32;
    memcpy(args.input_shape, t->shape[INPUT], sizeof(args.input_shape));
    memcpy(args.filter_shape, t->shape[FILTER], sizeof(args.filter_shape));
    memcpy(args.output_shape, t->shape[OUTPUT], sizeof(args.output_shape));
    memcpy(args.stride, v->g.stride, sizeof(args.stride));
    memcpy(args.padding, v->g.padding, sizeof(args.padding));
    memcpy(args.dilation, v->g.dilation, sizeof(args.dilation));
    args.groups = v->g.groups;
    const uint64_t work = size_of(t->shape[target_of(v)]);
    for (int i = 0; i < 3; i++)
        st_operand(run, operands[i].name, operands[i].field, t->buffer[i], t->at[i],
                   work ? size_of(t->shape[i]) : 0);
    st_call(run, v->op, &args, v->variant);
}

static bool begin(struct st_run *run, const struct conv *v, const char *name)
{
    static const char *const values[] = { "", ",whole", ",sprinkled" };
    return st_begin(run,
                    "%s:f32,n=%" PRIu64 ",c=%" PRIu64 ",h=%" PRIu64 ",w=%" PRIu64 ",k=%" PRIu64
                    ",r=%" PRIu64 ",s=%" PRIu64 ",stride=%" PRIu64 "x%" PRIu64 ",pad=%" PRIu64
                    "x%" PRIu64 "x%" PRIu64 "x%" PRIu64 ",dilation=%" PRIu64 "x%" PRIu64
                    ",groups=%" PRIu64 "%s%s%s%s",
                    name, v->g.n, v->g.c, v->g.h, v->g.w, v->g.k, v->g.r, v->g.s, v->g.stride[0],
                    v->g.stride[1], v->g.padding[0], v->g.padding[1], v->g.padding[2],
                    v->g.padding[3], v->g.dilation[0], v->g.dilation[1], v->g.groups,
                    values[v->values], v->overlap ? ",overlap" : "", ST_VARIANT(v->variant));
}

static void run_conv(struct st_run *run, const struct conv *v)
{
    if (!begin(run, v, cb_op_name(v->op)))
        return;
    struct tensors t = { 0 };
    if (make_buffers(run, v, &t)) {
        want_all(run, v, &t);
        call(run, v, &t);
    }
    st_end(run);
}

static const struct geometry geometries[] = {
    { 1, 1, 1, 1, 1, 1, 1, { 1, 1 }, { 0 }, { 0 }, 0 },
    { 2, 3, 8, 9, 4, 3, 3, { 1, 1 }, { 1, 1, 1, 1 }, { 1, 1 }, 1 },
    { 1, 2, 7, 5, 3, 3, 2, { 2, 1 }, { 0, 1, 0, 1 }, { 1, 1 }, 1 },
    { 1, 2, 5, 8, 2, 2, 3, { 1, 3 }, { 2, 0, 1, 3 }, { 0, 0 }, 0 },
    { 2, 4, 9, 8, 6, 3, 2, { 2, 2 }, { 1, 0, 2, 1 }, { 2, 3 }, 2 },
    { 1, 6, 6, 7, 6, 3, 3, { 1, 2 }, { 1, 1, 1, 1 }, { 1, 2 }, 6 },
    { 1, 3, 6, 6, 9, 2, 2, { 1, 1 }, { 0 }, { 1, 1 }, 3 },
    { 1, 1, 6, 6, 1, 3, 3, { 2, 2 }, { 0 }, { 1, 1 }, 1 },
    { 3, 2, 1, 17, 2, 1, 5, { 1, 1 }, { 0, 2, 0, 2 }, { 1, 1 }, 1 },
    { 1, 2, 33, 3, 2, 5, 1, { 1, 1 }, { 2, 0, 2, 0 }, { 1, 1 }, 1 },
    { 1, 17, 4, 4, 16, 1, 1, { 1, 1 }, { 0 }, { 1, 1 }, 1 },
    { 1, 1, 5, 5, 1, 5, 5, { 1, 1 }, { 0 }, { 1, 1 }, 1 },
    { 1, 1, 2, 2, 1, 3, 3, { 5, 5 }, { 4, 4, 4, 4 }, { 1, 1 }, 1 },
    { 1, 2, 4, 4, 2, 2, 2, { 3, 3 }, { 0, 0, 0, 0 }, { 2, 2 }, 1 },
    { 2, 3, 16, 15, 5, 3, 3, { 1, 1 }, { 1, 1, 1, 1 }, { 1, 1 }, 1 },
    { 0, 3, 4, 4, 2, 3, 3, { 1, 1 }, { 1, 1, 1, 1 }, { 1, 1 }, 1 },
    { 2, 0, 4, 4, 2, 3, 3, { 1, 1 }, { 1, 1, 1, 1 }, { 1, 1 }, 1 },
    { 2, 3, 4, 4, 0, 3, 3, { 1, 1 }, { 1, 1, 1, 1 }, { 1, 1 }, 1 },
    { 1, 2, 0, 4, 2, 1, 2, { 1, 1 }, { 1, 1, 0, 1 }, { 1, 1 }, 1 },
};

static void grid(struct st_run *run, uint32_t op)
{
    for (size_t i = 0; i < ST_COUNT(geometries); i++) {
        struct conv v = { .g = geometries[i], .op = op };
        run_conv(run, &v);
        v.overlap = 1;
        run_conv(run, &v);
        v.overlap = 0;
        v.values = SPRINKLED;
        run_conv(run, &v);
    }
    /* Every small input with every small filter, stride and padding. */
    const uint64_t most = st_full(run) ? 9 : 4;
    for (uint64_t i = 0; i < most * most * 18; i++) {
        struct conv v = {
            .op = op,
            .g = { 1, 2, 1 + i % most, 1 + i / most % most, 2, 1, 1, { 1, 1 }, { 0 }, { 1, 1 }, 1 }
        };
        const uint64_t j = i / most / most;
        v.g.r = 1 + j % 3;
        v.g.s = 1 + (j + 1) % 3;
        v.g.stride[0] = 1 + j / 3 % 2;
        v.g.stride[1] = 1 + (j / 3 + 1) % 3;
        for (int side = 0; side < 4; side++)
            v.g.padding[side] = (j / 6 + (uint64_t)side) % 3;
        if (v.g.h + v.g.padding[0] + v.g.padding[2] >= v.g.r &&
            v.g.w + v.g.padding[1] + v.g.padding[3] >= v.g.s)
            run_conv(run, &v);
    }
}

/* The inner product of what came back in one tensor with what another holds. */
static double product(const struct st_buffer *written, const double *with)
{
    double sum = 0.0;
    for (uint64_t i = 0; i < written->count; i++)
        sum += with[i] * st_decode(CB_F32, written->after + (written->lead + i) * written->element);
    return sum;
}

/* Runs one of the three with the given tensors, and sets the inner product of the result with the
 * tensor that it takes the place of. */
static bool run_inner(struct st_run *run, const struct conv *v, double *const values[3],
                      double *inner)
{
    struct tensors t = { 0 };
    const int target = target_of(v);
    run->n_operands = 0;
    if (!make_buffers(run, v, &t))
        return false;
    for (int i = 0; i < 3; i++) {
        for (uint64_t j = 0; i != target && j < t.buffer[i]->count; j++)
            st_set(t.buffer[i], j, values[i][j]);
    }
    want_all(run, v, &t);
    call(run, v, &t);
    if (run->outcome == CB_SELFTEST_PASSED)
        *inner = product(t.buffer[target], values[target]);
    st_buffers_free(run);
    return run->outcome == CB_SELFTEST_PASSED;
}

static void run_adjoint(struct st_run *run, struct conv v)
{
    uint64_t shape[3][4];
    double *values[3] = { NULL }, inner[3] = { 0.0 };
    if (!begin(run, &v, "conv2d_adjoint"))
        return;
    shapes(&v, shape);
    for (int i = 0; i < 3; i++) {
        const uint64_t count = size_of(shape[i]);
        values[i] = st_host(run, count, sizeof(double));
        if (!values[i])
            goto out;
        for (uint64_t j = 0; j < count; j++)
            values[i][j] = nearbyint(3.0 * st_uniform(&run->random));
    }
    for (int i = 0; i < 3; i++) {
        v.op = ops[i];
        if (!run_inner(run, &v, values, &inner[i]))
            goto out;
    }
    if (inner[0] != inner[2] || inner[1] != inner[2])
        st_fail(run, adjoint_rule, "the inner products are %g, %g and %g", inner[2], inner[0],
                inner[1]);
out:
    for (int i = 0; i < 3; i++)
        free(values[i]);
    st_end(run);
}

static void adjoint_grid(struct st_run *run, uint32_t type)
{
    (void)type;
    for (size_t i = 0; i < ST_COUNT(geometries); i++)
        run_adjoint(run, (struct conv){ .g = geometries[i], .values = WHOLE });
}

static void sample(struct st_run *run, uint32_t op, const struct st_variant *variant)
{
    struct conv v = { .g = { 2, 4, 7, 6, 6, 3, 2, { 2, 1 }, { 1, 0, 2, 1 }, { 1, 2 }, 2 },
                      .op = op,
                      .variant = variant };
    v.g.h = st_size(run, variant, v.g.h, 20, 90);
    v.g.w = st_size(run, variant, v.g.w, 20, 90);
    run_conv(run, &v);
}

#define DEFINE_GROUP(name, op)                                                                     \
    static void name##_grid(struct st_run *run, uint32_t type)                                     \
    {                                                                                              \
        (void)type;                                                                                \
        grid(run, op);                                                                             \
    }                                                                                              \
    static void name##_sample(struct st_run *run, uint32_t type, const struct st_variant *v)       \
    {                                                                                              \
        (void)type;                                                                                \
        sample(run, op, v);                                                                        \
    }                                                                                              \
    const struct st_group st_conv2d_##name = { "conv2d_" #name, types, name##_grid, name##_sample, \
                                               faults }

/* The sample is 2 x 4 x 7 x 6 with 6 filters of 2 x 3 x 2 in 2 groups. */
static const struct st_variant faults[] = {
    ST_UNKNOWN("dtype=f64", cb_conv2d_args, dtype, CB_F64, "dtype"),
    ST_UNKNOWN("dtype=99", cb_conv2d_args, dtype, 99, "dtype"),
    ST_BAD("stride_h=0", cb_conv2d_args, stride[0], 0, "stride"),
    ST_BAD("stride_w=0", cb_conv2d_args, stride[1], 0, "stride"),
    ST_BAD("r=0", cb_conv2d_args, filter_shape[2], 0, "filter_shape"),
    ST_BAD("s=0", cb_conv2d_args, filter_shape[3], 0, "filter_shape"),
    ST_BAD_RELATED("r=50", cb_conv2d_args, filter_shape[2], 50, "filter_shape|filter"),
    ST_BAD_RELATED("s=50", cb_conv2d_args, filter_shape[3], 50, "filter_shape|filter"),
    ST_BAD("r=2^64-1", cb_conv2d_args, filter_shape[2], UINT64_MAX, "filter_shape|filter|dilation"),
    ST_BAD("groups=3", cb_conv2d_args, groups, 3, "groups"),
    ST_BAD("groups=4", cb_conv2d_args, groups, 4, "groups"),
    ST_BAD_RELATED("groups=1", cb_conv2d_args, groups, 1, "filter_shape"),
    ST_BAD_RELATED("c=6", cb_conv2d_args, input_shape[1], 6, "filter_shape|input_shape"),
    ST_BAD("n=3", cb_conv2d_args, output_shape[0], 3, "output_shape"),
    ST_BAD("k=8", cb_conv2d_args, output_shape[1], 8, "output_shape"),
    ST_BAD("p=9", cb_conv2d_args, output_shape[2], 9, "output_shape"),
    ST_BAD("q=0", cb_conv2d_args, output_shape[3], 0, "output_shape"),
    ST_BAD("top=2^64-1", cb_conv2d_args, padding[0], UINT64_MAX, "padding"),
    ST_BAD("right=2^64-1", cb_conv2d_args, padding[3], UINT64_MAX, "padding"),
    ST_BAD("dilation=2^63", cb_conv2d_args, dilation[0], UINT64_C(1) << 63, "dilation"),
    ST_BAD("n=2^62", cb_conv2d_args, input_shape[0], UINT64_C(1) << 62, "input_shape|output_shape"),
    { .label = NULL },
};

static const uint32_t types[] = { CB_F32, 0 };

DEFINE_GROUP(forward, CB_OP_CONV2D_FORWARD);
DEFINE_GROUP(backward_data, CB_OP_CONV2D_BACKWARD_DATA);
DEFINE_GROUP(backward_filter, CB_OP_CONV2D_BACKWARD_FILTER);
const struct st_group st_conv2d_adjoint = { "conv2d_adjoint", types, adjoint_grid, NULL, NULL };
