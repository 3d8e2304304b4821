/* SPDX-License-Identifier: Apache-2.0 */
/* A fault is a row of the table in faults.c: a name, what it concerns, a sentence, and how it
 * breaks that. Most break the work of one op, through one of these hooks; others are quirks that
 * the file concerned asks about. */
#ifndef CHAOS_FAULTS_H
#define CHAOS_FAULTS_H

#include "chaos.h"

/* Copies of the operands of one piece of work, each as far as the op touches it. */
struct chaos_images {
    unsigned char *in[CHAOS_OPERANDS_MAX]; /* as they were before; NULL where nothing is touched */
    unsigned char *out;                    /* what the written one shall be */
    unsigned written;                      /* which one that is */
};

typedef void chaos_edit_fn(struct chaos_work *work);
typedef bool chaos_compute_fn(const struct chaos_work *work, struct chaos_images *x);
typedef cb_status chaos_answer_fn(const char *where, cb_status status, cb_error *err);
typedef void chaos_support_fn(cb_support *answer);
typedef void chaos_leave_fn(void);

enum chaos_quirk {
    CHAOS_SOUND = 0,
    CHAOS_ALLOC_DIRTY,
    CHAOS_ALLOC_ROUNDED,
    CHAOS_ALLOC_STATUS,
    CHAOS_ADDRESS_REUSED,
    CHAOS_FREE_INTERIOR,
    CHAOS_FREE_TWICE,
    CHAOS_LIVE_ROUNDED,
    CHAOS_EVENT_EARLY,
    CHAOS_WAIT_IGNORED,
    CHAOS_COPY_JUMPS,
    CHAOS_LAST_FIRST,
    CHAOS_STREAMS_SWAPPED,
    CHAOS_SYNC_DROPS,
    CHAOS_SYNC_ALL_DROPS,
    CHAOS_DESTROY_DROPS,
    CHAOS_END_DROPS,
    CHAOS_WAIT_ENDS_AT_RECORD,
    CHAOS_DEFAULT_WAITS_NOT,
    CHAOS_EVENT_WAITS_NOT,
    CHAOS_FREE_AT_ONCE,
    CHAOS_COPY_WAITS,
    CHAOS_CHECKS_LATE,
    CHAOS_LATE_LOST,
    CHAOS_LATE_TWICE,
    CHAOS_LATE_NOT_IN_EVENT,
    CHAOS_LATE_CARRIES_ON,
    CHAOS_LATE_IN_ANY_EVENT,
    CHAOS_LATE_SPREADS,
    CHAOS_LATE_ENDS_AT_WAIT,
    CHAOS_TIME_SWAPPED,
    CHAOS_TIME_COARSE,
    CHAOS_TIME_UNFINISHED,
    CHAOS_TIME_OF_NOTHING,
    CHAOS_DESCRIPTOR_KEPT,
    CHAOS_THREAD_KEPT,
};

struct chaos_fault {
    const char *name;
    const char *subject; /* an op, or memory, streams, late, profile or state */
    const char *text;

    /* Work that they apply to: that of the subject when it is an op, else these codes. */
    uint32_t codes;
    chaos_edit_fn *edit;       /* changes args before they are checked */
    chaos_edit_fn *change;     /* changes args after that */
    chaos_compute_fn *compute; /* makes the output; false: no memory */
    bool patches;              /* the wrapped backend has made the output before compute sees it */
    bool inputs_too;           /* what compute did to the inputs counts as well */
    chaos_edit_fn *refused;    /* does harm when the check has failed */
    chaos_answer_fn *answer;   /* of each call, in place of its status and error */
    chaos_support_fn *support; /* in place of what supports has answered */
    chaos_leave_fn *leave;     /* what a call leaves behind in the host */

    uint32_t quirk;
    uint32_t delay; /* microseconds before queued work, so that what comes too early shows */
};

/* faults.c */
extern const struct chaos_fault chaos_faults[];
extern const uint64_t chaos_faults_count;
const struct chaos_fault *chaos_fault_find(const char *name);
/* Up to three names that are like this one, separated by commas. */
void chaos_fault_nearest(const char *name, char *text, uint64_t size);
/* The fault, when it applies to the code; else NULL. */
const struct chaos_fault *chaos_fault_of(const struct chaos *chaos, uint32_t code);

static inline bool chaos_has(const struct chaos *chaos, uint32_t quirk)
{
    return chaos->fault && chaos->fault->quirk == quirk;
}

/* by_hand.c - elements of images. */
double chaos_load(uint32_t dtype, const unsigned char *image, uint64_t i);
void chaos_store(uint32_t dtype, unsigned char *image, uint64_t i, double value);
/* Of image i: its elements. */
uint64_t chaos_elements(const struct chaos_work *work, unsigned i);

/* faults_gemm.c */
extern chaos_edit_fn chaos_k_short, chaos_beta_read, chaos_alpha_read, chaos_stride_halved,
    chaos_batches_unchecked, chaos_alpha_late;
extern chaos_compute_fn chaos_padding_written, chaos_trans_b_ignored, chaos_conj_ignored,
    chaos_f16_sum, chaos_truncated, chaos_half_up, chaos_inputs_not_rounded;

/* faults_conv2d.c */
extern chaos_compute_fn chaos_stride_swapped, chaos_padding_swapped, chaos_dilation_ignored,
    chaos_group_ignored, chaos_flipped, chaos_zero_terms_skipped, chaos_empty_unwritten;

/* faults_attention.c */
extern chaos_compute_fn chaos_causal_late, chaos_causal_upper_left, chaos_no_key_kept,
    chaos_scores_not_shifted, chaos_masked_read, chaos_heads_mixed, chaos_scale_divides;

/* faults_tensor.c - softmax, reduce, unary, binary */
extern chaos_edit_fn chaos_mean_undivided;
extern chaos_compute_fn chaos_max_not_subtracted, chaos_nan_row_hidden, chaos_sum_stalls,
    chaos_sum_by_run, chaos_sum_by_address, chaos_sum_by_threads, chaos_reduce_drops_nan,
    chaos_reduce_mixes_zeroes, chaos_min_from_zero, chaos_exp_flushed, chaos_sigmoid_underflows,
    chaos_subnormals_flushed, chaos_relu_keeps_zero, chaos_neg_subtracts, chaos_tanh_by_exp,
    chaos_binary_drops_nan, chaos_binary_mixes_zeroes, chaos_div_by_reciprocal;

/* faults_bytes.c - gather, scatter, copies, memset, and what any op can get wrong */
extern chaos_edit_fn chaos_index_wrapped, chaos_rows_shifted, chaos_rows_written_early,
    chaos_indices_late, chaos_copy_short, chaos_value_cut;
extern chaos_compute_fn chaos_first_wins, chaos_copy_forward, chaos_last_skipped,
    chaos_input_modified;

/* faults_host.c - statuses, messages, supports, and the state of the host */
extern chaos_answer_fn chaos_status_wrong, chaos_error_ignored, chaos_message_empty,
    chaos_message_vague, chaos_err_touched;
extern chaos_support_fn chaos_denied, chaos_promised, chaos_reasonless;
extern chaos_leave_fn chaos_rounding_left, chaos_flush_left, chaos_locale_left, chaos_signals_left,
    chaos_umask_left;
/* What an instance keeps when it is destroyed. */
void chaos_keep(const struct chaos *chaos);

#endif
