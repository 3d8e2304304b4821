/* SPDX-License-Identifier: Apache-2.0 */
/* Loops over the vector functions of libmvec and SLEEF, and over plain rows. */
#include "bench.h"

#include <immintrin.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* declared here because <sleef.h> hides them unless the whole file is built for AVX-512 */
extern __m512 _ZGVeN16v_expf(__m512), _ZGVeN16v_logf(__m512), _ZGVeN16v_tanhf(__m512);
extern __m512 Sleef_expf16_u10avx512f(__m512), Sleef_logf16_u10avx512f(__m512),
    Sleef_tanhf16_u10avx512f(__m512);
void *self_ctx(const pb_case *c, int th)
{
    const pb_case **p = malloc(sizeof *p);
    *p = c;
    return p;
}
static void *un_prep(const pb_case *c, int th)
{
    return c->op == PB_UNARY || c->op == PB_BINARY ? self_ctx(c, th) : NULL;
}
#define VLOOP(expr)                                                                                \
    for (long i = lo; i < hi; i += 16) {                                                           \
        __m512 x = _mm512_loadu_ps(a + i);                                                         \
        _mm512_storeu_ps(o + i, expr);                                                             \
    }                                                                                              \
    break
AVX512 static void un_range(const pb_case *c, int sl, long lo, long hi)
{
    const float *a = c->in[0], *b = c->in[1];
    float *o = c->out;
    __m512 z = _mm512_setzero_ps(), one = _mm512_set1_ps(1);
    if (c->op == PB_BINARY) {
        for (long i = lo; i < hi; i += 16)
            _mm512_storeu_ps(o + i, _mm512_add_ps(_mm512_loadu_ps(a + i), _mm512_loadu_ps(b + i)));
        return;
    }
    switch (c->d[1] + (sl ? 100 : 0)) {
    case PB_RELU:
    case PB_RELU + 100: VLOOP(_mm512_max_ps(x, z));
    case PB_SIGMOID:
        VLOOP(_mm512_div_ps(one, _mm512_add_ps(one, _ZGVeN16v_expf(_mm512_sub_ps(z, x)))));
    case PB_SIGMOID + 100:
        VLOOP(_mm512_div_ps(one, _mm512_add_ps(one, Sleef_expf16_u10avx512f(_mm512_sub_ps(z, x)))));
    case PB_TANH: VLOOP(_ZGVeN16v_tanhf(x));
    case PB_TANH + 100: VLOOP(Sleef_tanhf16_u10avx512f(x));
    case PB_EXP: VLOOP(_ZGVeN16v_expf(x));
    case PB_EXP + 100: VLOOP(Sleef_expf16_u10avx512f(x));
    case PB_LOG: VLOOP(_ZGVeN16v_logf(x));
    case PB_LOG + 100: VLOOP(Sleef_logf16_u10avx512f(x));
    case PB_SQRT:
    case PB_SQRT + 100: VLOOP(_mm512_sqrt_ps(x));
    case PB_ABS:
    case PB_ABS + 100: VLOOP(_mm512_abs_ps(x));
    case PB_NEG:
    case PB_NEG + 100: VLOOP(_mm512_sub_ps(z, x));
    }
}

static int un_go(const pb_case *c, int sl)
{
    long n = c->d[0];
#pragma omp parallel num_threads(g_threads)
    {
        long t = omp_get_thread_num(), T = omp_get_num_threads(), b = n / 16;
        un_range(c, sl, b * t / T * 16, b * (t + 1) / T * 16);
    }
    return 0;
}

static int mvec_run(void *v)
{
    return un_go(CASE(v), 0);
}

static int sleef_run(void *v)
{
    return un_go(CASE(v), 1);
}

static void *sleef_prep(const pb_case *c, int th)
{
    return c->op == PB_UNARY && (c->d[1] == PB_SIGMOID || c->d[1] == PB_TANH || c->d[1] == PB_EXP ||
                                 c->d[1] == PB_LOG)
               ? self_ctx(c, th)
               : NULL;
}

static const pb_peer P_mvec = { "avx512+libmvec", un_prep, mvec_run, NULL, free };
static const pb_peer P_sleef = { "avx512+sleef", sleef_prep, sleef_run, NULL, free };

static void *rows_prep(const pb_case *c, int th)
{
    return c->op == PB_GATHER || c->op == PB_SCATTER ? self_ctx(c, th) : NULL;
}

static int rows_run(void *v)
{
    const pb_case *c = CASE(v);
    const int32_t *ix = c->in[1];
    long n = c->d[0], w = c->d[1];
    const float *s = c->in[0];
    float *o = c->out;
    if (c->op == PB_GATHER) {
#pragma omp parallel for schedule(static) num_threads(g_threads)
        for (long i = 0; i < n; i++)
            memcpy(o + i * w, s + (size_t)ix[i] * w, w * 4);
    } else
        for (long i = 0; i < n; i++) {
            float *q = o + (size_t)ix[i] * w;
            const float *p = s + i * w;
            for (long j = 0; j < w; j++)
                q[j] += p[j];
        }
    return 0;
}

static const pb_peer P_rows = { "plain-C", rows_prep, rows_run, NULL, free };

const pb_peer *const vector_peers[] = { &P_mvec, &P_sleef, &P_rows, NULL };
