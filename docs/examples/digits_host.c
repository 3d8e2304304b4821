/* SPDX-License-Identifier: Apache-2.0 */
#include "digits_host.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct digit {
    uint8_t pixel[AREA]; /* 0..16 */
    uint8_t label;
};

static int read_number(const char *text, uint64_t least, uint64_t most, uint64_t *out)
{
    char *end;
    errno = 0;
    *out = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == '\0' && errno == 0 && *out >= least &&
           *out <= most;
}

int options_read(char **argv, struct options *o)
{
    int paths = 0, good = 1;
    while (good && *++argv) {
        if (strcmp(*argv, "--seed") == 0 && argv[1])
            good = read_number(*++argv, 0, UINT64_MAX, &o->seed);
        else if (strcmp(*argv, "--epochs") == 0 && argv[1])
            good = read_number(*++argv, 1, 1000, &o->epochs);
        else
            good = **argv != '-' && paths++ == 0 && (o->path = *argv);
    }
    return good;
}

/* 64 pixels and the label, separated by commas. */
static int parse_digit(const char *line, struct digit *out)
{
    for (int i = 0; i < AREA + 1; i++) {
        const int last = i == AREA;
        char *end;
        const unsigned long value = strtoul(line, &end, 10);
        if (end == line || value > (last ? CLASSES - 1 : 16))
            return 0;
        if (last ? !strchr("\r\n", *end) : *end != ',')
            return 0;
        *(last ? &out->label : &out->pixel[i]) = (uint8_t)value;
        line = end + 1;
    }
    return 1;
}

/* Returns an array for free(), or NULL, having said why. */
static struct digit *read_digits(const char *path, uint64_t *count)
{
    struct digit *digits = NULL, *whole = NULL;
    uint64_t n = 0, room = 0;
    char line[512];
    FILE *file = fopen(path, "r");
    if (!file)
        goto fail;
    for (; fgets(line, sizeof(line), file); n++) {
        if (n == room) {
            room = room ? 2 * room : 2048;
            struct digit *more = reallocarray(digits, room, sizeof(*digits));
            if (!more)
                goto fail;
            digits = more;
        }
        if (!parse_digit(line, &digits[n])) {
            fprintf(stderr, "digits: %s:%" PRIu64 ": not 64 pixels of 0 to 16 and a label\n", path,
                    n + 1);
            goto out;
        }
    }
    if (ferror(file))
        goto fail;
    if (n < 5) {
        fprintf(stderr, "digits: %s: fewer than five digits, none to hold out\n", path);
        goto out;
    }
    *count = n;
    whole = digits;
    digits = NULL;
    goto out;
fail:
    fprintf(stderr, "digits: %s: %s\n", path, strerror(errno));
out:
    free(digits);
    if (file)
        fclose(file);
    return whole;
}

/* Row `row` becomes the digit, moved by dx and dy pixels. */
static void place(struct samples *s, uint64_t row, const struct digit *digit, const int move[2])
{
    for (int y = 0; y < SIDE; y++) {
        for (int x = 0; x < SIDE; x++) {
            const int from_y = y - move[0], from_x = x - move[1];
            if (from_y >= 0 && from_y < SIDE && from_x >= 0 && from_x < SIDE)
                s->image[row][y * SIDE + x] = (float)digit->pixel[from_y * SIDE + from_x] / 16;
        }
    }
    s->label[row] = digit->label;
    s->row[row] = row;
}

int samples_read(const char *path, struct samples *out)
{
    static const int moves[][2] = { { 0, 0 }, { 1, 0 }, { -1, 0 }, { 0, 1 }, { 0, -1 } };
    enum {
        N_MOVES = sizeof(moves) / sizeof(moves[0])
    };
    uint64_t count;
    struct digit *digits = read_digits(path, &count);
    if (!digits)
        return 0;

    struct samples s = { .n_test = count / 5, .n_train = N_MOVES * (count - count / 5) };
    const uint64_t rows = s.n_train + s.n_test;
    s.image = calloc(rows, sizeof(*s.image));
    s.label = calloc(rows, sizeof(*s.label));
    s.row = calloc(rows, sizeof(*s.row));
    s.guess = calloc(s.n_test, sizeof(*s.guess));
    const int good = s.image && s.label && s.row && s.guess;
    uint64_t train = 0, test = s.n_train;
    for (uint64_t i = 0; good && i < count; i++) {
        if (i % 5 == 4)
            place(&s, test++, &digits[i], moves[0]);
        else
            for (int move = 0; move < N_MOVES; move++)
                place(&s, train++, &digits[i], moves[move]);
    }
    free(digits);
    if (good) {
        *out = s;
    } else {
        fprintf(stderr, "digits: no memory for %" PRIu64 " images\n", rows);
        samples_free(&s);
    }
    return good;
}

void samples_free(struct samples *s)
{
    free(s->image);
    free(s->label);
    free(s->row);
    free(s->guess);
}

/* One line of the picture: row y of each of n digits, or below the last row, what they are. */
static void show_line(const struct samples *s, const uint64_t *wrong, uint64_t n, int y)
{
    static const char shades[] = " .:-=+*#%@";
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t row = s->n_train + wrong[i];
        for (int x = 0; y < SIDE && x < SIDE; x++) {
            const char shade = shades[(int)(9 * s->image[row][y * SIDE + x] + 0.5f)];
            printf("%c%c", shade, shade);
        }
        if (y == SIDE)
            printf("a %d, read as %-3d", (int)s->label[row], (int)s->guess[wrong[i]]);
        printf(i + 1 < n ? " | " : "\n");
    }
}

void samples_show_mistakes(const struct samples *s)
{
    enum {
        COLUMNS = 4,
        MOST = 8
    };
    uint64_t wrong[MOST], n = 0;
    for (uint64_t i = 0; i < s->n_test && n < MOST; i++)
        if (s->guess[i] != s->label[s->n_train + i])
            wrong[n++] = i;
    for (uint64_t first = 0; first < n; first += COLUMNS) {
        printf("\n");
        for (int y = 0; y <= SIDE; y++)
            show_line(s, wrong + first, n - first < COLUMNS ? n - first : COLUMNS, y);
    }
}

/* splitmix64, by Sebastiano Vigna: equally likely numbers from any seed, 0 included. */
uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

void random_order(uint64_t *row, uint64_t n, uint64_t *state)
{
    for (uint64_t i = n; i > 1; i--) {
        const uint64_t j = random_next(state) % i, kept = row[j];
        row[j] = row[i - 1];
        row[i - 1] = kept;
    }
}

void random_weights(float *weight, uint64_t n, uint64_t fan_in, uint64_t *state)
{
    const double limit = sqrt(6.0 / (double)fan_in);
    for (uint64_t i = 0; i < n; i++)
        weight[i] = (float)(limit * ((double)(random_next(state) >> 11) * 0x1p-52 - 1));
}
