/* SPDX-License-Identifier: Apache-2.0 */
/* libOpenCL, looked up once for the process and never closed: drivers start threads and register
 * exit handlers, which must not lose their code. */
#include "opencl.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>

#define LIBRARY "libOpenCL.so.1"

struct ocl_functions ocl_cl;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool loaded;
static atomic_bool touched; /* the driver may have threads by now */
static atomic_bool lost;    /* it had them, and this is the child of a fork, without them */

static bool look_up(void *library, char *why, size_t size)
{
#define LOOK_UP(function)                                                                          \
    *(void **)&ocl_cl.function = dlsym(library, #function);                                        \
    if (!ocl_cl.function) {                                                                        \
        snprintf(why, size, LIBRARY " has no " #function);                                         \
        return false;                                                                              \
    }
    OCL_FUNCTIONS(LOOK_UP)
#undef LOOK_UP
    return true;
}

bool ocl_library_load(char *why, size_t size)
{
    if (atomic_load(&lost)) {
        snprintf(why, size, "OpenCL was in use when this process was forked");
        return false;
    }
    pthread_mutex_lock(&lock);
    atomic_store(&touched, true);
    if (!loaded) {
        void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
        if (!library)
            snprintf(why, size, "no %.200s", dlerror());
        else
            loaded = look_up(library, why, size);
        if (library && !loaded)
            dlclose(library);
    }
    const bool ok = loaded;
    pthread_mutex_unlock(&lock);
    return ok;
}

bool ocl_library_fork(void)
{
    if (atomic_load(&touched))
        atomic_store(&lost, true);
    return atomic_load(&lost);
}

void ocl_quiet_begin(struct ocl_quiet *quiet)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &quiet->signals);
}

void ocl_quiet_end(const struct ocl_quiet *quiet)
{
    pthread_sigmask(SIG_SETMASK, &quiet->signals, NULL);
}

/* ---- errors ---- */

static const char *code_name(cl_int code)
{
    switch (code) {
    case -1: return "CL_DEVICE_NOT_FOUND";
    case -3: return "CL_COMPILER_NOT_AVAILABLE";
    case CL_MEM_OBJECT_ALLOCATION_FAILURE: return "CL_MEM_OBJECT_ALLOCATION_FAILURE";
    case CL_OUT_OF_RESOURCES: return "CL_OUT_OF_RESOURCES";
    case CL_OUT_OF_HOST_MEMORY: return "CL_OUT_OF_HOST_MEMORY";
    case CL_BUILD_PROGRAM_FAILURE: return "CL_BUILD_PROGRAM_FAILURE";
    case CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST: return "work before it failed";
    case CL_INVALID_KERNEL_NAME: return "CL_INVALID_KERNEL_NAME";
    case CL_INVALID_ARG_INDEX: return "CL_INVALID_ARG_INDEX";
    case CL_INVALID_ARG_SIZE: return "CL_INVALID_ARG_SIZE";
    case CL_INVALID_KERNEL_ARGS: return "CL_INVALID_KERNEL_ARGS";
    case CL_INVALID_WORK_GROUP_SIZE: return "CL_INVALID_WORK_GROUP_SIZE";
    case CL_INVALID_BUFFER_SIZE: return "CL_INVALID_BUFFER_SIZE";
    case -1001: return "no platform";
    default: return "OpenCL error";
    }
}

bool ocl_is_memory(cl_int code)
{
    return code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_RESOURCES ||
           code == CL_OUT_OF_HOST_MEMORY || code == CL_INVALID_BUFFER_SIZE;
}

cb_status ocl_fail(cb_error *err, const char *where, const char *function, cl_int code)
{
    const cb_status st = cbc_fail(err, ocl_is_memory(code) ? CB_OUT_OF_MEMORY : CB_DEVICE_ERROR,
                                  where, "%s: %s (%d)", function, code_name(code), (int)code);
    if (err && err->size >= CB_ERROR_1_0)
        err->native_code = code;
    return st;
}

void ocl_log(const struct ocl_backend *ocl, int32_t level, const char *format, ...)
{
    char text[512];
    va_list ap;
    if (!ocl->host || !ocl->host->log)
        return;
    va_start(ap, format);
    vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    ocl->host->log(ocl->host->ctx, level, text);
}
