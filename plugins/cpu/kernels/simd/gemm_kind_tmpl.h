/* SPDX-License-Identifier: Apache-2.0 */
/* Packing and gemv of one kind of matrix; included once per kind, without a guard. Takes KIND and
 * IN, which end here, beside T and REAL. */
#define GROUP      PASTE(GROUP_, T)
#define GROUP_TYPE PASTE(group_, T)
#define LOAD       PASTE(load_, KIND)
#define LOAD_PART  PASTE(load_part_, KIND)
#define LOAD_ONE   PASTE(load_one_, KIND)
#define STORE      PASTE(store_, T)

#include "gemm_pack_tmpl.h"
#include "gemv_tmpl.h"

#undef GROUP
#undef GROUP_TYPE
#undef LOAD
#undef LOAD_PART
#undef LOAD_ONE
#undef STORE
#undef KIND
#undef IN
