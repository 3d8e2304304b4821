/* SPDX-License-Identifier: Apache-2.0 */
/* From create to destroy: options, what works before init, init itself, instances beside each
 * other. */
#include "suite.h"

#include "compute_backend_plugin.h"

#include <string.h>

static const char before_rule[] = "before init every slot but name, version, device_count, "
                                  "device_info, capabilities, get_extension, info and destroy is "
                                  "NOT_INITIALIZED";

static bool refused(struct st_run *run, const char *call, cb_status got, cb_status want,
                    const cb_error *err)
{
    if (st_status(run, call, got, want, err) && !err->msg[0])
        st_fail(run, "an error has a message", "%s: the message is empty", call);
    return run->outcome == CB_SELFTEST_PASSED;
}

/* ---- options ---- */

/* False: the case is unjudged. */
static bool can_create(struct st_run *run)
{
    cb_backend be;
    if (!st_create(run, &be))
        return false;
    be.api->destroy(be.self);
    return true;
}

static void unknown_option_is_refused(struct st_run *run)
{
    static const char where[] = "option no_such_option_of_any_backend";
    cb_error err;
    void *const untouched = &err;
    void *self = untouched;
    cb_error_init(&err);
    if (!can_create(run))
        return;
    const cb_status st = st_try_create(run, "no_such_option_of_any_backend=1", &self, &err);
    if (st == CB_OK)
        run->be.api->destroy(self);
    if (!refused(run, "create with an unknown option", st, CB_INVALID_ARGUMENT, &err))
        return;
    if (strcmp(err.where, where) != 0)
        st_fail(run, "create refuses an option with err->where \"option KEY\"",
                "err->where is \"%.63s\", not \"%s\"", err.where, where);
    if (self != untouched)
        st_fail(run, "a call that fails leaves its output as it was", "create wrote its output");
}

static void device_that_is_none_is_refused(struct st_run *run)
{
    cb_error err;
    void *self = NULL;
    cb_error_init(&err);
    if (!can_create(run))
        return;
    cb_status st = st_try_create(run, "device=4000000000", &self, &err);
    if (st == CB_OK) {
        st = run->be.api->init(self, CB_DEVICE_AUTO, &err);
        run->be.api->destroy(self);
    }
    refused(run, "create and init with device=4000000000", st, CB_INVALID_ARGUMENT, &err);
}

/* ---- before init ---- */

static void early(struct st_run *run, const char *call, cb_status got, bool optional)
{
    if (got == CB_NOT_INITIALIZED || (optional && got == CB_UNSUPPORTED))
        return;
    st_fail(run, before_rule, "%s: %s, not NOT_INITIALIZED", call, cb_status_name(got));
}

static void ops_before_init(struct st_run *run)
{
    cb_backend be;
    uint64_t room[ST_ARGS_ROOM / sizeof(uint64_t)] = { 0 };
    if (!st_create(run, &be))
        return;
    for (uint32_t op = 0; op < CB_OP_COUNT; op++) {
        cb_support support;
        cb_support_init(&support);
        room[0] = st_args_size(op);
        early(run, cb_op_name(op), st_slot(be, op, room, NULL), true);
        early(run, "supports", cb_supports(be, op, room, &support, NULL), false);
    }
    be.api->destroy(be.self);
}

static void memory_before_init(struct st_run *run)
{
    cb_backend be;
    uint64_t ptr = 0;
    unsigned char byte = 0;
    cb_memory_info info;
    cb_memory_info_init(&info);
    if (!st_create(run, &be))
        return;
    const cb_copy_dtod_args dtod = { CB_ARGS(cb_copy_dtod_args) };
    early(run, "alloc", cb_alloc(be, 64, &ptr, NULL), false);
    early(run, "free", cb_free(be, UINT64_C(1) << 62, NULL), false);
    early(run, "copy_htod", cb_upload(be, 0, &byte, 0, NULL), false);
    early(run, "copy_dtoh", cb_download(be, &byte, 0, 0, NULL), false);
    early(run, "copy_dtod", cb_copy_dtod(be, &dtod, NULL), false);
    early(run, "synchronize", cb_synchronize(be, NULL), false);
    if (CB_HAS(be.api, memset))
        early(run, "memset", cb_memset(be, 0, 0, 0, NULL, NULL), true);
    if (CB_HAS(be.api, memory_info))
        early(run, "memory_info", be.api->memory_info(be.self, &info, NULL), true);
    be.api->destroy(be.self);
}

static void streams_before_init(struct st_run *run)
{
    cb_backend be;
    cb_stream *stream = NULL;
    cb_event *event = NULL;
    if (!st_create(run, &be))
        return;
    if (CB_HAS(be.api, stream_create))
        early(run, "stream_create", be.api->stream_create(be.self, 0, &stream, NULL), true);
    if (CB_HAS(be.api, stream_synchronize))
        early(run, "stream_synchronize", be.api->stream_synchronize(be.self, NULL, NULL), true);
    if (CB_HAS(be.api, event_create))
        early(run, "event_create", be.api->event_create(be.self, 0, &event, NULL), true);
    be.api->destroy(be.self);
}

static void facts_before_init(struct st_run *run)
{
    cb_backend be;
    uint32_t count = 0;
    cb_error err;
    cb_capabilities capabilities;
    cb_device_info device;
    cb_error_init(&err);
    cb_capabilities_init(&capabilities);
    cb_device_info_init(&device);
    if (!st_create(run, &be))
        return;
    st_status(run, "device_count", be.api->device_count(be.self, &count, &err), CB_OK, &err);
    if (count)
        st_status(run, "device_info", be.api->device_info(be.self, 0, &device, &err), CB_OK, &err);
    if (count)
        st_status(run, "capabilities",
                  be.api->capabilities(be.self, CB_DEVICE_AUTO, &capabilities, &err), CB_OK, &err);
    char text[8];
    uint64_t length = sizeof(text);
    if (CB_HAS(be.api, info)) {
        const cb_status st = be.api->info(be.self, "initialized", text, &length, &err);
        if (st != CB_UNSUPPORTED && st_status(run, "info", st, CB_OK, &err) && strcmp(text, "0"))
            st_fail(run, "before init the fact \"initialized\" is 0", "it is \"%.7s\"", text);
    }
    be.api->destroy(be.self);
}

/* ---- init ---- */

static void init_again(struct st_run *run)
{
    cb_backend be;
    cb_error err;
    uint32_t count = 0;
    cb_error_init(&err);
    if (!st_create(run, &be))
        return;
    const compute_backend_v1 *api = be.api;
    st_status(run, "device_count", api->device_count(be.self, &count, &err), CB_OK, &err);
    refused(run, "init of a device that is none", api->init(be.self, count, &err),
            CB_INVALID_ARGUMENT, &err);
    st_status(run, "init after a failed one", api->init(be.self, 0, &err), CB_OK, &err);
    st_status(run, "init of the same device again", api->init(be.self, 0, &err), CB_OK, &err);
    if (run->outcome == CB_SELFTEST_PASSED)
        refused(run, "init of another device", api->init(be.self, count > 1 ? 1 : count, &err),
                CB_INVALID_ARGUMENT, &err);
    api->destroy(be.self);
}

struct init {
    cb_backend be;
    cb_status status;
    cb_error err;
};

static void init_one(void *item)
{
    struct init *i = item;
    cb_error_init(&i->err);
    i->status = i->be.api->init(i->be.self, CB_DEVICE_AUTO, &i->err);
}

static void init_at_once(struct st_run *run)
{
    struct init inits[ST_AT_ONCE] = { { .status = CB_OK } };
    cb_backend be;
    if (!st_create(run, &be))
        return;
    for (int i = 0; i < ST_AT_ONCE; i++)
        inits[i].be = be;
    if (st_at_once(run, init_one, inits, sizeof(inits[0]))) {
        for (int i = 0; i < ST_AT_ONCE; i++)
            st_status(run, "init by several threads at once", inits[i].status, CB_OK,
                      &inits[i].err);
    }
    be.api->destroy(be.self);
}

/* ---- instances ---- */

static void instances_are_independent(struct st_run *run)
{
    cb_backend be[2];
    cb_error err;
    uint64_t ptr[2] = { 0, 0 };
    cb_error_init(&err);
    be[0] = run->be;
    if (!st_open(run, NULL, 0, &be[1]))
        return;
    for (unsigned char i = 0; i < 2; i++) {
        if (!st_offered(run, "alloc", cb_alloc(be[i], 1, &ptr[i], &err), &err))
            break;
        st_status(run, "copy_htod", cb_upload(be[i], ptr[i], &i, 1, &err), CB_OK, &err);
    }
    for (unsigned char i = 0; ptr[1] && i < 2; i++) {
        unsigned char byte = 77;
        st_status(run, "copy_dtoh", cb_download(be[i], &byte, ptr[i], 1, &err), CB_OK, &err);
        if (byte != i)
            st_fail(run, "instances do not see each other's memory", "a byte of instance %d is %d",
                    i, byte);
    }
    if (ptr[0])
        st_free(run, ptr[0]);
    st_close(run, be[1]);
}

static void destroy_of_null(struct st_run *run)
{
    run->be.api->destroy(NULL);
}

/* Two streams with work, buffers and an event are left to destroy. */
static void destroy_frees_what_is_left(struct st_run *run)
{
    cb_backend be;
    cb_error err;
    uint64_t ptr = 0;
    cb_stream *stream = NULL;
    cb_event *event = NULL;
    cb_error_init(&err);
    if (!st_open(run, NULL, 0, &be))
        return;
    const compute_backend_v1 *api = be.api;
    if (st_offered(run, "alloc", cb_alloc(be, 4096, &ptr, &err), &err) &&
        CB_HAS(api, stream_create) &&
        st_offered(run, "stream_create", api->stream_create(be.self, 0, &stream, &err), &err)) {
        const cb_copy_dtod_args copy = {
            CB_ARGS(cb_copy_dtod_args), .flags = CB_COPY_ASYNC, .dst = ptr,
            .src = ptr + 2048,          .bytes = 2048,          .stream = stream
        };
        st_status(run, "copy_dtod", cb_copy_dtod(be, &copy, &err), CB_OK, &err);
        if (CB_HAS(api, event_create))
            st_offered(run, "event_create", api->event_create(be.self, 0, &event, &err), &err);
    }
    st_close(run, be);
}

static const struct st_case cases[] = {
    { "unknown_option_is_refused", unknown_option_is_refused },
    { "device_that_is_none_is_refused", device_that_is_none_is_refused },
    { "ops_before_init", ops_before_init },
    { "memory_before_init", memory_before_init },
    { "streams_before_init", streams_before_init },
    { "facts_before_init", facts_before_init },
    { "init_again", init_again },
    { "init_at_once", init_at_once },
    { "instances_are_independent", instances_are_independent },
    { "destroy_of_null", destroy_of_null },
    { "destroy_frees_what_is_left", destroy_frees_what_is_left },
};

static void grid(struct st_run *run, uint32_t type)
{
    (void)type;
    st_cases(run, "lifecycle", cases, ST_COUNT(cases));
}

const struct st_group st_lifecycle = { "lifecycle", NULL, grid, NULL, NULL };
