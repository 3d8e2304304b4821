/* SPDX-License-Identifier: Apache-2.0 */
/* peerbench: times packaged CPU math libraries side by side. README.md tells how it is used. */
#include "bench.h"

#include <dlfcn.h>
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPENBLAS_PATH "/usr/lib/x86_64-linux-gnu/openblas-pthread/libopenblas.so.0"
#define BLIS_PATH     "/usr/lib/x86_64-linux-gnu/blis-openmp/libblis.so.4"
#define THREADS_MAX   16
#define PLUGINS_MAX   8

int g_threads = 1;

struct options {
    const char *threads, *cpu, *reps, *min_ms, *sections, *filter, *peers, *csv, *tag, *blas;
    const char *plugins[PLUGINS_MAX];
    int n_plugins;
    bool list;
};

/* ---- the command line ---- */

static bool read_options(int argc, char **argv, struct options *o)
{
    const struct {
        const char *name, **value;
    } rows[] = {
        { "-t", &o->threads },  { "-c", &o->cpu },      { "-r", &o->reps },  { "-m", &o->min_ms },
        { "-s", &o->sections }, { "-f", &o->filter },   { "-p", &o->peers }, { "-o", &o->csv },
        { "--tag", &o->tag },   { "--blas", &o->blas },
    };
    for (int i = 1; i < argc; i++) {
        size_t row = 0;
        if (!strcmp(argv[i], "--list")) {
            o->list = true;
            continue;
        }
        while (row < sizeof(rows) / sizeof(rows[0]) && strcmp(argv[i], rows[row].name) != 0)
            row++;
        const bool plugin = !strcmp(argv[i], "--plugin") && o->n_plugins < PLUGINS_MAX;
        if (i + 1 == argc || (row == sizeof(rows) / sizeof(rows[0]) && !plugin)) {
            fprintf(stderr, "bad option %s\n", argv[i]);
            return false;
        }
        if (plugin)
            o->plugins[o->n_plugins++] = argv[++i];
        else
            *rows[row].value = argv[++i];
    }
    return true;
}

static int clamp(const char *text, int most)
{
    const int n = atoi(text);
    return n < 1 ? 1 : n > most ? most : n;
}

static bool in_list(const char *list, const char *word)
{
    const size_t n = strlen(word);
    for (const char *p = list; p && *p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
        if (!strncmp(p, word, n) && (p[n] == '\0' || p[n] == ','))
            return true;
    return !list;
}

/* ---- peers ---- */

/* One thread stays on one CPU; the libraries learn how many they are to have. */
static void set_threads(const struct options *o)
{
    char text[16];
    snprintf(text, sizeof(text), "%d", g_threads);
    if (g_threads == 1) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(atoi(o->cpu), &set);
        sched_setaffinity(0, sizeof(set), &set);
    }
    setenv("OPENBLAS_NUM_THREADS", text, 1);
    setenv("BLIS_NUM_THREADS", text, 1);
    /* A power of two of clock ticks: by default OpenBLAS's workers would spin through the turns of
     * the peers that follow, for 100 ms and more. Within its own turn they never sleep. */
    setenv("OPENBLAS_THREAD_TIMEOUT", "24", 0);
    omp_set_num_threads(g_threads);
}

static void load_blas(const struct options *o)
{
    /* BLIS 0.9 counts vector units by the name of the CPU, and takes its haswell kernels where a
     * virtual machine has a name that tells nothing; 0 is skx. OpenBLAS 0.3.21 takes its oldest
     * kernels on a model that is newer than itself. */
    if (__builtin_cpu_supports("avx512f")) {
        setenv("BLIS_ARCH_TYPE", "0", 0);
        setenv("OPENBLAS_CORETYPE", "SkylakeX", 0);
    }
    blas_load("openblas", OPENBLAS_PATH, g_threads);
    blas_load("blis", BLIS_PATH, g_threads);
    if (o->blas)
        blas_load("user", o->blas, g_threads);
}

static void add_peers(struct plan *plan, const pb_peer *const *list)
{
    while (*list && plan->n_peers < PEERS_MAX)
        plan->peers[plan->n_peers++] = *list++;
}

static bool add_plugin(struct plan *plan, const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const pb_peer *const *(*entry)(int) = NULL;
    if (library)
        *(void **)&entry = dlsym(library, "pb_plugin");
    const pb_peer *const *list = entry ? entry(PB_ABI) : NULL;
    if (list)
        add_peers(plan, list);
    else
        fprintf(stderr, "cannot load %s: %s\n", path, library ? "no peers" : dlerror());
    return list != NULL;
}

static bool gather_peers(const struct options *o, struct plan *plan)
{
    const pb_peer *const *const lists[] = { machine_peers, blas_peers, dnnl_peers, vector_peers,
                                            attention_peers };
    set_threads(o);
    load_blas(o);
    if (!dnnl_open())
        return false;
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        add_peers(plan, lists[i]);
    for (int i = 0; i < o->n_plugins; i++)
        if (!add_plugin(plan, o->plugins[i]))
            return false;
    return true;
}

/* ---- results ---- */

static const char *verdict(const pb_case *c, double error)
{
    const bool mixed = c->dt == PB_MIX_BF16 || c->dt == PB_MIX_F16;
    return error <= tolerance(c) ? "" : error < 5e-3 && mixed ? "other-rounding" : "BAD";
}

static void print_case(const struct plan *plan, const pb_case *c, const struct figures *all,
                       FILE *csv)
{
    const double work = (c->flops > 0 ? c->flops : c->bytes) * 1e-6;
    const char *unit = c->flops > 0 ? "GFLOP/s" : "GB/s";
    for (int p = 0; p < plan->n_peers; p++) {
        const struct figures *f = &all[p];
        char name[64];
        if (!f->measured)
            continue;
        snprintf(name, sizeof(name), "%s%s", plan->peers[p]->name, plan->tag);
        printf("%-17s %-34s %-8s %2d %-20s %10.4f %10.4f %10.4f %9.2f %-7s %8.1e  %s\n", c->name,
               c->shape, dt_name(c->dt), g_threads, name, f->median, f->quartile, f->best,
               work / f->median, unit, f->error, verdict(c, f->error));
        if (csv)
            fprintf(csv, "%s,\"%s\",%s,%d,%s,%.5f,%.5f,%.5f,%.3f,%s,%.2e,%s\n", c->name, c->shape,
                    dt_name(c->dt), g_threads, name, f->median, f->quartile, f->best,
                    work / f->median, unit, f->error, verdict(c, f->error));
    }
    fflush(stdout);
    if (csv)
        fflush(csv);
}

static bool open_csv(const char *path, FILE **out)
{
    *out = path ? fopen(path, "a") : NULL;
    if (path && !*out) {
        perror(path);
        return false;
    }
    if (*out && ftell(*out) == 0)
        fputs("op,shape,dtype,threads,peer,median_ms,quartile_ms,best_ms,rate,unit,error,verdict\n",
              *out);
    return true;
}

static void measure_all(const struct options *o, const struct plan *plan, FILE *csv)
{
    struct figures figures[PEERS_MAX];
    printf("%-17s %-34s %-8s %2s %-20s %10s %10s %10s %9s %-7s %8s\n", "op", "shape", "dtype", "t",
           "peer", "median_ms", "quartile", "best", "rate", "unit", "error");
    for (int i = 0; i < g_ncases; i++) {
        pb_case *c = &g_cases[i];
        char name[160];
        snprintf(name, sizeof(name), "%s %s %s", c->name, c->shape, dt_name(c->dt));
        if (!in_list(o->sections, g_sec[i]) || (o->filter && !strstr(name, o->filter)))
            continue;
        fill(c);
        measure(plan, c, figures);
        print_case(plan, c, figures, csv);
        drop(c);
    }
}

int main(int argc, char **argv)
{
    struct options o = { .threads = "1", .cpu = "0", .reps = "15", .min_ms = "15", .tag = "" };
    struct plan plan = { 0 };
    FILE *csv;
    if (!read_options(argc, argv, &o))
        return 2;
    g_threads = clamp(o.threads, THREADS_MAX);
    plan.reps = clamp(o.reps, REPS_MAX);
    plan.min_ms = atof(o.min_ms);
    plan.only = o.peers;
    plan.tag = o.tag;
    make_cases();
    if (o.list) {
        for (int i = 0; i < g_ncases; i++)
            printf("%-9s %-17s %-9s %s\n", g_sec[i], g_cases[i].name, dt_name(g_cases[i].dt),
                   g_cases[i].shape);
        return 0;
    }
    if (!gather_peers(&o, &plan) || !open_csv(o.csv, &csv))
        return 1;
    measure_all(&o, &plan, csv);
    if (csv)
        fclose(csv);
    return 0;
}
