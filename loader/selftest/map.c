/* SPDX-License-Identifier: Apache-2.0 */
/* get_extension, and cb.map/1 where it is there: host access without a copy. */
#include "suite.h"

#include <stdlib.h>
#include <string.h>

#define BYTES 4096

/* False: the case is skipped, or has failed. */
static bool find_map(struct st_run *run, cb_extension *out)
{
    cb_error err;
    cb_error_init(&err);
    cb_extension_init(out);
    if (!CB_HAS(run->be.api, get_extension)) {
        st_skip(run, "the table has no get_extension");
        return false;
    }
    const cb_status st = run->be.api->get_extension(run->be.self, CB_MAP_ID, out, &err);
    if (st == CB_NOT_FOUND) {
        st_skip(run, err.msg);
        return false;
    }
    if (!st_offered(run, "get_extension", st, &err))
        return false;
    const cb_map_v1 *map = out->api;
    if (map && map->size >= CB_MAP_1_0 && map->map && map->unmap && map->import_host)
        return true;
    st_fail(run, "an extension's table is whole", CB_MAP_ID " lacks a function");
    return false;
}

/* What a case works with. */
struct scene {
    struct st_run *run;
    const cb_map_v1 *map;
    void *self;
    uint64_t ptr;
    cb_error err;
};

static bool is(struct scene *s, const char *call, cb_status got, cb_status want)
{
    return st_status(s->run, call, got, want, &s->err);
}

static bool map(struct scene *s, uint64_t offset, uint64_t bytes, unsigned char **out)
{
    void *host = NULL;
    const bool good =
        is(s, "map", s->map->map(s->self, s->ptr + offset, bytes, &host, &s->err), CB_OK);
    *out = host;
    if (good && !host)
        st_fail(s->run, "map hands out a host pointer", "it is NULL");
    return good && host;
}

static void unmap(struct scene *s, uint64_t offset, unsigned char *host)
{
    is(s, "unmap", s->map->unmap(s->self, s->ptr + offset, host, &s->err), CB_OK);
}

static void a_map_is_the_buffer(struct scene *s)
{
    static const char rule[] = "what is written through a map is in the buffer, and the reverse";
    unsigned char byte = 77, *host;
    is(s, "copy_htod", cb_upload(s->run->be, s->ptr + 100, &byte, 1, &s->err), CB_OK);
    if (!map(s, 64, 128, &host))
        return;
    if (host[36] != 77)
        st_fail(s->run, rule, "a byte that was uploaded is %d, not 77", host[36]);
    host[37] = 78;
    unmap(s, 64, host);
    is(s, "copy_dtoh", cb_download(s->run->be, &byte, s->ptr + 101, 1, &s->err), CB_OK);
    if (byte != 78)
        st_fail(s->run, rule, "a byte that was written through a map is %d, not 78", byte);
}

static void each_map_needs_its_unmap(struct scene *s)
{
    unsigned char *a, *b;
    if (!map(s, 0, BYTES, &a) || !map(s, 0, BYTES, &b))
        return;
    unmap(s, 0, a);
    is(s, "free of what is mapped", cb_free(s->run->be, s->ptr, &s->err), CB_INVALID_ARGUMENT);
    unmap(s, 0, b);
    is(s, "unmap once too often", s->map->unmap(s->self, s->ptr, b, &s->err), CB_INVALID_ARGUMENT);
}

static void bad_ranges_are_refused(struct scene *s)
{
    const struct {
        const char *what;
        uint64_t ptr, bytes;
    } bad[] = {
        { "map of 0 bytes", s->ptr, 0 },
        { "map of more than there is", s->ptr, BYTES + 1 },
        { "map beyond the end", s->ptr + BYTES, 1 },
        { "map at 0", 0, 1 },
        { "map of a size that overflows", s->ptr + 1, UINT64_MAX },
    };
    for (size_t i = 0; i < ST_COUNT(bad); i++) {
        void *host = &host;
        is(s, bad[i].what, s->map->map(s->self, bad[i].ptr, bad[i].bytes, &host, &s->err),
           CB_INVALID_ARGUMENT);
        if (host != &host)
            st_fail(s->run, "a call that fails leaves its output as it was", "%s wrote its output",
                    bad[i].what);
    }
}

static void imported_memory_is_used_in_place(struct scene *s)
{
    uint64_t ptr = 0;
    unsigned char byte = 5;
    unsigned char *mine = aligned_alloc(64, BYTES);
    if (!mine) {
        st_fail(s->run, "", "the self-test has no host memory");
        return;
    }
    memset(mine, 9, BYTES);
    is(s, "import_host of a misaligned pointer",
       s->map->import_host(s->self, mine + 1, 64, &ptr, &s->err), CB_INVALID_ARGUMENT);
    is(s, "import_host of NULL", s->map->import_host(s->self, NULL, 64, &ptr, &s->err),
       CB_INVALID_ARGUMENT);
    const cb_status st = s->map->import_host(s->self, mine, BYTES, &ptr, &s->err);
    if (st_offered(s->run, "import_host", st, &s->err)) {
        is(s, "copy_htod", cb_upload(s->run->be, ptr + 7, &byte, 1, &s->err), CB_OK);
        is(s, "free of an import", cb_free(s->run->be, ptr, &s->err), CB_OK);
        if (mine[7] != 5 || mine[8] != 9)
            st_fail(s->run, "imported memory is used in place",
                    "a byte that was copied in is %d, the next %d, not 5 and 9", mine[7], mine[8]);
    }
    free(mine);
}

static const struct {
    const char *name;
    void (*check)(struct scene *s);
} cases[] = {
    { "a_map_is_the_buffer", a_map_is_the_buffer },
    { "each_map_needs_its_unmap", each_map_needs_its_unmap },
    { "bad_ranges_are_refused", bad_ranges_are_refused },
    { "imported_memory_is_used_in_place", imported_memory_is_used_in_place },
};

static void unknown_extension(struct st_run *run)
{
    cb_error err;
    cb_error_init(&err);
    cb_extension out;
    cb_extension_init(&out);
    out.api = &out;
    if (!CB_HAS(run->be.api, get_extension)) {
        st_skip(run, "the table has no get_extension");
        return;
    }
    const cb_status st = run->be.api->get_extension(run->be.self, "no.such/1", &out, &err);
    if (st == CB_UNSUPPORTED)
        st_skip(run, err.msg);
    else if (st_status(run, "get_extension of an unknown id", st, CB_NOT_FOUND, &err) &&
             out.api != &out)
        st_fail(run, "a call that fails leaves its output as it was",
                "get_extension wrote its output");
}

static void grid(struct st_run *run, uint32_t type)
{
    (void)type;
    for (size_t i = 0; i < ST_COUNT(cases); i++) {
        cb_extension extension;
        if (!st_begin(run, "map:%s", cases[i].name))
            continue;
        struct scene s = { .run = run };
        cb_error_init(&s.err);
        if (find_map(run, &extension) && st_alloc(run, BYTES, &s.ptr)) {
            s.map = extension.api;
            s.self = extension.self;
            cases[i].check(&s);
            st_free(run, s.ptr);
        }
        st_end(run);
    }
    const struct st_case unknown = { "unknown_extension", unknown_extension };
    st_cases(run, "map", &unknown, 1);
}

const struct st_group st_map = { "map", NULL, grid, NULL, NULL };
