/* SPDX-License-Identifier: Apache-2.0 */
/* The smallest host: C := A * B on whichever backend the user of this program has picked. */
#include <cb_loader.h>
#include <stdio.h>

int main(void)
{
    /* Column-major: A has the columns (1 2) (3 4) (5 6), B has (1 0 1) (0 1 0). */
    const float a[] = { 1, 2, 3, 4, 5, 6 }, b[] = { 1, 0, 1, 0, 1, 0 };
    float c[4];
    uint64_t da, db, dc;
    cb_loader *loader = NULL;
    cb_backend be = { NULL, NULL };
    cb_error err;
    cb_error_init(&err);

    /* CB_OK is 0, so the chain stops at the first call that fails, and err says why. */
    const int failed =
        cb_loader_open(NULL, &loader, &err) || cb_loader_select(loader, NULL, &be, &err) ||
        cb_alloc(be, sizeof(a), &da, &err) || cb_upload(be, da, a, sizeof(a), &err) ||
        cb_alloc(be, sizeof(b), &db, &err) || cb_upload(be, db, b, sizeof(b), &err) ||
        cb_alloc(be, sizeof(c), &dc, &err) ||
        cb_gemm(be,
                &(cb_gemm_args){ CB_ARGS(cb_gemm_args), .dtype = CB_F32, .m = 2, .n = 2, .k = 3,
                                 .alpha = 1, .a = da, .lda = 2, .b = db, .ldb = 3, .c = dc,
                                 .ldc = 2 },
                &err) ||
        cb_download(be, c, dc, sizeof(c), &err);
    if (failed) {
        fprintf(stderr, "hello_gemm: %s\n", err.msg);
    } else {
        printf("%s %s says\n", be.api->name, be.api->version);
        printf("%4g %4g\n%4g %4g\n", c[0], c[2], c[1], c[3]);
    }
    if (be.api)
        cb_loader_release(loader, be, NULL); /* frees the three buffers too */
    cb_loader_close(loader, NULL);
    return failed;
}
