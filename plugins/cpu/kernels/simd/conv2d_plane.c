/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise sums: each plane of pixels comes from one plane of the source, along its rows as they
 * lie. */
#include "conv2d_set.h"

#include <math.h>

#include "share.h"

#define TASK_PIXELS 8192u

bool conv2d_has_planes(const struct conv2d_view *v)
{
    return v->sources == 1 && v->columns < CONV2D_WIDE && v->x.stride == 1 && v->column == 1 &&
           v->y.taps <= CONV2D_PLANE_TAPS && v->x.taps <= CONV2D_PLANE_TAPS / v->y.taps &&
           v->x.pad <= INT64_MAX / 2 && v->x.at <= INT64_MAX / 2;
}

struct job {
    const struct conv2d_set *set;
    const struct conv2d_view *v;
    uint64_t rows, pieces; /* of a task; of a plane */
    bool stream, padded;
};

static void plane_task(void *ctx, uint64_t task, unsigned thread)
{
    const struct job *job = ctx;
    const struct conv2d_view *v = job->v;
    const uint64_t plane = task / job->pieces, source = plane / v->columns;
    const uint64_t group = source % v->groups, j = plane % v->columns;
    float taps[CONV2D_PLANE_TAPS];
    struct conv2d_plane x = { .v = v,
                              .source = v->source + source * v->source_plane,
                              .pixels = v->pixels + plane * v->plane,
                              .taps = taps,
                              .p0 = task % job->pieces * job->rows,
                              .stream = job->stream };
    (void)thread;
    x.p1 = conv2d_least(x.p0 + job->rows, v->y.out);
    for (uint64_t r = 0; r < v->y.taps; r++)
        for (uint64_t s = 0; s < v->x.taps; s++)
            taps[r * v->x.taps + s] = *conv2d_filter_at(v, group, j, 0, r, s);
    if (!job->set->plane(&x) || !job->padded)
        return;
    for (uint64_t p = x.p0; p < x.p1; p++)
        for (uint64_t q = 0; q < v->x.out; q++) {
            float *pixel = x.pixels + p * v->row + q;
            if (isnan(*pixel))
                *pixel = conv2d_pixel(v, source / v->groups, group, j, p, q);
        }
}

void conv2d_planes(const struct conv2d_set *set, const struct conv2d_view *v,
                   const struct cpu_work *work)
{
    const uint64_t planes = v->images * v->groups * v->columns;
    const uint64_t bytes = planes * v->y.out * v->x.out * sizeof(float);
    const uint64_t line = (v->row | v->plane | v->x.out) % set->vector;
    const uint64_t vector = set->vector * sizeof(float);
    struct job job = { .set = set, .v = v, .padded = conv2d_padded(v) };
    job.stream = bytes > STREAM_BYTES && !line && (uintptr_t)v->pixels % vector == 0;
    job.rows = conv2d_part(v->y.out, TASK_PIXELS / v->x.out, 1);
    job.pieces = conv2d_ceil(v->y.out, job.rows);
    const uint64_t threads = bytes / SHARE_BYTES + 1, most = cpu_team_size(work->team);
    cpu_team_run(work->team, (unsigned)conv2d_least(threads, most), plane_task, &job,
                 planes * job.pieces);
}
