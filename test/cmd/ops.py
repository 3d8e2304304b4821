#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: ops.py CB

Every op of `cb run` against NumPy, in TAP: the value in long double, the bound from the rules of
the ABI.
"""
import itertools

from kit import computed, made, main, np

U = {"f2": 2.0**-24, "f4": 2.0**-24, "f8": 2.0**-53}  # f16 is stored so, and computed in f32
TINY = {"f2": 2.0**-149, "f4": 2.0**-149, "f8": 2.0**-1074}
wide = np.longdouble


def judge(what, got, want, bound, dtype=None, order="C"):
    """Yields what is wrong with a result. want and bound are wide, dtype is that of the file."""
    if isinstance(got, str):
        yield f"{what}: {got}"
        return
    dtype = np.dtype(dtype or want.dtype)
    if got.dtype != dtype or got.shape != want.shape:
        yield f"{what}: {got.dtype}{got.shape}, not {dtype}{want.shape}"
        return
    if not got.flags.c_contiguous if order == "C" else not got.flags.f_contiguous:
        yield f"{what}: not in {order} order"
    with np.errstate(invalid="ignore"):
        error = np.abs(got.astype(wide) - want)
    bad = ~(error <= bound) & ~(np.isnan(got) & np.isnan(want)) & ~(got == want)
    if bad.any():
        at = tuple(int(i[0]) for i in np.nonzero(bad)) if bad.ndim else ()
        by = np.broadcast_to(bound, want.shape)[at]
        yield f"{what}: at {at} {got[at]}, not {want[at]} by {by}"


def stored(dtype, want, bound):
    """A bound with the half ulp that storing in 16 bits costs."""
    half_ulp = np.spacing(np.abs(want.astype("f2"))).astype(wide) / 2
    return bound + half_ulp if dtype == "f2" else bound


# ---- gemm ----

def gemm_terms(a, b, c=None, alpha=1, beta=0, dtype="f4"):
    """alpha a b + beta c, and its bound; a and b with or without a batch in front."""
    a, b = a.astype(wide), b.astype(wide)
    want = alpha * np.einsum("...ik,...kj->...ij", a, b)
    size = abs(alpha) * np.einsum("...ik,...kj->...ij", np.abs(a), np.abs(b))
    if c is not None:
        want = want + beta * c.astype(wide)
        size = size + np.abs(beta * c.astype(wide))
    k = a.shape[-1]
    return want, (k + 4) * U[dtype] * size + (k + 5) * TINY[dtype]


def turned(a):
    return np.swapaxes(a, -1, -2)


def gemm_multiplies_every_type_in_every_order_and_transpose():
    for dtype, order_a, order_b, ta, tb in itertools.product(
            ("f2", "f4", "f8"), "CF", "CF", (0, 1), (0, 1)):
        a = made((5, 7) if ta else (7, 5), dtype, order_a)
        b = made((4, 5) if tb else (5, 4), dtype, order_b)
        got = computed("gemm", a, b, keys=[f"trans_a={ta}", f"trans_b={tb}"])
        want, bound = gemm_terms(turned(a) if ta else a, turned(b) if tb else b, dtype=dtype)
        yield from judge((dtype, order_a, order_b, ta, tb), got, want, bound,
                         "f4" if dtype == "f2" else dtype, "F")


def gemm_adds_beta_times_a_third_file():
    for dtype, order in itertools.product(("f2", "f4", "f8"), "CF"):
        a, b = made((3, 6), dtype), made((6, 2), dtype)
        c = made((3, 2), "f4" if dtype == "f2" else dtype, order)
        for keys, alpha, beta in (((), 1, 1), (("beta=0.5",), 1, 0.5),
                                  (("alpha=-2", "beta=3"), -2, 3), (("alpha=0", "beta=1"), 0, 1)):
            want, bound = gemm_terms(a, b, c, alpha, beta, dtype)
            yield from judge((dtype, order, keys), computed("gemm", a, b, c, keys=keys), want,
                             bound, c.dtype, "F")


def gemm_with_beta_zero_does_not_read_the_third_file():
    a, b = made((3, 3)), made((3, 3))
    want, bound = gemm_terms(a, b)
    got = computed("gemm", a, b, np.full((3, 3), np.nan, "f4"), keys=["beta=0"])
    yield from judge("NaN", got, want, bound, "f4", "F")


def gemm_takes_any_extent():
    for m, n, k in ((1, 1, 1), (1, 9, 4), (9, 1, 4), (65, 33, 17), (0, 3, 2), (3, 0, 2), (3, 2, 0)):
        a, b = made((m, k)), made((k, n), order="F")
        want, bound = gemm_terms(a, b)
        yield from judge((m, n, k), computed("gemm", a, b), want, bound, "f4", "F")


def rounded_to_bf16(a):
    bits = a.view("u4").astype("u8")
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16 << 16).astype("u4").view("f4")


def gemm_mixed_precision_rounds_its_operands():
    for precision, rounded in (("f16", lambda x: x.astype("f2")), ("bf16", rounded_to_bf16)):
        a, b, c = made((6, 11)), made((3, 11), order="F"), made((6, 3))
        want, bound = gemm_terms(rounded(a), turned(rounded(b.copy("C"))), c, 2, 0.25)
        got = computed("gemm_mixed_precision", a, b, c, keys=[
            f"precision={precision}", "trans_b=1", "alpha=2", "beta=0.25"])
        yield from judge(precision, got, want, bound, "f4", "F")
        if precision == "f16":
            yield from judge("by default", computed("gemm_mixed_precision", a, turned(b)),
                             *gemm_terms(rounded(a), rounded(turned(b))), "f4", "F")


def batched_gemm_multiplies_every_type_in_every_order_and_transpose():
    for dtype, order, ta, tb in itertools.product(("f2", "f4", "f8"), "CF", (0, 1), (0, 1)):
        a = made((3, 4, 5) if ta else (3, 5, 4), dtype, order)
        b = made((3, 2, 4) if tb else (3, 4, 2), dtype, order)
        c = made((3, 5, 2), "f4" if dtype == "f2" else dtype, order)
        got = computed("batched_gemm", a, b, c, keys=[
            f"trans_a={ta}", f"trans_b={tb}", "alpha=2", "beta=-1"])
        want, bound = gemm_terms(turned(a) if ta else a, turned(b) if tb else b, c, 2, -1, dtype)
        yield from judge((dtype, order, ta, tb), got, want, bound, c.dtype)


def batched_gemm_shares_a_batch_of_one():
    for batch_a, batch_b in ((1, 3), (3, 1), (1, 1), (0, 1), (1, 0), (0, 0)):
        a, b = made((batch_a, 2, 3)), made((batch_b, 3, 4))
        want, bound = gemm_terms(a, b)
        yield from judge((batch_a, batch_b), computed("batched_gemm", a, b), want, bound, "f4")


# ---- convolution ----

def taps(x_shape, w_shape, stride, padding, dilation):
    """(output side slice, input side slice, row, column) of each element of the filter, on an input
    that is padded."""
    sides = [(x_shape[2 + i] + padding[i] + padding[i + 2] - dilation[i] * (w_shape[2 + i] - 1) - 1)
             // stride[i] + 1 for i in (0, 1)]
    for r, s in itertools.product(range(w_shape[2]), range(w_shape[3])):
        yield sides, (slice(r * dilation[0], r * dilation[0] + (sides[0] - 1) * stride[0] + 1,
                            stride[0]),
                      slice(s * dilation[1], s * dilation[1] + (sides[1] - 1) * stride[1] + 1,
                            stride[1])), r, s


def padded(x, padding):
    top, left, bottom, right = padding
    return np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)))


def conv2d(x, w, dy, x_shape, w_shape, stride, padding, dilation, groups):
    """The one of the three arrays that is None, by loops over the filter."""
    n, k, c = x_shape[0], w_shape[0], x_shape[1]
    px = padded(np.zeros(x_shape, wide) if x is None else x, padding)
    px = px.reshape(n, groups, c // groups, *px.shape[2:])
    w_ = (np.zeros(w_shape, wide) if w is None else w).reshape(groups, k // groups, *w_shape[1:])
    y = None if dy is None else dy.reshape(n, groups, k // groups, *dy.shape[2:])
    for sides, at, r, s in taps(x_shape, w_shape, stride, padding, dilation):
        if dy is None:
            y = np.zeros((n, groups, k // groups, *sides), wide) if y is None else y
            y += np.einsum("ngcpq,gkc->ngkpq", px[(..., *at)], w_[..., r, s])
        elif x is None:
            px[(..., *at)] += np.einsum("ngkpq,gkc->ngcpq", y, w_[..., r, s])
        else:
            w_[..., r, s] = np.einsum("ngkpq,ngcpq->gkc", y, px[(..., *at)])
    if dy is None:
        return y.reshape(n, k, *y.shape[3:])
    if w is None:
        return w_.reshape(w_shape)
    px = px.reshape(n, c, *px.shape[3:])
    return px[:, :, padding[0]:px.shape[2] - padding[2], padding[1]:px.shape[3] - padding[3]]


CONV2D = (  # input, filter, keys, then what they mean: stride, padding, dilation, groups
    ((2, 3, 7, 8), (4, 3, 3, 3), [], (1, 1), (0, 0, 0, 0), (1, 1), 1),
    ((1, 2, 9, 7), (3, 2, 3, 2), ["stride=2,3"], (2, 3), (0, 0, 0, 0), (1, 1), 1),
    ((2, 2, 6, 5), (2, 2, 3, 3), ["padding=1,2"], (1, 1), (1, 2, 1, 2), (1, 1), 1),
    ((1, 2, 5, 6), (3, 2, 2, 3), ["padding=0,1,2,3", "stride=2,1"], (2, 1), (0, 1, 2, 3), (1, 1),
     1),
    ((1, 1, 9, 9), (2, 1, 3, 2), ["dilation=2,3"], (1, 1), (0, 0, 0, 0), (2, 3), 1),
    ((2, 4, 6, 6), (6, 2, 3, 3), ["groups=2", "padding=1,1", "stride=2,2"], (2, 2), (1, 1, 1, 1),
     (1, 1), 2),
    ((1, 3, 4, 4), (3, 1, 1, 1), ["groups=3", "dilation=0,0"], (1, 1), (0, 0, 0, 0), (1, 1), 3),
)


def judge_conv2d(op, at):
    """at: the array, of input, filter and output, that the op computes."""
    for (x_shape, w_shape, keys, *how), order in itertools.product(CONV2D, "CF"):
        x, w = made(x_shape, order=order), made(w_shape, order=order)
        y = conv2d(x.astype(wide), w.astype(wide), None, x_shape, w_shape, *how)
        three = [x, w, made(y.shape, order=order)]
        if at < 2 and how[0] != (1, 1):
            shape = ",".join(map(str, (x_shape, w_shape)[at]))
            keys = [*keys, f"{('input', 'filter')[at]}_shape={shape}"]
        three[at] = None
        got = computed(op, *(a for a in three if a is not None), keys=keys)
        want, size, terms = (conv2d(*(None if a is None else f(a.astype(wide)) for a in three),
                                    x_shape, w_shape, *how)
                             for f in (lambda a: a, np.abs, np.ones_like))
        yield from judge((x_shape, w_shape, keys, order), got, want,
                         (terms + 1) * U["f4"] * size + (terms + 4) * TINY["f4"], "f4")


def conv2d_forward_takes_every_key():
    yield from judge_conv2d("conv2d_forward", 2)


def conv2d_backward_data_takes_every_key():
    yield from judge_conv2d("conv2d_backward_data", 0)


def conv2d_backward_filter_takes_every_key():
    yield from judge_conv2d("conv2d_backward_filter", 1)


# ---- attention ----

def attention_and_bound(q, k, v, scale, causal):
    q, k, v = (a.astype(wide) for a in (q, k, v))
    heads, queries, keys, depth = q.shape[1] // k.shape[1], q.shape[2], k.shape[2], q.shape[3]
    k, v = np.repeat(k, heads, 1), np.repeat(v, heads, 1)
    s = scale * np.einsum("bhid,bhjd->bhij", q, k)
    size = abs(scale) * np.einsum("bhid,bhjd->bhij", np.abs(q), np.abs(k))
    seen = np.tri(queries, keys, keys - queries, bool) if causal else np.ones((queries, keys), bool)
    s = np.where(seen, s, -np.inf)
    none = ~seen.any(-1)[:, None]
    top = np.where(none, 0, s.max(-1, keepdims=True, initial=-np.inf))
    p = np.exp(s - top)
    p /= np.where(none, 1, p.sum(-1, keepdims=True))
    n = seen.sum(-1)[:, None]
    e = np.where(seen, (np.abs(np.where(seen, s - top, 0)) + 2 + (depth + 2) * size) * U["f4"], 0)
    spread = e + (p * e).sum(-1, keepdims=True) + (n + 6) * U["f4"]
    bound = np.einsum("bhij,bhjd->bhid", p * spread, np.abs(v))
    bound += (n + 1) * U["f4"] * np.einsum("bhij,bhjd->bhid", p, np.abs(v))
    return np.einsum("bhij,bhjd->bhid", p, v), bound + (n + 4) * TINY["f4"]


def attention_takes_grouped_heads_masks_and_scales():
    shapes = (((2, 4, 3, 8), (2, 4, 5, 8)), ((1, 4, 5, 6), (1, 2, 5, 6)),
              ((1, 3, 6, 4), (1, 1, 2, 4)))
    for (shape_q, shape_k), order, (keys, scale, causal) in itertools.product(
            shapes, "CF", (((), None, False), (("causal=1",), None, True),
                           (("scale=0.25", "causal=0"), 0.25, False), (("scale=0",), 0, False))):
        q, k, v = made(shape_q, order=order), made(shape_k, order=order), made(shape_k)
        used = 1 / np.sqrt(shape_q[3]) if scale is None else scale
        want, bound = attention_and_bound(q, k, v, np.float32(used), causal)
        yield from judge((shape_q, shape_k, order, keys), computed("attention", q, k, v, keys=keys),
                         want, bound, "f4")


# ---- elements and axes ----

def softmax_is_along_any_axis_by_default_the_last():
    for dtype, order, axis in itertools.product(("f2", "f4", "f8"), "CF", (None, 0, 1, 2, -1, -3)):
        x = 3 * made((4, 3, 5), dtype, order)
        got = computed("softmax", x, keys=[] if axis is None else [f"axis={axis}"])
        axis = -1 if axis is None else axis
        d = x.astype(wide) - x.astype(wide).max(axis, keepdims=True)
        p = np.exp(d) / np.exp(d).sum(axis, keepdims=True)
        e = (np.abs(d) + 2) * U[dtype]
        bound = p * (e + (p * e).sum(axis, keepdims=True) + (x.shape[axis] + 6) * U[dtype])
        bound += 2.0**-1022 if dtype == "f8" else 2.0**-126
        yield from judge((dtype, order, axis), got, p, stored(dtype, p, bound), dtype)


def reduce_takes_every_op_type_and_axis():
    ops = {"sum": np.sum, "mean": np.mean, "max": np.max, "min": np.min}
    for op, dtype, order in itertools.product(ops, ("f2", "f4", "f8"), "CF"):
        for shape, axis in (((4, 3, 5), 0), ((4, 3, 5), 1), ((4, 3, 5), -1), ((6,), 0)):
            x = made(shape, dtype, order)
            got = computed("reduce", x, keys=[f"op={op}", f"axis={axis}"])
            want, n = ops[op](x.astype(wide), axis), shape[axis]
            size = np.abs(x.astype(wide)).sum(axis) / (n if op == "mean" else 1)
            bound = np.zeros_like(want)
            if op in ("sum", "mean"):
                bound = stored(dtype, want, (n + 2) * U[dtype] * size + (n + 4) * TINY[dtype])
            yield from judge((op, dtype, order, shape, axis), got, np.asarray(want), bound, dtype)


def reduce_of_an_empty_axis_has_the_values_of_the_rules():
    for op, value in (("sum", 0), ("max", -np.inf), ("min", np.inf), ("mean", np.nan)):
        got = computed("reduce", np.zeros((2, 0), "f4"), keys=[f"op={op}", "axis=1"])
        yield from judge(op, got, np.full(2, value, wide), np.zeros(2), "f4")


UNARY = {
    "relu": lambda x: np.maximum(x, 0), "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "tanh": np.tanh,
    "exp": np.exp, "log": np.log, "sqrt": np.sqrt, "abs": np.abs, "neg": np.negative,
}


def unary_takes_every_op_type_order_and_rank():
    for (op, f), dtype in itertools.product(UNARY.items(), ("f2", "f4", "f8")):
        for x in (made((3, 4, 5), dtype, "F"), made((7,), dtype), made((), dtype),
                  np.asarray([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-5, -2], dtype)):
            with np.errstate(all="ignore"):
                want = np.asarray(f(x.astype(wide)))
                near = np.nan_to_num(want).astype(dtype)
                bound = 4 * np.spacing(np.abs(near)).astype(wide)
            if op in ("relu", "abs", "neg"):
                bound = np.zeros_like(want)
            yield from judge((op, dtype, x.shape), computed("unary", x, keys=[f"op={op}"]), want,
                             bound, dtype)


BINARY = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide,
          "max": np.maximum, "min": np.minimum}


def binary_is_correctly_rounded_for_every_op_type_and_order():
    for (op, f), dtype, (left, right) in itertools.product(
            BINARY.items(), ("f2", "f4", "f8"), ("CC", "CF", "FF")):
        a, b = made((4, 3), dtype, left), made((4, 3), dtype, right)
        got = computed("binary", a, b, keys=[f"op={op}"])
        want = f(a.astype("f4"), b.astype("f4")).astype(dtype) if dtype == "f2" else f(a, b)
        yield from judge((op, dtype, left, right), got, want.astype(wide), np.zeros((4, 3)), dtype)


# ---- rows ----

INDICES = ([2, 0, 2, 1], [[1, 1], [2, 0]], [], 1)


def gather_takes_any_table_and_indices():
    for dtype, order, shape, index, of in itertools.product(
            ("f2", "f4", "f8", "i8", "u8"), "CF", ((3,), (3, 4), (3, 2, 2)), INDICES, ("i8", "u8")):
        if dtype in ("f2", "u8") and order == "F":
            continue
        table = (100 * made(shape)).astype(dtype, order)
        got = computed("gather", table, np.asarray(index, of, order=order))
        want = table[np.asarray(index, "i8")]
        if isinstance(got, str) or got.dtype != want.dtype or not np.array_equal(got, want):
            yield f"{(dtype, order, shape, index, of)}: {got}"


def scatter_takes_any_table_and_the_last_of_duplicates_wins():
    for dtype, order, shape, index in itertools.product(
            ("f2", "f4", "f8", "i8"), "CF", ((3,), (3, 4), (3, 2, 2)), INDICES):
        table = (100 * made(shape)).astype(dtype, order)
        index = np.asarray(index, "i8", order=order)
        rows = (100 * made(index.shape + shape[1:])).astype(dtype, order)
        got = computed("scatter", table, index, rows)
        want = table.copy("C")
        for at in np.ndindex(index.shape):
            want[index[at]] = rows[at]
        if isinstance(got, str) or got.dtype != want.dtype or not np.array_equal(got, want):
            yield f"{(dtype, order, shape, index)}: {got}"


main([
    gemm_multiplies_every_type_in_every_order_and_transpose,
    gemm_adds_beta_times_a_third_file,
    gemm_with_beta_zero_does_not_read_the_third_file,
    gemm_takes_any_extent,
    gemm_mixed_precision_rounds_its_operands,
    batched_gemm_multiplies_every_type_in_every_order_and_transpose,
    batched_gemm_shares_a_batch_of_one,
    conv2d_forward_takes_every_key,
    conv2d_backward_data_takes_every_key,
    conv2d_backward_filter_takes_every_key,
    attention_takes_grouped_heads_masks_and_scales,
    softmax_is_along_any_axis_by_default_the_last,
    reduce_takes_every_op_type_and_axis,
    reduce_of_an_empty_axis_has_the_values_of_the_rules,
    unary_takes_every_op_type_order_and_rank,
    binary_is_correctly_rounded_for_every_op_type_and_order,
    gather_takes_any_table_and_indices,
    scatter_takes_any_table_and_the_last_of_duplicates_wins,
])
