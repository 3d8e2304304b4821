/* SPDX-License-Identifier: Apache-2.0 */
/* oneDNN, by its C interface of version 2 or 3. */
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <oneapi/dnnl/dnnl.h>
#include <oneapi/dnnl/dnnl_version.h>

#define V3 (DNNL_VERSION_MAJOR >= 3)

static dnnl_engine_t g_eng;
static dnnl_stream_t g_str;
#if V3
typedef const_dnnl_memory_desc_t mdp;
static mdp md_new(int nd, const dnnl_dims_t dims, dnnl_data_type_t dt, dnnl_format_tag_t tag)
{
    dnnl_memory_desc_t m = NULL;
    return dnnl_memory_desc_create_with_tag(&m, nd, dims, dt, tag) ? NULL : m;
}
#else
typedef const dnnl_memory_desc_t *mdp;
static mdp md_new(int nd, const dnnl_dims_t dims, dnnl_data_type_t dt, dnnl_format_tag_t tag)
{
    dnnl_memory_desc_t *m = malloc(sizeof *m);
    if (dnnl_memory_desc_init_by_tag(m, nd, dims, dt, tag)) {
        free(m);
        return NULL;
    }
    return m;
}
#endif
#define MAXA 4
typedef struct {
    dnnl_primitive_t p;
    dnnl_exec_arg_t a[MAXA];
    int n;
} step;

typedef struct {
    step s[8];
    int ns; /* timed sequence                        */
    step pre[4], post[2];
    int npre, npost; /* untimed: once before / at sync */
    dnnl_memory_t m[16];
    int nm;       /* owned memory objects          */
    void *buf[2]; /* owned scratch                 */
} dctx;

static void step_run(step *s)
{
    if (dnnl_primitive_execute(s->p, g_str, s->n, s->a)) {
        fprintf(stderr, "dnnl execute failed\n");
        exit(1);
    }
}

static int d_run(void *v)
{
    dctx *x = v;
    for (int i = 0; i < x->ns; i++)
        step_run(&x->s[i]);
    dnnl_stream_wait(g_str);
    return 0;
}

static void d_sync(void *v)
{
    dctx *x = v;
    for (int i = 0; i < x->npost; i++)
        step_run(&x->post[i]);
    dnnl_stream_wait(g_str);
}

static void d_done(void *v)
{
    dctx *x = v;
    step *l[3] = { x->s, x->pre, x->post };
    int n[3] = { x->ns, x->npre, x->npost };
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < n[k]; i++)
            dnnl_primitive_destroy(l[k][i].p);
    for (int i = 0; i < x->nm; i++)
        dnnl_memory_destroy(x->m[i]);
    free(x->buf[0]);
    free(x->buf[1]);
    free(x);
}

static dnnl_memory_t mem_new(mdp md, void *h)
{
    dnnl_memory_t m;
    if (dnnl_memory_create(&m, md, g_eng, h)) {
        fprintf(stderr, "dnnl memory failed\n");
        exit(1);
    }
    return m;
}

static int reorder_step(step *s, mdp from, dnnl_memory_t mf, mdp to, dnnl_memory_t mt)
{
    dnnl_primitive_desc_t pd;
    if (dnnl_reorder_primitive_desc_create(&pd, from, g_eng, to, g_eng, NULL))
        return 1;
    dnnl_primitive_create(&s->p, pd);
    dnnl_primitive_desc_destroy(pd);
    s->n = 2;
    s->a[0] = (dnnl_exec_arg_t){ DNNL_ARG_FROM, mf };
    s->a[1] = (dnnl_exec_arg_t){ DNNL_ARG_TO, mt };
    return 0;
}

typedef struct {
    int arg;
    dnnl_query_t q;
    mdp user;
    void *h;
    int is_out, timed;
} slot;

/* wires a primitive to user buffers, adding reorders where the primitive chose another layout */
static dctx *wire(dctx *x, dnnl_primitive_desc_t pd, slot *sl, int n)
{
    if (!x)
        x = calloc(1, sizeof *x);
    step main = { 0 }, out = { 0 };
    int have_out = 0, out_timed = 0;
    for (int i = 0; i < n; i++) {
        mdp want = dnnl_primitive_desc_query_md(pd, sl[i].q, 0);
        dnnl_memory_t um = mem_new(sl[i].user, sl[i].h), pm = um;
        x->m[x->nm++] = um;
        if (!dnnl_memory_desc_equal(want, sl[i].user)) {
            pm = x->m[x->nm++] = mem_new(want, DNNL_MEMORY_ALLOCATE);
            step st = { 0 };
            if (sl[i].is_out) {
                if (reorder_step(&out, want, pm, sl[i].user, um))
                    return NULL;
                have_out = 1;
                out_timed = sl[i].timed;
            } else {
                if (reorder_step(&st, sl[i].user, um, want, pm))
                    return NULL;
                if (sl[i].timed)
                    x->s[x->ns++] = st;
                else {
                    x->pre[x->npre++] = st;
                    step_run(&st);
                }
            }
        }
        main.a[i] = (dnnl_exec_arg_t){ sl[i].arg, pm };
    }
    dnnl_stream_wait(g_str);
    main.n = n;
    if (dnnl_primitive_create(&main.p, pd))
        return NULL;
    x->s[x->ns++] = main;
    if (have_out) {
        if (out_timed)
            x->s[x->ns++] = out;
        else
            x->post[x->npost++] = out;
    }
    const char *info = NULL;
    dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, (void *)&info);
    if (getenv("PB_IMPL"))
        fprintf(stderr, "#   impl %s\n", info ? info : "?");
    dnnl_primitive_desc_destroy(pd);
    return x;
}

static dnnl_data_type_t dd(enum pb_dt d)
{
    return d == PB_BF16 ? dnnl_bf16 : d == PB_F16 ? dnnl_f16 : dnnl_f32;
}

/* matmul. mode: 0 plain user layouts, 1 weights prepacked, 2 f32 in with explicit conversion timed,
 * 3 fpmath attribute */
static void *d_mm(const pb_case *c, int mode)
{
    int batch = c->op == PB_GEMM_BATCH;
    if ((c->op != PB_GEMM && !batch) || c->dt == PB_F64)
        return NULL;
    int mix = c->dt == PB_MIX_BF16 || c->dt == PB_MIX_F16;
    if (mix != (mode >= 2))
        return NULL;
    long M = c->d[0], N = c->d[1], K = c->d[2], ta = batch ? 0 : c->d[3], tb = batch ? 0 : c->d[4];
    /* column-major C(MxN) = A B is row-major C'(NxM) = B' A' */
    dnnl_dims_t sd = { N, K }, wd = { K, M }, od = { N, M };
    int nd = 2;
    if (batch) {
        dnnl_dims_t s3 = { c->d[3], N, K }, w3 = { c->d[3], K, M }, o3 = { c->d[3], N, M };
        memcpy(sd, s3, sizeof s3);
        memcpy(wd, w3, sizeof w3);
        memcpy(od, o3, sizeof o3);
        nd = 3;
    }
    dnnl_format_tag_t pt = batch ? dnnl_abc : dnnl_ab, tt = batch ? dnnl_acb : dnnl_ba;
    dnnl_data_type_t ct = c->dt == PB_MIX_BF16  ? dnnl_bf16
                          : c->dt == PB_MIX_F16 ? dnnl_f16
                                                : dd(c->dt),
                     ut = dd(c->dt);
    mdp us = md_new(nd, sd, ut, tb ? tt : pt), uw = md_new(nd, wd, ut, ta ? tt : pt),
        uo = md_new(nd, od, dnnl_f32, pt);
    mdp s = mode == 2 ? md_new(nd, sd, ct, tb ? tt : pt) : us,
        w = mode == 1   ? md_new(nd, wd, ut, dnnl_format_tag_any)
            : mode == 2 ? md_new(nd, wd, ct, dnnl_format_tag_any)
                        : uw;
    dnnl_primitive_attr_t at = NULL;
    if (mode == 3) {
        dnnl_primitive_attr_create(&at);
        if (dnnl_primitive_attr_set_fpmath_mode(at, c->dt == PB_MIX_BF16 ? dnnl_fpmath_mode_bf16
                                                                         : dnnl_fpmath_mode_f16))
            return NULL;
    }
    dnnl_primitive_desc_t pd;
#if V3
    if (dnnl_matmul_primitive_desc_create(&pd, g_eng, s, w, NULL, uo, at))
        return NULL;
#else
    dnnl_matmul_desc_t op;
    if (dnnl_matmul_desc_init(&op, s, w, NULL, uo) ||
        dnnl_primitive_desc_create(&pd, &op, at, g_eng, NULL))
        return NULL;
#endif
    slot sl[3] = { { DNNL_ARG_SRC, dnnl_query_src_md, us, c->in[1], 0, mode >= 2 },
                   { DNNL_ARG_WEIGHTS, dnnl_query_weights_md, uw, c->in[0], 0, mode >= 2 },
                   { DNNL_ARG_DST, dnnl_query_dst_md, uo, c->out, 1, 1 } };
    return wire(NULL, pd, sl, 3);
}

static void *d_mm0(const pb_case *c, int t)
{
    return d_mm(c, 0);
}

static void *d_mm1(const pb_case *c, int t)
{
    return c->op == PB_GEMM ? d_mm(c, 1) : NULL;
}

static void *d_mm2(const pb_case *c, int t)
{
    return d_mm(c, 2);
}

static void *d_mm3(const pb_case *c, int t)
{
    return d_mm(c, 3);
}

/* convolution. mode: 0 plain NCHW/OIHW, 1 library layouts (reorders untimed), 2 library layouts,
 * reorders timed */
static void *d_conv(const pb_case *c, int mode)
{
    if (c->op != PB_CONV_FWD && c->op != PB_CONV_BWDD && c->op != PB_CONV_BWDW)
        return NULL;
    const long *d = c->d;
    long G = d[PB_CV_G], ICG = d[PB_CV_IC] / G, OCG = d[PB_CV_OC] / G;
    dnnl_dims_t sd = { d[PB_CV_N], d[PB_CV_IC], d[PB_CV_IH], d[PB_CV_IW] },
                od = { d[PB_CV_N], d[PB_CV_OC], d[PB_CV_OH], d[PB_CV_OW] },
                wd = { OCG, ICG, d[PB_CV_KH], d[PB_CV_KW] },
                wg = { G, OCG, ICG, d[PB_CV_KH], d[PB_CV_KW] };
    dnnl_dims_t st = { d[PB_CV_S], d[PB_CV_S] }, pl = { d[PB_CV_P], d[PB_CV_P] }, pr;
    for (int i = 0; i < 2; i++)
        pr[i] = (od[2 + i] - 1) * d[PB_CV_S] + d[PB_CV_KH + i] - sd[2 + i] - d[PB_CV_P];
    mdp us = md_new(4, sd, dnnl_f32, dnnl_nchw), uo = md_new(4, od, dnnl_f32, dnnl_nchw),
        uw = G > 1 ? md_new(5, wg, dnnl_f32, dnnl_goihw) : md_new(4, wd, dnnl_f32, dnnl_oihw);
    mdp as = mode ? md_new(4, sd, dnnl_f32, dnnl_format_tag_any) : us,
        ao = mode ? md_new(4, od, dnnl_f32, dnnl_format_tag_any) : uo,
        aw = !mode   ? uw
             : G > 1 ? md_new(5, wg, dnnl_f32, dnnl_format_tag_any)
                     : md_new(4, wd, dnnl_f32, dnnl_format_tag_any);
    dnnl_primitive_desc_t f, pd;
    int t = mode == 2;
#if V3
    dnnl_dims_t dil = { 0, 0 };
    if (dnnl_convolution_forward_primitive_desc_create(
            &f, g_eng, c->op == PB_CONV_FWD ? dnnl_forward_inference : dnnl_forward_training,
            dnnl_convolution_direct, as, aw, NULL, ao, st, dil, pl, pr, NULL))
        return NULL;
#else
    dnnl_convolution_desc_t op;
    if (dnnl_convolution_forward_desc_init(
            &op, c->op == PB_CONV_FWD ? dnnl_forward_inference : dnnl_forward_training,
            dnnl_convolution_direct, as, aw, NULL, ao, st, pl, pr) ||
        dnnl_primitive_desc_create(&f, &op, NULL, g_eng, NULL))
        return NULL;
#endif
    if (c->op == PB_CONV_FWD) {
        slot sl[3] = { { DNNL_ARG_SRC, dnnl_query_src_md, us, c->in[0], 0, t },
                       { DNNL_ARG_WEIGHTS, dnnl_query_weights_md, uw, c->in[1], 0, t },
                       { DNNL_ARG_DST, dnnl_query_dst_md, uo, c->out, 1, t } };
        return wire(NULL, f, sl, 3);
    }
    if (c->op == PB_CONV_BWDD) {
#if V3
        if (dnnl_convolution_backward_data_primitive_desc_create(
                &pd, g_eng, dnnl_convolution_direct, as, aw, ao, st, dil, pl, pr, f, NULL))
            return NULL;
#else
        if (dnnl_convolution_backward_data_desc_init(&op, dnnl_convolution_direct, as, aw, ao, st,
                                                     pl, pr) ||
            dnnl_primitive_desc_create(&pd, &op, NULL, g_eng, f))
            return NULL;
#endif
        dnnl_primitive_desc_destroy(f);
        slot sl[3] = { { DNNL_ARG_DIFF_DST, dnnl_query_diff_dst_md, uo, c->in[0], 0, t },
                       { DNNL_ARG_WEIGHTS, dnnl_query_weights_md, uw, c->in[1], 0, t },
                       { DNNL_ARG_DIFF_SRC, dnnl_query_diff_src_md, us, c->out, 1, t } };
        return wire(NULL, pd, sl, 3);
    }
#if V3
    if (dnnl_convolution_backward_weights_primitive_desc_create(
            &pd, g_eng, dnnl_convolution_direct, as, aw, NULL, ao, st, dil, pl, pr, f, NULL))
        return NULL;
#else
    if (dnnl_convolution_backward_weights_desc_init(&op, dnnl_convolution_direct, as, aw, NULL, ao,
                                                    st, pl, pr) ||
        dnnl_primitive_desc_create(&pd, &op, NULL, g_eng, f))
        return NULL;
#endif
    dnnl_primitive_desc_destroy(f);
    slot sl[3] = { { DNNL_ARG_SRC, dnnl_query_src_md, us, c->in[0], 0, t },
                   { DNNL_ARG_DIFF_DST, dnnl_query_diff_dst_md, uo, c->in[1], 0, t },
                   { DNNL_ARG_DIFF_WEIGHTS, dnnl_query_diff_weights_md, uw, c->out, 1, t } };
    return wire(NULL, pd, sl, 3);
}

static void *d_cv0(const pb_case *c, int t)
{
    return d_conv(c, 0);
}

static void *d_cv1(const pb_case *c, int t)
{
    return d_conv(c, 1);
}

static void *d_cv2(const pb_case *c, int t)
{
    return d_conv(c, 2);
}

static dnnl_primitive_desc_t softmax_pd(mdp s, mdp o, int axis)
{
    dnnl_primitive_desc_t pd;
#if V3
    return dnnl_softmax_forward_primitive_desc_create(&pd, g_eng, dnnl_forward_inference,
                                                      dnnl_softmax_accurate, s, o, axis, NULL)
               ? NULL
               : pd;
#else
    dnnl_softmax_v2_desc_t op;
    return dnnl_softmax_v2_forward_desc_init(&op, dnnl_forward_inference, dnnl_softmax_accurate, s,
                                             o, axis) ||
                   dnnl_primitive_desc_create(&pd, &op, NULL, g_eng, NULL)
               ? NULL
               : pd;
#endif
}

static void *d_misc(const pb_case *c, int th)
{
    const long *d = c->d;
    dnnl_primitive_desc_t pd = NULL;
    slot sl[3];
    int n = 2;
    if (c->op == PB_SOFTMAX || c->op == PB_REDUCE) {
        /* size-1 outer and inner dimensions are dropped: the optimised reduction wants the reduced
         * dimension last */
        dnnl_dims_t sd, od;
        int nd = 0, ax = 0;
        for (int i = 0; i < 3; i++)
            if (i == 1 || d[i] > 1) {
                if (i == 1)
                    ax = nd;
                sd[nd] = d[i];
                od[nd++] = i == 1 && c->op == PB_REDUCE ? 1 : d[i];
            }
        dnnl_format_tag_t tag = nd == 1 ? dnnl_a : nd == 2 ? dnnl_ab : dnnl_abc;
        mdp s = md_new(nd, sd, dnnl_f32, tag), o = md_new(nd, od, dnnl_f32, tag);
        if (c->op == PB_SOFTMAX)
            pd = softmax_pd(s, o, ax);
        else {
#if V3
            if (dnnl_reduction_primitive_desc_create(&pd, g_eng, dnnl_reduction_sum, s, o, 0, 0,
                                                     NULL))
                pd = NULL;
#else
            dnnl_reduction_desc_t op;
            if (dnnl_reduction_desc_init(&op, dnnl_reduction_sum, s, o, 0, 0) ||
                dnnl_primitive_desc_create(&pd, &op, NULL, g_eng, NULL))
                pd = NULL;
#endif
        }
        sl[0] = (slot){ DNNL_ARG_SRC, dnnl_query_src_md, s, c->in[0], 0, 1 };
        sl[1] = (slot){ DNNL_ARG_DST, dnnl_query_dst_md, o, c->out, 1, 1 };
    } else if (c->op == PB_UNARY || c->op == PB_BINARY) {
        dnnl_dims_t sd = { d[0] };
        mdp s = md_new(1, sd, dnnl_f32, dnnl_a);
        if (c->op == PB_BINARY) {
#if V3
            if (dnnl_binary_primitive_desc_create(&pd, g_eng, dnnl_binary_add, s, s, s, NULL))
                pd = NULL;
#else
            dnnl_binary_desc_t op;
            if (dnnl_binary_desc_init(&op, dnnl_binary_add, s, s, s) ||
                dnnl_primitive_desc_create(&pd, &op, NULL, g_eng, NULL))
                pd = NULL;
#endif
            sl[0] = (slot){ DNNL_ARG_SRC_0, dnnl_query_src_md, s, c->in[0], 0, 1 };
            sl[1] = (slot){ DNNL_ARG_DST, dnnl_query_dst_md, s, c->out, 1, 1 };
            sl[2] = (slot){ DNNL_ARG_SRC_1, dnnl_query_src_md, s, c->in[1], 0, 1 };
            n = 3;
        } else {
            static const dnnl_alg_kind_t al[] = { dnnl_eltwise_relu, dnnl_eltwise_logistic,
                                                  dnnl_eltwise_tanh, dnnl_eltwise_exp,
                                                  dnnl_eltwise_log,  dnnl_eltwise_sqrt,
                                                  dnnl_eltwise_abs,  dnnl_eltwise_linear };
            float alpha = d[1] == PB_NEG ? -1.0f : 0.0f;
#if V3
            if (dnnl_eltwise_forward_primitive_desc_create(&pd, g_eng, dnnl_forward_inference,
                                                           al[d[1]], s, s, alpha, 0, NULL))
                pd = NULL;
#else
            dnnl_eltwise_desc_t op;
            if (dnnl_eltwise_forward_desc_init(&op, dnnl_forward_inference, al[d[1]], s, alpha,
                                               0) ||
                dnnl_primitive_desc_create(&pd, &op, NULL, g_eng, NULL))
                pd = NULL;
#endif
            sl[0] = (slot){ DNNL_ARG_SRC, dnnl_query_src_md, s, c->in[0], 0, 1 };
            sl[1] = (slot){ DNNL_ARG_DST, dnnl_query_dst_md, s, c->out, 1, 1 };
        }
    }
    return pd ? wire(NULL, pd, sl, n) : NULL;
}

/* attention composed from matmul, softmax, matmul over the whole tensor; not causal */
static void *d_attn(const pb_case *c, int th)
{
    if (c->op != PB_ATTN || c->d[5])
        return NULL;
    const long *d = c->d;
    long BH = d[0] * d[1];
    dnnl_dims_t q = { BH, d[2], d[4] }, kt = { BH, d[4], d[3] }, v = { BH, d[3], d[4] },
                s = { BH, d[2], d[3] };
    mdp mq = md_new(3, q, dnnl_f32, dnnl_abc), mk = md_new(3, kt, dnnl_f32, dnnl_acb),
        mv = md_new(3, v, dnnl_f32, dnnl_abc), ms = md_new(3, s, dnnl_f32, dnnl_abc);
    float *S = xalloc((size_t)BH * d[2] * d[3] * 4), *Qs = xalloc(c->in_n[0] * 4);
    for (size_t i = 0; i < c->in_n[0]; i++)
        Qs[i] = ((float *)c->in[0])[i] / sqrtf((float)d[4]);
    dnnl_primitive_desc_t p1, p2, p3 = softmax_pd(ms, ms, 2);
#if V3
    if (dnnl_matmul_primitive_desc_create(&p1, g_eng, mq, mk, NULL, ms, NULL) ||
        dnnl_matmul_primitive_desc_create(&p2, g_eng, ms, mv, NULL, mq, NULL))
        return NULL;
#else
    dnnl_matmul_desc_t o1, o2;
    if (dnnl_matmul_desc_init(&o1, mq, mk, NULL, ms) ||
        dnnl_primitive_desc_create(&p1, &o1, NULL, g_eng, NULL) ||
        dnnl_matmul_desc_init(&o2, ms, mv, NULL, mq) ||
        dnnl_primitive_desc_create(&p2, &o2, NULL, g_eng, NULL))
        return NULL;
#endif
    if (!p3)
        return NULL;
    slot a[3] = { { DNNL_ARG_SRC, dnnl_query_src_md, mq, Qs, 0, 1 },
                  { DNNL_ARG_WEIGHTS, dnnl_query_weights_md, mk, c->in[1], 0, 1 },
                  { DNNL_ARG_DST, dnnl_query_dst_md, ms, S, 1, 1 } };
    slot b[2] = { { DNNL_ARG_SRC, dnnl_query_src_md, ms, S, 0, 1 },
                  { DNNL_ARG_DST, dnnl_query_dst_md, ms, S, 1, 1 } };
    slot e[3] = { { DNNL_ARG_SRC, dnnl_query_src_md, ms, S, 0, 1 },
                  { DNNL_ARG_WEIGHTS, dnnl_query_weights_md, mv, c->in[2], 0, 1 },
                  { DNNL_ARG_DST, dnnl_query_dst_md, mq, c->out, 1, 1 } };
    dctx *x = wire(NULL, p1, a, 3);
    if (x)
        x = wire(x, p3, b, 2);
    if (x)
        x = wire(x, p2, e, 3);
    if (x) {
        x->buf[0] = S;
        x->buf[1] = Qs;
    }
    return x;
}

static void *d_sgemm_prep(const pb_case *c, int th)
{
    return c->op == PB_GEMM && c->dt == PB_F32 ? self_ctx(c, th) : NULL;
}

static int d_sgemm_run(void *v)
{
    const pb_case *c = CASE(v);
    const long *d = c->d;
    return dnnl_sgemm(d[4] ? 'T' : 'N', d[3] ? 'T' : 'N', d[1], d[0], d[2], 1, c->in[1],
                      d[4] ? d[1] : d[2], c->in[0], d[3] ? d[2] : d[0], 0, c->out, d[0]);
}

static const pb_peer sgemm = { "dnnl-sgemm", d_sgemm_prep, d_sgemm_run, NULL, free },
                     mm0 = { "dnnl-matmul", d_mm0, d_run, d_sync, d_done },
                     mm1 = { "dnnl-matmul-packed", d_mm1, d_run, d_sync, d_done },
                     mm2 = { "dnnl-convert+matmul", d_mm2, d_run, d_sync, d_done },
                     mm3 = { "dnnl-fpmath", d_mm3, d_run, d_sync, d_done },
                     cv0 = { "dnnl-nchw", d_cv0, d_run, d_sync, d_done },
                     cv1 = { "dnnl-any", d_cv1, d_run, d_sync, d_done },
                     cv2 = { "dnnl-any+reorder", d_cv2, d_run, d_sync, d_done },
                     misc = { "dnnl", d_misc, d_run, d_sync, d_done },
                     composed = { "dnnl-composed", d_attn, d_run, d_sync, d_done };

const pb_peer *const dnnl_peers[] = { &sgemm, &mm0, &mm1,  &mm2,      &mm3, &cv0,
                                      &cv1,   &cv2, &misc, &composed, NULL };

bool dnnl_open(void)
{
    const dnnl_version_t *v = dnnl_version();
    if (dnnl_engine_create(&g_eng, dnnl_cpu, 0) ||
        dnnl_stream_create(&g_str, g_eng, dnnl_stream_default_flags)) {
        fprintf(stderr, "oneDNN has no engine\n");
        return false;
    }
    fprintf(stderr, "# oneDNN %d.%d.%d effective isa 0x%x\n", v->major, v->minor, v->patch,
            (unsigned)dnnl_get_effective_cpu_isa());
    return true;
}
