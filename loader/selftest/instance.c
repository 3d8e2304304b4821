/* SPDX-License-Identifier: Apache-2.0 */
/* Further instances of the backend under test. */
#include "suite.h"

#include <stdio.h>

static const char *const peer_options[ST_PEERS] = { "threads=1", "threads=2", "threads=5" };

#define OPTIONS_MAX 128

/* With the options of the one under test, and more. */
static cb_status create(const struct st_run *run, const char *const *more, uint64_t n_more,
                        void **out, cb_error *err)
{
    const char *options[OPTIONS_MAX];
    cb_create_args args;
    cb_create_args_init(&args);
    args.options = options;
    for (uint64_t i = 0; i < run->options.n_create_options && args.n_options < OPTIONS_MAX; i++)
        options[args.n_options++] = run->options.create_options[i];
    for (uint64_t i = 0; i < n_more && args.n_options < OPTIONS_MAX; i++)
        options[args.n_options++] = more[i];
    return run->be.api->create(&args, out, err);
}

static cb_status open_instance(struct st_run *run, const char *const *options, uint64_t n,
                               cb_backend *out, cb_error *err)
{
    cb_error_init(err);
    if (run->options.open)
        return run->options.open(run->options.ctx, options, n, out, err);
    *out = (cb_backend){ run->be.api, NULL };
    cb_status st = create(run, options, n, &out->self, err);
    if (st != CB_OK)
        return st;
    st = out->api->init(out->self, CB_DEVICE_AUTO, err);
    if (st != CB_OK)
        out->api->destroy(out->self);
    return st;
}

void st_close(struct st_run *run, cb_backend be)
{
    if (run->options.open)
        run->options.close(run->options.ctx, be);
    else
        be.api->destroy(be.self);
}

bool st_open(struct st_run *run, const char *const *options, uint64_t n, cb_backend *out)
{
    cb_error err, plain;
    if (open_instance(run, options, n, out, &err) == CB_OK)
        return true;
    /* One that opens without the options does not know them. */
    if (n && open_instance(run, NULL, 0, out, &plain) == CB_OK) {
        char why[sizeof(run->text)];
        st_close(run, *out);
        snprintf(why, sizeof(why), "the option %s is not taken: %s", options[0], err.msg);
        st_skip(run, why);
        return false;
    }
    st_unjudged(run, "a second instance cannot be opened: %s", err.msg);
    return false;
}

cb_status st_try_create(struct st_run *run, const char *option, void **out, cb_error *err)
{
    return create(run, &option, option ? 1 : 0, out, err);
}

bool st_create(struct st_run *run, cb_backend *out)
{
    cb_error err;
    cb_error_init(&err);
    *out = (cb_backend){ run->be.api, NULL };
    if (st_try_create(run, NULL, &out->self, &err) == CB_OK)
        return true;
    st_unjudged(run, "a second instance cannot be created with the options that are known: %s",
                err.msg);
    return false;
}

bool st_peer(struct st_run *run, uint64_t i, cb_backend *out)
{
    if (i >= ST_PEERS)
        return false;
    struct st_peer *peer = &run->peers[i];
    if (!peer->be.api && !st_open(run, &peer_options[i], 1, &peer->be)) {
        peer->be.api = NULL;
        return false;
    }
    *out = peer->be;
    return true;
}

void st_peers_close(struct st_run *run)
{
    for (uint64_t i = 0; i < ST_PEERS; i++) {
        if (run->peers[i].be.api)
            st_close(run, run->peers[i].be);
        run->peers[i].be.api = NULL;
    }
}
