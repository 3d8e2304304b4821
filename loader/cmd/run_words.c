/* SPDX-License-Identifier: Apache-2.0 */
#include "run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind {
    KIND_NUMBER, /* a double */
    KIND_COUNTS, /* whole numbers that are not negative, separated by commas */
    KIND_INDEX,  /* a whole number */
    KIND_SWITCH, /* 0 or 1 */
    KIND_NAME,   /* one of struct op's names */
};

static const struct key {
    const char *name;
    uint64_t offset; /* in struct keys */
    uint32_t bit;
    const char *form, *help; /* NULL where struct op's names say it */
    enum kind kind;
    uint32_t least, most; /* how many numbers of KIND_COUNTS */
} keys[] = {
#define KEY(name, bit) #name, offsetof(struct keys, name), bit
    { KEY(alpha, KEY_ALPHA), "NUMBER", "factor of the product (1)", KIND_NUMBER, 0, 0 },
    { KEY(beta, KEY_BETA), "NUMBER", "factor of C (1)", KIND_NUMBER, 0, 0 },
    { KEY(trans_a, KEY_TRANS_A), "0|1", "whether A is transposed (0)", KIND_SWITCH, 0, 0 },
    { KEY(trans_b, KEY_TRANS_B), "0|1", "whether B is transposed (0)", KIND_SWITCH, 0, 0 },
    { KEY(precision, KEY_PRECISION), NULL, NULL, KIND_NAME, 0, 0 },
    { KEY(stride, KEY_STRIDE), "ROWS,COLUMNS", "step of the filter (1,1)", KIND_COUNTS, 2, 2 },
    { KEY(padding, KEY_PADDING), "ROWS,COLUMNS|T,L,B,R",
      "zeroes around each image, also top, left, bottom, right (0,0)", KIND_COUNTS, 2, 4 },
    { KEY(dilation, KEY_DILATION), "ROWS,COLUMNS", "distance of the filter's elements (1,1)",
      KIND_COUNTS, 2, 2 },
    { KEY(groups, KEY_GROUPS), "N", "groups of channels (1)", KIND_COUNTS, 1, 1 },
    { KEY(input_shape, KEY_INPUT_SHAPE), "N,C,H,W", "shape of the result, where stride is not 1,1",
      KIND_COUNTS, 4, 4 },
    { KEY(filter_shape, KEY_FILTER_SHAPE), "K,C/GROUPS,R,S",
      "shape of the result, where stride is not 1,1", KIND_COUNTS, 4, 4 },
    { KEY(scale, KEY_SCALE), "NUMBER", "factor of the scores (1/sqrt(head_dim))", KIND_NUMBER, 0,
      0 },
    { KEY(causal, KEY_CAUSAL), "0|1", "whether a query sees no later key (0)", KIND_SWITCH, 0, 0 },
    { KEY(axis, KEY_AXIS), "N", "which axis; -1 is the last", KIND_INDEX, 0, 0 },
    { KEY(op, KEY_OP), NULL, NULL, KIND_NAME, 0, 0 },
#undef KEY
};
#define KEY_COUNT (sizeof(keys) / sizeof(keys[0]))

static const struct keys defaults = {
    .alpha = 1,
    .beta = 1,
    .stride = { 1, 1 },
    .dilation = { 1, 1 },
    .groups = 1,
    .axis = -1,
};

/* "sum|max|min|mean", cut to the buffer. */
static const char *join_names(const struct op *op, char *out, uint64_t size)
{
    uint64_t n = 0;
    *out = '\0';
    for (uint64_t i = 0; i < op->n_names && n < size; i++)
        n += (uint64_t)snprintf(out + n, size - n, "%s%s", i ? "|" : "", op->names[i]);
    return out;
}

void keys_of_op_help(const struct op *op)
{
    char names[80];
    for (const struct key *k = keys; k < keys + KEY_COUNT; k++) {
        if (!(op->keys & k->bit))
            continue;
        const bool needed = op->needed & k->bit;
        printf(" %s%s%s%s%s", needed ? "" : "[", k->name, k->form ? "" : "=",
               k->form ? "" : join_names(op, names, sizeof(names)), needed ? "" : "]");
    }
}

void keys_help(void)
{
    for (const struct key *k = keys; k < keys + KEY_COUNT; k++)
        if (k->form)
            printf("  %s=%-*s%s\n", k->name, (int)(29 - strlen(k->name)), k->form, k->help);
}

/* ---- values ---- */

static bool read_number(const char *text, double *out)
{
    char *end;
    *out = strtod(text, &end);
    return end > text && !*end && *text > ' ';
}

static bool read_index(const char *text, int64_t *out)
{
    char *end;
    errno = 0;
    *out = strtoll(text, &end, 10);
    return end > text && !*end && !errno && *text > ' ';
}

/* A list that is shorter than most is repeated: padding=1,2 is padding=1,2,1,2. */
static bool read_counts(const char *text, uint32_t least, uint32_t most, uint64_t *out)
{
    for (uint32_t n = 0; n < most; text++) {
        char *end;
        errno = 0;
        out[n++] = strtoull(text, &end, 10);
        if (*text < '0' || *text > '9' || errno)
            return false;
        text = end;
        if (*text == ',')
            continue;
        for (uint32_t i = n; i < most; i++)
            out[i] = out[i - n];
        return !*text && (n == least || n == most);
    }
    return false;
}

static bool read_switch(const char *text, uint64_t *out)
{
    *out = *text == '1';
    return (*text == '0' || *text == '1') && !text[1];
}

static bool read_name(const char *text, const struct op *op, uint64_t *out)
{
    for (*out = 0; *out < op->n_names; ++*out)
        if (!strcmp(text, op->names[*out]))
            return true;
    return false;
}

static bool read_value(const struct key *k, const char *text, const struct op *op, void *out)
{
    switch (k->kind) {
    case KIND_NUMBER: return read_number(text, out);
    case KIND_COUNTS: return read_counts(text, k->least, k->most, out);
    case KIND_INDEX: return read_index(text, out);
    case KIND_SWITCH: return read_switch(text, out);
    case KIND_NAME: return read_name(text, op, out);
    }
    return false;
}

/* ---- words ---- */

static const struct key *find_key(const struct op *op, const char *name, uint64_t size)
{
    const char *names[KEY_COUNT];
    uint64_t n = 0;
    for (const struct key *k = keys; k < keys + KEY_COUNT; k++) {
        if (!(op->keys & k->bit))
            continue;
        if (strlen(k->name) == size && !strncmp(k->name, name, size))
            return k;
        names[n++] = k->name;
    }
    char text[64];
    snprintf(text, sizeof(text), "%.*s", (int)(size < 63 ? size : 63), name);
    if (n)
        complain("%s has no key '%s'; the nearest is %s", cb_op_name(op->code), text,
                 nearest(text, names, n));
    else
        complain("%s has no key '%s', nor any other", cb_op_name(op->code), text);
    return NULL;
}

static bool read_key(const char *word, uint64_t name_size, struct run *out)
{
    char names[80];
    const struct key *k = find_key(out->op, word, name_size);
    if (!k)
        return false;
    if (out->keys.given & k->bit) {
        complain("%s: %s is given twice", cb_op_name(out->op->code), k->name);
        return false;
    }
    out->keys.given |= k->bit;
    if (read_value(k, word + name_size + 1, out->op, (char *)&out->keys + k->offset))
        return true;
    complain("%s: '%s' is not of the form %s=%s", cb_op_name(out->op->code), word, k->name,
             k->form ? k->form : join_names(out->op, names, sizeof(names)));
    return false;
}

static bool has_all_keys(const struct run *run)
{
    for (const struct key *k = keys; k < keys + KEY_COUNT; k++)
        if (run->op->needed & ~run->keys.given & k->bit) {
            complain("%s needs %s=", cb_op_name(run->op->code), k->name);
            return false;
        }
    return true;
}

bool words_read(char *const *words, uint32_t count, struct run *out)
{
    uint32_t files = 0;
    out->op = op_find(words[0]);
    out->keys = defaults;
    if (!out->op)
        return false;
    for (uint32_t i = 1; i < count; i++) {
        const uint64_t name = strspn(words[i], "abcdefghijklmnopqrstuvwxyz_");
        if (name && words[i][name] == '=') {
            if (!read_key(words[i], name, out))
                return false;
        } else {
            if (files < INPUTS_MAX)
                out->paths[files] = words[i];
            files++;
        }
    }
    out->n_in = files;
    if (files >= out->op->least && files <= out->op->most)
        return has_all_keys(out);
    complain("%s takes the files %s; %u were given", cb_op_name(out->op->code), out->op->files,
             (unsigned)files);
    return false;
}
