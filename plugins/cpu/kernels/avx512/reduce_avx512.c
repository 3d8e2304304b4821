/* SPDX-License-Identifier: Apache-2.0 */
#include "avx512.h"

#include "../simd/reduce_tmpl.h"
