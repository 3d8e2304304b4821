/* SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool cbl_is_between(const char *name, const char *prefix, const char *suffix)
{
    const uint64_t size = strlen(name), before = strlen(prefix), after = strlen(suffix);
    return size > before + after && !memcmp(name, prefix, before) &&
           !strcmp(name + size - after, suffix);
}

static int compare_places(const void *a, const void *b)
{
    return strcmp(((const struct place *)a)->path, ((const struct place *)b)->path);
}

bool cbl_list_directory(struct cb_loader *l, const struct place *place,
                        bool (*takes)(const char *name), struct places *found)
{
    DIR *dir = opendir(place->path);
    if (!dir)
        return false;
    struct dirent *entry;
    while ((errno = 0, entry = readdir(dir)) != NULL)
        if (takes(entry->d_name))
            cbl_add_place(l, found, cbl_absolute(l, place->path, cbl_slice(entry->d_name)),
                          place->origin);
    const int why = errno;
    closedir(dir);
    if (found->count)
        qsort(found->items, found->count, sizeof(*found->items), compare_places);
    errno = why;
    return why == 0;
}
