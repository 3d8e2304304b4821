/* SPDX-License-Identifier: Apache-2.0 */
/* The shapes of tiles, vectors by columns, for the registers there are: 32 hold 24 sums, 16 hold
 * 12. */
#ifndef CPU_CONV2D_ISA_H
#define CPU_CONV2D_ISA_H

/* So many vectors by each number of columns. */
#define CONV_UP_TO_4(X, rows) X(rows, 1) X(rows, 2) X(rows, 3) X(rows, 4)
#define CONV_UP_TO_6(X, rows) CONV_UP_TO_4(X, rows) X(rows, 5) X(rows, 6)
#define CONV_UP_TO_8(X, rows) CONV_UP_TO_6(X, rows) X(rows, 7) X(rows, 8)

#if defined(__AVX512F__)
#define CONV_VECTORS 3 /* of a wide tile */
#define CONV_COLUMNS 8 /* of it */
#define CONV_HIGH    8 /* vectors of a narrow tile; or half as many */
#define CONV_TILES(X)                                                                              \
    X(1, 4)                                                                                        \
    X(1, 5)                                                                                        \
    X(1, 6)                                                                                        \
    X(1, 7)                                                                                        \
    X(1, 8)                                                                                        \
    X(2, 4)                                                                                        \
    X(2, 5)                                                                                        \
    X(2, 6)                                                                                        \
    X(2, 7)                                                                                        \
    X(2, 8) X(3, 4) X(3, 5) X(3, 6) X(3, 7) X(3, 8) X(4, 1) X(4, 2) X(4, 3) X(8, 1) X(8, 2) X(8, 3)
#define CONV_DIRECT_PIXELS  128 /* of a sum whose filter is not packed, at most */
#define CONV_DIRECT_COLUMNS 6   /* of a tile that is a vector higher than a wide one */
#define CONV_DIRECT(X)      CONV_UP_TO_8(X, 1) CONV_UP_TO_8(X, 2) CONV_UP_TO_8(X, 3) CONV_UP_TO_6(X, 4)
#define CONV_LANES          4 /* vectors of gradients of a tile of backward_filter */
#define CONV_TAPS           6 /* of it */
#define CONV_PAIRS(X)       X(1) X(2) X(3) X(4)
#else
#define CONV_VECTORS 2
#define CONV_COLUMNS 6
#define CONV_HIGH    4
#define CONV_TILES(X)                                                                              \
    X(1, 4) X(1, 5) X(1, 6) X(2, 4) X(2, 5) X(2, 6) X(2, 1) X(2, 2) X(2, 3) X(4, 1) X(4, 2) X(4, 3)
#define CONV_DIRECT_PIXELS  32
#define CONV_DIRECT_COLUMNS 4
#define CONV_DIRECT(X)      CONV_UP_TO_6(X, 1) CONV_UP_TO_6(X, 2) CONV_UP_TO_4(X, 3)
#define CONV_LANES          2
#define CONV_TAPS           5
#define CONV_PAIRS(X)       X(1) X(2)
#endif

/* Where pixels are the lanes: taps of a tile, and gradients. */
#define CONV_DOT_TAPS 5
#define CONV_DOTS(X)  X(1) X(2) X(3)

#endif
