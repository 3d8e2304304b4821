/* SPDX-License-Identifier: Apache-2.0 */
#include "load.h"

#include <fnmatch.h>
#include <string.h>

static const struct {
    uint32_t want, feature;
    const char *name;
} wants[] = {
    { CB_WANT_FP16, CB_FEATURE_FP16, "fp16" },
    { CB_WANT_BF16, CB_FEATURE_BF16, "bf16" },
    { CB_WANT_FP8, CB_FEATURE_FP8, "fp8" },
    { CB_WANT_TENSOR_CORES, CB_FEATURE_TENSOR_CORES, "tensor cores" },
    { CB_WANT_UNIFIED_MEMORY, CB_FEATURE_UNIFIED_MEMORY, "unified memory" },
    { CB_WANT_PEER_ACCESS, CB_FEATURE_PEER_ACCESS, "peer access" },
};

/* The rule of the option `device`: an ordinal, an id, or a glob on the name. */
static bool is_device(const char *option, const cb_device_info *info)
{
    uint64_t ordinal;
    if (cbl_number(cbl_slice(option), UINT32_MAX, &ordinal))
        return ordinal == info->ordinal;
    return !strcmp(option, info->id) || !fnmatch(option, info->name, FNM_NOESCAPE);
}

/* Adds a reason against a device. */
static void add_against(struct text *against, const char *what, const char *name)
{
    cbl_add(against, "%s%s%s", against->size ? ", " : "", what, name);
}

static void compare(const struct instance *in, const struct demand *demand,
                    const cb_device_info *info, uint32_t features, struct text *against)
{
    const uint32_t want = demand->request->want;
    const char *device_class = in->candidate->device_class;
    for (uint64_t i = 0; i < sizeof(wants) / sizeof(wants[0]); i++)
        if ((want & wants[i].want) && !(features & wants[i].feature))
            add_against(against, "no ", wants[i].name);
    if (info->memory_kind != CB_MEMORY_HOST)
        return;
    if (want & CB_WANT_GPU)
        add_against(against, "its memory is the host's", "");
    else if (!demand->named && strcmp(device_class, "cpu") != 0)
        add_against(against, "its memory is the host's: taken only when named, as of class ",
                    device_class);
}

/* Looks at one device. *against is empty afterwards when it fits. */
static bool look_at(struct instance *in, const struct demand *demand, uint32_t ordinal,
                    const char *option, cb_device_info *info, struct text *against,
                    struct verdict *v)
{
    cb_capabilities capabilities;
    cb_error err;
    cb_error_init(&err);
    cb_device_info_init(info);
    cb_capabilities_init(&capabilities);
    cb_status status = in->table.device_info(in->self, ordinal, info, &err);
    if (status != CB_OK)
        return cbl_blame_call(v, "device_info", status, &err);
    info->name[sizeof(info->name) - 1] = 0;
    info->id[sizeof(info->id) - 1] = 0;
    if (option && !is_device(option, info)) {
        add_against(against, "not what the option asks for: device=", option);
        return true;
    }
    status = in->table.capabilities(in->self, ordinal, &capabilities, &err);
    if (status != CB_OK)
        return cbl_blame_call(v, "capabilities", status, &err);
    in->features = capabilities.features;
    compare(in, demand, info, capabilities.features, against);
    return true;
}

bool cbl_device_choose(struct instance *in, const struct demand *demand, const char *option,
                       struct verdict *v)
{
    uint32_t count = 0;
    cb_error err;
    cb_error_init(&err);
    const cb_status status = in->table.device_count(in->self, &count, &err);
    cbl_seal(&err);
    if (status != CB_OK)
        return cbl_blame_call(v, "device_count", status, &err);
    if (!count)
        return cbl_blame(v, CB_STATE_FAILED, "no device: %s",
                         err.msg[0] ? err.msg : "no reason given");

    struct text all = { 0 };
    bool good = true, fits = false;
    for (uint32_t i = 0; i < count && good && !fits; i++) {
        cb_device_info info;
        struct text against = { 0 };
        good = look_at(in, demand, i, option, &info, &against, v);
        fits = good && !against.size && !against.failed;
        if (fits)
            in->device = i;
        else if (good)
            cbl_add(&all, "%sdevice %u (%s): %s", all.size ? "; " : "", i, info.name,
                    cbl_text(&against));
        all.failed |= against.failed;
        cbl_text_free(&against);
    }
    if (all.failed && !fits)
        cbl_no_memory(v);
    else if (good && !fits)
        cbl_blame(v, CB_STATE_UNFIT, "%s", cbl_text(&all));
    cbl_text_free(&all);
    return fits;
}
