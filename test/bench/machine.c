/* SPDX-License-Identifier: Apache-2.0 */
/* The machine itself, measured in the same run. ~peak spends the case's flops in multiply-adds of
 * registers, or in AMX bf16 tile products; ~stream moves the bytes that the case cannot do without.
 * Neither computes the operation: names that begin with '~' are not checked. */
#include "bench.h"

#include <cpuid.h>
#include <immintrin.h>
#include <omp.h>
#include <string.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static int amx_ready(void)
{
    static int st = -1;
    if (st >= 0)
        return st;
    st = 0;
    unsigned a, b, c, d;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d) && (d >> 22 & 1) && (d >> 24 & 1) &&
        syscall(SYS_arch_prctl, 0x1023, 18) == 0)
        st = 1;
    return st;
}
#define F4(op, x) op " %%zmm31,%%zmm30,%%zmm" #x "\n\t"
#define F12(op)                                                                                    \
    F4(op, 0)                                                                                      \
    F4(op, 1)                                                                                      \
    F4(op, 2)                                                                                      \
    F4(op, 3) F4(op, 4) F4(op, 5) F4(op, 6) F4(op, 7) F4(op, 8) F4(op, 9) F4(op, 10) F4(op, 11)
#define FCLOB                                                                                      \
    "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11"
AVX512 static void fma_spin(double flops, int f64)
{
    __asm__ volatile("vpxorq %%zmm30,%%zmm30,%%zmm30\n\tvpxorq %%zmm31,%%zmm31,%%zmm31\n\t" : ::);
    __asm__ volatile(
        "vpxorq %%zmm0,%%zmm0,%%zmm0\n\tvmovaps %%zmm0,%%zmm1\n\tvmovaps %%zmm0,%%zmm2\n\tvmovaps "
        "%%zmm0,%%zmm3\n\tvmovaps %%zmm0,%%zmm4\n\tvmovaps %%zmm0,%%zmm5\n\tvmovaps "
        "%%zmm0,%%zmm6\n\tvmovaps %%zmm0,%%zmm7\n\tvmovaps %%zmm0,%%zmm8\n\tvmovaps "
        "%%zmm0,%%zmm9\n\tvmovaps %%zmm0,%%zmm10\n\tvmovaps %%zmm0,%%zmm11"
        :
        :
        : FCLOB);
    long n = (long)(flops / (24.0 * (f64 ? 16 : 32))) + 1;
    if (f64)
        for (long i = 0; i < n; i++)
            __asm__ volatile(F12("vfmadd231pd") F12("vfmadd231pd") : : : FCLOB);
    else
        for (long i = 0; i < n; i++)
            __asm__ volatile(F12("vfmadd231ps") F12("vfmadd231ps") : : : FCLOB);
}

static void amx_spin(double flops)
{
    struct {
        unsigned char pal, start, rsv[14];
        unsigned short colsb[16];
        unsigned char rows[16];
    } c;
    memset(&c, 0, sizeof c);
    c.pal = 1;
    for (int i = 0; i < 8; i++) {
        c.colsb[i] = 64;
        c.rows[i] = 16;
    }
    __asm__ volatile(
        "ldtilecfg %0\n\ttilezero %%tmm4\n\ttilezero %%tmm5\n\ttilezero %%tmm6\n\ttilezero %%tmm7"
        :
        : "m"(c));
    for (long n = (long)(flops / (4.0 * 16 * 16 * 32 * 2)) + 1; n > 0; n--)
        __asm__ volatile(
            "tdpbf16ps %%tmm6,%%tmm4,%%tmm0\n\ttdpbf16ps %%tmm7,%%tmm4,%%tmm1\n\ttdpbf16ps "
            "%%tmm6,%%tmm5,%%tmm2\n\ttdpbf16ps %%tmm7,%%tmm5,%%tmm3"
            : ::);
    __asm__ volatile("tilerelease");
}

static void *peak_prep(const pb_case *c, int th)
{
    return c->flops > 0 && __builtin_cpu_supports("avx512f") ? self_ctx(c, th) : NULL;
}

static int peak_run(void *v)
{
    const pb_case *c = CASE(v);
    int amx = (c->dt == PB_BF16 || c->dt == PB_MIX_BF16) && amx_ready();
#pragma omp parallel num_threads(g_threads)
    {
        if (amx)
            amx_spin(c->flops / g_threads);
        else
            fma_spin(c->flops / g_threads, c->dt == PB_F64);
    }
    return 0;
}

static const pb_peer P_peak = { "~peak", peak_prep, peak_run, NULL, free };
static void *stream_prep(const pb_case *c, int th)
{
    return c->flops == 0 && c->op != PB_GATHER && c->op != PB_SCATTER &&
                   __builtin_cpu_supports("avx512f")
               ? self_ctx(c, th)
               : NULL;
}

AVX512 static void stream_range(const pb_case *c, size_t lo, size_t hi)
{
    const float *a = c->in[0], *b = c->in[1];
    float *o = c->out;
    __m512 s[4];
    for (int k = 0; k < 4; k++)
        s[k] = _mm512_setzero_ps();
    int rd = c->op == PB_REDUCE, nt = c->bytes > 16e6;
    for (size_t i = lo; i < hi; i += 64)
        for (int k = 0; k < 4; k++) {
            __m512 x = _mm512_loadu_ps(a + i + 16 * k);
            if (rd) {
                s[k] = _mm512_add_ps(s[k], x);
                continue;
            }
            if (b)
                x = _mm512_add_ps(x, _mm512_loadu_ps(b + i + 16 * k));
            if (nt)
                _mm512_stream_ps(o + i + 16 * k, x);
            else
                _mm512_storeu_ps(o + i + 16 * k, x);
        }
    _mm_sfence();
    __asm__ volatile("" : : "v"(s[0]), "v"(s[1]), "v"(s[2]), "v"(s[3]));
}

static int stream_run(void *v)
{
    const pb_case *c = CASE(v);
    size_t n = c->in_n[0] / 64;
#pragma omp parallel num_threads(g_threads)
    {
        size_t t = omp_get_thread_num(), T = omp_get_num_threads();
        stream_range(c, n * t / T * 64, n * (t + 1) / T * 64);
    }
    return 0;
}

static const pb_peer P_stream = { "~stream", stream_prep, stream_run, NULL, free };

const pb_peer *const machine_peers[] = { &P_peak, &P_stream, NULL };
