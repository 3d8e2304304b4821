/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory this process may use. */
#include "cpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_SIZE 4096

/* The number in a file, or UINT64_MAX when there is none ("max", or no such file). */
static uint64_t read_limit(const char *path)
{
    char text[32] = "";
    FILE *f = fopen(path, "re");
    if (!f)
        return UINT64_MAX;
    const size_t n = fread(text, 1, sizeof(text) - 1, f);
    fclose(f);
    return n && text[0] >= '0' && text[0] <= '9' ? strtoull(text, NULL, 10) : UINT64_MAX;
}

/* The least of the limits of a cgroup and of those above it. group is cut in the process. */
static uint64_t least_limit(const char *root, char *group, const char *file)
{
    char path[PATH_SIZE + 64];
    uint64_t least = UINT64_MAX;
    for (;;) {
        snprintf(path, sizeof(path), "%s%s/%s", root, group, file);
        const uint64_t limit = read_limit(path);
        least = limit < least ? limit : least;
        char *slash = strrchr(group, '/');
        if (!slash)
            return least;
        *slash = 0;
    }
}

/* Both versions of cgroups: "0::/group", and "N:...memory...:/group". */
static uint64_t cgroup_limit(void)
{
    char line[PATH_SIZE];
    uint64_t least = UINT64_MAX;
    FILE *f = fopen("/proc/self/cgroup", "re");
    if (!f)
        return least;
    while (fgets(line, sizeof(line), f)) {
        line[strcspn(line, "\n")] = 0;
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(controllers + 1, ':') : NULL;
        uint64_t limit = UINT64_MAX;
        if (!group)
            continue;
        *group++ = 0;
        if (!strcmp(line, "0:"))
            limit = least_limit("/sys/fs/cgroup", group, "memory.max");
        else if (strstr(controllers, "memory"))
            limit = least_limit("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes");
        least = limit < least ? limit : least;
    }
    fclose(f);
    return least;
}

uint64_t cpu_memory_limit(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    const uint64_t physical =
        pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : UINT64_MAX / 2;
    const uint64_t group = cgroup_limit();
    return group < physical ? group : physical;
}
