/* SPDX-License-Identifier: Apache-2.0 */
/* Attention composed of gemm, softmax and gemm, by blocks of queries. */
#include "bench.h"

#include <immintrin.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* declared here because no header does */
extern __m512 _ZGVeN16v_expf(__m512);

AVX512 static void softmax_row(float *r, long n, long tail, float scale)
{
    __m512 mx = _mm512_set1_ps(-INFINITY), sc = _mm512_set1_ps(scale), sum = _mm512_setzero_ps();
    for (long i = 0; i < n; i += 16) {
        __mmask16 k = n - i >= 16 ? 0xffff : (1u << (n - i)) - 1;
        mx = _mm512_mask_max_ps(mx, k, mx, _mm512_maskz_loadu_ps(k, r + i));
    }
    __m512 m = _mm512_mul_ps(_mm512_set1_ps(_mm512_reduce_max_ps(mx)), sc);
    for (long i = 0; i < n; i += 16) {
        __mmask16 k = n - i >= 16 ? 0xffff : (1u << (n - i)) - 1;
        __m512 e = _ZGVeN16v_expf(_mm512_fmsub_ps(_mm512_maskz_loadu_ps(k, r + i), sc, m));
        sum = _mm512_mask_add_ps(sum, k, sum, e);
        _mm512_mask_storeu_ps(r + i, k, e);
    }
    __m512 inv = _mm512_set1_ps(1.0f / _mm512_reduce_add_ps(sum));
    for (long i = 0; i < n; i += 16) {
        __mmask16 k = n - i >= 16 ? 0xffff : (1u << (n - i)) - 1;
        _mm512_mask_storeu_ps(r + i, k, _mm512_mul_ps(inv, _mm512_maskz_loadu_ps(k, r + i)));
    }
    if (tail > n)
        memset(r + n, 0, (tail - n) * 4);
}

typedef struct {
    const pb_case *c;
    blas *b;
    float *w[16];
    long blk;
} actx;

static void *attn_prep(const pb_case *c, int th)
{
    blas *b = blas_by_name("openblas");
    if (c->op != PB_ATTN || !b)
        return NULL;
    actx *x = calloc(1, sizeof *x);
    x->c = c;
    x->b = b;
    x->blk = c->d[2] < 128 ? c->d[2] : 128;
    for (int i = 0; i < th; i++)
        x->w[i] = xalloc(x->blk * c->d[3] * 4);
    return x;
}

static int attn_run(void *v)
{
    actx *x = v;
    const pb_case *c = x->c;
    const long *d = c->d;
    long BH = d[0] * d[1], Sq = d[2], Sk = d[3], D = d[4], nb = (Sq + x->blk - 1) / x->blk;
    float sc = 1 / sqrtf((float)D);
    x->b->setth(1);
#pragma omp parallel for schedule(dynamic) num_threads(g_threads)
    for (long t = 0; t < BH * nb; t++) {
        long h = t / nb, q0 = (nb - 1 - t % nb) * x->blk, nq = Sq - q0 < x->blk ? Sq - q0 : x->blk,
             lim = d[5] ? Sk - Sq + q0 + nq : Sk;
        const float *Q = (float *)c->in[0] + (h * Sq + q0) * D, *K = (float *)c->in[1] + h * Sk * D,
                    *V = (float *)c->in[2] + h * Sk * D;
        float *O = (float *)c->out + (h * Sq + q0) * D, *W = x->w[omp_get_thread_num()];
        if (nq == 1)
            x->b->sgemv(101, 111, lim, D, 1, K, D, Q, 1, 0, W, 1);
        else
            x->b->sgemm(101, 111, 112, nq, lim, D, 1, Q, D, K, D, 0, W, lim);
        for (long i = 0; i < nq; i++)
            softmax_row(W + i * lim, d[5] ? Sk - Sq + q0 + i + 1 : Sk, lim, sc);
        if (nq == 1)
            x->b->sgemv(101, 112, lim, D, 1, V, D, W, 1, 0, O, 1);
        else
            x->b->sgemm(101, 111, 111, nq, D, lim, 1, W, lim, V, D, 0, O, D);
    }
    x->b->setth(g_threads);
    return 0;
}

static void attn_done(void *v)
{
    actx *x = v;
    for (int i = 0; i < 16; i++)
        free(x->w[i]);
    free(x);
}

static const pb_peer P_attn = { "openblas-composed", attn_prep, attn_run, NULL, attn_done };

const pb_peer *const attention_peers[] = { &P_attn, NULL };
