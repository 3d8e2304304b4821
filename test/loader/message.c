/* SPDX-License-Identifier: Apache-2.0 */
/* The message of a probe: what is one, and what is not. Whoever wrote it may have run anybody's
 * code. */
#include "place.h"

#include "probe_message.h"

#include <stdlib.h>
#include <string.h>

static void what_is_written_is_read_again(void **state)
{
    (void)state;
    static const uint32_t states[] = {
        CB_STATE_FOUND,  CB_STATE_SKIPPED, CB_STATE_REFUSED,
        CB_STATE_FAILED, CB_STATE_UNFIT,   CB_STATE_PROBED_BAD,
    };
    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
        struct text t = { 0 };
        struct slice reason = { NULL, 0 };
        uint32_t got = UINT32_MAX;
        cbl_probe_message_write(&t, states[i], "signal 11 = ended");
        assert_true(cbl_probe_message_read((struct slice){ t.at, t.size }, &got, &reason));
        assert_int_equal(got, states[i]);
        assert_true(cbl_slice_is(reason, "signal 11 = ended"));
        cbl_text_free(&t);
    }
}

static void a_reason_without_end_is_cut_to_what_a_reader_takes(void **state)
{
    (void)state;
    static char reason[2 * CBL_PROBE_MESSAGE_MAX];
    struct text t = { 0 };
    struct slice got;
    uint32_t answer;
    memset(reason, 'x', sizeof(reason) - 1);
    cbl_probe_message_write(&t, CB_STATE_FAILED, reason);
    assert_true(t.size <= CBL_PROBE_MESSAGE_MAX);
    assert_true(cbl_probe_message_read((struct slice){ t.at, t.size }, &answer, &got));
    cbl_text_free(&t);
}

/* From a buffer of its very size, so that a sanitizer sees a step beyond the end. */
static bool is_message(const char *bytes, size_t size)
{
    struct slice reason = { NULL, 77 };
    uint32_t answer = 99;
    char *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    const bool good = cbl_probe_message_read((struct slice){ copy, size }, &answer, &reason);
    assert_true(good || (answer == 99 && reason.size == 77));
    free(copy);
    return good;
}

static void what_is_not_quite_a_message_is_none(void **state)
{
    (void)state;
    static const char whole[] = "cb-probe 1\nstate=0\nreason=all is well\nend\n";
    assert_true(is_message(whole, sizeof(whole) - 1));
    for (size_t size = 0; size < sizeof(whole) - 1; size++)
        assert_false(is_message(whole, size));
    static const char *const bad[] = {
        "cb-probe 2\nstate=0\nreason=x\nend\n",
        "cb-probe 1\nstate=1\nreason=x\nend\n",
        "cb-probe 1\nstate=7\nreason=x\nend\n",
        "cb-probe 1\nstate=9\nreason=x\nend\n",
        "cb-probe 1\nstate=\nreason=x\nend\n",
        "cb-probe 1\nstate=-1\nreason=x\nend\n",
        "cb-probe 1\nstate=4294967296\nreason=x\nend\n",
        "cb-probe 1\nstate=0x0\nreason=x\nend\n",
        "cb-probe 1\nreason=x\nstate=0\nend\n",
        "cb-probe 1\nstate=0\nreason=x\nend\nmore",
        "cb-probe 1\nstate=0\nreason=x\nend\n\n",
        "state=0\ncb-probe 1\nstate=0\nreason=x\nend\n",
        "cb-probe 1\nstate=0\nreason=x\nreason=y\nend\n",
        "cb-probe 1\nstate=0\nreason=x\nend \n",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        print_message("# row %d\n", (int)i);
        assert_false(is_message(bad[i], strlen(bad[i])));
    }
    static const char nul[] = "cb-probe 1\nstate=0\nreason=a\0b\nend\n";
    assert_false(is_message(nul, sizeof(nul) - 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read_again),
        cmocka_unit_test(a_reason_without_end_is_cut_to_what_a_reader_takes),
        cmocka_unit_test(what_is_not_quite_a_message_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
