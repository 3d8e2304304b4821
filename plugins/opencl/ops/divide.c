/* SPDX-License-Identifier: Apache-2.0 */
#include "ops.h"

static bool is_processor(const struct ocl_device *device)
{
    return device->type & CL_DEVICE_TYPE_CPU;
}

bool ocl_in_a_row(const struct ocl_device *device)
{
    return is_processor(device);
}

/* Elements of a processor's vector, 4 to 16 floats. */
static uint32_t vector(const struct ocl_device *device, uint32_t dtype)
{
    const uint32_t floats = device->vector_floats >= 16 ? 16 : device->vector_floats >= 8 ? 8 : 4;
    return dtype == CB_F64 ? floats / 2 : floats;
}

/* A processor's sums of an item fill its registers: 24 of 32, or 12 of 16. */
struct ocl_tile ocl_tile(const struct ocl_device *device, uint32_t dtype)
{
    const uint32_t v = vector(device, dtype);
    if (!is_processor(device))
        return (struct ocl_tile){ 64, 64, 16, 8, 8, dtype == CB_F64 ? 2 : 4 };
    return (struct ocl_tile){ 8 * v, 48, 32, 2 * v, device->vector_floats >= 16 ? 12 : 6, v };
}

struct ocl_tile ocl_gemm_tile(const struct ocl_backend *ocl, uint32_t dtype)
{
    struct ocl_tile t = ocl_tile(ocl->device, dtype);
    if (!ocl->tuning.gemm_m)
        return t;
    t.m = ocl->tuning.gemm_m;
    t.n = ocl->tuning.gemm_n;
    t.k = ocl->tuning.gemm_k;
    while (t.m % t.v || t.n % t.v || t.k % t.v)
        t.v /= 2;
    t.item_m = t.m % (2 * t.v) ? t.v : 2 * t.v;
    t.item_n = t.n % t.item_n ? 8 : t.item_n;
    return t;
}

uint64_t ocl_tile_items(const struct ocl_tile *t)
{
    return (uint64_t)(t->m / t->item_m) * (t->n / t->item_n);
}

uint64_t ocl_tile_local_bytes(const struct ocl_tile *t, uint32_t dtype)
{
    return (uint64_t)(t->m + t->n) * t->k * (dtype == CB_F64 ? 8 : 4);
}

/* ---- plain walks ---- */

uint64_t ocl_per_item(const struct ocl_device *device, uint64_t n)
{
    if (!is_processor(device))
        return 4;
    const uint64_t even = n / ((uint64_t)OCL_GROUP * device->compute_units * 4);
    return even < 16 ? 16 : even > 1024 ? 1024 : even;
}

cb_status ocl_launch_vector(struct ocl_launch *run, uint64_t n, uint64_t per_item)
{
    ocl_arg_u64(run, per_item);
    return ocl_launch(run, 1, (uint64_t[]){ ocl_divide_up(n, OCL_GROUP * per_item) },
                      (uint64_t[]){ OCL_GROUP });
}

/* ---- walks along an axis ---- */

#define SPLITS_MAX 64

/* Steps of an item below which sharing its line does not pay. */
#define STEPS_MIN 16

static uint32_t least_u32(uint64_t x, uint32_t y)
{
    return x < y ? (uint32_t)x : y;
}

/* Lines that are fewer than the device has room for are shared. So are, on a GPU, lines along
 * which neighbours lie, since its items read side by side. */
struct ocl_walk ocl_walk(const struct ocl_device *device, const struct cbc_axis *g, bool may_split)
{
    struct ocl_walk w = { .lanes = is_processor(device) ? vector(device, g->dtype) : 1,
                          .parts = 1,
                          .splits = 1 };
    const bool columns = g->inner > 1;
    const uint64_t lines = columns ? g->outer * ocl_divide_up(g->inner, w.lanes) : g->outer;
    const uint64_t steps = columns ? g->len : g->len / w.lanes;
    const uint64_t room = (uint64_t)device->compute_units * (is_processor(device) ? 2 : 8);
    const bool side_by_side = !columns && !is_processor(device);
    const uint64_t steps_min = side_by_side ? 1 : STEPS_MIN;
    while (w.parts < OCL_GROUP && steps / (2 * w.parts) >= steps_min &&
           (side_by_side || lines * w.parts < room * OCL_GROUP))
        w.parts *= 2;
    w.groups = ocl_divide_up(lines, OCL_GROUP / w.parts);
    if (may_split && w.groups && w.groups < room && w.parts == OCL_GROUP) {
        const uint64_t most = steps / ((uint64_t)STEPS_MIN * w.parts);
        w.splits = least_u32(room / w.groups, least_u32(most ? most : 1, SPLITS_MAX));
        w.groups *= w.splits;
    }
    return w;
}
