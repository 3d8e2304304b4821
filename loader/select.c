/* SPDX-License-Identifier: Apache-2.0 */
/* The walk down the ranking, until one fits; and what is said of it. */
#include "select.h"

#include <string.h>
#include <time.h>

uint64_t cbl_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* ---- The walk ---- */

static struct instance *open_attempt(struct walk *w, struct attempt *a, uint32_t want)
{
    const struct candidate *c = a->candidate;
    cb_request request = w->request;
    request.want |= want;
    const struct demand demand = { .request = &request, .named = a->named };
    const uint64_t start = cbl_now();
    struct instance *in = cbl_instance_open(w->loader, c, &demand, &a->verdict);
    a->nanoseconds = cbl_now() - start;
    if (!in)
        cbl_log(w->loader, CB_LOG_INFO, "%s %s: %s: %s", c->id, c->path,
                cb_state_name(a->verdict.state), cbl_text(&a->verdict.reason));
    w->no_memory |= a->verdict.no_memory;
    return in;
}

/* The winner would do, but work for matrix units goes to one that has them, among those that the
 * user ranks alike. */
static struct instance *prefer_matrix_units(struct walk *w, struct instance *in)
{
    struct attempt *first = w->winner;
    const struct attempt *end = w->attempts + w->count;
    for (struct attempt *a = first + 1; a < end && a->asked == first->asked; a++) {
        if (!a->eligible || !strcmp(a->candidate->id, first->candidate->id))
            continue;
        struct instance *better = open_attempt(w, a, CB_WANT_TENSOR_CORES);
        if (!better)
            continue;
        cbl_instance_stop(in);
        cbl_instance_free(in);
        cbl_blame(&first->verdict, CB_STATE_OUTRANKED,
                  "it works, and %s has matrix units for this op", a->candidate->id);
        w->winner = a;
        return better;
    }
    return in;
}

static struct instance *walk(struct walk *w)
{
    for (uint64_t i = 0; i < w->count && !w->no_memory; i++) {
        struct attempt *a = &w->attempts[i];
        struct instance *in = a->eligible ? open_attempt(w, a, 0) : NULL;
        if (!in)
            continue;
        w->winner = a;
        return w->matrix && !(in->features & CB_FEATURE_TENSOR_CORES) ? prefer_matrix_units(w, in)
                                                                      : in;
    }
    return NULL;
}

static void explain_winner(struct walk *w, const struct instance *in)
{
    struct attempt *a = w->winner;
    if (a->asked != UINT64_MAX)
        cbl_blame(&a->verdict, CB_STATE_SELECTED, "%s asks for it; device %u",
                  w->order.names->origin, in->device);
    else
        cbl_blame(
            &a->verdict, CB_STATE_SELECTED,
            "the highest priority (%d) of those that fit%s; device %u", a->candidate->priority,
            w->matrix && (in->features & CB_FEATURE_TENSOR_CORES) ? " and have matrix units" : "",
            in->device);
}

/* What was not opened lost to the winner, or to an earlier file with its id, or was not reached. */
static void explain_rest(struct walk *w)
{
    for (uint64_t i = 0; i < w->count; i++) {
        struct attempt *a = &w->attempts[i];
        const struct candidate *c = a->candidate;
        if (a->verdict.state != CB_STATE_FOUND)
            continue;
        if (c->twin)
            cbl_blame_twin(&a->verdict, c->twin);
        else if (!w->winner)
            cbl_blame(&a->verdict, CB_STATE_FOUND, "not looked at: memory ran out before");
        else
            cbl_blame(&a->verdict, CB_STATE_OUTRANKED, "not opened: %s won",
                      w->winner->candidate->id);
    }
}

/* States and reasons become those of the latest selection. */
static void publish(struct walk *w, struct instance *in)
{
    struct cb_loader *l = w->loader;
    pthread_mutex_lock(&l->lock);
    for (uint64_t i = 0; i < w->count; i++) {
        const struct attempt *a = &w->attempts[i];
        struct candidate *c = a->candidate;
        l->strings.failed = false;
        c->state = a->verdict.state;
        c->reason = cbl_keep(&l->strings, cbl_slice(cbl_text(&a->verdict.reason)));
        if (l->strings.failed)
            c->reason = "out of memory";
        c->nanoseconds += a->nanoseconds;
    }
    if (in) {
        in->next = l->instances;
        l->instances = in;
    }
    pthread_mutex_unlock(&l->lock);
}

/* ---- What is said ---- */

/* Why the first of those asked for could not be had. */
static void add_first_reason(const struct walk *w, struct text *t)
{
    for (uint64_t i = 0; i < w->count && w->attempts[i].asked == 0; i++) {
        const struct attempt *a = &w->attempts[i];
        cbl_add(t, "%s: %s: %s; ", a->candidate->id, cb_state_name(a->verdict.state),
                cbl_text(&a->verdict.reason));
        return;
    }
    cbl_add(t, "%s: not found; ", w->order.names->items[0]);
}

/* Something was asked for, and something else, or a later choice, was taken. */
static void warn_of_fallback(const struct walk *w)
{
    const struct names *names = w->order.names;
    const struct candidate *c = w->winner->candidate;
    const bool is_first =
        w->winner == w->attempts || w->attempts[0].verdict.state == CB_STATE_OUTRANKED;
    if (!names->count || (w->winner->asked == 0 && is_first))
        return;
    struct text t = { 0 };
    add_first_reason(w, &t);
    cbl_log(w->loader, CB_LOG_WARNING, "fallback: %s asks for %s: %staking %s %s", names->origin,
            names->items[0], cbl_text(&t), c->id, c->path);
    cbl_text_free(&t);
}

static void add_line(struct text *t, const struct candidate *c, uint32_t state, const char *reason)
{
    cbl_add(t, "; %s: %s: %s", *c->id ? c->id : c->path, cb_state_name(state), reason);
}

/* The whole list is the error: the ranked ones first, for a struct that cuts. */
static cb_status nothing_fits(const struct walk *w, cb_error *err)
{
    struct cb_loader *l = w->loader;
    struct text t = { 0 };
    cbl_add(&t, "%s", w->no_memory ? "out of memory" : "no backend can be had");
    if (w->order.names->count)
        cbl_add(&t, " (%s asks for %s)", w->order.names->origin, w->order.names->items[0]);
    for (uint64_t i = 0; i < w->count; i++)
        add_line(&t, w->attempts[i].candidate, w->attempts[i].verdict.state,
                 cbl_text(&w->attempts[i].verdict.reason));
    pthread_mutex_lock(&l->lock);
    for (uint64_t i = 0; i < l->n_candidates; i++)
        if (!l->candidates[i].usable)
            add_line(&t, &l->candidates[i], l->candidates[i].state, l->candidates[i].reason);
    pthread_mutex_unlock(&l->lock);
    for (uint64_t i = 0; i < l->searched.count && !l->n_candidates; i++)
        cbl_add(&t, "%s%s (%s)", i ? ", " : "; no plugin in ", l->searched.items[i].path,
                l->searched.items[i].origin);
    const cb_status status = w->no_memory ? CB_OUT_OF_MEMORY : CB_NOT_FOUND;
    cb_error_set(err, status, w->where, cbl_text(&t));
    cbl_log(l, CB_LOG_ERROR, "%s", cbl_text(&t));
    cbl_text_free(&t);
    return status;
}

static cb_status take(struct cb_loader *l, const cb_request *request, bool matrix,
                      const char *where, cb_backend *out, cb_error *err)
{
    struct walk w;
    if (!out)
        return cb_error_set(err, CB_INVALID_ARGUMENT, where, "out is NULL");
    cb_status status = cbl_walk_begin(&w, l, request, where, err);
    if (status != CB_OK)
        return status;
    w.matrix = matrix;
    struct instance *in = walk(&w);
    if (in)
        explain_winner(&w, in);
    explain_rest(&w);
    publish(&w, in);
    if (in) {
        warn_of_fallback(&w);
        cbl_log(l, CB_LOG_INFO, "selected %s %s %s: %s", in->candidate->id, in->candidate->version,
                in->candidate->path, cbl_text(&w.winner->verdict.reason));
        *out = (cb_backend){ &in->table, in->self };
    } else {
        status = nothing_fits(&w, err);
    }
    cbl_walk_end(&w);
    return status;
}

cb_status cb_loader_select(cb_loader *loader, const cb_request *request, cb_backend *out,
                           cb_error *err)
{
    return take(loader, request, false, "cb_loader_select", out, err);
}

cb_status cb_loader_route(cb_loader *loader, uint32_t op, const cb_request *request,
                          cb_backend *out, cb_error *err)
{
    static const char where[] = "cb_loader_route";
    static const bool matrix[CB_OP_COUNT] = {
        [CB_OP_GEMM] = true,
        [CB_OP_GEMM_MIXED_PRECISION] = true,
        [CB_OP_BATCHED_GEMM] = true,
        [CB_OP_CONV2D_FORWARD] = true,
        [CB_OP_CONV2D_BACKWARD_DATA] = true,
        [CB_OP_CONV2D_BACKWARD_FILTER] = true,
        [CB_OP_ATTENTION] = true,
    };
    if (op >= CB_OP_COUNT)
        return cb_error_set(err, CB_INVALID_ARGUMENT, where, "op is none that this loader knows");
    return take(loader, request, matrix[op], where, out, err);
}
