/* SPDX-License-Identifier: Apache-2.0 */
#include "error.h"

#include <stdarg.h>
#include <stdio.h>

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
