/* SPDX-License-Identifier: Apache-2.0 */
/* What the loader says of itself, asked for as a text of its own. */
#include "cmd.h"

#include <stdio.h>
#include <stdlib.h>

char *loader_words(cb_loader *loader, loader_words_fn ask, bool as_json)
{
    cb_error err;
    uint64_t length = 0;
    const uint32_t format = as_json ? CB_FORMAT_JSON : CB_FORMAT_TEXT;
    cb_error_init(&err);
    cb_status status = ask(loader, format, NULL, &length, &err);
    char *text = status == CB_OK ? malloc(length) : NULL;
    if (text)
        status = ask(loader, format, text, &length, &err);
    if (text && status == CB_OK)
        return text;
    complain("%s", status == CB_OK ? "out of memory" : err.msg);
    free(text);
    return NULL;
}

bool print_loader_words(cb_loader *loader, loader_words_fn ask, bool as_json)
{
    char *text = loader_words(loader, ask, as_json);
    if (text)
        fputs(text, stdout);
    if (text && as_json)
        putchar('\n');
    free(text);
    return text != NULL;
}
