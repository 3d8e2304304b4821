/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the loader share. The way of a plugin, a file a step: settings.c and config.c
 * (what the user wants), discover.c (where files are), elf.c and manifest.c (their facts), select.c
 * (ranking and walk), load.c, options.c and device.c (dlopen to init), table.c (the completed
 * table), report.c. */
#ifndef CBL_INTERNAL_H
#define CBL_INTERNAL_H

#include "cb_loader.h"
#include "manifest.h"
#include "text.h"

#include <pthread.h>
#include <sys/types.h>

/* Sizes of 1.0: a host that was built with an older header passes no less. */
#define CBL_OPTIONS_1_0   88
#define CBL_BUILTIN_1_0   24
#define CBL_REQUEST_1_0   40
#define CBL_CANDIDATE_1_0 80
CB_STATIC_ASSERT(sizeof(cb_loader_options) == CBL_OPTIONS_1_0, "1.0");
CB_STATIC_ASSERT(sizeof(cb_builtin) == CBL_BUILTIN_1_0, "1.0");
CB_STATIC_ASSERT(sizeof(cb_request) == CBL_REQUEST_1_0, "1.0");
CB_STATIC_ASSERT(sizeof(cb_candidate) == CBL_CANDIDATE_1_0, "1.0");

/* ---- What the user wants ---- */

/* A list of ids or globs, and where it was given. */
struct names {
    const char **items;
    uint64_t count;
    bool any;           /* it ends in `any` */
    const char *origin; /* NULL when the list was not given */
};

/* A plugin or a directory of them. */
struct place {
    const char *path; /* absolute */
    const char *origin;
};

struct places {
    struct place *items;
    uint64_t count;
};

/* key = value for one backend. */
struct setting {
    const char *id, *key, *value;
    const char *origin;
};

struct settings {
    struct places plugins, plugins_add; /* CB_PLUGINS, CB_PLUGINS_ADD */
    struct places plugin_path;          /* the configuration's */
    struct names backend;               /* the configuration's */
    struct names env_backend, disable;  /* CB_BACKEND, CB_DISABLE */
    struct setting *items;
    uint64_t count;
};

/* ---- What was found ---- */

struct candidate {
    const char *id, *path, *origin, *version, *device_class, *isa; /* "" when unknown */
    cb_plugin_entry_fn entry;                                      /* of a built-in, else NULL */
    int32_t priority;                                              /* configured, else its own */
    bool usable;                  /* nothing that the scan saw is against it */
    const struct candidate *twin; /* an earlier usable one with this id: tried first */
    bool is_file;                 /* device and inode are known */
    dev_t device;
    ino_t inode;

    /* Of the latest selection; under the loader's lock. */
    uint32_t state;
    const char *reason;
    uint64_t nanoseconds;
};

/* A selected backend: what stands behind a cb_backend. */
struct instance {
    struct instance *next;
    struct cb_loader *loader;
    const struct candidate *candidate;
    compute_backend_v1 table; /* the plugin's, completed */
    void *self;
    void *library; /* NULL for a built-in */
    cb_host host;
    uint32_t device;
    bool created;
    bool releasing; /* under the loader's lock */
};

/* Candidates and settings do not change after open. The lock guards what does: states, kept
 * strings, problems and the list of instances. It is never held while a plugin or a log function
 * runs, so both may call the loader. */
struct cb_loader {
    pthread_mutex_t lock;
    struct strings strings;
    struct settings settings;
    struct candidate *candidates;
    uint64_t n_candidates;
    struct places searched; /* directories that were read or should have been */
    const char **problems;  /* what was odd, a line each */
    uint64_t n_problems;
    struct instance *instances;

    pthread_mutex_t log_lock;
    int32_t log_level; /* 0: nobody listens */
    cb_log_fn log;
    void *log_ctx;
};

/* ---- log.c ---- */

__attribute__((format(printf, 3, 4))) void cbl_log(struct cb_loader *l, int32_t level,
                                                   const char *format, ...);

/* A warning that the report repeats. The same one is kept once. Not to be called with the lock. */
__attribute__((format(printf, 2, 3))) void cbl_problem(struct cb_loader *l, const char *format,
                                                       ...);

/* Listens to what CB_LOG asks for. */
void cbl_log_from_environment(struct cb_loader *l);

/* ---- environment.c ---- */

/* A variable, or NULL when it is unset, empty, or not to be trusted. */
const char *cbl_environment(const char *name);

/* Reads every CB_* variable but CB_LOG and CB_CONFIG into the settings. */
void cbl_environment_read(struct cb_loader *l);

/* ---- settings.c: what is kept sets strings.failed when memory runs out ---- */

void cbl_settings_free(struct settings *s);

void cbl_add_place(struct cb_loader *l, struct places *places, const char *path,
                   const char *origin);

/* Replaces a list by the parts of a `,` list. takes_any: `any` ends it, and is a flag. */
void cbl_set_names(struct cb_loader *l, struct names *names, struct slice list, bool takes_any,
                   const char *origin);

/* Replaces a list by the parts of a `:` list; relative ones are below base ("": the working
 * directory). */
void cbl_set_places(struct cb_loader *l, struct places *places, struct slice list, const char *base,
                    const char *origin);

/* Takes key = value for a backend; a later one replaces an earlier one. */
void cbl_set_backend_key(struct cb_loader *l, struct slice id, struct slice key, struct slice value,
                         const char *origin);

/* The setting of one backend, or NULL. */
struct setting *cbl_setting(const struct settings *s, const char *id, const char *key);

/* The index of the first pattern that matches, or UINT64_MAX. *named: one of them is the id. */
uint64_t cbl_match(const struct names *names, const char *id, bool *named);

/* An absolute path without "//", "/./" and a "/" at the end, kept. */
const char *cbl_absolute(struct cb_loader *l, const char *base, struct slice path);

/* The setting that is the loader's own: a number from 0 to CBL_PRIORITY_MAX. */
#define CBL_PRIORITY_KEY "priority"

/* ---- config.c ---- */

/* Reads a configuration file into the settings. A bad line is a problem, no error. */
cb_status cbl_config_read(struct cb_loader *l, const char *path, cb_error *err);

/* ---- discover.c, scan.c, where.c ---- */

/* Lists every candidate. */
cb_status cbl_discover(struct cb_loader *l, const cb_loader_options *options, cb_error *err);

/* The directory fixed at build time, and the one beside the loader's own library; "" when this
 * loader does not know one. */
const char *cbl_fixed_directory(void);
const char *cbl_own_directory(struct cb_loader *l);

/* Hides a candidate behind an earlier one with its id. */
bool cbl_blame_twin(struct verdict *v, const struct candidate *earlier);

/* Learns a file's facts. false: the verdict says why it cannot be used. */
bool cbl_scan_file(struct cb_loader *l, struct candidate *c, struct verdict *v);

/* The same for a built-in's manifest. */
bool cbl_scan_text(struct cb_loader *l, struct candidate *c, struct slice manifest,
                   struct verdict *v);

/* ---- table.c ---- */

/* Judges a plugin's table and copies it, with a function in every slot that it lacks. */
bool cbl_table_complete(const compute_backend_v1 *from, const struct candidate *c,
                        compute_backend_v1 *to, struct verdict *v);

/* ---- load.c ---- */

/* What a selection needs, beside being loadable. */
struct demand {
    const cb_request *request;
    bool named; /* the id was asked for by name */
};

/* From dlopen to init. NULL: the verdict says why not. */
struct instance *cbl_instance_open(struct cb_loader *l, const struct candidate *c,
                                   const struct demand *demand, struct verdict *v);

/* The two halves of an end: destroy, after which the plugin no longer logs; then the memory. */
void cbl_instance_stop(struct instance *instance);
void cbl_instance_free(struct instance *instance);

/* ---- select.c ---- */

uint64_t cbl_now(void); /* nanoseconds, monotonic */

#endif
