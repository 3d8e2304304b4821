/* SPDX-License-Identifier: Apache-2.0 */
/* Attention with the softmax taken block by block of keys, so that no row of scores is ever whole.
 *
 * The queries of all heads that share a key head lie one after the other: they are the rows of one
 * problem. A piece is some rows of a problem against a range of its keys; it goes through them in
 * blocks. The keys of a block are packed once, and panels of rows take their turns with it: scores,
 * weights, and weights times values added to what is in the output so far. Few rows do without the
 * packing. Where there are few pieces, the keys are split among more of them, whose results are
 * merged at the end.
 *
 * Splits, blocks and panels depend on the shape alone, and so does every bit of the result. Sums
 * that are not divided yet may overflow, and a weight of 0 does not silence the NaN in a value that
 * a row must not see: a row that is not finite at the end is computed again, more carefully. */
#include "attention_set.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "../../dispatch/cache.h"

#define FEW_ROWS           8u         /* of a problem, that packing would not pay for */
#define PIECE_LEAST        64u        /* rows, */
#define PIECE_MOST         1024u      /* ... at most, that share packed keys */
#define PIECES_OF_A_THREAD 8u         /* so that one which was held up does not hold up the rest */
#define BLOCK_MOST         384u       /* keys: a multiple of every tile */
#define BLOCK_LEAST        48u        /* the same */
#define SPLIT_LEAST        512u       /* keys */
#define PIECES             64u        /* enough for any team, which splits of keys make up for */
#define PARTIAL_MOST       (4u << 20) /* bytes of partial results */
#define THREAD_WORK        1e6        /* multiplications that a thread is woken for */
#define THREAD_READS       1e5        /* the same where all time goes into reading */

struct plan {
    uint64_t problems, rows; /* rows of a problem */
    uint64_t piece, pieces;  /* rows of a piece; pieces of a problem */
    uint64_t run;            /* pieces, of any problem, one after the other on a thread */
    uint64_t split, splits;  /* keys of a split, whole blocks; how many */
    uint64_t block;          /* keys */
    bool few;
    uint64_t packed, scores, states; /* floats for each thread */
    uint64_t partial;                /* floats of a split piece: the sums of its rows, its states */
};

struct job {
    const struct attention_set *set;
    const struct cpu_attention *t;
    struct plan plan;
    float *scratch, *partials;
};

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t parts(uint64_t x, uint64_t unit)
{
    return (x + unit - 1) / unit;
}

static uint64_t up(uint64_t x, uint64_t unit)
{
    return parts(x, unit) * unit;
}

/* Rows of a panel for a tile, of n: whole vectors, panels of about one height. */
static uint64_t panel_rows(const struct attention_set *set, uint64_t n)
{
    const uint64_t vectors = parts(n, set->vector);
    return parts(vectors, parts(vectors, set->mv)) * set->vector;
}

/* Where rows are cut does not show in the result. */
static void plan_rows(struct plan *p, const struct cpu_attention *t, unsigned threads)
{
    const uint64_t in_l2 = cpu_caches()->l2 / 8 / (t->head_dim * sizeof(float));
    const uint64_t room = most(least(in_l2, PIECE_MOST), PIECE_LEAST);
    p->problems = t->batch * t->kv_heads;
    p->rows = t->heads / t->kv_heads * t->seq_q;
    p->few = p->rows <= FEW_ROWS;
    p->piece = p->rows;
    if (!p->few) {
        const double fair = (double)p->problems * (double)p->rows / threads / PIECES_OF_A_THREAD;
        p->piece = fair < (double)room ? most((uint64_t)fair, PIECE_LEAST) : room;
        p->piece = up(least(p->piece, p->rows), ATTENTION_PANEL);
    }
    p->pieces = parts(p->rows, p->piece);
    p->run = most(p->problems * p->pieces / threads / PIECES_OF_A_THREAD, 1);
}

/* Where keys are cut does, and so the threads do not count. */
static void plan_keys(struct plan *p, const struct cpu_attention *t)
{
    const uint64_t in_l2 = cpu_caches()->l2 / 4 / (t->head_dim * sizeof(float));
    const uint64_t partial = p->problems * p->rows * (t->head_dim + 2) * sizeof(float);
    const uint64_t pieces = p->problems * parts(p->rows, PIECE_LEAST);
    p->block = most(least(in_l2, BLOCK_MOST) / BLOCK_LEAST * BLOCK_LEAST, BLOCK_LEAST);
    p->splits = least(parts(PIECES, pieces), t->seq_kv / SPLIT_LEAST);
    p->splits = most(least(p->splits, PARTIAL_MOST / partial), 1);
    p->split = most(up(parts(t->seq_kv, p->splits), p->block), p->block);
    p->splits = most(parts(t->seq_kv, p->split), 1);
    p->partial = up(p->piece * (t->head_dim + 2), 16);
}

static struct plan plan_of(const struct attention_set *set, const struct cpu_attention *t,
                           unsigned threads)
{
    struct plan p = { 0 };
    plan_rows(&p, t, threads);
    plan_keys(&p, t);
    const uint64_t keys = most(least(p.block, t->seq_kv), 1);
    const uint64_t width = panel_rows(set, keys);
    p.packed = p.few ? 0 : parts(keys, width) * set->mv * set->vector * t->head_dim;
    p.scores = up((p.few ? FEW_ROWS : ATTENTION_PANEL) * p.block, 16);
    p.states = up(p.piece * 2, 16);
    return p;
}

static uint64_t thread_floats(const struct plan *p)
{
    return p->packed + p->scores + p->states;
}

static float *packed_of(const struct job *job, unsigned thread)
{
    return job->scratch + thread * thread_floats(&job->plan);
}

static float *scores_of(const struct job *job, unsigned thread)
{
    return packed_of(job, thread) + job->plan.packed;
}

static struct attention_state state_at(const struct plan *p, float *memory)
{
    return (struct attention_state){ memory, memory + p->piece };
}

static struct attention_state state_of(const struct job *job, unsigned thread)
{
    return state_at(&job->plan, scores_of(job, thread) + job->plan.scores);
}

/* Keys that query i of a head sees: the first so many. */
static uint64_t seen_by(const struct cpu_attention *t, uint64_t i)
{
    const uint64_t ahead = i + 1 + t->seq_kv;
    return !t->causal ? t->seq_kv : ahead > t->seq_q ? ahead - t->seq_q : 0;
}

/* The same for a row of a problem, and what any of some rows sees: the last one most, but for
 * those where a head ends. */
static uint64_t seen(const struct cpu_attention *t, uint64_t row)
{
    return seen_by(t, t->causal ? row % t->seq_q : 0);
}

static uint64_t seen_by_any(const struct cpu_attention *t, uint64_t row, uint64_t rows)
{
    const uint64_t i = t->causal ? row % t->seq_q : 0;
    return seen_by(t, i + rows < t->seq_q ? i + rows - 1 : t->seq_q - 1);
}

/* Rows of a problem against keys of it. */
struct piece {
    uint64_t row, rows;           /* of the problem */
    uint64_t key, end;            /* of the problem */
    const float *q, *k, *v;       /* of row, and of key 0 */
    float *o;                     /* of row */
    struct attention_state state; /* of the rows */
    const struct piece *next;     /* on this thread, or NULL */
};

static struct piece piece_of(const struct job *job, uint64_t problem, uint64_t number,
                             uint64_t split)
{
    const struct cpu_attention *t = job->t;
    const struct plan *p = &job->plan;
    const uint64_t row = number * p->piece, at = (problem * p->rows + row) * t->head_dim;
    const uint64_t kv = problem * t->seq_kv * t->head_dim;
    return (struct piece){
        .row = row,
        .rows = least(p->piece, p->rows - row),
        .key = split * p->split,
        .end = least(t->seq_kv, (split + 1) * p->split),
        .q = t->q + at,
        .k = t->k + kv,
        .v = t->v + kv,
        .o = t->o + at,
    };
}

/* A block of keys. */
struct block {
    uint64_t key, keys, width; /* width: of a packed panel */
    const float *packed;
    const float *next_k, *next_v; /* of the next block, or NULL */
    uint64_t next_keys;
};

/* `rows` rows from `row` of a piece against the first n keys of a block. */
struct panel {
    uint64_t row, rows, n;
    float *s; /* the scores, plan.block apart */
};

/* The share of a panel of what the next block reads, over so many tiles. */
static struct gemm_fetch fetch(const struct piece *x, const struct panel *y, const float *p,
                               uint64_t floats, uint64_t tiles)
{
    const uint64_t lines = p ? parts(floats * sizeof(float), GEMM_LINE) : 0;
    const uint64_t begin = lines * y->row / x->rows, end = lines * (y->row + y->rows) / x->rows;
    const char *from = p ? (const char *)p + begin * GEMM_LINE : NULL;
    return (struct gemm_fetch){
        .region[0] = { from, begin < end, 0, (end - begin) * GEMM_LINE },
        .lines[0] = parts(end - begin, tiles),
    };
}

/* Meanwhile keys of the next block come nearer, and the queries of the next panel. */
static void score(const struct job *job, const struct piece *x, const struct block *block,
                  const struct panel *y)
{
    const struct attention_set *set = job->set;
    const uint64_t d = job->t->head_dim, ld = job->plan.block;
    const float *q = x->q + y->row * d;
    if (!block->packed) {
        set->dots(y->s, ld, q, y->rows, x->k + block->key * d, y->n, d, job->t->scale);
        return;
    }
    const uint64_t step = (uint64_t)set->mv * set->vector;
    const uint64_t nr = parts(y->rows, parts(y->rows, set->nr));
    const uint64_t tiles = parts(y->rows, nr) * parts(y->n, block->width);
    struct gemm_fetch next = fetch(x, y, block->next_k, block->next_keys * d, tiles);
    next.region[1] =
        (struct gemm_region){ (const char *)(q + y->rows * d), 1, 0, y->rows * d * sizeof(*q) };
    next.lines[1] = parts(parts(next.region[1].bytes, GEMM_LINE), tiles);
    const struct gemm_a a = { .p = block->packed,
                              .step = step,
                              .panel = step * d,
                              .width = block->width,
                              .packed = true,
                              .fetch = &next };
    const struct gemm_b b = { q, 1, d, nr * d, nr };
    const struct gemm_c c = { y->s, ld, job->t->scale, 0, false };
    set->block(y->n, y->rows, d, &a, &b, &c);
}

/* Adds weights times values. Meanwhile values of the next block come nearer. */
static void add_values(const struct job *job, const struct piece *x, const struct block *block,
                       const struct panel *y)
{
    const struct attention_set *set = job->set;
    const uint64_t d = job->t->head_dim, ld = job->plan.block;
    const float *v = x->v + block->key * d;
    const bool first = block->key == x->key;
    float *o = x->o + y->row * d;
    if (!block->packed) {
        if (first)
            memset(o, 0, y->rows * d * sizeof(*o));
        set->add(o, y->s, ld, y->rows, v, d, y->n, d);
        return;
    }
    const uint64_t width = panel_rows(set, d), nr = parts(y->rows, parts(y->rows, set->nr));
    struct gemm_fetch next =
        fetch(x, y, block->next_v, block->next_keys * d, parts(y->rows, nr) * parts(d, width));
    const struct gemm_a a = { .p = v, .step = d, .panel = width, .width = width, .fetch = &next };
    const struct gemm_b b = { y->s, 1, ld, nr * ld, nr };
    const struct gemm_c c = { o, d, 1, first ? 0 : 1, false };
    set->block(d, y->rows, y->n, &a, &b, &c);
}

static void panel(const struct job *job, const struct piece *x, const struct block *block,
                  const struct panel *y)
{
    const struct cpu_attention *t = job->t;
    const struct attention_state state = { x->state.max + y->row, x->state.sum + y->row };
    uint64_t here[ATTENTION_PANEL]; /* keys of the block that a row sees */
    float factors[ATTENTION_PANEL];
    uint64_t i = (x->row + y->row) % t->seq_q;
    score(job, x, block, y);
    for (uint64_t r = 0; r < y->rows; r++, i = i + 1 < t->seq_q ? i + 1 : 0) {
        const uint64_t sees = seen_by(t, i);
        here[r] = sees > block->key ? least(sees - block->key, y->n) : 0;
    }
    job->set->weigh(y->s, job->plan.block, y->rows, here, y->n, &state, factors);
    for (uint64_t r = 0; r < y->rows && block->key != x->key; r++)
        if (factors[r] != 1)
            job->set->scale(x->o + (y->row + r) * t->head_dim, t->head_dim, factors[r]);
    add_values(job, x, block, y);
}

/* The panels of a piece against a block. */
static void panels(const struct job *job, const struct piece *x, const struct block *block,
                   float *s)
{
    const uint64_t step = block->packed ? ATTENTION_PANEL : x->rows;
    for (uint64_t row = 0; row < x->rows; row += step) {
        const uint64_t rows = least(step, x->rows - row);
        const uint64_t sees = seen_by_any(job->t, x->row + row, rows);
        if (sees <= block->key)
            continue;
        const struct panel y = {
            row,
            rows,
            least(block->keys, sees - block->key),
            s,
        };
        panel(job, x, block, &y);
    }
}

/* The block of a piece that begins with `key`, of keys up to `end`; it is packed. */
static struct block block_of(const struct job *job, const struct piece *x, uint64_t key,
                             uint64_t end, unsigned thread)
{
    const struct attention_set *set = job->set;
    const uint64_t d = job->t->head_dim, most_keys = job->plan.block;
    struct block block = { .key = key, .keys = least(most_keys, end - key) };
    const uint64_t after = key + block.keys;
    float *packed = packed_of(job, thread);
    if (job->plan.few)
        return block;
    block.width = panel_rows(set, block.keys);
    block.packed = packed;
    set->pack(packed, set->mv * set->vector, (unsigned)block.width, block.keys, d, x->k + key * d,
              d, 1);
    if (after < end)
        block.next_k = x->k + after * d, block.next_v = x->v + after * d;
    else if (x->next)
        block.next_k = x->next->k, block.next_v = x->next->v;
    block.next_keys = least(most_keys, after < end ? end - after : x->end);
    return block;
}

/* The sums of a piece, not yet divided, and its states. Rows that see none of its keys are zeros.
 */
static void sum_piece(const struct job *job, const struct piece *x, unsigned thread)
{
    const struct plan *p = &job->plan;
    const uint64_t d = job->t->head_dim;
    const uint64_t end = least(x->end, seen_by_any(job->t, x->row, x->rows));
    for (uint64_t r = 0; r < x->rows; r++)
        x->state.max[r] = -FLT_MAX, x->state.sum[r] = 0;
    for (uint64_t key = x->key; key < end; key += p->block) {
        const struct block block = block_of(job, x, key, end, thread);
        panels(job, x, &block, scores_of(job, thread));
    }
    for (uint64_t r = 0; r < x->rows; r++)
        if (seen(job->t, x->row + r) <= x->key)
            memset(x->o + r * d, 0, d * sizeof(float));
}

/* One row again, with weights that are divided first, and no key that it does not see. */
static void careful_row(const struct job *job, const struct piece *x, uint64_t row, float *s)
{
    const struct attention_set *set = job->set;
    const struct cpu_attention *t = job->t;
    const uint64_t d = t->head_dim, end = seen(t, x->row + row), step = job->plan.block;
    float max = -FLT_MAX, sum = 0, factor;
    const struct attention_state all = { &max, &sum };
    for (uint64_t key = 0; key < end; key += step) {
        const uint64_t n = least(step, end - key);
        set->dots(s, step, x->q + row * d, 1, x->k + key * d, n, d, t->scale);
        set->weigh(s, step, 1, &n, n, &all, &factor);
    }
    const float share = 1 / sum;
    memset(x->o + row * d, 0, d * sizeof(float));
    for (uint64_t key = 0; key < end; key += step) {
        const uint64_t n = least(step, end - key);
        set->dots(s, step, x->q + row * d, 1, x->k + key * d, n, d, t->scale);
        set->weigh(s, step, 1, &n, n, &all, &factor);
        set->scale(s, n, share);
        set->add(x->o + row * d, s, step, 1, x->v + key * d, d, n, d);
    }
}

/* Divides a row of sums. A sum that is 0 or NaN comes of scores that softmax makes NaN. */
static void finish_row(const struct job *job, const struct piece *x, uint64_t row, float sum,
                       float *s)
{
    const uint64_t d = job->t->head_dim;
    float *o = x->o + row * d;
    if (!seen(job->t, x->row + row))
        return;
    if (!(sum > 0))
        for (uint64_t i = 0; i < d; i++)
            o[i] = NAN;
    else if (!job->set->scale(o, d, 1 / sum))
        careful_row(job, x, row, s);
}

/* Of a causal problem the last rows take longest. */
static struct piece whole_piece(const struct job *job, uint64_t i)
{
    const uint64_t pieces = job->plan.pieces;
    return piece_of(job, i / pieces, pieces - 1 - i % pieces, 0);
}

static void whole_pieces(void *ctx, uint64_t task, unsigned thread)
{
    const struct job *job = ctx;
    const struct plan *p = &job->plan;
    const uint64_t begin = task * p->run, end = least(begin + p->run, p->problems * p->pieces);
    struct piece x = whole_piece(job, begin);
    for (uint64_t i = begin; i < end; i++) {
        const struct piece next = whole_piece(job, least(i + 1, end - 1));
        x.state = state_of(job, thread);
        x.next = i + 1 < end ? &next : NULL;
        sum_piece(job, &x, thread);
        for (uint64_t r = 0; r < x.rows; r++)
            finish_row(job, &x, r, x.state.sum[r], scores_of(job, thread));
        x = next;
    }
}

static float *partial_of(const struct job *job, uint64_t piece, uint64_t split)
{
    return job->partials + (piece * job->plan.splits + split) * job->plan.partial;
}

static void split_piece(void *ctx, uint64_t task, unsigned thread)
{
    const struct job *job = ctx;
    const struct plan *p = &job->plan;
    const uint64_t number = task / p->splits, split = task % p->splits;
    struct piece x = piece_of(job, number / p->pieces, number % p->pieces, split);
    x.o = partial_of(job, number, split);
    x.state = state_at(p, x.o + p->piece * job->t->head_dim);
    sum_piece(job, &x, thread);
}

/* The splits of a piece are values themselves, and their largest scores are scores. */
static void merge_piece(void *ctx, uint64_t number, unsigned thread)
{
    const struct job *job = ctx;
    const struct plan *p = &job->plan;
    const uint64_t d = job->t->head_dim;
    const struct piece x = piece_of(job, number / p->pieces, number % p->pieces, 0);
    float *sums = partial_of(job, number, 0), *weights = scores_of(job, thread);
    const struct attention_state first = state_at(p, sums + p->piece * d);
    for (uint64_t r = 0; r < x.rows; r++) {
        float max = -FLT_MAX, none = 0, sum = 0, factor;
        const struct attention_state all = { &max, &none };
        for (uint64_t i = 0; i < p->splits; i++)
            weights[i] = first.max[i * p->partial + r];
        job->set->weigh(weights, p->splits, 1, &p->splits, p->splits, &all, &factor);
        for (uint64_t i = 0; i < p->splits; i++)
            sum += weights[i] * first.sum[i * p->partial + r];
        memset(x.o + r * d, 0, d * sizeof(float));
        job->set->add(x.o + r * d, weights, p->splits, 1, sums + r * d, p->partial, p->splits, d);
        finish_row(job, &x, r, sum, weights);
    }
}

static unsigned threads_for(const struct plan *p, const struct cpu_attention *t, unsigned all)
{
    const double work =
        (double)p->problems * (double)p->rows * (double)t->seq_kv * (double)t->head_dim;
    const double each = p->few ? THREAD_READS : THREAD_WORK;
    return work < each * all ? 1 + (unsigned)(work / each) : all;
}

uint64_t attention_workspace(const struct attention_set *set, const struct cpu_attention *t,
                             unsigned threads)
{
    const struct plan p = plan_of(set, t, threads);
    const uint64_t split = p.splits > 1 ? p.problems * p.pieces * p.splits * p.partial : 0;
    return (thread_floats(&p) * threads + split) * sizeof(float);
}

void attention_run(const struct attention_set *set, const struct cpu_attention *t,
                   const struct cpu_work *work)
{
    const unsigned all = cpu_team_size(work->team);
    struct job job = { .set = set, .t = t, .plan = plan_of(set, t, all), .scratch = work->memory };
    const struct plan *p = &job.plan;
    const unsigned threads = threads_for(p, t, all);
    const uint64_t pieces = p->problems * p->pieces;
    job.partials = job.scratch + thread_floats(p) * all;
    if (p->splits == 1) {
        cpu_team_run(work->team, threads, whole_pieces, &job, parts(pieces, p->run));
        return;
    }
    cpu_team_run(work->team, threads, split_piece, &job, pieces * p->splits);
    cpu_team_run(work->team, threads, merge_piece, &job, pieces);
}
