/* SPDX-License-Identifier: Apache-2.0 */
/* The convolutions' kernels, called directly, against the plain seven loops in double with the
 * contract's bound. */
#include "kernels_kit.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLES 400 /* elements of a large result that are judged */

enum op {
    FORWARD,
    BACKWARD_DATA,
    BACKWARD_FILTER,
    OPS
};

struct shape {
    uint64_t n, groups, c, k, h, w, r, s; /* c, k: of a group */
    uint64_t stride[2], dilation[2], pad[4];
};

/* A problem in memory; the kernel's result is in memory of its own. */
struct tensors {
    struct cpu_conv2d v;
    enum op op;
    uint64_t count[3];
    float *x[3]; /* input, filter, output */
};

typedef float value_fn(uint64_t *seed);

static float between_ones(uint64_t *seed)
{
    return (float)((double)(kit_random(seed) >> 11) / 4503599627370496.0 - 1);
}

static unsigned written(enum op op)
{
    return op == FORWARD ? 2 : op == BACKWARD_DATA ? 0 : 1;
}

static struct cpu_conv2d geometry(const struct shape *s)
{
    struct cpu_conv2d v = { .n = s->n, .h = s->h, .w = s->w, .r = s->r, .s = s->s };
    v.groups = s->groups;
    v.c = s->c * s->groups, v.k = s->k * s->groups, v.c_group = s->c;
    v.stride_h = s->stride[0], v.stride_w = s->stride[1];
    v.dilation_h = s->dilation[0], v.dilation_w = s->dilation[1];
    v.pad_top = s->pad[0], v.pad_left = s->pad[1];
    v.p = (s->h + s->pad[0] + s->pad[2] - v.dilation_h * (v.r - 1) - 1) / v.stride_h + 1;
    v.q = (s->w + s->pad[1] + s->pad[3] - v.dilation_w * (v.s - 1) - 1) / v.stride_w + 1;
    return v;
}

/* gap: elements between each tensor and the end of its page. */
static struct tensors make(const struct shape *s, enum op op, value_fn *value, uint64_t gap)
{
    struct tensors t = { .v = geometry(s), .op = op };
    struct cpu_conv2d *v = &t.v;
    uint64_t seed = v->c * 131 + v->k * 17 + v->h + 1;
    t.count[0] = v->n * v->c * v->h * v->w;
    t.count[1] = v->k * v->c_group * v->r * v->s;
    t.count[2] = v->n * v->k * v->p * v->q;
    for (unsigned i = 0; i < 3; i++) {
        t.x[i] = kit_memory(t.count[i] * 4, gap * 4, 4);
        for (uint64_t e = 0; e < t.count[i] && i != written(op); e++)
            t.x[i][e] = value(&seed);
    }
    v->input = t.x[0], v->filter = t.x[1], v->output = t.x[2];
    return t;
}

static void run(const struct cpu_kernels *kernels, const struct tensors *t, unsigned threads)
{
    const struct cpu_conv2d_kernel *kernel = t->op == FORWARD ? &kernels->conv2d_forward
                                             : t->op == BACKWARD_DATA
                                                 ? &kernels->conv2d_backward_data
                                                 : &kernels->conv2d_backward_filter;
    const uint64_t bytes = kernel->workspace ? kernel->workspace(&t->v, threads) : 0;
    struct cpu_work work = kit_work(threads, bytes);
    kernel->run(&t->v, &work);
    kit_work_end(&work);
}

/* What an element must be. */
struct sum {
    double value, size;
    uint64_t terms;
};

static void add(struct sum *sum, double a, double b)
{
    sum->value += a * b;
    sum->size += fabs(a * b);
    sum->terms++;
}

/* Output pixel (n, k, p, q) meets channel c through tap (r, s); if they do, it is added. */
static void meet(const struct tensors *t, uint64_t n, uint64_t k, uint64_t p, uint64_t q,
                 uint64_t c, uint64_t r, uint64_t s, struct sum *sum)
{
    const struct cpu_conv2d *v = &t->v;
    const uint64_t y = p * v->stride_h + r * v->dilation_h - v->pad_top; /* wraps around */
    const uint64_t x = q * v->stride_w + s * v->dilation_w - v->pad_left;
    const uint64_t channel = k / (v->k / v->groups) * v->c_group + c;
    if (y >= v->h || x >= v->w)
        return;
    const double input = v->input[((n * v->c + channel) * v->h + y) * v->w + x];
    const double filter = v->filter[((k * v->c_group + c) * v->r + r) * v->s + s];
    const double output = v->output[((n * v->k + k) * v->p + p) * v->q + q];
    add(sum, t->op == BACKWARD_DATA ? filter : input, t->op == FORWARD ? filter : output);
}

static struct sum forward(const struct tensors *t, uint64_t e)
{
    const struct cpu_conv2d *v = &t->v;
    const uint64_t q = e % v->q, p = e / v->q % v->p, k = e / v->q / v->p % v->k;
    struct sum sum = { 0, 0, 0 };
    for (uint64_t c = 0; c < v->c_group; c++)
        for (uint64_t r = 0; r < v->r; r++)
            for (uint64_t s = 0; s < v->s; s++)
                meet(t, e / v->q / v->p / v->k, k, p, q, c, r, s, &sum);
    return sum;
}

static struct sum backward_data(const struct tensors *t, uint64_t e)
{
    const struct cpu_conv2d *v = &t->v;
    const uint64_t x = e % v->w, y = e / v->w % v->h, channel = e / v->w / v->h % v->c;
    const uint64_t group = channel / v->c_group, k_group = v->k / v->groups;
    struct sum sum = { 0, 0, 0 };
    for (uint64_t k = group * k_group; k < (group + 1) * k_group; k++)
        for (uint64_t r = 0; r < v->r; r++)
            for (uint64_t s = 0; s < v->s; s++) {
                const uint64_t py = y + v->pad_top - r * v->dilation_h;
                const uint64_t qx = x + v->pad_left - s * v->dilation_w;
                if (py % v->stride_h || qx % v->stride_w || py / v->stride_h >= v->p ||
                    qx / v->stride_w >= v->q || (int64_t)py < 0 || (int64_t)qx < 0)
                    continue;
                meet(t, e / v->w / v->h / v->c, k, py / v->stride_h, qx / v->stride_w,
                     channel % v->c_group, r, s, &sum);
            }
    return sum;
}

static struct sum backward_filter(const struct tensors *t, uint64_t e)
{
    const struct cpu_conv2d *v = &t->v;
    const uint64_t s = e % v->s, r = e / v->s % v->r, c = e / v->s / v->r % v->c_group;
    struct sum sum = { 0, 0, 0 };
    for (uint64_t n = 0; n < v->n; n++)
        for (uint64_t p = 0; p < v->p; p++)
            for (uint64_t q = 0; q < v->q; q++)
                meet(t, n, e / v->s / v->r / v->c_group, p, q, c, r, s, &sum);
    return sum;
}

static void judge(const struct tensors *t, uint64_t e)
{
    static const char *const names[] = { "output", "grad_input", "grad_filter" };
    const struct cpu_conv2d *v = &t->v;
    const struct sum want = t->op == FORWARD         ? forward(t, e)
                            : t->op == BACKWARD_DATA ? backward_data(t, e)
                                                     : backward_filter(t, e);
    const double got = t->x[written(t->op)][e], n = (double)want.terms;
    const double bound = (n + 1) * 0x1p-24 * want.size + n * 0x1p-149;
    if (isnan(want.value)   ? isnan(got)
        : isinf(want.value) ? got == want.value
                            : fabs(got - want.value) <= bound)
        return;
    print_error("n %llu groups %llu c %llu k %llu input %llux%llu filter %llux%llu: %s %llu is "
                "%.9g, not %.17g within %.3g\n",
                (unsigned long long)v->n, (unsigned long long)v->groups, (unsigned long long)v->c,
                (unsigned long long)v->k, (unsigned long long)v->h, (unsigned long long)v->w,
                (unsigned long long)v->r, (unsigned long long)v->s, names[t->op],
                (unsigned long long)e, got, want.value, bound);
    fail();
}

/* All of a small result; of a large one samples, and the last element. */
static void judge_all(const struct tensors *t)
{
    const uint64_t all = t->count[written(t->op)];
    for (uint64_t e = 0; e < all; e += all / SAMPLES + 1)
        judge(t, e);
    judge(t, all - 1);
}

static void solve(void **state, const struct shape *s, enum op op, value_fn *value)
{
    const struct cpu_kernels kernels = kit_kernels(state);
    const struct tensors t = make(s, op, value, 0);
    run(&kernels, &t, 3);
    judge_all(&t);
    kit_release();
}

/* Of each kind some: channels that fill tiles, and that leave some over; narrow groups; pixels that
 * are one, a vector, a vector and a few, many images in a block, a row longer than a block; terms
 * of few pixels, and taps, that are too many for a chunk; a filter that passes the caches; strides
 * beyond the filter, and beyond the input; padding beyond the filter. */
#define PLAIN                                                                                      \
    { 1, 1 },                                                                                      \
    {                                                                                              \
        1, 1                                                                                       \
    }
static const struct shape shapes[] = {
    { 1, 1, 1, 1, 1, 1, 1, 1, PLAIN, { 0, 0, 0, 0 } },
    { 2, 1, 3, 5, 9, 11, 3, 3, PLAIN, { 1, 1, 1, 1 } },
    { 2, 1, 8, 8, 16, 16, 1, 1, PLAIN, { 0, 0, 0, 0 } },
    { 2, 2, 40, 9, 24, 40, 1, 1, PLAIN, { 0, 0, 0, 0 } },
    { 9, 1, 19, 21, 7, 7, 1, 1, PLAIN, { 0, 0, 0, 0 } },
    { 7, 1, 17, 33, 7, 7, 3, 3, PLAIN, { 1, 1, 1, 1 } },
    { 1, 1, 90, 70, 7, 7, 3, 3, PLAIN, { 1, 1, 1, 1 } },
    { 3, 1, 64, 64, 14, 14, 3, 3, PLAIN, { 1, 1, 1, 1 } },
    { 1, 1, 3, 64, 41, 43, 7, 7, { 2, 2 }, { 1, 1 }, { 3, 3, 3, 3 } },
    { 2, 32, 1, 1, 23, 31, 3, 3, PLAIN, { 1, 1, 1, 1 } },
    { 3, 32, 1, 1, 112, 112, 3, 3, PLAIN, { 1, 1, 1, 1 } },
    { 1, 5, 1, 1, 9, 115, 3, 3, PLAIN, { 2, 2, 2, 2 } },
    { 2, 3, 1, 2, 12, 47, 3, 3, PLAIN, { 4, 20, 0, 3 } },
    { 2, 3, 1, 1, 2, 60, 3, 3, PLAIN, { 0, 0, 1, 0 } },
    { 1, 4, 1, 1, 20, 55, 3, 3, PLAIN, { 0, 0, 0, 0 } },
    { 1, 2, 1, 1, 200, 130, 3, 3, PLAIN, { 1, 0, 1, 0 } },
    { 2, 5, 1, 1, 30, 31, 5, 3, { 2, 2 }, { 1, 1 }, { 2, 1, 2, 1 } },
    { 3, 1, 3, 40, 40, 44, 7, 7, { 2, 2 }, { 1, 1 }, { 3, 3, 3, 3 } },
    { 5, 2, 2, 20, 30, 33, 5, 4, { 3, 3 }, { 1, 1 }, { 1, 4, 2, 0 } },
    { 2, 3, 1, 2, 2, 17000, 1, 3, PLAIN, { 0, 1, 0, 0 } },
    { 1, 2, 1, 3, 5, 33, 3, 4, { 2, 1 }, { 1, 20 }, { 1, 40, 1, 30 } },
    { 1, 3, 1, 2, 12, 70, 3, 3, { 1, 2 }, { 2, 1 }, { 0, 0, 3, 1 } },
    { 2, 4, 3, 3, 13, 9, 3, 5, PLAIN, { 4, 0, 1, 6 } },
    { 2, 2, 6, 13, 10, 12, 2, 4, { 3, 1 }, { 2, 3 }, { 1, 5, 2, 0 } },
    { 1, 2, 4, 7, 20, 19, 1, 1, { 2, 3 }, { 1, 1 }, { 0, 0, 0, 0 } },
    { 1, 1, 5, 4, 12, 12, 3, 3, { 5, 20 }, { 1, 1 }, { 1, 1, 1, 1 } },
    { 1, 1, 2, 9, 3, 2500, 1, 9, PLAIN, { 0, 4, 0, 4 } },
    { 1, 1, 2, 2, 3, 2600, 1, 9, { 1, 2 }, { 1, 3 }, { 0, 4, 0, 4 } },
    { 2, 1, 3, 5, 40, 42, 29, 31, PLAIN, { 3, 2, 1, 4 } },
    { 1, 1, 2, 4, 3, 1700, 2, 1601, PLAIN, { 0, 9, 0, 9 } },
    { 2, 1, 2, 2, 1, 900, 1, 800, { 1, 3 }, { 1, 1 }, { 0, 30, 0, 30 } },
    { 1, 1, 3, 4, 2, 2, 3, 3, { 7, 6 }, { 1, 1 }, { 20, 20, 20, 20 } },
    { 1, 1, 4, 4, 6, 5, 3, 3, { 4, 6 }, { 6, 4 }, { 9, 9, 9, 9 } },
    { 1, 1, 6, 5, 200, 3, 3, 3, { 1, 1 }, { 90, 1 }, { 0, 1, 0, 1 } },
    { 1, 1, 200, 300, 9, 10, 3, 3, PLAIN, { 1, 1, 1, 1 } },
    { 1, 1, 300, 40, 33, 30, 3, 3, { 2, 2 }, { 1, 1 }, { 1, 1, 1, 1 } },
    { 1, 1, 1100, 140, 7, 7, 1, 1, PLAIN, { 0, 0, 0, 0 } },
    { 1, 1, 1100, 140, 5, 5, 1, 1, PLAIN, { 0, 0, 0, 0 } },
    { 1, 1, 1040, 1024, 2, 2, 1, 1, PLAIN, { 0, 0, 0, 0 } },
    { 1, 1, 160, 264, 4, 4, 5, 5, PLAIN, { 2, 2, 2, 2 } },
    { 2, 2, 130, 20, 8, 3, 3, 3, PLAIN, { 1, 1, 1, 1 } },
    { 1, 2, 9, 133, 8, 8, 3, 3, PLAIN, { 1, 1, 1, 1 } },
    { 2, 1, 9, 20, 8, 8, 1, 1, PLAIN, { 0, 0, 0, 0 } },
    { 1, 1, 20, 9, 4, 6, 1, 1, PLAIN, { 0, 0, 0, 0 } },
    { 2, 1, 20, 9, 2, 6, 1, 1, PLAIN, { 0, 0, 0, 0 } },
    { 3, 1, 131, 270, 1, 2, 1, 1, PLAIN, { 0, 0, 0, 0 } },
    { 1, 1, 4, 4, 3, 7, 33, 33, PLAIN, { 16, 16, 16, 16 } },
};
#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

static void conv2d_is_within_the_bound_for_every_kind_of_shape(void **state)
{
    for (uint64_t i = 0; i < SHAPES * OPS; i++)
        solve(state, &shapes[i / OPS], (enum op)(i % OPS), between_ones);
}

/* 1 to n. */
static uint64_t up_to(uint64_t n, uint64_t *seed)
{
    return (kit_random(seed) >> 20) % n + 1;
}

static struct shape any_shape(uint64_t *seed)
{
    struct shape s = { 0 };
    s.n = up_to(3, seed), s.groups = up_to(3, seed);
    s.c = up_to(9, seed), s.k = up_to(13, seed);
    s.r = up_to(4, seed), s.s = up_to(5, seed);
    for (int i = 0; i < 2; i++) {
        s.stride[i] = up_to(3, seed);
        s.dilation[i] = up_to(3, seed);
        s.pad[i] = up_to(5, seed) - 1;
        s.pad[2 + i] = up_to(5, seed) - 1;
    }
    const uint64_t rows = s.dilation[0] * (s.r - 1) + 1, columns = s.dilation[1] * (s.s - 1) + 1;
    s.h = up_to(14, seed) + (rows > s.pad[0] ? rows - s.pad[0] : 0);
    s.w = up_to(40, seed) + (columns > s.pad[1] ? columns - s.pad[1] : 0);
    return s;
}

static void conv2d_is_within_the_bound_for_any_shape(void **state)
{
    uint64_t seed = 3;
    for (uint64_t i = 0; i < 300; i++) {
        const struct shape s = any_shape(&seed);
        solve(state, &s, (enum op)(i % OPS), between_ones);
    }
}

/* Some are not finite, are small as few are, or are large, yet no sum of theirs overflows. */
static float extreme(uint64_t *seed)
{
    static const float values[] = {
        INFINITY, -INFINITY, NAN, 0x1p60f, -0x1p58f, 0x1p-140f, 0, -0.0f
    };
    const uint64_t r = kit_random(seed) >> 20;
    return r % 150 < 8 ? values[r % 150] : between_ones(seed);
}

static void conv2d_spreads_nan_and_infinity_and_bears_extremes(void **state)
{
    uint64_t seed = 4;
    for (uint64_t i = 0; i < 150; i++) {
        const struct shape s = any_shape(&seed);
        solve(state, &s, (enum op)(i % OPS), extreme);
    }
}

/* Infinite, so that a product with padding would be NaN where the sum is not. */
static float mostly_infinite(uint64_t *seed)
{
    return (kit_random(seed) >> 20) % 4 ? INFINITY : 1;
}

static void conv2d_leaves_padding_out_rather_than_multiply_it(void **state)
{
    for (uint64_t i = 0; i < SHAPES * OPS; i++) {
        const struct shape *s = &shapes[i / OPS];
        if (s->r * s->s < 100)
            solve(state, s, (enum op)(i % OPS), mostly_infinite);
    }
}

static float tiny(uint64_t *seed)
{
    return between_ones(seed) * 0x1p-70f;
}

static void conv2d_keeps_subnormal_sums(void **state)
{
    uint64_t seed = 5;
    for (uint64_t i = 0; i < 30; i++) {
        const struct shape s = any_shape(&seed);
        solve(state, &s, (enum op)(i % OPS), tiny);
    }
}

/* Large enough that all threads work, in every way there is. */
static void conv2d_gives_the_same_bits_on_one_thread_and_three_and_at_any_address(void **state)
{
    static const struct shape large[] = {
        { 2, 1, 32, 40, 28, 28, 3, 3, PLAIN, { 1, 1, 1, 1 } },
        { 1, 1, 64, 80, 7, 7, 3, 3, PLAIN, { 1, 1, 1, 1 } },
        { 20, 1, 32, 64, 7, 7, 1, 1, PLAIN, { 0, 0, 0, 0 } },
        { 1, 1, 640, 150, 7, 7, 1, 1, PLAIN, { 0, 0, 0, 0 } },
        { 2, 16, 1, 1, 60, 64, 3, 3, PLAIN, { 1, 1, 1, 1 } },
        { 4, 1, 3, 32, 64, 66, 7, 7, { 2, 2 }, { 1, 1 }, { 3, 3, 3, 3 } },
        { 2, 4, 10, 9, 30, 30, 3, 3, { 2, 1 }, { 1, 2 }, { 1, 2, 0, 1 } },
    };
    const struct cpu_kernels kernels = kit_kernels(state);
    for (uint64_t i = 0; i < sizeof(large) / sizeof(large[0]) * OPS; i++) {
        const struct shape *s = &large[i / OPS];
        const enum op op = (enum op)(i % OPS);
        const struct tensors one = make(s, op, between_ones, 0);
        const struct tensors three = make(s, op, between_ones, 0);
        const struct tensors shifted = make(s, op, between_ones, 3);
        const uint64_t bytes = one.count[written(op)] * 4;
        run(&kernels, &one, 1);
        run(&kernels, &three, 3);
        run(&kernels, &shifted, 8);
        assert_memory_equal(one.x[written(op)], three.x[written(op)], bytes);
        assert_memory_equal(one.x[written(op)], shifted.x[written(op)], bytes);
        judge_all(&three);
        kit_release();
    }
}

/* ResNet's largest, of 32 images: im2col of its input would be 1.8 GB. */
static void conv2d_asks_for_a_few_megabytes_however_large_its_tensors(void **state)
{
    static const struct shape s = { 256, 1, 64, 64, 224, 224, 3, 3, PLAIN, { 1, 1, 1, 1 } };
    static const struct shape deep = { 256, 1, 2048, 2048, 14, 14, 3, 3, PLAIN, { 1, 1, 1, 1 } };
    const struct cpu_kernels k = kit_kernels(state);
    const struct cpu_conv2d_kernel *all[OPS] = { &k.conv2d_forward, &k.conv2d_backward_data,
                                                 &k.conv2d_backward_filter };
    for (unsigned i = 0; i < 2 * OPS; i++) {
        const struct cpu_conv2d v = geometry(i / OPS ? &deep : &s);
        const struct cpu_conv2d_kernel *kernel = all[i % OPS];
        for (unsigned threads = 1; kernel->workspace && threads <= 64; threads *= 4)
            assert_true(kernel->workspace(&v, threads) <= (8u << 20) + threads * (4u << 20));
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(conv2d_is_within_the_bound_for_every_kind_of_shape),
        cmocka_unit_test(conv2d_is_within_the_bound_for_any_shape),
        cmocka_unit_test(conv2d_spreads_nan_and_infinity_and_bears_extremes),
        cmocka_unit_test(conv2d_leaves_padding_out_rather_than_multiply_it),
        cmocka_unit_test(conv2d_keeps_subnormal_sums),
        cmocka_unit_test(conv2d_gives_the_same_bits_on_one_thread_and_three_and_at_any_address),
        cmocka_unit_test(conv2d_asks_for_a_few_megabytes_however_large_its_tensors),
    };
    return kit_run("conv2d kernels", tests, sizeof(tests) / sizeof(tests[0]));
}
