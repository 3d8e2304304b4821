/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the loader share. The way of a plugin, a file a step: settings.c, config.c and
 * config_files.c (what the user wants), discover.c (where files are), trust.c and pin.c (whether
 * they may be run), elf.c, manifest.c and isa.c (their facts), probe.c (a try in another process),
 * select.c (ranking and walk), load.c, memory.c, options.c and device.c (dlopen to init), table.c
 * (the completed table), report.c and config_report.c. */
#ifndef CBL_INTERNAL_H
#define CBL_INTERNAL_H

#include "cb_loader.h"
#include "manifest.h"
#include "text.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Sizes of 1.0: a host that was built with an older header passes no less. */
#define CBL_OPTIONS_1_0   96
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

/* What the configuration's list of backends is. */
enum policy {
    POLICY_DEFAULT, /* as POLICY_PREFER when there is a list, else as POLICY_ANY */
    POLICY_REQUIRE, /* one of them or an error */
    POLICY_PREFER,  /* one of them, else the next best */
    POLICY_ANY,     /* nothing: the best of all */
};

/* key = value for one backend, or with the id "" for the loader. */
struct setting {
    const char *id, *key, *value;
    const char *origin;
};

struct settings {
    struct places plugins, plugins_add; /* CB_PLUGINS, CB_PLUGINS_ADD */
    struct places plugin_path;          /* the configuration's */
    struct names backend;               /* the configuration's */
    struct names env_backend, disable;  /* CB_BACKEND, CB_DISABLE */
    enum policy policy;
    bool trust_off;           /* files are not judged by who may write them */
    bool probe;               /* every plugin is tried in a process of its own */
    uint64_t probe_timeout;   /* nanoseconds */
    const char *probe_helper; /* NULL: the installed one */
    struct setting *items;    /* what was set, key by key */
    uint64_t count;
    struct places files; /* configuration files, with what became of each */
};

/* ---- What was found ---- */

struct candidate {
    const char *id, *path, *origin, *version, *device_class, *isa; /* "" when unknown */
    cb_plugin_entry_fn entry;                                      /* of a built-in, else NULL */
    int32_t priority;                                              /* configured, else its own */
    bool named_place;             /* somebody named where it is, in this program or this session */
    bool usable;                  /* nothing that the scan saw is against it */
    const struct candidate *twin; /* an earlier usable one with this id: tried first */
    bool is_file;                 /* device and inode are known */
    dev_t device;
    ino_t inode;
    const char *manifest, *build_id; /* the note's text; hexadecimal, "" when there is none */

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
    uint32_t device, features; /* of the device */
    bool created;
    bool releasing; /* under the loader's lock */
};

/* Candidates and settings do not change after open. The lock guards what does: states, kept
 * strings, problems and the list of instances. It is never held while a plugin or a log function
 * runs, so both may call the loader. */
struct cb_loader {
    _Atomic pid_t owner; /* the process that the locks are known to be good in (fork.c) */
    atomic_bool broken;  /* a fork left a lock behind that nobody will open */
    pthread_mutex_t lock;
    struct strings strings;
    struct settings settings;
    uint64_t isa; /* of this machine */
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

/* A warning that the report repeats. The same one is said and kept once. Not to be called with the
 * lock. */
__attribute__((format(printf, 2, 3))) void cbl_problem(struct cb_loader *l, const char *format,
                                                       ...);

/* Listens to what CB_LOG asks for. */
void cbl_log_from_environment(struct cb_loader *l);

/* ---- fork.c ---- */

/* Whether the locks can be taken; to be asked before one is, at each door. */
bool cbl_is_whole(struct cb_loader *l);

/* The same as a status. */
cb_status cbl_enter(struct cb_loader *l, const char *where, cb_error *err);

/* ---- environment.c ---- */

/* Whether this process has more rights than who started it. */
bool cbl_is_privileged(void);

/* A variable, or NULL when it is unset, empty, or not to be trusted. */
const char *cbl_environment(const char *name);

/* The variables that the settings come from, in the order of their names' importance; NULL at the
 * end. */
const char *cbl_variable_name(uint64_t i);

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

/* The settings of a backend that are the loader's own. */
#define CBL_PRIORITY_KEY "priority" /* a number from 0 to CBL_PRIORITY_MAX */
#define CBL_PIN_KEY      "sha256"   /* of the file, 64 hexadecimal digits */

bool cbl_is_own_key(const char *key);

/* Keeps key = value; a later one replaces an earlier one. */
void cbl_keep_setting(struct cb_loader *l, struct slice id, struct slice key, struct slice value,
                      const char *origin);

/* ---- config.c ---- */

/* Reads a configuration file into the settings. A bad line is a problem, no error. */
cb_status cbl_config_read(struct cb_loader *l, const char *path, cb_error *err);

/* The keys of [loader] and what holds when one is not set; NULL at the end. */
const char *cbl_loader_key(uint64_t i, const char **otherwise);

/* ---- config_files.c ---- */

/* Reads the file that was named, or else the system's and the user's, with their drop-ins. */
cb_status cbl_config_files_read(struct cb_loader *l, const char *named, cb_error *err);

/* ---- directory.c ---- */

/* Adds a directory's files in byte order of their names, whatever order the file system has.
 * false, with errno set: it could not be read, or not to its end. */
bool cbl_list_directory(struct cb_loader *l, const struct place *place,
                        bool (*takes)(const char *name), struct places *found);

/* PREFIX...SUFFIX, with something between. */
bool cbl_is_between(const char *name, const char *prefix, const char *suffix);

/* ---- trust.c ---- */

/* Whether a file may be believed: nobody but root and the user can change it or what its path
 * leads through. named: a foreign owner is only warned of. */
bool cbl_trust_check(struct cb_loader *l, const char *path, bool named, struct verdict *v);

/* ---- pin.c ---- */

bool cbl_is_sha256(struct slice value); /* 64 hexadecimal digits */

/* Whether an open file is the one that `sha256` of its backend pins, if it does. */
bool cbl_pin_check(const struct cb_loader *l, const char *id, int fd, struct verdict *v);

/* ---- memory.c ---- */

/* Whether the code at an address is from the candidate's file, and from no older copy. */
bool cbl_memory_check(uintptr_t address, const struct candidate *c, struct verdict *v);

/* ---- probe.c ---- */

/* Tries every usable candidate that has a file. */
void cbl_probe_all(struct cb_loader *l);

/* ---- discover.c, scan.c, where.c ---- */

/* Lists every candidate. */
cb_status cbl_discover(struct cb_loader *l, const cb_loader_options *options, cb_error *err);

/* The directory fixed at build time, and the one beside the loader's own library; "" when this
 * loader does not know one. */
const char *cbl_fixed_directory(void);
const char *cbl_own_directory(struct cb_loader *l);

/* The system's directory of configuration, and the program cb-probe, as installed. */
const char *cbl_system_directory(void);
const char *cbl_installed_probe(void);

/* Keeps a verdict, and says it. */
void cbl_settle(struct cb_loader *l, struct candidate *c, const struct verdict *v);

/* Hides a candidate behind an earlier one with its id. */
bool cbl_blame_twin(struct verdict *v, const struct candidate *earlier);

/* Learns a file's facts. false: the verdict says why it cannot be used. */
bool cbl_scan_file(struct cb_loader *l, struct candidate *c, struct verdict *v);

/* The same for a built-in's manifest. */
bool cbl_scan_text(struct cb_loader *l, struct candidate *c, struct slice manifest,
                   struct verdict *v);

/* Whether notes are those that the candidate was found with. */
bool cbl_note_is(const struct cbl_note *note, const struct candidate *c);

/* Whether the path still leads to the file that was scanned: the last look before it is run. */
bool cbl_scan_again(struct cb_loader *l, const struct candidate *c, struct verdict *v);

/* ---- table.c ---- */

/* Judges a plugin's table and copies it, with a function in every slot that it lacks. */
bool cbl_table_complete(const compute_backend_v1 *from, const struct candidate *c,
                        compute_backend_v1 *to, struct verdict *v);

/* ---- load.c ---- */

/* What a selection needs, beside being loadable. */
struct demand {
    const cb_request *request;
    bool named; /* the id was asked for by name */
    bool probe; /* the devices are looked at, and none is initialized */
};

/* From dlopen to init. NULL: the verdict says why not. */
struct instance *cbl_instance_open(struct cb_loader *l, const struct candidate *c,
                                   const struct demand *demand, struct verdict *v);

/* The two halves of an end: destroy, after which the plugin no longer logs; then the memory. */
void cbl_instance_stop(struct instance *instance);
void cbl_instance_free(struct instance *instance);

/* ---- rank.c, select.c ---- */

uint64_t cbl_now(void); /* nanoseconds, monotonic */

/* ---- loader.c ---- */

struct cb_loader *cbl_loader_new(void);
void cbl_loader_free(struct cb_loader *l);

#endif
