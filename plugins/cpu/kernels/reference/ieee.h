/* SPDX-License-Identifier: Apache-2.0 */
/* IEEE 754-2019 maximum and minimum: NaN wins, and -0 is below +0. For float and double. */
#ifndef CPU_IEEE_H
#define CPU_IEEE_H

#include <math.h>

#define IEEE_MAXIMUM(x, y)                                                                         \
    ((x) != (x) || (y) != (y) ? (x) + (y)                                                          \
     : (x) == (y)             ? (signbit(x) ? (y) : (x))                                           \
     : (x) > (y)              ? (x)                                                                \
                              : (y))
#define IEEE_MINIMUM(x, y)                                                                         \
    ((x) != (x) || (y) != (y) ? (x) + (y)                                                          \
     : (x) == (y)             ? (signbit(x) ? (x) : (y))                                           \
     : (x) < (y)              ? (x)                                                                \
                              : (y))

#endif
