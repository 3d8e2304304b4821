/* SPDX-License-Identifier: Apache-2.0 */
/* Operands that share memory: every op behaves as if all inputs were read before any output is
 * written. The judge is the same call on buffers apart, bit for bit. */
#include "backend.h"
#include "kit.h"

#include <string.h>

enum {
    SLOT = 2 * KIT_BYTES_MAX,
    ARENA = (KIT_OPERANDS_MAX + 2) * SLOT
};

/* One allocation with all operands in it, and where each begins. */
struct arena {
    unsigned char bytes[ARENA];
    uint64_t at[KIT_OPERANDS_MAX];
};

/* Each operand has a slot, but those of the set `moved` begin `shifts` of their own elements from
 * the output. Every place holds what the last operand there put, seen through the others' types. */
static void lay_out(struct arena *arena, const struct kit_call *call, unsigned moved,
                    const int64_t *shifts)
{
    struct kit_data data;
    unsigned char filler[ARENA];
    kit_random(CB_F32, filler, ARENA / sizeof(float), 1, 99);
    memcpy(arena->bytes, filler, ARENA);
    kit_data_random(call, &data, 1, call->op);
    const uint64_t out = KIT_OPERANDS_MAX * SLOT;
    for (unsigned i = 0; i < call->n_operands; i++) {
        arena->at[i] = i * SLOT;
        if (i == call->out)
            arena->at[i] = out;
        else if (moved >> i & 1)
            arena->at[i] = out + (uint64_t)(shifts[i] * (int64_t)kit_size(call->operands[i].dtype));
        memcpy(arena->bytes + arena->at[i], data.bytes[i], kit_bytes(call, i));
    }
}

static void check(cb_backend be, struct kit_call *call, unsigned moved, const int64_t *shifts)
{
    struct arena arena;
    struct kit_data data;
    unsigned char want[KIT_BYTES_MAX], got[ARENA];
    cb_error err = test_error();
    lay_out(&arena, call, moved, shifts);
    for (unsigned i = 0; i < call->n_operands; i++)
        memcpy(data.bytes[i], arena.bytes + arena.at[i], kit_bytes(call, i));
    TEST_OK(kit_run_apart(be, call, &data, want, &err), &err);

    const uint64_t base = test_upload(be, arena.bytes, ARENA);
    for (unsigned i = 0; i < call->n_operands; i++)
        *kit_pointer(call, i) = base + arena.at[i];
    TEST_OK(kit_run(be, call, &err), &err);
    test_download(be, got, base, ARENA);
    TEST_OK(cb_free(be, base, &err), &err);
    memcpy(arena.bytes + arena.at[call->out], want, kit_bytes(call, call->out));
    if (memcmp(got, arena.bytes, ARENA))
        fail_msg("%s: operands %#x over the output, shifted by %d, %d, %d, %d elements", call->name,
                 moved, (int)shifts[0], (int)shifts[1], (int)shifts[2], (int)shifts[3]);
}

static void each_set_of_inputs(cb_backend be, struct kit_call *call, const int64_t *shifts)
{
    for (unsigned moved = 0; moved < 1u << call->n_operands; moved++)
        if (!(moved >> call->out & 1))
            check(be, call, moved, shifts);
}

static void an_input_at_the_outputs_own_address_is_read_first(void **state)
{
    static const int64_t none[KIT_OPERANDS_MAX] = { 0 };
    struct kit_call call;
    for (unsigned i = 0; kit_call(i, &call); i++)
        each_set_of_inputs(TEST_BE(state), &call, none);
}

static void an_input_shifted_by_one_element_is_read_first(void **state)
{
    static const int64_t shifts[][KIT_OPERANDS_MAX] = {
        { 1, 1, 1, 1 }, { -1, -1, -1, -1 }, { 1, -1, 1, -1 }, { 0, 1, 0, 1 }, { -1, 0, -1, 0 }
    };
    struct kit_call call;
    for (unsigned i = 0; kit_call(i, &call); i++)
        for (unsigned s = 0; s < sizeof(shifts) / sizeof(shifts[0]); s++)
            each_set_of_inputs(TEST_BE(state), &call, shifts[s]);
}

static void an_input_shifted_by_several_elements_is_read_first(void **state)
{
    static const int64_t shifts[][KIT_OPERANDS_MAX] = {
        { 5, 5, 5, 5 }, { -5, -5, -5, -5 }, { 13, -17, 29, -3 }, { -11, 12, -13, 14 }
    };
    struct kit_call call;
    for (unsigned i = 0; kit_call(i, &call); i++)
        for (unsigned s = 0; s < sizeof(shifts) / sizeof(shifts[0]); s++)
            each_set_of_inputs(TEST_BE(state), &call, shifts[s]);
}

/* The last element of one is the first of the other. */
static void an_input_that_shares_one_element_with_the_output_is_read_first(void **state)
{
    struct kit_call call;
    for (unsigned i = 0; kit_call(i, &call); i++) {
        const int64_t out_bytes = (int64_t)kit_bytes(&call, call.out);
        int64_t before[KIT_OPERANDS_MAX] = { 0 }, after[KIT_OPERANDS_MAX] = { 0 };
        for (unsigned o = 0; o < call.n_operands; o++) {
            before[o] = 1 - (int64_t)call.operands[o].count;
            after[o] = out_bytes / (int64_t)kit_size(call.operands[o].dtype) - 1;
        }
        each_set_of_inputs(TEST_BE(state), &call, before);
        each_set_of_inputs(TEST_BE(state), &call, after);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_input_at_the_outputs_own_address_is_read_first),
        cmocka_unit_test(an_input_shifted_by_one_element_is_read_first),
        cmocka_unit_test(an_input_shifted_by_several_elements_is_read_first),
        cmocka_unit_test(an_input_that_shares_one_element_with_the_output_is_read_first),
    };
    return cmocka_run_group_tests(tests, test_setup_backend, test_teardown_backend);
}
