/* SPDX-License-Identifier: Apache-2.0 */
/* gemm of bf16, and of f32 rounded to it, on tiles; everything else goes to the set below.
 *
 * kc elements at a time, tasks are rectangles of C: a block of A, packed into the L2 of its thread,
 * against a piece of B, panel by panel. B is packed before, by all, where several blocks of A go by
 * it; else each task packs what it needs, though another has done it: that takes less time than to
 * fetch it from the cache of another core. Each square of C is computed from the same two panels
 * however C is cut, so that the cuts may depend on the threads. */
#include "amx.h"

#include "../avx512/avx512.h"
#include "amx_panel.h"
#include "compute_backend.h"

#define KC            2048u      /* elements of a panel */
#define A_BYTES       (1u << 20) /* of a block */
#define B_BYTES       (8u << 20) /* of packed panels that tasks share */
#define STREAM_BYTES  (4u << 20) /* C from which its stores pass the caches */
#define LEAST_FLOPS   16384.0    /* m*n*k that tiles are worth */
#define THREAD_FLOPS  8e6        /* m*n*k that a thread is woken for */
#define PANELS_A_TASK 4u         /* when packing */

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t parts(uint64_t x, uint64_t unit)
{
    return (x + unit - 1) / unit;
}

/* The largest of equal parts of x that are at most `most`. */
static uint64_t part(uint64_t x, uint64_t most)
{
    return parts(x, parts(x, most));
}

struct job {
    const struct cpu_gemm *g;
    unsigned threads;
    uint64_t kc, slot;                /* of a panel: elements; bytes */
    uint64_t a_panels, block, blocks; /* of m: panels, panels of a task, tasks */
    uint64_t nc, piece, pieces;       /* of n: panels at a time, panels of a task, tasks */
    bool share_b;
    bool b_in_place; /* its panels are no more than their exponents */
    char *b;         /* shared panels */
    char *own;       /* of each thread: a block of A, and a panel of B where that is not shared */
    uint64_t own_a, own_b;

    uint64_t pc, kb, jc, nb; /* where in k, and how many elements; in n, and how many panels */
    bool stream;
};

/* Whether tiles read B where it is: bf16, in lines of whole steps, and in panels of one piece that
 * stay in L1. What passes through it is faster in the order of the tiles. */
static bool b_lies_as_panels(const struct cpu_gemm *g, uint64_t kc)
{
    return !g->round && g->rs_b == 1 && g->cs_b == g->k && g->k == kc &&
           kc <= AMX_STAY_STEPS * AMX_STEP && g->n % AMX_LANES == 0 && (uintptr_t)g->b % 64 == 0;
}

/* Cuts C so that tasks divide evenly among the threads. */
static struct job plan(const struct cpu_gemm *g, unsigned threads)
{
    struct job job = { .g = g, .threads = threads };
    const uint64_t n_panels = parts(g->n, AMX_LANES);
    job.kc = parts(part(g->k, KC), AMX_STEP) * AMX_STEP;
    job.slot = sizeof(struct amx_panel) + job.kc / AMX_STEP * AMX_STEP_BYTES;
    job.a_panels = parts(g->m, AMX_LANES);
    job.block = part(job.a_panels, A_BYTES / job.slot + 1);
    job.blocks = parts(job.a_panels, job.block);
    job.share_b = job.blocks > 1;
    if (!job.share_b) {
        while ((job.blocks + 1) * (job.blocks + 1) <= threads)
            job.blocks++;
        job.block = parts(job.a_panels, job.blocks);
        job.blocks = parts(job.a_panels, job.block);
    }
    job.nc = job.share_b ? part(n_panels, B_BYTES / job.slot) : n_panels;
    for (job.pieces = 1; job.pieces < job.nc && job.blocks * job.pieces % threads &&
                         job.blocks * job.pieces < 4u * threads;)
        job.pieces++;
    job.piece = parts(job.nc, job.pieces);
    job.pieces = parts(job.nc, job.piece);
    job.own_a = job.block * job.slot;
    job.own_b = job.share_b ? 0 : job.slot;
    job.b_in_place = b_lies_as_panels(g, job.kc);
    job.stream = g->beta == 0 && g->k <= job.kc && g->m * 4 * g->n >= STREAM_BYTES &&
                 (uintptr_t)g->c % 64 == 0 && g->ldc % 16 == 0;
    return job;
}

static uint64_t shared_b(const struct job *job)
{
    return job->share_b ? job->nc * job->slot : 0;
}

static uint64_t bytes(const struct job *job)
{
    return shared_b(job) + (job->own_a + job->own_b) * job->threads;
}

/* Of `all` lanes, those of n panels from number i on. */
static uint64_t lanes(uint64_t all, uint64_t i, uint64_t n)
{
    return least(all - i * AMX_LANES, n * AMX_LANES);
}

static struct amx_source source(const struct job *job, const void *matrix, uint64_t lane,
                                uint64_t step, uint64_t first)
{
    const bool f32 = job->g->round != 0;
    const uint64_t at = first * AMX_LANES * lane + job->pc * step;
    return (struct amx_source){ (const char *)matrix + at * (f32 ? 4 : 2), lane, step, f32 };
}

/* n panels of A, from number i of all on. */
static void pack_a(const struct job *job, uint64_t i, uint64_t n, struct amx_panel *to)
{
    const struct cpu_gemm *g = job->g;
    const struct amx_source from = source(job, g->a, g->rs_a, g->cs_a, i);
    amx_pack_a(to, job->slot, &from, lanes(g->m, i, n), job->kb);
}

static void pack_b(const struct job *job, uint64_t j, uint64_t n, struct amx_panel *to)
{
    const struct cpu_gemm *g = job->g;
    const struct amx_source from = source(job, g->b, g->cs_b, g->rs_b, job->jc + j);
    if (job->b_in_place)
        amx_look_at_b(to, job->slot, from.matrix, lanes(g->n, job->jc + j, n), job->kb);
    else
        amx_pack_b(to, job->slot, &from, lanes(g->n, job->jc + j, n), job->kb);
}

static void pack_shared_b(void *ctx, uint64_t task, unsigned thread)
{
    const struct job *job = ctx;
    const uint64_t j = task * PANELS_A_TASK;
    (void)thread;
    pack_b(job, j, least(PANELS_A_TASK, job->nb - j), amx_panel(job->b, job->slot, j));
}

/* Panel number j of those that are packed, or in place. */
static struct amx_lanes lanes_of_b(const struct job *job, const struct amx_panel *b, uint64_t j)
{
    const struct cpu_gemm *g = job->g;
    if (job->b_in_place)
        return (struct amx_lanes){ (const uint16_t *)g->b + (job->jc + j) * AMX_LANES * g->k, g->k,
                                   AMX_LANES / 2 * g->k, AMX_STEP, b->exponent };
    return (struct amx_lanes){ b->steps, AMX_STEP, AMX_TILE, 2 * AMX_TILE, b->exponent };
}

static void square(const struct job *job, struct amx_squares *squares, const struct amx_panel *a,
                   uint64_t i, const struct amx_lanes *b, uint64_t j)
{
    const struct cpu_gemm *g = job->g;
    const uint64_t row = i * AMX_LANES, column = (job->jc + j) * AMX_LANES;
    const struct gemm_c c = { (float *)g->c + row + column * g->ldc, g->ldc, g->alpha,
                              job->pc ? 1 : g->beta, job->stream };
    amx_square(squares, a, b, job->kb, (unsigned)lanes(g->m, i, 1),
               (unsigned)lanes(g->n, job->jc + j, 1), &c);
}

static void multiply(void *ctx, uint64_t task, unsigned thread)
{
    const struct job *job = ctx;
    const uint64_t first = task / job->pieces * job->block, j0 = task % job->pieces * job->piece;
    const uint64_t n_a = least(job->block, job->a_panels - first);
    char *own = job->own + thread * (job->own_a + job->own_b);
    struct amx_squares squares;
    pack_a(job, first, n_a, amx_panel(own, job->slot, 0));
    amx_begin(&squares);
    for (uint64_t j = j0; j < least(j0 + job->piece, job->nb); j++) {
        struct amx_panel *b = amx_panel(own + job->own_a, job->slot, 0);
        if (job->share_b)
            b = amx_panel(job->b, job->slot, j);
        else
            pack_b(job, j, 1, b);
        const struct amx_lanes of_b = lanes_of_b(job, b, j);
        for (uint64_t i = 0; i < n_a; i++)
            square(job, &squares, amx_panel(own, job->slot, i), first + i, &of_b, j);
    }
    amx_end(&squares);
}

static void one(const struct cpu_gemm *g, struct cpu_team *team, unsigned threads, char *memory)
{
    struct job job = plan(g, threads);
    const uint64_t n_panels = parts(g->n, AMX_LANES);
    job.b = memory;
    job.own = job.b + shared_b(&job);
    for (job.pc = 0; job.pc < g->k; job.pc += job.kc) {
        job.kb = least(job.kc, g->k - job.pc);
        for (job.jc = 0; job.jc < n_panels; job.jc += job.nc) {
            job.nb = least(job.nc, n_panels - job.jc);
            if (job.share_b)
                cpu_team_run(team, threads, pack_shared_b, &job, parts(job.nb, PANELS_A_TASK));
            cpu_team_run(team, threads, multiply, &job, job.blocks * job.pieces);
        }
    }
}

/* ---- one matrix, and many ---- */

static unsigned threads_for(const struct cpu_gemm *g, unsigned most)
{
    const double flops = (double)g->m * (double)g->n * (double)g->k * (double)g->batch;
    return flops < THREAD_FLOPS * most ? 1 + (unsigned)(flops / THREAD_FLOPS) : most;
}

/* Whether tiles are the better way. A vector is read once, and less than a step is mostly padding;
 * of little, more is packed than multiplied. */
static bool takes(const struct cpu_gemm *g)
{
    const bool bf16 = g->dtype == CB_BF16 || g->round == CB_BF16;
    return bf16 && g->m > 1 && g->n > 1 && g->k >= AMX_STEP &&
           (double)g->m * (double)g->n * (double)g->k >= LEAST_FLOPS;
}

struct many {
    const struct cpu_gemm *g;
    char *memory;
    uint64_t bytes, group; /* for each thread; matrices of a task */
};

static struct cpu_gemm number(const struct cpu_gemm *g, uint64_t i)
{
    const uint64_t size = g->round ? 4 : 2;
    struct cpu_gemm one = *g;
    one.a = (const char *)g->a + i * g->stride_a * size;
    one.b = (const char *)g->b + i * g->stride_b * size;
    one.c = (float *)g->c + i * g->stride_c;
    return one;
}

static void several(void *ctx, uint64_t task, unsigned thread)
{
    const struct many *many = ctx;
    const uint64_t begin = task * many->group, end = least(begin + many->group, many->g->batch);
    for (uint64_t i = begin; i < end; i++) {
        const struct cpu_gemm g = number(many->g, i);
        one(&g, NULL, 1, many->memory + thread * many->bytes);
    }
}

/* Whether a thread takes whole matrices. */
static bool whole(const struct cpu_gemm *g, unsigned threads)
{
    return g->batch >= 4 * (uint64_t)threads;
}

static uint64_t workspace(const struct cpu_gemm *g, unsigned threads)
{
    if (!takes(g))
        return cpu_gemm_avx512.workspace(g, threads);
    threads = threads_for(g, threads);
    const struct job job = plan(g, whole(g, threads) ? 1 : threads);
    return whole(g, threads) ? bytes(&job) * threads : bytes(&job);
}

static void run(const struct cpu_gemm *g, const struct cpu_work *work)
{
    if (!takes(g)) {
        cpu_gemm_avx512.run(g, work);
        return;
    }
    const unsigned threads = threads_for(g, cpu_team_size(work->team));
    if (whole(g, threads)) {
        const struct job job = plan(g, 1);
        struct many many = { g, work->memory, bytes(&job), 1 };
        many.group += g->batch / (16u * (uint64_t)threads);
        cpu_team_run(work->team, threads, several, &many, parts(g->batch, many.group));
        return;
    }
    for (uint64_t i = 0; i < g->batch; i++) {
        const struct cpu_gemm next = number(g, i);
        one(&next, work->team, threads, work->memory);
    }
}

const struct cpu_gemm_kernel cpu_gemm_amx = { run, workspace };
