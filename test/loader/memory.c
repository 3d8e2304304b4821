/* SPDX-License-Identifier: Apache-2.0 */
/* The loader when memory runs out. This program links the static loader with the allocator wrapped,
 * and makes each allocation of a whole session fail in turn: once alone, and from then on. */
#include "place.h"

#include <stdlib.h>
#include <string.h>

cb_status cb_plugin_entry_builtin(cb_negotiation *negotiation);
extern const char cb_plugin_manifest_builtin[];

static struct {
    int armed, for_good;
    uint64_t calls, fail_at; /* from 1 */
} memory;

static int fails(void)
{
    if (!memory.armed)
        return 0;
    memory.calls++;
    return memory.calls == memory.fail_at || (memory.for_good && memory.calls > memory.fail_at);
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__wrap_strdup(const char *text);

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return fails() ? NULL : __real_realloc(old, size);
}

char *__wrap_strdup(const char *text)
{
    return fails() ? NULL : __real_strdup(text);
}

/* What became of one session. */
struct session {
    cb_status open, select, report;
    cb_error open_err, select_err;
    char selected[32];
    char text[8192];
};

/* Nothing here allocates but the loader and the mocks. */
static void run_session(struct session *s, uint64_t fail_at, int for_good)
{
    static const char *const option[] = { "depth=5" };
    const cb_builtin builtin = { .size = sizeof(builtin),
                                 .entry = cb_plugin_entry_builtin,
                                 .manifest = cb_plugin_manifest_builtin };
    const cb_builtin *const builtins[] = { &builtin };
    const cb_loader_options options = { .size = sizeof(options),
                                        .builtins = builtins,
                                        .n_builtins = 1 };
    const cb_request named = {
        .size = sizeof(named), .id = "good", .options = option, .n_options = 1
    };
    cb_loader *loader = NULL;
    cb_backend be = { NULL, NULL }, again = { NULL, NULL };
    uint64_t length = sizeof(s->text);

    *s = (struct session){ .select = CB_OK, .report = CB_OK };
    s->open_err = s->select_err = test_error();
    memory.calls = 0;
    memory.fail_at = fail_at;
    memory.for_good = for_good;
    memory.armed = 1;
    s->open = cb_loader_open(&options, &loader, &s->open_err);
    if (s->open == CB_OK) {
        s->select = cb_loader_select(loader, NULL, &be, &s->select_err);
        s->report = cb_loader_report(loader, s->text, &length, NULL);
        if (s->select == CB_OK)
            s->select = cb_loader_select(loader, &named, &again, &s->select_err);
    }
    memory.armed = 0;

    if (be.api)
        strncat(s->selected, be.api->name, sizeof(s->selected) - 1);
    if (s->open != CB_OK) {
        assert_null(loader);
        return;
    }
    if (be.api)
        release(loader, be);
    if (again.api)
        release(loader, again);
    assert_string_equal(best(loader), "high");
    close_loader(loader);
}

/* Failing is fine when it is said, and so is success; another backend than the best is neither. */
static void judge(const struct session *s, uint64_t fail_at)
{
    if (s->open != CB_OK) {
        TEST_STATUS(s->open, CB_OUT_OF_MEMORY, &s->open_err);
        HAS_TEXT(s->open_err.msg, "memory");
        return;
    }
    assert_true(s->report == CB_OK || s->report == CB_OUT_OF_MEMORY);
    if (s->select != CB_OK) {
        assert_true(s->select == CB_OUT_OF_MEMORY || s->select == CB_NOT_FOUND);
        HAS_TEXT(s->select_err.msg, "memory");
    } else if (strcmp(s->selected, "high")) {
        print_message("# allocation %d: %s\n", (int)fail_at, s->selected);
        HAS_TEXT(s->text, "memory");
    }
}

static void prepare(void)
{
    plant("good");
    plant("high");
    plant("no_note");
    plant_as("good", "libcb_twin.so");
    plant("alpha");
    write_text("libcb_text.so", "not a library");
    configure("cb.conf", "[loader]\nbackend = nothing, high\nplugin_path = a : b\nnonsense\n"
                         "[backend.high]\ndepth = 3\nbogus = 1\npriority = 7\n");
    setenv("CB_OPTIONS", "high.bogus2=1,good.name=x,good.device=0", 1);
    setenv("CB_DISABLE", "alpha", 1);
    setenv("CB_PLUGINS_ADD", path_of("nowhere"), 1);
}

static void fail_each_allocation(int for_good)
{
    struct session *s = malloc(sizeof(*s));
    assert_non_null(s);
    prepare();
    run_session(s, UINT64_MAX, 0);
    TEST_OK(s->open, &s->open_err);
    TEST_OK(s->select, &s->select_err);
    assert_string_equal(s->selected, "high");
    const uint64_t sites = memory.calls;
    assert_true(sites > 20);
    for (uint64_t i = 1; i <= sites; i++) {
        run_session(s, i, for_good);
        judge(s, i);
    }
    run_session(s, memory.calls + sites, for_good);
    assert_string_equal(s->selected, "high");
    print_message("# %d allocations failed in turn\n", (int)sites);
    free(s);
}

static void each_allocation_that_fails_alone_is_reported_and_harmless(void **state)
{
    (void)state;
    fail_each_allocation(0);
}

static void memory_that_stays_short_from_any_moment_is_reported_and_harmless(void **state)
{
    (void)state;
    fail_each_allocation(1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLACE_TEST(each_allocation_that_fails_alone_is_reported_and_harmless),
        PLACE_TEST(memory_that_stays_short_from_any_moment_is_reported_and_harmless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
