/* SPDX-License-Identifier: Apache-2.0 */
/* The judge's arithmetic: double, and double-double where double itself is judged. Double-double
 * is used even where long double is wide, because a wide long double is not portable: it is double
 * on some systems, and under valgrind. */
#include "suite.h"

#include <float.h>

static struct st_dd fast_two_sum(double a, double b)
{
    const double s = a + b;
    return (struct st_dd){ s, b - (s - a) };
}

static struct st_dd two_sum(double a, double b)
{
    const double s = a + b, t = s - a;
    return (struct st_dd){ s, (a - (s - t)) + (b - t) };
}

static struct st_dd two_product(double a, double b)
{
    const double p = a * b;
    return (struct st_dd){ p, fma(a, b, -p) };
}

struct st_dd st_dd_add(struct st_dd a, struct st_dd b)
{
    const struct st_dd s = two_sum(a.hi, b.hi);
    if (!isfinite(s.hi))
        return (struct st_dd){ s.hi, 0.0 };
    const struct st_dd t = two_sum(a.lo, b.lo);
    const struct st_dd u = fast_two_sum(s.hi, s.lo + t.hi);
    return fast_two_sum(u.hi, u.lo + t.lo);
}

struct st_dd st_dd_mul(struct st_dd a, struct st_dd b)
{
    const struct st_dd p = two_product(a.hi, b.hi);
    if (!isfinite(p.hi) || p.hi == 0.0)
        return (struct st_dd){ p.hi, 0.0 };
    return fast_two_sum(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}

struct st_dd st_dd_div(struct st_dd a, struct st_dd b)
{
    const double q = a.hi / b.hi;
    if (!isfinite(q) || q == 0.0 || isinf(b.hi))
        return (struct st_dd){ q, 0.0 };
    const struct st_dd back = st_dd_mul((struct st_dd){ -q, 0.0 }, b);
    const struct st_dd rest = st_dd_add(a, back);
    const double q2 = rest.hi / b.hi;
    const struct st_dd rest2 = st_dd_add(rest, st_dd_mul((struct st_dd){ -q2, 0.0 }, b));
    return st_dd_add(fast_two_sum(q, q2), (struct st_dd){ rest2.hi / b.hi, 0.0 });
}

struct st_dd st_dd_scale(struct st_dd a, double power_of_two)
{
    return (struct st_dd){ a.hi * power_of_two, a.lo * power_of_two };
}

/* exp(x) = (exp(r / 512))^512 * 2^k with |r| <= ln(2) / 2, the inner one by its series; what is
 * squared is exp - 1, since the 1 would swallow its last bits. */
static struct st_dd dd_exp(struct st_dd x)
{
    static const struct st_dd ln2 = { 0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56 };
    if (isnan(x.hi) || x.hi > 710.0 || x.hi < -760.0)
        return (struct st_dd){ exp(x.hi), 0.0 };
    const double k = nearbyint(x.hi / ln2.hi);
    const struct st_dd r =
        st_dd_scale(st_dd_add(x, st_dd_mul((struct st_dd){ -k, 0.0 }, ln2)), 0x1p-9);

    struct st_dd term = r, sum = r;
    for (int i = 2; i < 12; i++) {
        term = st_dd_div(st_dd_mul(term, r), (struct st_dd){ i, 0.0 });
        sum = st_dd_add(sum, term);
    }
    for (int i = 0; i < 9; i++)
        sum = st_dd_add(st_dd_scale(sum, 2.0), st_dd_mul(sum, sum));
    sum = st_dd_add(sum, (struct st_dd){ 1.0, 0.0 });
    const int half = (int)k / 2;
    return st_dd_scale(st_dd_scale(sum, ldexp(1.0, half)), ldexp(1.0, (int)k - half));
}

struct st_dd st_exp(uint32_t type, struct st_dd x)
{
    return type == CB_F64 ? dd_exp(x) : (struct st_dd){ exp(x.hi + x.lo), 0.0 };
}

/* Near 1 by its series, since the logarithm is small there; elsewhere one Newton step. */
struct st_dd st_dd_log(double x)
{
    const double y = log(x);
    if (!isfinite(y) || y == 0.0)
        return (struct st_dd){ y, 0.0 };
    const struct st_dd f = { x - 1.0, 0.0 };
    if (fabs(f.hi) < 0x1p-7) {
        struct st_dd power = f, sum = f;
        for (int i = 2; i < 18; i++) {
            power = st_dd_mul(power, f);
            sum = st_dd_add(sum, st_dd_div(power, (struct st_dd){ i % 2 ? i : -i, 0.0 }));
        }
        return sum;
    }
    /* exp(-y) may overflow where x is subnormal: x is brought near 1 first. */
    const int e = ilogb(x);
    const struct st_dd near = { ldexp(x, -e), 0.0 };
    const struct st_dd ln2 = { 0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56 };
    const double y0 = log(near.hi);
    const struct st_dd back = st_dd_mul(near, dd_exp((struct st_dd){ -y0, 0.0 }));
    const struct st_dd r = st_dd_add(back, (struct st_dd){ -1.0, 0.0 });
    const struct st_dd l = st_dd_add((struct st_dd){ y0, 0.0 }, r);
    return st_dd_add(l, st_dd_mul((struct st_dd){ e, 0.0 }, ln2));
}

double st_extreme(bool maximum, double a, double b)
{
    if (isnan(a) || isnan(b))
        return NAN;
    if (a == b)
        return (signbit(a) != 0) == maximum ? b : a;
    return (a > b) == maximum ? a : b;
}

struct st_sum st_sum_of(uint32_t type)
{
    return (struct st_sum){ .wide = type == CB_F64 };
}

void st_sum_add(struct st_sum *sum, double a, double b)
{
    const double p = a * b;
    sum->plain += p;
    sum->magnitude += fabs(p);
    sum->terms++;
    if (sum->wide)
        sum->value = st_dd_add(sum->value, two_product(a, b));
}

struct st_dd st_sum_value(const struct st_sum *sum)
{
    return sum->wide && isfinite(sum->plain) ? sum->value : (struct st_dd){ sum->plain, 0.0 };
}

/* The bound of golden/README.md: for weight i, relative to it,
 * dev_i + sum_j p_j dev_j + (n + 6) u with dev_j = (|x_j - max| + 2) u + the score's own error. */
void st_softmax_row(uint32_t type, struct st_softmax *row, uint64_t n)
{
    const double u = st_unit(type);
    struct st_dd max = { -INFINITY, 0.0 };
    row->nan = false;
    for (uint64_t i = 0; i < n; i++) {
        row->nan = row->nan || isnan(row->p[i].hi) || row->p[i].hi == INFINITY;
        if (row->p[i].hi > max.hi || (row->p[i].hi == max.hi && row->p[i].lo > max.lo))
            max = row->p[i];
    }
    row->nan = row->nan || max.hi == -INFINITY;
    if (row->nan)
        return;

    const struct st_dd minus = { -max.hi, -max.lo };
    struct st_dd sum = { 0.0, 0.0 };
    for (uint64_t i = 0; i < n; i++) {
        const struct st_dd x = st_dd_add(row->p[i], minus);
        row->deviation[i] += isinf(x.hi) ? 0.0 : (fabs(x.hi) + 2.0) * u;
        row->p[i] = st_exp(type, x);
        sum = st_dd_add(sum, row->p[i]);
    }
    row->mean = ((double)n + 6.0) * u;
    for (uint64_t i = 0; i < n; i++) {
        row->p[i] = st_dd_div(row->p[i], sum);
        row->mean += row->p[i].hi * row->deviation[i];
    }
}
