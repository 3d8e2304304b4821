/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd.h"
#include "json.h"
#include "lint.h"

static void print_text_of(const struct lint *l)
{
    const struct manifest *m = &l->manifest;
    print_text(l->path);
    printf(": %u error%s, %u warning%s\n", (unsigned)l->errors, l->errors == 1 ? "" : "s",
           (unsigned)l->warnings, l->warnings == 1 ? "" : "s");
    if (l->has_manifest)
        printf("  %.*s %.*s, class %.*s, priority %d, isa %.*s\n", SLICE_ARGS(m->id),
               SLICE_ARGS(m->version), SLICE_ARGS(m->device_class), m->priority,
               SLICE_ARGS(m->isa));
    for (uint64_t i = 0; l->found && i < l->library.needed.count; i++) {
        fputs("  needs ", stdout);
        print_text(l->library.needed.items[i]);
        fputs(": ", stdout);
        print_text(l->found[i] ? l->found[i] : "not found");
        putchar('\n');
    }
    for (uint64_t i = 0; i < l->n_findings; i++) {
        const struct finding *f = &l->findings[i];
        printf("  %s: %s: ", lint_level_name(f->level), f->rule);
        print_text(f->text);
        printf("\n      %s\n", f->advice);
    }
}

static void slice_to_json(struct json *j, const char *key, struct slice s)
{
    char text[CB_MANIFEST_MAX + 1];
    snprintf(text, sizeof(text), "%.*s", SLICE_ARGS(s));
    cbl_json_string(j, key, text);
}

static void findings_to_json(struct json *j, const struct lint *l)
{
    cbl_json_open(j, "findings", '[');
    for (uint64_t i = 0; i < l->n_findings; i++) {
        cbl_json_open(j, NULL, '{');
        cbl_json_string(j, "level", lint_level_name(l->findings[i].level));
        cbl_json_string(j, "rule", l->findings[i].rule);
        cbl_json_string(j, "text", l->findings[i].text);
        cbl_json_string(j, "advice", l->findings[i].advice);
        cbl_json_close(j, '}');
    }
    cbl_json_close(j, ']');
}

static void file_to_json(struct json *j, const struct lint *l)
{
    cbl_json_open(j, NULL, '{');
    cbl_json_string(j, "path", l->path);
    cbl_json_number(j, "errors", l->errors, 1);
    cbl_json_number(j, "warnings", l->warnings, 1);
    if (l->has_manifest) {
        slice_to_json(j, "id", l->manifest.id);
        slice_to_json(j, "version", l->manifest.version);
        slice_to_json(j, "class", l->manifest.device_class);
        slice_to_json(j, "isa", l->manifest.isa);
        cbl_json_number(j, "priority", (uint64_t)l->manifest.priority, 1);
    }
    cbl_json_open(j, "exports", '[');
    for (uint64_t i = 0; i < l->library.exports.count; i++)
        cbl_json_string(j, NULL, l->library.exports.items[i]);
    cbl_json_close(j, ']');
    cbl_json_open(j, "needed", '[');
    for (uint64_t i = 0; l->found && i < l->library.needed.count; i++) {
        cbl_json_open(j, NULL, '{');
        cbl_json_string(j, "name", l->library.needed.items[i]);
        if (l->found[i])
            cbl_json_string(j, "path", l->found[i]);
        cbl_json_close(j, '}');
    }
    cbl_json_close(j, ']');
    findings_to_json(j, l);
    cbl_json_close(j, '}');
}

int cmd_lint(const struct arguments *a)
{
    struct text t = { 0 };
    struct json j = { .t = &t };
    const bool as_json = a->options & OPTION_JSON;
    bool good = true;
    cbl_json_begin(&j);
    cbl_json_open(&j, "files", '[');
    for (uint32_t i = 1; i < a->n_operands; i++) {
        struct lint l;
        lint_file(a->operands[i], &l);
        if (l.no_memory)
            complain("%s: out of memory", l.path);
        if (as_json)
            file_to_json(&j, &l);
        else
            print_text_of(&l);
        good = good && !l.errors && !l.no_memory;
        lint_free(&l);
    }
    cbl_json_close(&j, ']');
    cbl_json_close(&j, '}');
    if (as_json)
        puts(cbl_text(&t));
    good = good && !t.failed;
    cbl_text_free(&t);
    return good ? EXIT_OK : EXIT_TROUBLE;
}
