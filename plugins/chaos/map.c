/* SPDX-License-Identifier: Apache-2.0 */
/* cb.map/1 of the wrapped backend, with addresses of this one. */
#include "chaos.h"

cb_status chaos_wrapped_map(const struct chaos *chaos, cb_extension *out, cb_error *err)
{
    const cb_backend be = chaos->wrapped;
    cb_extension_init(out);
    if (!CB_HAS(be.api, get_extension))
        return cbc_fail(err, CB_NOT_FOUND, "get_extension",
                        "the wrapped backend %s has no extensions", be.api->name);
    return be.api->get_extension(be.self, CB_MAP_ID, out, err);
}

static uint64_t wrapped_address(const struct cbc_pin *pin)
{
    return (uint64_t)(uintptr_t)pin->memory + pin->offset;
}

static cb_status map(void *self, uint64_t ptr, uint64_t bytes, void **out, cb_error *err)
{
    struct chaos *chaos = self;
    const struct cbc_operand operand = { "ptr", ptr, bytes, 1, true };
    struct cbc_pin found, pin;
    cb_extension ext;
    cb_status st = chaos_begin(chaos, "map", err);
    if (st == CB_OK && (!bytes || !out))
        st = cbc_invalid(err, "map", bytes ? "out is NULL" : "bytes is 0");
    if (st == CB_OK)
        st = chaos_wrapped_map(chaos, &ext, err);
    if (st == CB_OK)
        st = cbc_addr_table_pin(chaos->table, &operand, 1, &pin, "map", err);
    if (st != CB_OK)
        return st;
    st = cbc_addr_table_map(chaos->table, &operand, &found, "map", err);
    if (st == CB_OK) {
        const cb_map_v1 *api = ext.api;
        st = api->map(ext.self, wrapped_address(&found), bytes, out, err);
        if (st != CB_OK)
            cbc_addr_table_unmap(chaos->table, &pin, "map", NULL);
    }
    cbc_addr_table_unpin(chaos->table, &pin, 1);
    return st;
}

static cb_status unmap(void *self, uint64_t ptr, void *host, cb_error *err)
{
    struct chaos *chaos = self;
    const struct cbc_operand operand = { "ptr", ptr, 1, 1, true };
    struct cbc_pin pin;
    cb_extension ext;
    cb_status st = chaos_begin(chaos, "unmap", err);
    if (st == CB_OK)
        st = chaos_wrapped_map(chaos, &ext, err);
    if (st == CB_OK)
        st = cbc_addr_table_pin(chaos->table, &operand, 1, &pin, "unmap", err);
    if (st != CB_OK)
        return st;
    const cb_map_v1 *api = ext.api;
    st = api->unmap(ext.self, wrapped_address(&pin), host, err);
    if (st == CB_OK)
        st = cbc_addr_table_unmap(chaos->table, &pin, "unmap", err);
    cbc_addr_table_unpin(chaos->table, &pin, 1);
    return st;
}

static cb_status import_host(void *self, void *host, uint64_t bytes, uint64_t *out, cb_error *err)
{
    struct chaos *chaos = self;
    const cb_backend be = chaos->wrapped;
    cb_extension ext;
    uint64_t wrapped = 0;
    cb_status st = chaos_begin(chaos, "import_host", err);
    if (st == CB_OK && !out)
        st = cbc_invalid(err, "import_host", "out is NULL");
    if (st == CB_OK)
        st = chaos_wrapped_map(chaos, &ext, err);
    if (st != CB_OK)
        return st;
    const cb_map_v1 *api = ext.api;
    st = api->import_host(ext.self, host, bytes, &wrapped, err);
    if (st != CB_OK)
        return st;
    st = cbc_addr_table_insert(chaos->table, bytes, (void *)(uintptr_t)wrapped, NULL, out,
                               "import_host", err);
    if (st != CB_OK)
        be.api->free(be.self, wrapped, NULL, NULL);
    return st;
}

const cb_map_v1 chaos_map = {
    .size = sizeof(cb_map_v1),
    .map = map,
    .unmap = unmap,
    .import_host = import_host,
};
