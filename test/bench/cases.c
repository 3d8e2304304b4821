/* SPDX-License-Identifier: Apache-2.0 */
/* What is measured, in sections. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

pb_case g_cases[512];
const char *g_sec[512];
int g_ncases;
static pb_case *add(const char *sec, enum pb_op op, enum pb_dt dt, const char *name)
{
    pb_case *c = &g_cases[g_ncases];
    g_sec[g_ncases++] = sec;
    memset(c, 0, sizeof *c);
    c->op = op;
    c->dt = dt;
    snprintf(c->name, sizeof c->name, "%s", name);
    return c;
}

static void gemm(const char *sec, enum pb_dt dt, long m, long n, long k, int ta, int tb)
{
    pb_case *c = add(sec, PB_GEMM, dt, "gemm");
    long v[] = { m, n, k, ta, tb };
    memcpy(c->d, v, sizeof v);
    snprintf(c->shape, sizeof c->shape, "m%ld n%ld k%ld %c%c", m, n, k, ta ? 'T' : 'N',
             tb ? 'T' : 'N');
    c->flops = 2.0 * m * n * k;
    c->bytes = (double)(m * k + k * n) * dt_size(dt) + (double)m * n * (dt == PB_F64 ? 8 : 4);
    c->in_n[0] = m * k;
    c->in_n[1] = k * n;
    c->out_n = m * n;
}

static void gemmb(const char *sec, enum pb_dt dt, long m, long n, long k, long b)
{
    pb_case *c = add(sec, PB_GEMM_BATCH, dt, "gemm_batch");
    long v[] = { m, n, k, b };
    memcpy(c->d, v, sizeof v);
    snprintf(c->shape, sizeof c->shape, "b%ld m%ld n%ld k%ld", b, m, n, k);
    c->flops = 2.0 * m * n * k * b;
    c->in_n[0] = m * k * b;
    c->in_n[1] = k * n * b;
    c->out_n = m * n * b;
}

static void conv(long n, long ic, long hw, long oc, long k, long s, long p, long g)
{
    for (int o = 0; o < 3; o++) {
        static const char *nm[] = { "conv_fwd", "conv_bwd_data", "conv_bwd_weights" };
        pb_case *c = add("conv", PB_CONV_FWD + o, PB_F32, nm[o]);
        long oh = (hw + 2 * p - k) / s + 1;
        long v[] = { n, ic, hw, hw, oc, k, k, s, p, g, oh, oh };
        memcpy(c->d, v, sizeof v);
        snprintf(c->shape, sizeof c->shape, "n%ld %ldx%ldx%ld k%ld %ldx%ld s%ld p%ld g%ld", n, ic,
                 hw, hw, oc, k, k, s, p, g);
        size_t S = n * ic * hw * hw, D = n * oc * oh * oh, W = oc * (ic / g) * k * k;
        c->flops = 2.0 * D * (ic / g) * k * k;
        c->bytes = 4.0 * (S + D + W);
        c->in_n[0] = o == 1 ? D : S;
        c->in_n[1] = o == 2 ? D : W;
        c->out_n = o == 0 ? D : o == 1 ? S : W;
    }
}

static void smx(enum pb_op op, long o, long a, long i, const char *lbl)
{
    pb_case *c = add(op == PB_SOFTMAX ? "softmax" : "reduce", op, PB_F32,
                     op == PB_SOFTMAX ? "softmax" : "reduce_sum");
    c->d[0] = o;
    c->d[1] = a;
    c->d[2] = i;
    snprintf(c->shape, sizeof c->shape, "%s", lbl);
    c->in_n[0] = o * a * i;
    c->out_n = op == PB_SOFTMAX ? o * a * i : o * i;
    c->bytes = 4.0 * (c->in_n[0] + c->out_n);
}

static void attn(long b, long h, long sq, long sk, long dd_, int causal)
{
    pb_case *c = add("attn", PB_ATTN, PB_F32, causal ? "attn_causal" : "attn");
    long v[] = { b, h, sq, sk, dd_, causal };
    memcpy(c->d, v, sizeof v);
    snprintf(c->shape, sizeof c->shape, "b%ld h%ld q%ld kv%ld d%ld", b, h, sq, sk, dd_);
    double pairs = causal ? (double)sq * (sk - sq) + sq * (sq + 1) / 2.0 : (double)sq * sk;
    c->flops = 4.0 * b * h * pairs * dd_;
    c->bytes = 4.0 * b * h * dd_ * (2 * sq + 2 * sk);
    c->in_n[0] = c->out_n = b * h * sq * dd_;
    c->in_n[1] = c->in_n[2] = b * h * sk * dd_;
}

void make_cases(void)
{
    static const long sq[] = { 64, 128, 256, 512, 1024, 2048 };
    for (int t = 0; t < 2; t++) {
        enum pb_dt dt = t ? PB_F32 : PB_F64;
        const char *s = t ? "sgemm" : "dgemm";
        for (int i = 0; i < 6; i++)
            gemm(s, dt, sq[i], sq[i], sq[i], 0, 0);
        gemm(s, dt, 1024, 1024, 1024, 1, 0);
        gemm(s, dt, 1024, 1024, 1024, 0, 1);
        gemm(s, dt, 1024, 1024, 1024, 1, 1);
        gemm(s, dt, 4096, 64, 1024, 0, 0);
        gemm(s, dt, 64, 4096, 4096, 0, 0);
        gemm(s, dt, 4096, 4096, 32, 0, 0);
        gemm(s, dt, 64, 64, 16384, 0, 0);
        gemm(s, dt, 1, 4096, 4096, 0, 0);
        gemm(s, dt, 4096, 1, 4096, 0, 0);
        gemm(s, dt, 4096, 8, 4096, 0, 0);
        gemm(s, dt, 1000, 1000, 1000, 0, 0);
        gemm(s, dt, 33, 33, 33, 0, 0);
        gemm(s, dt, 16, 16, 16, 0, 0);
    }
    for (int t = 0; t < 2; t++) {
        gemmb("batch", t ? PB_F32 : PB_F64, 16, 16, 16, 4096);
        gemmb("batch", t ? PB_F32 : PB_F64, 32, 32, 32, 1024);
        gemmb("batch", t ? PB_F32 : PB_F64, 64, 64, 64, 256);
        gemmb("batch", t ? PB_F32 : PB_F64, 128, 128, 128, 64);
        gemmb("batch", t ? PB_F32 : PB_F64, 128, 128, 64, 96);
    }
    for (int q = 0; q < 4; q++) {
        static const enum pb_dt dt[] = { PB_BF16, PB_MIX_BF16, PB_F16, PB_MIX_F16 };
        for (int i = 1; i < 6; i++)
            gemm("lowp", dt[q], sq[i], sq[i], sq[i], 0, 0);
        gemm("lowp", dt[q], 1024, 1024, 1024, 1, 0);
        gemm("lowp", dt[q], 1024, 1024, 1024, 0, 1);
        gemm("lowp", dt[q], 4096, 64, 1024, 0, 0);
        gemm("lowp", dt[q], 4096, 1, 4096, 0, 0);
        gemm("lowp", dt[q], 4096, 8, 4096, 0, 0);
    }
    for (int n = 1; n <= 8; n += 7) {
        conv(n, 3, 224, 64, 7, 2, 3, 1);
        conv(n, 64, 56, 64, 3, 1, 1, 1);
        conv(n, 128, 28, 128, 3, 1, 1, 1);
        conv(n, 256, 14, 256, 3, 1, 1, 1);
        conv(n, 256, 56, 64, 1, 1, 0, 1);
        conv(n, 512, 7, 512, 3, 1, 1, 1);
        conv(n, 2048, 7, 512, 1, 1, 0, 1);
        conv(n, 32, 112, 32, 3, 1, 1, 32);
    }
    smx(PB_SOFTMAX, 4096, 1000, 1, "[4096,1000] axis1");
    smx(PB_SOFTMAX, 64, 128, 56 * 56, "[64,128,56,56] axis1");
    smx(PB_SOFTMAX, 65536, 64, 1, "[65536,64] axis1");
    smx(PB_SOFTMAX, 64, 32000, 1, "[64,32000] axis1");
    smx(PB_REDUCE, 1, 1024, 4096, "[1024,4096] axis0");
    smx(PB_REDUCE, 1024, 4096, 1, "[1024,4096] axis1");
    smx(PB_REDUCE, 1, 1 << 24, 1, "[16M] all");
    smx(PB_REDUCE, 64, 128, 56 * 56, "[64,128,3136] axis1");
    static const char *un[] = { "relu", "sigmoid", "tanh", "exp", "log", "sqrt", "abs", "neg" };
    for (int z = 0; z < 2; z++) {
        long n = z ? 1 << 14 : 1 << 24;
        for (int k = 0; k < 8; k++) {
            pb_case *c = add("eltwise", PB_UNARY, PB_F32, un[k]);
            c->d[0] = n;
            c->d[1] = k;
            snprintf(c->shape, sizeof c->shape, "%ld", n);
            c->in_n[0] = c->out_n = n;
            c->bytes = 8.0 * n;
        }
        pb_case *c = add("eltwise", PB_BINARY, PB_F32, "add");
        c->d[0] = n;
        snprintf(c->shape, sizeof c->shape, "%ld", n);
        c->in_n[0] = c->in_n[1] = c->out_n = n;
        c->bytes = 12.0 * n;
    }
    attn(1, 16, 1024, 1024, 64, 0);
    attn(1, 16, 1024, 1024, 64, 1);
    attn(1, 32, 1, 4096, 128, 0);
    attn(8, 12, 128, 128, 64, 0);
    attn(8, 12, 128, 128, 64, 1);
    attn(1, 32, 1024, 1024, 128, 1);
    for (int z = 0; z < 2; z++)
        for (int w = 0; w < 3; w++) {
            static const long cols[] = { 16, 64, 1024 };
            long w_ = cols[w], n = (1 << 22) / w_, tot = (1 << 24) / w_;
            pb_case *c = add("rows", z ? PB_SCATTER : PB_GATHER, PB_F32,
                             z ? "scatter_add_rows" : "gather_rows");
            c->d[0] = n;
            c->d[1] = w_;
            c->d[2] = tot;
            snprintf(c->shape, sizeof c->shape, "%ld of %ld rows x %ld", n, tot, w_);
            c->in_n[0] = (z ? n : tot) * w_;
            c->in_n[1] = n;
            c->out_n = (z ? tot : n) * w_;
            c->bytes = (z ? 12.0 : 8.0) * n * w_;
        }
}

void fill(pb_case *c)
{
    int rows = c->op == PB_GATHER || c->op == PB_SCATTER;
    size_t es = dt_size(c->dt);
    for (int i = 0; i < 3; i++)
        if (c->in_n[i]) {
            c->in[i] = xalloc(c->in_n[i] * es);
            for (size_t j = 0; j < c->in_n[i]; j++) {
                double v = frand();
                if (rows && i == 1) {
                    ((int32_t *)c->in[i])[j] = (int32_t)(xr() % (uint64_t)c->d[2]);
                    continue;
                }
                if (c->op == PB_UNARY)
                    v = c->d[1] == PB_LOG || c->d[1] == PB_SQRT ? v + 0.75 : v * 8;
                if (c->op == PB_SOFTMAX)
                    v *= 8;
                if (c->op == PB_ATTN && i < 2)
                    v *= 3;
                if (c->dt == PB_F64)
                    ((double *)c->in[i])[j] = v;
                else if (c->dt == PB_BF16)
                    ((uint16_t *)c->in[i])[j] = f2bf((float)v);
                else if (c->dt == PB_F16)
                    ((uint16_t *)c->in[i])[j] = f2h((float)v);
                else
                    ((float *)c->in[i])[j] = (float)v;
            }
        }
    c->out = xalloc(c->out_n * out_size(c->dt));
}

void drop(pb_case *c)
{
    for (int i = 0; i < 3; i++) {
        free(c->in[i]);
        c->in[i] = NULL;
    }
    free(c->out);
    c->out = NULL;
}
