/* SPDX-License-Identifier: Apache-2.0 */
/* What surrounds the ops, broken in one slot at a time around a backend that passes: the self-test
 * must find it in the group that concerns it. */
#include "../conformance/faults.h"
#include "backend.h"
#include "selftest.h"

#include <fenv.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOUND_MAX 800

const compute_backend_v1 *right;

float peek(void *self, uint64_t ptr, uint64_t i)
{
    float value = NAN;
    cb_download((cb_backend){ right, self }, &value, ptr + i * sizeof(value), sizeof(value), NULL);
    return value;
}

void poke(void *self, uint64_t ptr, uint64_t i, float value)
{
    cb_upload((cb_backend){ right, self }, ptr + i * sizeof(value), &value, sizeof(value), NULL);
}

/* ---- lifecycle ---- */

static cb_status create_takes_any_option(const cb_create_args *args, void **out, cb_error *err)
{
    (void)args;
    const cb_create_args none = { CB_ARGS(cb_create_args) };
    return right->create(&none, out, err);
}

static cb_status create_names_no_option(const cb_create_args *args, void **out, cb_error *err)
{
    const cb_status st = right->create(args, out, err);
    if (st != CB_OK && err)
        strcpy(err->where, "create");
    return st;
}

static cb_status create_writes_out_though_it_fails(const cb_create_args *args, void **out,
                                                   cb_error *err)
{
    *out = NULL;
    return right->create(args, out, err);
}

static cb_status alloc_before_init_is_invalid(void *self, uint64_t bytes, cb_stream *stream,
                                              uint64_t *out, cb_error *err)
{
    const cb_status st = right->alloc(self, bytes, stream, out, err);
    return st == CB_NOT_INITIALIZED ? CB_INVALID_ARGUMENT : st;
}

static cb_status supports_before_init(void *self, uint32_t op, const void *args, cb_support *out,
                                      cb_error *err)
{
    const cb_status st = right->supports(self, op, args, out, err);
    return st == CB_NOT_INITIALIZED ? CB_OK : st;
}

static cb_status reduce_before_init(void *self, const cb_reduce_args *args, cb_error *err)
{
    const cb_status st = right->reduce(self, args, err);
    return st == CB_NOT_INITIALIZED ? CB_OK : st;
}

static cb_status init_takes_any_device(void *self, uint32_t ordinal, cb_error *err)
{
    (void)ordinal;
    return right->init(self, 0, err);
}

static cb_status init_once_only(void *self, uint32_t ordinal, cb_error *err)
{
    char text[2] = "0";
    uint64_t length = sizeof(text);
    right->info(self, "initialized", text, &length, NULL);
    return *text == '1' ? CB_BUSY : right->init(self, ordinal, err);
}

/* Whoever uploaded last has written to everybody's memory. */
static cb_status instances_share_a_byte(void *self, const cb_copy_dtoh_args *args, cb_error *err)
{
    const cb_status st = right->copy_dtoh(self, args, err);
    if (st == CB_OK && args->bytes == 1)
        *(unsigned char *)args->dst = 1;
    return st;
}

/* ---- devices and info ---- */

static cb_status device_has_no_id(void *self, uint32_t ordinal, cb_device_info *out, cb_error *err)
{
    const cb_status st = right->device_info(self, ordinal, out, err);
    if (st == CB_OK)
        out->id[0] = 0;
    return st;
}

static cb_status device_id_changes(void *self, uint32_t ordinal, cb_device_info *out, cb_error *err)
{
    static char letter;
    const cb_status st = right->device_info(self, ordinal, out, err);
    if (st == CB_OK)
        out->id[0] = (char)('a' + letter++ % 26);
    return st;
}

static cb_status device_info_of_any(void *self, uint32_t ordinal, cb_device_info *out,
                                    cb_error *err)
{
    (void)ordinal;
    return right->device_info(self, 0, out, err);
}

static cb_status device_info_writes_too_much(void *self, uint32_t ordinal, cb_device_info *out,
                                             cb_error *err)
{
    const cb_status st = right->device_info(self, ordinal, out, err);
    if (st == CB_OK && ((unsigned char *)(out + 1))[3] == 0x5a)
        ((unsigned char *)(out + 1))[3] = 0;
    return st;
}

static cb_status capabilities_of_nobody(void *self, uint32_t ordinal, cb_capabilities *out,
                                        cb_error *err)
{
    const cb_status st = right->capabilities(self, ordinal, out, err);
    if (st == CB_OK && ordinal == CB_DEVICE_AUTO)
        out->warp_size += 17;
    return st;
}

static cb_status info_writes_into_a_short_buffer(void *self, const char *key, char *buffer,
                                                 uint64_t *length, cb_error *err)
{
    const cb_status st = right->info(self, key, buffer, length, err);
    if (st == CB_INVALID_ARGUMENT && buffer)
        buffer[0] = '1';
    return st;
}

static cb_status info_counts_no_terminator(void *self, const char *key, char *buffer,
                                           uint64_t *length, cb_error *err)
{
    const cb_status st = right->info(self, key, buffer, length, err);
    if (st == CB_OK)
        --*length;
    return st;
}

static cb_status info_knows_every_key(void *self, const char *key, char *buffer, uint64_t *length,
                                      cb_error *err)
{
    return right->info(self, strcmp(key, "no such key") ? key : "summary", buffer, length, err);
}

static cb_status info_is_never_initialized(void *self, const char *key, char *buffer,
                                           uint64_t *length, cb_error *err)
{
    const cb_status st = right->info(self, key, buffer, length, err);
    if (st == CB_OK && buffer && !strcmp(key, "initialized"))
        buffer[0] = '0';
    return st;
}

/* ---- extensions ---- */

static cb_status every_extension_is_there(void *self, const char *id, cb_extension *out,
                                          cb_error *err)
{
    (void)id;
    return right->get_extension(self, CB_MAP_ID, out, err);
}

static const cb_map_v1 *right_map;
static unsigned char copy_of_map[4096];

static cb_status map_is_a_copy(void *self, uint64_t ptr, uint64_t bytes, void **out, cb_error *err)
{
    const cb_status st = right_map->map(self, ptr, bytes, out, err);
    if (st == CB_OK) {
        memcpy(copy_of_map, *out, bytes);
        right_map->unmap(self, ptr, *out, NULL);
        *out = copy_of_map;
    }
    return st;
}

static cb_status unmap_of_nothing(void *self, uint64_t ptr, void *host, cb_error *err)
{
    (void)self, (void)ptr, (void)host, (void)err;
    return CB_OK;
}

static cb_status import_is_a_copy(void *self, void *host, uint64_t bytes, uint64_t *out,
                                  cb_error *err)
{
    void *mine;
    cb_status st = right_map->import_host(self, host, bytes, out, err);
    if (st != CB_OK)
        return st;
    right->free(self, *out, NULL, NULL);
    st = right->alloc(self, bytes, NULL, out, err);
    if (st == CB_OK && right_map->map(self, *out, bytes, &mine, NULL) == CB_OK) {
        memcpy(mine, host, bytes);
        right_map->unmap(self, *out, mine, NULL);
    }
    return st;
}

/* The extension with one function replaced. */
static cb_status broken_map(void *self, cb_extension *out, cb_error *err, const cb_map_v1 *with)
{
    static cb_map_v1 table;
    const cb_status st = right->get_extension(self, CB_MAP_ID, out, err);
    if (st != CB_OK)
        return st;
    right_map = out->api;
    table = *right_map;
    table.map = with->map ? with->map : table.map;
    table.unmap = with->unmap ? with->unmap : table.unmap;
    table.import_host = with->import_host ? with->import_host : table.import_host;
    out->api = &table;
    return st;
}

#define BROKEN_MAP(name, ...)                                                                      \
    static cb_status name(void *self, const char *id, cb_extension *out, cb_error *err)            \
    {                                                                                              \
        const cb_map_v1 with = { __VA_ARGS__ };                                                    \
        return strcmp(id, CB_MAP_ID) ? right->get_extension(self, id, out, err)                    \
                                     : broken_map(self, out, err, &with);                          \
    }
BROKEN_MAP(mapped_memory_is_a_copy, .map = map_is_a_copy, .unmap = unmap_of_nothing)
BROKEN_MAP(unmap_takes_anything, .unmap = unmap_of_nothing)
BROKEN_MAP(imported_memory_is_a_copy, .import_host = import_is_a_copy)

/* ---- the state of the host ---- */

/* unary with something done before or after it. */
#define UNARY_THAT(name, deed)                                                                     \
    static cb_status name(void *self, const cb_unary_args *args, cb_error *err)                    \
    {                                                                                              \
        deed;                                                                                      \
        return right->unary(self, args, err);                                                      \
    }
static void block_a_signal(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static void unpin(void)
{
    cpu_set_t all;
    memset(&all, 0xff, sizeof(all));
    sched_setaffinity(0, sizeof(all), &all);
}

UNARY_THAT(unary_rounds_upwards, fesetround(FE_UPWARD))
UNARY_THAT(unary_blocks_a_signal, block_a_signal())
UNARY_THAT(unary_ignores_a_signal,
           signal(SIGURG, signal(SIGURG, SIG_DFL) == SIG_DFL ? SIG_IGN : SIG_DFL))
UNARY_THAT(unary_sets_the_locale, setlocale(LC_ALL, "C.UTF-8"))
UNARY_THAT(unary_sets_the_umask, umask(022))
UNARY_THAT(unary_goes_elsewhere, (void)!chdir("/tmp"))
UNARY_THAT(unary_unpins_its_caller, unpin())
UNARY_THAT(unary_sets_a_variable, setenv("OMP_NUM_THREADS", "1", 1))
UNARY_THAT(unary_prints, printf("computing\n"))

static cb_status init_leaks_a_descriptor(void *self, uint32_t ordinal, cb_error *err)
{
    return dup(0) < 0 ? CB_DEVICE_ERROR : right->init(self, ordinal, err);
}

static void *wait_for_ever(void *name)
{
    if (name)
        pthread_setname_np(pthread_self(), name);
    for (;;)
        pause();
    return NULL;
}

static cb_status start_thread(void *name, bool quiet)
{
    sigset_t all, before;
    pthread_t thread;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, quiet ? &all : NULL, &before);
    const int error = pthread_create(&thread, NULL, wait_for_ever, name);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return !error && !pthread_detach(thread) ? CB_OK : CB_OUT_OF_MEMORY;
}

static cb_status init_leaks_a_thread(void *self, uint32_t ordinal, cb_error *err)
{
    return start_thread("cb-leak", true) ? CB_OUT_OF_MEMORY : right->init(self, ordinal, err);
}

static cb_status threads_take_signals(void *self, uint32_t ordinal, cb_error *err)
{
    return start_thread("cb-loud", false) ? CB_OUT_OF_MEMORY : right->init(self, ordinal, err);
}

static pid_t born;

static cb_status download_in_a_child_is_wrong(void *self, const cb_copy_dtoh_args *args,
                                              cb_error *err)
{
    born = born ? born : getpid();
    return getpid() == born ? right->copy_dtoh(self, args, err) : CB_INVALID_ARGUMENT;
}

static cb_status download_in_a_child_crashes(void *self, const cb_copy_dtoh_args *args,
                                             cb_error *err)
{
    born = born ? born : getpid();
    if (getpid() != born)
        raise(SIGKILL);
    return right->copy_dtoh(self, args, err);
}

/* ---- threads and floating-point control, seen through an op ---- */

/* Scratch memory for one: what a call computes while another is under way is wrong. */
static cb_status binary_is_not_reentrant(void *self, const cb_binary_args *args, cb_error *err)
{
    static atomic_int under_way;
    const bool alone = atomic_fetch_add(&under_way, 1) == 0;
    const cb_status st = right->binary(self, args, err);
    usleep(st == CB_OK && args->n > 5000 ? 5000 : 0);
    atomic_fetch_sub(&under_way, 1);
    if (st == CB_OK && !alone && args->dtype == CB_F32)
        poke(self, args->output, 0, peek(self, args->output, 0) + 1.0f);
    return st;
}

static bool rounds_down(void)
{
    const volatile float one = 1.0f, little = 0x1p-40f;
    return one - little < 1.0f;
}

static cb_status binary_rounds_as_its_caller(void *self, const cb_binary_args *args, cb_error *err)
{
    const cb_status st = right->binary(self, args, err);
    if (st == CB_OK && args->dtype == CB_F32 && args->n && rounds_down())
        poke(self, args->output, 0, nextafterf(peek(self, args->output, 0), -INFINITY));
    return st;
}

#define STATE(name, aspect) FAULT(name, unary, "state", "state:" aspect)

static const struct fault all[] = {
    FAULT(create_takes_any_option, create, "lifecycle", "lifecycle:unknown_option_is_refused"),
    FAULT(create_names_no_option, create, "lifecycle", "lifecycle:unknown_option_is_refused"),
    FAULT(create_writes_out_though_it_fails, create, "lifecycle",
          "lifecycle:unknown_option_is_refused"),
    FAULT(alloc_before_init_is_invalid, alloc, "lifecycle", "lifecycle:memory_before_init"),
    FAULT(supports_before_init, supports, "lifecycle", "lifecycle:ops_before_init"),
    FAULT(reduce_before_init, reduce, "lifecycle", "lifecycle:ops_before_init"),
    FAULT(init_takes_any_device, init, "lifecycle", "lifecycle:init_again"),
    FAULT(init_once_only, init, "lifecycle", "lifecycle:init_again"),
    FAULT(init_once_only, init, "lifecycle:init_at_once", "lifecycle:init_at_once"),
    FAULT(instances_share_a_byte, copy_dtoh, "lifecycle", "lifecycle:instances_are_independent"),
    FAULT(device_has_no_id, device_info, "devices", "devices:each_has_facts"),
    FAULT(device_id_changes, device_info, "devices", "devices:ids_are_stable_and_differ"),
    FAULT(device_info_of_any, device_info, "devices", "devices:ordinal_that_is_none"),
    FAULT(device_info_writes_too_much, device_info, "devices:results_end_at_their_size",
          "devices:"),
    FAULT(capabilities_of_nobody, capabilities, "devices", "devices:capabilities_of_auto"),
    FAULT(info_writes_into_a_short_buffer, info, "info", "info:short_buffer"),
    FAULT(info_counts_no_terminator, info, "info", "info:every_key_has_a_text"),
    FAULT(info_knows_every_key, info, "info", "info:unknown_key"),
    FAULT(info_is_never_initialized, info, "info", "info:initialized_is_1"),
    FAULT(every_extension_is_there, get_extension, "map", "map:unknown_extension"),
    FAULT(mapped_memory_is_a_copy, get_extension, "map", "map:a_map_is_the_buffer"),
    FAULT(unmap_takes_anything, get_extension, "map", "map:"),
    FAULT(imported_memory_is_a_copy, get_extension, "map", "map:imported_memory_is_used_in_place"),
    STATE(unary_rounds_upwards, "signal_mask"),
    STATE(unary_blocks_a_signal, "signal_mask"),
    STATE(unary_ignores_a_signal, "signal_handlers"),
    STATE(unary_sets_the_locale, "locale"),
    STATE(unary_sets_the_umask, "umask"),
    STATE(unary_goes_elsewhere, "directory"),
    STATE(unary_unpins_its_caller, "affinity"),
    STATE(unary_sets_a_variable, "environment"),
    FAULT(unary_prints, unary, "state:prints_nothing", "state:prints_nothing"),
    FAULT(init_leaks_a_descriptor, init, "state", "state:descriptors"),
    FAULT(init_leaks_a_thread, init, "state", "state:threads"),
    FAULT(threads_take_signals, init, "state:thread_signals", "state:thread_signals"),
    FAULT(download_in_a_child_is_wrong, copy_dtoh, "state", "state:fork"),
    FAULT(download_in_a_child_crashes, copy_dtoh, "state", "state:fork"),
    FAULT(unary_rounds_upwards, unary, "unary:f32", "unary:f32"),
    FAULT(binary_is_not_reentrant, binary, "binary:f32,*,at_once", "binary:f32,"),
    FAULT(binary_rounds_as_its_caller, binary, "binary:f32,*,rounding_down", "binary:f32,"),
    { .name = NULL },
};

static void keep_first_failure(void *ctx, const cb_selftest_result *result)
{
    char *first = ctx;
    if (result->outcome == CB_SELFTEST_FAILED && !first[0])
        snprintf(first, FOUND_MAX, "%s: %s", result->spec, result->text);
}

/* Runs the cases of a filter on a backend whose table is broken in one slot (NULL: in none). */
static cb_selftest_summary run(const struct fault *fault, const char *filter, char first[FOUND_MAX])
{
    const cb_backend be = test_open(NULL);
    compute_backend_v1 broken = *be.api;
    right = be.api;
    if (fault)
        memcpy((char *)&broken + fault->slot, (const void *)&fault->function,
               sizeof(fault->function));
    cb_selftest_summary sum;
    cb_selftest_summary_init(&sum);
    cb_selftest_options options;
    cb_selftest_options_init(&options);
    options.filter = filter;
    options.report = keep_first_failure;
    options.ctx = first;
    first[0] = 0;
    cb_error err = test_error();
    TEST_OK(cb_selftest_run((cb_backend){ &broken, be.self }, &options, &sum, &err), &err);
    test_close(be);
    return sum;
}

static void selftest_finds(void **state)
{
    const struct fault *fault = *state;
    char first[FOUND_MAX];
    cpu_set_t set;
    if (fault->function == (void (*)(void))unary_unpins_its_caller &&
        !sched_getaffinity(0, sizeof(set), &set) && CPU_COUNT(&set) < 2)
        test_skip(fault->name, "there is one processor, which is where a thread is");
    run(fault, fault->filter, first);
    print_message("# %s: found by %s\n", fault->name, first);
    assert_memory_equal(first, fault->expected, strlen(fault->expected));
}

static void nothing_is_found_where_nothing_is_wrong(void **state)
{
    static const char *const filters[] = { "lifecycle", "devices", "info", "map", "state" };
    char first[FOUND_MAX];
    (void)state;
    for (size_t i = 0; i < sizeof(filters) / sizeof(filters[0]); i++) {
        const cb_selftest_summary sum = run(NULL, filters[i], first);
        assert_string_equal(first, "");
        assert_true(sum.passed > 0);
    }
}

int main(void)
{
    enum {
        COUNT = sizeof(all) / sizeof(all[0])
    };
    static struct CMUnitTest tests[COUNT] = { cmocka_unit_test(
        nothing_is_found_where_nothing_is_wrong) };
    for (size_t i = 0; all[i].name; i++)
        tests[i + 1] = (struct CMUnitTest){ .name = all[i].name,
                                            .test_func = selftest_finds,
                                            .initial_state = (void *)&all[i] };
    return _cmocka_run_group_tests("selftest_finds", tests, COUNT, NULL, NULL);
}
