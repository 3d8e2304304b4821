/* SPDX-License-Identifier: Apache-2.0 */
/* attention by a naive loop. */
#include "faults.h"

#include <math.h>
#include <stdlib.h>

struct flaws {
    bool causal_late; /* one key too many */
    bool causal_upper_left;
    bool no_key_kept;        /* rows without a key are not written */
    bool scores_not_shifted; /* exp without subtracting the maximum */
    bool masked_read;        /* a masked key counts with a weight of 0 */
    bool heads_mixed;        /* query heads take the key heads in turn */
    bool scale_divides;
};

/* One query: its elements and those of the keys of its head begin here. */
struct row {
    uint64_t q, kv, index;
};

static uint64_t visible(const struct cbc_attention *a, const struct flaws *flaws, uint64_t query)
{
    uint64_t end = query + 1 + a->seq_kv + (flaws->causal_late ? 1 : 0);
    if (!a->causal)
        return a->seq_kv;
    if (flaws->causal_upper_left)
        end = query + 1 + a->seq_q;
    const uint64_t n = end <= a->seq_q ? 0 : end - a->seq_q;
    return n < a->seq_kv ? n : a->seq_kv;
}

/* Weights of the n visible keys, not yet divided by their sum, which is returned. */
static double weigh(const struct cbc_attention *a, const struct chaos_images *x,
                    const struct flaws *flaws, const struct row *row, uint64_t n, float *p)
{
    const float scale = flaws->scale_divides ? 1.0f / a->scale : a->scale;
    float max = -INFINITY;
    double sum = 0.0;
    for (uint64_t j = 0; j < n; j++) {
        double score = 0.0;
        for (uint64_t d = 0; d < a->head_dim; d++)
            score += chaos_load(CB_F32, x->in[0], row->q + d) *
                     chaos_load(CB_F32, x->in[1], row->kv + j * a->head_dim + d);
        p[j] = (float)(scale * score);
        max = p[j] > max ? p[j] : max;
    }
    for (uint64_t j = 0; j < n; j++) {
        p[j] = expf(flaws->scores_not_shifted ? p[j] : p[j] - max);
        sum += (double)p[j];
    }
    return sum;
}

static void attend(const struct cbc_attention *a, struct chaos_images *x, const struct flaws *flaws,
                   const struct row *row, float *p)
{
    const uint64_t n = visible(a, flaws, row->index);
    const uint64_t read = flaws->masked_read ? a->seq_kv : n;
    if (!n && flaws->no_key_kept)
        return;
    const double sum = weigh(a, x, flaws, row, n, p);
    for (uint64_t j = n; j < a->seq_kv; j++)
        p[j] = 0.0f;
    for (uint64_t d = 0; d < a->head_dim; d++) {
        double value = 0.0;
        for (uint64_t j = 0; j < read; j++)
            value += (double)p[j] * chaos_load(CB_F32, x->in[2], row->kv + j * a->head_dim + d);
        chaos_store(CB_F32, x->out, row->q + d, n ? value / sum : 0.0);
    }
}

static bool attend_all(const struct chaos_work *work, struct chaos_images *x,
                       const struct flaws *flaws)
{
    const struct cbc_attention *a = &work->checked.attention;
    float *p = calloc(a->seq_kv + 1, sizeof(*p));
    if (!p)
        return false;
    for (uint64_t i = 0; i < a->batch * a->heads * a->seq_q; i++) {
        const uint64_t batch = i / a->seq_q / a->heads, head = i / a->seq_q % a->heads;
        const uint64_t kv_head =
            flaws->heads_mixed ? head % a->kv_heads : head / (a->heads / a->kv_heads);
        const struct row row = { i * a->head_dim,
                                 (batch * a->kv_heads + kv_head) * a->seq_kv * a->head_dim,
                                 i % a->seq_q };
        attend(a, x, flaws, &row, p);
    }
    free(p);
    return true;
}

#define DEFINE(flaw)                                                                               \
    bool chaos_##flaw(const struct chaos_work *work, struct chaos_images *x)                       \
    {                                                                                              \
        return attend_all(work, x, &(struct flaws){ .flaw = true });                               \
    }
DEFINE(causal_late)
DEFINE(causal_upper_left)
DEFINE(no_key_kept)
DEFINE(scores_not_shifted)
DEFINE(masked_read)
DEFINE(heads_mixed)
DEFINE(scale_divides)
