/* SPDX-License-Identifier: Apache-2.0 */
/* What a mock does to the process that it is in, when its row says so. */
#ifndef TEST_LOADER_DEEDS_H
#define TEST_LOADER_DEEDS_H

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define DEED static inline __attribute__((unused))

DEED void deed_crash(void)
{
    raise(SIGSEGV);
}

/* Deaf to what can be ignored. */
DEED void deed_hang(void)
{
    for (int i = 1; i < NSIG; i++)
        signal(i, SIG_IGN);
    for (;;)
        pause();
}

/* Writes into whatever is open. */
DEED void deed_scribble(void)
{
    for (int fd = 1; fd < 64; fd++)
        if (write(fd, "state=0\n", 8) < 0)
            continue;
}

/* Hangs with a child that leaves a file behind when it outlives its parent by two seconds. */
DEED void deed_breed(void)
{
    if (fork() == 0) {
        const char *path = getenv("MOCK_BROOD");
        sleep(2);
        FILE *f = path ? fopen(path, "w") : NULL;
        if (f)
            fclose(f);
        _exit(0);
    }
    deed_hang();
}

/* The process's limit of core, group, open files and options, as text. */
DEED void deed_describe(char *out, size_t size, const char *const *options, uint64_t n_options)
{
    struct rlimit core = { 0, 0 };
    int files = 0;
    getrlimit(RLIMIT_CORE, &core);
    for (int fd = 3; fd < 64; fd++)
        files += lseek(fd, 0, SEEK_CUR) >= 0;
    snprintf(out, size, "core %llu, group is %s, files %d, options",
             (unsigned long long)core.rlim_cur, getpgrp() == getpid() ? "its own" : "another's",
             files);
    for (uint64_t i = 0; i < n_options; i++) {
        const size_t used = strlen(out);
        snprintf(out + used, size - used, " %s", options[i]);
    }
}

#endif
