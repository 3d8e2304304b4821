/* SPDX-License-Identifier: Apache-2.0 */
/* A configuration file, from its bytes to the two forms in which the result is printed. */
#include "fuzz.h"

#include "cb_loader.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *config_of(cb_loader *loader, uint32_t format)
{
    uint64_t length = 0;
    if (cb_loader_config(loader, format, NULL, &length, NULL) != CB_OK)
        abort();
    char *text = malloc(length);
    if (text && cb_loader_config(loader, format, text, &length, NULL) != CB_OK)
        abort();
    if (text && strlen(text) + 1 != length)
        abort();
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char path[32];
    const int fd = fuzz_file(bytes, size, path);
    cb_loader *loader = NULL;
    cb_loader_options options;
    cb_loader_options_init(&options);
    options.config_file = path;
    /* Else the places that a made-up configuration names would be searched. */
    setenv("CB_PLUGINS", "/proc/self/fd/none", 1);
    if (cb_loader_open(&options, &loader, NULL) == CB_OK) {
        free(config_of(loader, CB_FORMAT_TEXT));
        free(config_of(loader, CB_FORMAT_JSON));
        cb_loader_close(loader, NULL);
    }
    close(fd);
    return 0;
}
