/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels' source text, written by embed.c. */
#ifndef OPENCL_SOURCE_H
#define OPENCL_SOURCE_H

struct ocl_source {
    const char *name; /* of the file, without .cl; NULL ends the list */
    const char *text;
};

extern const struct ocl_source ocl_sources[];

#endif
