/* SPDX-License-Identifier: Apache-2.0 */
/* The plugins of this tree as files: what they export, how they are linked, and that a host needs
 * nothing but the header to use one. */
#include "backend.h"
#include "compute_backend_plugin.h"

#include <dlfcn.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct file {
    unsigned char *bytes;
    size_t size;
};

static struct file read_file(const char *path)
{
    struct file file = { NULL, 0 };
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    file.size = (size_t)ftell(f);
    rewind(f);
    file.bytes = malloc(file.size);
    assert_non_null(file.bytes);
    assert_int_equal(fread(file.bytes, 1, file.size, f), file.size);
    fclose(f);
    return file;
}

/* The i-th program header of a type, or NULL. */
static const Elf64_Phdr *program_header(struct file file, uint32_t type, int i)
{
    const Elf64_Ehdr *elf = (const void *)file.bytes;
    const Elf64_Phdr *headers = (const void *)(file.bytes + elf->e_phoff);
    for (int at = 0; at < elf->e_phnum; at++) {
        if (headers[at].p_type == type && i-- == 0)
            return &headers[at];
    }
    return NULL;
}

/* Copies the text of the manifest notes that PT_NOTE leads to, and counts them. */
static int find_manifest(struct file file, char text[CB_MANIFEST_MAX + 1])
{
    int found = 0;
    const Elf64_Phdr *segment;
    for (int i = 0; (segment = program_header(file, PT_NOTE, i)) != NULL; i++) {
        const size_t align = segment->p_align == 8 ? 8 : 4;
        const size_t end = segment->p_offset + segment->p_filesz;
        size_t at = segment->p_offset;
        while (at + sizeof(Elf64_Nhdr) <= end) {
            const Elf64_Nhdr *note = (const void *)(file.bytes + at);
            const char *owner = (const char *)(note + 1);
            const size_t body = (at + sizeof(*note) + note->n_namesz + align - 1) / align * align;
            if (note->n_type == CB_MANIFEST_TYPE && note->n_namesz == sizeof(CB_MANIFEST_OWNER) &&
                !strcmp(owner, CB_MANIFEST_OWNER) && note->n_descsz <= CB_MANIFEST_MAX) {
                memcpy(text, file.bytes + body, note->n_descsz);
                text[note->n_descsz] = 0;
                found++;
            }
            at = (body + note->n_descsz + align - 1) / align * align;
        }
    }
    return found;
}

static uint64_t dynamic_value(struct file file, int64_t tag, int *found)
{
    const Elf64_Phdr *segment = program_header(file, PT_DYNAMIC, 0);
    assert_non_null(segment);
    const Elf64_Dyn *entry = (const void *)(file.bytes + segment->p_offset);
    for (; entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == tag) {
            *found = 1;
            return entry->d_un.d_val;
        }
    }
    *found = 0;
    return 0;
}

#define N_PLUGINS 2
static const struct {
    const char *id;
    const char *path;
    const char *rank; /* of the manifest */
} plugins[N_PLUGINS] = {
    { "cpu", TEST_CPU_PLUGIN, "class=cpu\npriority=1\n" },
    { "null", TEST_NULL_PLUGIN, "class=cpu\npriority=0\n" },
};

static void a_plugin_exports_its_entry_and_nothing_else(void **state)
{
    (void)state;
    for (int i = 0; i < N_PLUGINS; i++) {
        char command[4200], line[512], name[512] = "";
        int names = 0;
        snprintf(command, sizeof(command), "nm -D --defined-only '%s'", plugins[i].path);
        FILE *nm = popen(command, "r");
        assert_non_null(nm);
        while (fgets(line, sizeof(line), nm)) {
            assert_int_equal(sscanf(line, "%*s %*s %511s", name), 1);
            print_message("# %s exports %s\n", plugins[i].id, name);
            names++;
        }
        const int status = pclose(nm);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
            test_skip("a_plugin_exports_its_entry_and_nothing_else", "no nm (binutils)");
        assert_int_equal(status, 0);
        assert_int_equal(names, 1);
        assert_string_equal(name, CB_PLUGIN_SYMBOL);
    }
}

static void a_plugin_has_no_text_relocations_and_no_executable_stack(void **state)
{
    (void)state;
    for (int i = 0; i < N_PLUGINS; i++) {
        const struct file file = read_file(plugins[i].path);
        int has = 0;
        dynamic_value(file, DT_TEXTREL, &has);
        assert_false(has);
        assert_false(dynamic_value(file, DT_FLAGS, &has) & DF_TEXTREL);
        const Elf64_Phdr *stack = program_header(file, PT_GNU_STACK, 0);
        assert_non_null(stack);
        assert_false(stack->p_flags & PF_X);
        free(file.bytes);
    }
}

static void a_plugin_binds_its_own_symbols_and_all_of_them_at_once(void **state)
{
    (void)state;
    for (int i = 0; i < N_PLUGINS; i++) {
        const struct file file = read_file(plugins[i].path);
        int has = 0;
        const uint64_t flags = dynamic_value(file, DT_FLAGS, &has);
        assert_true(flags & DF_BIND_NOW);
        assert_true(flags & DF_SYMBOLIC);
        free(file.bytes);
    }
}

static void the_manifest_is_one_note_that_says_what_the_table_says(void **state)
{
    (void)state;
    for (int i = 0; i < N_PLUGINS; i++) {
        char text[CB_MANIFEST_MAX + 1], want[64];
        const struct file file = read_file(plugins[i].path);
        assert_int_equal(find_manifest(file, text), 1);
        snprintf(want, sizeof(want), "abi=%d.%d\ndraft=%d\nid=%s\n", CB_ABI_MAJOR, CB_ABI_MINOR,
                 CB_ABI_DRAFT, plugins[i].id);
        assert_memory_equal(text, want, strlen(want));
        assert_non_null(strstr(text, plugins[i].rank));
        assert_non_null(strstr(text, "\nisa=" CB_MANIFEST_ISA));
        free(file.bytes);
    }
}

static void the_manifest_survives_strip(void **state)
{
    (void)state;
    for (int i = 0; i < N_PLUGINS; i++) {
        char command[8400], path[] = TEST_BUILD_DIR "/stripped-XXXXXX";
        const int fd = mkstemp(path);
        assert_true(fd >= 0);
        close(fd);
        snprintf(command, sizeof(command), "strip --strip-all -o '%s' '%s'", path, plugins[i].path);
        const int status = system(command);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 127) {
            unlink(path);
            test_skip("the_manifest_survives_strip", "no strip (binutils)");
        }
        char before[CB_MANIFEST_MAX + 1], after[CB_MANIFEST_MAX + 1] = "";
        const struct file whole = read_file(plugins[i].path), stripped = read_file(path);
        unlink(path);
        assert_int_equal(status, 0);
        assert_true(stripped.size < whole.size);
        assert_int_equal(find_manifest(whole, before), 1);
        assert_int_equal(find_manifest(stripped, after), 1);
        assert_string_equal(after, before);
        free(whole.bytes);
        free(stripped.bytes);
    }
}

static const compute_backend_v1 *load(const char *path)
{
    void *dl = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(dl);
    cb_plugin_entry_fn entry;
    *(void **)&entry = dlsym(dl, CB_PLUGIN_SYMBOL);
    assert_non_null(entry);
    cb_negotiation n;
    cb_negotiation_init(&n);
    assert_int_equal(entry(&n), CB_OK);
    assert_non_null(n.table);
    return n.table;
}

/* Slots are words that follow the two version numbers, up to the end. */
static void a_table_has_no_null_slot(void **state)
{
    (void)state;
    for (int i = 0; i < N_PLUGINS; i++) {
        const compute_backend_v1 *table = load(plugins[i].path);
        assert_int_equal(table->size, sizeof(*table));
        assert_int_equal(table->abi_major, CB_ABI_MAJOR);
        assert_int_equal(table->abi_minor, CB_ABI_MINOR);
        assert_string_equal(table->name, plugins[i].id);
        for (uint64_t at = offsetof(compute_backend_v1, name); at < table->size; at += 8) {
            uint64_t slot;
            memcpy(&slot, (const char *)table + at, sizeof(slot));
            if (!slot)
                print_error("%s: the slot at byte %d is NULL\n", plugins[i].id, (int)at);
            assert_true(slot != 0);
        }
    }
}

static void the_entry_answers_again_and_again_and_refuses_a_host_it_cannot_serve(void **state)
{
    (void)state;
    for (int i = 0; i < N_PLUGINS; i++) {
        const compute_backend_v1 *table = load(plugins[i].path);
        assert_ptr_equal(load(plugins[i].path), table);

        void *dl = dlopen(plugins[i].path, RTLD_NOW | RTLD_LOCAL);
        cb_plugin_entry_fn entry;
        *(void **)&entry = dlsym(dl, CB_PLUGIN_SYMBOL);
        cb_negotiation n;
        cb_negotiation_init(&n);
        n.host_majors = 1u << 2;
        assert_int_equal(entry(&n), CB_ABI_MISMATCH);
        assert_null(n.table);
        assert_string_not_equal(n.reason, "");
    }
}

static void a_host_with_the_header_alone_runs_a_gemm(void **state)
{
    (void)state;
    const double a[] = { 1, 3, 2, 4 }, b[] = { 5, 7, 6, 8 }, want[] = { 19, 43, 22, 50 };
    double c[4] = { 0 };
    uint64_t da, db, dc;
    cb_error err = test_error();
    cb_create_args create = { CB_ARGS(cb_create_args) };
    cb_backend be = { load(TEST_CPU_PLUGIN), NULL };

    TEST_OK(be.api->create(&create, &be.self, &err), &err);
    TEST_OK(be.api->init(be.self, CB_DEVICE_AUTO, &err), &err);
    TEST_OK(cb_alloc(be, sizeof(a), &da, &err), &err);
    TEST_OK(cb_alloc(be, sizeof(b), &db, &err), &err);
    TEST_OK(cb_alloc(be, sizeof(c), &dc, &err), &err);
    TEST_OK(cb_upload(be, da, a, sizeof(a), &err), &err);
    TEST_OK(cb_upload(be, db, b, sizeof(b), &err), &err);
    const cb_gemm_args args = { CB_ARGS(cb_gemm_args),
                                .m = 2,
                                .n = 2,
                                .k = 2,
                                .alpha = 1,
                                .a = da,
                                .lda = 2,
                                .b = db,
                                .ldb = 2,
                                .c = dc,
                                .ldc = 2 };
    TEST_OK(cb_gemm(be, &args, &err), &err);
    TEST_OK(cb_download(be, c, dc, sizeof(c), &err), &err);
    be.api->destroy(be.self);
    assert_memory_equal(c, want, sizeof(want));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plugin_exports_its_entry_and_nothing_else),
        cmocka_unit_test(a_plugin_has_no_text_relocations_and_no_executable_stack),
        cmocka_unit_test(a_plugin_binds_its_own_symbols_and_all_of_them_at_once),
        cmocka_unit_test(the_manifest_is_one_note_that_says_what_the_table_says),
        cmocka_unit_test(the_manifest_survives_strip),
        cmocka_unit_test(a_table_has_no_null_slot),
        cmocka_unit_test(the_entry_answers_again_and_again_and_refuses_a_host_it_cannot_serve),
        cmocka_unit_test(a_host_with_the_header_alone_runs_a_gemm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
