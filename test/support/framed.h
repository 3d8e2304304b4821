/* SPDX-License-Identifier: Apache-2.0 */
/* Device buffers that notice a write beside them. A frame of signalling NaN, which any load, add
 * and store changes, lies on both sides of the elements inside one allocation; it also makes the
 * pointer an interior one that is aligned to its element and no more. Without the frame the
 * allocation holds exactly the elements, so that a backend must judge every extent. */
#ifndef TEST_SUPPORT_FRAMED_H
#define TEST_SUPPORT_FRAMED_H

#include "backend.h"

#define FRAME_ELEMENTS 67 /* more than a vector, and odd */

struct framed {
    cb_backend be;
    uint64_t ptr; /* of the first element */
    uint64_t base;
    uint64_t count;
    uint32_t width; /* bytes of an element: 2, 4 or 8 */
    uint32_t frame; /* elements on either side */
};

/* data: count elements, or NULL for signalling NaN. frame: FRAME_ELEMENTS or 0. The owner frees it
 * with framed_free. Fails the running test when the backend refuses. */
struct framed framed_make(cb_backend be, uint32_t width, uint64_t count, const void *data,
                          uint32_t frame);
/* Copies the elements to out, and fails the running test unless the frame is whole. */
void framed_read(const struct framed *buffer, void *out);
/* Fails the running test unless buffer and frame hold what framed_make put there. */
void framed_assert_unchanged(const struct framed *buffer, const void *data);
void framed_free(const struct framed *buffer);

#endif
