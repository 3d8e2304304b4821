/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd.h"

#include <stdlib.h>
#include <string.h>

static void add(const char **ids, uint64_t *count, const char *id)
{
    for (uint64_t i = 0; i < *count; i++)
        if (!strcmp(ids[i], id))
            return;
    ids[(*count)++] = id;
}

static int add_named(const struct arguments *a, cb_loader *loader, const char **ids,
                     uint64_t *count)
{
    for (uint32_t i = 1; i < a->n_operands; i++) {
        if (!backend_is_known(loader, a->operands[i]))
            return EXIT_USAGE;
        add(ids, count, a->operands[i]);
    }
    return EXIT_OK;
}

static int add_all(cb_loader *loader, const char **ids, uint64_t *count)
{
    cb_error err;
    uint64_t n = cb_loader_candidate_count(loader);
    uint64_t *places = calloc(n + 1, sizeof(*places));
    int code = EXIT_OK;
    cb_error_init(&err);
    if (!places || cb_loader_fallback_chain(loader, NULL, places, &n, &err) != CB_OK) {
        complain("%s", places ? err.msg : "out of memory");
        code = EXIT_TROUBLE;
    }
    for (uint64_t i = 0; code == EXIT_OK && i < n; i++) {
        cb_candidate c;
        cb_candidate_init(&c);
        if (cb_loader_candidate(loader, places[i], &c, NULL) == CB_OK)
            add(ids, count, c.id);
    }
    free(places);
    return code;
}

int chosen_backends(const struct arguments *a, cb_loader *loader, const char ***ids,
                    uint64_t *count)
{
    *count = 0;
    *ids = calloc(cb_loader_candidate_count(loader) + a->n_operands, sizeof(**ids));
    if (!*ids) {
        complain("out of memory");
        return EXIT_TROUBLE;
    }
    return a->n_operands > 1 ? add_named(a, loader, *ids, count) : add_all(loader, *ids, count);
}
