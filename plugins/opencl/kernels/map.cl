/* SPDX-License-Identifier: Apache-2.0 */
/* unary and binary, one element after the other; the output may be an input. Options: TYPE; OP, a
 * code of the op; IN_A_ROW. */

REAL unary_of(REAL x)
{
#if OP == 0
    return x <= 0 ? 0 : x;
#elif OP == 1
    const REAL e = exp_of(-fabs(x)); /* never overflows, nor loses what is small */
    return (x < 0 ? e : 1) / (1 + e);
#elif OP == 2
    return tanh_of(x);
#elif OP == 3
    return exp_of(x);
#elif OP == 4
    return log_of(x);
#elif OP == 5
    return sqrt(x);
#elif OP == 6
    return fabs(x);
#else
    return -x;
#endif
}

REAL binary_of(REAL x, REAL y)
{
#if OP == 0
    return x + y;
#elif OP == 1
    return x - y;
#elif OP == 2
    return x * y;
#elif OP == 3
    return x / y;
#elif OP == 4
    return maximum(x, y);
#else
    return minimum(x, y);
#endif
}

__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void
unary(__global const ELEM *in, ulong in_at, __global ELEM *out, ulong out_at, ulong n,
      ulong per_item)
{
    const ulong first = FIRST;
    const ulong count = first < n ? min((n - first + STEP - 1) / STEP, per_item) : 0;
    in += in_at + first;
    out += out_at + first;
    for (ulong i = 0; i < count; i++)
        out[i * STEP] = STORE(unary_of(LOAD(in[i * STEP])));
}

__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void
binary(__global const ELEM *a, ulong a_at, __global const ELEM *b, ulong b_at, __global ELEM *out,
       ulong out_at, ulong n, ulong per_item)
{
    const ulong first = FIRST;
    const ulong count = first < n ? min((n - first + STEP - 1) / STEP, per_item) : 0;
    a += a_at + first;
    b += b_at + first;
    out += out_at + first;
    for (ulong i = 0; i < count; i++)
        out[i * STEP] = STORE(binary_of(LOAD(a[i * STEP]), LOAD(b[i * STEP])));
}
