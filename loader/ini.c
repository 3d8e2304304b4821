/* SPDX-License-Identifier: Apache-2.0 */
#include "ini.h"

#include <string.h>

/* What a line is; line->section is the one that the line is in, or begins. */
static void classify(struct cbl_ini_line *line, struct slice text)
{
    line->kind = CBL_INI_BAD;
    if (text.at[0] == '[') {
        if (text.at[text.size - 1] != ']') {
            line->problem =
                memchr(text.at, ']', text.size) ? "there is text after the ]" : "the ] is missing";
            return;
        }
        line->section = cbl_trim((struct slice){ text.at + 1, text.size - 2 });
        if (!cbl_is_key(line->section)) {
            line->problem = "a section is named with letters, digits and . _ -";
            return;
        }
        line->in_section = true;
        line->kind = CBL_INI_SECTION;
    } else if (!cbl_cut(text, '=', &line->key, &line->value)) {
        line->problem = "not a section, a comment or key = value";
    } else if (!cbl_is_key(line->key)) {
        line->problem = "a key is made of letters, digits and . _ -";
    } else {
        line->kind = CBL_INI_KEY;
    }
}

void cbl_ini_read(struct slice bytes, cbl_ini_fn fn, void *ctx)
{
    if (bytes.size >= 3 && !memcmp(bytes.at, "\xef\xbb\xbf", 3)) {
        bytes.at += 3;
        bytes.size -= 3;
    }
    struct cbl_ini_line line = { .number = 0 };
    while (bytes.size) {
        const char *end = memchr(bytes.at, '\n', bytes.size);
        const uint64_t size = end ? (uint64_t)(end - bytes.at) : bytes.size;
        const struct slice text = cbl_trim((struct slice){ bytes.at, size });
        bytes.at += end ? size + 1 : size;
        bytes.size -= end ? size + 1 : size;

        line.number++;
        line.key = line.value = (struct slice){ "", 0 };
        line.problem = NULL;
        if (!text.size || text.at[0] == '#' || text.at[0] == ';')
            continue;
        if (text.at[0] == '[')
            line.in_section = false;
        if (size > CBL_INI_LINE_MAX) {
            line.kind = CBL_INI_BAD;
            line.problem = "longer than 64 KiB";
        } else if (memchr(text.at, 0, text.size)) {
            line.kind = CBL_INI_BAD;
            line.problem = "holds a NUL byte";
        } else {
            classify(&line, text);
        }
        fn(ctx, &line);
    }
}
