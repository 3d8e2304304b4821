/* SPDX-License-Identifier: Apache-2.0 */
/* Who is tried, and in which order: nothing is opened here. */
#include "select.h"

#include <stdlib.h>
#include <string.h>

/* ---- The request ---- */

#define WANT_ALL (CB_WANT_PEER_ACCESS * 2 - 1)

static cb_status bad_request(cb_error *err, const char *where, const char *msg)
{
    return cb_error_set(err, CB_INVALID_ARGUMENT, where, msg);
}

static cb_status read_request(const cb_request *request, cb_request *r, const char *where,
                              cb_error *err)
{
    cb_request_init(r);
    if (!request)
        return CB_OK;
    const cb_status status = cb_args_read(r, sizeof(*r), CBL_REQUEST_1_0, request, where, err);
    if (status != CB_OK)
        return status;
    if (r->want & ~WANT_ALL)
        return bad_request(err, where, "request->want has a bit that this loader does not know");
    if (r->reserved)
        return bad_request(err, where, "request->reserved is not 0");
    if (r->id && !*r->id)
        return bad_request(err, where, "request->id is empty");
    if (r->n_options && !r->id)
        return bad_request(err, where,
                           "request->options need request->id: they are a backend's own");
    if (r->n_options && !r->options)
        return bad_request(err, where, "request->options is NULL");
    for (uint64_t i = 0; i < r->n_options; i++)
        if (!r->options[i] || !strchr(r->options[i], '=') || r->options[i][0] == '=')
            return bad_request(err, where, "an entry of request->options is not key=value");
    return CB_OK;
}

/* ---- Ranking ---- */

static struct order find_order(const struct settings *s, const cb_request *r, struct names *pinned)
{
    static const struct names nobody = { .count = 0 };
    if (r->id) {
        *pinned = (struct names){ (const char **)&r->id, 1, false, "the program" };
        return (struct order){ pinned, true, true };
    }
    if (s->env_backend.origin)
        return (struct order){ &s->env_backend, false, !s->env_backend.any };
    if (s->policy == POLICY_ANY)
        return (struct order){ &nobody, false, false };
    const bool require = s->policy == POLICY_REQUIRE && s->backend.count && !s->backend.any;
    return (struct order){ &s->backend, false, require };
}

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

/* Orders the usable candidates. */
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

cb_status cbl_walk_begin(struct walk *w, struct cb_loader *l, const cb_request *request,
                         const char *where, cb_error *err)
{
    *w = (struct walk){ .loader = l, .where = where };
    cb_status status = cbl_enter(l, where, err);
    if (status == CB_OK)
        status = read_request(request, &w->request, where, err);
    if (status != CB_OK)
        return status;
    w->order = find_order(&l->settings, &w->request, &w->pinned);
    if (!rank(w))
        return cb_error_set(err, CB_OUT_OF_MEMORY, where, "out of memory");
    return CB_OK;
}

void cbl_walk_end(struct walk *w)
{
    for (uint64_t i = 0; i < w->count; i++)
        cbl_text_free(&w->attempts[i].verdict.reason);
    free(w->attempts);
}

/* ---- The chain ---- */

/* Adds what is eligible and of class cpu, or is not, behind the count. */
static void add_to_chain(const struct walk *w, bool cpu, uint64_t *chain, uint64_t room,
                         uint64_t *count)
{
    for (uint64_t i = 0; i < w->count; i++) {
        const struct attempt *a = &w->attempts[i];
        if (!a->eligible || !strcmp(a->candidate->device_class, "cpu") != cpu)
            continue;
        if (*count < room)
            chain[*count] = (uint64_t)(a->candidate - w->loader->candidates);
        ++*count;
    }
}

cb_status cb_loader_fallback_chain(cb_loader *loader, const cb_request *request,
                                   uint64_t *candidates, uint64_t *count, cb_error *err)
{
    static const char where[] = "cb_loader_fallback_chain";
    struct walk w;
    if (!count)
        return bad_request(err, where, "count is NULL");
    cb_status status = cbl_walk_begin(&w, loader, request, where, err);
    if (status != CB_OK)
        return status;
    const uint64_t room = candidates ? *count : 0;
    *count = 0;
    add_to_chain(&w, false, candidates, room, count);
    add_to_chain(&w, true, candidates, room, count);
    if (candidates && *count > room)
        status = bad_request(err, where, "too little room; *count says what it takes");
    cbl_walk_end(&w);
    return status;
}
