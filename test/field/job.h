/* SPDX-License-Identifier: Apache-2.0 */
/* A gemm of 256 x 256 x 256 whose result is known without a reference, for processes that cannot
 * fail a test by themselves. */
#ifndef TEST_FIELD_JOB_H
#define TEST_FIELD_JOB_H

#include <stdlib.h>
#include <string.h>

#include "compute_backend.h"

enum {
    JOB_SIDE = 256
};

/* Computes, and returns CB_OK when the result is right, CB_DEVICE_ERROR with the message "wrong
 * result" when it is not, else what the backend answered. Uses three buffers of its own. */
static inline cb_status job_run(cb_backend be, cb_error *err)
{
    enum {
        COUNT = JOB_SIDE * JOB_SIDE
    };
    static const uint64_t bytes = COUNT * sizeof(float);
    cb_gemm_args args = { CB_ARGS(cb_gemm_args), .dtype = CB_F32, .m = JOB_SIDE,
                          .n = JOB_SIDE,         .k = JOB_SIDE,   .alpha = 1,
                          .lda = JOB_SIDE,       .ldb = JOB_SIDE, .ldc = JOB_SIDE };
    uint64_t *const operands[] = { &args.a, &args.b, &args.c };
    float *host = malloc(bytes);
    cb_status status = host ? CB_OK : CB_OUT_OF_MEMORY;
    for (int i = 0; i < 3 && status == CB_OK; i++)
        status = cb_alloc(be, bytes, operands[i], err);

    /* A(i, p) = i % 3, B(p, j) = 1: C(i, j) = 256 (i % 3), exactly. */
    for (uint64_t i = 0; i < COUNT && host; i++)
        host[i] = (float)(i % JOB_SIDE % 3);
    if (status == CB_OK)
        status = cb_upload(be, args.a, host, bytes, err);
    for (uint64_t i = 0; i < COUNT && host; i++)
        host[i] = 1;
    if (status == CB_OK)
        status = cb_upload(be, args.b, host, bytes, err);
    if (status == CB_OK)
        status = cb_gemm(be, &args, err);
    if (status == CB_OK)
        status = cb_download(be, host, args.c, bytes, err);

    int right = 1;
    for (uint64_t i = 0; i < COUNT && status == CB_OK; i++)
        right &= host[i] == (float)(JOB_SIDE * (i % JOB_SIDE % 3));
    for (int i = 0; i < 3; i++)
        if (*operands[i])
            cb_free(be, *operands[i], NULL);
    free(host);
    if (status == CB_OK && !right && err) {
        cb_error_init(err);
        strcpy(err->msg, "wrong result");
    }
    return status == CB_OK && !right ? CB_DEVICE_ERROR : status;
}

#endif
