/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory and how many processors this process may use. */
#include "cpu.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_SIZE 4096

/* Reads what a cgroup file limits: a smaller number is stricter, UINT64_MAX is no limit. */
typedef uint64_t (*limit_fn)(const char *text);

static uint64_t bytes_limit(const char *text)
{
    return *text >= '0' && *text <= '9' ? strtoull(text, NULL, 10) : UINT64_MAX;
}

/* "quota period" in microseconds, or "max period": processors, rounded up. */
static uint64_t processors_limit(const char *text)
{
    char *rest;
    if (*text < '0' || *text > '9')
        return UINT64_MAX;
    const uint64_t quota = strtoull(text, &rest, 10), period = strtoull(rest, NULL, 10);
    return period ? (quota + period - 1) / period : UINT64_MAX;
}

static uint64_t read_limit(const char *path, limit_fn limit)
{
    char text[64] = "";
    FILE *f = fopen(path, "re");
    if (!f)
        return UINT64_MAX;
    const size_t n = fread(text, 1, sizeof(text) - 1, f);
    fclose(f);
    return n ? limit(text) : UINT64_MAX;
}

/* A resource: its file in a version 2 cgroup, and controller and file in version 1 (NULL: none). */
struct resource {
    limit_fn limit;
    const char *file, *controller, *file_v1;
};

/* The least of the limits of a cgroup and of those above it. group is cut in the process. */
static uint64_t least_limit(const char *root, const char *controller, char *group, const char *file,
                            limit_fn limit)
{
    char path[PATH_SIZE + 128];
    uint64_t least = UINT64_MAX;
    for (;;) {
        snprintf(path, sizeof(path), "%s%s%s/%s", root, controller, group, file);
        const uint64_t here = read_limit(path, limit);
        least = here < least ? here : least;
        char *slash = strrchr(group, '/');
        if (!slash)
            return least;
        *slash = 0;
    }
}

/* Both versions of cgroups: "0::/group", and "N:...memory...:/group". */
static uint64_t cgroup_limit(const struct resource *r)
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
            limit = least_limit("/sys/fs/cgroup", "", group, r->file, r->limit);
        else if (r->controller && strstr(controllers, r->controller))
            limit = least_limit("/sys/fs/cgroup/", r->controller, group, r->file_v1, r->limit);
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
    const struct resource memory = { bytes_limit, "memory.max", "memory", "memory.limit_in_bytes" };
    const uint64_t group = cgroup_limit(&memory);
    return group < physical ? group : physical;
}

/* The processors that the scheduler lets this thread run on; 1 when it does not say. */
static uint64_t affinity(void)
{
    for (size_t cpus = 1024; cpus <= 1u << 20; cpus *= 4) {
        cpu_set_t *set = CPU_ALLOC(cpus);
        if (!set)
            return 1;
        const size_t size = CPU_ALLOC_SIZE(cpus);
        const int failed = sched_getaffinity(0, size, set);
        const int n = failed ? 0 : CPU_COUNT_S(size, set);
        CPU_FREE(set);
        if (n > 0)
            return (uint64_t)n;
    }
    return 1;
}

unsigned cpu_threads_available(void)
{
    const struct resource processors = { processors_limit, "cpu.max", NULL, NULL };
    const uint64_t group = cgroup_limit(&processors), own = affinity();
    const uint64_t n = group < own ? group : own;
    return n ? (unsigned)n : 1;
}
