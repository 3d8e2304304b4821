/* SPDX-License-Identifier: Apache-2.0 */
/* binary: every special value with every other, every small length, overlaps. */
#include "suite.h"
#include "tensor.h"

static const char rounded_rule[] = "add, sub, mul and div are correctly rounded";
static const char extreme_rule[] =
    "IEEE 754-2019 maximum and minimum: a NaN gives NaN, -0 is below +0";

static const char *const op_names[] = { "add", "sub", "mul", "div", "max", "min" };

enum overlap {
    APART,
    OUT_ON_A,
    OUT_ON_B,
    OUT_INTO_A,
    A_IS_B
};

struct binary {
    uint32_t type, op, special, overlap;
    uint32_t offset; /* elements that the operands lie off 64 bytes */
    uint64_t n;
    const struct st_variant *variant;
};

static bool is_extreme(uint32_t op)
{
    return op == CB_BINARY_MAX || op == CB_BINARY_MIN;
}

/* One operation in double, which has so many more bits than f32 that a second rounding does not
 * show; 16-bit types have that distance from f32 in turn. */
static double evaluate(uint32_t type, uint32_t op, double a, double b)
{
    double y;
    switch (op) {
    case CB_BINARY_ADD: y = a + b; break;
    case CB_BINARY_SUB: y = a - b; break;
    case CB_BINARY_MUL: y = a * b; break;
    case CB_BINARY_DIV: y = a / b; break;
    default: return st_extreme(op == CB_BINARY_MAX, a, b);
    }
    return type == CB_F64 ? y : st_round(type, (double)(float)y);
}

static uint64_t specials(uint32_t type)
{
    uint64_t n = 0;
    for (double v; st_special(type, n, &v);)
        n++;
    return n;
}

static void fill(struct st_run *run, const struct binary *b, struct st_buffer *x,
                 struct st_buffer *y)
{
    st_fill(run, x, 4.0);
    if (y != x)
        st_fill(run, y, 4.0);
    const uint64_t n = specials(b->type);
    for (uint64_t i = 0; b->special && i < b->n; i++) {
        double v = 0.0;
        st_special(b->type, i % n, &v);
        st_set(x, i, v);
        st_special(b->type, i / n % n, &v);
        st_set(y, i, v);
    }
}

static void run_binary(struct st_run *run, const struct binary *b)
{
    static const char *const overlaps[] = { "", ",out=a", ",out=b", ",out=a+3", ",b=a" };
    if (!st_begin(run, "binary:%s,%s,n=%" PRIu64 ",offset=%" PRIu32 "%s%s%s%s",
                  st_type_name(b->type), op_names[b->op], b->n, b->offset,
                  b->special ? ",special" : "", overlaps[b->overlap], ST_VARIANT(b->variant)))
        return;
    run->shift = b->offset;
    const uint64_t shift = b->overlap == OUT_INTO_A ? 3 : 0;
    struct st_buffer *x = st_buffer(run, "a", b->type, b->n + shift,
                                    b->overlap == OUT_ON_A || b->overlap == OUT_INTO_A);
    struct st_buffer *y =
        b->overlap == A_IS_B ? x : st_buffer(run, "b", b->type, b->n, b->overlap == OUT_ON_B);
    struct st_buffer *out = b->overlap == OUT_ON_A || b->overlap == OUT_INTO_A ? x
                            : b->overlap == OUT_ON_B
                                ? y
                                : st_buffer(run, "output", b->type, b->n, true);
    if (x && y && out) {
        fill(run, b, x, y);
        run->rule = is_extreme(b->op) ? extreme_rule : rounded_rule;
        for (uint64_t i = 0; i < b->n; i++)
            st_want_exact(run, out, shift + i, evaluate(b->type, b->op, x->x[i], y->x[i]));
        cb_binary_args args;
        cb_binary_args_init(&args);
        args.dtype = b->type;
        args.op = b->op;
        args.n = b->n;
        st_operand(run, "a", offsetof(cb_binary_args, a), x, 0, b->n);
        st_operand(run, "b", offsetof(cb_binary_args, b), y, 0, b->n);
        st_operand(run, "output", offsetof(cb_binary_args, output), out, shift, b->n);
        st_call(run, CB_OP_BINARY, &args, b->variant);
    }
    st_end(run);
}

static void grid(struct st_run *run, uint32_t type)
{
    for (uint32_t op = CB_BINARY_ADD; op <= CB_BINARY_MIN; op++) {
        struct binary b = { .type = type, .op = op };
        for (uint32_t i = 0; i <= 65 * 4; i++) { /* lengths and places around every vector */
            b.n = i / 4;
            b.offset = i % 4;
            b.overlap = i % 5;
            run_binary(run, &b);
        }
        b.overlap = APART;
        b.n = st_full(run) ? 300007 : 5003;
        run_binary(run, &b);
        b.special = 1;
        b.n = specials(type) * specials(type);
        run_binary(run, &b);
    }
}

static void sample(struct st_run *run, uint32_t type, const struct st_variant *variant)
{
    const bool again = st_is_rerun(variant);
    struct binary b = { .type = type,
                        .n = st_size(run, variant, 21, 5003, 150001),
                        .variant = variant };
    for (b.op = CB_BINARY_ADD; b.op <= CB_BINARY_MIN; b.op++) {
        if (again || b.op == CB_BINARY_SUB)
            run_binary(run, &b);
    }
}

static const struct st_variant faults[] = {
    ST_UNKNOWN("dtype=99", cb_binary_args, dtype, 99, "dtype"),
    ST_UNKNOWN("op=6", cb_binary_args, op, 6, "op"),
    ST_UNKNOWN("reserved=1", cb_binary_args, reserved, 1, "reserved"),
    ST_BAD("n=2^63", cb_binary_args, n, UINT64_C(1) << 63, "n"),
    { .label = NULL },
};

const struct st_group st_binary = { "binary", st_float_types, grid, sample, faults };
