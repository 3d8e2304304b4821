/* SPDX-License-Identifier: Apache-2.0 */
/* Filling a cb_error with printf's comfort. */
#ifndef CBC_ERROR_H
#define CBC_ERROR_H

#include "compute_backend_plugin.h"

/* Fills *err (nullable) and returns code. The message becomes "where: ..."; only integers and
 * strings may be formatted, so that no locale can change it. */
cb_status cbc_fail(cb_error *err, cb_status code, const char *where, const char *format, ...)
    __attribute__((cold, format(printf, 4, 5)));

/* Fills *err (nullable) with what was kept of an earlier failure, whose code it returns; CB_OK
 * leaves it untouched. */
cb_status cbc_error_pass(cb_error *err, const cb_error *from);

#define cbc_invalid(err, where, ...)     cbc_fail(err, CB_INVALID_ARGUMENT, where, __VA_ARGS__)
#define cbc_unsupported(err, where, ...) cbc_fail(err, CB_UNSUPPORTED, where, __VA_ARGS__)

#endif
