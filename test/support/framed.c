/* SPDX-License-Identifier: Apache-2.0 */
#include "framed.h"

#include <stdlib.h>
#include <string.h>

/* Element i := a signalling NaN of f16, f32 or f64. */
static void poison(unsigned char *at, uint32_t width, uint64_t i)
{
    const uint16_t f16 = 0x7d5a;
    const uint32_t f32 = 0x7fa5a5a5;
    const uint64_t f64 = 0x7ff4a5a5a5a5a5a5;
    const void *from = width == 2 ? (const void *)&f16 : width == 4 ? (const void *)&f32 : &f64;
    memcpy(at + i * width, from, width);
}

/* Host memory for the elements and both sides of the frame, all of it poison. */
static unsigned char *poisoned_image(uint32_t width, uint64_t count, uint32_t frame)
{
    const uint64_t all = count + 2 * (uint64_t)frame;
    unsigned char *image = malloc(all ? all * width : 1);
    assert_non_null(image);
    for (uint64_t i = 0; i < all; i++)
        poison(image, width, i);
    return image;
}

struct framed framed_make(cb_backend be, uint32_t width, uint64_t count, const void *data,
                          uint32_t frame)
{
    struct framed buffer = { be, 0, 0, count, width, frame };
    unsigned char *image = poisoned_image(width, count, frame);
    const uint64_t skipped = (uint64_t)frame * width;
    if (data && count)
        memcpy(image + skipped, data, count * width);
    buffer.base = test_upload(be, image, count * width + 2 * skipped);
    buffer.ptr = buffer.base + skipped;
    free(image);
    return buffer;
}

void framed_read(const struct framed *buffer, void *out)
{
    const uint64_t bytes = buffer->count * buffer->width;
    const uint64_t side = (uint64_t)buffer->frame * buffer->width;
    unsigned char *expected = poisoned_image(buffer->width, buffer->count, buffer->frame);
    unsigned char *image = poisoned_image(buffer->width, buffer->count, buffer->frame);
    test_download(buffer->be, image, buffer->base, bytes + 2 * side);
    if (memcmp(image, expected, side) != 0 ||
        memcmp(image + side + bytes, expected + side + bytes, side) != 0) {
        print_error("the call wrote outside its operand\n");
        fail();
    }
    if (bytes)
        memcpy(out, image + side, bytes);
    free(image);
    free(expected);
}

void framed_assert_unchanged(const struct framed *buffer, const void *data)
{
    const uint64_t bytes = buffer->count * buffer->width;
    unsigned char *now = malloc(bytes ? bytes : 1);
    assert_non_null(now);
    framed_read(buffer, now);
    if (bytes && memcmp(now, data, bytes) != 0) {
        print_error("the call changed an operand that is not its output\n");
        fail();
    }
    free(now);
}

void framed_free(const struct framed *buffer)
{
    cb_error err = test_error();
    TEST_OK(cb_free(buffer->be, buffer->base, &err), &err);
}
