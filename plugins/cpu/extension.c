/* SPDX-License-Identifier: Apache-2.0 */
/* The extensions, by their ids. */
#include "cpu.h"

#include <string.h>

static const struct {
    const char *id;
    const void *api;
} extensions[] = {
    { CB_MAP_ID, &cpu_map },
    { CB_PROFILE_ID, &cpu_profile },
};

cb_status cpu_get_extension(void *self, const char *id, cb_extension *out, cb_error *err)
{
    cb_extension extension = { CB_ARGS(cb_extension), .self = self };
    if (!id)
        return cbc_invalid(err, "get_extension", "id is NULL");
    for (size_t i = 0; i < sizeof(extensions) / sizeof(extensions[0]); i++)
        if (!strcmp(id, extensions[i].id))
            extension.api = extensions[i].api;
    if (!extension.api)
        return cbc_fail(err, CB_NOT_FOUND, "get_extension", "there is no '%.80s'", id);
    return cb_result_write(out, &extension, sizeof(extension), CB_EXTENSION_1_0, "get_extension",
                           err);
}
