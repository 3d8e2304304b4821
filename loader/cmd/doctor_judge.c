/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor.h"

#include <stdlib.h>
#include <string.h>

/* Adds a problem; what and remedy are texts of their own from now on. */
static void add(struct page *p, struct text *what, struct text *remedy)
{
    struct problem *grown = cbl_grow(p->problems, p->n_problems, sizeof(*grown));
    if (grown)
        p->problems = grown;
    if (!grown || what->failed || remedy->failed) {
        p->no_memory = true;
        cbl_text_free(what);
        cbl_text_free(remedy);
        return;
    }
    cbl_one_line(what);
    cbl_one_line(remedy);
    p->problems[p->n_problems++] = (struct problem){ what->at, remedy->at };
}

static const char *place_of(const cb_candidate *c)
{
    return *c->path ? c->path : "a built-in";
}

static void judge_selection(struct page *p)
{
    const struct selection *s = p->selection;
    struct text what = { 0 }, remedy = { 0 };
    if (s->child.done && *s->id)
        return;
    if (s->child.done)
        cbl_add(&what, "a program gets no backend: %s", s->why);
    else
        cbl_add(&what, "a program that selects a backend is ended: the selection %s", s->child.end);
    cbl_add(&remedy, p->n_backends
                         ? "mend what the candidates' reasons say, or name another backend with "
                           "CB_BACKEND"
                         : "install a plugin, or name the directory of one with CB_PLUGINS");
    add(p, &what, &remedy);
}

/* What the loader's scan and its probe have against a file. */
static void judge_candidate(struct page *p, const cb_candidate *c)
{
    struct text what = { 0 }, remedy = { 0 };
    if ((c->state != CB_STATE_REFUSED && c->state != CB_STATE_FAILED &&
         c->state != CB_STATE_PROBED_BAD) ||
        lacks_device(c))
        return;
    cbl_add(&what, "%s is %s: %s", place_of(c), cb_state_name(c->state), c->reason);
    if (c->state == CB_STATE_PROBED_BAD && *c->id)
        cbl_add(&remedy, "hide it with CB_DISABLE=%s, and report this to its author", c->id);
    else
        cbl_add(&remedy, "mend, replace or remove the file; cb lint %s says what it knows of it",
                place_of(c));
    add(p, &what, &remedy);
}

/* What a backend did when it was made to work. */
static void judge_backend(struct page *p, const struct backend_page *b)
{
    const struct checkup *c = b->checkup;
    struct text what = { 0 }, remedy = { 0 };
    if (!c || c->no_device || (c->child.done && c->opened && !c->failed))
        return;
    if (!c->child.done && c->opened)
        cbl_add(&what, "%s %s in its self-test, in the case %s", b->candidate.id, c->child.end,
                *c->current ? c->current : "(none)");
    else if (!c->child.done)
        cbl_add(&what, "%s %s when it was opened", b->candidate.id, c->child.end);
    else if (!c->opened)
        cbl_add(&what, "%s cannot be opened: %s", b->candidate.id, c->why);
    else
        cbl_add(&what, "%s fails %llu cases of its self-test, the first %s: %s", b->candidate.id,
                (unsigned long long)c->failed, c->failures[0].spec, c->failures[0].text);
    if (c->child.done && !c->opened)
        cbl_add(&remedy, "mend what it says; cb lint %s looks at its file",
                place_of(&b->candidate));
    else
        cbl_add(&remedy,
                "do not use it: hide it with CB_DISABLE=%s, and report this to its author; "
                "cb selftest %s tells all of it",
                b->candidate.id, b->candidate.id);
    add(p, &what, &remedy);
}

/* The loader's report ends with what was odd. */
static void judge_oddities(struct page *p)
{
    static const char mark[] = "problem: ";
    struct slice rest = cbl_slice(p->report_text), line;
    while (cbl_split(&rest, '\n', &line)) {
        struct text what = { 0 }, remedy = { 0 };
        if (line.size < sizeof(mark) || memcmp(line.at, mark, sizeof(mark) - 1) != 0)
            continue;
        cbl_add(&what, "%.*s", (int)(line.size - sizeof(mark) + 1), line.at + sizeof(mark) - 1);
        cbl_add(&remedy, strncmp(cbl_text(&what), "probe unavailable", 17) != 0
                             ? "see cb config, and cb.conf(5) for what may stand there"
                             : "install cb-probe, or set probe_helper in the configuration: until "
                               "then a plugin that crashes takes its program with it");
        add(p, &what, &remedy);
    }
}

void page_judge(struct page *p)
{
    cb_candidate c;
    cb_candidate_init(&c);
    judge_selection(p);
    for (uint64_t i = 0; cb_loader_candidate(p->loader, i, &c, NULL) == CB_OK; i++)
        judge_candidate(p, &c);
    for (uint64_t i = 0; i < p->n_backends; i++)
        judge_backend(p, &p->backends[i]);
    judge_oddities(p);
}
