/* SPDX-License-Identifier: Apache-2.0 */
/* Includes the file that EACH_TYPE names once for every element type of softmax, reduce, unary and
 * binary: M(name) is what the type is called in memory (bf16_load), V(name) what it is computed in
 * (f32_add); see vec.h. ELEM is one element in memory, REAL one in arithmetic, VECT a vector of
 * those and MASK its mask. No include guard: that is its purpose. */
#define M(name)      TYPED(TYPE, name)
#define V(name)      TYPED(CALC, name)
#define ELEM         M(e)
#define REAL         V(e)
#define VECT         V(t)
#define MASK         V(m)
#define TYPED(t, n)  TYPED_(t, n)
#define TYPED_(t, n) t##_##n

#define TYPE f64
#define CALC f64
#include EACH_TYPE
#undef TYPE
#undef CALC

#define TYPE f32
#define CALC f32
#include EACH_TYPE
#undef TYPE

#define TYPE bf16
#include EACH_TYPE
#undef TYPE

#define TYPE f16
#include EACH_TYPE
#undef TYPE
#undef CALC

#undef EACH_TYPE
#undef M
#undef V
#undef ELEM
#undef REAL
#undef VECT
#undef MASK
#undef TYPED
#undef TYPED_
