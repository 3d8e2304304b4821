/* SPDX-License-Identifier: Apache-2.0 */
#include "run.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static double milliseconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void run_free(struct run *run)
{
    for (uint32_t i = 0; i < INPUTS_MAX; i++)
        array_free(&run->in[i]);
    array_free(&run->out);
}

static bool read_inputs(struct run *run)
{
    for (uint32_t i = 0; i < run->n_in; i++)
        if (!array_read(run->paths[i], &run->in[i]))
            return false;
    return true;
}

/* An array of no elements needs no memory: the op does not look at its address. */
static cb_status upload(cb_backend be, const struct array *a, cb_error *err)
{
    if (!a->address || !a->npy.bytes)
        return CB_OK;
    const cb_status status = cb_alloc(be, a->npy.bytes, a->address, err);
    if (status != CB_OK || !a->memory)
        return status;
    return cb_upload(be, *a->address, a->elements, a->npy.bytes, err);
}

static cb_status compute(struct run *run, cb_backend be, double *took, cb_error *err)
{
    cb_status status = upload(be, &run->out, err);
    for (uint32_t i = 0; status == CB_OK && i < run->n_in; i++)
        status = upload(be, &run->in[i], err);
    if (status != CB_OK)
        return status;
    const double start = milliseconds();
    status = op_call(run, be, err);
    if (status == CB_OK)
        status = cb_synchronize(be, err);
    *took = milliseconds() - start;
    return status;
}

static bool complain_of(const struct run *run, cb_status status, const cb_error *err)
{
    char files[400];
    uint64_t n = 0;
    files[0] = '\0';
    for (uint32_t i = 0; i < run->n_in && n < sizeof(files); i++)
        n += (uint64_t)snprintf(files + n, sizeof(files) - n, "%s%s", i ? ", " : "", run->paths[i]);
    complain("%s (%s), on %s", err->msg, cb_status_name(status), files);
    return false;
}

/* The backend's buffers end with it. */
static bool run_on(struct run *run, cb_backend be, double *took)
{
    cb_error err;
    cb_error_init(&err);
    cb_status status = compute(run, be, took, &err);
    if (status != CB_OK)
        return complain_of(run, status, &err);
    if (!run->out.memory && !array_allocate(&run->out))
        return false;
    if (run->out.npy.bytes)
        status = cb_download(be, run->out.elements, *run->out.address, run->out.npy.bytes, &err);
    return status == CB_OK || complain_of(run, status, &err);
}

static int select_and_run(struct run *run, const struct arguments *a, double *took)
{
    cb_error err;
    cb_backend be;
    cb_request request;
    int code = EXIT_USAGE;
    cb_error_init(&err);
    cb_request_init(&request);
    request.id = a->backend;
    request.options = a->backend_options;
    request.n_options = a->n_backend_options;
    cb_loader *loader = open_loader(a);
    if (!loader)
        return EXIT_TROUBLE;
    if (a->backend && !backend_is_known(loader, a->backend))
        goto out;
    code = EXIT_TROUBLE;
    if (cb_loader_select(loader, &request, &be, &err) != CB_OK) {
        complain("%s", err.msg);
        goto out;
    }
    if (run_on(run, be, took))
        code = EXIT_OK;
    cb_loader_release(loader, be, &err);
out:
    cb_loader_close(loader, &err);
    return code;
}

int cmd_run(const struct arguments *a)
{
    const double start = milliseconds();
    struct run run = { 0 };
    double took = 0;
    if (!words_read(a->operands + 1, a->n_operands - 1, &run))
        return EXIT_USAGE;
    if (!a->output || (a->n_backend_options && !a->backend)) {
        complain(a->output ? "--option needs --backend, whose option it is"
                           : "-o FILE is missing: where the result goes");
        return EXIT_USAGE;
    }
    int code = EXIT_TROUBLE;
    if (read_inputs(&run) && run.op->prepare(&run))
        code = select_and_run(&run, a, &took);
    if (code == EXIT_OK && !array_save(&run.out, a->output))
        code = EXIT_TROUBLE;
    if (code == EXIT_OK && a->options & OPTION_TIME)
        fprintf(stderr, "%s: %.3f ms, %.3f ms in all\n", cb_op_name(run.op->code), took,
                milliseconds() - start);
    run_free(&run);
    return code;
}
