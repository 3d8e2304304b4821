/* SPDX-License-Identifier: Apache-2.0 */
/* The table of faults. A new one is a row here and a function in the file of its subject. */
#include "faults.h"

#include <string.h>

#define EARLY_BY 2000u /* microseconds */

#define BIT(code)  (1u << (code))
#define ALL_COPIES (BIT(CHAOS_COPY_HTOD) | BIT(CHAOS_COPY_DTOH) | BIT(CHAOS_COPY_DTOD))
#define ALL_OPS    (BIT(CB_OP_COUNT) - 1)
#define PATCH(f)   .compute = f, .patches = true
#define SKIPS_LAST(op)                                                                             \
    {                                                                                              \
#op "_skips_last", #op, "the last element that is to be written keeps what it was",        \
            PATCH(chaos_last_skipped)                                                              \
    }
#define QUIRK(name, subject, text, q)                                                              \
    {                                                                                              \
        name, subject, text, .quirk = q                                                            \
    }
#define STREAM_QUIRK(name, subject, text, q)                                                       \
    {                                                                                              \
        name, subject, text, .quirk = q, .delay = EARLY_BY                                         \
    }

const struct chaos_fault chaos_faults[] = {
    /* every op */
    SKIPS_LAST(gemm),
    SKIPS_LAST(gemm_mixed_precision),
    SKIPS_LAST(batched_gemm),
    SKIPS_LAST(conv2d_forward),
    SKIPS_LAST(conv2d_backward_data),
    SKIPS_LAST(conv2d_backward_filter),
    SKIPS_LAST(attention),
    SKIPS_LAST(softmax),
    SKIPS_LAST(reduce),
    SKIPS_LAST(unary),
    SKIPS_LAST(binary),
    SKIPS_LAST(gather),
    SKIPS_LAST(scatter),

    /* gemm and its kin */
    { "gemm_k_short", "gemm", "the last term is left out when k % 4 is 3",
      .change = chaos_k_short },
    { "gemm_writes_padding", "gemm", "the row below the first column of C is overwritten with 0",
      PATCH(chaos_padding_written) },
    { "gemm_reads_c", "gemm", "C is read although beta is 0, so that a NaN in it stays",
      .edit = chaos_beta_read },
    { "gemm_reads_a_b", "gemm", "A and B are read although alpha is 0", .edit = chaos_alpha_read },
    { "gemm_trans_b_ignored", "gemm", "a transposed B is taken as it lies in memory",
      .compute = chaos_trans_b_ignored },
    { "gemm_conj_trans_ignored", "gemm", "conjugate transpose is taken for no transpose",
      .compute = chaos_conj_ignored },
    { "gemm_sums_in_f16", "gemm", "sums are rounded to f16 after each term",
      .compute = chaos_f16_sum },
    { "gemm_alpha_read_late", "gemm",
      "on a stream, alpha is read from the caller's struct when the work runs",
      .change = chaos_alpha_late, .delay = EARLY_BY },
    { "mixed_truncates", "gemm_mixed_precision", "inputs are cut to bf16, not rounded",
      .compute = chaos_truncated },
    { "mixed_rounds_half_up", "gemm_mixed_precision", "ties are rounded away from zero in bf16",
      .compute = chaos_half_up },
    { "mixed_does_not_round", "gemm_mixed_precision", "inputs are multiplied as they are, in f32",
      .compute = chaos_inputs_not_rounded },
    { "batched_stride_halved", "batched_gemm", "the matrices of A are taken half a stride apart",
      .change = chaos_stride_halved },
    { "batched_checks_as_it_goes", "batched_gemm",
      "the first C is written although a later one is out of bounds",
      .refused = chaos_batches_unchecked },

    /* conv2d */
    { "conv_stride_swapped", "conv2d_forward", "the strides of rows and columns are swapped",
      .compute = chaos_stride_swapped },
    { "conv_padding_swapped", "conv2d_forward", "the paddings at the top and the left are swapped",
      .compute = chaos_padding_swapped },
    { "conv_dilation_ignored", "conv2d_forward", "dilation is taken for 1",
      .compute = chaos_dilation_ignored },
    { "conv_group_ignored", "conv2d_forward", "every group reads the channels of the first",
      .compute = chaos_group_ignored },
    { "conv_filter_flipped", "conv2d_forward", "the filter is turned by half a circle",
      .compute = chaos_flipped },
    { "conv_empty_sum_unwritten", "conv2d_forward", "an output without a term is not written",
      .compute = chaos_empty_unwritten },
    { "conv_data_stride_swapped", "conv2d_backward_data",
      "the strides of rows and columns are swapped", .compute = chaos_stride_swapped },
    { "conv_data_skips_zeroes", "conv2d_backward_data",
      "terms with a factor of 0 are skipped, so that 0 * infinity is lost",
      .compute = chaos_zero_terms_skipped },
    { "conv_data_gap_unwritten", "conv2d_backward_data",
      "an input that no output saw is not written", .compute = chaos_empty_unwritten },
    { "conv_filter_padding_swapped", "conv2d_backward_filter",
      "the paddings at the top and the left are swapped", .compute = chaos_padding_swapped },
    { "conv_filter_group_ignored", "conv2d_backward_filter",
      "every group reads the channels of the first", .compute = chaos_group_ignored },
    { "conv_filter_not_written", "conv2d_backward_filter",
      "a filter gradient without a term is not written", .compute = chaos_empty_unwritten },
    { "conv_not_adjoint", "conv2d_adjoint", "backward_filter turns the filter by half a circle",
      .codes = BIT(CB_OP_CONV2D_BACKWARD_FILTER), .compute = chaos_flipped },

    /* attention */
    { "attention_causal_late", "attention", "a causal query sees one key too many",
      .compute = chaos_causal_late },
    { "attention_causal_upper_left", "attention",
      "the causal mask is aligned to the upper left corner", .compute = chaos_causal_upper_left },
    { "attention_no_key_kept", "attention", "a query that sees no key leaves its output as it was",
      .compute = chaos_no_key_kept },
    { "attention_max_not_subtracted", "attention",
      "scores go to exp without their maximum taken off", .compute = chaos_scores_not_shifted },
    { "attention_reads_masked", "attention", "V of masked keys is multiplied by a weight of 0",
      .compute = chaos_masked_read },
    { "attention_heads_mixed", "attention", "query head h reads key head h % kv_heads",
      .compute = chaos_heads_mixed },
    { "attention_scale_divides", "attention", "scores are divided by scale",
      .compute = chaos_scale_divides },

    /* softmax, reduce */
    { "softmax_max_not_subtracted", "softmax", "values go to exp without their maximum taken off",
      .compute = chaos_max_not_subtracted },
    { "softmax_hides_nan", "softmax", "a row that must be NaN is 0", PATCH(chaos_nan_row_hidden) },
    { "softmax_modifies_input", "softmax", "one bit of the input changes",
      PATCH(chaos_input_modified), .inputs_too = true },
    { "reduce_mean_undivided", "reduce", "mean is the sum", .change = chaos_mean_undivided },
    { "reduce_sum_stalls", "reduce", "a sum is one running sum in the precision of its type",
      .compute = chaos_sum_stalls },
    { "reduce_drops_nan", "reduce", "max and min pass over NaN", PATCH(chaos_reduce_drops_nan) },
    { "reduce_mixes_zeroes", "reduce", "of zeroes of both signs, max and min give the first",
      PATCH(chaos_reduce_mixes_zeroes) },
    { "reduce_min_from_zero", "reduce", "min begins with 0 in place of infinity",
      PATCH(chaos_min_from_zero) },
    { "reduce_varies_by_run", "reduce", "the order of a sum changes from call to call",
      PATCH(chaos_sum_by_run) },
    { "reduce_varies_by_address", "reduce", "the order of a sum depends on the input's address",
      PATCH(chaos_sum_by_address) },
    { "reduce_varies_by_threads", "reduce", "the order of a sum depends on the option threads",
      .codes = BIT(CB_OP_REDUCE), PATCH(chaos_sum_by_threads) },

    /* unary, binary */
    { "unary_exp_flushes", "unary", "exp is 0 below -87", PATCH(chaos_exp_flushed) },
    { "unary_sigmoid_underflows", "unary", "sigmoid is 0 below -88.72",
      PATCH(chaos_sigmoid_underflows) },
    { "unary_flushes_subnormals", "unary", "results below the smallest normal f32 are 0",
      PATCH(chaos_subnormals_flushed) },
    { "unary_relu_keeps_zero", "unary", "relu of -0 is -0", PATCH(chaos_relu_keeps_zero) },
    { "unary_neg_subtracts", "unary", "neg is 0 - x, which loses the sign of zero",
      PATCH(chaos_neg_subtracts) },
    { "unary_tanh_cancels", "unary", "tanh comes from exp, which cancels near 0",
      PATCH(chaos_tanh_by_exp) },
    { "binary_drops_nan", "binary", "max and min of NaN and a number are the number",
      PATCH(chaos_binary_drops_nan) },
    { "binary_mixes_zeroes", "binary", "of zeroes of both signs, max and min give the first",
      PATCH(chaos_binary_mixes_zeroes) },
    { "binary_div_by_reciprocal", "binary", "a / b is a * (1 / b), which rounds twice",
      PATCH(chaos_div_by_reciprocal) },
    { "binary_modifies_input", "binary", "one bit of a changes", PATCH(chaos_input_modified),
      .inputs_too = true },

    /* gather, scatter */
    { "gather_shifted", "gather", "a row is taken from one row further down",
      .change = chaos_rows_shifted },
    { "gather_wraps_index", "gather", "an index beyond the table wraps around",
      .edit = chaos_index_wrapped },
    { "gather_checks_as_it_goes", "gather",
      "the rows before a bad index are written although the call fails",
      .refused = chaos_rows_written_early },
    { "scatter_first_wins", "scatter", "of duplicate indices the first wins",
      .compute = chaos_first_wins },
    { "scatter_checks_as_it_goes", "scatter",
      "the rows before a bad index are written although the call fails",
      .refused = chaos_rows_written_early },

    /* statuses, messages, supports */
    { "gemm_status_wrong", "gemm", "a bad argument is DEVICE_ERROR", .answer = chaos_status_wrong },
    { "reduce_error_ignored", "reduce", "a bad argument is OK, and nothing is done",
      .answer = chaos_error_ignored },
    { "attention_message_empty", "attention", "an error has no message",
      .answer = chaos_message_empty },
    { "softmax_message_vague", "softmax", "a message names no argument",
      .answer = chaos_message_vague },
    { "unary_err_touched", "unary", "a call that goes well writes to err",
      .answer = chaos_err_touched },
    { "binary_support_denied", "binary", "supports says no to what works",
      .support = chaos_denied },
    { "scatter_support_promised", "scatter", "supports says yes to what fails",
      .support = chaos_promised },
    { "batched_support_reasonless", "batched_gemm", "supports gives no reason",
      .support = chaos_reasonless },

    /* memory */
    QUIRK("alloc_dirty", "memory", "new memory is not zero", CHAOS_ALLOC_DIRTY),
    QUIRK("alloc_rounded", "memory", "buffers end at the next multiple of 64 bytes",
          CHAOS_ALLOC_ROUNDED),
    QUIRK("alloc_status_wrong", "memory", "too much memory is DEVICE_ERROR", CHAOS_ALLOC_STATUS),
    QUIRK("alloc_address_reused", "memory", "a freed address is handed out again",
          CHAOS_ADDRESS_REUSED),
    QUIRK("free_interior", "memory", "free takes any address inside a buffer", CHAOS_FREE_INTERIOR),
    QUIRK("free_twice", "memory", "free of what is no buffer is OK", CHAOS_FREE_TWICE),
    QUIRK("memory_info_rounded", "memory", "live bytes are a multiple of 64", CHAOS_LIVE_ROUNDED),
    { "copy_short", "memory", "copies leave their last byte out", .codes = ALL_COPIES,
      .change = chaos_copy_short },
    { "copy_forward", "memory", "copy_dtod goes forwards where its ranges overlap",
      .codes = BIT(CHAOS_COPY_DTOD), .compute = chaos_copy_forward },
    { "memset_value_cut", "memory", "memset takes a value beyond 255", .codes = BIT(CHAOS_MEMSET),
      .edit = chaos_value_cut },

    /* streams, events, late errors */
    STREAM_QUIRK("event_early", "streams", "event_query says done before the work is",
                 CHAOS_EVENT_EARLY),
    STREAM_QUIRK("wait_ignored", "streams", "stream_wait_event waits for nothing",
                 CHAOS_WAIT_IGNORED),
    STREAM_QUIRK("copy_jumps", "streams", "a blocking copy does not wait for its stream",
                 CHAOS_COPY_JUMPS),
    STREAM_QUIRK("last_first", "streams", "of what is queued on a stream, the latest runs first",
                 CHAOS_LAST_FIRST),
    STREAM_QUIRK("streams_swapped", "streams", "work goes to another stream than it was given",
                 CHAOS_STREAMS_SWAPPED),
    STREAM_QUIRK("stream_synchronize_drops", "streams",
                 "stream_synchronize drops what has not begun", CHAOS_SYNC_DROPS),
    STREAM_QUIRK("synchronize_drops", "streams",
                 "synchronize drops what has not begun on the latest stream", CHAOS_SYNC_ALL_DROPS),
    STREAM_QUIRK("stream_destroy_drops", "streams", "stream_destroy drops what has not begun",
                 CHAOS_DESTROY_DROPS),
    STREAM_QUIRK("destroy_drops", "streams", "destroy drops what has not begun", CHAOS_END_DROPS),
    STREAM_QUIRK("wait_ends_at_record", "streams",
                 "a stream no longer waits for an event that is recorded again",
                 CHAOS_WAIT_ENDS_AT_RECORD),
    STREAM_QUIRK("default_waits_not", "streams", "the default stream waits for no event",
                 CHAOS_DEFAULT_WAITS_NOT),
    STREAM_QUIRK("event_synchronize_waits_not", "streams", "event_synchronize waits for nothing",
                 CHAOS_EVENT_WAITS_NOT),
    STREAM_QUIRK("free_at_once", "streams", "a buffer is gone although queued work uses it",
                 CHAOS_FREE_AT_ONCE),
    STREAM_QUIRK("copy_waits", "streams",
                 "a copy waits for what was queued before it on any stream", CHAOS_COPY_WAITS),
    STREAM_QUIRK("stream_checks_late", "streams",
                 "on a stream, a bad argument is a late error of the stream", CHAOS_CHECKS_LATE),
    { "indices_read_late", "streams",
      "on a stream, gather reads the caller's indices when the work runs",
      .codes = BIT(CB_OP_GATHER), .change = chaos_indices_late, .delay = EARLY_BY },
    STREAM_QUIRK("late_error_lost", "late", "a late error is never reported", CHAOS_LATE_LOST),
    STREAM_QUIRK("late_error_twice", "late", "a late error is reported by two calls",
                 CHAOS_LATE_TWICE),
    STREAM_QUIRK("late_error_not_in_event", "late",
                 "an event that was recorded after a late failure does not report it",
                 CHAOS_LATE_NOT_IN_EVENT),
    STREAM_QUIRK("late_error_carries_on", "late", "what is queued behind a late failure runs",
                 CHAOS_LATE_CARRIES_ON),
    STREAM_QUIRK("late_error_in_any_event", "late",
                 "an event that was recorded before a late failure reports it, too",
                 CHAOS_LATE_IN_ANY_EVENT),
    STREAM_QUIRK("late_error_spreads", "late", "a late failure is one of every stream",
                 CHAOS_LATE_SPREADS),
    STREAM_QUIRK("late_error_ends_at_wait", "late",
                 "a stream that waits for an event behind a late failure goes on",
                 CHAOS_LATE_ENDS_AT_WAIT),

    /* the time between events */
    QUIRK("elapsed_swapped", "profile", "elapsed counts from end to start", CHAOS_TIME_SWAPPED),
    QUIRK("elapsed_in_microseconds", "profile", "elapsed counts microseconds", CHAOS_TIME_COARSE),
    STREAM_QUIRK("elapsed_unfinished", "profile",
                 "elapsed takes an event that is not done for one "
                 "that is",
                 CHAOS_TIME_UNFINISHED),
    QUIRK("elapsed_of_nothing", "profile", "elapsed takes an event that was never recorded",
          CHAOS_TIME_OF_NOTHING),

    /* what is left behind in the process */
    { "state_rounding", "state", "an op leaves rounding downwards set", .codes = ALL_OPS,
      .leave = chaos_rounding_left },
#if defined(__x86_64__)
    { "state_flush", "state", "an op leaves flush-to-zero set", .codes = ALL_OPS,
      .leave = chaos_flush_left },
#endif
    { "state_locale", "state", "an op sets the locale", .codes = ALL_OPS,
      .leave = chaos_locale_left },
    { "state_signals", "state", "an op leaves a signal blocked", .codes = ALL_OPS,
      .leave = chaos_signals_left },
    { "state_umask", "state", "an op sets the umask", .codes = ALL_OPS, .leave = chaos_umask_left },
    QUIRK("state_descriptor", "state", "an instance leaves a descriptor open",
          CHAOS_DESCRIPTOR_KEPT),
    QUIRK("state_thread", "state", "an instance leaves a thread running", CHAOS_THREAD_KEPT),
};

const uint64_t chaos_faults_count = sizeof(chaos_faults) / sizeof(chaos_faults[0]);

const struct chaos_fault *chaos_fault_of(const struct chaos *chaos, uint32_t code)
{
    const struct chaos_fault *fault = chaos->fault;
    if (!fault || code >= CHAOS_SLOTS)
        return NULL;
    const bool applies =
        fault->codes ? fault->codes & BIT(code) : !strcmp(fault->subject, chaos_code_name(code));
    return applies ? fault : NULL;
}

const struct chaos_fault *chaos_fault_find(const char *name)
{
    for (uint64_t i = 0; i < chaos_faults_count; i++)
        if (!strcmp(chaos_faults[i].name, name))
            return &chaos_faults[i];
    return NULL;
}

/* ---- names that are like another ---- */

#define NAME_MAX_LENGTH 48
#define NEAREST         3

/* Insertions, deletions and changes from one name to the other. */
static uint32_t distance(const char *a, const char *b)
{
    uint32_t row[NAME_MAX_LENGTH + 1];
    const size_t na = strnlen(a, NAME_MAX_LENGTH), nb = strnlen(b, NAME_MAX_LENGTH);
    for (size_t j = 0; j <= nb; j++)
        row[j] = (uint32_t)j;
    for (size_t i = 1; i <= na; i++) {
        uint32_t diagonal = row[0];
        row[0] = (uint32_t)i;
        for (size_t j = 1; j <= nb; j++) {
            const uint32_t above = row[j];
            uint32_t least = diagonal + (a[i - 1] != b[j - 1]);
            least = above + 1 < least ? above + 1 : least;
            row[j] = row[j - 1] + 1 < least ? row[j - 1] + 1 : least;
            diagonal = above;
        }
    }
    return row[nb];
}

void chaos_fault_nearest(const char *name, char *text, uint64_t size)
{
    const struct chaos_fault *near[NEAREST] = { NULL };
    text[0] = 0;
    for (int n = 0; n < NEAREST; n++) {
        for (uint64_t i = 0; i < chaos_faults_count; i++) {
            const struct chaos_fault *fault = &chaos_faults[i];
            const bool taken = fault == near[0] || fault == near[1];
            if (!taken && (!near[n] || distance(name, fault->name) < distance(name, near[n]->name)))
                near[n] = fault;
        }
        cb_text_append(text, size, n ? ", " : "");
        cb_text_append(text, size, near[n]->name);
    }
}
