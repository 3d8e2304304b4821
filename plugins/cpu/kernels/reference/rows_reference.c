/* SPDX-License-Identifier: Apache-2.0 */
/* Rows are moved one after the other, so that of duplicates the last wins. */
#include "reference.h"

#include <string.h>

void cpu_rows_reference(const struct cpu_rows *x, const struct cpu_work *work)
{
    (void)work;
    for (uint64_t i = 0; i < x->n; i++) {
        const uint64_t here = i * x->row_bytes, there = x->indices[i] * x->row_bytes;
        if (x->scatter)
            memcpy(x->output + there, x->input + here, x->row_bytes);
        else
            memcpy(x->output + here, x->input + there, x->row_bytes);
    }
}
