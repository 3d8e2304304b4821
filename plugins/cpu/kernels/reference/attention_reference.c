/* SPDX-License-Identifier: Apache-2.0 */
/* Attention, one query at a time: scores, softmax over the visible keys, weighted sum of values. */
#include "reference.h"

#include <math.h>
#include <string.h>

static float dot(const float *a, const float *b, uint64_t n)
{
    float sum = 0;
    for (uint64_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* Turns scores into weights in place. NaN, an infinite maximum and a row of -infinity come out as
 * NaN by themselves: no guard may hide them. The sum is wider where a float would stall. */
static void softmax_row(float *scores, uint64_t n)
{
    float max = -INFINITY, sum = 0;
    double wide = 0;
    for (uint64_t j = 0; j < n; j++)
        max = scores[j] > max ? scores[j] : max;
    for (uint64_t j = 0; j < n; j++) {
        scores[j] = expf(scores[j] - max);
        sum += scores[j];
        wide += scores[j];
    }
    const float scale = 1 / (n <= LONGEST_PLAIN_SUM ? sum : (float)wide);
    for (uint64_t j = 0; j < n; j++)
        scores[j] *= scale;
}

static void query(const struct cpu_attention *t, float *scores, const float *q, const float *k,
                  const float *v, float *o, uint64_t visible)
{
    for (uint64_t j = 0; j < visible; j++)
        scores[j] = dot(q, k + j * t->head_dim, t->head_dim) * t->scale;
    softmax_row(scores, visible);
    memset(o, 0, t->head_dim * sizeof(*o));
    for (uint64_t j = 0; j < visible; j++)
        for (uint64_t d = 0; d < t->head_dim; d++)
            o[d] += scores[j] * v[j * t->head_dim + d];
}

uint64_t cpu_attention_reference_workspace(const struct cpu_attention *t, unsigned threads)
{
    (void)threads;
    return t->seq_kv * sizeof(float); /* the scores of one query */
}

void cpu_attention_reference(const struct cpu_attention *t, const struct cpu_work *work)
{
    for (uint64_t bh = 0; bh < t->batch * t->heads; bh++) {
        const uint64_t b = bh / t->heads, h = bh % t->heads;
        const uint64_t kv = b * t->kv_heads + h / (t->heads / t->kv_heads);
        const uint64_t at = kv * t->seq_kv * t->head_dim;
        for (uint64_t i = 0; i < t->seq_q; i++) {
            const uint64_t row = (bh * t->seq_q + i) * t->head_dim;
            uint64_t visible = t->seq_kv;
            if (t->causal) /* keys j <= i + seq_kv - seq_q */
                visible = i + 1 + t->seq_kv > t->seq_q ? i + 1 + t->seq_kv - t->seq_q : 0;
            query(t, work->memory, t->q + row, t->k + at, t->v + at, t->o + row, visible);
        }
    }
}
