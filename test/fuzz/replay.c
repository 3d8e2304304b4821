/* SPDX-License-Identifier: Apache-2.0 */
/* usage: replay CORPUS: feeds each file of a folder to a fuzz target, in TAP. What is wrong ends
 * the program, so that its file is the last one that was named. */
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

static int is_file(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* The bytes of a file in a block of just their size, so that a read beyond them is noticed. */
static uint8_t *read_whole(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    uint8_t *bytes = NULL;
    long length = -1;
    if (f && !fseek(f, 0, SEEK_END))
        length = ftell(f);
    if (length >= 0)
        bytes = malloc(length ? (size_t)length : 1);
    *size = length < 0 ? 0 : (size_t)length;
    if (bytes && (fseek(f, 0, SEEK_SET) || fread(bytes, 1, *size, f) != *size)) {
        free(bytes);
        bytes = NULL;
    }
    if (f)
        fclose(f);
    return bytes;
}

int main(int argc, char **argv)
{
    struct dirent **files;
    const int n = argc == 2 ? scandir(argv[1], &files, is_file, alphasort) : -1;
    if (n <= 0) {
        printf("Bail out! there is no corpus\n");
        return 1;
    }
    printf("1..%d\n", n);
    for (int i = 0; i < n; i++) {
        char path[4096];
        size_t size;
        snprintf(path, sizeof(path), "%s/%s", argv[1], files[i]->d_name);
        printf("# %s\n", files[i]->d_name);
        fflush(stdout);
        uint8_t *bytes = read_whole(path, &size);
        if (bytes)
            LLVMFuzzerTestOneInput(bytes, size);
        printf("%s %d - %s\n", bytes ? "ok" : "not ok", i + 1, files[i]->d_name);
        free(bytes);
        free(files[i]);
    }
    free(files);
    return 0;
}
