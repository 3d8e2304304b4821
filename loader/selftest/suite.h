/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the self-test share: a run, guarded buffers, wanted values, variants of a case
 * and the list of groups. A new op is one file that defines a struct st_group, and one line in
 * runner.c. */
#ifndef SELFTEST_SUITE_H
#define SELFTEST_SUITE_H

#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "selftest.h"

#define ST_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- Values (values.c) --------------------------------------------------------------------- */

/* An element that is only moved, of 1, 2, 4, 8 or 16 bytes; beside the types of the ABI. */
#define ST_RAW(bytes) (0x100u + (bytes))

uint32_t st_type_size(uint32_t type);
const char *st_type_name(uint32_t type);

/* One element: to bits with one rounding to nearest, ties to even, and back. */
void st_encode(uint32_t type, double value, void *bits);
double st_decode(uint32_t type, const void *bits);
double st_round(uint32_t type, double value);

/* The bits of a guard element: a signalling NaN, so that any arithmetic on it changes it. */
void st_canary(uint32_t type, uint64_t index, void *bits);

/* splitmix64, and a value in [-1, 1] with 24 bits. */
uint64_t st_random(uint64_t *state);
double st_uniform(uint64_t *state);
uint64_t st_hash(const char *text);

/* The values where arithmetic goes wrong: zeroes, infinities, NaN, the ends of the subnormals and
 * of the normals, thresholds of exp. False when i is beyond the last. */
bool st_special(uint32_t type, uint64_t i, double *value);

/* ---- Wide arithmetic (reference.c) --------------------------------------------------------- */

/* An unevaluated sum of two doubles, of about 104 bits. */
struct st_dd {
    double hi, lo;
};

struct st_dd st_dd_add(struct st_dd a, struct st_dd b);
struct st_dd st_dd_mul(struct st_dd a, struct st_dd b);
struct st_dd st_dd_div(struct st_dd a, struct st_dd b);
struct st_dd st_dd_scale(struct st_dd a, double power_of_two);
struct st_dd st_dd_log(double x);

/* exp(x) as exact as the judge of a type needs it: in double, in double-double for CB_F64. */
struct st_dd st_exp(uint32_t type, struct st_dd x);

/* A sum of products, and of their magnitudes. In double, for CB_F64 in double-double. */
struct st_sum {
    struct st_dd value;
    double plain; /* decides once it is not finite */
    double magnitude;
    uint64_t terms;
    bool wide;
};
struct st_sum st_sum_of(uint32_t type);
void st_sum_add(struct st_sum *sum, double a, double b);
struct st_dd st_sum_value(const struct st_sum *sum);

/* IEEE 754-2019 maximum, or minimum. */
double st_extreme(bool maximum, double a, double b);

/* softmax of n scores as the contract judges it. Both arrays hold n elements. */
struct st_softmax {
    struct st_dd *p;   /* in: scores; out: weights */
    double *deviation; /* in: the error bound of each score, absolute; out: that of each weight,
                        * relative, without the term of the denominator */
    double mean;       /* out: the denominator's share, relative */
    bool nan;          /* out: the row is all NaN */
};
void st_softmax_row(uint32_t type, struct st_softmax *row, uint64_t n);

/* ---- Bounds (bounds.c) --------------------------------------------------------------------- */

double st_unit(uint32_t type);           /* u of the type's arithmetic */
double st_smallest(uint32_t type);       /* its smallest subnormal */
double st_ulp(uint32_t type, double at); /* the spacing of stored values */

/* A bound made whole: terms + 4 subnormals, and half an ulp where 16 bits are stored. */
double st_bound(uint32_t type, double bound, double terms, double at);

/* The bound of a sum of n terms, relative to the sum of their magnitudes. */
double st_sum_bound(uint32_t type, uint64_t n);

enum {
    ST_KEEP = 0, /* the bits that were there */
    ST_BITS,     /* the bits of `expected` */
    ST_EXACT,    /* the value, sign of zero included; any NaN for a NaN */
    ST_NEAR,     /* within a bound */
};

struct st_want {
    struct st_dd value;
    double bound;
    uint32_t kind;
    const char *rule; /* of the contract, in words */
};

bool st_right(uint32_t type, const struct st_want *want, double got, double *error);

/* ---- A run, its cases and buffers (runner.c, buffers.c) ------------------------------------ */

/* One device allocation with its image on the host: `lead` guard elements, `count` elements, and
 * `tail` guard elements. Elements that are not set are guards too. */
struct st_buffer {
    const char *name;
    uint32_t type, element;
    uint64_t count, lead, tail;
    uint64_t bytes;
    uint64_t base;           /* device address of the allocation, 0 when there is none */
    unsigned char *before;   /* what is uploaded */
    unsigned char *after;    /* what came back */
    unsigned char *expected; /* outputs: bits, where the kind is ST_BITS */
    double *x;               /* the values of the elements; NULL for raw elements */
    struct st_want *want;    /* outputs: what must be there afterwards; NULL: all kept */
};

/* A pointer field of the op's args, and what it points to. */
struct st_operand {
    const char *names; /* that a message may use, separated by '|' */
    struct st_buffer *buffer;
    uint64_t field; /* offset in args */
    uint64_t at;    /* first element */
    uint64_t span; /* elements from there on that the op touches; 0: the pointer is not looked at */
};

#define ST_ANY_SHIFT UINT32_MAX
#define ST_BUFFERS   4
#define ST_SPEC_MAX  256

/* An instance with another number of threads, opened when the first case asks for it. */
struct st_peer {
    cb_backend be; /* api NULL: not yet */
};
#define ST_PEERS 3

#define ST_ASPECTS 7 /* of the host's process (process.c) */

/* Hashes of specs: a case that two grids of a group share runs once. (seen.c) */
struct st_seen {
    uint64_t *hashes; /* 0: a free place */
    uint64_t n, room;
};
bool st_seen_add(struct st_seen *seen, uint64_t hash); /* false: it is in there */
void st_seen_free(struct st_seen *seen);

struct st_run {
    cb_backend be;
    cb_selftest_options options;
    cb_selftest_summary summary;

    char spec[ST_SPEC_MAX]; /* the case that runs */
    uint64_t random;
    struct st_buffer buffers[ST_BUFFERS];
    uint32_t n_buffers;
    struct st_operand operands[ST_BUFFERS];
    uint32_t n_operands;
    uint32_t shift;   /* elements that the operands lie off 64 bytes, or ST_ANY_SHIFT */
    const char *rule; /* what the values that are wanted from now on follow */
    uint32_t outcome;
    char text[512];
    cb_selftest_result result;

    char group[CB_SELFTEST_NAME_MAX]; /* the group that runs */
    uint64_t
        control; /* floating-point control bits that a call of an op finds; 0: the usual ones */
    struct st_peer peers[ST_PEERS];
    struct st_seen seen;
    uint64_t aspects[ST_ASPECTS]; /* how they looked when the run began */
    locale_t locale; /* C, for specs and texts, whatever the host has; 0, which changes none: no
                        memory */
};

/* The outcome of a case that does not exist, such as a fault of an operand that the op lacks. */
#define ST_VOID 100

/* Begins a case, unless the filter leaves it out (false). */
bool st_begin(struct st_run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Ends it: frees its buffers, counts and reports it. */
void st_end(struct st_run *run);

/* The first failure of a case stays. */
void st_fail(struct st_run *run, const char *rule, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void st_skip(struct st_run *run, const char *reason);
void st_unjudged(struct st_run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool st_full(const struct st_run *run);

/* Fails the case when a call of the backend does not answer what it must. */
bool st_status(struct st_run *run, const char *call, cb_status got, cb_status want,
               const cb_error *err);

/* The same for the call of an optional slot: CB_UNSUPPORTED skips the case. */
bool st_offered(struct st_run *run, const char *call, cb_status got, const cb_error *err);

/* Zeroed host memory for n elements, to be freed with free. NULL, and the case has failed, when
 * memory is short. */
void *st_host(struct st_run *run, uint64_t n, uint64_t element);

/* Device memory. False: the case has failed, or is skipped since the backend has no memory. */
bool st_alloc(struct st_run *run, uint64_t bytes, uint64_t *out);
bool st_free(struct st_run *run, uint64_t ptr);

/* A buffer of the case. NULL, and the case has failed, when memory is short. */
struct st_buffer *st_buffer(struct st_run *run, const char *name, uint32_t type, uint64_t count,
                            bool output);
void st_set(struct st_buffer *buffer, uint64_t i, double value);
void st_fill(struct st_run *run, struct st_buffer *buffer, double scale);  /* all of it */
void st_fill_bytes(struct st_run *run, struct st_buffer *buffer);          /* raw elements */
const unsigned char *st_bytes(const struct st_buffer *buffer, uint64_t i); /* of an element */
void st_want_near(struct st_run *run, struct st_buffer *buffer, uint64_t i, struct st_dd value,
                  double bound);
void st_want_exact(struct st_run *run, struct st_buffer *buffer, uint64_t i, double value);
void st_want_bits(struct st_run *run, struct st_buffer *buffer, uint64_t i, const void *bits);

bool st_buffers_up(struct st_run *run);    /* allocates and uploads all */
bool st_buffers_down(struct st_run *run);  /* downloads all */
void st_buffers_drop(struct st_run *run);  /* frees the device side of all */
void st_buffers_free(struct st_run *run);  /* and the host side */
void st_buffers_judge(struct st_run *run); /* against what is wanted */
bool st_buffers_kept(struct st_run *run);  /* whether all is as it was uploaded */
void st_buffer_shift(struct st_buffer *buffer, uint64_t lead); /* another place in its allocation */
uint64_t st_address(const struct st_buffer *buffer, uint64_t element);

/* ---- Calls and their variants (call.c, variants.c) ------------------------------------------ */

enum {
    ST_PLAIN = 0,
    ST_FIELD,       /* a field of args is overwritten */
    ST_POINTER,     /* an operand's pointer is spoiled, value says how */
    ST_INDEX,       /* an index is out of range: the op's sample does that itself */
    ST_ARGS_NULL,   /* args is NULL */
    ST_ARGS_LONGER, /* args of a later minor, value in the last byte */
    ST_AGAIN,       /* the call is repeated: same bits */
    ST_SHIFTED,     /* and with the operands elsewhere: same bits */
    ST_ON_STREAM,   /* on a stream of its own */
    ST_CONCURRENT,  /* by several threads of the host at once: same bits */
    ST_CONTROL,     /* by a thread that flushes and rounds downwards: same bits */
    ST_THREADS,     /* on instances with other numbers of threads: same bits */
    ST_DEFAULT,     /* 0 for the type that is the op's default */
};

enum {
    ST_POINTER_NULL,
    ST_POINTER_MISALIGNED,
    ST_POINTER_FREED,
    ST_POINTER_SHORT,  /* the last element lies outside the allocation */
    ST_POINTER_BEFORE, /* the first one does */
};

/* What is done to a valid case. Labels end the spec. */
struct st_variant {
    const char *label;
    uint32_t how;
    uint32_t field; /* of ST_FIELD: offset; of ST_POINTER: the operand */
    uint32_t width; /* of ST_FIELD: bytes */
    uint64_t value;
    cb_status status;   /* what the call must answer */
    const char *names;  /* what the message must name, alternatives separated by '|'; nullable */
    const void *target; /* of ST_FIELD: what the field is to point to, instead of value */
    bool related;       /* of ST_FIELD: the message may give another argument's value instead */
};
#define ST_REFUSED(text, type, member, what, answer, named)                                        \
    {                                                                                              \
        .label = text, .how = ST_FIELD, .field = offsetof(type, member),                           \
        .width = sizeof(((type *)0)->member), .value = what, .status = answer, .names = named      \
    }
/* A value that the contract forbids, and one that it leaves to a later minor. */
#define ST_BAD(text, type, member, what, named)                                                    \
    ST_REFUSED(text, type, member, what, CB_INVALID_ARGUMENT, named)
#define ST_UNKNOWN(text, type, member, what, named)                                                \
    ST_REFUSED(text, type, member, what, CB_UNSUPPORTED, named)
/* A value that is wrong because of another one, which the message may give instead. */
#define ST_BAD_RELATED(text, type, member, what, named)                                            \
    {                                                                                              \
        .label = text, .how = ST_FIELD, .field = offsetof(type, member),                           \
        .width = sizeof(((type *)0)->member), .value = what, .status = CB_INVALID_ARGUMENT,        \
        .names = named, .related = true                                                            \
    }
/* A pointer field that is to point to something bad. */
#define ST_BAD_POINTER(text, type, member, to, named)                                              \
    {                                                                                              \
        .label = text, .how = ST_FIELD, .field = offsetof(type, member), .width = sizeof(void *),  \
        .status = CB_INVALID_ARGUMENT, .names = named, .target = to                                \
    }

/* Names a pointer field of args, for st_call. */
void st_operand(struct st_run *run, const char *names, uint64_t field, struct st_buffer *buffer,
                uint64_t at, uint64_t span);

/* The case itself: buffers are uploaded, supports is asked, the op called with the variant done to
 * it (NULL: none), and all buffers are compared. args is of the op's 1.0 size. */
void st_call(struct st_run *run, uint32_t op, const void *args, const struct st_variant *variant);

/* One call that must answer `want`; on an error the message must name the op, one of names and one
 * of values (both separated by '|', both nullable). */
bool st_attempt(struct st_run *run, uint32_t op, const void *args, cb_status want,
                const char *names, const char *values);
/* Puts the addresses of the operands into args. */
void st_point(struct st_run *run, void *args);

/* After a call that was right: once more, in the variant's way, must give the same bits.
 * (determinism.c, concurrent.c) */
void st_rerun(struct st_run *run, uint32_t op, const void *args, uint32_t how);
void st_concurrent(struct st_run *run, uint32_t op, const void *args, unsigned char *const *first);
/* Whether all buffers have come back with these bits. */
bool st_same_bits(struct st_run *run, unsigned char *const *first);
/* After a call that was right: computes it on the other backend, too, and notes how far it is off.
 */
void st_compare(struct st_run *run, uint32_t op, const void *args);
/* How many bytes an image of args takes that any variant fits into. */
#define ST_ARGS_ROOM (CB_ARGS_SIZE_MAX + 8)

/* The op's slot. A change of the floating-point control fails the case and is undone. Any thread
 * may call st_slot. */
uint64_t st_args_size(uint32_t op); /* of 1.0 */
cb_status st_slot(cb_backend be, uint32_t op, const void *args, cb_error *err);
cb_status st_slot_watched(struct st_run *run, uint32_t op, const void *args, cb_error *err);

/* The variants that every op must pass; NULL beyond the last. */
const struct st_variant *st_common_variant(uint64_t i);

/* Whether the variant deserves a larger sample; and which of three sizes it is to have. The largest
 * is one that a backend with threads is likely to divide. */
bool st_is_rerun(const struct st_variant *variant);
uint64_t st_size(const struct st_run *run, const struct st_variant *variant, uint64_t plain,
                 uint64_t again, uint64_t large);

/* The suffix of a spec: "" or ",LABEL". */
#define ST_VARIANT(variant) (variant) ? "," : "", (variant) ? (variant)->label : ""

/* ---- Further instances (instance.c) --------------------------------------------------------- */

/* Opens one, with options more. False: the case is skipped, since the backend does not know the
 * first of them, or unjudged. */
bool st_open(struct st_run *run, const char *const *options, uint64_t n, cb_backend *out);
void st_close(struct st_run *run, cb_backend be);

/* One that is not initialized, to be destroyed through its table. False: the case is unjudged. And
 * the bare call, with an option more. */
bool st_create(struct st_run *run, cb_backend *out);
cb_status st_try_create(struct st_run *run, const char *option, void **out, cb_error *err);

/* The instance with another number of threads, to be left open. False beyond the last, or when the
 * case has ended as with st_open. */
bool st_peer(struct st_run *run, uint64_t i, cb_backend *out);
void st_peers_close(struct st_run *run);

/* Runs work on each of ST_AT_ONCE items of a size, in threads that begin together. False: the case
 * has failed, since there are no threads to be had. (concurrent.c) */
#define ST_AT_ONCE 4
bool st_at_once(struct st_run *run, void (*work)(void *item), void *items, uint64_t size);

/* ---- The thread's floating-point control (control.c) ----------------------------------------- */

uint64_t st_control(void);
void st_control_set(uint64_t control);
uint64_t st_control_odd(void); /* rounds downwards and, where there is such a thing, flushes */

/* ---- The host's process (process.c) ---------------------------------------------------------- */

/* Entries of /proc/self/NAME, less the one that counting needs; 0 when it cannot be read. */
uint64_t st_process_count(const char *name);

/* What a call might change in the process. enter saves all of it and sets it to something unusual,
 * leave puts it back; look is a hash of one aspect. */
struct st_process {
    char locale[128];
    sigset_t blocked;
    mode_t umask;
    int directory;
    cpu_set_t affinity;
    bool has_affinity;
};
bool st_process_enter(struct st_process *saved);
void st_process_leave(const struct st_process *saved);

struct st_aspect {
    const char *name;
    uint64_t (*look)(void);
    bool odd; /* enter sets it; else a change shows only once, so it is compared with the beginning
               */
};
extern const struct st_aspect st_aspects[ST_ASPECTS];

/* ---- Groups -------------------------------------------------------------------------------- */

struct st_group {
    const char *name;
    const uint32_t *types; /* ended by 0; NULL when the group has no types */
    /* All its cases of one type (0 when it has none). */
    void (*grid)(struct st_run *run, uint32_t type);
    /* One valid case, to be varied. NULL when the group calls no op. */
    void (*sample)(struct st_run *run, uint32_t type, const struct st_variant *variant);
    /* Argument faults of the op's own, for the sample; ended by a NULL label; nullable. */
    const struct st_variant *faults;
};

/* The grid of a group whose cases are functions. */
struct st_case {
    const char *name;
    void (*check)(struct st_run *run);
};
void st_cases(struct st_run *run, const char *subject, const struct st_case *cases, uint64_t n);

extern const struct st_group st_gemm, st_gemm_mixed_precision, st_batched_gemm, st_conv2d_forward,
    st_conv2d_backward_data, st_conv2d_backward_filter, st_conv2d_adjoint, st_attention, st_softmax,
    st_reduce, st_unary, st_binary, st_gather, st_scatter, st_memory, st_streams, st_late,
    st_profile, st_supports, st_lifecycle, st_devices, st_info, st_map, st_state;

#endif
