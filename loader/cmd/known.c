/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd.h"

#include <stdlib.h>
#include <string.h>

bool backend_is_known(cb_loader *loader, const char *id)
{
    const uint64_t count = cb_loader_candidate_count(loader);
    const char **ids = calloc(count + 1, sizeof(*ids));
    uint64_t n = 0;
    bool known = false;
    if (!ids) {
        complain("out of memory");
        return false;
    }
    for (uint64_t i = 0; i < count && !known; i++) {
        cb_candidate c;
        cb_candidate_init(&c);
        if (cb_loader_candidate(loader, i, &c, NULL) == CB_OK && *c.id) {
            ids[n++] = c.id;
            known = !strcmp(c.id, id);
        }
    }
    if (!known && n)
        complain("no backend '%s' was found; the nearest is %s", id, nearest(id, ids, n));
    else if (!known)
        complain("no backend '%s' was found, and no other", id);
    free(ids);
    return known;
}
