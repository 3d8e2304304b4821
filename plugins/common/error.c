/* SPDX-License-Identifier: Apache-2.0 */
#include "error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

cb_status cbc_fail(cb_error *err, cb_status code, const char *where, const char *format, ...)
{
    char msg[sizeof(err->msg)];
    va_list ap;
    if (!err)
        return code;
    va_start(ap, format);
    vsnprintf(msg, sizeof(msg), format, ap);
    va_end(ap);
    return cb_error_set(err, code, where, msg);
}

cb_status cbc_error_pass(cb_error *err, const cb_error *from)
{
    if (from->code == CB_OK || !err || err->size < CB_ERROR_1_0)
        return from->code;
    const uint64_t size = err->size;
    memcpy(err, from, CB_ERROR_1_0);
    err->size = size;
    return from->code;
}
