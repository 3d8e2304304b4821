/* SPDX-License-Identifier: Apache-2.0 */
#include "probe_message.h"

#include "cb_loader.h"

#include <string.h>

#define FIRST_LINE "cb-probe 1"
#define REASON_MAX (CBL_PROBE_MESSAGE_MAX - 128)

void cbl_probe_message_write(struct text *t, uint32_t state, const char *reason)
{
    const uint64_t size = strnlen(reason, REASON_MAX);
    cbl_add(t, FIRST_LINE "\nstate=%u\nreason=%.*s\nend\n", state, (int)size, reason);
}

/* Takes a line off the front; *line is it, without its end. */
static bool take_line(struct slice *bytes, struct slice *line)
{
    const char *end = bytes->size ? memchr(bytes->at, '\n', bytes->size) : NULL;
    if (!end)
        return false;
    *line = (struct slice){ bytes->at, (uint64_t)(end - bytes->at) };
    bytes->at += line->size + 1;
    bytes->size -= line->size + 1;
    return true;
}

/* Takes a line KEY=VALUE with that key off the front. */
static bool take_value(struct slice *bytes, const char *key, struct slice *value)
{
    const uint64_t size = strlen(key);
    if (!take_line(bytes, value) || value->size < size || memcmp(value->at, key, size) != 0)
        return false;
    value->at += size;
    value->size -= size;
    return true;
}

/* The states that a probe can end in. */
static bool is_answer(uint64_t state)
{
    return state == CB_STATE_FOUND || state == CB_STATE_SKIPPED || state == CB_STATE_REFUSED ||
           state == CB_STATE_FAILED || state == CB_STATE_UNFIT || state == CB_STATE_PROBED_BAD;
}

bool cbl_probe_message_read(struct slice bytes, uint32_t *state, struct slice *reason)
{
    struct slice line, text;
    uint64_t number;
    if (!take_line(&bytes, &line) || !cbl_slice_is(line, FIRST_LINE) ||
        !take_value(&bytes, "state=", &line) || !cbl_number(line, UINT32_MAX, &number) ||
        !is_answer(number) || !take_value(&bytes, "reason=", &text) ||
        memchr(text.at, 0, text.size) || !take_line(&bytes, &line) || !cbl_slice_is(line, "end") ||
        bytes.size)
        return false;
    *state = (uint32_t)number;
    *reason = text;
    return true;
}
