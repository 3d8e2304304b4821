/* SPDX-License-Identifier: Apache-2.0 */
/* The paths of gemm: nothing but beta; a few vectors; small, in place; and blocked.
 *
 * Blocked is Goto's scheme: kc steps of B, packed into panels one of which fits into L1, against
 * blocks of mc rows of A, packed by the thread that uses them into its L2. Tasks are rectangles of
 * C. No path, and no length of a sum, depends on the number of threads. */
#include "gemm_set.h"

#include "compute_backend.h"
#include "../../dispatch/cache.h"
#include "share.h"

#define SMALL_STEPS       (128u * 128 * 128) /* m*n*k up to which nothing is packed */
#define THREAD_STEPS      1000000u           /* m*n*k that a thread is woken for */
#define THREAD_READS      100000u            /* the same where all time goes into reading */
#define BRIEF_STEPS       125000u            /* m*n*k for one that is awake; of vectors of 8 */
#define TASKS_OF_A_THREAD 16u                /* of whole matrices */
#define B_BYTES           (4u << 20)         /* of packed B */
#define FETCH_LEAST       24u                /* lines at a time, of what comes next */
#define FAR_BYTES         8192u              /* between steps of A that are packed */
#define FEW_COLUMNS       128u               /* of C: packing A for fewer is not worth it */
#define PANELS_OF_A_TASK  16u                /* of B, when packing */

struct plan {
    uint64_t mr, kc, mc, nc; /* kc steps at a time; mc whole tiles, nc whole panels */
    bool a_in_place, b_in_place;
    bool a_far;                /* too large to have stayed near since it was written */
    uint64_t b_bytes, a_bytes; /* packed; a_bytes for each thread */
};

static inline uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t up(uint64_t x, uint64_t unit)
{
    return (x + unit - 1) / unit * unit;
}

/* The largest equal part of x, in whole units, that is at most `most` units, or one. */
static inline __attribute__((always_inline)) uint64_t part(uint64_t x, uint64_t most, uint64_t unit)
{
    const uint64_t units = (x + unit - 1) / unit;
    if (units <= most)
        return units * unit;
    const uint64_t parts = most ? (units + most - 1) / most : units;
    return (units + parts - 1) / parts * unit;
}

static const struct gemm_kind *kind_of(const struct gemm_set *set, const struct cpu_gemm *g)
{
    if (g->round)
        return &set->kinds[g->round == CB_BF16 ? GEMM_F32_AS_BF16 : GEMM_F32_AS_F16];
    return &set->kinds[g->dtype == CB_F64    ? GEMM_F64
                       : g->dtype == CB_F32  ? GEMM_F32
                       : g->dtype == CB_BF16 ? GEMM_BF16
                                             : GEMM_F16];
}

/* Whether tiles read A where it lies: its steps stay in this room of L2, and do not compete for the
 * same sets and pages. Loads that cross lines cost more than packing when there are many. */
static bool a_may_stay(const struct gemm_kind *kind, const struct cpu_gemm *g, uint64_t kc,
                       uint64_t room)
{
    const uint64_t step = g->cs_a * kind->type->size;
    const bool few = g->n < FEW_COLUMNS;
    if (!kind->plain || g->rs_a != 1 || (step >= FAR_BYTES && !few))
        return false;
    return step * (few || step % GEMM_LINE == 0 ? kc : g->k) <= room;
}

static struct plan plan_of(const struct gemm_set *set, const struct gemm_kind *kind,
                           const struct cpu_gemm *g)
{
    const struct cpu_caches *cache = cpu_caches();
    const uint64_t size = kind->type->size;
    struct plan p = { .mr = (uint64_t)set->mv * kind->type->vector };
    p.kc = part(g->k, cache->l1d / 2 / (GEMM_LANES * size) / 8, 8);
    p.mc = part(g->m, cache->l2 * 3 / 8 / (p.kc * size) / p.mr, p.mr);
    p.nc = part(g->n, B_BYTES / (p.kc * size * GEMM_LANES), set->nr);
    p.a_in_place = a_may_stay(kind, g, p.kc, cache->l2 / 2);
    p.a_far = g->cs_a * g->k > cache->l2 / 4 / size;
    p.b_in_place = kind->plain && g->rs_b == 1 && (p.a_in_place || g->m <= 4 * p.mr);
    p.b_bytes = p.b_in_place ? 0 : p.nc / set->nr * GEMM_LANES * p.kc * size;
    p.a_bytes = p.a_in_place ? 0 : up(p.mc * p.kc * size, 64);
    p.b_bytes = up(p.b_bytes, 64);
    return p;
}

/* Rows of a panel of A, of m: whole vectors, panels of about one height. */
static uint64_t height(const struct gemm_set *set, const struct gemm_kind *kind, uint64_t m)
{
    return part(m, set->mv, kind->type->vector);
}

static const char *at(const void *base, uint64_t element, uint64_t size)
{
    return (const char *)base + element * size;
}

/* A matrix as it lies in memory: in one piece where nothing is between its columns. */
static struct gemm_region region(const void *base, uint64_t rows, uint64_t columns, uint64_t ld,
                                 uint64_t size)
{
    if (rows == ld)
        return (struct gemm_region){ base, 1, 0, rows * columns * size };
    return (struct gemm_region){ base, columns, ld * size, rows * size };
}

/* Spreads both regions over the last of so many tiles. */
static void pace(struct gemm_fetch *f, uint64_t tiles)
{
    uint64_t longest = 0;
    for (int r = 0; r < 2; r++) {
        const struct gemm_region *region = &f->region[r];
        const uint64_t all = region->columns * ((region->bytes + GEMM_LINE - 1) / GEMM_LINE);
        const uint64_t equal = (all + tiles - 1) / tiles;
        f->lines[r] = equal > FETCH_LEAST ? equal : FETCH_LEAST;
        if (all / f->lines[r] > longest)
            longest = all / f->lines[r];
    }
    f->wait = tiles > longest + 1 ? tiles - longest - 1 : 0;
}

/* ---- C := beta * C ---- */

static void scale(const struct cpu_gemm *g)
{
    for (uint64_t j = 0; j < g->n; j++) {
        double *c64 = (double *)g->c + j * g->ldc;
        float *c32 = (float *)g->c + j * g->ldc;
        const float beta = (float)g->beta;
        for (uint64_t i = 0; i < g->m; i++)
            if (g->dtype == CB_F64)
                c64[i] = g->beta == 0 ? 0 : g->beta * c64[i];
            else
                c32[i] = beta == 0 ? 0 : beta * c32[i];
    }
}

/* ---- a few vectors ---- */

/* a * b, or the largest number. */
static uint64_t product(uint64_t a, uint64_t b)
{
    uint64_t x;
    return __builtin_mul_overflow(a, b, &x) ? UINT64_MAX : x;
}

static bool is_small(const struct gemm_kind *kind, const struct cpu_gemm *g)
{
    return kind->plain && product(product(g->m, g->n), g->k) <= SMALL_STEPS;
}

/* Whether all time goes into reading one of the matrices, which then is not packed. */
static bool is_thin(const struct gemm_kind *kind, const struct cpu_gemm *g)
{
    const uint64_t thickness = least(g->m, g->n);
    return thickness == 1 || (thickness <= GEMV_COLUMNS && !is_small(kind, g));
}

struct vectors {
    const struct gemm_kind *kind;
    struct gemv all;
    uint64_t rows; /* of a task */
};

static void vector_rows(void *ctx, uint64_t task, unsigned thread)
{
    const struct vectors *v = ctx;
    const uint64_t i = task * v->rows;
    struct gemv some = v->all;
    (void)thread;
    some.rows = least(v->rows, v->all.rows - i);
    some.m = at(some.m, i * some.row, v->kind->size);
    some.y = (char *)at(some.y, i * some.inc_y, v->kind->type->size);
    v->kind->gemv(&some);
}

/* Rows times a matrix are that matrix, turned, times columns. */
static void thin(const struct gemm_kind *kind, const struct cpu_gemm *g, struct cpu_team *team,
                 unsigned threads)
{
    struct vectors v = { kind, { .k = g->k, .y = g->c, .alpha = g->alpha, .beta = g->beta }, 0 };
    struct gemv *all = &v.all;
    if (g->n <= g->m) {
        all->rows = g->m, all->m = g->a, all->row = g->rs_a, all->step = g->cs_a;
        all->n = g->n, all->x = g->b, all->inc_x = g->rs_b, all->next_x = g->cs_b;
        all->inc_y = 1, all->next_y = g->ldc;
    } else {
        all->rows = g->n, all->m = g->b, all->row = g->cs_b, all->step = g->rs_b;
        all->n = g->m, all->x = g->a, all->inc_x = g->cs_a, all->next_x = g->rs_a;
        all->inc_y = g->ldc, all->next_y = 1;
    }
    v.rows = least(up((all->rows + threads - 1) / threads, 64), GEMV_ROWS(all->n));
    cpu_team_run(team, threads, vector_rows, &v, (all->rows + v.rows - 1) / v.rows);
}

/* ---- small ---- */

static uint64_t small_bytes(const struct gemm_set *set, const struct gemm_kind *kind,
                            const struct cpu_gemm *g)
{
    const uint64_t mr = (uint64_t)set->mv * kind->type->vector;
    return g->rs_a == 1 ? 0 : up(g->m, mr) * g->k * kind->type->size;
}

/* Small matrices of one shape. */
struct small {
    const struct gemm_kind *kind;
    const struct cpu_gemm *g;
    struct gemm_a a;
    struct gemm_b b;
    struct gemm_c c;
    unsigned room; /* of a packed step of A; 0: in place */
};

/* But for the addresses. */
static void small_plan(struct small *s, const struct gemm_set *set, const struct gemm_kind *kind,
                       const struct cpu_gemm *g)
{
    const unsigned room = g->rs_a == 1 ? 0 : set->mv * kind->type->vector;
    const uint64_t width = height(set, kind, g->m), nr = part(g->n, set->nr, 1);
    s->kind = kind;
    s->g = g;
    s->a.step = room ? room : g->cs_a;
    s->a.panel = room ? room * g->k : width;
    s->a.width = width;
    s->a.packed = room != 0;
    s->a.far = false;
    s->b.step = g->rs_b, s->b.lane = g->cs_b;
    s->b.panel = g->cs_b * nr, s->b.width = nr;
    s->c.ld = g->ldc, s->c.alpha = g->alpha, s->c.beta = g->beta, s->c.stream = false;
    s->room = room;
}

/* What is fetched while a matrix of a batch is multiplied: the next one, from number 0's place. */
static struct gemm_fetch small_fetch(const struct small *s)
{
    const struct cpu_gemm *g = s->g;
    const uint64_t size = s->kind->size, a = s->a.width, b = s->b.width;
    struct gemm_fetch fetch = {
        .region = { g->rs_a == 1 ? region(g->a, g->m, g->k, g->cs_a, size)
                                 : region(g->a, g->k, g->m, g->rs_a, size),
                    g->rs_b == 1 ? region(g->b, g->k, g->n, g->cs_b, size)
                                 : region(g->b, g->n, g->k, g->rs_b, size) },
    };
    for (int r = 0; r < 2; r++) /* a shared matrix is there already */
        fetch.region[r].columns *= (r ? g->stride_b : g->stride_a) != 0;
    pace(&fetch, ((g->m + a - 1) / a) * ((g->n + b - 1) / b));
    return fetch;
}

/* Where number i of the batch lies; its A is packed, if it has to be. */
static void small_place(struct small *s, uint64_t i, void *memory)
{
    const struct cpu_gemm *g = s->g;
    const uint64_t size = s->kind->size;
    s->a.p = at(g->a, i * g->stride_a, size);
    s->b.p = at(g->b, i * g->stride_b, size);
    s->c.p = (char *)at(g->c, i * g->stride_c, size);
    s->a.fetch = NULL;
    if (s->room) {
        s->kind->pack(memory, s->room, (unsigned)s->a.width, g->m, g->k, s->a.p, g->rs_a, g->cs_a);
        s->a.p = memory;
    }
}

static void small(struct small *s, uint64_t i, struct gemm_fetch *fetch, void *memory)
{
    const struct cpu_gemm *g = s->g;
    small_place(s, i, memory);
    s->a.fetch = fetch;
    s->kind->type->block(g->m, g->n, g->k, &s->a, &s->b, &s->c);
}

struct strips {
    const struct small *small;
    uint64_t columns; /* of a strip */
};

static void small_strip(void *ctx, uint64_t task, unsigned thread)
{
    const struct strips *strips = ctx;
    const struct small *s = strips->small;
    const uint64_t j = task * strips->columns, size = s->kind->size;
    struct gemm_b b = s->b;
    struct gemm_c c = s->c;
    (void)thread;
    b.p = at(b.p, j * b.lane, size);
    c.p = (char *)at(c.p, j * c.ld, size);
    s->kind->type->block(s->g->m, least(strips->columns, s->g->n - j), s->g->k, &s->a, &b, &c);
}

/* One matrix, by columns where it is worth it. */
static void small_alone(struct small *s, struct cpu_team *team, void *memory)
{
    const struct cpu_gemm *g = s->g;
    const uint64_t steps = g->m * g->n * g->k, each = BRIEF_STEPS / 8 * s->kind->type->vector;
    if (steps <= each || !team) {
        small(s, 0, NULL, memory);
        return;
    }
    const uint64_t threads = least(1 + steps / each, cpu_team_size(team));
    const uint64_t panels = (g->n + s->b.width - 1) / s->b.width;
    const struct strips strips = { s, (panels + threads - 1) / threads * s->b.width };
    small_place(s, 0, memory);
    cpu_team_run_brief(team, (unsigned)threads, small_strip, (void *)&strips,
                       (g->n + strips.columns - 1) / strips.columns);
}

/* The same while the next is fetched. */
static void small_and_next(struct small *s, const struct gemm_fetch *first, uint64_t i,
                           void *memory)
{
    const uint64_t size = s->kind->size;
    struct gemm_fetch fetch = *first;
    fetch.region[0].p += (i + 1) * s->g->stride_a * size;
    fetch.region[1].p += (i + 1) * s->g->stride_b * size;
    small(s, i, &fetch, memory);
}

/* ---- blocked ---- */

struct job {
    const struct gemm_set *set;
    const struct gemm_kind *kind;
    const struct cpu_gemm *g;
    struct plan plan;
    char *a_packed, *b_packed;
    uint64_t jc, nb, pc, kb; /* where in n and k, and how much of it */
    uint64_t width;          /* of a panel of B */
    uint64_t pieces, piece;  /* of nb: how many, and columns of one */
};

static void pack_b(void *ctx, uint64_t task, unsigned thread)
{
    const struct job *job = ctx;
    const struct cpu_gemm *g = job->g;
    const uint64_t j = task * PANELS_OF_A_TASK * job->width;
    const uint64_t n = least(PANELS_OF_A_TASK * job->width, job->nb - j);
    (void)thread;
    job->kind->pack(
        job->b_packed + task * PANELS_OF_A_TASK * GEMM_LANES * job->kb * job->kind->type->size,
        GEMM_LANES, (unsigned)job->width, n, job->kb,
        at(g->b, job->pc * g->rs_b + (job->jc + j) * g->cs_b, job->kind->size), g->cs_b, g->rs_b);
}

static struct gemm_b panels_of_b(const struct job *job, uint64_t j)
{
    const struct cpu_gemm *g = job->g;
    const uint64_t size = job->kind->type->size, panel = GEMM_LANES * job->kb;
    if (job->plan.b_in_place)
        return (struct gemm_b){ at(g->b, job->pc * g->rs_b + (job->jc + j) * g->cs_b, size),
                                g->rs_b, g->cs_b, job->width * g->cs_b, job->width };
    return (struct gemm_b){ job->b_packed + j / job->width * panel * size, GEMM_LANES, 1, panel,
                            job->width };
}

/* A rectangle of C: mc rows by a piece of the columns. */
static void multiply(void *ctx, uint64_t task, unsigned thread)
{
    const struct job *job = ctx;
    const struct cpu_gemm *g = job->g;
    const struct plan *plan = &job->plan;
    const uint64_t i = task / job->pieces * plan->mc, j = task % job->pieces * job->piece;
    const uint64_t m = least(plan->mc, g->m - i), n = least(job->piece, job->nb - j);
    const uint64_t width = height(job->set, job->kind, m);
    const struct gemm_b b = panels_of_b(job, j);
    const struct gemm_c c = { (char *)at(g->c, i + (job->jc + j) * g->ldc, job->kind->type->size),
                              g->ldc, g->alpha, job->pc ? 1 : g->beta, false };
    const char *rows = at(g->a, i * g->rs_a + job->pc * g->cs_a, job->kind->size);
    struct gemm_a a = {
        .p = rows, .step = g->cs_a, .panel = width, .width = width, .far = plan->a_far
    };
    if (!plan->a_in_place) {
        char *packed = job->a_packed + thread * plan->a_bytes;
        job->kind->pack(packed, (unsigned)plan->mr, (unsigned)width, m, job->kb, rows, g->rs_a,
                        g->cs_a);
        a = (struct gemm_a){ .p = packed,
                             .step = plan->mr,
                             .panel = plan->mr * job->kb,
                             .width = width,
                             .packed = true };
    }
    job->kind->type->block(m, n, job->kb, &a, &b, &c);
}

/* Cuts nb into pieces so that the tasks divide evenly among the threads. */
static void cut(struct job *job, unsigned threads)
{
    const uint64_t rows = (job->g->m + job->plan.mc - 1) / job->plan.mc;
    const uint64_t panels = (job->nb + job->width - 1) / job->width;
    uint64_t pieces = 1;
    while (pieces < panels && rows * pieces % threads && rows * pieces < 4u * threads)
        pieces++;
    job->piece = (panels + pieces - 1) / pieces * job->width;
    job->pieces = (job->nb + job->piece - 1) / job->piece;
}

static void blocked(const struct gemm_set *set, const struct gemm_kind *kind,
                    const struct cpu_gemm *g, struct cpu_team *team, unsigned threads, char *memory)
{
    struct job job = { .set = set, .kind = kind, .g = g, .plan = plan_of(set, kind, g) };
    const struct plan *plan = &job.plan;
    const uint64_t rows = (g->m + plan->mc - 1) / plan->mc;
    job.b_packed = memory;
    job.a_packed = memory + plan->b_bytes;
    for (job.jc = 0; job.jc < g->n; job.jc += plan->nc) {
        job.nb = least(plan->nc, g->n - job.jc);
        job.width = part(job.nb, set->nr, 1);
        cut(&job, threads);
        for (job.pc = 0; job.pc < g->k; job.pc += plan->kc) {
            const uint64_t columns = PANELS_OF_A_TASK * job.width;
            job.kb = least(plan->kc, g->k - job.pc);
            if (!plan->b_in_place)
                cpu_team_run(team, threads, pack_b, &job, (job.nb + columns - 1) / columns);
            cpu_team_run(team, threads, multiply, &job, rows * job.pieces);
        }
    }
}

/* ---- one matrix, and many ---- */

static unsigned threads_for(const struct gemm_kind *kind, const struct cpu_gemm *g, unsigned most)
{
    const uint64_t steps = product(product(product(g->m, g->n), g->k), g->batch);
    const uint64_t each = is_thin(kind, g) ? THREAD_READS * least(g->m, g->n) : THREAD_STEPS;
    return steps <= each ? 1 : (unsigned)least(1 + steps / each, most);
}

static uint64_t one_bytes(const struct gemm_set *set, const struct gemm_kind *kind,
                          const struct cpu_gemm *g, unsigned threads)
{
    if (!g->m || !g->n || !g->k || is_thin(kind, g))
        return 0;
    if (is_small(kind, g))
        return up(small_bytes(set, kind, g), 64);
    const struct plan plan = plan_of(set, kind, g);
    return plan.b_bytes + plan.a_bytes * threads;
}

static void one(const struct gemm_set *set, const struct gemm_kind *kind, const struct cpu_gemm *g,
                struct cpu_team *team, unsigned threads, char *memory)
{
    if (!g->k)
        scale(g);
    else if (is_thin(kind, g))
        thin(kind, g, team, threads);
    else if (is_small(kind, g)) {
        struct small s;
        small_plan(&s, set, kind, g);
        small_alone(&s, team, memory);
    } else
        blocked(set, kind, g, team, threads, memory);
}

/* The matrix number i. */
static struct cpu_gemm number(const struct gemm_kind *kind, const struct cpu_gemm *g, uint64_t i)
{
    struct cpu_gemm one = *g;
    if (g->k) {
        one.a = at(g->a, i * g->stride_a, kind->size);
        one.b = at(g->b, i * g->stride_b, kind->size);
    }
    one.c = (char *)at(g->c, i * g->stride_c, kind->type->size);
    return one;
}

/* Matrices that a thread takes whole. */
struct many {
    const struct gemm_set *set;
    const struct gemm_kind *kind;
    const struct cpu_gemm *g;
    char *memory;
    uint64_t bytes; /* of it, for each thread */
    uint64_t group; /* matrices of a task */
    bool are_small;
    struct small small;      /* where they are */
    struct gemm_fetch fetch; /* then, too */
};

/* Whether C is too large to stay in the caches, and is written in whole lines. */
static bool passes_caches(const struct gemm_kind *kind, const struct cpu_gemm *g)
{
    const uint64_t size = kind->type->size;
    return g->beta == 0 && g->stride_c * size > STREAM_BYTES / g->batch &&
           g->stride_c * size % GEMM_LINE == 0 && g->ldc * size % GEMM_LINE == 0 &&
           (uintptr_t)g->c % GEMM_LINE == 0;
}

static void several(void *ctx, uint64_t task, unsigned thread)
{
    const struct many *many = ctx;
    const uint64_t end = least((task + 1) * many->group, many->g->batch);
    char *memory = many->memory + thread * many->bytes;
    struct small s = many->small;
    for (uint64_t i = task * many->group; i < end; i++) {
        if (!many->are_small) {
            const struct cpu_gemm g = number(many->kind, many->g, i);
            one(many->set, many->kind, &g, NULL, 1, memory);
        } else if (i + 1 < many->g->batch) {
            small_and_next(&s, &many->fetch, i, memory);
        } else {
            small(&s, i, NULL, memory);
        }
    }
}

/* Whether a thread takes whole matrices: there are enough of them, or they are too small to cut. */
static bool whole(const struct gemm_kind *kind, const struct cpu_gemm *g, unsigned threads)
{
    return g->batch > 1 && (g->batch >= 4 * (uint64_t)threads || is_small(kind, g));
}

static void run_many(const struct gemm_set *set, const struct gemm_kind *kind,
                     const struct cpu_gemm *g, struct cpu_team *team, unsigned threads,
                     char *memory)
{
    struct many many = { .set = set, .kind = kind, .g = g, .memory = memory };
    many.bytes = one_bytes(set, kind, g, 1);
    many.group = 1 + g->batch / (TASKS_OF_A_THREAD * (uint64_t)threads);
    many.are_small = g->k && !is_thin(kind, g) && is_small(kind, g);
    if (many.are_small) {
        small_plan(&many.small, set, kind, g);
        many.small.c.stream = passes_caches(kind, g);
        many.fetch = small_fetch(&many.small);
    }
    cpu_team_run(team, threads, several, &many, (g->batch + many.group - 1) / many.group);
}

uint64_t gemm_workspace(const struct gemm_set *set, const struct cpu_gemm *g, unsigned threads)
{
    const struct gemm_kind *kind = kind_of(set, g);
    threads = threads_for(kind, g, threads);
    return whole(kind, g, threads) ? one_bytes(set, kind, g, 1) * threads
                                   : one_bytes(set, kind, g, threads);
}

void gemm_run(const struct gemm_set *set, const struct cpu_gemm *g, const struct cpu_work *work)
{
    const struct gemm_kind *kind = kind_of(set, g);
    const unsigned threads = threads_for(kind, g, cpu_team_size(work->team));
    if (!g->m || !g->n)
        return;
    if (g->batch == 1) {
        one(set, kind, g, work->team, threads, work->memory);
    } else if (whole(kind, g, threads)) {
        run_many(set, kind, g, work->team, threads, work->memory);
    } else {
        for (uint64_t i = 0; i < g->batch; i++) {
            const struct cpu_gemm next = number(kind, g, i);
            one(set, kind, &next, work->team, threads, work->memory);
        }
    }
}
