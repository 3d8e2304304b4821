/* SPDX-License-Identifier: Apache-2.0 */
#include "place.h"

#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static char folder[64];
static char *kept[512];
static int n_kept;

static char *keep(char *string)
{
    assert_non_null(string);
    assert_true(n_kept < (int)(sizeof(kept) / sizeof(kept[0])));
    kept[n_kept++] = string;
    return string;
}

/* ---- The folder and the environment -------------------------------------------------------- */

static void clear_environment(void)
{
    for (char **entry = environ; *entry;) {
        if (strncmp(*entry, "CB_", 3) && strncmp(*entry, "MOCK_", 5)) {
            entry++;
            continue;
        }
        char name[128];
        snprintf(name, sizeof(name), "%.*s", (int)strcspn(*entry, "="), *entry);
        unsetenv(name);
        entry = environ;
    }
}

int place_setup(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/cb-loader-XXXXXX");
    if (!mkdtemp(folder) || chmod(folder, 0755))
        return -1;
    clear_environment();
    setenv("CB_CONFIG", TEST_DATA "/empty.conf", 1);
    setenv("CB_PLUGINS", folder, 1);
    /* A checkout may lie where others can write; the tests of trust turn it on. */
    setenv("CB_TRUST", "off", 1);
    return 0;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status, (void)kind, (void)walk;
    return remove(path);
}

int place_teardown(void **state)
{
    (void)state;
    while (n_kept)
        free(kept[--n_kept]);
    return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

const char *text_of(const char *format, ...)
{
    char *text = NULL;
    va_list ap;
    va_start(ap, format);
    assert_true(vasprintf(&text, format, ap) >= 0);
    va_end(ap);
    return keep(text);
}

const char *path_of(const char *name)
{
    return *name ? text_of("%s/%s", folder, name) : folder;
}

/* ---- Files --------------------------------------------------------------------------------- */

const char *mock_path(const char *mock)
{
    return text_of("%s/libcb_%s.so", TEST_MOCKS, mock);
}

void plant_as(const char *mock, const char *name)
{
    assert_int_equal(symlink(mock_path(mock), path_of(name)), 0);
}

void plant(const char *mock)
{
    plant_as(mock, text_of("libcb_%s.so", mock));
}

void write_bytes(const char *name, const void *bytes, size_t size)
{
    FILE *f = fopen(path_of(name), "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

void write_text(const char *name, const char *text)
{
    write_bytes(name, text, strlen(text));
}

static char *read_whole(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    *size = (size_t)ftell(f);
    rewind(f);
    char *bytes = keep(malloc(*size + 1));
    assert_int_equal(fread(bytes, 1, *size, f), *size);
    bytes[*size] = 0;
    fclose(f);
    return bytes;
}

const char *text_in(const char *name)
{
    size_t size;
    return read_whole(path_of(name), &size);
}

void copy_file(const char *from, const char *name, unsigned mode)
{
    size_t size;
    const char *bytes = read_whole(from, &size);
    write_bytes(name, bytes, size);
    assert_int_equal(chmod(path_of(name), mode), 0);
}

void make_folder(const char *name)
{
    assert_int_equal(mkdir(path_of(name), 0755), 0);
}

void configure(const char *name, const char *text)
{
    write_text(name, text);
    setenv("CB_CONFIG", path_of(name), 1);
}

/* ---- Asking a loader ----------------------------------------------------------------------- */

cb_loader *open_loader(void)
{
    cb_error err = test_error();
    cb_loader *loader = NULL;
    TEST_OK(cb_loader_open(NULL, &loader, &err), &err);
    assert_non_null(loader);
    return loader;
}

void close_loader(cb_loader *loader)
{
    cb_error err = test_error();
    TEST_OK(cb_loader_close(loader, &err), &err);
}

cb_backend select_request(cb_loader *loader, const cb_request *request)
{
    cb_error err = test_error();
    cb_backend be = { NULL, NULL };
    TEST_OK(cb_loader_select(loader, request, &be, &err), &err);
    assert_non_null(be.api);
    return be;
}

cb_backend select_id(cb_loader *loader, const char *id)
{
    const cb_request request = { .size = sizeof(request), .id = id };
    return select_request(loader, &request);
}

const char *select_fails(cb_loader *loader, const cb_request *request, cb_status want)
{
    cb_error err = test_error();
    cb_backend be = { NULL, NULL };
    TEST_STATUS(cb_loader_select(loader, request, &be, &err), want, &err);
    assert_int_equal(err.code, want);
    assert_null(be.api);
    return text_of("%s", err.msg);
}

void release(cb_loader *loader, cb_backend be)
{
    cb_error err = test_error();
    TEST_OK(cb_loader_release(loader, be, &err), &err);
}

const char *best(cb_loader *loader)
{
    const cb_backend be = select_id(loader, NULL);
    const char *name = text_of("%s", be.api->name);
    release(loader, be);
    return name;
}

static int is_named(const cb_candidate *c, const char *name)
{
    const char *slash = strrchr(c->path, '/');
    return !strcmp(slash ? slash + 1 : c->path, name) || !strcmp(c->id, name);
}

/* Counts the candidates of a name; *first becomes the first of them. */
static uint64_t find(cb_loader *loader, const char *name, cb_candidate *first)
{
    uint64_t found = 0;
    for (uint64_t i = 0; i < cb_loader_candidate_count(loader); i++) {
        cb_error err = test_error();
        cb_candidate c = { .size = sizeof(c) };
        TEST_OK(cb_loader_candidate(loader, i, &c, &err), &err);
        if (is_named(&c, name) && found++ == 0)
            *first = c;
    }
    return found;
}

cb_candidate candidate(cb_loader *loader, const char *name)
{
    cb_candidate first = { .size = sizeof(first) };
    if (!find(loader, name, &first))
        fail_msg("no candidate %s in:\n%s", name, report(loader));
    return first;
}

uint64_t count_candidates(cb_loader *loader, const char *name)
{
    cb_candidate first = { .size = sizeof(first) };
    return find(loader, name, &first);
}

const char *report(cb_loader *loader)
{
    cb_error err = test_error();
    uint64_t length = 0;
    TEST_OK(cb_loader_report(loader, NULL, &length, &err), &err);
    char *text = keep(malloc(length));
    TEST_OK(cb_loader_report(loader, text, &length, &err), &err);
    return text;
}

const char *fact(cb_backend be, const char *key)
{
    cb_error err = test_error();
    uint64_t length = 0;
    TEST_OK(be.api->info(be.self, key, NULL, &length, &err), &err);
    char *text = keep(malloc(length));
    TEST_OK(be.api->info(be.self, key, text, &length, &err), &err);
    return text;
}

void has_text_at(const char *text, const char *part, int want, const char *file, int line)
{
    if (!!strcasestr(text, part) == want)
        return;
    print_error("%s \"%s\" in: %s\n", want ? "no" : "there is", part, text);
    _fail(file, line);
}

void keep_said(void *ctx, int32_t level, const char *text)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct said *said = ctx;
    pthread_mutex_lock(&lock);
    const size_t at = strlen(said->text);
    snprintf(said->text + at, sizeof(said->text) - at, "%s\n", text);
    said->lines++;
    if (level > said->least)
        said->least = level;
    pthread_mutex_unlock(&lock);
}

/* ---- Running programs ---------------------------------------------------------------------- */

static void become(const char *const argv[], const char *out, const char *err)
{
    const int in = open("/dev/null", O_RDONLY);
    const int o = open(out, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    const int e = open(err, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (in >= 0 && o >= 0 && e >= 0 && dup2(in, 0) == 0 && dup2(o, 1) == 1 && dup2(e, 2) == 2) {
        alarm(60);
        execvp(argv[0], (char *const *)argv);
    }
    _exit(127);
}

struct outcome run_program(const char *const argv[])
{
    const char *out = path_of("stdout"), *err = path_of("stderr");
    int status = 0;
    size_t size;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        become(argv, out, err);
    assert_int_equal(waitpid(child, &status, 0), child);
    const struct outcome outcome = {
        .status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
        .out = read_whole(out, &size),
        .err = read_whole(err, &size),
    };
    unlink(out);
    unlink(err);
    return outcome;
}

struct outcome run_unprivileged(const char *test, const char *const argv[])
{
    const char *all[16] = { "setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups" };
    const int prefix = 6;
    if (geteuid() != 0)
        return run_program(argv);
    for (int i = 0; argv[i]; i++) {
        assert_true(i < 8);
        all[prefix + i] = argv[i];
    }
    const char *const probe[] = { "setpriv", "--reuid", "65534", "--clear-groups", "true", NULL };
    if (run_program(probe).status != 0)
        test_skip(test, "setpriv cannot become uid 65534");
    return run_program(all);
}
