/* SPDX-License-Identifier: Apache-2.0 */
/* Netlib's level-3 test drivers, as Debian's libblas-test has them, over the backend's gemm: they
 * call dgemm_ and sgemm_, and a preloaded shim answers. */
#include "backend.h"

#include <ctype.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the input asks for, error exits apart. */
#define CALLS "78732"

/* A sanitizer's runtime wants to come first in a process. GCC's AddressSanitizer can be told to
 * come later; the others cannot be preloaded into a program that was not built with them. */
#define ASAN_LATE "verify_asan_link_order=0:detect_leaks=0"
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(undefined_behavior_sanitizer)
#define CANNOT_PRELOAD "clang's sanitizers cannot be preloaded into the driver"
#endif
#endif
#ifdef __SANITIZE_THREAD__
#define CANNOT_PRELOAD "ThreadSanitizer cannot be preloaded, and the driver has one thread"
#endif

/* One run of a driver; the files are in a directory of its own. */
struct run {
    char driver[256];
    char dir[256], input[300], summary[300], count[300];
};

static void read_text(const char *path, char *text, size_t capacity)
{
    FILE *f = fopen(path, "r");
    if (!f)
        print_error("%s is missing: the driver did not get so far\n", path);
    assert_non_null(f);
    const size_t n = fread(text, 1, capacity - 1, f);
    fclose(f);
    text[n] = 0;
}

/* The stored input is that of dgemm. Names in it begin a line or a quotation with their type. */
static void write_input(const char *path, char type)
{
    char text[4096];
    read_text(NETLIB_INPUT, text, sizeof(text));
    char before = '\n';
    for (char *c = text; *c; c++) {
        if ((before == '\n' || before == '\'') && *c == 'D')
            *c = type;
        else if (before == '\'' && *c == 'd')
            *c = (char)tolower(type);
        before = *c;
    }
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    const int written = fputs(text, f) >= 0;
    assert_int_equal(fclose(f), 0);
    assert_true(written);
}

/* Returns 0 when the driver is not installed. */
static int find_driver(const char *name, char *path, size_t capacity)
{
    char pattern[64];
    glob_t found;
    snprintf(pattern, sizeof(pattern), "/usr/lib/*/blas/%s", name);
    if (glob(pattern, 0, NULL, &found) != 0)
        return 0;
    snprintf(path, capacity, "%s", found.gl_pathv[0]);
    globfree(&found);
    return access(path, X_OK) == 0;
}

/* In the child. Returns only on failure. */
static void become_driver(const struct run *run)
{
    const int in = open(run->input, O_RDONLY), out = open("/dev/null", O_WRONLY);
    if (in < 0 || out < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || chdir(run->dir) != 0)
        return;
    if (setenv("LD_PRELOAD", NETLIB_SHIM, 1) != 0 || setenv("ASAN_OPTIONS", ASAN_LATE, 1) != 0 ||
        setenv("NETLIB_COUNT", run->count, 1) != 0)
        return;
    execl(run->driver, run->driver, (char *)NULL);
}

static int run_driver(const struct run *run)
{
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        become_driver(run);
        _exit(127);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void make_run(struct run *run, char type)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(run->dir, sizeof(run->dir), "%s/netlib-XXXXXX", tmp ? tmp : "/tmp");
    assert_non_null(mkdtemp(run->dir));
    snprintf(run->input, sizeof(run->input), "%s/input", run->dir);
    snprintf(run->count, sizeof(run->count), "%s/count", run->dir);
    snprintf(run->summary, sizeof(run->summary), "%s/%cgemm.out", run->dir, tolower(type));
    write_input(run->input, type);
}

static void remove_run(const struct run *run)
{
    unlink(run->input);
    unlink(run->count);
    unlink(run->summary);
    rmdir(run->dir);
}

static void assert_says(const char *summary, const char *format, char type)
{
    char line[128];
    snprintf(line, sizeof(line), format, type);
    if (!strstr(summary, line)) {
        print_error("the driver did not say '%s':\n%s\n", line, summary);
        fail();
    }
}

static void check_driver(const char *test, const char *name, char type)
{
    struct run run;
    char summary[16384], count[32];
#ifdef CANNOT_PRELOAD
    test_skip(test, CANNOT_PRELOAD);
#endif
    if (!find_driver(name, run.driver, sizeof(run.driver)))
        test_skip(test, "libblas-test is not installed");
    make_run(&run, type);
    const int status = run_driver(&run);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    read_text(run.summary, summary, sizeof(summary));
    read_text(run.count, count, sizeof(count));
    remove_run(&run);

    if (strstr(summary, "FATAL") || strstr(summary, "FAILED")) {
        print_error("%s\n", summary);
        fail();
    }
    assert_says(summary, "%cGEMM  PASSED THE TESTS OF ERROR-EXITS", type);
    assert_says(summary, "%cGEMM  PASSED THE COMPUTATIONAL TESTS ( " CALLS " CALLS)", type);
    /* Each of them went through the plugin: the system's BLAS would pass as well. */
    assert_string_equal(count, CALLS "\n");
}

static void netlib_driver_passes_dgemm(void **state)
{
    (void)state;
    check_driver(__func__, "xblat3d", 'D');
}

static void netlib_driver_passes_sgemm(void **state)
{
    (void)state;
    check_driver(__func__, "xblat3s", 'S');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(netlib_driver_passes_dgemm),
        cmocka_unit_test(netlib_driver_passes_sgemm),
    };
    return cmocka_run_group_tests_name("netlib", tests, NULL, NULL);
}
