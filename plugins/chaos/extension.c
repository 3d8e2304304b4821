/* SPDX-License-Identifier: Apache-2.0 */
/* The extensions. Others of the wrapped backend are not handed on: their functions would take the
 * addresses and handles of this one for its own. */
#include "chaos.h"

#include <string.h>

static cb_status find(const struct chaos *chaos, const char *id, const void **api, cb_error *err)
{
    cb_extension wrapped;
    if (!strcmp(id, CB_PROFILE_ID)) {
        *api = &chaos_profile;
        return CB_OK;
    }
    if (strcmp(id, CB_MAP_ID))
        return cbc_fail(err, CB_NOT_FOUND, "get_extension", "%.80s is not known", id);
    *api = &chaos_map;
    return chaos_wrapped_map(chaos, &wrapped, err);
}

cb_status chaos_get_extension(void *self, const char *id, cb_extension *out, cb_error *err)
{
    cb_extension mine = { CB_ARGS(cb_extension), .self = self };
    if (!id)
        return cbc_invalid(err, "get_extension", "id is NULL");
    const cb_status st = find(self, id, &mine.api, err);
    return st == CB_OK
               ? cb_result_write(out, &mine, sizeof(mine), CB_EXTENSION_1_0, "get_extension", err)
               : st;
}
