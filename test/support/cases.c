/* SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Reading ---- */

/* The whole of a file, with a terminator after it; NULL after a message. */
static char *read_file(const char *path, uint64_t *bytes)
{
    char *text = NULL;
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END) != 0)
        goto fail;
    const long size = ftell(f);
    if (size < 0 || fseek(f, 0, SEEK_SET) != 0)
        goto fail;
    text = malloc((size_t)size + 1);
    if (!text || fread(text, 1, (size_t)size, f) != (size_t)size)
        goto fail;
    fclose(f);
    text[size] = 0;
    *bytes = (uint64_t)size;
    return text;

fail:
    perror(path);
    free(text);
    if (f)
        fclose(f);
    return NULL;
}

/* Cuts a line into its tokens, in place. Returns 0, or -1 when it has the wrong form. */
static int parse_line(struct case_line *line, char *text)
{
    char *save = NULL;
    line->name = strtok_r(text, " ", &save);
    line->op = strtok_r(NULL, " ", &save);
    if (!line->name || !line->op)
        return -1;
    for (char *token; (token = strtok_r(NULL, " ", &save));) {
        char *equals = strchr(token, '=');
        if (!equals && !line->n_tokens && !line->dtype) {
            line->dtype = token;
            continue;
        }
        if (!equals || line->n_tokens == CASE_TOKENS_MAX)
            return -1;
        *equals = 0;
        line->tokens[line->n_tokens].key = token;
        line->tokens[line->n_tokens++].value = equals + 1;
    }
    return 0;
}

static uint64_t count_newlines(const char *text)
{
    uint64_t n = 0;
    for (; *text; text++)
        n += *text == '\n';
    return n;
}

int cases_load(struct case_file *file, const char *text_path, const char *data_path)
{
    uint64_t text_bytes;
    memset(file, 0, sizeof(*file));
    file->text = read_file(text_path, &text_bytes);
    file->data = (unsigned char *)read_file(data_path, &file->data_bytes);
    if (!file->text || !file->data)
        goto fail;
    file->lines = calloc(count_newlines(file->text) + 1, sizeof(*file->lines));
    if (!file->lines) {
        perror(text_path);
        goto fail;
    }
    char *save = NULL;
    for (char *l = strtok_r(file->text, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
        if (*l == '#')
            continue;
        struct case_line *line = &file->lines[file->count++];
        line->file = file;
        if (parse_line(line, l) != 0) {
            fprintf(stderr, "%s: case %llu is not a case line\n", text_path,
                    (unsigned long long)file->count);
            goto fail;
        }
    }
    return 0;

fail:
    cases_unload(file);
    return -1;
}

void cases_unload(struct case_file *file)
{
    free(file->text);
    free(file->data);
    free(file->lines);
    memset(file, 0, sizeof(*file));
}

/* ---- Asking ---- */

void case_fail(const struct case_line *line, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    print_error("%s %s: %s\n", line->name, line->op, text);
    _fail(__FILE__, __LINE__);
    abort(); /* _fail has jumped out of the test */
}

const char *case_find(const struct case_line *line, const char *key)
{
    for (uint32_t i = 0; i < line->n_tokens; i++)
        if (strcmp(line->tokens[i].key, key) == 0)
            return line->tokens[i].value;
    return NULL;
}

int case_is(const struct case_line *line, const char *key, const char *value)
{
    const char *found = case_find(line, key);
    return found && strcmp(found, value) == 0;
}

const char *case_text(const struct case_line *line, const char *key)
{
    const char *value = case_find(line, key);
    if (!value)
        case_fail(line, "the line has no key %s", key);
    return value;
}

/* A decimal number that ends at *end, which moves behind it. */
static uint64_t parse_u64(const struct case_line *line, const char *text, char **end)
{
    errno = 0;
    const uint64_t value = strtoull(text, end, 10);
    if (*text < '0' || *text > '9' || errno)
        case_fail(line, "'%s' does not begin with a number", text);
    return value;
}

uint64_t case_u64(const struct case_line *line, const char *key)
{
    char *end;
    const uint64_t value = parse_u64(line, case_text(line, key), &end);
    if (*end)
        case_fail(line, "%s is not a number", key);
    return value;
}

double case_f64(const struct case_line *line, const char *key)
{
    char *end;
    const char *text = case_text(line, key);
    const double value = strtod(text, &end);
    if (end == text || *end)
        case_fail(line, "%s is not a real number", key);
    return value;
}

uint32_t case_list(const struct case_line *line, const char *key, uint64_t *out, uint32_t max)
{
    const char *text = case_text(line, key);
    if (strcmp(text, "-") == 0)
        return 0;
    uint32_t n = 0;
    for (;;) {
        char *end;
        if (n == max)
            case_fail(line, "%s has more than %u numbers", key, max);
        out[n++] = parse_u64(line, text, &end);
        if (!*end)
            return n;
        if (*end != ',')
            case_fail(line, "%s is not a list", key);
        text = end + 1;
    }
}

static const struct {
    const char *name;
    enum case_type type;
    uint32_t width;
} types[] = {
    { "f32", CASE_F32, 4 }, { "f64", CASE_F64, 8 }, { "f16", CASE_F16, 2 },
    { "u16", CASE_U16, 2 }, { "u32", CASE_U32, 4 }, { "u64", CASE_U64, 8 },
};

struct case_array case_array_if_any(const struct case_line *line, const char *key)
{
    struct case_array array = { CASE_NONE, 0, 0, NULL };
    const char *value = case_find(line, key);
    if (!value)
        return array;

    const char *colon = strchr(value, ':');
    const int typed = *value < '0' || *value > '9';
    const char *name = typed ? value : strcmp(key, "idx") == 0 ? "u64" : line->dtype;
    const size_t length = name ? strcspn(name, ":") : 0;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (length == strlen(types[i].name) && strncmp(types[i].name, name, length) == 0) {
            array.type = types[i].type;
            array.width = types[i].width;
        }
    }
    if (!array.width || !colon)
        case_fail(line, "%s=%s is not an array", key, value);

    char *end;
    const uint64_t offset = parse_u64(line, typed ? colon + 1 : value, &end);
    if (*end != ':')
        case_fail(line, "%s=%s is not an array", key, value);
    array.count = parse_u64(line, end + 1, &end);
    const uint64_t room = line->file->data_bytes;
    if (*end || offset > room || array.count > (room - offset) / array.width)
        case_fail(line, "%s=%s does not lie in the data", key, value);
    array.data = line->file->data + offset;
    return array;
}

struct case_array case_array(const struct case_line *line, const char *key)
{
    case_text(line, key);
    return case_array_if_any(line, key);
}

/* ---- Judging ---- */

double case_element(const struct case_array *like, const void *data, uint64_t i)
{
    return like->type == CASE_F64 ? ((const double *)data)[i] : (double)((const float *)data)[i];
}

static int element_passes(const struct case_array *want, const double *ref, const double *bound,
                          const void *got, uint64_t i)
{
    const size_t width = want->width;
    if (memcmp((const char *)got + i * width, (const char *)want->data + i * width, width) == 0)
        return 1;
    if (want->type != CASE_F32 && want->type != CASE_F64)
        return 0;
    const double g = case_element(want, got, i);
    const double w = case_element(want, want->data, i);
    if (isnan(w))
        return isnan(g);
    return bound && isfinite(w) && fabs(g - (ref ? ref[i] : w)) <= bound[i];
}

void case_judge(const struct case_line *line, const char *what, const struct case_array *want,
                const double *ref, const double *bound, const void *got)
{
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < want->count; i++) {
        if (element_passes(want, ref, bound, got, i) || wrong++ >= 3)
            continue;
        if (want->type != CASE_F32 && want->type != CASE_F64) {
            print_error("%s[%llu] has other bits\n", what, (unsigned long long)i);
            continue;
        }
        print_error("%s[%llu] is %a, not %a", what, (unsigned long long)i,
                    case_element(want, got, i), case_element(want, want->data, i));
        print_error(bound ? " (ref %a, bound %a)\n" : "\n", ref ? ref[i] : 0.0,
                    bound ? bound[i] : 0.0);
    }
    if (wrong)
        case_fail(line, "%s: %llu of %llu elements are wrong", what, (unsigned long long)wrong,
                  (unsigned long long)want->count);
}

/* ---- Arguments ---- */

static uint32_t code_of(const struct case_line *line, const char *key, const char *const *names)
{
    const char *value = case_text(line, key);
    for (uint32_t i = 0; names[i]; i++)
        if (strcmp(names[i], value) == 0)
            return i;
    case_fail(line, "%s=%s is no known name", key, value);
}

uint32_t case_unary_op(const struct case_line *line, const char *key)
{
    static const char *const names[] = { "relu", "sigmoid", "tanh", "exp", "log",
                                         "sqrt", "abs",     "neg",  NULL };
    return code_of(line, key, names);
}

uint32_t case_binary_op(const struct case_line *line, const char *key)
{
    static const char *const names[] = { "add", "sub", "mul", "div", "max", "min", NULL };
    return code_of(line, key, names);
}

uint32_t case_reduce_op(const struct case_line *line, const char *key)
{
    static const char *const names[] = { "sum", "max", "min", "mean", NULL };
    return code_of(line, key, names);
}

static const char *const transposes[] = { "N", "T", "C", NULL };
static const char *const precisions[] = { "f16", "bf16", NULL };

/* The three argument structs of gemm have these fields in common, and no type for them. */
#define READ_GEMM(line, args)                                                                      \
    do {                                                                                           \
        (args)->trans_a = code_of(line, "ta", transposes);                                         \
        (args)->trans_b = code_of(line, "tb", transposes);                                         \
        (args)->m = case_u64(line, "m");                                                           \
        (args)->n = case_u64(line, "n");                                                           \
        (args)->k = case_u64(line, "k");                                                           \
        (args)->alpha = case_f64(line, "alpha");                                                   \
        (args)->beta = case_f64(line, "beta");                                                     \
        (args)->lda = case_u64(line, "lda");                                                       \
        (args)->ldb = case_u64(line, "ldb");                                                       \
        (args)->ldc = case_u64(line, "ldc");                                                       \
    } while (0)

void case_gemm(const struct case_line *line, cb_gemm_args *args)
{
    cb_gemm_args_init(args);
    READ_GEMM(line, args);
}

void case_gemm_mixed(const struct case_line *line, cb_gemm_mixed_precision_args *args)
{
    cb_gemm_mixed_precision_args_init(args);
    READ_GEMM(line, args);
    args->precision = code_of(line, "prec", precisions);
}

void case_batched_gemm(const struct case_line *line, cb_batched_gemm_args *args)
{
    cb_batched_gemm_args_init(args);
    READ_GEMM(line, args);
    args->batch = case_find(line, "batch") ? case_u64(line, "batch") : 1;
}

void case_skip_if_unsupported(const struct case_line *line, cb_status status, const cb_error *err)
{
    if (status == CB_UNSUPPORTED && getenv("CB_TEST_PLUGIN"))
        test_skip(line->name, err->msg);
}
