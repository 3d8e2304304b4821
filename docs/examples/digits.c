/* SPDX-License-Identifier: Apache-2.0 */
/*
 * digits - a small convolutional network learns to read handwritten digits, on any backend.
 *
 *     image -> convolution, relu -> convolution, relu -> linear -> softmax
 *
 * The backend does all the arithmetic, forward and backward. The host reads the file, draws the
 * first weights, says which images come next, and counts the right answers at the end. Every fifth
 * digit is held out: the network never learns from it.
 */
#include <cb_loader.h>

#include "digits_host.h"

#include <float.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#ifndef DIGITS_CSV /* read when the command line names no file */
#define DIGITS_CSV "data/digits.csv"
#endif

/* What a convolution makes of its input: 3x3 filters, one pixel of padding, square images. */
static const struct conv {
    uint64_t channels_in, side_in, channels_out, side_out, stride;
} convs[] = { { 1, SIDE, 12, SIDE, 1 }, { 12, SIDE, 24, SIDE / 2, 2 } };
enum {
    N_CONVS = sizeof(convs) / sizeof(convs[0]),
    FEATURES = 24 * (SIDE / 2) * (SIDE / 2),
    BATCH = 32,                  /* images that are computed at once, at most */
    LARGEST = BATCH * 12 * AREA, /* elements of the largest layer */
};

static const double learning_rate = 0.1, momentum = 0.9;

/* Device addresses inside one buffer, so that one call can treat all parameters as a vector. */
struct parameters {
    uint64_t all, filter[N_CONVS], bias[N_CONVS], linear, linear_bias, count;
};

/* Device addresses. layer[0] is the mini-batch, layer[i] what convolution i made of it. */
struct net {
    cb_backend be;
    cb_error err;
    struct parameters weight, gradient, velocity;
    uint64_t images, layer[N_CONVS + 1], layer_gradient[N_CONVS + 1], answer, answer_gradient;
    uint64_t identity, ones, tiny, mask, sums;
};

/* Ends the function with the status of the first call that fails; net->err then says why. */
#define TRY(call)                                                                                  \
    do {                                                                                           \
        const cb_status status_ = (call);                                                          \
        if (status_ != CB_OK)                                                                      \
            return status_;                                                                        \
    } while (0)

/* ---- The ops ------------------------------------------------------------------------------- */

static cb_conv2d_args conv_args(const struct net *net, int i, uint64_t n)
{
    const struct conv *c = &convs[i];
    return (cb_conv2d_args){
        CB_ARGS(cb_conv2d_args),
        .input_shape = { n, c->channels_in, c->side_in, c->side_in },
        .filter_shape = { c->channels_out, c->channels_in, 3, 3 },
        .output_shape = { n, c->channels_out, c->side_out, c->side_out },
        .stride = { c->stride, c->stride },
        .padding = CB_PADDING(1, 1),
        .input = net->layer[i],
        .filter = net->weight.filter[i],
        .output = net->layer[i + 1],
    };
}

static uint64_t area(int i)
{
    return convs[i].side_out * convs[i].side_out;
}

/* C := alpha * op(A) * op(B) + beta * C, all three without gaps between columns. */
static cb_status gemm(struct net *net, cb_gemm_args args)
{
    args.dtype = CB_F32;
    args.lda = args.trans_a ? args.k : args.m;
    args.ldb = args.trans_b ? args.n : args.k;
    args.ldc = args.m;
    return cb_gemm(net->be, &args, &net->err);
}

/* y := alpha * x + beta * y: a vector is a matrix of one column, and here B is the number 1. */
static cb_status add_scaled(struct net *net, double alpha, uint64_t x, double beta, uint64_t y)
{
    return gemm(net,
                (cb_gemm_args){ CB_ARGS(cb_gemm_args), .m = net->weight.count, .n = 1, .k = 1,
                                .alpha = alpha, .a = x, .b = net->ones, .beta = beta, .c = y });
}

/* Adds to each image, pixels x channels, the product of a column of ones and the row of biases. */
static cb_status add_bias(struct net *net, uint64_t n, uint64_t channels, uint64_t pixels,
                          uint64_t bias, uint64_t output)
{
    return cb_batched_gemm(net->be,
                           &(cb_batched_gemm_args){ CB_ARGS(cb_batched_gemm_args), .dtype = CB_F32,
                                                    .m = pixels, .n = channels, .k = 1, .alpha = 1,
                                                    .a = net->ones, .lda = pixels, .b = bias,
                                                    .ldb = 1, .beta = 1, .c = output, .ldc = pixels,
                                                    .stride_c = channels * pixels, .batch = n },
                           &net->err);
}

static cb_status sum(struct net *net, const uint64_t *shape, uint32_t rank, uint32_t axis,
                     uint64_t input, uint64_t output)
{
    return cb_reduce(net->be,
                     &(cb_reduce_args){ CB_ARGS(cb_reduce_args), .op = CB_REDUCE_SUM,
                                        .shape = shape, .rank = rank, .axis = axis, .input = input,
                                        .output = output },
                     &net->err);
}

/* A bias touches every pixel of every image: its gradient is the sum over both. */
static cb_status bias_gradient(struct net *net, uint64_t n, uint64_t channels, uint64_t pixels,
                               uint64_t output_gradient, uint64_t gradient)
{
    const uint64_t shape[] = { n, channels, pixels };
    TRY(sum(net, shape, 3, 2, output_gradient, net->sums));
    return sum(net, shape, 2, 0, net->sums, gradient);
}

static cb_status binary(struct net *net, uint32_t op, uint64_t n, uint64_t a, uint64_t b,
                        uint64_t output)
{
    return cb_binary(net->be,
                     &(cb_binary_args){ CB_ARGS(cb_binary_args), .op = op, .n = n, .a = a, .b = b,
                                        .output = output },
                     &net->err);
}

/* Lets through what relu let through: y / max(y, tiny) is 1 where y is positive, else 0. */
static cb_status relu_backward(struct net *net, uint64_t n, uint64_t y, uint64_t gradient)
{
    TRY(binary(net, CB_BINARY_MAX, n, y, net->tiny, net->mask));
    TRY(binary(net, CB_BINARY_DIV, n, y, net->mask, net->mask));
    return binary(net, CB_BINARY_MUL, n, gradient, net->mask, gradient);
}

static cb_status gather(struct net *net, uint64_t table, uint64_t rows, uint64_t cols,
                        const uint64_t *indices, uint64_t n, uint64_t output)
{
    return cb_gather(net->be,
                     &(cb_rows_args){ CB_ARGS(cb_rows_args), .rows = rows, .cols = cols,
                                      .indices = indices, .n_indices = n, .input = table,
                                      .output = output },
                     &net->err);
}

/* ---- The network --------------------------------------------------------------------------- */

/* Answers for n images, at most BATCH: net->answer[image][class] is a probability. */
static cb_status forward(struct net *net, const struct samples *s, const uint64_t *rows, uint64_t n)
{
    TRY(gather(net, net->images, s->n_train + s->n_test, AREA, rows, n, net->layer[0]));
    for (int i = 0; i < N_CONVS; i++) {
        const cb_conv2d_args conv = conv_args(net, i, n);
        const uint64_t y = net->layer[i + 1];
        TRY(cb_conv2d_forward(net->be, &conv, &net->err));
        TRY(add_bias(net, n, convs[i].channels_out, area(i), net->weight.bias[i], y));
        TRY(cb_unary(net->be,
                     &(cb_unary_args){ CB_ARGS(cb_unary_args), .op = CB_UNARY_RELU,
                                       .n = n * convs[i].channels_out * area(i), .input = y,
                                       .output = y },
                     &net->err));
    }
    TRY(gemm(net, (cb_gemm_args){ CB_ARGS(cb_gemm_args), .m = CLASSES, .n = n, .k = FEATURES,
                                  .alpha = 1, .a = net->weight.linear, .b = net->layer[N_CONVS],
                                  .c = net->answer }));
    TRY(add_bias(net, n, CLASSES, 1, net->weight.linear_bias, net->answer));
    const uint64_t shape[] = { n, CLASSES };
    return cb_softmax(net->be,
                      &(cb_softmax_args){ CB_ARGS(cb_softmax_args), .shape = shape, .rank = 2,
                                          .axis = 1, .input = net->answer, .output = net->answer },
                      &net->err);
}

/* Gradients of the cross entropy, summed over the n images that forward has just answered. Right
 * answers are rows of the identity, and answer minus right answer is the gradient to start from. */
static cb_status backward(struct net *net, const uint64_t *labels, uint64_t n)
{
    const uint64_t dz = net->answer_gradient;
    TRY(gather(net, net->identity, CLASSES, CLASSES, labels, n, dz));
    TRY(binary(net, CB_BINARY_SUB, n * CLASSES, net->answer, dz, dz));
    TRY(bias_gradient(net, n, CLASSES, 1, dz, net->gradient.linear_bias));
    TRY(gemm(net, (cb_gemm_args){ CB_ARGS(cb_gemm_args), .trans_b = CB_TRANS, .m = CLASSES,
                                  .n = FEATURES, .k = n, .alpha = 1, .a = dz,
                                  .b = net->layer[N_CONVS], .c = net->gradient.linear }));
    TRY(gemm(net, (cb_gemm_args){ CB_ARGS(cb_gemm_args), .trans_a = CB_TRANS, .m = FEATURES, .n = n,
                                  .k = CLASSES, .alpha = 1, .a = net->weight.linear, .b = dz,
                                  .c = net->layer_gradient[N_CONVS] }));
    for (int i = N_CONVS - 1; i >= 0; i--) {
        const uint64_t dy = net->layer_gradient[i + 1];
        TRY(relu_backward(net, n * convs[i].channels_out * area(i), net->layer[i + 1], dy));
        TRY(bias_gradient(net, n, convs[i].channels_out, area(i), dy, net->gradient.bias[i]));
        cb_conv2d_args conv = conv_args(net, i, n);
        conv.output = dy;
        conv.filter = net->gradient.filter[i];
        TRY(cb_conv2d_backward_filter(net->be, &conv, &net->err));
        if (i == 0)
            break; /* nothing learns from the gradient of the image */
        conv.filter = net->weight.filter[i];
        conv.input = net->layer_gradient[i];
        TRY(cb_conv2d_backward_data(net->be, &conv, &net->err));
    }
    return CB_OK;
}

/* One step of gradient descent with momentum, over all parameters at once. */
static cb_status learn(struct net *net, const struct samples *s, const uint64_t *rows, uint64_t n,
                       double rate)
{
    uint64_t labels[BATCH];
    for (uint64_t i = 0; i < n; i++)
        labels[i] = s->label[rows[i]];
    TRY(forward(net, s, rows, n));
    TRY(backward(net, labels, n));
    TRY(add_scaled(net, 1.0 / (double)n, net->gradient.all, momentum, net->velocity.all));
    return add_scaled(net, -rate, net->velocity.all, 1, net->weight.all);
}

/* ---- Setting up ---------------------------------------------------------------------------- */

static uint64_t filter_size(int i)
{
    return convs[i].channels_out * convs[i].channels_in * 9;
}

static struct parameters lay_out(uint64_t base)
{
    struct parameters p = { .all = base };
    for (int i = 0; i < N_CONVS; i++) {
        p.filter[i] = base + sizeof(float) * p.count;
        p.count += filter_size(i);
        p.bias[i] = base + sizeof(float) * p.count;
        p.count += convs[i].channels_out;
    }
    p.linear = base + sizeof(float) * p.count;
    p.count += CLASSES * FEATURES;
    p.linear_bias = base + sizeof(float) * p.count;
    p.count += CLASSES;
    return p;
}

/* Makes a buffer of n floats: zeroes, or those of the host. It ends with the backend's release. */
static cb_status floats(struct net *net, uint64_t n, const void *host, uint64_t *out)
{
    TRY(cb_alloc(net->be, n * sizeof(float), out, &net->err));
    return host ? cb_upload(net->be, *out, host, n * sizeof(float), &net->err) : CB_OK;
}

/* The weights are random, all else starts at zero. */
static cb_status set_up_parameters(struct net *net, uint64_t *random)
{
    struct parameters *const sets[] = { &net->weight, &net->gradient, &net->velocity };
    for (int i = 0; i < 3; i++) {
        uint64_t base;
        TRY(floats(net, lay_out(0).count, NULL, &base));
        *sets[i] = lay_out(base);
    }
    float host[CLASSES * FEATURES];
    for (int i = 0; i < N_CONVS; i++) {
        random_weights(host, filter_size(i), convs[i].channels_in * 9, random);
        TRY(cb_upload(net->be, net->weight.filter[i], host, filter_size(i) * sizeof(float),
                      &net->err));
    }
    random_weights(host, CLASSES * FEATURES, FEATURES, random);
    return cb_upload(net->be, net->weight.linear, host, sizeof(host), &net->err);
}

static cb_status set_up(struct net *net, const struct samples *s, uint64_t *random)
{
    float identity[CLASSES * CLASSES] = { 0 }, ones[AREA], tiny[LARGEST];
    for (int i = 0; i < CLASSES; i++)
        identity[i * (CLASSES + 1)] = 1;
    for (int i = 0; i < AREA; i++)
        ones[i] = 1;
    for (int i = 0; i < LARGEST; i++)
        tiny[i] = FLT_MIN;

    TRY(set_up_parameters(net, random));
    TRY(floats(net, (s->n_train + s->n_test) * AREA, s->image, &net->images));
    TRY(floats(net, CLASSES * CLASSES, identity, &net->identity));
    TRY(floats(net, AREA, ones, &net->ones));
    TRY(floats(net, LARGEST, tiny, &net->tiny));
    for (int i = 0; i <= N_CONVS; i++) {
        TRY(floats(net, LARGEST, NULL, &net->layer[i]));
        TRY(floats(net, LARGEST, NULL, &net->layer_gradient[i]));
    }
    TRY(floats(net, LARGEST, NULL, &net->mask));
    TRY(floats(net, LARGEST, NULL, &net->sums));
    TRY(floats(net, BATCH * CLASSES, NULL, &net->answer));
    return floats(net, BATCH * CLASSES, NULL, &net->answer_gradient);
}

/* ---- Learning and answering ---------------------------------------------------------------- */

/* s->guess[i] becomes the likeliest class of held-out image i; *right counts the true ones. */
static cb_status evaluate(struct net *net, const struct samples *s, uint64_t *right)
{
    *right = 0;
    for (uint64_t first = 0; first < s->n_test; first += BATCH) {
        const uint64_t n = s->n_test - first < BATCH ? s->n_test - first : BATCH;
        float answer[BATCH][CLASSES];
        TRY(forward(net, s, s->row + s->n_train + first, n));
        TRY(cb_download(net->be, answer, net->answer, n * sizeof(*answer), &net->err));
        for (uint64_t i = 0; i < n; i++) {
            uint8_t best = 0;
            for (uint8_t c = 1; c < CLASSES; c++)
                best = answer[i][c] > answer[i][best] ? c : best;
            s->guess[first + i] = best;
            *right += best == s->label[s->n_train + first + i];
        }
    }
    return CB_OK;
}

static double percent(uint64_t part, uint64_t whole)
{
    return 100.0 * (double)part / (double)whole;
}

/* The rate falls in a straight line to 0. A person at a terminal sees each epoch end. */
static cb_status train(struct net *net, const struct samples *s, uint64_t epochs, uint64_t *random,
                       uint64_t *right)
{
    const double steps = (double)epochs * (double)s->n_train;
    const time_t start = time(NULL);
    for (uint64_t epoch = 0; epoch < epochs; epoch++) {
        random_order(s->row, s->n_train, random);
        for (uint64_t first = 0; first < s->n_train; first += BATCH) {
            const uint64_t n = s->n_train - first < BATCH ? s->n_train - first : BATCH;
            const double done = ((double)epoch * (double)s->n_train + (double)first) / steps;
            TRY(learn(net, s, s->row + first, n, learning_rate * (1 - done)));
        }
        if (isatty(STDERR_FILENO)) {
            TRY(evaluate(net, s, right));
            fprintf(stderr, "epoch %" PRIu64 " of %" PRIu64 ": %.2f %% held out, %.0f s\n",
                    epoch + 1, epochs, percent(*right, s->n_test), difftime(time(NULL), start));
        }
    }
    return evaluate(net, s, right);
}

/* ---- The program --------------------------------------------------------------------------- */

/* Trains, then says how it went. */
static cb_status run(struct net *net, const struct samples *s, const struct options *o)
{
    uint64_t random = o->seed, right;
    TRY(set_up(net, s, &random));
    printf("backend: %s %s\n", net->be.api->name, net->be.api->version);
    TRY(train(net, s, o->epochs, &random, &right));
    printf("held-out accuracy: %.2f %% (%" PRIu64 " of %" PRIu64 ")\n", percent(right, s->n_test),
           right, s->n_test);
    samples_show_mistakes(s);
    return CB_OK;
}

int main(int argc, char **argv)
{
    struct options options = { .seed = 1, .epochs = 6, .path = DIGITS_CSV };
    struct samples samples;
    if (argc < 1 || !options_read(argv, &options)) {
        fprintf(stderr, "usage: digits [--seed N] [--epochs N] [DATA.csv]\n");
        return 2;
    }
    if (!samples_read(options.path, &samples))
        return 1;

    cb_loader *loader = NULL;
    struct net net = { .be = { NULL, NULL } };
    cb_error_init(&net.err);
    const int failed = cb_loader_open(NULL, &loader, &net.err) ||
                       cb_loader_select(loader, NULL, &net.be, &net.err) ||
                       run(&net, &samples, &options);
    if (failed)
        fprintf(stderr, "digits: %s\n", net.err.msg);

    if (net.be.api)
        cb_loader_release(loader, net.be, NULL); /* frees the buffers too */
    cb_loader_close(loader, NULL);
    samples_free(&samples);
    return failed;
}
