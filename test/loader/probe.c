/* SPDX-License-Identifier: Apache-2.0 */
/* Probes: a plugin that crashes, hangs, exits or talks nonsense does it in a process of its own,
 * and what it did is told apart; the host goes on, whatever it does with its children. */
#include "place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void configure_probes(const char *helper, const char *timeout)
{
    configure("probe.conf", text_of("[loader]\nprobe = always\nprobe_timeout = %s\n"
                                    "probe_helper = %s\n",
                                    timeout, helper));
}

/* Probes one mock and returns what is known of it. */
static cb_candidate probe_one(const char *mock)
{
    plant(mock);
    cb_loader *loader = open_loader();
    const cb_candidate c = candidate(loader, mock);
    const cb_candidate copy = { .size = sizeof(copy),
                                .state = c.state,
                                .reason = text_of("%s", c.reason) };
    close_loader(loader);
    unlink(path_of(text_of("libcb_%s.so", mock)));
    return copy;
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int count_open_files(void)
{
    int count = 0;
    DIR *dir = opendir("/proc/self/fd");
    assert_non_null(dir);
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

static void what_a_plugin_does_in_a_probe_is_told_apart(void **state)
{
    (void)state;
    static const struct {
        const char *mock;
        uint32_t state;
        const char *reason;
    } rows[] = {
        { "good", CB_STATE_FOUND, "a probe went well" },
        { "crashes", CB_STATE_PROBED_BAD, "signal 11" },
        { "aborts", CB_STATE_PROBED_BAD, "signal 6" },
        { "hangs", CB_STATE_PROBED_BAD, "hung in a probe: killed after 0.500 s" },
        { "hangs_late", CB_STATE_PROBED_BAD, "hung" },
        { "exits", CB_STATE_PROBED_BAD, "exited in a probe, with code 3" },
        { "leaves", CB_STATE_PROBED_BAD, "exited in a probe, with code 0" },
        { "scribbles", CB_STATE_PROBED_BAD, "garbage" },
        { "refuses", CB_STATE_FAILED, "the licence has expired" },
        { "null_required", CB_STATE_REFUSED, "supports" },
        { "no_device", CB_STATE_FAILED, "no device: device_count: the slot is empty" },
        { "fails_create", CB_STATE_FAILED, "the driver is too old" },
        { "undefined_symbol", CB_STATE_FAILED, "a_symbol_that_nobody_has" },
    };
    const int files = count_open_files();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        /* Only those that hang are to be short of time. */
        configure_probes(TEST_PROBE, strstr(rows[i].mock, "hangs") ? "0.5" : "30");
        const cb_candidate c = probe_one(rows[i].mock);
        print_message("# %s: %s: %s\n", rows[i].mock, cb_state_name(c.state), c.reason);
        assert_int_equal(c.state, rows[i].state);
        HAS_TEXT(c.reason, rows[i].reason);
    }
    assert_int_equal(count_open_files(), files);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static void a_probe_that_went_badly_is_never_opened_and_a_later_file_steps_in(void **state)
{
    (void)state;
    make_folder("one");
    make_folder("two");
    copy_file(mock_path("crashes"), "one/libcb_a.so", 0755);
    copy_file(mock_path("good"), "two/libcb_good.so", 0755);
    /* The same id, found later. */
    copy_file(mock_path("crashes"), "two/libcb_b.so", 0755);
    configure_probes(TEST_PROBE, "30");
    setenv("CB_PLUGINS", text_of("%s:%s", path_of("one"), path_of("two")), 1);
    cb_loader *loader = open_loader();
    assert_string_equal(best(loader), "good");
    assert_int_equal(candidate(loader, "libcb_a.so").state, CB_STATE_PROBED_BAD);
    assert_int_equal(candidate(loader, "libcb_b.so").state, CB_STATE_PROBED_BAD);
    const cb_request request = { .size = sizeof(request), .id = "crashes" };
    HAS_TEXT(select_fails(loader, &request, CB_NOT_FOUND), "signal 11");
    close_loader(loader);
}

static void what_was_hidden_by_a_bad_one_comes_forth(void **state)
{
    (void)state;
    make_folder("one");
    make_folder("two");
    copy_file(mock_path("bad_good"), "one/libcb_bad_good.so", 0755);
    copy_file(mock_path("good"), "two/libcb_good.so", 0755);
    setenv("CB_PLUGINS", text_of("%s:%s", path_of("one"), path_of("two")), 1);
    cb_loader *loader = open_loader();
    assert_int_equal(candidate(loader, "libcb_good.so").state, CB_STATE_HIDDEN);
    close_loader(loader);
    configure_probes(TEST_PROBE, "30");
    loader = open_loader();
    assert_int_equal(candidate(loader, "libcb_bad_good.so").state, CB_STATE_PROBED_BAD);
    assert_int_equal(candidate(loader, "libcb_good.so").state, CB_STATE_FOUND);
    assert_string_equal(best(loader), "good");
    close_loader(loader);
}

static void many_probes_run_at_once_and_hung_ones_cost_one_deadline(void **state)
{
    (void)state;
    for (int i = 0; i < 12; i++)
        copy_file(mock_path("hangs"), text_of("libcb_hangs_%d.so", i), 0755);
    plant("good");
    configure_probes(TEST_PROBE, "1.5");
    const double start = seconds();
    cb_loader *loader = open_loader();
    const double spent = seconds() - start;
    print_message("# 12 that hang for 1.5 s: %.2f s\n", spent);
    assert_true(spent >= 1.5 && spent < 9);
    assert_string_equal(best(loader), "good");
    for (int i = 0; i < 12; i++) {
        const cb_candidate c = candidate(loader, text_of("libcb_hangs_%d.so", i));
        assert_int_equal(c.state, CB_STATE_PROBED_BAD);
        assert_true(c.milliseconds >= 1500);
    }
    close_loader(loader);
}

static void a_hung_plugin_is_killed_with_all_that_it_started(void **state)
{
    (void)state;
    setenv("MOCK_BROOD", path_of("brood"), 1);
    configure_probes(TEST_PROBE, "0.5");
    HAS_TEXT(probe_one("breeds").reason, "hung");
    sleep(3);
    assert_int_equal(access(path_of("brood"), F_OK), -1);
}

static void a_probe_leaves_no_core_is_a_group_and_has_none_of_the_hosts_files(void **state)
{
    (void)state;
    configure("probe.conf", text_of("[loader]\nprobe = always\nprobe_helper = %s\n"
                                    "[backend.tells]\npriority = 7\ndepth = 3\nname = two words\n",
                                    TEST_PROBE));
    /* Cores as large as this process may ask for. */
    struct rlimit core = { 1 << 20, 1 << 20 }, before;
    assert_int_equal(getrlimit(RLIMIT_CORE, &before), 0);
    if (before.rlim_max < core.rlim_max && setrlimit(RLIMIT_CORE, &core))
        core.rlim_max = before.rlim_max;
    const int inherited = open(TEST_DATA "/empty.conf", O_RDONLY);
    assert_true(inherited > 2);
    const cb_candidate c = probe_one("tells");
    close(inherited);
    assert_int_equal(c.state, CB_STATE_FAILED);
    HAS_TEXT(c.reason, "group is its own, files 0, options depth=3 name=two words");
    HAS_TEXT(c.reason, core.rlim_max ? "core 1," : "core 0,");
}

static void nothing_of_a_plugin_runs_in_this_process_and_nothing_at_all_unless_asked(void **state)
{
    (void)state;
    plant("good");
    setenv("MOCK_MARKER", path_of("marker"), 1);
    configure("never.conf", text_of("[loader]\nprobe_helper = %s\n", TEST_PROBE));
    cb_loader *loader = open_loader();
    close_loader(loader);
    assert_int_equal(access(path_of("marker"), F_OK), -1);

    configure("nothing.conf", "");
    const cb_loader_options options = { .size = sizeof(options),
                                        .flags = CB_LOADER_PROBE,
                                        .probe_helper = TEST_PROBE };
    cb_error err = test_error();
    TEST_OK(cb_loader_open(&options, &loader, &err), &err);
    HAS_TEXT(candidate(loader, "good").reason, "a probe went well");
    assert_string_equal(text_in("marker"), "good\n");
    close_loader(loader);
}

/* ---- The helper itself --------------------------------------------------------------------- */

static void write_script(const char *name, const char *body)
{
    write_text(name, text_of("#!/bin/sh\n%s\n", body));
    assert_int_equal(chmod(path_of(name), 0755), 0);
}

static void a_helper_that_is_missing_is_said_and_nothing_is_worse_for_it(void **state)
{
    (void)state;
    plant("good");
    configure_probes(path_of("gone"), "30");
    cb_loader *loader = open_loader();
    const cb_candidate c = candidate(loader, "good");
    assert_int_equal(c.state, CB_STATE_FOUND);
    HAS_TEXT(c.reason, "probe unavailable");
    HAS_TEXT(report(loader),
             text_of("problem: probe unavailable: %s: No such file", path_of("gone")));
    assert_string_equal(best(loader), "good");
    close_loader(loader);
}

static void a_helper_in_silence_one_that_talks_nonsense_and_one_that_hangs_are_told(void **state)
{
    (void)state;
    write_script("silent", "exit 0");
    write_script("nonsense", "echo hello");
    write_script("long", "while :; do echo 'cb-probe 1 and on and on and on'; done");
    write_script("hung", "sleep 60");
    static const char *const rows[][2] = {
        { "silent", "ended in silence" },
        { "nonsense", "nonsense: 6 bytes" },
        { "long", "nonsense: 16385 bytes" },
        { "hung", "so did the helper" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        configure_probes(path_of(rows[i][0]), "0.2");
        const cb_candidate c = probe_one("good");
        assert_int_equal(c.state, CB_STATE_PROBED_BAD);
        HAS_TEXT(c.reason, rows[i][1]);
    }
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void cb_probe_by_hand_says_how_it_went(void **state)
{
    (void)state;
    const char *const good[] = { TEST_PROBE, "20000", mock_path("good"), NULL };
    const struct outcome outcome = run_program(good);
    assert_int_equal(outcome.status, 0);
    assert_memory_equal(outcome.out, "cb-probe 1\nstate=0\nreason=", 26);
    const char *const wrong[] = { TEST_PROBE, "soon", "x", NULL };
    assert_int_equal(run_program(wrong).status, 2);
    HAS_TEXT(run_program(wrong).err, "usage");
}

/* ---- Hosts with habits --------------------------------------------------------------------- */

static void a_host_that_ignores_sigchld_is_told_the_same(void **state)
{
    (void)state;
    configure_probes(TEST_PROBE, "30");
    void (*before)(int) = signal(SIGCHLD, SIG_IGN);
    HAS_TEXT(probe_one("crashes").reason, "signal 11");
    HAS_TEXT(probe_one("exits").reason, "code 3");
    HAS_TEXT(probe_one("good").reason, "went well");
    signal(SIGCHLD, before);
}

static atomic_int reaping;

static void *reap_all(void *arg)
{
    (void)arg;
    while (reaping)
        if (waitpid(-1, NULL, 0) < 0)
            usleep(100);
    return NULL;
}

static void a_host_that_reaps_all_children_is_told_the_same(void **state)
{
    (void)state;
    pthread_t reaper;
    configure_probes(TEST_PROBE, "30");
    reaping = 1;
    assert_int_equal(pthread_create(&reaper, NULL, reap_all, NULL), 0);
    HAS_TEXT(probe_one("crashes").reason, "signal 11");
    HAS_TEXT(probe_one("good").reason, "went well");
    reaping = 0;
    assert_int_equal(pthread_join(reaper, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLACE_TEST(what_a_plugin_does_in_a_probe_is_told_apart),
        PLACE_TEST(a_probe_that_went_badly_is_never_opened_and_a_later_file_steps_in),
        PLACE_TEST(what_was_hidden_by_a_bad_one_comes_forth),
        PLACE_TEST(many_probes_run_at_once_and_hung_ones_cost_one_deadline),
        PLACE_TEST(a_hung_plugin_is_killed_with_all_that_it_started),
        PLACE_TEST(a_probe_leaves_no_core_is_a_group_and_has_none_of_the_hosts_files),
        PLACE_TEST(nothing_of_a_plugin_runs_in_this_process_and_nothing_at_all_unless_asked),
        PLACE_TEST(a_helper_that_is_missing_is_said_and_nothing_is_worse_for_it),
        PLACE_TEST(a_helper_in_silence_one_that_talks_nonsense_and_one_that_hangs_are_told),
        PLACE_TEST(cb_probe_by_hand_says_how_it_went),
        PLACE_TEST(a_host_that_ignores_sigchld_is_told_the_same),
        PLACE_TEST(a_host_that_reaps_all_children_is_told_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
