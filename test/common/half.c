/* SPDX-License-Identifier: Apache-2.0 */
/* The 16-bit conversions of plugins/common, against the kit's arithmetic in double. */
#include "backend.h"
#include "half.h"
#include "kit.h"

#include <fenv.h>
#include <float.h>
#include <math.h>

/* One of the two types. */
struct half_type {
    uint32_t dtype;
    uint16_t infinity, nan; /* nan: the one without payload */
    uint16_t (*encode)(float);
    float (*decode)(uint16_t);
};

static const struct half_type types[2] = {
    { CB_F16, 0x7c00, 0x7e00, cbc_f32_to_f16, cbc_f16_to_f32 },
    { CB_BF16, 0x7f80, 0x7fc0, cbc_f32_to_bf16, cbc_bf16_to_f32 },
};

#define EACH_TYPE(type) for (const struct half_type *type = types; type < types + 2; type++)

static void expect(const struct half_type *type, float x, uint16_t want)
{
    if (type->encode(x) != want)
        fail_msg("%s: %a becomes %#06x, not %#06x", cb_dtype_name(type->dtype), x, type->encode(x),
                 want);
}

static int is_nan(const struct half_type *type, uint32_t bits)
{
    return (bits & 0x7fff) > type->infinity;
}

static void every_pattern_decodes_to_its_value(void **state)
{
    (void)state;
    EACH_TYPE(type)
    {
        for (uint32_t bits = 0; bits <= 0xffff; bits++) {
            const uint16_t half = (uint16_t)bits;
            const double want = kit_get(type->dtype, &half, 0);
            const float got = type->decode(half);
            assert_true(isnan(want) ? isnan(got) : got == want);
            assert_int_equal(!!signbit(got), bits >> 15);
            assert_int_equal(!!isnan(got), is_nan(type, bits));
        }
    }
}

static void every_pattern_survives_the_round_trip(void **state)
{
    (void)state;
    EACH_TYPE(type)
    {
        for (uint32_t bits = 0; bits <= 0xffff; bits++)
            if (!is_nan(type, bits))
                expect(type, type->decode((uint16_t)bits), (uint16_t)bits);
    }
}

static void a_nan_becomes_the_quiet_nan_of_its_sign_without_payload(void **state)
{
    static const uint32_t payloads[] = { 1,        2,        0x1fff,   0x2000,   0xffff,  0x10000,
                                         0x3fffff, 0x400000, 0x400001, 0x7fffff, 0x5a5a5a };
    (void)state;
    EACH_TYPE(type)
    {
        for (unsigned i = 0; i < sizeof(payloads) / sizeof(payloads[0]); i++)
            for (uint32_t sign = 0; sign <= 0x8000; sign += 0x8000)
                expect(type, cbc_f32_from_bits(sign << 16 | 0x7f800000u | payloads[i]),
                       (uint16_t)(sign | type->nan));
    }
}

/* Between each two neighbours: the middle goes to the even one, and a float to its nearer side. The
 * neighbour of the largest is infinity, which counts as the next power of two. */
static void every_tie_goes_to_even_and_all_else_to_the_nearest(void **state)
{
    (void)state;
    EACH_TYPE(type)
    {
        for (uint16_t low = 0; low < type->infinity; low++) {
            const uint16_t high = (uint16_t)(low + 1);
            const double below = type->decode(low);
            const double step = low ? below - type->decode((uint16_t)(low - 1)) : 0;
            const double above = high < type->infinity ? type->decode(high) : below + step;
            const float middle = (float)(below + (above - below) / 2);
            const uint16_t even = low & 1 ? high : low;
            expect(type, middle, even);
            expect(type, nextafterf(middle, 0), low);
            expect(type, nextafterf(middle, INFINITY), high);
            expect(type, -middle, even | 0x8000);
            expect(type, -nextafterf(middle, 0), low | 0x8000);
            expect(type, -nextafterf(middle, INFINITY), high | 0x8000);
        }
    }
}

static void what_is_too_large_becomes_infinity(void **state)
{
    (void)state;
    expect(&types[0], 65504, 0x7bff);
    expect(&types[0], 65519.996f, 0x7bff);
    expect(&types[0], 65520, 0x7c00);
    expect(&types[1], 0x1.fep127f, 0x7f7f);
    expect(&types[1], 0x1.fefffep127f, 0x7f7f);
    expect(&types[1], 0x1.ffp127f, 0x7f80);
    EACH_TYPE(type)
    {
        expect(type, FLT_MAX, type->infinity);
        expect(type, -FLT_MAX, type->infinity | 0x8000);
        expect(type, INFINITY, type->infinity);
        expect(type, -INFINITY, type->infinity | 0x8000);
    }
}

static void subnormals_are_kept_and_zeroes_keep_their_sign(void **state)
{
    (void)state;
    expect(&types[0], 0x1p-24f, 1);
    expect(&types[0], -0x1p-24f, 0x8001);
    expect(&types[0], 0x1p-25f, 0);
    expect(&types[0], 0x1.000002p-25f, 1);
    expect(&types[0], 0x1.8p-24f, 2);
    expect(&types[0], 0x1.ffcp-15f, 0x3ff + 1);
    expect(&types[0], 0x1.ff8p-15f, 0x3ff);
    expect(&types[0], FLT_MIN, 0);
    expect(&types[1], FLT_MIN, 0x80);
    expect(&types[1], 0x1p-133f, 1);
    expect(&types[1], 0x1p-134f, 0);
    EACH_TYPE(type)
    {
        expect(type, 0, 0);
        expect(type, -0.f, 0x8000);
        expect(type, -0x1p-149f, 0x8000);
    }
}

/* A walk over all of f32, by a step that is prime to every field's width. */
static void a_walk_over_all_floats_rounds_as_double_does(void **state)
{
    (void)state;
    EACH_TYPE(type)
    {
        for (uint64_t bits = 0; bits <= UINT32_MAX; bits += 4099) {
            const float x = cbc_f32_from_bits((uint32_t)bits);
            uint16_t want;
            kit_put(type->dtype, &want, 0, x);
            if (!isnan(x))
                expect(type, x, want);
        }
    }
}

static void the_callers_rounding_mode_does_not_matter(void **state)
{
    static const int modes[] = { FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO };
    static const volatile float x[] = { 1.0001f, -1.0001f, 0x1p-25f, 65519, 0x1.001p0f };
    (void)state;
    EACH_TYPE(type)
    {
        for (unsigned i = 0; i < sizeof(x) / sizeof(x[0]); i++) {
            const uint16_t want = type->encode(x[i]);
            for (unsigned m = 0; m < sizeof(modes) / sizeof(modes[0]); m++) {
                fesetround(modes[m]);
                const uint16_t got = type->encode(x[i]);
                fesetround(FE_TONEAREST);
                assert_int_equal(got, want);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pattern_decodes_to_its_value),
        cmocka_unit_test(every_pattern_survives_the_round_trip),
        cmocka_unit_test(a_nan_becomes_the_quiet_nan_of_its_sign_without_payload),
        cmocka_unit_test(every_tie_goes_to_even_and_all_else_to_the_nearest),
        cmocka_unit_test(what_is_too_large_becomes_infinity),
        cmocka_unit_test(subnormals_are_kept_and_zeroes_keep_their_sign),
        cmocka_unit_test(a_walk_over_all_floats_rounds_as_double_does),
        cmocka_unit_test(the_callers_rounding_mode_does_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
