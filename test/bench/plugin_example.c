/* SPDX-License-Identifier: Apache-2.0 */
/* The smallest plugin: a peer that is naive. Replace the body of ex_run by calls into a library,
 * and link or dlopen that; adapter.c is a whole one. */
#include "peerbench.h"
#include <stdlib.h>

typedef struct {
    const pb_case *c;
    int threads;
} ex;

static void *ex_prep(const pb_case *c, int threads)
{
    if (c->op != PB_GEMM || c->dt != PB_F64 || c->flops > 1e8)
        return NULL; /* not supported: peer is skipped for this case */
    ex *x = malloc(sizeof *x);
    if (x) {
        x->c = c;
        x->threads = threads;
    }
    return x;
}
static int ex_run(void *v)
{
    const pb_case *c = ((ex *)v)->c;
    long m = c->d[0], n = c->d[1], k = c->d[2], ta = c->d[3], tb = c->d[4];
    const double *a = c->in[0], *b = c->in[1];
    double *o = c->out;
    for (long j = 0; j < n; j++)
        for (long i = 0; i < m; i++) {
            double s = 0;
            for (long p = 0; p < k; p++)
                s += (ta ? a[p + i * k] : a[i + p * m]) * (tb ? b[j + p * n] : b[p + j * k]);
            o[i + j * m] = s;
        }
    return 0;
}
static const pb_peer peer = { "example", ex_prep, ex_run, NULL, free };
static const pb_peer *const list[] = { &peer, NULL };
const pb_peer *const *pb_plugin(int abi)
{
    return abi == PB_ABI ? list : NULL;
}
