/* SPDX-License-Identifier: Apache-2.0 */
#include "starve.h"

#include <errno.h>
#include <stddef.h>

atomic_long starve_at;
atomic_int starved;
atomic_long live_blocks;

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
int __real_posix_memalign(void **out, size_t alignment, size_t size);
char *__real_strdup(const char *text);
void __real_free(void *block);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
int __wrap_posix_memalign(void **out, size_t alignment, size_t size);
char *__wrap_strdup(const char *text);
void __wrap_free(void *block);

static int must_fail(void)
{
    long left = starve_at;
    while (left > 0 && !atomic_compare_exchange_weak(&starve_at, &left, left - 1))
        continue;
    if (left != 1)
        return 0;
    starved = 1;
    return 1;
}

static void *counted(void *block)
{
    live_blocks += block != NULL;
    return block;
}

void *__wrap_malloc(size_t size)
{
    return must_fail() ? NULL : counted(__real_malloc(size));
}

void *__wrap_calloc(size_t n, size_t size)
{
    return must_fail() ? NULL : counted(__real_calloc(n, size));
}

void *__wrap_realloc(void *old, size_t size)
{
    if (must_fail())
        return NULL;
    void *block = __real_realloc(old, size);
    return old ? block : counted(block);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return must_fail() ? NULL : counted(__real_aligned_alloc(alignment, size));
}

int __wrap_posix_memalign(void **out, size_t alignment, size_t size)
{
    const int status = must_fail() ? ENOMEM : __real_posix_memalign(out, alignment, size);
    live_blocks += status == 0;
    return status;
}

char *__wrap_strdup(const char *text)
{
    return must_fail() ? NULL : counted(__real_strdup(text));
}

void __wrap_free(void *block)
{
    live_blocks -= block != NULL;
    __real_free(block);
}
