/* SPDX-License-Identifier: Apache-2.0 */
/* Packing and gemv of one kind of matrix; included once per kind, without a guard.
 *
 *   KIND           names it; these three end here
 *   IN             an element in memory
 *   READ(op, ...)  a load of the vocabulary (load, load_mask, load_halves), as V(t)
 *   T, REAL, V     as in gemm_block_tmpl.h */
#define LOAD(p)           READ(load, p)
#define LOAD_MASK(p, m)   READ(load_mask, p, m)
#define LOAD_HALVES(p, q) READ(load_halves, p, q)

#include "gemm_pack_tmpl.h"
#include "gemv_tmpl.h"

#undef LOAD
#undef LOAD_MASK
#undef LOAD_HALVES
#undef KIND
#undef IN
#undef READ
