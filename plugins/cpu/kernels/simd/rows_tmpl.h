/* SPDX-License-Identifier: Apache-2.0 */
/* gather and scatter: rows are bytes. Those that the indices name lie anywhere, so they are fetched
 * some rows ahead. A scatter's threads each take some of the destinations, in order, so that of
 * duplicates the last wins. */
#include <string.h>

#include "share.h"
#include "vec.h"

#define ROWS_AHEAD        16u   /* rows that the prefetch is ahead */
#define ROWS_FETCHED      1024u /* bytes of each at most; the machine finds the rest by itself */
#define ROWS_INLINE       512u  /* bytes, beyond which a call of memcpy does not show */
#define ROWS_BLOCK        4096u /* bytes side by side, about, that one thread of a scatter writes */
#define ROWS_SCATTER_MOST 8u    /* threads, since each reads all indices */

struct rows_job {
    const struct cpu_rows *rows;
    bool stream;
    unsigned block_shift; /* scatter: index >> block_shift names a block of destinations */
    uint64_t parts;       /* scatter: a power of two */
    struct share share;
};

/* Two copies of a size that overlap are any size from it to its double. */
#define ROWS_TWICE(size)                                                                           \
    do {                                                                                           \
        char first[size], last[size];                                                              \
        memcpy(first, from, size);                                                                 \
        memcpy(last, from + bytes - (size), size);                                                 \
        memcpy(to, first, size);                                                                   \
        memcpy(to + bytes - (size), last, size);                                                   \
    } while (0)

VEC_INLINE void rows_copy(char *to, const char *from, uint64_t bytes)
{
    if (bytes > ROWS_INLINE) {
        memcpy(to, from, bytes);
        return;
    }
    for (; bytes > 64; bytes -= 32, to += 32, from += 32)
        memcpy(to, from, 32);
    if (bytes >= 32)
        ROWS_TWICE(32);
    else if (bytes >= 16)
        ROWS_TWICE(16);
    else if (bytes >= 8)
        ROWS_TWICE(8);
    else if (bytes >= 4)
        ROWS_TWICE(4);
    else if (bytes >= 2)
        ROWS_TWICE(2);
    else
        *to = *from;
}

#undef ROWS_TWICE

/* Whole lines, past the caches. */
VEC_INLINE void rows_stream(char *to, const char *from, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes; i += 32)
        _mm256_stream_si256((__m256i *)(to + i), _mm256_loadu_si256((const __m256i *)(from + i)));
}

VEC_INLINE void rows_fetch(const char *row, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes && i < ROWS_FETCHED; i += 64)
        vec_prefetch(row + i);
}

/* `bytes` is row_bytes, a constant where that is common. */
VEC_INLINE void gather_rows(const struct rows_job *job, uint64_t begin, uint64_t end,
                            uint64_t bytes)
{
    const struct cpu_rows *x = job->rows;
    for (uint64_t i = begin; i < end; i++) {
        if (x->n - i > ROWS_AHEAD)
            rows_fetch(x->input + x->indices[i + ROWS_AHEAD] * bytes, bytes);
        if (job->stream)
            rows_stream(x->output + i * bytes, x->input + x->indices[i] * bytes, bytes);
        else
            rows_copy(x->output + i * bytes, x->input + x->indices[i] * bytes, bytes);
    }
    if (job->stream)
        vec_fence();
}

VEC_INLINE void scatter_rows(const struct rows_job *job, uint64_t part, uint64_t bytes)
{
    const struct cpu_rows *x = job->rows;
    for (uint64_t i = 0; i < x->n; i++) {
        if (x->n - i > ROWS_AHEAD &&
            (x->indices[i + ROWS_AHEAD] >> job->block_shift & (job->parts - 1)) == part)
            rows_fetch(x->output + x->indices[i + ROWS_AHEAD] * bytes, bytes);
        if ((x->indices[i] >> job->block_shift & (job->parts - 1)) == part)
            rows_copy(x->output + x->indices[i] * bytes, x->input + i * bytes, bytes);
    }
}

static void rows_task(void *ctx, uint64_t task, unsigned thread)
{
    (void)thread;
    const struct rows_job *job = ctx;
    const uint64_t bytes = job->rows->row_bytes;
    const uint64_t begin = share_begin(&job->share, task), end = share_end(&job->share, task);
#define ROWS(bytes)                                                                                \
    do {                                                                                           \
        if (job->rows->scatter)                                                                    \
            scatter_rows(job, task, bytes);                                                        \
        else                                                                                       \
            gather_rows(job, begin, end, bytes);                                                   \
    } while (0)
    switch (bytes) {
    case 4: ROWS(4); break;
    case 8: ROWS(8); break;
    case 64: ROWS(64); break;
    default: ROWS(bytes); break;
    }
#undef ROWS
}

void ISA(cpu_rows)(const struct cpu_rows *x, const struct cpu_work *work)
{
    const uint64_t bytes = x->n * x->row_bytes;
    struct rows_job job = { .rows = x, .parts = 1, .share = share_make(work, x->n, 2 * bytes, 64) };
    if (x->scatter) {
        while (x->row_bytes << job.block_shift < ROWS_BLOCK)
            job.block_shift++;
        while (2 * job.parts <= job.share.threads && 2 * job.parts <= ROWS_SCATTER_MOST)
            job.parts *= 2;
        job.share.tasks = job.parts;
    } else {
        job.stream = share_streams(bytes, x->input, x->output) && x->row_bytes % 64 == 0 &&
                     (uintptr_t)x->output % 64 == 0;
    }
    share_run(&job.share, work->team, rows_task, &job);
}
