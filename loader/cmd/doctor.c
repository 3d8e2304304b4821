/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The deadline that the configuration gives to probes, in milliseconds. */
static uint64_t read_timeout(const char *config)
{
    static const char key[] = "\nprobe_timeout = ";
    const char *at = strstr(config, key);
    const double seconds = at ? strtod(at + sizeof(key) - 1, NULL) : 0;
    return seconds > 0 ? (uint64_t)(seconds * 1000) + 1 : 10000;
}

/* Whether the loader could take it, and no earlier one has its id. */
static bool is_to_be_tried(const cb_candidate *c)
{
    return c->state == CB_STATE_FOUND;
}

static void check_backends(struct page *p, uint64_t timeout_ms)
{
    const uint64_t count = cb_loader_candidate_count(p->loader);
    p->backends = calloc(count + 1, sizeof(*p->backends));
    p->no_memory |= !p->backends;
    for (uint64_t i = 0; i < count && !p->no_memory; i++) {
        struct backend_page b;
        cb_candidate_init(&b.candidate);
        b.checkup = NULL;
        if (cb_loader_candidate(p->loader, i, &b.candidate, NULL) != CB_OK ||
            !is_to_be_tried(&b.candidate))
            continue;
        if (b.candidate.priority > 0) {
            struct patient patient = { p->loader, b.candidate.id };
            b.checkup = shared_alloc(sizeof(*b.checkup));
            p->no_memory |= !b.checkup;
            if (b.checkup)
                child_run(&b.checkup->child, timeout_ms, do_checkup, &patient);
            if (b.checkup)
                checkup_seal(b.checkup);
        }
        p->backends[p->n_backends++] = b;
    }
}

/* The report that the selection left, else that of the scan. */
static char *report_of(struct page *p, const char *left, bool as_json)
{
    char *text = p->selection->child.done && *left
                     ? strndup(left, SELECTION_ROOM - 1)
                     : loader_words(p->loader, cb_loader_report_as, as_json);
    p->no_memory |= !text;
    return text;
}

static void examine(struct page *p)
{
    facts_read(&p->facts);
    p->config_text = loader_words(p->loader, cb_loader_config, false);
    p->config_json = loader_words(p->loader, cb_loader_config, true);
    p->selection = shared_alloc(sizeof(*p->selection));
    p->no_memory = !p->config_text || !p->config_json || !p->selection;
    if (p->no_memory)
        return;
    const uint64_t timeout_ms = read_timeout(p->config_text);
    child_run(&p->selection->child, timeout_ms, do_select, p->loader);
    selection_seal(p->selection);
    p->report_text = report_of(p, p->selection->text, false);
    p->report_json = report_of(p, p->selection->json, true);
    check_backends(p, timeout_ms);
    if (!p->no_memory)
        page_judge(p);
}

static void page_free(struct page *p)
{
    for (uint64_t i = 0; i < p->n_backends; i++)
        shared_free(p->backends[i].checkup, sizeof(*p->backends[i].checkup));
    for (uint64_t i = 0; i < p->n_problems; i++) {
        free(p->problems[i].what);
        free(p->problems[i].remedy);
    }
    shared_free(p->selection, sizeof(*p->selection));
    free(p->backends);
    free(p->problems);
    free(p->config_text);
    free(p->config_json);
    free(p->report_text);
    free(p->report_json);
    facts_free(&p->facts);
    cb_loader_close(p->loader, NULL);
}

static bool print_page(const struct page *p, uint32_t options)
{
    struct text t = { 0 };
    ((options & OPTION_JSON) ? page_to_json : page_to_text)(p, &t);
    if (options & OPTION_REDACT)
        page_redact(&t);
    const bool good = !t.failed;
    if (good)
        fputs(cbl_text(&t), stdout);
    cbl_text_free(&t);
    return good;
}

int cmd_doctor(const struct arguments *a)
{
    struct page p = { .loader = open_probing_loader(a) };
    if (!p.loader)
        return EXIT_TROUBLE;
    examine(&p);
    const bool good = !p.no_memory && print_page(&p, a->options);
    if (!good)
        complain("out of memory");
    const bool healthy = good && !p.n_problems;
    page_free(&p);
    return healthy ? EXIT_OK : EXIT_TROUBLE;
}
