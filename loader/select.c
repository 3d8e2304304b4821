/* SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

uint64_t cbl_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* ---- The request ---- */

#define WANT_ALL (CB_WANT_PEER_ACCESS * 2 - 1)

static cb_status bad_request(cb_error *err, const char *msg)
{
    return cb_error_set(err, CB_INVALID_ARGUMENT, "cb_loader_select", msg);
}

static cb_status read_request(const cb_request *request, cb_request *r, cb_error *err)
{
    cb_request_init(r);
    if (!request)
        return CB_OK;
    const cb_status status =
        cb_args_read(r, sizeof(*r), CBL_REQUEST_1_0, request, "cb_loader_select", err);
    if (status != CB_OK)
        return status;
    if (r->want & ~WANT_ALL)
        return bad_request(err, "request->want has a bit that this loader does not know");
    if (r->reserved)
        return bad_request(err, "request->reserved is not 0");
    if (r->id && !*r->id)
        return bad_request(err, "request->id is empty");
    if (r->n_options && !r->id)
        return bad_request(err, "request->options need request->id: they are a backend's own");
    if (r->n_options && !r->options)
        return bad_request(err, "request->options is NULL");
    for (uint64_t i = 0; i < r->n_options; i++)
        if (!r->options[i] || !strchr(r->options[i], '=') || r->options[i][0] == '=')
            return bad_request(err, "an entry of request->options is not key=value");
    return CB_OK;
}

/* ---- Ranking ---- */

/* What was asked for, by whoever has the strongest word. */
struct order {
    const struct names *names;
    bool literal; /* the one name is no glob */
    bool require; /* one of these or an error */
};

static struct order find_order(const struct settings *s, const cb_request *r, struct names *pinned)
{
    if (r->id) {
        *pinned = (struct names){ (const char **)&r->id, 1, false, "the program" };
        return (struct order){ pinned, true, true };
    }
    if (s->env_backend.origin)
        return (struct order){ &s->env_backend, false, !s->env_backend.any };
    return (struct order){ &s->backend, false, false };
}

/* A candidate in one selection. */
struct attempt {
    struct candidate *candidate;
    uint64_t asked; /* the place in the order, UINT64_MAX when it is not in it */
    bool named;
    bool eligible; /* may be opened at all */
    struct verdict verdict;
    uint64_t nanoseconds;
};

struct walk {
    struct cb_loader *loader;
    struct order order;
    struct names pinned;
    cb_request request;
    struct attempt *attempts; /* best first */
    uint64_t count;
    struct attempt *winner;
    bool no_memory; /* a lesser backend is no answer to that */
};

static void judge(const struct walk *w, struct attempt *a)
{
    const struct candidate *c = a->candidate;
    const struct names *names = w->order.names;
    if (w->order.literal) {
        a->named = !strcmp(names->items[0], c->id);
        a->asked = a->named ? 0 : UINT64_MAX;
    } else {
        a->asked = cbl_match(names, c->id, &a->named);
    }
    a->eligible = false;
    if (w->order.require && a->asked == UINT64_MAX)
        cbl_blame(&a->verdict, CB_STATE_UNFIT, "%s asks for %s%s", names->origin, names->items[0],
                  names->count > 1 ? " and others" : "");
    else if (!(c->twin ? c->twin : c)->priority && !a->named)
        cbl_blame(&a->verdict, CB_STATE_UNFIT, "priority 0: taken only when named");
    else
        a->eligible = true;
}

/* Twins share the rank of the first of them, and follow it. */
static int compare_attempts(const void *left, const void *right)
{
    const struct attempt *a = left, *b = right;
    const struct candidate *c = a->candidate, *d = b->candidate;
    const int32_t p = (c->twin ? c->twin : c)->priority, q = (d->twin ? d->twin : d)->priority;
    if (a->asked != b->asked)
        return a->asked < b->asked ? -1 : 1;
    if (p != q)
        return p > q ? -1 : 1;
    const int ids = strcmp(c->id, d->id);
    return ids ? ids : (c > d) - (c < d);
}

static bool rank(struct walk *w)
{
    struct cb_loader *l = w->loader;
    w->attempts = calloc(l->n_candidates + 1, sizeof(*w->attempts));
    if (!w->attempts)
        return false;
    for (uint64_t i = 0; i < l->n_candidates; i++) {
        if (!l->candidates[i].usable)
            continue;
        struct attempt *a = &w->attempts[w->count++];
        a->candidate = &l->candidates[i];
        judge(w, a);
    }
    qsort(w->attempts, w->count, sizeof(*w->attempts), compare_attempts);
    return true;
}

/* ---- The walk ---- */

static struct instance *walk(struct walk *w)
{
    for (uint64_t i = 0; i < w->count; i++) {
        struct attempt *a = &w->attempts[i];
        const struct candidate *c = a->candidate;
        if (!a->eligible)
            continue;
        const struct demand demand = { &w->request, a->named };
        const uint64_t start = cbl_now();
        struct instance *in = cbl_instance_open(w->loader, c, &demand, &a->verdict);
        a->nanoseconds = cbl_now() - start;
        if (in) {
            w->winner = a;
            return in;
        }
        cbl_log(w->loader, CB_LOG_INFO, "%s %s: %s: %s", c->id, c->path,
                cb_state_name(a->verdict.state), cbl_text(&a->verdict.reason));
        w->no_memory = a->verdict.no_memory;
        if (w->no_memory)
            break;
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
        cbl_blame(&a->verdict, CB_STATE_SELECTED,
                  "the highest priority (%d) of those that fit; device %u", a->candidate->priority,
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
    if (!names->count || (w->winner->asked == 0 && w->winner == w->attempts))
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
    cb_error_set(err, status, "cb_loader_select", cbl_text(&t));
    cbl_log(l, CB_LOG_ERROR, "%s", cbl_text(&t));
    cbl_text_free(&t);
    return status;
}

cb_status cb_loader_select(cb_loader *loader, const cb_request *request, cb_backend *out,
                           cb_error *err)
{
    struct walk w = { .loader = loader };
    if (!loader || !out)
        return bad_request(err, loader ? "out is NULL" : "loader is NULL");
    cb_status status = read_request(request, &w.request, err);
    if (status != CB_OK)
        return status;
    w.order = find_order(&loader->settings, &w.request, &w.pinned);
    if (!rank(&w))
        return cb_error_set(err, CB_OUT_OF_MEMORY, "cb_loader_select", "out of memory");

    struct instance *in = walk(&w);
    if (in)
        explain_winner(&w, in);
    explain_rest(&w);
    publish(&w, in);
    if (in) {
        warn_of_fallback(&w);
        cbl_log(loader, CB_LOG_INFO, "selected %s %s %s: %s", in->candidate->id,
                in->candidate->version, in->candidate->path, cbl_text(&w.winner->verdict.reason));
        *out = (cb_backend){ &in->table, in->self };
    } else {
        status = nothing_fits(&w, err);
    }
    for (uint64_t i = 0; i < w.count; i++)
        cbl_text_free(&w.attempts[i].verdict.reason);
    free(w.attempts);
    return status;
}
