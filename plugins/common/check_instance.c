/* SPDX-License-Identifier: Apache-2.0 */
/* create and info. */
#include <string.h>

#include "check.h"
#include "error.h"

cb_status cbc_check_create(const cb_create_args *args, void *const *out, cb_create_args *read,
                           cb_error *err)
{
    const cb_status st = cb_args_read(read, sizeof(*read), CB_CREATE_ARGS_1_0, args, "create", err);
    if (st != CB_OK)
        return st;
    if (!out)
        return cbc_invalid(err, "create", "out is NULL");
    if (read->n_options && !read->options)
        return cbc_invalid(err, "create", "options is NULL with n_options %llu",
                           (unsigned long long)read->n_options);
    for (uint64_t i = 0; i < read->n_options; i++)
        if (!read->options[i])
            return cbc_invalid(err, "create", "options[%llu] is NULL", (unsigned long long)i);
    return CB_OK;
}

cb_status cbc_check_info(const char *key, const uint64_t *length, cb_error *err)
{
    return key && length ? CB_OK : cbc_invalid(err, "info", "%s is NULL", key ? "length" : "key");
}

cb_status cbc_info_write(const char *key, const char *text, char *buffer, uint64_t *length,
                         cb_error *err)
{
    if (!text)
        return cbc_fail(err, CB_NOT_FOUND, "info", "there is no key '%.80s'; try 'keys'", key);
    const uint64_t room = *length, need = strlen(text) + 1;
    *length = need;
    if (!buffer)
        return CB_OK;
    if (room < need)
        return cbc_invalid(err, "info", "length %llu is too short for '%.80s', which needs %llu",
                           (unsigned long long)room, key, (unsigned long long)need);
    memcpy(buffer, text, need);
    return CB_OK;
}
