/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor.h"

#include "json.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The lines of a text, indented. */
static void add_lines(struct text *out, const char *text)
{
    while (*text) {
        const uint64_t size = strcspn(text, "\n");
        cbl_add(out, "    %.*s\n", (int)size, text);
        text += size + (text[size] == '\n');
    }
}

static void add_facts(const struct facts *f, struct text *out)
{
    cbl_line(out, "Versions");
    cbl_line(out, "    cb %s, loader %s, ABI %u.%u draft %u", CB_VERSION, cb_loader_version(),
             CB_ABI_MAJOR, CB_ABI_MINOR, CB_ABI_DRAFT);
    cbl_line(out, "    %s%s%s", f->system, *f->library ? ", " : "", f->library);
    cbl_line(out, "Processor");
    if (*f->processor)
        cbl_line(out, "    %s", f->processor);
    cbl_line(out, "    %s", cbl_text(&f->isa));
    cbl_line(out, "    %llu of %llu processors may be used", (unsigned long long)f->usable,
             (unsigned long long)f->online);
}

static void add_devices(const struct checkup *c, struct text *out)
{
    for (uint32_t i = 0; i < c->n_devices && i < DEVICES_SHOWN; i++)
        cbl_line(out, "        device %u: %s (%s), %s memory, %llu bytes", i, c->devices[i].name,
                 c->devices[i].id, memory_kind_name(c->devices[i].memory_kind),
                 (unsigned long long)c->devices[i].bytes);
    if (c->n_devices > DEVICES_SHOWN)
        cbl_line(out, "        and %u devices more", c->n_devices - DEVICES_SHOWN);
}

static void add_backend(const struct backend_page *b, struct text *out)
{
    const struct checkup *c = b->checkup;
    const char *id = b->candidate.id;
    if (!c) {
        cbl_line(out, "    %s: not tried: with priority 0 it is taken only when named", id);
        return;
    }
    if (!c->opened) {
        cbl_line(out, "    %s: not opened: %s", id, c->child.done ? c->why : c->child.end);
        return;
    }
    cbl_line(out, "    %s: %llu cases passed, %llu failed, %llu skipped, in %llu ms", id,
             (unsigned long long)c->passed, (unsigned long long)c->failed,
             (unsigned long long)c->skipped, (unsigned long long)c->child.milliseconds);
    if (!c->child.done)
        cbl_line(out, "        %s, in the case %s", c->child.end,
                 *c->current ? c->current : "(none)");
    add_devices(c, out);
    for (uint64_t i = 0; i < c->failed && i < FAILURES_SHOWN; i++)
        cbl_line(out, "        failed: %s: %s", c->failures[i].spec, c->failures[i].text);
}

static void add_verdict(const struct page *p, struct text *out)
{
    cbl_line(out, "Verdict");
    if (*p->selection->id)
        cbl_line(out, "    a program gets %s", p->selection->id);
    if (!p->n_problems)
        cbl_line(out, "    healthy");
    for (uint64_t i = 0; i < p->n_problems; i++) {
        cbl_line(out, "    problem %llu: %s", (unsigned long long)i + 1, p->problems[i].what);
        cbl_line(out, "        to do: %s", p->problems[i].remedy);
    }
}

void page_to_text(const struct page *p, struct text *out)
{
    add_facts(&p->facts, out);
    cbl_line(out, "Configuration");
    add_lines(out, p->config_text);
    cbl_line(out, "Candidates");
    add_lines(out, p->report_text);
    cbl_line(out, "Backends");
    for (uint64_t i = 0; i < p->n_backends; i++)
        add_backend(&p->backends[i], out);
    if (!p->n_backends)
        cbl_line(out, "    none that could be tried");
    add_verdict(p, out);
}

/* Whether a name could go on with this. */
static bool is_of_a_name(char c)
{
    return c == '.' || c == '_' || c == '-' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
           (c >= 'a' && c <= 'z');
}

/* Replaces each place where the path stands as a whole directory's name. */
static void replace_path(struct text *t, const char *path)
{
    struct text out = { 0 };
    const uint64_t size = path ? strlen(path) : 0;
    const char *at = cbl_text(t), *found;
    if (size < 2 || t->failed)
        return;
    while ((found = strstr(at, path)) != NULL) {
        const bool whole =
            !is_of_a_name(found[size]) && (found == cbl_text(t) || !is_of_a_name(found[-1]));
        cbl_add(&out, "%.*s%s", (int)(found - at), at, whole ? "~" : path);
        at = found + size;
    }
    cbl_add(&out, "%s", at);
    cbl_text_free(t);
    *t = out;
}

/* Others' directories too: a search path may well lead there. */
static void replace_homes(struct text *t)
{
    static const char homes[] = "/home/";
    struct text out = { 0 };
    const char *at = cbl_text(t), *found;
    if (t->failed)
        return;
    while ((found = strstr(at, homes)) != NULL) {
        const char *name = found + sizeof(homes) - 1;
        const uint64_t size = strcspn(name, "/ :,\"'()\n");
        cbl_add(&out, "%.*s%s", (int)(found - at), at, size ? "~" : homes);
        at = name + size;
    }
    cbl_add(&out, "%s", at);
    cbl_text_free(t);
    *t = out;
}

void page_redact(struct text *t)
{
    const struct passwd *self = getpwuid(getuid());
    replace_path(t, getenv("HOME"));
    replace_path(t, self ? self->pw_dir : NULL);
    replace_homes(t);
}
