/* SPDX-License-Identifier: Apache-2.0 */
/* A compute backend as a peer of peerbench: the one that any program would get, so that CB_PLUGINS,
 * CB_BACKEND and CB_OPTIONS choose it. Where the backend can import host memory it computes on the
 * very buffers that the other peers use; else it has copies. */
#include "peerbench.h"

#include "cb_loader.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static cb_loader *loader;
static cb_backend be;
static cb_extension map;
static bool is_open;

/* ---- the backend ---- */

static void complain(const cb_error *err)
{
    fprintf(stderr, "# compute backend: %s\n", err->msg);
}

__attribute__((destructor)) static void close_backend(void)
{
    if (is_open)
        cb_loader_release(loader, be, NULL);
    cb_loader_close(loader, NULL);
}

/* The backend with that many threads; its id is asked for first, since options need one. */
static bool open_backend(int threads)
{
    char option[32], summary[200];
    const char *const options[] = { option };
    uint64_t length = sizeof(summary);
    cb_error err;
    cb_request request;
    cb_error_init(&err);
    cb_request_init(&request);
    snprintf(option, sizeof(option), "threads=%d", threads);
    if (cb_loader_open(NULL, &loader, &err) != CB_OK ||
        cb_loader_select(loader, NULL, &be, &err) != CB_OK)
        goto fail;
    request.id = be.api->name;
    request.options = options;
    request.n_options = 1;
    cb_loader_release(loader, be, NULL);
    if (cb_loader_select(loader, &request, &be, &err) != CB_OK)
        goto fail;
    cb_extension_init(&map);
    if (be.api->get_extension(be.self, CB_MAP_ID, &map, NULL) != CB_OK)
        map.api = NULL;
    if (be.api->info(be.self, "summary", summary, &length, NULL) == CB_OK)
        fprintf(stderr, "# compute backend: %s\n", summary);
    return true;
fail:
    complain(&err);
    return false;
}

static bool backend_is_open(int threads)
{
    static bool tried;
    if (!tried)
        is_open = open_backend(threads);
    tried = true;
    return is_open;
}

/* ---- a case ---- */

#define OPERANDS 4 /* three inputs, then the output */

struct call {
    const pb_case *c;
    uint32_t op; /* CB_OP_* */
    union {
        cb_gemm_args gemm;
        cb_gemm_mixed_precision_args mixed;
        cb_batched_gemm_args batched;
        cb_conv2d_args conv2d;
        cb_attention_args attention;
        cb_softmax_args softmax;
        cb_reduce_args reduce;
        cb_unary_args unary;
        cb_binary_args binary;
        cb_rows_args rows;
    } args;
    uint64_t *field[OPERANDS]; /* in args; NULL: no such operand */
    uint64_t addresses[OPERANDS];
    uint64_t shape[3];
    uint64_t *indices; /* owned */
};

static uint64_t at(const pb_case *c, int i)
{
    return (uint64_t)c->d[i];
}

static uint32_t dtype_of(const pb_case *c)
{
    switch (c->dt) {
    case PB_F64: return CB_F64;
    case PB_BF16: return CB_BF16;
    case PB_F16: return CB_F16;
    default: return CB_F32;
    }
}

static uint64_t element_size(const pb_case *c, bool output)
{
    if (c->dt == PB_F64)
        return 8;
    return !output && (c->dt == PB_BF16 || c->dt == PB_F16) ? 2 : 4;
}

/* gemm, gemm_mixed_precision and batched_gemm begin alike. */
static void make_gemm(struct call *x)
{
    const pb_case *c = x->c;
    const bool batched = c->op == PB_GEMM_BATCH,
               mixed = c->dt == PB_MIX_BF16 || c->dt == PB_MIX_F16;
    const bool ta = !batched && c->d[3], tb = !batched && c->d[4];
    cb_batched_gemm_args *g = &x->args.batched;
    cb_batched_gemm_args_init(g);
    x->op = batched ? CB_OP_BATCHED_GEMM : mixed ? CB_OP_GEMM_MIXED_PRECISION : CB_OP_GEMM;
    g->m = at(c, 0);
    g->n = at(c, 1);
    g->k = at(c, 2);
    g->trans_a = ta;
    g->trans_b = tb;
    g->alpha = 1.0;
    g->lda = ta ? g->k : g->m;
    g->ldb = tb ? g->n : g->k;
    g->ldc = g->m;
    g->dtype = dtype_of(c);
    if (batched) {
        g->batch = at(c, 3);
        g->stride_a = g->m * g->k;
        g->stride_b = g->k * g->n;
        g->stride_c = g->m * g->n;
    } else {
        g->size = sizeof(cb_gemm_args);
        x->args.gemm.stream = NULL;
    }
    if (mixed)
        x->args.mixed.precision = c->dt == PB_MIX_F16 ? CB_MIXED_F16 : CB_MIXED_BF16;
    x->field[0] = &g->a;
    x->field[1] = &g->b;
    x->field[3] = &g->c;
}

static void make_conv2d(struct call *x)
{
    const pb_case *c = x->c;
    cb_conv2d_args *v = &x->args.conv2d;
    cb_conv2d_args_init(v);
    v->groups = at(c, PB_CV_G);
    for (int i = 0; i < 4; i++)
        v->padding[i] = at(c, PB_CV_P);
    for (int i = 0; i < 2; i++) {
        v->stride[i] = at(c, PB_CV_S);
        v->input_shape[i] = at(c, i ? PB_CV_IC : PB_CV_N);
        v->input_shape[2 + i] = at(c, PB_CV_IH + i);
        v->filter_shape[i] = i ? at(c, PB_CV_IC) / v->groups : at(c, PB_CV_OC);
        v->filter_shape[2 + i] = at(c, PB_CV_KH + i);
        v->output_shape[i] = at(c, i ? PB_CV_OC : PB_CV_N);
        v->output_shape[2 + i] = at(c, PB_CV_OH + i);
    }
    x->op = c->op == PB_CONV_FWD    ? CB_OP_CONV2D_FORWARD
            : c->op == PB_CONV_BWDD ? CB_OP_CONV2D_BACKWARD_DATA
                                    : CB_OP_CONV2D_BACKWARD_FILTER;
    x->field[0] = c->op == PB_CONV_BWDD ? &v->output : &v->input;
    x->field[1] = c->op == PB_CONV_BWDW ? &v->output : &v->filter;
    x->field[3] = c->op == PB_CONV_FWD    ? &v->output
                  : c->op == PB_CONV_BWDD ? &v->input
                                          : &v->filter;
}

static void make_axis(struct call *x)
{
    cb_softmax_args *s = &x->args.softmax;
    cb_reduce_args *r = &x->args.reduce;
    for (int i = 0; i < 3; i++)
        x->shape[i] = at(x->c, i);
    if (x->c->op == PB_SOFTMAX) {
        cb_softmax_args_init(s);
        s->shape = x->shape;
        s->rank = 3;
        s->axis = 1;
        x->op = CB_OP_SOFTMAX;
        x->field[0] = &s->input;
        x->field[3] = &s->output;
        return;
    }
    cb_reduce_args_init(r);
    r->op = CB_REDUCE_SUM;
    r->shape = x->shape;
    r->rank = 3;
    r->axis = 1;
    x->op = CB_OP_REDUCE;
    x->field[0] = &r->input;
    x->field[3] = &r->output;
}

/* The kinds of peerbench are the ops of the ABI. */
_Static_assert(PB_RELU == (int)CB_UNARY_RELU && PB_EXP == (int)CB_UNARY_EXP &&
                   PB_NEG == (int)CB_UNARY_NEG,
               "the same order");

static void make_map(struct call *x)
{
    cb_unary_args *u = &x->args.unary;
    cb_binary_args *b = &x->args.binary;
    if (x->c->op == PB_UNARY) {
        cb_unary_args_init(u);
        u->op = (uint32_t)x->c->d[1];
        u->n = at(x->c, 0);
        x->op = CB_OP_UNARY;
        x->field[0] = &u->input;
        x->field[3] = &u->output;
        return;
    }
    cb_binary_args_init(b);
    b->op = CB_BINARY_ADD;
    b->n = at(x->c, 0);
    x->op = CB_OP_BINARY;
    x->field[0] = &b->a;
    x->field[1] = &b->b;
    x->field[3] = &b->output;
}

static void make_attention(struct call *x)
{
    const pb_case *c = x->c;
    cb_attention_args *a = &x->args.attention;
    cb_attention_args_init(a);
    a->batch = at(c, 0);
    a->heads = at(c, 1);
    a->seq_q = at(c, 2);
    a->seq_kv = at(c, 3);
    a->head_dim = at(c, 4);
    a->flags = c->d[5] ? CB_ATTENTION_CAUSAL : 0;
    a->scale = 1.0 / sqrt((double)c->d[4]);
    x->op = CB_OP_ATTENTION;
    x->field[0] = &a->q;
    x->field[1] = &a->k;
    x->field[2] = &a->v;
    x->field[3] = &a->o;
}

static bool make_gather(struct call *x)
{
    const int32_t *index = x->c->in[1];
    cb_rows_args *r = &x->args.rows;
    cb_rows_args_init(r);
    r->n_indices = at(x->c, 0);
    r->cols = at(x->c, 1);
    r->rows = at(x->c, 2);
    x->indices = calloc(r->n_indices, sizeof(*x->indices));
    for (uint64_t i = 0; x->indices && i < r->n_indices; i++)
        x->indices[i] = (uint64_t)index[i];
    r->indices = x->indices;
    x->op = CB_OP_GATHER;
    x->field[0] = &r->input;
    x->field[3] = &r->output;
    return x->indices != NULL;
}

/* False: the ABI has no such op, as adding while scattering. */
static bool make(struct call *x)
{
    switch (x->c->op) {
    case PB_GEMM:
    case PB_GEMM_BATCH: make_gemm(x); return true;
    case PB_CONV_FWD:
    case PB_CONV_BWDD:
    case PB_CONV_BWDW: make_conv2d(x); return true;
    case PB_SOFTMAX:
    case PB_REDUCE: make_axis(x); return true;
    case PB_UNARY:
    case PB_BINARY: make_map(x); return true;
    case PB_ATTN: make_attention(x); return true;
    case PB_GATHER: return make_gather(x);
    default: return false;
    }
}

/* ---- what peerbench calls ---- */

static uint64_t bytes_of(const pb_case *c, int operand)
{
    const bool output = operand == OPERANDS - 1;
    return (output ? c->out_n : c->in_n[operand]) * element_size(c, output);
}

static void *host_of(const pb_case *c, int operand)
{
    return operand == OPERANDS - 1 ? c->out : c->in[operand];
}

static cb_status place(struct call *x, int i, cb_error *err)
{
    const cb_map_v1 *api = map.api;
    const uint64_t bytes = bytes_of(x->c, i);
    if (api)
        return api->import_host(map.self, host_of(x->c, i), bytes, &x->addresses[i], err);
    const cb_status status = cb_alloc(be, bytes, &x->addresses[i], err);
    if (status != CB_OK || i == OPERANDS - 1)
        return status;
    return cb_upload(be, x->addresses[i], host_of(x->c, i), bytes, err);
}

static void done(void *context)
{
    struct call *x = context;
    for (int i = 0; i < OPERANDS; i++)
        if (x->addresses[i])
            cb_free(be, x->addresses[i], NULL);
    free(x->indices);
    free(x);
}

static void *prep(const pb_case *c, int threads)
{
    cb_error err;
    cb_support support;
    cb_error_init(&err);
    cb_support_init(&support);
    struct call *x = backend_is_open(threads) ? calloc(1, sizeof(*x)) : NULL;
    if (!x)
        return NULL;
    x->c = c;
    if (!make(x) || cb_supports(be, x->op, &x->args, &support, &err) != CB_OK ||
        support.answer == CB_SUPPORT_NO)
        goto fail;
    for (int i = 0; i < OPERANDS; i++) {
        if (!x->field[i])
            continue;
        if (place(x, i, &err) != CB_OK) {
            complain(&err);
            goto fail;
        }
        *x->field[i] = x->addresses[i];
    }
    return x;
fail:
    done(x);
    return NULL;
}

static cb_status call(const struct call *x, cb_error *err)
{
    switch (x->op) {
    case CB_OP_GEMM: return cb_gemm(be, &x->args.gemm, err);
    case CB_OP_GEMM_MIXED_PRECISION: return cb_gemm_mixed_precision(be, &x->args.mixed, err);
    case CB_OP_BATCHED_GEMM: return cb_batched_gemm(be, &x->args.batched, err);
    case CB_OP_CONV2D_FORWARD: return cb_conv2d_forward(be, &x->args.conv2d, err);
    case CB_OP_CONV2D_BACKWARD_DATA: return cb_conv2d_backward_data(be, &x->args.conv2d, err);
    case CB_OP_CONV2D_BACKWARD_FILTER: return cb_conv2d_backward_filter(be, &x->args.conv2d, err);
    case CB_OP_ATTENTION: return cb_attention(be, &x->args.attention, err);
    case CB_OP_SOFTMAX: return cb_softmax(be, &x->args.softmax, err);
    case CB_OP_REDUCE: return cb_reduce(be, &x->args.reduce, err);
    case CB_OP_UNARY: return cb_unary(be, &x->args.unary, err);
    case CB_OP_BINARY: return cb_binary(be, &x->args.binary, err);
    default: return cb_gather(be, &x->args.rows, err);
    }
}

static int run(void *context)
{
    cb_error err;
    cb_error_init(&err);
    cb_status status = call(context, &err);
    if (status == CB_OK)
        status = cb_synchronize(be, &err);
    if (status != CB_OK)
        complain(&err);
    return status != CB_OK;
}

static void sync_output(void *context)
{
    const struct call *x = context;
    const int out = OPERANDS - 1;
    cb_error err;
    cb_error_init(&err);
    if (!map.api &&
        cb_download(be, x->c->out, x->addresses[out], bytes_of(x->c, out), &err) != CB_OK)
        complain(&err);
}

__attribute__((visibility("default"))) const pb_peer *const *pb_plugin(int abi)
{
    static const pb_peer peer = { "compute-backend", prep, run, sync_output, done };
    static const pb_peer *const list[] = { &peer, NULL };
    return abi == PB_ABI ? list : NULL;
}
