/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor.h"

#include "manifest.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

/* The name of the processor, which only the kernel's file has in words. */
static void read_processor(char *out, uint64_t size)
{
    static const char key[] = "model name";
    char line[1024];
    FILE *f = fopen("/proc/cpuinfo", "re");
    *out = '\0';
    if (!f)
        return;
    while (!*out && fgets(line, sizeof(line), f)) {
        struct slice name, value;
        line[strcspn(line, "\n")] = '\0';
        if (cbl_cut(cbl_slice(line), ':', &name, &value) && cbl_slice_is(name, key))
            snprintf(out, size, "%.*s", SLICE_ARGS(value));
    }
    fclose(f);
}

void facts_read(struct facts *f)
{
    struct utsname u;
    cpu_set_t set;
    *f = (struct facts){ 0 };
    if (!uname(&u))
        snprintf(f->system, sizeof(f->system), "%s %s %s", u.sysname, u.release, u.machine);
#ifdef __GLIBC__
    snprintf(f->library, sizeof(f->library), "glibc %s", gnu_get_libc_version());
#endif
    read_processor(f->processor, sizeof(f->processor));
    cbl_isa_add(&f->isa, cbl_isa_of_machine());
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    f->online = online > 0 ? (uint64_t)online : 0;
    /* A machine with more processors than the set can hold is not asked again: it has enough. */
    f->usable = sched_getaffinity(0, sizeof(set), &set) ? f->online : (uint64_t)CPU_COUNT(&set);
}

void facts_free(struct facts *f)
{
    cbl_text_free(&f->isa);
}
