/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of cb run, from its words to the arguments of the op. Words are lines; what is
 * after the first NUL byte describes the arrays: a byte of type and order, one of rank, and one for
 * each extent. */
#include "fuzz.h"

#include "run.h"

#include <string.h>

#define WORDS_MAX 24

/* In place of main.c's: nobody reads it. */
void complain(const char *format, ...)
{
    (void)format;
}

/* Splits into words that end; the first is the command's own name. */
static int split(char *text, char *words[WORDS_MAX + 1])
{
    char *save = NULL;
    int n = 0;
    words[n++] = "cb";
    for (char *word = strtok_r(text, "\n", &save); word && n < WORDS_MAX;
         word = strtok_r(NULL, "\n", &save))
        words[n++] = word;
    words[n] = NULL;
    return n;
}

static uint8_t take(const uint8_t **bytes, size_t *size)
{
    if (!*size)
        return 0;
    --*size;
    return *(*bytes)++;
}

static bool make_array(struct array *a, const char *path, const uint8_t **bytes, size_t *size)
{
    const uint8_t kind = take(bytes, size);
    *a = (struct array){ .path = path };
    a->npy.type = kind % NPY_TYPE_COUNT;
    a->npy.fortran = kind >= 128;
    a->npy.rank = take(bytes, size) % 7;
    for (uint32_t i = 0; i < a->npy.rank; i++)
        a->npy.shape[i] = take(bytes, size) % 7;
    return npy_measure(&a->npy) && array_allocate(a);
}

static void prepare(const struct arguments *a, const uint8_t *bytes, size_t size)
{
    struct run run = { 0 };
    bool good = words_read(a->operands + 1, a->n_operands - 1, &run);
    for (uint32_t i = 0; good && i < run.n_in; i++)
        good = make_array(&run.in[i], run.paths[i], &bytes, &size);
    if (good)
        run.op->prepare(&run);
    for (uint32_t i = 0; i < INPUTS_MAX; i++)
        array_free(&run.in[i]);
    array_free(&run.out);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char text[512], *words[WORDS_MAX + 1];
    struct arguments a;
    const uint8_t *end = memchr(bytes, 0, size);
    const size_t length = end ? (size_t)(end - bytes) : size;
    if (length >= sizeof(text))
        return 0;
    memcpy(text, bytes, length);
    text[length] = '\0';
    const int n = split(text, words);
    if (arguments_read(n, words, &a) && a.n_operands > 1)
        prepare(&a, end ? end + 1 : bytes + size, end ? size - length - 1 : 0);
    return 0;
}
