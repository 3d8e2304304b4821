/* SPDX-License-Identifier: Apache-2.0 */
/* usage: bench_clblast OPENCL_PLUGIN [N...]
 * Times gemm of N x N x N in f32 and f64, the plugin's beside CLBlast's, on the plugin's device 0
 * and the first device of the first platform. For each: the first call, from the creation of an
 * instance or a context to the end of a gemm, and GFLOP/s of the best of several calls. Compilers
 * keep what they built: an empty folder in POCL_CACHE_DIR shows a cold start. */
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <clblast_c.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "compute_backend.h"

#define SECONDS 1.5 /* for the best of several calls */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

struct result {
    double first, best; /* seconds */
};

/* One way to run a gemm, and what it works with. */
struct way {
    int (*open)(struct way *way, int f64, size_t n, const void *data);
    int (*run)(struct way *way, int f64, size_t n);
    void (*close)(struct way *way);
    const compute_backend_v1 *api;
    void *self;
    uint64_t ptr[3];
    cl_context context;
    cl_command_queue queue;
    cl_mem mem[3];
};

/* ---- the plugin ---- */

static int plugin_open(struct way *w, int f64, size_t n, const void *data)
{
    cb_create_args args;
    cb_error err;
    cb_backend be = { w->api, NULL };
    const uint64_t bytes = n * n * (f64 ? 8 : 4);
    cb_create_args_init(&args);
    cb_error_init(&err);
    int failed = be.api->create(&args, &be.self, &err) || be.api->init(be.self, 0, &err);
    for (int i = 0; i < 3 && !failed; i++)
        failed =
            cb_alloc(be, bytes, &w->ptr[i], &err) || cb_upload(be, w->ptr[i], data, bytes, &err);
    w->self = be.self;
    if (failed)
        fprintf(stderr, "%s\n", err.msg);
    return failed;
}

static int plugin_run(struct way *w, int f64, size_t n)
{
    const cb_gemm_args args = { CB_ARGS(cb_gemm_args),
                                .dtype = f64 ? CB_F64 : CB_F32,
                                .m = n,
                                .n = n,
                                .k = n,
                                .alpha = 1,
                                .a = w->ptr[0],
                                .lda = n,
                                .b = w->ptr[1],
                                .ldb = n,
                                .c = w->ptr[2],
                                .ldc = n };
    cb_error err;
    cb_error_init(&err);
    const int failed = w->api->gemm(w->self, &args, &err) || w->api->synchronize(w->self, &err);
    if (failed)
        fprintf(stderr, "%s\n", err.msg);
    return failed;
}

static void plugin_close(struct way *w)
{
    w->api->destroy(w->self);
}

/* ---- CLBlast ---- */

static int clblast_open(struct way *w, int f64, size_t n, const void *data)
{
    cl_platform_id platform;
    cl_device_id device;
    const size_t bytes = n * n * (f64 ? 8 : 4);
    if (clGetPlatformIDs(1, &platform, NULL) ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
        return 1;
    w->context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    w->queue = w->context ? clCreateCommandQueue(w->context, device, 0, NULL) : NULL;
    for (int i = 0; i < 3 && w->queue; i++) {
        w->mem[i] = clCreateBuffer(w->context, CL_MEM_READ_WRITE, bytes, NULL, NULL);
        clEnqueueWriteBuffer(w->queue, w->mem[i], CL_TRUE, 0, bytes, data, 0, NULL, NULL);
    }
    return !w->queue;
}

static int clblast_run(struct way *w, int f64, size_t n)
{
    const CLBlastStatusCode code =
        f64 ? CLBlastDgemm(CLBlastLayoutColMajor, CLBlastTransposeNo, CLBlastTransposeNo, n, n, n,
                           1, w->mem[0], 0, n, w->mem[1], 0, n, 0, w->mem[2], 0, n, &w->queue, NULL)
            : CLBlastSgemm(CLBlastLayoutColMajor, CLBlastTransposeNo, CLBlastTransposeNo, n, n, n,
                           1, w->mem[0], 0, n, w->mem[1], 0, n, 0, w->mem[2], 0, n, &w->queue,
                           NULL);
    return code || clFinish(w->queue);
}

static void clblast_close(struct way *w)
{
    for (int i = 0; i < 3; i++)
        clReleaseMemObject(w->mem[i]);
    clReleaseCommandQueue(w->queue);
    clReleaseContext(w->context);
    CLBlastClearCache();
}

/* ---- measuring ---- */

static int measure(struct way *w, int f64, size_t n, const void *data, struct result *out)
{
    const double start = now();
    if (w->open(w, f64, n, data) || w->run(w, f64, n))
        return 1;
    out->first = now() - start;
    out->best = out->first;
    for (const double end = now() + SECONDS; now() < end;) {
        const double before = now();
        if (w->run(w, f64, n))
            return 1;
        const double seconds = now() - before;
        out->best = seconds < out->best ? seconds : out->best;
    }
    w->close(w);
    return 0;
}

static const compute_backend_v1 *table_of(const char *path)
{
    cb_negotiation negotiation;
    cb_plugin_entry_fn entry;
    cb_negotiation_init(&negotiation);
    void *dl = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!dl) {
        fprintf(stderr, "%s\n", dlerror());
        return NULL;
    }
    *(void **)&entry = dlsym(dl, CB_PLUGIN_SYMBOL);
    return entry && entry(&negotiation) == CB_OK ? negotiation.table : NULL;
}

static void *random_data(size_t n, int f64)
{
    double *data = malloc(n * n * sizeof(double));
    for (size_t i = 0; data && i < n * n; i++) {
        const double x = (double)rand() / RAND_MAX - 0.5;
        if (f64)
            data[i] = x;
        else
            ((float *)data)[i] = (float)x;
    }
    return data;
}

int main(int argc, char **argv)
{
    static char *sizes[] = { "256", "512", "1024", NULL };
    char **at = argc > 2 ? argv + 2 : sizes;
    struct way plugin = { plugin_open, plugin_run, plugin_close, .api = NULL };
    struct way clblast = { clblast_open, clblast_run, clblast_close, .api = NULL };
    plugin.api = argc > 1 ? table_of(argv[1]) : NULL;
    if (!plugin.api) {
        fprintf(stderr, "usage: bench_clblast OPENCL_PLUGIN [N...]\n");
        return 2;
    }
    printf("%-5s %-5s %12s %12s %12s %12s\n", "type", "n", "ours GF/s", "CLBlast GF/s",
           "ours first s", "CLBlast first");
    for (; *at; at++)
        for (int f64 = 0; f64 < 2; f64++) {
            const size_t n = strtoul(*at, NULL, 10);
            const double flops = 2e-9 * (double)n * (double)n * (double)n;
            struct result ours, theirs;
            void *data = random_data(n, f64);
            if (!data || measure(&plugin, f64, n, data, &ours) ||
                measure(&clblast, f64, n, data, &theirs))
                return 1;
            free(data);
            printf("%-5s %-5zu %12.1f %12.1f %12.3f %12.3f\n", f64 ? "f64" : "f32", n,
                   flops / ours.best, flops / theirs.best, ours.first, theirs.first);
            fflush(stdout);
        }
    return 0;
}
