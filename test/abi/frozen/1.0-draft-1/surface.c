/* SPDX-License-Identifier: Apache-2.0 */
/* What two sides have to agree on, as one variable, for abidiff: from the table it comes to every
 * argument and result struct. */
#include <cb_loader.h>

struct surface {
    const compute_backend_v1 *table;
    const cb_map_v1 *map;
    cb_plugin_entry_fn entry;
    __typeof__(cb_loader_open_sized) *open_sized;
    __typeof__(cb_loader_close) *close;
    __typeof__(cb_loader_candidate_count) *candidate_count;
    __typeof__(cb_loader_candidate) *candidate;
    __typeof__(cb_loader_select) *select;
    __typeof__(cb_loader_route) *route;
    __typeof__(cb_loader_fallback_chain) *fallback_chain;
    __typeof__(cb_loader_release) *release;
    __typeof__(cb_loader_report) *report;
    __typeof__(cb_loader_report_as) *report_as;
    __typeof__(cb_loader_config) *config;
    __typeof__(cb_loader_set_log) *set_log;
    __typeof__(cb_loader_version) *version;
    __typeof__(cb_state_name) *state_name;
};

extern struct surface surface;
struct surface surface;
