/* SPDX-License-Identifier: Apache-2.0 */
/* The last part of a plugin's way: load.c calls it, options.c says with which options, device.c
 * picks the device. */
#ifndef CBL_LOAD_H
#define CBL_LOAD_H

#include "internal.h"

/* ---- options.c: what create gets ---- */

struct option {
    char *text; /* "key=value" */
    uint64_t key_size;
    const char *origin; /* NULL: given by API */
};

struct option_list {
    struct option *items;
    const char **texts; /* of items, for create */
    uint64_t count;
};

/* The user's options for this backend, but for those that the program sets, and the program's. */
bool cbl_options_collect(const struct instance *in, const cb_request *r, struct option_list *list);

/* Drops the option that create named in err->where and warns. false: it named none, or one that the
 * program itself asked for. */
bool cbl_options_drop(const struct instance *in, struct option_list *list, const cb_error *err);

/* The value of the last option with this key, or NULL. */
const char *cbl_option(const struct option_list *list, const char *key);

void cbl_options_free(struct option_list *list);

/* ---- device.c ---- */

/* Sets in->device to the first device that fits. false: the verdict says what is against each.
 * option: the value of the option `device`, or NULL. */
bool cbl_device_choose(struct instance *in, const struct demand *demand, const char *option,
                       struct verdict *v);

/* ---- load.c ---- */

/* Terminates what a plugin wrote. */
void cbl_seal(cb_error *err);

/* The candidate failed in a call of its own. */
bool cbl_blame_call(struct verdict *v, const char *call, cb_status status, cb_error *err);

#endif
