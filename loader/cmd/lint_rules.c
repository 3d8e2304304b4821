/* SPDX-License-Identifier: Apache-2.0 */
#include "lint.h"

#include "cb_loader.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ENTRY_NAME "cb_plugin_entry"

struct rule {
    const char *name;
    enum lint_level level;
    const char *advice;
    void (*check)(struct lint *l, const struct rule *rule);
};

const char *lint_level_name(enum lint_level level)
{
    return level == LINT_ERROR ? "error" : "warning";
}

__attribute__((format(printf, 3, 4))) static void find(struct lint *l, const struct rule *rule,
                                                       const char *format, ...)
{
    struct text t = { 0 };
    va_list args;
    va_start(args, format);
    cbl_addv(&t, format, args);
    va_end(args);
    cbl_one_line(&t);
    struct finding *grown = cbl_grow(l->findings, l->n_findings, sizeof(*grown));
    if (grown)
        l->findings = grown;
    if (!grown || t.failed) {
        l->no_memory = true;
        cbl_text_free(&t);
        return;
    }
    l->findings[l->n_findings++] = (struct finding){ rule->level, rule->name, rule->advice, t.at };
    *(rule->level == LINT_ERROR ? &l->errors : &l->warnings) += 1;
}

/* ---- The facts ---- */

/* Broken before any other rule can be looked at. */
static const struct rule readable = { "file", LINT_ERROR,
                                      "name a plugin's shared library, built for this machine",
                                      NULL };

static void check_manifest(struct lint *l, const struct rule *rule)
{
    struct verdict v = { 0 };
    l->has_manifest =
        cbl_elf_read(l->fd, l->file.size, &l->note, &v) &&
        cbl_manifest_read((struct slice){ l->note.text, l->note.size }, &l->manifest, &v);
    l->unreadable = !l->has_manifest && v.state == CB_STATE_SKIPPED;
    if (v.no_memory)
        l->no_memory = true;
    else if (!l->has_manifest)
        find(l, l->unreadable ? &readable : rule, "%s", cbl_text(&v.reason));
    cbl_text_free(&v.reason);
}

static void check_headers(struct lint *l, const struct rule *rule)
{
    const char *why;
    if (l->unreadable)
        return;
    if (!library_read(l->file.bytes, l->file.size, &l->library, &why)) {
        find(l, rule, "%s", why);
        return;
    }
    l->found = calloc(l->library.needed.count + 1, sizeof(*l->found));
    l->no_memory |= !l->found;
    for (uint64_t i = 0; l->found && i < l->library.needed.count; i++)
        l->found[i] = find_library(l->path, &l->library, l->library.needed.items[i]);
}

/* ---- The rules ---- */

static void check_name(struct lint *l, const struct rule *rule)
{
    const char *slash = strrchr(l->path, '/');
    const char *name = slash ? slash + 1 : l->path;
    struct text want = { 0 };
    if (!l->has_manifest)
        return;
    cbl_add(&want, "libcb_%.*s.so", SLICE_ARGS(l->manifest.id));
    if (!want.failed && strcmp(name, cbl_text(&want)) != 0)
        find(l, rule, "the file is %s, and the manifest's id wants %s", name, cbl_text(&want));
    cbl_text_free(&want);
}

static void check_class(struct lint *l, const struct rule *rule)
{
    static const char *const classes[] = { "cpu", "gpu", "accelerator" };
    if (!l->has_manifest)
        return;
    for (uint64_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
        if (cbl_slice_is(l->manifest.device_class, classes[i]))
            return;
    find(l, rule, "the manifest's class is '%.*s'", SLICE_ARGS(l->manifest.device_class));
}

static const char *architecture(uint16_t machine)
{
    switch (machine) {
    case EM_X86_64: return "x86_64";
    case EM_AARCH64: return "aarch64";
    case EM_RISCV: return "riscv64";
    case EM_PPC64: return "ppc64";
    case EM_S390: return "s390x";
    default: return "any";
    }
}

static void check_isa(struct lint *l, const struct rule *rule)
{
    struct slice rest = l->manifest.isa, first;
    const char *want = architecture(l->library.machine);
    if (l->has_manifest && cbl_split(&rest, ',', &first) && !cbl_slice_is(first, want))
        find(l, rule, "the manifest's isa begins with %.*s, and the file is for %s",
             SLICE_ARGS(first), want);
}

/* Built for this machine's architecture, and perhaps for a newer processor. */
static void check_processor(struct lint *l, const struct rule *rule)
{
    struct verdict v = { 0 };
    if (l->has_manifest && !cbl_isa_check(cbl_isa_of_machine(), l->manifest.isa, &v))
        find(l, rule, "it %s", cbl_text(&v.reason));
    l->no_memory |= v.no_memory;
    cbl_text_free(&v.reason);
}

static void check_entry(struct lint *l, const struct rule *rule)
{
    for (uint64_t i = 0; i < l->library.exports.count; i++)
        if (!strcmp(l->library.exports.items[i], ENTRY_NAME))
            return;
    find(l, rule, "it does not export %s", ENTRY_NAME);
}

static void check_exports(struct lint *l, const struct rule *rule)
{
    struct text names = { 0 };
    uint64_t n = 0;
    for (uint64_t i = 0; i < l->library.exports.count; i++) {
        if (!strcmp(l->library.exports.items[i], ENTRY_NAME))
            continue;
        if (n++ < 5)
            cbl_add(&names, "%s%s", names.size ? ", " : "", l->library.exports.items[i]);
    }
    if (n > 5)
        cbl_add(&names, " and %llu more", (unsigned long long)(n - 5));
    if (n)
        find(l, rule, "it exports more than its entry: %s", cbl_text(&names));
    l->no_memory |= names.failed;
    cbl_text_free(&names);
}

static void check_text_relocations(struct lint *l, const struct rule *rule)
{
    if (l->library.text_relocations)
        find(l, rule, "it has text relocations: its code is changed when it is loaded");
}

static void check_stack(struct lint *l, const struct rule *rule)
{
    if (l->library.stack_is_code)
        find(l, rule, "it asks for an executable stack");
    else if (!l->library.stack_is_said)
        find(l, rule, "it has no PT_GNU_STACK header, which counts as an executable stack");
}

static void check_segments(struct lint *l, const struct rule *rule)
{
    if (l->library.code_is_writable)
        find(l, rule, "a segment is writable and executable at once");
}

static bool is_below_origin(struct slice directory)
{
    static const char *const origins[] = { "$ORIGIN", "${ORIGIN}" };
    for (uint64_t i = 0; i < sizeof(origins) / sizeof(origins[0]); i++) {
        const uint64_t size = strlen(origins[i]);
        if (directory.size >= size && !memcmp(directory.at, origins[i], size) &&
            (directory.size == size || directory.at[size] == '/'))
            return true;
    }
    return false;
}

static void check_run_path(struct lint *l, const struct rule *rule)
{
    const char *const lists[] = { l->library.rpath, l->library.runpath };
    for (uint64_t i = 0; i < 2; i++) {
        struct slice rest = cbl_slice(lists[i] ? lists[i] : ""), part;
        while (cbl_split(&rest, ':', &part))
            if (!is_below_origin(part))
                find(l, rule, "it looks for libraries in %.*s (%s)", SLICE_ARGS(part),
                     i ? "RUNPATH" : "RPATH");
    }
}

static void check_needed(struct lint *l, const struct rule *rule)
{
    for (uint64_t i = 0; l->found && i < l->library.needed.count; i++)
        if (!l->found[i])
            find(l, rule, "it needs %s, which is not found", l->library.needed.items[i]);
}

static void check_loader(struct lint *l, const struct rule *rule)
{
    for (uint64_t i = 0; i < l->library.needed.count; i++)
        if (!strncmp(l->library.needed.items[i], "libcb_loader", strlen("libcb_loader")))
            find(l, rule, "it is linked with %s", l->library.needed.items[i]);
}

static void check_symbolic(struct lint *l, const struct rule *rule)
{
    if (!l->library.symbolic)
        find(l, rule, "it was not linked with -Bsymbolic");
}

static void check_now(struct lint *l, const struct rule *rule)
{
    if (!l->library.now)
        find(l, rule, "it was not linked with -z now");
}

/* The first two read the file; when its headers cannot be read the rest would judge nothing. */
static const struct rule rules[] = {
    { "manifest", LINT_ERROR,
      "put CB_PLUGIN_MANIFEST at file scope, once, and build with the header of this ABI",
      check_manifest },
    { "headers", LINT_ERROR, "link it again: gcc -shared, and no tool that rewrites ELF files",
      check_headers },
    { "name", LINT_WARNING, "call it libcb_ID.so; a scan of a directory takes only libcb_*.so",
      check_name },
    { "class", LINT_WARNING, "use cpu, gpu or accelerator", check_class },
    { "isa", LINT_ERROR, "build the manifest with the compiler and flags of the whole plugin",
      check_isa },
    { "processor", LINT_WARNING,
      "it will be refused here; compile the whole of it for the processors that it is meant for",
      check_processor },
    { "entry", LINT_ERROR, "define it with CB_PLUGIN_ENTRY, and keep it in the export map",
      check_entry },
    { "exports", LINT_WARNING,
      "link with an export map: { global: cb_plugin_entry; local: *; }; else another plugin's "
      "symbols may be taken for these",
      check_exports },
    { "text_relocations", LINT_ERROR, "compile every file, assembly too, with -fPIC",
      check_text_relocations },
    { "stack", LINT_ERROR,
      "link with -Wl,-z,noexecstack, and end assembly with .section .note.GNU-stack", check_stack },
    { "segments", LINT_ERROR, "drop -N and linker scripts that merge code with data",
      check_segments },
    { "run_path", LINT_ERROR, "use $ORIGIN: who may write to such a directory runs code in hosts",
      check_run_path },
    { "needed", LINT_ERROR,
      "install it, or open it with dlopen in create, so that the plugin can say what is missing",
      check_needed },
    { "loader", LINT_ERROR, "use nothing of the loader: what a plugin needs is in the two headers",
      check_loader },
    { "symbolic", LINT_WARNING,
      "link with -Wl,-Bsymbolic: a host's function of the same name is then not taken",
      check_symbolic },
    { "now", LINT_WARNING,
      "link with -Wl,-z,now: a missing symbol is then found when it is loaded, not in a call",
      check_now },
};
#define RULE_COUNT (sizeof(rules) / sizeof(rules[0]))
#define READERS    2

void lint_file(const char *path, struct lint *out)
{
    const char *why;
    *out = (struct lint){ .path = path, .fd = -1 };
    if (!mapping_open(path, &out->file, &out->fd, &why)) {
        find(out, &readable, "%s", why);
        return;
    }
    for (uint64_t i = 0; i < RULE_COUNT && (i < READERS || out->found); i++)
        rules[i].check(out, &rules[i]);
}

void lint_free(struct lint *l)
{
    for (uint64_t i = 0; i < l->n_findings; i++)
        free(l->findings[i].text);
    for (uint64_t i = 0; l->found && i < l->library.needed.count; i++)
        free(l->found[i]);
    free(l->findings);
    free(l->found);
    library_free(&l->library);
    mapping_close(&l->file);
    if (l->fd >= 0)
        close(l->fd);
}

static void print_rule(const struct rule *r)
{
    printf("  %s, %s\n      %s\n", r->name, lint_level_name(r->level), r->advice);
}

void lint_help(void)
{
    puts("\nRules, and what to do when one is broken:");
    print_rule(&readable);
    for (uint64_t i = 0; i < RULE_COUNT; i++)
        print_rule(&rules[i]);
}
