/* SPDX-License-Identifier: Apache-2.0 */
/* softmax. A line is the elements along the axis. Its exponentials stay in a buffer on the stack
 * until their sum is known; those of a longer line in the output, where they fit and stay in the
 * cache; and those of the longest, and there is no limit to them, are computed twice. NaN, an
 * infinite maximum and a line of -infinity come out as NaN by themselves. */
#include "compute_backend.h"

#include "../../dispatch/cache.h"
#include "share.h"
#include "vec.h"
#include "vec_math.h"

#define SOFTMAX_BYTES  32768u /* of the buffer */
#define SOFTMAX_BEHIND 16384u /* of a line that is written while the next is computed */
#define SOFTMAX_BLOCK  4096u  /* terms, per lane at most, that are summed before the sum moves on */
#define SOFTMAX_SHORT  4      /* vectors of a line that stays in registers, at most */
#define SOFTMAX_COLS   4      /* vectors of a tile of columns */
#define SOFTMAX_AHEAD  8      /* rows that the prefetch of a tile is ahead */

struct softmax_job {
    const struct cpu_axis *axis;
    bool stream;
    struct share share;
};

#define EACH_TYPE "softmax_type_tmpl.h"
#include "each_type.h"

static void softmax_task(void *ctx, uint64_t task, unsigned thread)
{
    (void)thread;
    const struct softmax_job *job = ctx;
    const uint64_t begin = share_begin(&job->share, task), end = share_end(&job->share, task);
    switch (job->axis->dtype) {
    case CB_F64: f64_softmax(job->axis, begin, end, job->stream); break;
    case CB_F32: f32_softmax(job->axis, begin, end, job->stream); break;
    case CB_BF16: bf16_softmax(job->axis, begin, end, job->stream); break;
    default: f16_softmax(job->axis, begin, end, job->stream); break;
    }
    if (job->stream)
        vec_fence();
}

/* A unit is a line, or a tile of columns that lie side by side. */
void ISA(cpu_softmax)(const struct cpu_axis *s, const struct cpu_work *work)
{
    const uint64_t width = s->dtype == CB_F64 ? 8 : s->dtype == CB_F32 ? 4 : 2;
    const uint64_t columns = SOFTMAX_COLS * (s->dtype == CB_F64 ? f64_n : f32_n);
    const uint64_t tiles = (s->inner + columns - 1) / columns;
    const uint64_t bytes = s->outer * s->len * s->inner * width;
    struct softmax_job job = { .axis = s,
                               .stream = share_streams(bytes, s->input, s->output),
                               .share = share_make(work, s->outer * tiles, 2 * bytes, 1) };
    share_run(&job.share, work->team, softmax_task, &job);
}
