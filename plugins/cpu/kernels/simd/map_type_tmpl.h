/* SPDX-License-Identifier: Apache-2.0 */
/* map_tmpl.h for one element type; op and stream are constants wherever these are inlined. */

/* Of two NaN the first, since compilers swap the operands of a sum or product as they like, here so
 * and there so, and no result may depend on its place. */
VEC_INLINE VECT M(map_first)(VECT x, VECT result)
{
    return V(select)(V(isnan)(x), V(sub)(x, x), result);
}

VEC_INLINE VECT M(map_apply)(uint32_t op, VECT x, VECT y)
{
    switch (op) {
    case CB_UNARY_RELU: return V(select)(V(le)(x, V(zero)()), V(zero)(), x);
    case CB_UNARY_SIGMOID: return V(sigmoid)(x);
    case CB_UNARY_TANH: return V(tanh)(x);
    case CB_UNARY_EXP: return V(exp)(x);
    case CB_UNARY_LOG: return V(log)(x);
    case CB_UNARY_SQRT: return V(sqrt)(x);
    case CB_UNARY_ABS: return V(abs)(x);
    case CB_UNARY_NEG: return V(neg)(x);
    case MAP_BINARY + CB_BINARY_ADD: return M(map_first)(x, V(add)(x, y));
    case MAP_BINARY + CB_BINARY_SUB: return V(sub)(x, y);
    case MAP_BINARY + CB_BINARY_MUL: return M(map_first)(x, V(mul)(x, y));
    case MAP_BINARY + CB_BINARY_DIV: return V(div)(x, y);
    case MAP_BINARY + CB_BINARY_MAX: return V(maximum)(x, y);
    default: return V(minimum)(x, y);
    }
}

/* Elements i..end-1, vector by vector. */
VEC_INLINE void M(map_part)(uint32_t op, const ELEM *a, const ELEM *b, ELEM *out, uint64_t i,
                            uint64_t end)
{
    for (; i < end; i += V(n)) {
        const MASK m = V(mask)(end - i < V(n) ? end - i : V(n));
        const VECT x = M(load_mask)(a + i, m);
        M(store_mask)
        (out + i, m, M(map_apply)(op, x, op < MAP_BINARY ? x : M(load_mask)(b + i, m)));
    }
}

VEC_INLINE void M(map_loop)(uint32_t op, const struct cpu_map *g, uint64_t begin, uint64_t n,
                            bool stream)
{
    enum {
        STEP = MAP_UNROLL * V(n),
        AHEAD = PREFETCH_BYTES / sizeof(ELEM)
    };
    const ELEM *a = (const ELEM *)g->a + begin,
               *b = op < MAP_BINARY ? a : (const ELEM *)g->b + begin;
    ELEM *out = (ELEM *)g->output + begin;
    uint64_t i = 0;
    if (stream)
        i = (64 - (uintptr_t)out % 64) % 64 / sizeof(ELEM);
    i = i < n ? i : n;
    M(map_part)(op, a, b, out, 0, i);
    for (; n - i >= STEP; i += STEP) {
        for (unsigned j = 0; stream && j < STEP; j += 64 / sizeof(ELEM)) {
            vec_prefetch(a + i + j + AHEAD);
            if (op >= MAP_BINARY)
                vec_prefetch(b + i + j + AHEAD);
        }
        for (uint64_t j = i; j < i + STEP; j += V(n)) {
            const VECT x = M(load)(a + j);
            const VECT y = M(map_apply)(op, x, op < MAP_BINARY ? x : M(load)(b + j));
            if (stream)
                M(stream)(out + j, y);
            else
                M(store)(out + j, y);
        }
    }
    M(map_part)(op, a, b, out, i, n);
}

/* A loop for each op, so that the choice stays out of it. */
static void M(map)(uint32_t op, const struct cpu_map *g, uint64_t begin, uint64_t n, bool stream)
{
#define LOOP(OP)                                                                                   \
    case OP: M(map_loop)(OP, g, begin, n, stream); break;
    switch (op) {
        LOOP(CB_UNARY_RELU)
        LOOP(CB_UNARY_SIGMOID)
        LOOP(CB_UNARY_TANH)
        LOOP(CB_UNARY_EXP)
        LOOP(CB_UNARY_LOG)
        LOOP(CB_UNARY_SQRT)
        LOOP(CB_UNARY_ABS)
        LOOP(CB_UNARY_NEG)
        LOOP(MAP_BINARY + CB_BINARY_ADD)
        LOOP(MAP_BINARY + CB_BINARY_SUB)
        LOOP(MAP_BINARY + CB_BINARY_MUL)
        LOOP(MAP_BINARY + CB_BINARY_DIV)
        LOOP(MAP_BINARY + CB_BINARY_MAX)
        LOOP(MAP_BINARY + CB_BINARY_MIN)
    default: break;
    }
#undef LOOP
}
