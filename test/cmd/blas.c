/* SPDX-License-Identifier: Apache-2.0 */
/* A library with the two functions that `cb bench --peer` looks for, naive and right. */
#include <stdbool.h>
#include <stddef.h>

#define DEFINE_GEMM(name, type)                                                                    \
    __attribute__((visibility("default"))) void name(                                              \
        const char *trans_a, const char *trans_b, const int *m, const int *n, const int *k,        \
        const type *alpha, const type *a, const int *lda, const type *b, const int *ldb,           \
        const type *beta, type *c, const int *ldc, size_t length_a, size_t length_b);              \
    void name(const char *trans_a, const char *trans_b, const int *m, const int *n, const int *k,  \
              const type *alpha, const type *a, const int *lda, const type *b, const int *ldb,     \
              const type *beta, type *c, const int *ldc, size_t length_a, size_t length_b)         \
    {                                                                                              \
        const bool ta = *trans_a == 'T', tb = *trans_b == 'T';                                     \
        (void)length_a, (void)length_b;                                                            \
        for (int j = 0; j < *n; j++) {                                                             \
            for (int i = 0; i < *m; i++) {                                                         \
                type sum = 0, *to = &c[i + (size_t)j * (size_t)*ldc];                              \
                for (int p = 0; p < *k; p++)                                                       \
                    sum +=                                                                         \
                        a[ta ? p + i * *lda : i + p * *lda] * b[tb ? j + p * *ldb : p + j * *ldb]; \
                *to = *alpha * sum + (*beta != 0 ? *beta * *to : 0);                               \
            }                                                                                      \
        }                                                                                          \
    }
DEFINE_GEMM(dgemm_, double)
DEFINE_GEMM(sgemm_, float)
