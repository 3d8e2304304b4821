/* SPDX-License-Identifier: Apache-2.0 */
#include "avx2.h"

#include "../simd/attention_set_tmpl.h"
