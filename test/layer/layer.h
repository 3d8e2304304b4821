/* SPDX-License-Identifier: Apache-2.0 */
/* A layer: a table around another backend that passes everything down. What it adds is a count of
 * the calls. It is what a tracer, a checker or a recorder would start from. */
#ifndef TEST_LAYER_H
#define TEST_LAYER_H

#include "compute_backend.h"

/**
 * layer_over - puts a layer on a backend, which stays the caller's and must outlive it.
 *
 * The layer is a backend like any other: initialized when the one below is. Its create cannot be
 * called, since a table alone does not know what it is to lie on. Ends with layer_remove, or with
 * its own destroy.
 *
 * Returns a handle whose api is NULL when memory runs out.
 */
cb_backend layer_over(cb_backend below);
void layer_remove(cb_backend layer);

/* How often anything was called through the layer. */
uint64_t layer_calls(cb_backend layer);

#endif
