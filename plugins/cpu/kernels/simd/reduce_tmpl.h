/* SPDX-License-Identifier: Apache-2.0 */
/* reduce, in three ways: along a line that lies together; down columns, in tiles whose accumulators
 * are in the first cache; and, where the columns are few, several rows as if they were one, whose
 * accumulators are folded at the end. How a sum is ordered depends on the shape alone. */
#include "reduce_acc.h"
#include "share.h"

#define REDUCE_NARROW 64u      /* columns; of no more, rows are folded */
#define REDUCE_FOLDED 128u     /* columns of a folded row, about */
#define REDUCE_CHUNK  65536ull /* elements at least of a chunk of a narrow slice */
#define REDUCE_PARTS  512u     /* results of all its chunks: 8 KB */

/* A narrow slice, `inner` up to REDUCE_NARROW, in chunks of so many rows. */
struct reduce_chunks {
    uint64_t rows, n;
};

static struct reduce_chunks reduce_cut(const struct cpu_axis *r)
{
    const uint64_t most = REDUCE_PARTS / r->inner, least = REDUCE_CHUNK / r->inner;
    const uint64_t even = (r->len + most - 1) / most;
    struct reduce_chunks c = { even > least ? even : least, 1 };
    if (r->len > c.rows)
        c.n = (r->len + c.rows - 1) / c.rows;
    return c;
}

static inline double reduce_result(const struct cpu_axis *r, const struct wide_sum *x)
{
    if (r->op == CB_REDUCE_MEAN)
        return wide_sum_total(x) / (double)r->len;
    return r->op == CB_REDUCE_SUM ? wide_sum_total(x) : x->sum;
}

#define EACH_TYPE "reduce_type_tmpl.h"
#include "each_type.h"

struct reduce_job {
    const struct cpu_axis *axis;
    uint32_t op; /* mean is sum */
    uint64_t slice;
    struct reduce_chunks chunks;
    struct wide_sum *parts; /* of one slice: a chunk after the other */
    struct share share;
};

#define REDUCE_CALL(dtype, function, ...)                                                          \
    do {                                                                                           \
        switch (dtype) {                                                                           \
        case CB_F64: f64_##function(__VA_ARGS__); break;                                           \
        case CB_F32: f32_##function(__VA_ARGS__); break;                                           \
        case CB_BF16: bf16_##function(__VA_ARGS__); break;                                         \
        default: f16_##function(__VA_ARGS__); break;                                               \
        }                                                                                          \
    } while (0)

static void strips_task(void *ctx, uint64_t task, unsigned thread)
{
    (void)thread;
    const struct reduce_job *job = ctx;
    REDUCE_CALL(job->axis->dtype, reduce_strips, job->op, job->axis, share_begin(&job->share, task),
                share_end(&job->share, task));
}

static void slices_task(void *ctx, uint64_t task, unsigned thread)
{
    (void)thread;
    const struct reduce_job *job = ctx;
    struct wide_sum parts[REDUCE_NARROW];
    const uint64_t end = share_end(&job->share, task);
    for (uint64_t slice = share_begin(&job->share, task); slice < end; slice++) {
        REDUCE_CALL(job->axis->dtype, reduce_chunk, job->op, job->axis, slice, 0, job->axis->len,
                    parts);
        REDUCE_CALL(job->axis->dtype, reduce_finish, job->axis, slice, parts);
    }
}

static void chunk_task(void *ctx, uint64_t task, unsigned thread)
{
    (void)thread;
    const struct reduce_job *job = ctx;
    const uint64_t begin = task * job->chunks.rows, left = job->axis->len - begin;
    REDUCE_CALL(job->axis->dtype, reduce_chunk, job->op, job->axis, job->slice, begin,
                left < job->chunks.rows ? left : job->chunks.rows,
                job->parts + task * job->axis->inner);
}

/* Slices so long that several threads may work on one. */
static void reduce_chunked(struct reduce_job *job, const struct cpu_work *work)
{
    const uint64_t inner = job->axis->inner;
    struct wide_sum parts[REDUCE_PARTS];
    job->parts = parts;
    job->share.tasks = job->chunks.n;
    for (job->slice = 0; job->slice < job->axis->outer; job->slice++) {
        share_run(&job->share, work->team, chunk_task, job);
        for (uint64_t i = inner; i < job->chunks.n * inner; i++)
            reduce_merge(job->op, &parts[i % inner], parts[i]);
        REDUCE_CALL(job->axis->dtype, reduce_finish, job->axis, job->slice, parts);
    }
}

void ISA(cpu_reduce)(const struct cpu_axis *r, const struct cpu_work *work)
{
    const uint64_t width = r->dtype == CB_F64 ? 8 : r->dtype == CB_F32 ? 4 : 2;
    const uint64_t slice_bytes = r->len * r->inner * width;
    const uint64_t strips = (r->inner + REDUCE_NARROW - 1) / REDUCE_NARROW;
    struct reduce_job job = { .axis = r,
                              .op = r->op == CB_REDUCE_MEAN ? CB_REDUCE_SUM : r->op,
                              .share =
                                  share_make(work, r->outer * strips, r->outer * slice_bytes, 1) };
    if (!r->inner)
        return;
    if (r->inner > REDUCE_NARROW) {
        share_run(&job.share, work->team, strips_task, &job);
        return;
    }
    job.chunks = reduce_cut(r);
    if (job.chunks.n > 1)
        reduce_chunked(&job, work);
    else
        share_run(&job.share, work->team, slices_task, &job);
}
