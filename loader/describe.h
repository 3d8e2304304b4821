/* SPDX-License-Identifier: Apache-2.0 */
/* What a loader says of itself, as text and as JSON: report.c and config_report.c. */
#ifndef CBL_DESCRIBE_H
#define CBL_DESCRIBE_H

#include "internal.h"
#include "json.h"

/* ---- report.c ---- */

/* An array of objects: "path", and the origin under a name. */
void cbl_json_places(struct json *j, const char *key, const struct places *places,
                     const char *origin);

/* Something that can be said, under the loader's lock. */
struct description {
    const char *where; /* the function that was called */
    void (*text)(const struct cb_loader *l, struct text *t);
    void (*json)(const struct cb_loader *l, struct text *t);
};

cb_status cbl_describe(struct cb_loader *l, const struct description *d, uint32_t format,
                       char *buffer, uint64_t *length, cb_error *err);

#endif
