/* SPDX-License-Identifier: Apache-2.0 */
#include "bench.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NS 1e9

/* ---- what all formats tell ---- */

static const char *unit_of(const struct bench_case *c)
{
    return c->flops > 0.0 ? "GFLOP/s" : "GB/s";
}

static double rate_of(const struct bench_case *c, const struct column *col)
{
    return (c->flops > 0.0 ? c->flops : c->bytes) / col->median * 1e-9;
}

/* As many times as fast as the first column. 0: the first was not measured. */
static double ratio_of(const struct bench *b, const struct column *col)
{
    return b->columns[0].state == BENCH_MEASURED ? b->columns[0].median / col->median : 0.0;
}

static const char *state_of(const struct column *col)
{
    switch (col->state) {
    case BENCH_MEASURED: return col->error <= 1.0 ? "measured" : "wrong";
    case BENCH_UNSUPPORTED: return "unsupported";
    case BENCH_FAILED: return "failed";
    }
    return "";
}

/* ---- text ---- */

#define NAME_WIDTH 32

/* The end of a name tells more than its beginning. */
static void print_name(const char *name)
{
    const uint64_t size = strlen(name);
    const bool cut = size > NAME_WIDTH;
    printf("  %s%-*s ", cut ? "..." : "", NAME_WIDTH - (cut ? 3 : 0),
           cut ? name + size - (NAME_WIDTH - 3) : name);
}

static void text_begin(struct bench *b)
{
    for (const struct column *col = b->columns; col < b->columns + b->n_columns; col++) {
        printf("# %s: ", col->name);
        print_text(col->facts);
        putchar('\n');
    }
    printf("# median and lower quartile of %u interleaved repetitions; rate of the median; speed\n"
           "# as a multiple of the first line's; largest error as a part of the contract's bound\n",
           (unsigned)b->reps);
}

static void text_case(struct bench *b, const struct bench_case *c)
{
    printf("\n%s %s %s\n", bench_op_name(c->op), cb_dtype_name(c->dtype), c->words);
    for (const struct column *col = b->columns; col < b->columns + b->n_columns; col++) {
        print_name(col->name);
        if (col->state == BENCH_MEASURED) {
            printf("%10.4f ms %10.4f ms %9.2f %-7s %6.2fx  error %.3f%s\n", col->median * 1e3,
                   col->quartile * 1e3, rate_of(c, col), unit_of(c), ratio_of(b, col), col->error,
                   col->error <= 1.0 ? "" : ", which is WRONG");
            continue;
        }
        printf("%s: ", state_of(col));
        print_text(col->why);
        putchar('\n');
    }
    fflush(stdout);
}

static bool text_end(struct bench *b)
{
    (void)b;
    return true;
}

/* ---- CSV ---- */

static void csv_begin(struct bench *b)
{
    (void)b;
    puts("op,dtype,shape,column,state,repetitions,calls,median_ms,quartile_ms,rate,unit,ratio,"
         "error,reason");
}

static void csv_quoted(const char *text)
{
    putchar('"');
    for (; *text; text++) {
        const char letter[] = { *text, '\0' };
        print_text(letter);
        if (*text == '"')
            putchar('"');
    }
    putchar('"');
}

static void csv_case(struct bench *b, const struct bench_case *c)
{
    for (const struct column *col = b->columns; col < b->columns + b->n_columns; col++) {
        printf("%s,%s,", bench_op_name(c->op), cb_dtype_name(c->dtype));
        csv_quoted(c->words);
        putchar(',');
        csv_quoted(col->name);
        printf(",%s,", state_of(col));
        if (col->state == BENCH_MEASURED)
            printf("%u,%llu,%.6f,%.6f,%.4f,%s,%.4f,%.4g,", (unsigned)col->reps,
                   (unsigned long long)col->calls, col->median * 1e3, col->quartile * 1e3,
                   rate_of(c, col), unit_of(c), ratio_of(b, col), col->error);
        else
            printf(",,,,,,,,");
        csv_quoted(col->state == BENCH_MEASURED ? "" : col->why);
        putchar('\n');
    }
    fflush(stdout);
}

/* ---- JSON ---- */

static void json_begin(struct bench *b)
{
    struct json *j = &b->json;
    j->t = &b->text;
    cbl_json_begin(j);
    cbl_json_open(j, "columns", '[');
    for (const struct column *col = b->columns; col < b->columns + b->n_columns; col++) {
        cbl_json_open(j, NULL, '{');
        cbl_json_string(j, "name", col->name);
        cbl_json_string(j, "facts", col->facts);
        cbl_json_close(j, '}');
    }
    cbl_json_close(j, ']');
    cbl_json_open(j, "cases", '[');
}

/* With three decimals, of a value that may be infinite. */
static void json_real(struct json *j, const char *key, double value)
{
    cbl_json_number(j, key, (uint64_t)((value < 1e12 ? value : 1e12) * 1e3 + 0.5), 1000);
}

static void json_column(struct bench *b, const struct bench_case *c, const struct column *col)
{
    struct json *j = &b->json;
    cbl_json_open(j, NULL, '{');
    cbl_json_string(j, "name", col->name);
    cbl_json_string(j, "state", state_of(col));
    if (col->state == BENCH_MEASURED) {
        cbl_json_number(j, "repetitions", col->reps, 1);
        cbl_json_number(j, "calls", col->calls, 1);
        json_real(j, "median_ns", col->median * NS);
        json_real(j, "quartile_ns", col->quartile * NS);
        json_real(j, "rate", rate_of(c, col));
        json_real(j, "ratio", ratio_of(b, col));
        json_real(j, "error", col->error);
    } else {
        cbl_json_string(j, "reason", col->why);
    }
    cbl_json_close(j, '}');
}

static void json_case(struct bench *b, const struct bench_case *c)
{
    struct json *j = &b->json;
    cbl_json_open(j, NULL, '{');
    cbl_json_string(j, "op", bench_op_name(c->op));
    cbl_json_string(j, "dtype", cb_dtype_name(c->dtype));
    cbl_json_string(j, "shape", c->words);
    cbl_json_string(j, "unit", unit_of(c));
    cbl_json_open(j, "columns", '[');
    for (const struct column *col = b->columns; col < b->columns + b->n_columns; col++)
        json_column(b, c, col);
    cbl_json_close(j, ']');
    cbl_json_close(j, '}');
}

static bool json_end(struct bench *b)
{
    cbl_json_close(&b->json, ']');
    cbl_json_close(&b->json, '}');
    const bool good = !b->text.failed;
    if (good)
        puts(cbl_text(&b->text));
    cbl_text_free(&b->text);
    return good;
}

/* ---- which ---- */

const struct bench_printer *bench_printer_of(const struct arguments *a)
{
    static const struct bench_printer text = { text_begin, text_case, text_end },
                                      csv = { csv_begin, csv_case, text_end },
                                      json = { json_begin, json_case, json_end };
    return a->options & OPTION_JSON ? &json : a->options & OPTION_CSV ? &csv : &text;
}

void bench_progress(const struct bench *b, const struct bench_case *c, uint32_t rep)
{
    if (!isatty(STDERR_FILENO))
        return;
    fputs("\r\033[K", stderr);
    if (c)
        fprintf(stderr, "%llu of %llu: %s %s %s, repetition %u of %u",
                (unsigned long long)b->done + 1, (unsigned long long)b->cases, bench_op_name(c->op),
                cb_dtype_name(c->dtype), c->words, (unsigned)rep, (unsigned)b->reps);
    fflush(stderr);
}
