/* SPDX-License-Identifier: Apache-2.0 */
/* unary and binary: loops over vectors, the last of which is masked. */
#include "compute_backend.h"

#include "share.h"
#include "vec.h"
#include "vec_math.h"

/* Both kinds in one count. */
#define MAP_BINARY      8
#define MAP_IS(two, op) ((two) ? MAP_BINARY + (op) : (op))
#define MAP_UNROLL      4
_Static_assert(CB_UNARY_NEG < MAP_BINARY, "a binary op has a number of its own");

#define EACH_TYPE "map_type_tmpl.h"
#include "each_type.h"

struct map_job {
    const struct cpu_map *map;
    uint32_t op;
    bool stream;
    struct share share;
};

static void map_task(void *ctx, uint64_t task, unsigned thread)
{
    (void)thread;
    const struct map_job *job = ctx;
    const struct cpu_map *g = job->map;
    const uint64_t begin = share_begin(&job->share, task), n = share_end(&job->share, task) - begin;
    switch (g->dtype) {
    case CB_F64: f64_map(job->op, g, begin, n, job->stream); break;
    case CB_F32: f32_map(job->op, g, begin, n, job->stream); break;
    case CB_BF16: bf16_map(job->op, g, begin, n, job->stream); break;
    default: f16_map(job->op, g, begin, n, job->stream); break;
    }
    if (job->stream)
        vec_fence();
}

void ISA(cpu_map)(const struct cpu_map *g, const struct cpu_work *work)
{
    const uint64_t bytes = g->n * (g->dtype == CB_F64 ? 8 : g->dtype == CB_F32 ? 4 : 2);
    struct map_job job = { .map = g,
                           .op = (uint32_t)MAP_IS(g->b, g->op),
                           .stream = share_streams(bytes, g->a, g->output) && g->b != g->output,
                           .share = share_make(work, g->n, bytes * (g->b ? 3 : 2), 4096) };
    share_run(&job.share, work->team, map_task, &job);
}
