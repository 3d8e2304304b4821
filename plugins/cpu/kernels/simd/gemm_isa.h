/* SPDX-License-Identifier: Apache-2.0 */
/* The shape of a tile, by the registers there are: 32 hold 24 sums, 16 hold 12. */
#ifndef CPU_GEMM_ISA_H
#define CPU_GEMM_ISA_H

#if defined(__AVX512F__)
#define GEMM_MV             3 /* vectors of rows */
#define GEMM_NR             8 /* columns */
#define GEMM_FOR_ROWS(X, y) X(1, y) X(2, y) X(3, y)
#define GEMM_FOR_COLS(X)    X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8)
#else
#define GEMM_MV             2
#define GEMM_NR             6
#define GEMM_FOR_ROWS(X, y) X(1, y) X(2, y)
#define GEMM_FOR_COLS(X)    X(1) X(2) X(3) X(4) X(5) X(6)
#endif

#endif
