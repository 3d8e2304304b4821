/* SPDX-License-Identifier: Apache-2.0 */
/* The convolutions of one instruction set: tiles, copies, slots. Included once by a file of the
 * set. */
#include <string.h>

#include "conv2d_isa.h"
#include "conv2d_set.h"
#include "gemm_turn.h"
#include "vec.h"

#include "conv2d_fill_tmpl.h"
#include "conv2d_product_tmpl.h"
#include "conv2d_direct_tmpl.h"
#include "conv2d_pairs_tmpl.h"
#include "conv2d_plane_tmpl.h"

static const struct conv2d_set set = {
    .vector = f32_n,
    .vectors = CONV_VECTORS,
    .columns = CONV_COLUMNS,
    .high = CONV_HIGH,
    .direct_pixels = CONV_DIRECT_PIXELS,
    .direct_columns = CONV_DIRECT_COLUMNS,
    .lanes = CONV_LANES,
    .fill = fill,
    .pack = ISA(gemm_pack_f32),
    .pack_taps = pack_taps,
    .multiply = multiply,
    .direct = direct,
    .rest_along = rest_along,
    .rest_across = rest_across,
    .lay = lay,
    .lay_taps = lay_taps,
    .pair = pair,
    .dot = dot,
    .plane = plane,
    .plane_taps = plane_taps,
    .turn = turn,
};

#define SLOT(name)                                                                                 \
    static void name(const struct cpu_conv2d *v, const struct cpu_work *work)                      \
    {                                                                                              \
        conv2d_##name(&set, v, work);                                                              \
    }                                                                                              \
    static uint64_t name##_bytes(const struct cpu_conv2d *v, unsigned threads)                     \
    {                                                                                              \
        return conv2d_##name##_bytes(&set, v, threads);                                            \
    }                                                                                              \
    const struct cpu_conv2d_kernel ISA(cpu_conv2d_##name) = { name, name##_bytes };
SLOT(forward)
SLOT(backward_data)
SLOT(backward_filter)
#undef SLOT
