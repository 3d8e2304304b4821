/* SPDX-License-Identifier: Apache-2.0 */
#include "manifest.h"

#include "cb_loader.h"

#include <string.h>

enum {
    KEY_ABI,
    KEY_DRAFT,
    KEY_ID,
    KEY_VERSION,
    KEY_CLASS,
    KEY_PRIORITY,
    KEY_ISA,
    KEY_COUNT
};

static const struct {
    const char *name;
    bool (*is)(struct slice); /* the form of the value; NULL: judged by read_numbers */
} keys[KEY_COUNT] = {
    [KEY_ABI] = { "abi", NULL },
    [KEY_DRAFT] = { "draft", NULL },
    [KEY_ID] = { "id", cbl_is_id },
    [KEY_VERSION] = { "version", cbl_is_printable },
    [KEY_CLASS] = { "class", cbl_is_id },
    [KEY_PRIORITY] = { "priority", NULL },
    [KEY_ISA] = { "isa", cbl_is_printable },
};

bool cbl_abi_check(uint64_t major, uint64_t minor, uint64_t draft, const char *who,
                   struct verdict *v)
{
    if (major == CB_ABI_MAJOR && draft == CB_ABI_DRAFT)
        return true;
    return cbl_blame(v, CB_STATE_REFUSED,
                     "%s says ABI %llu.%llu draft %llu, this loader is %u.%u draft %u", who,
                     (unsigned long long)major, (unsigned long long)minor,
                     (unsigned long long)draft, CB_ABI_MAJOR, CB_ABI_MINOR, CB_ABI_DRAFT);
}

static bool malformed(struct verdict *v, const char *what, struct slice where)
{
    return cbl_blame(v, CB_STATE_REFUSED, "a malformed manifest: %s '%.*s'", what,
                     SLICE_ARGS(where));
}

/* Unknown keys are left alone: a later minor version may add some. */
static bool read_lines(struct slice text, struct slice values[KEY_COUNT], struct verdict *v)
{
    struct slice line, key, value;
    while (cbl_split(&text, '\n', &line)) {
        if (!cbl_cut(line, '=', &key, &value))
            return malformed(v, "not key=value:", line);
        for (uint64_t i = 0; i < KEY_COUNT; i++) {
            if (!cbl_slice_is(key, keys[i].name))
                continue;
            if (values[i].at)
                return malformed(v, "twice:", key);
            values[i] = value;
        }
    }
    return true;
}

static bool need(const struct slice values[KEY_COUNT], uint64_t key, struct verdict *v)
{
    if (!values[key].at)
        return malformed(v, "it lacks", cbl_slice(keys[key].name));
    if (keys[key].is && !keys[key].is(values[key]))
        return cbl_blame(v, CB_STATE_REFUSED, "a malformed manifest: %s is '%.*s'", keys[key].name,
                         SLICE_ARGS(values[key]));
    return true;
}

/* Before anything else: another major may have other keys. */
static bool check_abi(const struct slice values[KEY_COUNT], struct verdict *v)
{
    struct slice major_text, minor_text;
    uint64_t major, minor, draft = 0;
    if (!need(values, KEY_ABI, v))
        return false;
    if (!cbl_cut(values[KEY_ABI], '.', &major_text, &minor_text) ||
        !cbl_number(major_text, UINT32_MAX, &major) || !cbl_number(minor_text, UINT32_MAX, &minor))
        return malformed(v, "abi is", values[KEY_ABI]);
    if (major == CB_ABI_MAJOR && !need(values, KEY_DRAFT, v))
        return false;
    if (values[KEY_DRAFT].at && !cbl_number(values[KEY_DRAFT], UINT32_MAX, &draft))
        return malformed(v, "draft is", values[KEY_DRAFT]);
    return cbl_abi_check(major, minor, draft, "the manifest", v);
}

bool cbl_manifest_read(struct slice text, struct manifest *out, struct verdict *v)
{
    struct slice values[KEY_COUNT] = { { NULL, 0 } };
    *out = (struct manifest){ .id = cbl_slice(""),
                              .version = cbl_slice(""),
                              .device_class = cbl_slice(""),
                              .isa = cbl_slice("") };
    if (text.size && !text.at[text.size - 1])
        text.size--;
    if (memchr(text.at, 0, text.size))
        return cbl_blame(v, CB_STATE_REFUSED, "a malformed manifest: it holds a NUL byte");
    if (!read_lines(text, values, v))
        return false;

    struct slice *const facts[KEY_COUNT] = { [KEY_ID] = &out->id,
                                             [KEY_VERSION] = &out->version,
                                             [KEY_CLASS] = &out->device_class,
                                             [KEY_ISA] = &out->isa };
    for (uint64_t i = 0; i < KEY_COUNT; i++)
        if (facts[i] && values[i].at && keys[i].is(values[i]))
            *facts[i] = values[i];
    if (!check_abi(values, v))
        return false;
    for (uint64_t i = 0; i < KEY_COUNT; i++)
        if (!need(values, i, v))
            return false;
    uint64_t priority;
    if (!cbl_number(values[KEY_PRIORITY], CBL_PRIORITY_MAX, &priority))
        return malformed(v, "priority is not in 0..1000:", values[KEY_PRIORITY]);
    out->priority = (int32_t)priority;
    return true;
}
