/* SPDX-License-Identifier: Apache-2.0 */
/* The accumulators of reduce: of one vector of columns, and of a tile of columns in memory. A sum
 * is kept in double for f32, in two halves; for f64 it is compensated. A maximum or minimum is kept
 * in its own type. `op` is CB_REDUCE_SUM, _MAX or _MIN, and constant wherever these are inlined. */
#ifndef CPU_REDUCE_ACC_H
#define CPU_REDUCE_ACC_H

#include <math.h>

#include "compute_backend.h"
#include "vec.h"
#include "../reference/ieee.h"
#include "../reference/sum.h"

#define REDUCE_COLUMNS 512u /* of a table: 8 KB and less */

struct f32_acc {
    f64_t low, high;
    f32_t most;
};

struct f64_acc {
    f64_t sum, lost, most;
};

struct f32_table {
    double sum[REDUCE_COLUMNS];
    float most[REDUCE_COLUMNS];
};

struct f64_table {
    double sum[REDUCE_COLUMNS], lost[REDUCE_COLUMNS], most[REDUCE_COLUMNS];
};

/* What changes no result. */
#define REDUCE_NONE(op) ((op) == CB_REDUCE_MAX ? -INFINITY : (op) == CB_REDUCE_MIN ? INFINITY : 0)

#define REDUCE_MOST(E, op, a, b)                                                                   \
    ((op) == CB_REDUCE_MAX ? E##_maximum((a), (b)) : E##_minimum((a), (b)))

/* Knuth's sum: exact but for the rounding of lost. */
VEC_INLINE void f64_acc_sum(struct f64_acc *acc, f64_t x)
{
    const f64_t sum = f64_add(acc->sum, x), rest = f64_sub(sum, acc->sum);
    const f64_t error = f64_add(f64_sub(acc->sum, f64_sub(sum, rest)), f64_sub(x, rest));
    acc->lost = f64_add(acc->lost, error);
    acc->sum = sum;
}

VEC_INLINE void f64_acc_add(uint32_t op, struct f64_acc *acc, f64_t x)
{
    if (op == CB_REDUCE_SUM)
        f64_acc_sum(acc, x);
    else
        acc->most = REDUCE_MOST(f64, op, acc->most, x);
}

VEC_INLINE void f32_acc_add(uint32_t op, struct f32_acc *acc, f32_t x)
{
    if (op == CB_REDUCE_SUM) {
        acc->low = f64_add(acc->low, f64_from_f32_low(x));
        acc->high = f64_add(acc->high, f64_from_f32_high(x));
    } else {
        acc->most = REDUCE_MOST(f32, op, acc->most, x);
    }
}

#define SUM4(part, x)                                                                              \
    f64_add(f64_add(part((x)[0]), part((x)[1])), f64_add(part((x)[2]), part((x)[3])))
#define AS_IT_IS(x) (x)

VEC_INLINE void f64_acc_add4(uint32_t op, struct f64_acc *acc, const f64_t *x)
{
    if (op == CB_REDUCE_SUM)
        f64_acc_sum(acc, SUM4(AS_IT_IS, x));
    else
        f64_acc_add(op, acc,
                    REDUCE_MOST(f64, op, REDUCE_MOST(f64, op, x[0], x[1]),
                                REDUCE_MOST(f64, op, x[2], x[3])));
}

VEC_INLINE void f32_acc_add4(uint32_t op, struct f32_acc *acc, const f32_t *x)
{
    if (op == CB_REDUCE_SUM) {
        acc->low = f64_add(acc->low, SUM4(f64_from_f32_low, x));
        acc->high = f64_add(acc->high, SUM4(f64_from_f32_high, x));
    } else {
        f32_acc_add(op, acc,
                    REDUCE_MOST(f32, op, REDUCE_MOST(f32, op, x[0], x[1]),
                                REDUCE_MOST(f32, op, x[2], x[3])));
    }
}

VEC_INLINE struct f32_acc f32_acc_start(uint32_t op)
{
    return (struct f32_acc){ f64_zero(), f64_zero(), f32_set1(REDUCE_NONE(op)) };
}

VEC_INLINE struct f64_acc f64_acc_start(uint32_t op)
{
    return (struct f64_acc){ f64_zero(), f64_zero(), f64_set1(REDUCE_NONE(op)) };
}

VEC_INLINE struct f32_acc f32_acc_load(uint32_t op, const struct f32_table *t, uint64_t column)
{
    struct f32_acc acc = f32_acc_start(op);
    if (op == CB_REDUCE_SUM) {
        acc.low = f64_load(t->sum + column);
        acc.high = f64_load(t->sum + column + f64_n);
    } else {
        acc.most = f32_load(t->most + column);
    }
    return acc;
}

VEC_INLINE struct f64_acc f64_acc_load(uint32_t op, const struct f64_table *t, uint64_t column)
{
    struct f64_acc acc = f64_acc_start(op);
    if (op == CB_REDUCE_SUM) {
        acc.sum = f64_load(t->sum + column);
        acc.lost = f64_load(t->lost + column);
    } else {
        acc.most = f64_load(t->most + column);
    }
    return acc;
}

VEC_INLINE void f32_acc_store(uint32_t op, const struct f32_acc *acc, struct f32_table *t,
                              uint64_t column)
{
    if (op == CB_REDUCE_SUM) {
        f64_store(t->sum + column, acc->low);
        f64_store(t->sum + column + f64_n, acc->high);
    } else {
        f32_store(t->most + column, acc->most);
    }
}

VEC_INLINE void f64_acc_store(uint32_t op, const struct f64_acc *acc, struct f64_table *t,
                              uint64_t column)
{
    if (op == CB_REDUCE_SUM) {
        f64_store(t->sum + column, acc->sum);
        f64_store(t->lost + column, acc->lost);
    } else {
        f64_store(t->most + column, acc->most);
    }
}

/* One column, whatever the type and op: a maximum or minimum is a sum of one term. */
VEC_INLINE struct wide_sum f32_table_at(uint32_t op, const struct f32_table *t, uint64_t column)
{
    return (struct wide_sum){ op == CB_REDUCE_SUM ? t->sum[column] : t->most[column], 0 };
}

VEC_INLINE struct wide_sum f64_table_at(uint32_t op, const struct f64_table *t, uint64_t column)
{
    if (op == CB_REDUCE_SUM)
        return (struct wide_sum){ t->sum[column], t->lost[column] };
    return (struct wide_sum){ t->most[column], 0 };
}

VEC_INLINE void reduce_merge(uint32_t op, struct wide_sum *into, struct wide_sum x)
{
    if (op == CB_REDUCE_SUM) {
        wide_sum_add(into, x.sum);
        into->lost += x.lost;
    } else if (op == CB_REDUCE_MAX) {
        into->sum = IEEE_MAXIMUM(into->sum, x.sum);
    } else {
        into->sum = IEEE_MINIMUM(into->sum, x.sum);
    }
}

/* All columns of a vector as one. */
VEC_INLINE struct wide_sum f32_acc_total(uint32_t op, const struct f32_acc *acc)
{
    if (op == CB_REDUCE_SUM)
        return (struct wide_sum){ f64_first(f64_all_add(f64_add(acc->low, acc->high))), 0 };
    return (struct wide_sum){
        f32_first(op == CB_REDUCE_MAX ? f32_all_maximum(acc->most) : f32_all_minimum(acc->most)), 0
    };
}

VEC_INLINE struct wide_sum f64_acc_total(uint32_t op, const struct f64_acc *acc)
{
    if (op != CB_REDUCE_SUM)
        return (struct wide_sum){ f64_first(op == CB_REDUCE_MAX ? f64_all_maximum(acc->most)
                                                                : f64_all_minimum(acc->most)),
                                  0 };
    struct wide_sum total = { 0, f64_first(f64_all_add(acc->lost)) };
    double sum[f64_n];
    f64_store(sum, acc->sum);
    for (int i = 0; i < f64_n; i++)
        wide_sum_add(&total, sum[i]);
    return total;
}

#undef REDUCE_MOST
#undef SUM4
#undef AS_IT_IS

#endif
