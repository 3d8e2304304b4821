/* SPDX-License-Identifier: Apache-2.0 */
/* How the ops divide their work among work-items. */
#ifndef OPENCL_OPS_H
#define OPENCL_OPS_H

#include "../opencl.h"

/* Work-items of a group, but for the kernels with tiles. */
#define OCL_GROUP 64

/* A group computes m x n elements in steps of k, an item item_m x item_n of them in vectors of v.
 */
struct ocl_tile {
    uint32_t m, n, k, item_m, item_n, v;
};
#define OCL_TILE_OPTIONS   "-DBM=%u -DBN=%u -DBK=%u -DWM=%u -DWN=%u -DV=%u"
#define OCL_TILE_VALUES(t) (t).m, (t).n, (t).k, (t).item_m, (t).item_n, (t).v

/* What suits the device for sums in dtype. */
struct ocl_tile ocl_tile(const struct ocl_device *device, uint32_t dtype);
/* The same for gemm, whose tile an option may set. */
struct ocl_tile ocl_gemm_tile(const struct ocl_backend *ocl, uint32_t dtype);
uint64_t ocl_tile_items(const struct ocl_tile *t);
uint64_t ocl_tile_local_bytes(const struct ocl_tile *t, uint32_t dtype);

/* A processor's items each take a row of neighbours, a GPU's take neighbours side by side. */
bool ocl_in_a_row(const struct ocl_device *device);

/* Elements of an item in a plain walk over n of them; the launch of so many groups. */
uint64_t ocl_per_item(const struct ocl_device *device, uint64_t n);
cb_status ocl_launch_vector(struct ocl_launch *run, uint64_t n, uint64_t per_item);

static inline uint64_t ocl_divide_up(uint64_t x, uint64_t y)
{
    return x / y + (x % y != 0);
}

/* How a walk along an axis is divided; see kernels/axis.cl. */
struct ocl_walk {
    uint32_t lanes, parts, splits;
    uint64_t groups;
};
struct ocl_walk ocl_walk(const struct ocl_device *device, const struct cbc_axis *g, bool may_split);
uint64_t ocl_reduce_temporary(const struct ocl_device *device, const struct cbc_axis *g);

/* How far apart places in its padded image are; kernels cannot tell those from here on. */
uint64_t ocl_conv2d_reach(const struct cbc_conv2d *g);
#define OCL_CONV2D_FAR (UINT64_C(1) << 61)

#endif
