/* SPDX-License-Identifier: Apache-2.0 */
/* Sayings as bytes: a head of fixed size, then the strings with their terminators. Both ends are
 * the same program; but a backend that goes wrong may write anywhere in its process, so what is
 * read is checked. */
#include "selftest_cmd.h"

#include <string.h>

struct head {
    uint64_t size; /* with the strings */
    uint32_t kind, outcome, compared, reserved;
    uint64_t index;
    double got, want, error, bound, seconds;
};

enum {
    STRINGS = 7,
    LONGEST = 500 /* so that all of them fit */
};

static void strings_of(struct saying *s, const char **all[STRINGS])
{
    const char **const fields[STRINGS] = { &s->text,          &s->text2,       &s->result.group,
                                           &s->result.spec,   &s->result.text, &s->result.rule,
                                           &s->result.operand };
    memcpy(all, fields, sizeof(fields));
}

bool wire_write(FILE *to, const struct saying *saying)
{
    struct saying copy = *saying;
    const char **all[STRINGS];
    uint64_t length[STRINGS];
    const cb_selftest_result *r = &copy.result;
    struct head head = { .size = sizeof(head),
                         .kind = copy.kind,
                         .outcome = r->outcome,
                         .compared = r->compared,
                         .index = r->index,
                         .got = r->got,
                         .want = r->want,
                         .error = r->error,
                         .bound = r->bound,
                         .seconds = copy.seconds };
    strings_of(&copy, all);
    for (int i = 0; i < STRINGS; i++) {
        if (!*all[i])
            *all[i] = "";
        length[i] = strnlen(*all[i], LONGEST);
        head.size += length[i] + 1;
    }
    bool good = fwrite(&head, sizeof(head), 1, to) == 1;
    for (int i = 0; i < STRINGS && good; i++)
        good = fwrite(*all[i], 1, length[i], to) == length[i] && putc('\0', to) != EOF;
    return good;
}

uint64_t wire_read(const unsigned char *bytes, uint64_t size, struct saying *out)
{
    struct head head;
    const char **all[STRINGS];
    if (size < sizeof(head))
        return 0;
    memcpy(&head, bytes, sizeof(head));
    if (head.size < sizeof(head) || head.size > WIRE_MAX || head.kind > SAYS_DONE ||
        head.outcome >= OUTCOMES)
        return WIRE_NONSENSE;
    if (size < head.size)
        return 0;
    *out = (struct saying){ .kind = head.kind,
                            .seconds = head.seconds,
                            .result = { .size = sizeof(out->result),
                                        .outcome = head.outcome,
                                        .compared = head.compared,
                                        .index = head.index,
                                        .got = head.got,
                                        .want = head.want,
                                        .error = head.error,
                                        .bound = head.bound } };
    uint64_t at = sizeof(head);
    strings_of(out, all);
    for (int i = 0; i < STRINGS; i++) {
        const unsigned char *end = memchr(bytes + at, 0, head.size - at);
        if (!end)
            return WIRE_NONSENSE;
        *all[i] = (const char *)bytes + at;
        at = (uint64_t)(end - bytes) + 1;
    }
    return at == head.size ? at : WIRE_NONSENSE;
}
