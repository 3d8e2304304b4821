/* SPDX-License-Identifier: Apache-2.0 */
/* Where things are when nobody says where. Compiled once for the shared and once for the static
 * loader: only the former has a place of its own. */
#include "internal.h"

const char *cbl_fixed_directory(void)
{
    return CB_PLUGIN_DIR;
}

const char *cbl_system_directory(void)
{
    return CB_CONFIG_DIR;
}

const char *cbl_installed_probe(void)
{
    return CB_PROBE_HELPER;
}

#ifdef CB_LOADER_SHARED

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

const char *cbl_own_directory(struct cb_loader *l)
{
    static const char here;
    Dl_info info;
    if (!dladdr(&here, &info) || !info.dli_fname || !info.dli_fname[0])
        return "";
    struct slice directory = cbl_slice(cbl_absolute(l, "", cbl_slice(info.dli_fname)));
    while (directory.size && directory.at[directory.size - 1] != '/')
        directory.size--;
    /* A run path makes names such as /usr/bin/../lib: what people read is the plain one. */
    char *plain = realpath(cbl_keep(&l->strings, directory), NULL);
    const char *kept = plain ? cbl_keepf(&l->strings, "%s/compute-backend", plain) : "";
    l->strings.failed |= !plain && errno == ENOMEM;
    free(plain);
    return kept;
}

#else

const char *cbl_own_directory(struct cb_loader *l)
{
    (void)l;
    return "";
}

#endif
