#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Turn the ONNX 1.12 backend test data of Debian's libonnx-testdata into a flat,
C-readable form (index.txt + data.bin) for the compute_backend_v1 operations.
Usage: /usr/bin/python3 convert_onnx.py [OUTDIR]     (needs python3-onnx)"""
import collections, json, math, os, sys
import numpy as np
import onnx
from onnx import numpy_helper

ROOT = '/usr/share/libonnx-testdata/data'
OUT = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
FAMILIES = ['node', 'pytorch-converted', 'pytorch-operator', 'simple']
FLOATS = {np.dtype('float32'): 'f32', np.dtype('float64'): 'f64', np.dtype('float16'): 'f16'}
ALIGN = 64

class Skip(Exception):
    """feature = what the ABI would need; why = one line"""
    def __init__(self, feature, why=''):
        self.feature, self.why = feature, why or feature

data, lines, stats, skipped, tests_by_op = bytearray(), [], collections.Counter(), [], collections.Counter()

def put(arr):
    arr = np.ascontiguousarray(arr)
    while len(data) % ALIGN:
        data.append(0)
    off = len(data)
    data.extend(arr.astype(arr.dtype.newbyteorder('<')).tobytes())
    return '%d:%d' % (off, arr.size)

def fmt(v):
    if isinstance(v, (list, tuple)):
        return ','.join(str(int(x)) for x in v)
    if isinstance(v, float):
        return repr(v)
    return str(v)

def emit(name, op, dtype, keys, bufs):
    parts = [name, op, dtype] + ['%s=%s' % (k, fmt(v)) for k, v in keys.items()]
    for k, a in bufs.items():
        if a is not None:
            parts.append('%s=%s' % (k, put(a.astype('int64') if k == 'idx' else a)))
    lines.append(' '.join(parts))
    stats[op] += 1

def fdt(*arrs):
    dts = {a.dtype for a in arrs if a is not None}
    if len(dts) != 1 or next(iter(dts)) not in FLOATS:
        raise Skip('integer element types', 'element type ' + '/'.join(sorted(str(d) for d in dts)))
    return FLOATS[next(iter(dts))]

def attrs(node):
    r = {}
    for a in node.attribute:
        v = onnx.helper.get_attribute_value(a)
        r[a.name] = v.decode() if isinstance(v, bytes) else v
    return r

# ---------------------------------------------------------------- op mappings
def gemm_colmajor(name, dtype, A, B, C, Y, ta, tb, alpha, beta):
    """Row-major Y = alpha*op(A)op(B)+beta*C  ==  column-major Y^T = alpha*op(B)^T op(A)^T + beta*C^T:
    swap the operands, keep the transpose flags, leading dimension = row length in memory."""
    M, K = (A.shape[1], A.shape[0]) if ta else A.shape
    N = B.shape[0] if tb else B.shape[1]
    bufs = {'a': B, 'b': A, 'c': C, 'y': Y}
    emit(name, 'gemm', dtype, dict(ta='T' if tb else 'N', tb='T' if ta else 'N', m=N, n=M, k=K,
         alpha=float(alpha), beta=float(beta) if C is not None else 0.0,
         lda=B.shape[1], ldb=A.shape[1], ldc=N), bufs)

def do_gemm(name, at, ins, outs, opset):
    A, B = ins[0], ins[1]
    C = ins[2] if len(ins) > 2 else None
    Y = outs[0]
    dt = fdt(A, B, C, Y)
    if C is not None:
        C = np.broadcast_to(C, Y.shape)          # bias expanded here: the ABI's C is in/out
    gemm_colmajor(name, dt, A, B, C, Y, at.get('transA', 0), at.get('transB', 0), at.get('alpha', 1.0), at.get('beta', 1.0))

def do_matmul(name, at, ins, outs, opset, ta=0, tb=0):
    A, B = ins; Y = outs[0]; dt = fdt(A, B, Y)
    if A.ndim == 2 and B.ndim == 2:
        return gemm_colmajor(name, dt, A, B, None, Y, ta, tb, 1.0, 0.0)
    if A.shape[:-2] != B.shape[:-2]:
        raise Skip('broadcast', 'batch dimensions broadcast')
    bat = int(np.prod(A.shape[:-2])); M, K = A.shape[-2:]; N = B.shape[-1]
    emit(name, 'batched_gemm', dt, dict(ta='N', tb='N', m=N, n=M, k=K, alpha=1.0, beta=0.0, lda=N, ldb=K, ldc=N,
         sa=K * N, sb=M * K, sc=M * N, batch=bat), {'a': B, 'b': A, 'y': Y})

def do_einsum(name, at, ins, outs, opset):
    eq = at['equation'].replace(' ', '')
    Y = outs[0]; dt = fdt(*ins, Y)
    if eq == 'bij,bjk->bik':
        return do_matmul(name, {}, ins, outs, opset)
    if eq == 'i,i':
        return gemm_colmajor(name, dt, ins[0].reshape(1, -1), ins[1].reshape(-1, 1), None, Y.reshape(1, 1), 0, 0, 1.0, 0.0)
    if eq == 'ij->i':
        return emit(name, 'reduce', dt, dict(kind='sum', shape=ins[0].shape, axis=1), {'x': ins[0], 'y': Y})
    raise Skip('transpose/diagonal views', 'einsum ' + eq)

def do_softmax(name, at, ins, outs, opset):
    x, y = ins[0], outs[0]; dt = fdt(x, y)
    ax = at.get('axis', 1 if opset < 13 else -1) % x.ndim
    if opset < 13:                                # old rule: flatten to 2-D at axis
        o, n, i = int(np.prod(x.shape[:ax])), int(np.prod(x.shape[ax:])), 1
    else:
        o, n, i = int(np.prod(x.shape[:ax])), x.shape[ax], int(np.prod(x.shape[ax + 1:]))
    emit(name, 'softmax', dt, dict(outer=o, len=n, inner=i), {'x': x, 'y': y})

def do_reduce(kind):
    def f(name, at, ins, outs, opset):
        x, y = ins[0], outs[0]; dt = fdt(x, y)
        axes = at.get('axes')
        if axes is None and len(ins) > 1 and ins[1] is not None:
            axes = [int(v) for v in ins[1].reshape(-1)]
        if not axes:
            if at.get('noop_with_empty_axes', 0):
                raise Skip('identity', 'no-op reduce over an empty axis list')
            axes = list(range(x.ndim))
        axes = sorted(a % x.ndim for a in axes)
        if axes != list(range(axes[0], axes[-1] + 1)):
            raise Skip('axes lists', 'reduction over non-adjacent axes %s' % axes)
        shape = list(x.shape[:axes[0]]) + [int(np.prod(x.shape[axes[0]:axes[-1] + 1]))] + list(x.shape[axes[-1] + 1:])
        k = dict(kind=kind, shape=shape, axis=axes[0])
        if len(axes) > 1:
            k['pre'] = 'merge_axes'
        emit(name, 'reduce', dt, k, {'x': x, 'y': y})
    return f

def do_global(kind):
    def f(name, at, ins, outs, opset):
        x, y = ins[0], outs[0]
        emit(name, 'reduce', fdt(x, y), dict(kind=kind, shape=[x.shape[0] * x.shape[1], int(np.prod(x.shape[2:]))], axis=1, pre='merge_axes'),
             {'x': x, 'y': y})
    return f

def do_unary(kind):
    def f(name, at, ins, outs, opset):
        emit(name, 'unary', fdt(ins[0], outs[0]), dict(kind=kind, n=ins[0].size), {'x': ins[0], 'y': outs[0]})
    return f

def do_binary(kind):
    def f(name, at, ins, outs, opset):
        dt = fdt(*ins, *outs)
        if len(ins) == 1:
            raise Skip('identity', 'one-input %s' % kind)
        if any(i.shape != outs[0].shape for i in ins):
            raise Skip('broadcast', 'operand shapes ' + ' '.join(str(i.shape) for i in ins))
        if len(ins) > 3:
            raise Skip('n-ary', '%d inputs' % len(ins))
        emit(name, 'binary', dt, dict(kind=kind, n=outs[0].size, nin=len(ins)),
             {'a': ins[0], 'b': ins[1], 'c': ins[2] if len(ins) > 2 else None, 'y': outs[0]})
    return f

def dilate(w, d):
    if all(v == 1 for v in d):
        return w
    kh, kw = w.shape[2:]
    r = np.zeros(w.shape[:2] + ((kh - 1) * d[0] + 1, (kw - 1) * d[1] + 1), w.dtype)
    r[:, :, ::d[0], ::d[1]] = w
    return r

def conv_common(at, x, w):
    sp = x.ndim - 2
    if sp == 3:
        raise Skip('3-D convolution')
    s, d = list(at.get('strides', [1] * sp)), list(at.get('dilations', [1] * sp))
    p = list(at.get('pads', [0] * 2 * sp)); g = at.get('group', 1)
    return sp, s, d, p, g

def to2d(*arrs):
    return [a[:, :, None, :] for a in arrs]

def do_conv(name, at, ins, outs, opset):
    x, w = ins[0], ins[1]; bias = ins[2] if len(ins) > 2 else None; y = outs[0]; dt = fdt(x, w, y)
    sp, s, d, p, G = conv_common(at, x, w)
    tags = []
    if sp == 1:
        x, w, y = to2d(x, w, y); s, d, p = [1] + s, [1] + d, [0, p[0], 0, p[1]]; tags.append('1d')
    ap = at.get('auto_pad', 'NOTSET')
    if ap in ('SAME_UPPER', 'SAME_LOWER'):
        p = [0] * 4
        for i in (0, 1):
            o = -(-x.shape[2 + i] // s[i])
            tot = max((o - 1) * s[i] + (w.shape[2 + i] - 1) * d[i] + 1 - x.shape[2 + i], 0)
            a, b = tot // 2, tot - tot // 2
            p[i], p[2 + i] = (a, b) if ap == 'SAME_UPPER' else (b, a)
    elif ap == 'VALID':
        p = [0] * 4
    K = w.shape[0]
    base = dict(N=x.shape[0], C=x.shape[1], H=x.shape[2], W=x.shape[3], K=K, fh=w.shape[2], fw=w.shape[3], oh=y.shape[2], ow=y.shape[3],
                sh=s[0], sw=s[1])
    asym = p[0] != p[2] or p[1] != p[3]
    if G > 1 or d != [1, 1] or asym:
        emit(name, 'conv2d_ext', dt, dict(base, dh=d[0], dw=d[1], groups=G, pt=p[0], pl=p[1], pb=p[2], pr=p[3]), {'x': x, 'w': w, 'bias': bias, 'y': y})
    px = x
    if asym:
        px = np.pad(x, ((0, 0), (0, 0), (p[0], p[2]), (p[1], p[3]))); p = [0] * 4; tags.append('pad')
    wd = dilate(w, d)
    if wd is not w:
        tags.append('dilate')
    cg, kg = px.shape[1] // G, K // G
    for g in range(G):
        xs, ws, ys = px[:, g * cg:(g + 1) * cg], wd[g * kg:(g + 1) * kg], y[:, g * kg:(g + 1) * kg]
        bs = None if bias is None else bias[g * kg:(g + 1) * kg]
        k = dict(N=xs.shape[0], C=cg, H=xs.shape[2], W=xs.shape[3], K=kg, fh=ws.shape[2], fw=ws.shape[3], oh=ys.shape[2], ow=ys.shape[3],
                 sh=s[0], sw=s[1], ph=p[0], pw=p[1])
        t = tags + (['group%d/%d' % (g, G)] if G > 1 else [])
        if t:
            k['pre'] = '+'.join(t)
        emit(name, 'conv2d', dt, k, {'x': xs, 'w': ws, 'bias': bs, 'y': ys})

def do_convtranspose(name, at, ins, outs, opset):
    """ConvTranspose(X, W) is conv2d_backward_data(grad_out = X, filter = W): ONNX W is (C, M/g, kh, kw) = (K, C, fh, fw) of the forward conv."""
    x, w = ins[0], ins[1]; bias = ins[2] if len(ins) > 2 else None; y = outs[0]; dt = fdt(x, w, y)
    sp, s, d, p, G = conv_common(at, x, w)
    opad = list(at.get('output_padding', [0] * sp)); ap = at.get('auto_pad', 'NOTSET'); tags = []
    osh = at.get('output_shape')
    if sp == 1:
        x, w, y = to2d(x, w, y); s, d, p, opad = [1] + s, [1] + d, [0, p[0], 0, p[1]], [0] + opad; tags.append('1d')
    if osh is not None or ap != 'NOTSET':
        for i in (0, 1):
            tot = max(s[i] * (x.shape[2 + i] - 1) + opad[i] + (w.shape[2 + i] - 1) * d[i] + 1 - y.shape[2 + i], 0)
            a, b = tot // 2, tot - tot // 2
            p[i], p[2 + i] = (b, a) if ap == 'SAME_LOWER' else (a, b)
    wd = dilate(w, d)
    asym = p[0] != p[2] or p[1] != p[3]
    if G > 1 or d != [1, 1] or asym:
        emit(name, 'conv2d_bwd_data_ext', dt, dict(N=y.shape[0], C=y.shape[1], H=y.shape[2], W=y.shape[3], K=x.shape[1], fh=w.shape[2], fw=w.shape[3],
             oh=x.shape[2], ow=x.shape[3], sh=s[0], sw=s[1], dh=d[0], dw=d[1], groups=G, pt=p[0], pl=p[1], pb=p[2], pr=p[3]),
             {'dy': x, 'w': w, 'bias': bias, 'y': y})
    if wd is not w:
        tags.append('dilate')
    H, W, crop = y.shape[2], y.shape[3], None
    ph, pw = p[0], p[1]
    if asym:                                      # run unpadded at full size, compare a window
        ph = pw = 0
        H = s[0] * (x.shape[2] - 1) + wd.shape[2]; W = s[1] * (x.shape[3] - 1) + wd.shape[3]
        crop = [p[0], p[1], y.shape[2], y.shape[3]]; tags.append('crop')
    for i, (size, pad) in enumerate(((H, ph), (W, pw))):
        if (size + 2 * pad - wd.shape[2 + i]) // s[i] + 1 != x.shape[2 + i]:
            raise Skip('asymmetric padding', 'output size not consistent with a symmetric forward convolution')
    kg, cg = x.shape[1] // G, y.shape[1] // G
    for g in range(G):
        ys = y[:, g * cg:(g + 1) * cg]
        k = dict(N=y.shape[0], C=cg, H=H, W=W, K=kg, fh=wd.shape[2], fw=wd.shape[3], oh=x.shape[2], ow=x.shape[3], sh=s[0], sw=s[1], ph=ph, pw=pw)
        if crop:
            k['crop'] = crop
        t = tags + (['group%d/%d' % (g, G)] if G > 1 else [])
        if t:
            k['pre'] = '+'.join(t)
        emit(name, 'conv2d_bwd_data', dt, k, {'dy': x[:, g * kg:(g + 1) * kg], 'w': wd[g * kg:(g + 1) * kg],
             'bias': None if bias is None else bias[g * cg:(g + 1) * cg], 'y': ys})

def gather_case(name, outer, rows, row_len, idx, x, y, pre=''):
    dt = fdt(x, y); idx = np.asarray(idx, 'int64').reshape(-1)
    if (idx < 0).any():
        idx = np.where(idx < 0, idx + rows, idx); pre = (pre + '+' if pre else '') + 'wrap_neg'
    k = dict(outer=outer, rows=rows, row_len=row_len, nidx=idx.size)
    if pre:
        k['pre'] = pre
    emit(name, 'gather', dt, k, {'x': x, 'idx': idx, 'y': y})

def do_gather(name, at, ins, outs, opset):
    x, idx = ins; ax = at.get('axis', 0) % x.ndim
    gather_case(name, int(np.prod(x.shape[:ax])), x.shape[ax], int(np.prod(x.shape[ax + 1:])), idx, x, outs[0])

def flat_elements(shape, idx, ax):
    """flat element number for every entry of an *Elements index tensor"""
    ii = np.where(idx < 0, idx + shape[ax], idx)
    grid = list(np.indices(idx.shape)); grid[ax] = ii
    return np.ravel_multi_index(tuple(grid), shape)

def do_gather_elements(name, at, ins, outs, opset):
    x, idx = ins
    gather_case(name, 1, x.size, 1, flat_elements(x.shape, idx, at.get('axis', 0) % x.ndim), x, outs[0], 'flat_idx')

def nd_rows(shape, idx, b=0):
    k = idx.shape[-1]; dims = shape[b:b + k]
    ii = np.where(idx < 0, idx + np.array(dims), idx)
    flat = np.ravel_multi_index(tuple(np.moveaxis(ii, -1, 0)), dims)
    if b:
        pre = np.arange(int(np.prod(shape[:b]))).reshape(tuple(shape[:b]) + (1,) * (flat.ndim - b))
        flat = pre * int(np.prod(dims)) + flat
    return flat, int(np.prod(shape[:b + k])), int(np.prod(shape[b + k:]))

def do_gathernd(name, at, ins, outs, opset):
    x, idx = ins; flat, rows, rl = nd_rows(x.shape, idx, at.get('batch_dims', 0))
    gather_case(name, 1, rows, rl, flat, x, outs[0], 'flat_idx')

def scatter_case(name, at, x, upd, y, flat, rows, rl, pre):
    red = at.get('reduction', 'none')
    if red not in ('none', 'add'):
        raise Skip('scatter reduction ' + red)
    emit(name, 'scatter', fdt(x, upd, y), dict(mode='add' if red == 'add' else 'assign', rows=rows, row_len=rl, nidx=flat.size, pre=pre,
         dup=int(np.unique(flat).size != flat.size)), {'x': x, 'idx': flat.reshape(-1), 'upd': upd, 'y': y})

def do_scatter_elements(name, at, ins, outs, opset):
    x, idx, upd = ins
    scatter_case(name, at, x, upd, outs[0], flat_elements(x.shape, idx, at.get('axis', 0) % x.ndim), x.size, 1, 'flat_idx')

def do_scatternd(name, at, ins, outs, opset):
    x, idx, upd = ins; flat, rows, rl = nd_rows(x.shape, idx)
    scatter_case(name, at, x, upd, outs[0], flat, rows, rl, 'flat_idx')

OPS = {'Gemm': do_gemm, 'MatMul': do_matmul, 'Einsum': do_einsum, 'Softmax': do_softmax, 'Conv': do_conv, 'ConvTranspose': do_convtranspose,
       'Gather': do_gather, 'GatherElements': do_gather_elements, 'GatherND': do_gathernd, 'Scatter': do_scatter_elements,
       'ScatterElements': do_scatter_elements, 'ScatterND': do_scatternd, 'GlobalAveragePool': do_global('mean'), 'GlobalMaxPool': do_global('max'),
       'Sum': do_binary('add')}
OPS.update({'Reduce' + k.capitalize(): do_reduce(k) for k in ('sum', 'max', 'min', 'mean')})
OPS.update({k.capitalize(): do_unary(k) for k in ('relu', 'sigmoid', 'tanh', 'exp', 'log', 'sqrt', 'abs', 'neg')})
OPS.update({k.capitalize(): do_binary(k) for k in ('add', 'sub', 'mul', 'div', 'max', 'min')})

def load_pb(path):
    t = onnx.TensorProto()
    with open(path, 'rb') as f:
        t.ParseFromString(f.read())
    return numpy_helper.to_array(t)

def one(fam, test):
    d = os.path.join(ROOT, fam, test); mp = os.path.join(d, 'model.onnx')
    if not os.path.exists(mp):
        return
    m = onnx.load(mp); g = m.graph
    opset = next((o.version for o in m.opset_import if o.domain in ('', 'ai.onnx')), 1)
    const = {t.name: numpy_helper.to_array(t) for t in g.initializer}
    nodes, transposed = [], {}
    for n in g.node:                               # fold constants and a 2-D transpose
        if n.op_type == 'Constant':
            if n.attribute[0].name == 'value':
                const[n.output[0]] = numpy_helper.to_array(n.attribute[0].t)
            else:
                nodes.append(n)
        elif n.op_type == 'Transpose' and len(g.node) > 1 and n.input[0] in const and const[n.input[0]].ndim == 2:
            transposed[n.output[0]] = n.input[0]
        else:
            nodes.append(n)
    if not any(n.op_type in OPS for n in nodes):
        return
    if len(nodes) != 1:
        if fam != 'node' or not test.endswith('_expanded'):
            skipped.append((fam, test, 'multi-step program', '+'.join(n.op_type for n in nodes)))
        else:
            skipped.append((fam, test, 'duplicate (expanded form)', '+'.join(n.op_type for n in nodes)[:60]))
        return
    n = nodes[0]; td = os.path.join(d, 'test_data_set_0'); env = dict(const)
    gin = [i for i in g.input if i.name not in const]
    try:
        for k, i in enumerate(gin):
            env[i.name] = load_pb(os.path.join(td, 'input_%d.pb' % k))
        outs = [load_pb(os.path.join(td, 'output_%d.pb' % k)) for k in range(len(n.output))]
        name = '%s/%s' % (fam, test[5:]); before = len(lines)
        if n.op_type == 'MatMul' and n.input[1] in transposed:
            do_matmul(name, {}, [env[n.input[0]], env[transposed[n.input[1]]]], outs, opset, 0, 1)
        else:
            OPS[n.op_type](name, attrs(n), [env[i] if i else None for i in n.input], outs, opset)
        if len(lines) > before:
            tests_by_op[n.op_type, fam] += 1
    except Skip as e:
        skipped.append((fam, test, e.feature, n.op_type + ': ' + e.why))

for fam in FAMILIES:
    for test in sorted(os.listdir(os.path.join(ROOT, fam))):
        one(fam, test)
os.makedirs(OUT, exist_ok=True)
with open(os.path.join(OUT, 'data.bin'), 'wb') as f:
    f.write(data)
with open(os.path.join(OUT, 'index.txt'), 'w') as f:
    f.write('# name op dtype key=value... buf=byteoffset:count...  (see README.md)\n' + '\n'.join(lines) + '\n')
with open(os.path.join(OUT, 'skipped.txt'), 'w') as f:
    for s in skipped:
        f.write('\t'.join(s) + '\n')
print('cases', len(lines), 'tests', sum(tests_by_op.values()), 'bytes', len(data))
for k, v in sorted(stats.items()):
    print('  op', k, v)
for k, v in sorted(tests_by_op.items()):
    print('  onnx', k, v)
for k, v in collections.Counter(s[2] for s in skipped).most_common():
    print('  skipped', k, v)
