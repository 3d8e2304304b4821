/* SPDX-License-Identifier: Apache-2.0 */
/* Programs: each is built when it is first asked for with its options, by whichever thread is
 * first, while the others wait. One that does not compile stays in the list with its error. */
#include "opencl.h"
#include "source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PRELUDE "common"
#define OPTIONS "-w -cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt"

enum state {
    NOT_BUILT,
    BUILDING,
    BUILT,
    FAILED
};

struct ocl_program {
    struct ocl_program *next;
    enum state state;
    const char *name;
    char *options;
    cl_program program; /* of a BUILT one */
    cl_int code;        /* of a FAILED one, with what clBuildProgram and the compiler said */
    char why[300];
};

static const char *source_of(const char *name)
{
    const struct ocl_source *source = ocl_sources;
    while (source->name && strcmp(source->name, name) != 0)
        source++;
    return source->text;
}

/* ---- building; no lock is held ---- */

/* The compiler's words to the log, a line each. Returns the first that tells of an error. */
static const char *log_lines(const struct ocl_backend *ocl, int32_t level,
                             const struct ocl_program *p, char *text)
{
    const char *first = "";
    char *save = NULL;
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        ocl_log(ocl, level, "opencl: %s: %s", p->name, line);
        if (!*first || (!strstr(first, "error") && strstr(line, "error")))
            first = line;
    }
    return first;
}

/* Keeps what clBuildProgram said. */
static void explain(struct ocl_backend *ocl, struct ocl_program *p, cl_program program, cl_int code)
{
    const cl_device_id id = ocl->device->id;
    const int32_t level = code == CL_SUCCESS ? CB_LOG_DEBUG : CB_LOG_ERROR;
    const char *first = "";
    size_t size = 0;
    ocl_cl.clGetProgramBuildInfo(program, id, CL_PROGRAM_BUILD_LOG, 0, NULL, &size);
    char *text = calloc(1, size + 1);
    if (text && ocl_cl.clGetProgramBuildInfo(program, id, CL_PROGRAM_BUILD_LOG, size, text, NULL) ==
                    CL_SUCCESS)
        first = log_lines(ocl, level, p, text);
    snprintf(p->why, sizeof(p->why), "program %s with '%.100s' does not build: %s", p->name,
             p->options, first);
    free(text);
}

/* p->code is the result. */
static void build(struct ocl_backend *ocl, struct ocl_program *p)
{
    char options[OCL_OPTIONS_MAX + 128];
    const char *texts[] = { source_of(PRELUDE), source_of(p->name) };
    struct ocl_quiet quiet;
    snprintf(options, sizeof(options), OPTIONS "%s %s", ocl->device->f64 ? " -DHAVE_F64" : "",
             p->options);
    snprintf(p->why, sizeof(p->why), "clCreateProgramWithSource of %s", p->name);
    ocl_quiet_begin(&quiet);
    p->program = ocl_cl.clCreateProgramWithSource(ocl->context, 2, texts, NULL, &p->code);
    if (p->program) {
        p->code = ocl_cl.clBuildProgram(p->program, 1, &ocl->device->id, options, NULL, NULL);
        explain(ocl, p, p->program, p->code);
    }
    if (p->program && p->code != CL_SUCCESS)
        ocl_cl.clReleaseProgram(p->program);
    ocl_quiet_end(&quiet);
}

/* ---- the list; building is locked ---- */

static struct ocl_program *find(struct ocl_backend *ocl, const char *name, const char *options)
{
    struct ocl_program *p = ocl->programs;
    while (p && (strcmp(p->options, options) != 0 || strcmp(p->name, name) != 0))
        p = p->next;
    return p;
}

static struct ocl_program *add(struct ocl_backend *ocl, const char *name, const char *options)
{
    struct ocl_program *p = calloc(1, sizeof(*p));
    if (!p || !(p->options = strdup(options))) {
        free(p);
        return NULL;
    }
    p->name = name;
    p->next = ocl->programs;
    ocl->programs = p;
    return p;
}

/* Builds with the lock released. What fails for memory may be tried again. */
static void build_unlocked(struct ocl_backend *ocl, struct ocl_program *p)
{
    p->state = BUILDING;
    pthread_mutex_unlock(&ocl->building);
    build(ocl, p);
    pthread_mutex_lock(&ocl->building);
    p->state = p->code == CL_SUCCESS ? BUILT : FAILED;
    pthread_cond_broadcast(&ocl->built);
}

static bool may_try_again(const struct ocl_program *p)
{
    return p->state == FAILED && p->code != CL_BUILD_PROGRAM_FAILURE;
}

cb_status ocl_program_get(struct ocl_backend *ocl, const char *name, const char *options,
                          cl_program *out, const char *where, cb_error *err)
{
    cb_status st = CB_OK;
    pthread_mutex_lock(&ocl->building);
    struct ocl_program *p = find(ocl, name, options);
    if (!p)
        p = add(ocl, name, options);
    while (p && p->state == BUILDING)
        pthread_cond_wait(&ocl->built, &ocl->building);
    if (p && (p->state == NOT_BUILT || may_try_again(p)))
        build_unlocked(ocl, p);
    if (!p)
        st = cbc_fail(err, CB_OUT_OF_MEMORY, where, "no memory for a program");
    else if (p->state == FAILED)
        st = ocl_fail(err, where, p->why, p->code);
    else
        *out = p->program;
    pthread_mutex_unlock(&ocl->building);
    return st;
}

void ocl_programs_free(struct ocl_backend *ocl)
{
    while (ocl->programs) {
        struct ocl_program *p = ocl->programs;
        ocl->programs = p->next;
        if (p->state == BUILT && !atomic_load(&ocl->forked))
            ocl_cl.clReleaseProgram(p->program);
        free(p->options);
        free(p);
    }
}
