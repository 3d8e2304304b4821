/* SPDX-License-Identifier: Apache-2.0 */
/* cmocka 1.1 writes a skipped test as "not ok N # SKIP", which readers of TAP, meson among them,
 * count as a failure. It prints through a function that a program may replace; this one says "ok"
 * and leaves all else as it is. */
#include <stdio.h>
#include <string.h>

#include "backend.h"

__attribute__((visibility("default"))) void print_message(const char *const format, ...)
{
    static const char skipped[] = "not ok %u # SKIP %s\n";
    va_list args;
    va_start(args, format);
    vprintf(strcmp(format, skipped) == 0 ? format + strlen("not ") : format, args);
    va_end(args);
}
