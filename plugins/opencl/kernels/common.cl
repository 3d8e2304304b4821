/* SPDX-License-Identifier: Apache-2.0 */
/* The prelude of every program. The option TYPE, a CB_* type, gives ELEM (in memory), REAL (of the
 * arithmetic), LOAD and STORE. What is here is branchless, so that compilers can vectorize it. */
#define CB_F64  1
#define CB_F32  2
#define CB_BF16 3
#define CB_F16  4

#define JOIN_(a, b) a##b
#define JOIN(a, b)  JOIN_(a, b)

/* The number of the group, over all launches that a grid is cut into. */
#define GROUP ((get_global_id(0) - get_local_id(0)) / get_local_size(0))

/* ---- Element types: 16-bit ones are rounded to nearest, ties to even; a NaN becomes the quiet one
 * of its sign ---- */

#if TYPE == CB_F64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef double ELEM;
typedef double REAL;
#elif TYPE == CB_F32
typedef float ELEM;
typedef float REAL;
#else
typedef ushort ELEM;
typedef float REAL;
#endif

float bf16_to_f32(ushort h)
{
    return as_float((uint)h << 16);
}

ushort f32_to_bf16(float x)
{
    const uint b = as_uint(x);
    const uint nan = (b >> 16 & 0x8000u) | 0x7fc0u, rounded = (b + 0x7fffu + (b >> 16 & 1u)) >> 16;
    return (ushort)((b & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
}

/* The bits at their place in a float, and the exponent's bias put right by a product. */
float f16_to_f32(ushort h)
{
    const uint sign = (uint)(h & 0x8000u) << 16, b = (uint)(h & 0x7fffu) << 13;
    const uint finite = as_uint(as_float(b) * 0x1p112f);
    return as_float(sign | (b < 0x0f800000u ? finite : b | 0x7f800000u));
}

ushort f32_to_f16(float x)
{
    const uint b = as_uint(x), size = b & 0x7fffffffu;
    const uint normal = (size - (112u << 23) + 0xfffu + (size >> 13 & 1u)) >> 13;
    const uint tiny = as_uint(as_float(size) + 0.5f) - as_uint(0.5f); /* in units of 2^-24 */
    uint h = size < 0x38800000u ? tiny : normal;                      /* 2^-14 */
    h = size < 0x477ff000u ? h : 0x7c00u;                             /* 65520 */
    h = size > 0x7f800000u ? 0x7e00u : h;
    return (ushort)((b >> 16 & 0x8000u) | h);
}

#if TYPE == CB_BF16
#define LOAD(x)  bf16_to_f32(x)
#define STORE(x) f32_to_bf16(x)
#elif TYPE == CB_F16
#define LOAD(x)  f16_to_f32(x)
#define STORE(x) f32_to_f16(x)
#else
#define LOAD(x)  (x)
#define STORE(x) (x)
#endif

/* ---- What the arithmetic needs to know of REAL ---- */

#if TYPE == CB_F64
typedef long BITS;
#define AS_BITS(x)    as_long(x)
#define AS_REAL(x)    as_double(x)
#define FRACTION_BITS 52
#define BIAS          1023
#define LN2_HIGH      0x1.62e42feep-1 /* its products with small whole numbers are exact */
#define LN2_LOW       0x1.a39ef35793c76p-33
#define LOG2_E        0x1.71547652b82fep+0
#define ROOT_HALF     0x1.6a09e667f3bcdp-1
#define NORMAL_MIN    0x1p-1022
#define EXP_MIN       -746.0 /* exp is 0 below */
#define EXP_MAX       710.0  /* and infinite above */
#else
typedef int BITS;
#define AS_BITS(x)    as_int(x)
#define AS_REAL(x)    as_float(x)
#define FRACTION_BITS 23
#define BIAS          127
#define LN2_HIGH      0x1.62e4p-1f
#define LN2_LOW       0x1.7f7d1cp-20f
#define LOG2_E        0x1.715476p+0f
#define ROOT_HALF     0x1.6a09e6p-1f
#define NORMAL_MIN    0x1p-126f
#define EXP_MIN       -104.0f
#define EXP_MAX       89.0f
#endif

/* ---- IEEE 754-2019 maximum and minimum: NaN wins, and -0 is below +0 ---- */

REAL maximum(REAL x, REAL y)
{
    const REAL of_equals = AS_BITS(x) < 0 ? y : x, of_others = x > y ? x : y;
    const REAL of_numbers = x == y ? of_equals : of_others;
    return ((x != x) | (y != y)) ? x + y : of_numbers;
}

REAL minimum(REAL x, REAL y)
{
    return -maximum(-x, -y);
}

/* ---- exp, tanh and log: closer than OpenCL promises, and alike on every device ---- */

/* 2^n, a normal number. */
REAL power_of_2(BITS n)
{
    return AS_REAL((n + BIAS) << FRACTION_BITS);
}

/* exp(x) - 1 for |x| <= ln(2) / 2, by its series. */
REAL expm1_series(REAL x)
{
#if TYPE == CB_F64
    REAL sum = 1.0 / 6227020800;
    sum = sum * x + 1.0 / 479001600;
    sum = sum * x + 1.0 / 39916800;
    sum = sum * x + 1.0 / 3628800;
    sum = sum * x + 1.0 / 362880;
    sum = sum * x + 1.0 / 40320;
    sum = sum * x + 1.0 / 5040;
#else
    REAL sum = 1.0f / 5040;
#endif
    sum = sum * x + (REAL)1 / 720;
    sum = sum * x + (REAL)1 / 120;
    sum = sum * x + (REAL)1 / 24;
    sum = sum * x + (REAL)1 / 6;
    sum = sum * x + (REAL)1 / 2;
    return sum * (x * x) + x;
}

/* Within 1 ulp, subnormals included. */
REAL exp_of(REAL x)
{
    x = x < EXP_MIN ? EXP_MIN : x;
    x = x > EXP_MAX ? EXP_MAX : x;
    const REAL whole = rint(x * LOG2_E);
    const REAL rest = (x - whole * LN2_HIGH) - whole * LN2_LOW;
    const BITS n = (BITS)whole, half_n = n >> 1;
    return (1 + expm1_series(rest)) * power_of_2(half_n) * power_of_2(n - half_n);
}

/* expm1(2 |x|) / (expm1(2 |x|) + 2), within 3 ulp. */
REAL tanh_of(REAL x)
{
    const REAL size = fabs(x), twice = 2 * (size > 22 ? 22 : size); /* from there on it is 1 */
    const REAL whole = rint(twice * LOG2_E);
    const REAL rest = (twice - whole * LN2_HIGH) - whole * LN2_LOW;
    const REAL scale = power_of_2((BITS)whole);
    const REAL m = scale * expm1_series(rest) + (scale - 1);
    return copysign(m / (m + 2), x);
}

/* x = 2^e (1 + f) with 1 + f between the roots of 1/2 and 2; log(1 + f) = 2 artanh(s) with
 * s = f / (2 + f), by its series. Within 1 ulp. */
REAL log_of(REAL x)
{
    const bool tiny = x < NORMAL_MIN;
    const BITS b = AS_BITS(tiny ? x * power_of_2(FRACTION_BITS + 2) : x);
    const BITS e = (b - AS_BITS(ROOT_HALF)) >> FRACTION_BITS;
    const REAL f = AS_REAL(b - (e << FRACTION_BITS)) - 1, s = f / (2 + f), z = s * s;
    const REAL exponent = (REAL)(tiny ? e - (FRACTION_BITS + 2) : e);
#if TYPE == CB_F64
    REAL sum = 2.0 / 21;
    sum = sum * z + 2.0 / 19;
    sum = sum * z + 2.0 / 17;
    sum = sum * z + 2.0 / 15;
    sum = sum * z + 2.0 / 13;
    sum = sum * z + 2.0 / 11;
    sum = sum * z + 2.0 / 9;
#else
    REAL sum = 2.0f / 9;
#endif
    sum = sum * z + (REAL)2 / 7;
    sum = sum * z + (REAL)2 / 5;
    sum = sum * z + (REAL)2 / 3;
    REAL y = exponent * LN2_HIGH + (f - (s * (f - sum * z) - exponent * LN2_LOW));
    y = x > 0 ? y : (REAL)NAN;
    y = x == 0 ? (REAL)-INFINITY : y;
    return x == (REAL)INFINITY ? x : y;
}

/* ---- Work on long vectors: an item of a group of 64 takes `per_item` elements from FIRST on, STEP
 * apart: a row of them where IN_A_ROW is 1, else each its own of 64 neighbours ---- */

#if IN_A_ROW
#define FIRST ((GROUP * 64 + get_local_id(0)) * per_item)
#define STEP  1
#else
#define FIRST (GROUP * 64 * per_item + get_local_id(0))
#define STEP  64
#endif

/* ---- Products of tiles: a group of ITEMS computes BM x BN elements of C in steps of BK, an item
 * WM x WN of them in vectors of V along M. BM, BN and BK are multiples of V ---- */

#ifdef BM
#define ITEMS ((BM / WM) * (BN / WN))
#define MV    (WM / V)

#if TYPE == CB_F64
typedef JOIN(double, V) REALV;
#else
typedef JOIN(float, V) REALV;
typedef JOIN(int, V) INTV;
#endif
#define VLOAD  JOIN(vload, V)
#define VSTORE JOIN(vstore, V)

/* Where the item's part begins. */
#define ITEM_I (get_local_id(0) % (BM / WM) * WM)
#define ITEM_J (get_local_id(0) / (BM / WM) * WN)

#define FOR_ACC(x, y)                                                                              \
    for (uint x = 0; x < WN; x++)                                                                  \
        for (uint y = 0; y < MV; y++)

/* Moves a tile of LINES x LENGTH elements, of which those below `lines` and `length` exist, into
 * local memory, and zeroes for the others. Lines lie `stride` apart in memory, LINE apart in the
 * tile, the elements of a line STEP_ apart in the tile. */
#define MOVE(TILE, LINES, LENGTH, LINE, STEP_, from, stride, lines, length, convert)               \
    for (uint piece = get_local_id(0); piece < (LINES) * (LENGTH) / V; piece += ITEMS) {           \
        const uint line = piece / ((LENGTH) / V), at = piece % ((LENGTH) / V) * V;                 \
        __global const ELEM *source = (from) + line * (stride) + at;                               \
        REAL parts[V];                                                                             \
        if (line < (lines) && at + V <= (length))                                                  \
            for (uint v = 0; v < V; v++)                                                           \
                parts[v] = convert(source[v]);                                                     \
        else                                                                                       \
            for (uint v = 0; v < V; v++)                                                           \
                parts[v] = line < (lines) && at + v < (length) ? convert(source[v]) : 0;           \
        for (uint v = 0; v < V; v++)                                                               \
            TILE[line * (LINE) + (at + v) * (STEP_)] = parts[v];                                   \
    }

/* acc += A * B for the item's part, over BK steps. Element (i, p) of the tile a lies at p * BM + i,
 * (p, j) of b at p * B_P + j * B_J. The sums have names of their own, and what works on them is
 * unrolled, so that they are in registers meanwhile. */
#define MULTIPLY(acc, a, b, B_P, B_J)                                                              \
    {                                                                                              \
        const uint i = ITEM_I, j = ITEM_J;                                                         \
        REALV sum[WN][MV];                                                                         \
        FOR_ACC(x, y)                                                                              \
            sum[x][y] = acc[x][y];                                                                 \
        for (uint p = 0; p < BK; p++) {                                                            \
            REALV column[MV];                                                                      \
            _Pragma("unroll") for (uint y = 0; y < MV; y++)                                        \
                column[y] = VLOAD(0, (a) + p * BM + i + y * V);                                    \
            _Pragma("unroll") for (uint x = 0; x < WN; x++)                                        \
                _Pragma("unroll") for (uint y = 0; y < MV; y++)                                    \
                    sum[x][y] += column[y] * (b)[p * (B_P) + (j + x) * (B_J)];                     \
        }                                                                                          \
        FOR_ACC(x, y)                                                                              \
            acc[x][y] = sum[x][y];                                                                 \
    }
#endif
