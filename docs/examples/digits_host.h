/* SPDX-License-Identifier: Apache-2.0 */
/* The part of digits that has nothing to do with a backend: the command line, the file of digits,
 * random numbers, and a picture of what went wrong. */
#ifndef DIGITS_HOST_H
#define DIGITS_HOST_H

#include <stdint.h>

enum {
    SIDE = 8,
    AREA = SIDE * SIDE,
    CLASSES = 10
};

struct options {
    uint64_t seed, epochs;
    const char *path;
};

/* What there is to learn from and to be asked about: one row an image. The first n_train rows are
 * for training, the n_test after them are held out. */
struct samples {
    float (*image)[AREA]; /* 0 (paper) to 1 (ink) */
    uint64_t *label;      /* below CLASSES */
    uint64_t *row;        /* an order in which to visit the rows */
    uint8_t *guess;       /* of the n_test held-out rows */
    uint64_t n_train, n_test;
};

/** options_read - over what *o holds. Returns 0 for a line that makes no sense. */
int options_read(char **argv, struct options *o);

/**
 * samples_read - every fifth digit of the file is held out; the others are for training, as they
 * are and moved one pixel in each of the four directions.
 *
 * Returns 0 when that failed, having said why on stderr. samples_free is due on success.
 */
int samples_read(const char *path, struct samples *out);
void samples_free(struct samples *s);

/** samples_show_mistakes - prints up to eight digits that were guessed wrong, four a line. */
void samples_show_mistakes(const struct samples *s);

/** random_next - the next of 2^64 numbers that follow from a seed in *state. */
uint64_t random_next(uint64_t *state);

/** random_order - shuffles. */
void random_order(uint64_t *row, uint64_t n, uint64_t *state);

/** random_weights - uniform, with the variance of 2 / fan_in that keeps a signal's size. */
void random_weights(float *weight, uint64_t n, uint64_t fan_in, uint64_t *state);

#endif
