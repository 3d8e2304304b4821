/* SPDX-License-Identifier: Apache-2.0 */
/* What belongs to the host's process, and no call of a backend may change. */
#include "suite.h"

#include <dirent.h>
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SIGNALS 64

uint64_t st_process_count(const char *name)
{
    char path[64];
    uint64_t n = 0;
    snprintf(path, sizeof(path), "/proc/self/%s", name);
    DIR *dir = opendir(path);
    if (!dir)
        return 0;
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

/* FNV-1a, of one thing after another. */
static uint64_t hash(uint64_t before, const void *bytes, size_t size)
{
    const unsigned char *b = bytes;
    for (size_t i = 0; i < size; i++)
        before = (before ^ b[i]) * UINT64_C(0x100000001b3);
    return before;
}

static uint64_t hash_text(const char *text)
{
    return hash(0, text, strlen(text) + 1);
}

static uint64_t look_blocked(void)
{
    sigset_t set;
    uint64_t blocked = 0;
    pthread_sigmask(SIG_SETMASK, NULL, &set);
    for (int i = 1; i <= SIGNALS; i++)
        blocked |= sigismember(&set, i) == 1 ? UINT64_C(1) << (i - 1) : 0;
    return blocked;
}

static uint64_t look_handlers(void)
{
    uint64_t handlers = 0;
    for (int i = 1; i <= SIGNALS; i++) {
        struct sigaction action;
        memset(&action, 0, sizeof(action));
        if (sigaction(i, NULL, &action))
            continue;
        handlers = hash(handlers, &action.sa_handler, sizeof(action.sa_handler));
        handlers = hash(handlers, &action.sa_flags, sizeof(action.sa_flags));
    }
    return handlers;
}

static uint64_t look_locale(void)
{
    const char *name = setlocale(LC_ALL, NULL);
    const locale_t of_thread = uselocale((locale_t)0);
    return hash(name ? hash_text(name) : 0, &of_thread, sizeof(of_thread));
}

/* Reading is setting. */
static uint64_t look_umask(void)
{
    const mode_t mask = umask(0);
    umask(mask);
    return mask;
}

static uint64_t look_directory(void)
{
    struct stat s;
    if (stat(".", &s))
        return 0;
    return hash(hash(0, &s.st_dev, sizeof(s.st_dev)), &s.st_ino, sizeof(s.st_ino));
}

static uint64_t look_affinity(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof(set), &set) ? 0 : hash(0, &set, sizeof(set));
}

static uint64_t look_environment(void)
{
    uint64_t all = 0;
    for (char **e = environ; e && *e; e++)
        all = hash(all, *e, strlen(*e) + 1);
    return all;
}

const struct st_aspect st_aspects[ST_ASPECTS] = {
    { "signal_mask", look_blocked, true },
    { "signal_handlers", look_handlers, false },
    { "locale", look_locale, true },
    { "umask", look_umask, true },
    { "directory", look_directory, true },
    { "affinity", look_affinity, true },
    { "environment", look_environment, false },
};

/* A state that is nobody's default, so that a call which sets a default shows. */
bool st_process_enter(struct st_process *saved)
{
    sigset_t odd;
    cpu_set_t one;
    const char *locale = setlocale(LC_ALL, NULL);
    saved->directory = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (saved->directory < 0 || !locale || strlen(locale) >= sizeof(saved->locale))
        goto fail;
    strcpy(saved->locale, locale);
    sigemptyset(&odd);
    sigaddset(&odd, SIGUSR2);
    pthread_sigmask(SIG_SETMASK, &odd, &saved->blocked);
    setlocale(LC_ALL, "C");
    saved->umask = umask(026);
    if (chdir("/"))
        goto leave;
    saved->has_affinity = !sched_getaffinity(0, sizeof(saved->affinity), &saved->affinity);
    CPU_ZERO(&one);
    for (int i = 0; saved->has_affinity && i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
        if (CPU_ISSET(i, &saved->affinity))
            CPU_SET(i, &one);
    if (saved->has_affinity)
        sched_setaffinity(0, sizeof(one), &one);
    return true;
leave:
    st_process_leave(saved);
    return false;
fail:
    if (saved->directory >= 0)
        close(saved->directory);
    return false;
}

void st_process_leave(const struct st_process *saved)
{
    if (saved->has_affinity)
        sched_setaffinity(0, sizeof(saved->affinity), &saved->affinity);
    if (!fchdir(saved->directory))
        close(saved->directory);
    umask(saved->umask);
    setlocale(LC_ALL, saved->locale);
    pthread_sigmask(SIG_SETMASK, &saved->blocked, NULL);
}
