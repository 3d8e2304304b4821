/* SPDX-License-Identifier: Apache-2.0 */
/* A sum that does not stall: double for the narrower types, compensated for double itself. */
#ifndef CPU_SUM_H
#define CPU_SUM_H

#include <math.h>

struct wide_sum {
    double sum, lost; /* lost: what the rounding of sum left out, so far */
};

/* Neumaier's step: exact but for the rounding of lost. */
static inline void wide_sum_add(struct wide_sum *w, double x)
{
    const double sum = w->sum + x;
    w->lost += fabs(w->sum) >= fabs(x) ? (w->sum - sum) + x : (x - sum) + w->sum;
    w->sum = sum;
}

/* An infinite or NaN sum makes lost NaN, and stands for itself. */
static inline double wide_sum_total(const struct wide_sum *w)
{
    return isfinite(w->sum) ? w->sum + w->lost : w->sum;
}

#endif
