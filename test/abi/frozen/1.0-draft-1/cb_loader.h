/* SPDX-License-Identifier: Apache-2.0 */
/**
 * cb_loader.h - finds compute backends, says what became of each, and hands out the one to use.
 *
 *     cb_loader *loader;
 *     cb_backend be;
 *     cb_loader_open(NULL, &loader, &err);
 *     cb_loader_select(loader, NULL, &be, &err);
 *     ... cb_gemm(be, ...) ...
 *     cb_loader_release(loader, be, &err);
 *     cb_loader_close(loader, &err);
 *
 * The user of the program picks the backend: with a file dropped into a folder, a configuration
 * line, or CB_BACKEND=ID. docs/use_the_loader.md is the long version.
 *
 * Threads:  any thread may use a loader, at any time.
 * Fork:     a child may go on with its parent's loader. If another thread was at work in it at the
 *           moment of the fork, each call in the child is CB_DEVICE_ERROR, at once: open another.
 * Memory:   strings handed out belong to the loader and live until it is closed.
 * Output:   none, until CB_LOG (error, warning, info, debug: to stderr) or cb_loader_set_log.
 * State:    none outside struct cb_loader: two loaders in one process do not see each other.
 */
#ifndef CB_LOADER_H
#define CB_LOADER_H

#include "compute_backend.h"

#if defined(CB_LOADER_BUILD)
#define CB_LOADER_API __attribute__((visibility("default")))
#else
#define CB_LOADER_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cb_loader cb_loader;

/* A plugin that is linked into the host: its entry and the text of its manifest, which a plugin
 * compiled with CB_PLUGIN_STATIC exports as cb_plugin_entry_ID and cb_plugin_manifest_ID. */
typedef struct cb_builtin {
    uint64_t size;
    cb_plugin_entry_fn entry;
    const char *manifest; /* kept: must outlive the loader */
} cb_builtin;
CB_DEFINE_INIT(cb_builtin)

/* text: one line without newline. level: CB_LOG_*. May be called from any thread. */
typedef void (*cb_log_fn)(void *ctx, int32_t level, const char *text);

enum {
    CB_LOADER_PROBE = 1u << 0, /* as `probe = always`, whatever the configuration says */
};

typedef struct cb_loader_options {
    uint64_t size;
    uint32_t flags; /* CB_LOADER_PROBE or 0 */
    uint32_t reserved;
    const char *const *paths; /* plugins or directories of them, before all others */
    uint64_t n_paths;
    const cb_builtin *const *builtins; /* before all others, after paths */
    uint64_t n_builtins;
    const char *config_file; /* instead of CB_CONFIG; nullable */
    cb_log_fn log;           /* instead of CB_LOG; nullable */
    void *log_ctx;
    uint64_t table_size; /* of the host's compute_backend_v1; cb_loader_open sets the two */
    uint32_t abi_minor;
    uint32_t abi_draft;
    const char *probe_helper; /* the program cb-probe, instead of the installed one; nullable */
} cb_loader_options;
CB_DEFINE_INIT(cb_loader_options)

/* What a selection must offer. All of it is a demand: a backend that lacks one is `unfit`. */
enum {
    CB_WANT_GPU = 1u << 0, /* a device whose memory is not the host's */
    CB_WANT_FP16 = 1u << 1,
    CB_WANT_BF16 = 1u << 2,
    CB_WANT_FP8 = 1u << 3,
    CB_WANT_TENSOR_CORES = 1u << 4,
    CB_WANT_UNIFIED_MEMORY = 1u << 5,
    CB_WANT_PEER_ACCESS = 1u << 6,
};

typedef struct cb_request {
    uint64_t size;
    const char *id; /* this backend or an error; wins over CB_BACKEND; nullable */
    uint32_t want;  /* CB_WANT_* */
    uint32_t reserved;
    const char *const *options; /* "key=value" for the backend's create; a refused one fails */
    uint64_t n_options;         /* more than 0 needs id: options are a backend's own */
} cb_request;
CB_DEFINE_INIT(cb_request)

/* What became of a plugin, or of something that looked like one. */
typedef enum cb_state {
    CB_STATE_FOUND = 0,     /* its facts are known; no selection has looked at it yet */
    CB_STATE_HIDDEN = 1,    /* CB_DISABLE, or the same id or file came earlier */
    CB_STATE_SKIPPED = 2,   /* not a plugin for this machine: text, empty, another class of ELF */
    CB_STATE_REFUSED = 3,   /* a library that breaks a rule of the ABI */
    CB_STATE_FAILED = 4,    /* dlopen, entry, create, devices or init failed */
    CB_STATE_UNFIT = 5,     /* works, but not what was asked for */
    CB_STATE_OUTRANKED = 6, /* not opened: another won */
    CB_STATE_SELECTED = 7,
    CB_STATE_PROBED_BAD = 8, /* it crashed, hung, exited or talked nonsense in a probe */
} cb_state;

typedef struct cb_candidate {
    uint64_t size;
    uint32_t state;      /* cb_state, of the latest selection */
    int32_t priority;    /* configured, else of the manifest */
    const char *id;      /* of the manifest, "" when unknown */
    const char *path;    /* "" for a builtin */
    const char *origin;  /* where it was heard of: "CB_PLUGINS", "cb.conf:3: plugin_path" ... */
    const char *reason;  /* why it is in this state, in words */
    const char *version; /* of the manifest, "" when unknown */
    const char *device_class; /* of the manifest, "" when unknown */
    const char *isa;          /* of the manifest, "" when unknown */
    double milliseconds;      /* spent on it so far */
} cb_candidate;
CB_DEFINE_INIT(cb_candidate)

/**
 * cb_loader_open - reads the configuration and looks for plugins. Nothing of theirs is run in this
 * process; where probes are asked for, each plugin is tried in a process of its own first, and the
 * call takes as long as the slowest, at most `probe_timeout` for each sixteen plugins.
 *
 * @options: NULL for the defaults. Read during the call, but for what says otherwise.
 * @out:     receives the loader on CB_OK.
 *
 * Errors:   CB_NOT_FOUND (a path or configuration file that was named is not there),
 *           CB_INVALID_ARGUMENT, CB_ABI_MISMATCH (the host knows more of the table than this
 *           loader), CB_OUT_OF_MEMORY. A bad candidate is no error: see cb_loader_candidate.
 */
CB_LOADER_API cb_status cb_loader_open_sized(const cb_loader_options *options, cb_loader **out,
                                             cb_error *err);

static inline cb_status cb_loader_open(const cb_loader_options *options, cb_loader **out,
                                       cb_error *err)
{
    cb_loader_options mine;
    cb_loader_options_init(&mine);
    if (options) {
        const uint64_t known = options->size < sizeof(mine) ? options->size : sizeof(mine);
        __builtin_memcpy(&mine, options, known);
    }
    mine.table_size = sizeof(compute_backend_v1);
    mine.abi_minor = CB_ABI_MINOR;
    mine.abi_draft = CB_ABI_DRAFT;
    return cb_loader_open_sized(&mine, out, err);
}

/**
 * cb_loader_close - forgets everything. NULL is accepted.
 *
 * Errors: CB_BUSY while a selected backend has not been released; the loader is as it was.
 */
CB_LOADER_API cb_status cb_loader_close(cb_loader *loader, cb_error *err);

/** cb_loader_candidate - what was found, in the order of the search; i below the count. */
CB_LOADER_API uint64_t cb_loader_candidate_count(cb_loader *loader);
CB_LOADER_API cb_status cb_loader_candidate(cb_loader *loader, uint64_t i, cb_candidate *out,
                                            cb_error *err);

/**
 * cb_loader_select - opens the best backend that fits, initialized and with a whole table.
 *
 * @request: NULL asks for any.
 * @out:     receives the backend on CB_OK. Each selection is an instance of its own, and ends with
 *           cb_loader_release.
 *
 * The ranking: the order asked for (request->id, CB_BACKEND, the configuration), configured
 * priority, manifest priority, id. Priority 0 is taken only when named.
 * Errors:  CB_NOT_FOUND when nothing fits; the message lists why, backend by backend.
 *          CB_INVALID_ARGUMENT for a bad request.
 */
CB_LOADER_API cb_status cb_loader_select(cb_loader *loader, const cb_request *request,
                                         cb_backend *out, cb_error *err);

/**
 * cb_loader_route - cb_loader_select for one kind of work.
 *
 * @op: CB_OP_*, the work that is to be done. For gemm, gemm_mixed_precision, batched_gemm, the
 *      conv2d ops and attention a backend with matrix units (CB_FEATURE_TENSOR_CORES) is preferred
 *      to one without. What the user asked for comes first: only backends that it ranks alike are
 *      compared.
 *
 * Errors: as cb_loader_select; CB_INVALID_ARGUMENT for an op that this loader does not know.
 */
CB_LOADER_API cb_status cb_loader_route(cb_loader *loader, uint32_t op, const cb_request *request,
                                        cb_backend *out, cb_error *err);

/**
 * cb_loader_fallback_chain - what a selection would try, one after the other. Opens nothing.
 *
 * @request:    as for cb_loader_select; what only an open backend can tell (want) is not asked.
 * @candidates: receives places for cb_loader_candidate, the first choice first and plugins of class
 *              cpu last. NULL asks for the count.
 * @count:      in: the room; out: how many there are.
 *
 * Errors: CB_INVALID_ARGUMENT for a bad request or too little room; *count says what it takes.
 */
CB_LOADER_API cb_status cb_loader_fallback_chain(cb_loader *loader, const cb_request *request,
                                                 uint64_t *candidates, uint64_t *count,
                                                 cb_error *err);

/** cb_loader_release - destroys a selected backend. Its code stays mapped. */
CB_LOADER_API cb_status cb_loader_release(cb_loader *loader, cb_backend be, cb_error *err);

/**
 * cb_loader_report - candidates, states, reasons, and what was odd in the configuration, as text.
 *
 * @buffer, @length: as in compute_backend_v1.info: NULL asks for the length.
 */
CB_LOADER_API cb_status cb_loader_report(cb_loader *loader, char *buffer, uint64_t *length,
                                         cb_error *err);

/* Any JSON begins with "schema": 1; a later loader adds members and drops none. */
enum {
    CB_FORMAT_TEXT = 0,
    CB_FORMAT_JSON = 1,
};

/** cb_loader_report_as - cb_loader_report in a format of CB_FORMAT_*. */
CB_LOADER_API cb_status cb_loader_report_as(cb_loader *loader, uint32_t format, char *buffer,
                                            uint64_t *length, cb_error *err);

/**
 * cb_loader_config - the configuration as it counts: which files were read, each key's value with
 * where it was given, the variables that stand above it, and what was odd.
 *
 * As text it is a configuration file that says the same. @buffer, @length: as cb_loader_report.
 */
CB_LOADER_API cb_status cb_loader_config(cb_loader *loader, uint32_t format, char *buffer,
                                         uint64_t *length, cb_error *err);

/**
 * cb_loader_set_log - who hears messages up to a level, from now on; NULL: nobody.
 *
 * A function that is replaced may still hear a message that was on its way. cb_loader_options.log
 * hears every level.
 */
CB_LOADER_API void cb_loader_set_log(cb_loader *loader, int32_t level, cb_log_fn log, void *ctx);

/** cb_loader_version - of the library, "MAJOR.MINOR.PATCH". */
CB_LOADER_API const char *cb_loader_version(void);

/** cb_state_name - "selected" and so on. */
CB_LOADER_API const char *cb_state_name(uint32_t state);

#ifdef __cplusplus
}
#endif

#endif
