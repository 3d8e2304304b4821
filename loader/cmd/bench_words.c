/* SPDX-License-Identifier: Apache-2.0 */
#include "bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind {
    KIND_COUNTS, /* whole numbers, separated by commas */
    KIND_SWITCH, /* 0 or 1 */
    KIND_AXIS,   /* from the end when negative */
    KIND_NAME,   /* one of struct op's names */
};

static const struct key {
    const char *name, *form;
    enum kind kind;
    uint32_t least, most; /* how many numbers; fewer are repeated */
} keys[BENCH_KEYS] = {
    [BENCH_M] = { "m", "N", KIND_COUNTS, 1, 1 },
    [BENCH_N] = { "n", "N", KIND_COUNTS, 1, 1 },
    [BENCH_K] = { "k", "N", KIND_COUNTS, 1, 1 },
    [BENCH_BATCH] = { "batch", "N", KIND_COUNTS, 1, 1 },
    [BENCH_TRANS_A] = { "trans_a", "0|1", KIND_SWITCH, 1, 1 },
    [BENCH_TRANS_B] = { "trans_b", "0|1", KIND_SWITCH, 1, 1 },
    [BENCH_INPUT] = { "input", "N,C,H,W", KIND_COUNTS, 4, 4 },
    [BENCH_FILTER] = { "filter", "K,C/GROUPS,R,S", KIND_COUNTS, 4, 4 },
    [BENCH_STRIDE] = { "stride", "N or ROWS,COLUMNS", KIND_COUNTS, 1, 2 },
    [BENCH_PADDING] = { "padding", "N or ROWS,COLUMNS", KIND_COUNTS, 1, 2 },
    [BENCH_DILATION] = { "dilation", "N or ROWS,COLUMNS", KIND_COUNTS, 1, 2 },
    [BENCH_GROUPS] = { "groups", "N", KIND_COUNTS, 1, 1 },
    [BENCH_HEADS] = { "heads", "N", KIND_COUNTS, 1, 1 },
    [BENCH_KV_HEADS] = { "kv_heads", "N", KIND_COUNTS, 1, 1 },
    [BENCH_SEQ_Q] = { "seq_q", "N", KIND_COUNTS, 1, 1 },
    [BENCH_SEQ_KV] = { "seq_kv", "N", KIND_COUNTS, 1, 1 },
    [BENCH_HEAD_DIM] = { "head_dim", "N", KIND_COUNTS, 1, 1 },
    [BENCH_CAUSAL] = { "causal", "0|1", KIND_SWITCH, 1, 1 },
    [BENCH_SHAPE] = { "shape", "N,N,...", KIND_COUNTS, 1, BENCH_RANK_MAX },
    [BENCH_AXIS] = { "axis", "N", KIND_AXIS, 1, 1 },
    [BENCH_OP] = { "op", "NAME", KIND_NAME, 1, 1 },
    [BENCH_ROWS] = { "rows", "N", KIND_COUNTS, 1, 1 },
    [BENCH_COLS] = { "cols", "N", KIND_COUNTS, 1, 1 },
    [BENCH_INDICES] = { "indices", "N", KIND_COUNTS, 1, 1 },
};

static const char *const dtype_names[] = { "f64", "f32", "bf16", "f16" };
static const uint32_t dtype_codes[] = { CB_F64, CB_F32, CB_BF16, CB_F16 };
#define DTYPES (sizeof(dtype_codes) / sizeof(dtype_codes[0]))

/* ---- values ---- */

static bool read_counts(const char *text, const struct key *k, struct bench_value *out)
{
    const bool is_shape = k->most > 4;
    out->n = 0;
    do {
        char *end;
        errno = 0;
        if (out->n == k->most || *text < '0' || *text > '9')
            return false;
        out->at[out->n++] = strtoull(text, &end, 10);
        if (errno)
            return false;
        text = end;
    } while (*text == ',' && *++text);
    if (*text || (out->n != k->least && out->n != k->most && !is_shape))
        return false;
    for (; !is_shape && out->n < k->most; out->n++)
        out->at[out->n] = out->at[out->n - 1];
    return true;
}

static bool read_axis(const char *text, struct bench_value *out)
{
    char *end;
    errno = 0;
    out->at[0] = (uint64_t)strtoll(text, &end, 10);
    return end > text && !*end && !errno && *text > ' ';
}

static bool read_name(const char *text, const struct op *op, struct bench_value *out)
{
    for (uint64_t i = 0; i < op->n_names; i++) {
        if (strcmp(text, op->names[i]) != 0)
            continue;
        out->at[0] = i;
        return true;
    }
    return false;
}

static bool read_value(const struct key *k, const char *text, const struct op *op,
                       struct bench_value *out)
{
    out->n = 1;
    switch (k->kind) {
    case KIND_COUNTS: return read_counts(text, k, out);
    case KIND_SWITCH: return read_counts(text, k, out) && out->at[0] < 2;
    case KIND_AXIS: return read_axis(text, out);
    case KIND_NAME: return read_name(text, op, out);
    }
    return false;
}

/* ---- words ---- */

/* Takes the next word of text, which strings of blanks separate. False: there is none. */
static bool next_word(const char **text, char *word, uint64_t size)
{
    *text += strspn(*text, " ");
    const uint64_t n = strcspn(*text, " ");
    if (!n || n >= size)
        return false;
    memcpy(word, *text, n);
    word[n] = '\0';
    *text += n;
    return true;
}

/* The key that a word begins with; NULL: none. */
static const struct key *key_of(const char *word)
{
    const uint64_t size = strcspn(word, "=");
    for (const struct key *k = keys; k < keys + BENCH_KEYS; k++)
        if (strlen(k->name) == size && !strncmp(k->name, word, size))
            return k;
    return NULL;
}

/* The same, if the op has it; else it is said which it has. */
static const struct key *find_key(const struct bench_op *op, const char *word)
{
    const struct key *wanted = key_of(word);
    const char *names[BENCH_KEYS], *text = op->defaults;
    char own[BENCH_TEXT_MAX], wrong[BENCH_TEXT_MAX];
    uint64_t n = 0;
    while (next_word(&text, own, sizeof(own))) {
        const struct key *k = key_of(own);
        if (k == wanted)
            return k;
        names[n++] = k->name;
    }
    snprintf(wrong, sizeof(wrong), "%.*s", (int)strcspn(word, "="), word);
    complain("%s has no key '%s'; the nearest is %s", bench_op_name(op), wrong,
             nearest(wrong, names, n));
    return NULL;
}

static bool set_words(const char *words, struct bench_case *c)
{
    const struct op *op = c->call.op;
    char word[BENCH_TEXT_MAX];
    while (next_word(&words, word, sizeof(word))) {
        const struct key *k = find_key(c->op, word);
        const char *value = strchr(word, '=');
        if (!k)
            return false;
        if (value && read_value(k, value + 1, op, &c->keys[k - keys]))
            continue;
        complain("%s: '%s' is not of the form %s=%s", bench_op_name(c->op), word, k->name, k->form);
        return false;
    }
    return true;
}

/* dtype=f32,f64 */
static bool read_dtypes(char *list, uint32_t *out)
{
    for (char *name = strtok(list, ","); name; name = strtok(NULL, ",")) {
        uint64_t i = 0;
        while (i < DTYPES && strcmp(name, dtype_names[i]) != 0)
            i++;
        if (i == DTYPES) {
            complain("unknown dtype '%s'; the nearest is %s", name,
                     nearest(name, dtype_names, DTYPES));
            return false;
        }
        *out |= BENCH_DTYPE(dtype_codes[i]);
    }
    if (!*out)
        complain("dtype= needs a type");
    return *out != 0;
}

/* NULL: the nearest was named. */
static const struct bench_op *find_op(const char *name)
{
    const char *names[BENCH_OPS];
    for (uint64_t i = 0; i < BENCH_OPS; i++) {
        names[i] = bench_op_name(bench_op_at(i));
        if (!strcmp(names[i], name))
            return bench_op_at(i);
    }
    complain("unknown op '%s'; the nearest is %s", name, nearest(name, names, BENCH_OPS));
    return NULL;
}

static bool add_op(const char *name, struct bench_plan *out)
{
    const struct bench_op *op = find_op(name);
    if (!op)
        return false;
    for (uint32_t i = 0; i < out->n_ops; i++)
        if (out->ops[i] == op) {
            complain("%s is named twice", name);
            return false;
        }
    out->ops[out->n_ops++] = op;
    return true;
}

static bool add_word(const char *word, struct bench_plan *out)
{
    const uint64_t used = strlen(out->words), size = strlen(word);
    if (used + size + 2 > sizeof(out->words)) {
        complain("the keys are too long");
        return false;
    }
    if (used)
        strcat(out->words, " ");
    strcat(out->words, word);
    return true;
}

bool bench_plan_read(char *const *words, uint32_t count, struct bench_plan *out)
{
    *out = (struct bench_plan){ 0 };
    for (uint32_t i = 0; i < count; i++) {
        const bool good = !strncmp(words[i], "dtype=", 6) ? read_dtypes(words[i] + 6, &out->dtypes)
                          : strchr(words[i], '=')         ? add_word(words[i], out)
                                                          : add_op(words[i], out);
        if (!good)
            return false;
    }
    if (*out->words && out->n_ops != 1) {
        complain("'%s' needs one op, whose shape it is", out->words);
        return false;
    }
    out->all = !out->n_ops;
    for (uint64_t i = 0; out->all && bench_op_at(i); i++)
        out->ops[out->n_ops++] = bench_op_at(i);
    return true;
}

/* ---- the cases of a plan ---- */

/* An op that was named is tried with the types that were named, whether it is usual or not. */
static uint32_t dtypes_of(const struct bench_plan *plan, const struct bench_op *op)
{
    if (!plan->dtypes)
        return op->dtypes;
    return plan->all ? plan->dtypes & op->dtypes : plan->dtypes;
}

static uint64_t shapes_of(const struct bench_plan *plan, const struct bench_op *op)
{
    uint64_t n = 0;
    while (!*plan->words && op->shapes[n])
        n++;
    return *plan->words ? 1 : n;
}

static uint64_t count_of(const struct bench_plan *plan, const struct bench_op *op)
{
    return shapes_of(plan, op) * (uint64_t)__builtin_popcount(dtypes_of(plan, op));
}

uint64_t bench_plan_count(const struct bench_plan *plan)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < plan->n_ops; i++)
        n += count_of(plan, plan->ops[i]);
    return n;
}

/* The i-th of a mask of types. */
static uint32_t dtype_at(uint32_t mask, uint64_t i)
{
    for (uint64_t d = 0; d < DTYPES; d++)
        if (mask & BENCH_DTYPE(dtype_codes[d]) && !i--)
            return dtype_codes[d];
    return CB_DTYPE_DEFAULT;
}

bool bench_plan_at(const struct bench_plan *plan, uint64_t i, struct bench_case *out)
{
    for (uint32_t o = 0; o < plan->n_ops; i -= count_of(plan, plan->ops[o++])) {
        const struct bench_op *op = plan->ops[o];
        const uint64_t shapes = shapes_of(plan, op);
        if (i >= count_of(plan, op))
            continue;
        *out = (struct bench_case){ .op = op, .dtype = dtype_at(dtypes_of(plan, op), i / shapes) };
        snprintf(out->words, sizeof(out->words), "%s",
                 *plan->words ? plan->words : op->shapes[i % shapes]);
        out->call.op = op->code == BENCH_COPY ? &bench_copy_op : op_find(bench_op_name(op));
        return set_words(op->defaults, out) && set_words(out->words, out) && op->make(out);
    }
    return false;
}

/* ---- help ---- */

void bench_help(void)
{
    puts("\nOps, their keys with the values that count when none is given, and types:");
    const struct bench_op *op;
    for (uint64_t i = 0; (op = bench_op_at(i)) != NULL; i++) {
        printf("  %s %s\n      %s;", bench_op_name(op), op->defaults, op->story);
        for (uint64_t d = 0; d < (uint64_t)__builtin_popcount(op->dtypes); d++)
            printf(" %s", cb_dtype_name(dtype_at(op->dtypes, d)));
        putchar('\n');
    }
}
