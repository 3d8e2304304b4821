/* SPDX-License-Identifier: Apache-2.0 */
/* reduce and softmax: element (o, a, i) of the input lies at (o * len + a) * inner + i.
 *
 * A group has 64 items. A line is what one item walks along the axis: W elements side by side, of
 * the axis itself where inner is 1 (COLUMNS 0), else of W columns (COLUMNS 1). `parts`, a power of
 * two, items share a line; where lines are few and long, `splits` groups do too. Every sum is taken
 * in an order that these numbers fix.
 *
 * Options: TYPE, OP (reduce alone), COLUMNS, W, and IN_A_ROW: whether a part's elements lie in a
 * row, or else alternate with those of the other parts. */
#define ITEMS 64

struct share {
    bool exists;  /* the line does */
    ulong output; /* the first one of the line */
    ulong at, pitch, steps;
    uint lanes, rest; /* elements of each step, and of one more behind them */
};

ulong divide_up(ulong x, ulong y)
{
    return x / y + (x % y != 0);
}

struct share share_of(ulong outer, ulong len, ulong inner, uint parts, uint splits)
{
    const uint part = get_local_id(0) / (ITEMS / parts), slot = get_local_id(0) % (ITEMS / parts);
    const ulong line = GROUP / splits * (ITEMS / parts) + slot, split = GROUP % splits;
    const ulong blocks = COLUMNS ? divide_up(inner, W) : 1;
    const ulong o = line / blocks, i = line % blocks * W;
    const ulong chunk = divide_up(len, splits), first = min(split * chunk, len);
    const ulong count = min(chunk, len - first);
    struct share s = { o < outer, o * inner + i, 0, 0, 0, W, 0 };
    if (!s.exists)
        return s;
#if COLUMNS
    const ulong piece = divide_up(count, parts), begin = min(part * piece, count);
    s.at = (o * len + first + begin) * inner + i;
    s.pitch = inner;
    s.steps = min(piece, count - begin);
    s.lanes = min(inner - i, (ulong)W);
#else
    ulong begin, n;
#if IN_A_ROW
    const ulong piece = divide_up(divide_up(count, parts), W) * W;
    begin = min(part * piece, count);
    n = min(piece, count - begin);
    s.pitch = W;
#else
    begin = part;
    n = begin < count ? divide_up(count - begin, parts) : 0;
    s.pitch = parts;
#endif
    s.at = o * len + first + begin;
    s.steps = n / W;
    s.rest = n % W;
#endif
    return s;
}

/* Elements of a step. */
uint lanes_of(const struct share *s, ulong step)
{
    return step < s->steps ? s->lanes : s->rest;
}

/* The elements of a step as numbers; what is beyond them is none. */
void fetch(const struct share *s, ulong step, __global const ELEM *in, REAL none, REAL x[W])
{
    const uint lanes = lanes_of(s, step);
    in += s->at + step * s->pitch;
    if (lanes == W)
        for (uint v = 0; v < W; v++)
            x[v] = LOAD(in[v]);
    else
        for (uint v = 0; v < W; v++)
            x[v] = v < lanes ? LOAD(in[v]) : none;
}

/* And back. */
void keep(const struct share *s, ulong step, const REAL x[W], __global ELEM *out)
{
    const uint lanes = lanes_of(s, step);
    out += s->at + step * s->pitch;
    if (lanes == W)
        for (uint v = 0; v < W; v++)
            out[v] = STORE(x[v]);
    else
        for (uint v = 0; v < W; v++)
            if (v < lanes)
                out[v] = STORE(x[v]);
}

#define STEPS(s) ((s).steps + ((s).rest != 0))

/* An item has W lines of one lane each, or one of W lanes. */
#define LINES (COLUMNS ? W : 1)
#define LANES (COLUMNS ? 1 : W)

/* Folds what the parts of a line have in all[line * ITEMS + item] into that of its first part. */
#define FOLD_PARTS(all, parts, fold)                                                               \
    for (uint apart = ITEMS / 2; apart >= ITEMS / (parts); apart /= 2) {                           \
        barrier(CLK_LOCAL_MEM_FENCE);                                                              \
        if (get_local_id(0) < apart)                                                               \
            for (uint at = get_local_id(0); at < LINES * ITEMS; at += ITEMS)                       \
                fold(&all[at], all[at + apart]);                                                   \
    }                                                                                              \
    barrier(CLK_LOCAL_MEM_FENCE);

#ifdef OP
/* ---- reduce: a sum with what its roundings lost, or an extreme and nothing ---- */

typedef struct {
    REAL value, lost;
} total;

#define IS_SUM (OP == 0 || OP == 3)
#define NONE   (IS_SUM ? (REAL)0 : OP == 1 ? (REAL)-INFINITY : (REAL)INFINITY)

total add(total t, REAL x)
{
#if IS_SUM
    const REAL sum = t.value + x, of_x = sum - t.value;
    t.lost += (t.value - (sum - of_x)) + (x - of_x);
    t.value = sum;
#else
    t.value = OP == 1 ? maximum(t.value, x) : minimum(t.value, x);
#endif
    return t;
}

void fold(__local total *t, total x)
{
    total sum = add(*t, x.value);
    sum.lost += x.lost;
    *t = sum;
}

/* An infinite or NaN sum makes lost NaN, and stands for itself. */
ELEM result(total t, ulong len)
{
    const REAL x = IS_SUM && isfinite(t.value) ? t.value + t.lost : t.value;
    return STORE(OP == 3 ? x / (REAL)len : x);
}

/* With one split to `out`, else the totals of each, as pairs, to `totals`: [split][output]. */
__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void
reduce(__global const ELEM *in, ulong in_at, __global ELEM *out, ulong out_at,
       __global REAL *totals, ulong totals_at, ulong outer, ulong len, ulong inner, uint parts,
       uint splits)
{
    __local total all[LINES * ITEMS];
    const struct share s = share_of(outer, len, inner, parts, splits);
    REAL value[W], lost[W];
    for (uint v = 0; v < W; v++) {
        value[v] = NONE;
        lost[v] = 0;
    }
    for (ulong step = 0; step < STEPS(s); step++) {
        REAL x[W];
        fetch(&s, step, in + in_at, NONE, x);
        for (uint v = 0; v < W; v++) {
            const total t = { value[v], lost[v] }, sum = add(t, x[v]);
            value[v] = sum.value;
            lost[v] = sum.lost;
        }
    }
    for (uint line = 0; line < LINES; line++) {
        total t = { value[line], lost[line] };
        for (uint v = 1; v < LANES; v++) {
            t = add(t, value[v]);
            t.lost += lost[v];
        }
        all[line * ITEMS + get_local_id(0)] = t;
    }
    FOLD_PARTS(all, parts, fold)
    if (get_local_id(0) >= ITEMS / parts || !s.exists)
        return;
    for (uint line = 0; line < (COLUMNS ? s.lanes : 1); line++) {
        const total t = all[line * ITEMS + get_local_id(0)];
        const ulong output = s.output + line;
        if (splits == 1) {
            out[out_at + output] = result(t, len);
        } else {
            const ulong to = totals_at + 2 * (GROUP % splits * (outer * inner) + output);
            totals[to] = t.value;
            totals[to + 1] = t.lost;
        }
    }
}

/* An item adds the splits of one output. */
__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void
reduce_splits(__global const REAL *totals, ulong totals_at, __global ELEM *out, ulong out_at,
              ulong outputs, ulong len, uint splits)
{
    const ulong output = GROUP * ITEMS + get_local_id(0);
    total t = { NONE, 0 };
    if (output >= outputs)
        return;
    for (uint split = 0; split < splits; split++) {
        const ulong from = totals_at + 2 * (split * outputs + output);
        t = add(t, totals[from]);
        t.lost += totals[from + 1];
    }
    out[out_at + output] = result(t, len);
}

#else
/* ---- softmax. NaN, an infinite maximum and a line of -infinity come out as NaN by themselves: no
 * guard may hide them ---- */

/* An output of 16 bits cannot hold an exponential without rounding it: there it is computed again.
 */
#define KEEP (TYPE == CB_F64 || TYPE == CB_F32)

void larger(__local REAL *x, REAL y)
{
    *x = y > *x ? y : *x;
}

void plus(__local REAL *x, REAL y)
{
    *x += y;
}

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void
softmax(__global const ELEM *in, ulong in_at, __global ELEM *out, ulong out_at, ulong outer,
        ulong len, ulong inner, uint parts)
{
    __local REAL all[LINES * ITEMS];
    const uint item = get_local_id(0), first = item % (ITEMS / parts);
    const struct share s = share_of(outer, len, inner, parts, 1);
    REAL max[W], sum[W], x[W];
    for (uint v = 0; v < W; v++) {
        max[v] = -INFINITY;
        sum[v] = 0;
    }

    for (ulong step = 0; step < STEPS(s); step++) {
        fetch(&s, step, in + in_at, -INFINITY, x);
        for (uint v = 0; v < W; v++)
            max[v] = x[v] > max[v] ? x[v] : max[v];
    }
    for (uint line = 0; line < LINES; line++) {
        REAL m = max[line];
        for (uint v = 1; v < LANES; v++)
            m = max[v] > m ? max[v] : m;
        all[line * ITEMS + item] = m;
    }
    FOLD_PARTS(all, parts, larger)
    for (uint v = 0; v < W; v++)
        max[v] = all[(COLUMNS ? v : 0) * ITEMS + first];
    barrier(CLK_LOCAL_MEM_FENCE);

    for (ulong step = 0; step < STEPS(s); step++) {
        fetch(&s, step, in + in_at, -INFINITY, x);
        for (uint v = 0; v < W; v++) {
            x[v] = exp_of(x[v] - max[v]);
            sum[v] += x[v];
        }
#if KEEP
        keep(&s, step, x, out + out_at);
#endif
    }
    for (uint line = 0; line < LINES; line++) {
        REAL t = sum[line];
        for (uint v = 1; v < LANES; v++)
            t += sum[v];
        all[line * ITEMS + item] = t;
    }
    FOLD_PARTS(all, parts, plus)
    for (uint v = 0; v < W; v++)
        sum[v] = 1 / all[(COLUMNS ? v : 0) * ITEMS + first];

    for (ulong step = 0; step < STEPS(s); step++) {
#if KEEP
        fetch(&s, step, out + out_at, 0, x);
#else
        fetch(&s, step, in + in_at, -INFINITY, x);
#endif
        for (uint v = 0; v < W; v++)
            x[v] = (KEEP ? x[v] : exp_of(x[v] - max[v])) * sum[v];
        keep(&s, step, x, out + out_at);
    }
}
#endif
