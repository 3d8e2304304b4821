/* SPDX-License-Identifier: Apache-2.0 */
/* cb.map/1: buffers are host memory, so mapping is a look-up and importing an entry in the table.
 */
#include "cpu.h"

#include <stdlib.h>

#define IMPORT_ALIGNMENT 64 /* what alloc promises of every base address */

/* One map that has not been undone. */
struct cpu_mapping {
    uint64_t ptr;
    void *host;
    struct cpu_mapping *next;
};

static cb_status map(void *self, uint64_t ptr, uint64_t bytes, void **out, cb_error *err)
{
    struct cpu_call call;
    struct cbc_pin found;
    const struct cbc_operand operand = { "ptr", ptr, bytes, 1, true };
    struct cpu_mapping *mapping = NULL;
    cb_status st = cpu_call_begin(&call, self, "map", err);
    if (st == CB_OK && (!bytes || !out))
        st = cbc_invalid(err, "map", bytes ? "out is NULL" : "bytes is 0");
    if (st == CB_OK && !(mapping = malloc(sizeof(*mapping))))
        st = cbc_fail(err, CB_OUT_OF_MEMORY, "map", "no memory to remember a map");
    if (st == CB_OK)
        st = cbc_addr_table_map(call.cpu->table, &operand, &found, "map", err);
    if (st == CB_OK) {
        *out = (char *)found.memory + found.offset;
        pthread_mutex_lock(&call.cpu->lock);
        *mapping = (struct cpu_mapping){ ptr, *out, call.cpu->mappings };
        call.cpu->mappings = mapping;
        pthread_mutex_unlock(&call.cpu->lock);
    } else {
        free(mapping);
    }
    return cpu_call_end(&call, st);
}

/* Unlinks one map of this pair; NULL when there is none. */
static struct cpu_mapping *take_mapping(struct cpu_backend *cpu, uint64_t ptr, const void *host)
{
    pthread_mutex_lock(&cpu->lock);
    struct cpu_mapping **at = &cpu->mappings;
    while (*at && ((*at)->ptr != ptr || (*at)->host != host))
        at = &(*at)->next;
    struct cpu_mapping *found = *at;
    if (found)
        *at = found->next;
    pthread_mutex_unlock(&cpu->lock);
    return found;
}

static cb_status unmap(void *self, uint64_t ptr, void *host, cb_error *err)
{
    struct cpu_call call;
    const struct cbc_operand operand = { "ptr", ptr, 1, 1, true };
    struct cpu_mapping *mapping = NULL;
    cb_status st = cpu_call_begin(&call, self, "unmap", err);
    if (st == CB_OK && !(mapping = take_mapping(call.cpu, ptr, host)))
        st = cbc_invalid(err, "unmap", "ptr 0x%llx and host %p are no map that is still on",
                         (unsigned long long)ptr, host);
    if (st == CB_OK)
        st = cpu_call_open(&call, &operand, 1, true, err);
    if (st == CB_OK)
        st = cbc_addr_table_unmap(call.cpu->table, &call.pins[0], "unmap", err);
    free(mapping);
    return cpu_call_end(&call, st);
}

void cpu_mappings_free(struct cpu_backend *cpu)
{
    while (cpu->mappings) {
        struct cpu_mapping *mapping = cpu->mappings;
        cpu->mappings = mapping->next;
        free(mapping);
    }
}

static cb_status import_host(void *self, void *host, uint64_t bytes, uint64_t *out, cb_error *err)
{
    struct cpu_call call;
    cb_status st = cpu_call_begin(&call, self, "import_host", err);
    if (st == CB_OK && (!host || !bytes || !out))
        st = cbc_invalid(err, "import_host",
                         !host  ? "host is NULL"
                         : !out ? "out is NULL"
                                : "bytes is 0");
    else if (st == CB_OK && (uintptr_t)host % IMPORT_ALIGNMENT)
        st = cbc_invalid(err, "import_host", "host 0x%llx is not a multiple of 64",
                         (unsigned long long)(uintptr_t)host);
    if (st == CB_OK)
        st = cbc_addr_table_insert(call.cpu->table, bytes, host, NULL, out, "import_host", err);
    return cpu_call_end(&call, st);
}

const cb_map_v1 cpu_map = { CB_ARGS(cb_map_v1), map, unmap, import_host };
