/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of 16-bit conversions, which every in-tree backend takes from plugins/common. */
#include "golden.h"

#include <math.h>
#include <string.h>

#include "half.h"

/* The 16-bit types: a NaN has more bits than infinity, the sign apart. */
#define F16_INFINITY  0x7c00
#define BF16_INFINITY 0x7f80

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static int same_float(float a, float b)
{
    return (isnan(a) && isnan(b)) || memcmp(&a, &b, sizeof(a)) == 0;
}

static void check_decoding(const struct case_line *line)
{
    const struct case_array in = case_array(line, "@in0"), want = case_array(line, "@want");
    const uint16_t *halves = in.data;
    const uint32_t *bits = want.data;
    assert_int_equal(in.count, case_u64(line, "n"));
    assert_int_equal(want.count, in.count);
    for (uint64_t i = 0; i < in.count; i++)
        if (!same_float(cbc_f16_to_f32(halves[i]), float_of(bits[i])))
            case_fail(line, "0x%04x is %a, not %a", halves[i], (double)cbc_f16_to_f32(halves[i]),
                      (double)float_of(bits[i]));
}

static void check_encoding(const struct case_line *line, uint16_t infinity,
                           uint16_t (*encode)(float), float (*decode)(uint16_t))
{
    const struct case_array in = case_array(line, "@in0"), want = case_array(line, "@want");
    const struct case_array back = case_array(line, "@want32");
    const uint64_t n = case_u64(line, "n"), nans = case_u64(line, "nnan");
    assert_int_equal(in.count, n);
    assert_int_equal(want.count, n);
    assert_int_equal(back.count, n);
    for (uint64_t i = 0; i < n; i++) {
        const float value = float_of(((const uint32_t *)in.data)[i]);
        const uint16_t half = encode(value), right = ((const uint16_t *)want.data)[i];
        const float decoded = decode(half);
        if (i >= n - nans) {
            if ((half & 0x7fff) <= infinity || !isnan(decoded))
                case_fail(line, "a NaN became 0x%04x", half);
            continue;
        }
        if (half != right)
            case_fail(line, "%a is 0x%04x, not 0x%04x", (double)value, half, right);
        if (!same_float(decoded, float_of(((const uint32_t *)back.data)[i])))
            case_fail(line, "0x%04x is %a", half, (double)decoded);
    }
}

void golden_check_rounding(const struct case_line *line)
{
    if (strcmp(line->op, "decode_f16") == 0)
        check_decoding(line);
    else if (strcmp(line->op, "round_f16") == 0)
        check_encoding(line, F16_INFINITY, cbc_f32_to_f16, cbc_f16_to_f32);
    else
        check_encoding(line, BF16_INFINITY, cbc_f32_to_bf16, cbc_bf16_to_f32);
}
