/* SPDX-License-Identifier: Apache-2.0 */
/* How long cb_loader_open takes on a folder of 100 plugins, of which it opens none. */
#include "cb_loader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PLUGINS 100
#define ROUNDS  21

static double milliseconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void name_plugin(char *path, size_t size, const char *folder, int i)
{
    snprintf(path, size, "%s/libcb_%d.so", folder, i);
}

static int copy_plugin(const char *to)
{
    static char bytes[1 << 20];
    FILE *in = fopen(TEST_MOCKS "/libcb_good.so", "rb"), *out = fopen(to, "wb");
    const size_t size = in ? fread(bytes, 1, sizeof(bytes), in) : 0;
    const int good = out && size && fwrite(bytes, 1, size, out) == size;
    if (in)
        fclose(in);
    return out && fclose(out) == 0 && good;
}

/* One opening, or a negative number. */
static double open_once(uint64_t *count)
{
    cb_loader *loader = NULL;
    const double start = milliseconds();
    if (cb_loader_open(NULL, &loader, NULL) != CB_OK)
        return -1;
    const double spent = milliseconds() - start;
    *count = cb_loader_candidate_count(loader);
    cb_loader_close(loader, NULL);
    return spent;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(void)
{
    char folder[] = "/tmp/cb-bench-XXXXXX", path[64];
    double spent[ROUNDS] = { 0 };
    uint64_t count = 0;
    int good = mkdtemp(folder) != NULL;
    for (int i = 0; i < PLUGINS && good; i++) {
        name_plugin(path, sizeof(path), folder, i);
        good = copy_plugin(path);
    }
    setenv("CB_PLUGINS", folder, 1);
    setenv("CB_CONFIG", TEST_DATA "/empty.conf", 1);
    for (int r = 0; r < ROUNDS && good; r++) {
        spent[r] = open_once(&count);
        good = spent[r] >= 0;
    }
    const double first = spent[0];
    qsort(spent, ROUNDS, sizeof(spent[0]), compare);
    if (good)
        printf("%llu plugins in %.3f ms (median of %d; the best %.3f, the first %.3f)\n",
               (unsigned long long)count, spent[ROUNDS / 2], ROUNDS, spent[0], first);
    for (int i = 0; i < PLUGINS; i++) {
        name_plugin(path, sizeof(path), folder, i);
        unlink(path);
    }
    rmdir(folder);
    return !good;
}
