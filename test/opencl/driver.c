/* SPDX-License-Identifier: Apache-2.0 */
#include "driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#define CALLED_MAX 64
#define HELD_MAX   256

static struct {
    const char *function; /* NULL: any */
    uint64_t after;
    cl_int code; /* 0: nothing is to fail */
    int failed;
    cl_int held_code; /* 0: no command is to be held */
    int at_once;
    cl_event held[HELD_MAX]; /* the first fails with late_code, the others waited for it */
    int n_held;
    cl_int late_code;
    uint64_t fp_lack, fp_lack_once, fp_claim;
    int no_doubles, no_devices;
    const char *source, *folder;
    unsigned dumped;
    struct {
        const char *function;
        uint64_t n;
    } called[CALLED_MAX];
} driver;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards driver */

static void *real(const char *function)
{
    void *library = dlopen(REAL_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    void *found = library ? dlsym(library, function) : NULL;
    if (!found) {
        fprintf(stderr, "%s has no %s\n", REAL_LIBRARY, function);
        abort();
    }
    return found;
}

/* Counts a call, and says with which code it fails; 0: it does not. */
static cl_int enter(const char *function, int may_fail)
{
    int i = 0;
    cl_int code = 0;
    pthread_mutex_lock(&lock);
    while (driver.called[i].function && strcmp(driver.called[i].function, function))
        i++;
    driver.called[i].function = function;
    driver.called[i].n++;
    const int meant = driver.function ? !strcmp(driver.function, function) : may_fail;
    if (driver.code && !driver.failed && meant && driver.after-- == 0) {
        driver.failed = 1;
        code = driver.code;
    }
    pthread_mutex_unlock(&lock);
    return code;
}

void driver_fail(const char *function, uint64_t after, int32_t code)
{
    driver.function = function;
    driver.after = after;
    driver.code = code;
    driver.failed = 0;
}

int driver_failed_by_now(void)
{
    return driver.failed;
}

int driver_failed(void)
{
    const int failed = driver.failed;
    driver.code = 0;
    driver.failed = 0;
    return failed;
}

uint64_t driver_calls(const char *function)
{
    for (int i = 0; i < CALLED_MAX && driver.called[i].function; i++)
        if (!strcmp(driver.called[i].function, function))
            return driver.called[i].n;
    return 0;
}

void driver_hold(int32_t code)
{
    driver.held_code = code;
    driver.at_once = 0;
}

void driver_spoil(int32_t code)
{
    driver.held_code = code;
    driver.at_once = 1;
}

/* The lock is held. */
static void let_go(void)
{
    cl_int (*set)(cl_event, cl_int);
    cl_int (*release)(cl_event);
    *(void **)&set = real("clSetUserEventStatus");
    *(void **)&release = real("clReleaseEvent");
    for (int i = 0; i < driver.n_held; i++) {
        set(driver.held[i], i ? CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST : driver.late_code);
        release(driver.held[i]);
    }
    driver.n_held = 0;
}

void driver_let_go(void)
{
    pthread_mutex_lock(&lock);
    let_go();
    pthread_mutex_unlock(&lock);
}

static int waits_for_held(cl_uint n, const cl_event *waits)
{
    for (cl_uint i = 0; i < n; i++)
        for (int j = 0; j < driver.n_held; j++)
            if (waits[i] == driver.held[j])
                return 1;
    return 0;
}

/* True: an event that driver_let_go finishes takes the place of the command's. The lock is held. */
static int take(cl_command_queue queue, cl_uint n, const cl_event *waits, cl_event *event)
{
    cl_int (*get)(cl_command_queue, cl_command_queue_info, size_t, void *, size_t *);
    cl_event (*create)(cl_context, cl_int *);
    cl_int (*retain)(cl_event);
    cl_context context;
    cl_int code;
    const int first = driver.held_code != 0;
    if (!first && !waits_for_held(n, waits))
        return 0;
    if (driver.n_held == HELD_MAX)
        abort();
    *(void **)&get = real("clGetCommandQueueInfo");
    *(void **)&create = real("clCreateUserEvent");
    *(void **)&retain = real("clRetainEvent");
    get(queue, CL_QUEUE_CONTEXT, sizeof(context), &context, NULL);
    *event = driver.held[driver.n_held++] = create(context, &code);
    retain(*event);
    if (first)
        driver.late_code = driver.held_code;
    driver.held_code = 0;
    if (first && driver.at_once)
        let_go();
    return 1;
}

static int hold(cl_command_queue queue, cl_uint n, const cl_event *waits, cl_event *event)
{
    pthread_mutex_lock(&lock);
    const int held = take(queue, n, waits, event);
    pthread_mutex_unlock(&lock);
    return held;
}

void driver_lack(uint64_t single_fp_config, int doubles)
{
    driver.fp_lack = single_fp_config;
    driver.no_doubles = doubles;
}

void driver_lack_once(uint64_t single_fp_config)
{
    driver.fp_lack_once = single_fp_config;
}

void driver_claim(uint64_t single_fp_config)
{
    driver.fp_claim = single_fp_config;
}

void driver_break_sources(const char *text)
{
    driver.source = text;
}

void driver_dump(const char *folder)
{
    driver.folder = folder;
}

static void dump(const char *suffix, cl_uint n, const char *const *texts)
{
    char path[4096];
    if (!driver.folder)
        return;
    snprintf(path, sizeof(path), "%s/%03u.%s", driver.folder, driver.dumped, suffix);
    FILE *f = fopen(path, "w");
    if (!f)
        abort();
    for (cl_uint i = 0; i < n; i++)
        fputs(texts[i], f);
    fclose(f);
}

void driver_no_devices(void)
{
    driver.no_devices = 1;
}

void driver_reset(void)
{
    driver_let_go();
    memset(&driver, 0, sizeof(driver));
}

/* ---- the library's functions ---- */

#define PUBLIC __attribute__((visibility("default")))

#define LOOK_UP(name)                                                                              \
    __typeof__(name) *next;                                                                        \
    *(void **)&next = real(#name)

/* A function that returns a code. */
#define PASS(name, may_fail, parameters, arguments)                                                \
    PUBLIC cl_int name parameters                                                                  \
    {                                                                                              \
        LOOK_UP(name);                                                                             \
        const cl_int code = enter(#name, may_fail);                                                \
        return code ? code : next arguments;                                                       \
    }

/* One that returns what it made, and gives the code through its last parameter. */
#define PASS_MAKER(type, name, parameters, arguments)                                              \
    PUBLIC type name parameters                                                                    \
    {                                                                                              \
        LOOK_UP(name);                                                                             \
        const cl_int failed = enter(#name, 1);                                                     \
        if (!failed)                                                                               \
            return next arguments;                                                                 \
        *code = failed;                                                                            \
        return NULL;                                                                               \
    }

/* One that enqueues a command, which can be held. */
#define PASS_COMMAND(name, parameters, arguments)                                                  \
    PUBLIC cl_int name parameters                                                                  \
    {                                                                                              \
        LOOK_UP(name);                                                                             \
        const cl_int code = enter(#name, 1);                                                       \
        if (code)                                                                                  \
            return code;                                                                           \
        return hold(queue, n, waits, event) ? CL_SUCCESS : next arguments;                         \
    }

/* clang-format off */
PASS(clGetPlatformIDs, 0, (cl_uint n, cl_platform_id *ids, cl_uint *found), (n, ids, found))
PASS(clGetPlatformInfo, 0, (cl_platform_id id, cl_platform_info what, size_t size, void *out,
     size_t *length), (id, what, size, out, length))
PASS(clGetProgramBuildInfo, 0, (cl_program program, cl_device_id id, cl_program_build_info what,
     size_t size, void *out, size_t *length), (program, id, what, size, out, length))
PASS(clGetEventInfo, 0, (cl_event event, cl_event_info what, size_t size, void *out,
     size_t *length), (event, what, size, out, length))
PASS(clGetEventProfilingInfo, 0, (cl_event event, cl_profiling_info what, size_t size, void *out,
     size_t *length), (event, what, size, out, length))
PASS(clReleaseContext, 0, (cl_context context), (context))
PASS(clReleaseCommandQueue, 0, (cl_command_queue queue), (queue))
PASS(clReleaseMemObject, 0, (cl_mem mem), (mem))
PASS(clReleaseProgram, 0, (cl_program program), (program))
PASS(clReleaseKernel, 0, (cl_kernel kernel), (kernel))
PASS(clReleaseEvent, 0, (cl_event event), (event))
PASS(clRetainEvent, 0, (cl_event event), (event))
PASS(clWaitForEvents, 0, (cl_uint n, const cl_event *events), (n, events))
PASS(clFlush, 0, (cl_command_queue queue), (queue))
PASS(clFinish, 0, (cl_command_queue queue), (queue))
PASS(clSetKernelArg, 1, (cl_kernel kernel, cl_uint i, size_t size, const void *value),
     (kernel, i, size, value))

PASS_MAKER(cl_context, clCreateContext, (const cl_context_properties *properties, cl_uint n,
           const cl_device_id *ids, void (CL_CALLBACK *notify)(const char *, const void *, size_t,
           void *), void *data, cl_int *code), (properties, n, ids, notify, data, code))
PASS_MAKER(cl_command_queue, clCreateCommandQueue, (cl_context context, cl_device_id id,
           cl_command_queue_properties properties, cl_int *code), (context, id, properties, code))
PASS_MAKER(cl_mem, clCreateBuffer, (cl_context context, cl_mem_flags flags, size_t size,
           void *host, cl_int *code), (context, flags, size, host, code))
PASS_MAKER(cl_kernel, clCreateKernel, (cl_program program, const char *name, cl_int *code),
           (program, name, code))

PASS_COMMAND(clEnqueueNDRangeKernel, (cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
             const size_t *offset, const size_t *global, const size_t *local, cl_uint n,
             const cl_event *waits, cl_event *event),
             (queue, kernel, dimensions, offset, global, local, n, waits, event))
PASS_COMMAND(clEnqueueReadBuffer, (cl_command_queue queue, cl_mem mem, cl_bool blocks,
             size_t offset, size_t size, void *to, cl_uint n, const cl_event *waits,
             cl_event *event), (queue, mem, blocks, offset, size, to, n, waits, event))
PASS_COMMAND(clEnqueueWriteBuffer, (cl_command_queue queue, cl_mem mem, cl_bool blocks,
             size_t offset, size_t size, const void *from, cl_uint n, const cl_event *waits,
             cl_event *event), (queue, mem, blocks, offset, size, from, n, waits, event))
PASS_COMMAND(clEnqueueCopyBuffer, (cl_command_queue queue, cl_mem from, cl_mem to,
             size_t from_offset, size_t to_offset, size_t size, cl_uint n, const cl_event *waits,
             cl_event *event),
             (queue, from, to, from_offset, to_offset, size, n, waits, event))
PASS_COMMAND(clEnqueueFillBuffer, (cl_command_queue queue, cl_mem mem, const void *pattern,
             size_t pattern_size, size_t offset, size_t size, cl_uint n, const cl_event *waits,
             cl_event *event), (queue, mem, pattern, pattern_size, offset, size, n, waits, event))
PASS_COMMAND(clEnqueueMarkerWithWaitList, (cl_command_queue queue, cl_uint n,
             const cl_event *waits, cl_event *event), (queue, n, waits, event))
PASS_COMMAND(clEnqueueBarrierWithWaitList, (cl_command_queue queue, cl_uint n,
             const cl_event *waits, cl_event *event), (queue, n, waits, event))
/* clang-format on */

PUBLIC cl_int clGetDeviceIDs(cl_platform_id platform, cl_device_type type, cl_uint n,
                             cl_device_id *ids, cl_uint *found)
{
    LOOK_UP(clGetDeviceIDs);
    const cl_int code = driver.no_devices ? CL_DEVICE_NOT_FOUND : enter("clGetDeviceIDs", 0);
    return code ? code : next(platform, type, n, ids, found);
}

PUBLIC cl_int clGetDeviceInfo(cl_device_id id, cl_device_info what, size_t size, void *out,
                              size_t *length)
{
    LOOK_UP(clGetDeviceInfo);
    cl_int code = enter("clGetDeviceInfo", 0);
    if (!code)
        code = next(id, what, size, out, length);
    if (code == CL_SUCCESS && what == CL_DEVICE_SINGLE_FP_CONFIG && out) {
        *(cl_device_fp_config *)out |= driver.fp_claim;
        *(cl_device_fp_config *)out &= ~(driver.fp_lack | driver.fp_lack_once);
        driver.fp_lack_once = 0;
    }
    if (code == CL_SUCCESS && what == CL_DEVICE_DOUBLE_FP_CONFIG && out && driver.no_doubles)
        *(cl_device_fp_config *)out = 0;
    return code;
}

PUBLIC cl_program clCreateProgramWithSource(cl_context context, cl_uint n, const char **texts,
                                            const size_t *lengths, cl_int *code)
{
    LOOK_UP(clCreateProgramWithSource);
    const char *all[16];
    *code = enter("clCreateProgramWithSource", 1);
    if (*code)
        return NULL;
    driver.dumped++;
    dump("cl", n, texts);
    if (!driver.source || lengths || n > 15)
        return next(context, n, texts, lengths, code);
    memcpy(all, texts, n * sizeof(*texts));
    all[n] = driver.source;
    return next(context, n + 1, all, NULL, code);
}

PUBLIC cl_int clBuildProgram(cl_program program, cl_uint n, const cl_device_id *ids,
                             const char *options, void(CL_CALLBACK *notify)(cl_program, void *),
                             void *data)
{
    LOOK_UP(clBuildProgram);
    const cl_int code = enter("clBuildProgram", 1);
    dump("options", 1, &options);
    return code ? code : next(program, n, ids, options, notify, data);
}
